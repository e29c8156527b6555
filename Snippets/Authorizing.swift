// Another system decides who may do what: an authorizer in Swift.
import AgentRuntime
import AgentTesting
import AgentTrace

struct Entitlements: Authorizer {
  func authorize(_ request: AuthorizationRequest) async throws -> AuthorizationAnswer {
    let amount = request.call.input["amount"]?.intValue ?? .max
    if amount > 500 { return AuthorizationAnswer(.deny, reason: "nobody may refund that much") }
    let isClerk = request.policyContext.attributes["role"] == "clerk"
    return AuthorizationAnswer(isClerk && amount <= 50 ? .allow : .approvalRequired)
  }
}

var rule = Policy.Rule(id: "refunds", verdict: .deny)
rule.ask("entitlements")
var policy = Policy(rules: [rule])
policy.authorizers = [AuthorizerRegistration("entitlements", .authorizer(Entitlements()))]

let refund = ToolRegistration(
  definition: ToolDefinition(name: "refund", sideEffect: .write),
  implementation: .tool(ClosureTool { _ in ["paid": true] }))
let script = ModelScript(
  replies: ["calls": [["name": "refund", "input": ["amount": 20]]]],
  ["calls": [["name": "refund", "input": ["amount": 900]]]], ["text": "Done."])
let agent = AgentDefinition(
  name: "cashier", model: ModelDefinition(name: "written", implementation: .scripted(script)),
  tools: [refund], policy: policy, policyContext: PolicyContext(attributes: ["role": "clerk"]))

let run = try await TestedRun(of: agent, goal: "Refund both orders.")
for event in run.events where event.type == .policyDecision {
  print(event.data["status"]?.stringValue ?? "", "–", event.data["reason"]?.stringValue ?? "")
}
