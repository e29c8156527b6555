public import AgentTrace

/// An authorizer is asked about a call.
public struct AuthorizationRequest: Sendable, Hashable {
  /// The authorizer's name in the policy.
  public var authorizer: String
  /// The rule that asks.
  public var ruleId: String
  /// The run that the call is part of.
  public var runId: String
  /// The call: its id, the tool's name and the input.
  public var call: ProposedCall
  /// The tool as it is registered.
  public var tool: ToolDefinition
  /// For whom the run acts.
  public var policyContext: PolicyContext
  /// Whether an approval that is not used up covers the call.
  public var isApproved: Bool
  /// What is left of the run's limits, by the names that rules give them; without seconds.
  public var remaining: JSONObject
  /// How long an answer is waited for; `nil` where that is for whoever answers to say.
  public var timeoutMicroseconds: Int?

  /// What is asked, in the form of an evaluation of OpenID AuthZEN's Authorization API 1.0, section 6: subject,
  /// action, resource and context.
  ///
  /// It names no run and no time, so that the same call at the same place of two runs is the same question.
  public var evaluation: JSONObject {
    var subject: JSONObject = ["type": "anonymous", "id": "anonymous"]
    if let actor = policyContext.actorId { subject = ["type": "actor", "id": .string(actor)] }
    var properties: JSONObject = [:]
    properties["tenantId"] = policyContext.tenantId.map(JSONValue.string)
    if !policyContext.attributes.isEmpty {
      properties["attributes"] = .object(policyContext.attributes)
    }
    if !properties.isEmpty { subject["properties"] = .object(properties) }
    var action: JSONObject = ["sideEffect": .string(tool.sideEffect.rawValue)]
    action["sensitivity"] = tool.sensitivity.map(JSONValue.string)
    var context: JSONObject = ["rule": .string(ruleId), "approved": .bool(isApproved)]
    if !remaining.isEmpty { context["remaining"] = .object(remaining) }
    context["route"] = policyContext.route.map(JSONValue.string)
    return [
      "subject": .object(subject),
      "action": ["name": "call", "properties": .object(action)],
      "resource": ["type": "tool", "id": .string(call.name), "properties": ["input": call.input]],
      "context": .object(context),
    ]
  }

  /// SHA-256 of the evaluation in canonical form.
  ///
  /// - Complexity: linear in the evaluation, each time.
  public var digest: String { Digest(of: .object(evaluation)).hex }

  /// The question that is being asked, of authorizers that are Swift values.
  @TaskLocal static var asked: AuthorizationRequest?

  /// What a tool is asked that answers for an authorizer.
  func toolRequest(_ definition: ToolDefinition) -> ToolRequest {
    var request = ToolRequest(
      callId: call.callId, tool: definition, input: .object(evaluation),
      idempotencyKey: "\(runId)/\(call.callId)",
      timeoutMicroseconds: timeoutMicroseconds)
    request.runId = runId
    request.policyContext = policyContext
    return request
  }
}
