// A run in memory held against expectations: as it goes on, and when it is over.
import AgentRuntime
import AgentTesting
import AgentTrace
import EvalLoading
import TraceJudging

let script = ModelScript(
  replies: ["calls": [["name": "look", "input": ["id": 1]]]],
  ["calls": [["name": "erase", "input": ["id": 1]]]], ["text": "Done."])
func tool(_ name: String, _ sideEffect: SideEffect) -> ToolRegistration {
  ToolRegistration(
    definition: ToolDefinition(name: name, sideEffect: sideEffect),
    implementation: .tool(ClosureTool { _ in ["done": true] }))
}
var agent = AgentDefinition(
  name: "keeper", model: ModelDefinition(name: "written", implementation: .scripted(script)),
  tools: [tool("look", .read), tool("erase", .write)],
  policy: Policy(rules: [.init(id: "free", verdict: .allow)]))
let expected = try Expectations(
  parsing: ["toolsCalled": ["look"], "toolsNotCalled": ["erase"], "stopReason": "success"])

// In a Swift Testing test: #expect(judged.outcome == .pass, "\(judged.failures)")
let free = try await TestedRun(of: agent, goal: "Tidy up.")
let judged = Judge.judge(free.tree, against: expected)
for outcome in judged.outcomes { print(outcome.outcome.rawValue, outcome.expectation) }

// What must never happen is enforced as it goes on: the call is denied before it runs.
agent.runGuard = try ExpectationRunGuard(Expectations(parsing: ["toolsNotCalled": ["erase"]]))
let guarded = try await TestedRun(of: agent, goal: "Tidy up.")
print(Judge.judge(guarded.tree, against: expected).outcome.rawValue)
