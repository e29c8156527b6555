extension EventType {
  /// The policy gate gave its verdict on one call.
  public static let policyDecision = EventType(rawValue: "policy_decision")
}

/// The policy gate's word on one call. (A judge's word on an expectation is an *outcome*.)
public enum VerdictStatus: String, Sendable, Hashable, CaseIterable {
  /// The call may run.
  case allow
  /// The call must not run, whoever approves it.
  case deny
  /// The call may run once a person has approved it.
  case approvalRequired = "approval_required"
}

/// The data of a `policy_decision` event: the verdict on one call, and what the gate knew.
public struct Verdict: Sendable, Hashable {
  /// The call that it is about; see ``ProposedCall/callId``.
  public var callId: String
  /// The name of the tool that is called.
  public var tool: String
  /// Whether the call may run.
  public var status: VerdictStatus
  /// Why, in words; told to the model when the call is refused.
  public var reason: String
  /// The rule that decided; `nil` where no rule matched and the default did.
  public var ruleId: String?
  /// What the gate knew at this moment: approvals, remaining steps and limits.
  public var context: JSONObject
  /// What an authorizer said, where the rule asks one; `nil` where it asks none.
  public var authorization: Authorization?

  /// Without a rule, it is the word of the policy's default.
  public init(
    callId: String, tool: String, status: VerdictStatus, reason: String, ruleId: String? = nil,
    context: JSONObject = [:], authorization: Authorization? = nil
  ) {
    self.callId = callId
    self.tool = tool
    self.status = status
    self.reason = reason
    self.ruleId = ruleId
    self.context = context
    self.authorization = authorization
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    callId = try reader.string("callId")
    tool = try reader.text("tool")
    status = try reader.enumeration(
      "status", VerdictStatus.self, "allow, deny or approval_required")
    reason = try reader.text("reason")
    ruleId = try reader.optionalString("ruleId")
    context = try reader.optionalObject("context") ?? [:]
    if let part = try reader.optionalObject("authorization") {
      authorization = try Authorization(decoding: part)
    }
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("callId", .string(callId)), ("tool", .string(tool)), ("status", .string(status.rawValue)),
      ("reason", .string(reason)), ("ruleId", ruleId.map(JSONValue.string)),
      ("context", .object(context)),
      ("authorization", authorization.map { .object($0.encoded) }),
    ])
  }
}

extension Verdict: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("callId!", .string, "The call."), DataKey("tool!", .text, "Its tool."),
      DataKey("status!", .words(VerdictStatus.allCases.map(\.rawValue)), "The verdict."),
      DataKey("reason!", .text, "Why."), DataKey("ruleId", .string, "The rule that decided."),
      DataKey("context", .mapping, "What the gate knew."),
      DataKey("authorization", .authorization, "What an authorizer said, where the rule asks one."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let rule = ruleId.map { " (rule \($0))" } ?? ""
    let (label, tone): (String, Tone) =
      switch status {
      case .allow: ("allowed", .faint)
      case .deny: ("DENIED", .bad)
      case .approvalRequired: ("ask first", .warning)
      }
    return [EventLine(label, tone, "\(tool): \(reason)\(rule)", tail: callId)]
  }
}
