/// Why a run ended or paused. Raw values are the wire format: add one, never rename one.
public enum StopReason: String, Sendable, Hashable, CaseIterable {
  /// The agent gave its answer.
  case success
  /// The agent cannot go on without a person, or said that it cannot.
  case blocked
  /// A call waits for a person's approval.
  case approvalRequired = "approval_required"
  /// A limit was reached; the detail names it.
  case budgetExhausted = "budget_exhausted"
  /// The model's replies could not be read as a decision, after every repair try.
  case invalidDecision = "invalid_decision"
  /// Policy denied a call, and its rule or the number of denials ends the run.
  case policyDenied = "policy_denied"
  /// Tools failed too often in a row, or one whose failure ends the run.
  case toolFailure = "tool_failure"
  /// The model was out of reach after its retries.
  case modelFailure = "model_failure"
  /// A signal ended the run.
  case cancelled

  /// Every wire name, for messages and schemas.
  public static var names: [String] { allCases.map(\.rawValue) }
}

/// The details that the runtime itself gives with a ``StopReason``.
public enum StopDetail {
  /// With ``StopReason/success``: the model answered.
  public static let finalAnswer = "final_answer"
  /// With ``StopReason/budgetExhausted``: ``Limits/maxSteps`` is reached.
  public static let maxSteps = "max_steps"
  /// With ``StopReason/budgetExhausted``: ``Limits/maxToolCalls`` is reached.
  public static let maxToolCalls = "max_tool_calls"
  /// With ``StopReason/budgetExhausted``: ``Limits/maxTokens`` is reached.
  public static let maxTokens = "max_tokens"
  /// With ``StopReason/budgetExhausted``: ``Limits/maxCost`` is reached.
  public static let maxCost = "max_cost"
  /// With ``StopReason/budgetExhausted``: ``Limits/timeoutSeconds`` is over.
  public static let timeout = "timeout"
  /// The failure that the reason itself names, with nothing to add.
  public static let error = "error"
  /// With ``StopReason/blocked``: a person was asked and nobody answered.
  public static let human = "human"
  /// The model itself said that it stops.
  public static let model = "model"
  /// With ``StopReason/blocked``: the model, or its provider for it, would not reply.
  public static let refusal = "refusal"
  /// With ``StopReason/blocked``: a filter of the provider kept the reply back, or a part of it.
  public static let contentFilter = "content_filter"
  /// With ``StopReason/cancelled``: a pipeline was to pause, and goes on when somebody says so.
  public static let paused = "paused"
  /// The number of denied calls reached its limit.
  public static let maxDenials = "max_denials"
  /// A policy rule, by its id.
  public static func rule(_ id: String) -> String { "rule:\(id)" }
  /// A tool, by its name.
  public static func tool(_ name: String) -> String { "tool:\(name)" }
  /// With ``StopReason/blocked``: a tool was started, and nobody knows whether it had its effect.
  public static func unknownEffect(of tool: String) -> String { "unknown_effect:\(tool)" }
  /// With ``StopReason/toolFailure``: a source of tools, by its name, whose list is of no use.
  public static func source(_ name: String) -> String { "source:\(name)" }
  /// The agent of a tool, by the tool's name, whose run waits and makes this one wait.
  public static func agent(_ tool: String) -> String { "agent:\(tool)" }
  /// With ``StopReason/success``: the agent of a tool, by the tool's name, answered in this one's place.
  public static func handoff(_ tool: String) -> String { "handoff:\(tool)" }
  /// With ``StopReason/toolFailure`` of a pipeline: a task that did not end well.
  public static func task(_ name: String) -> String { taskPrefix + name }
  /// With ``StopReason/blocked`` of a pipeline: what a task did could not be undone.
  public static func rollback(_ name: String) -> String { rollbackPrefix + name }
  private static let taskPrefix = "task:"
  private static let rollbackPrefix = "rollback:"
  /// The task that a detail of a pipeline's stop is about; `nil` where it is about none.
  public static func task(in detail: String) -> String? {
    for prefix in [taskPrefix, rollbackPrefix, unknownEffect(of: "")] where detail.hasPrefix(prefix)
    {
      return String(detail.dropFirst(prefix.count))
    }
    return nil
  }
  /// A program that was watched, by the code it exited with.
  public static func exit(_ code: Int32) -> String { "exit:\(code)" }
  /// A signal, by its name.
  public static func signal(_ name: String) -> String { "signal:\(name)" }
}
