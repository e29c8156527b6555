public import AgentTrace

/// How a run that goes on from its events treats what they leave open.
public struct Continuation: Sendable {
  /// What becomes of a call that was started and has no result.
  public var unfinished: @Sendable (ProposedCall, ToolDefinition) -> UnfinishedCall
  /// Why a call that policy allows needs a person's approval all the same; `nil` where it does not.
  /// Asked until a person grants the action in the part of the run that goes on.
  public var asksAgain: @Sendable (ProposedCall, ToolDefinition) -> String?
  /// Of a fork: why what a person granted in the run that it came from does not let a call run; `nil` where it
  /// does. Asked about calls that nothing else lets run.
  public var voidsGrant: @Sendable (ProposedCall) -> String?

  /// Without arguments, a call that is safe to make twice runs again, any other blocks the run until a
  /// person says what happened.
  public init(
    unfinished: @escaping @Sendable (ProposedCall, ToolDefinition) -> UnfinishedCall = {
      $1.isSafeTwice ? .runAgain : .block
    },
    asksAgain: @escaping @Sendable (ProposedCall, ToolDefinition) -> String? = { _, _ in nil },
    voidsGrant: @escaping @Sendable (ProposedCall) -> String? = { _ in nil }
  ) {
    self.unfinished = unfinished
    self.asksAgain = asksAgain
    self.voidsGrant = voidsGrant
  }
}

/// What becomes of a call that was started and has no result.
public enum UnfinishedCall: Sendable, Hashable {
  /// It runs again, as the attempt that it was: nothing more is recorded of its start.
  case runAgain
  /// A person is asked, as about a call that policy holds back; granted, it is started anew.
  case askAgain
  /// It keeps its unknown effect, and the run stops as `blocked`.
  case block
}

extension ToolDefinition {
  /// Whether a second call with the same input does no more than the first: the tool only reads, or
  /// says that it is idempotent.
  public var isSafeTwice: Bool { sideEffect == .read || idempotent }
}
