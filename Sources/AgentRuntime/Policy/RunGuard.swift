public import AgentTrace

/// Watches a run as it happens and says when it may not go on.
///
/// Policy rules on a call by itself; a guard on what the run as a whole has come to. It sees every
/// event once it is recorded, and is asked before each thing that it could still prevent.
public protocol RunGuard: Sendable {
  /// Takes in an event that was recorded.
  mutating func observe(_ event: Event)

  /// What has happened already that may not; `nil` where nothing has.
  func breach() -> GuardBreach?

  /// What would be broken if these calls of the last decision began now.
  ///
  /// - Parameters:
  ///   - callIds: the calls, in the order in which they would begin.
  ///   - verdict: the word of policy on the last of them, where it is not recorded yet.
  func breach(ifStarted callIds: [String], by verdict: Verdict?) -> GuardBreach?

  /// What another decision would break, whatever it is.
  func breach(ifDecidingIn step: Int) -> GuardBreach?

  /// What watches the runs of an agent that the watched one calls by a tool; `nil` where there is nothing that one
  /// of them could break by itself.
  func guarding(callsOf tool: String) -> (any RunGuard)?
}

/// Two guards of one run: the first breach of either counts.
struct RunGuards: RunGuard {
  var first: any RunGuard
  var second: any RunGuard

  mutating func observe(_ event: Event) {
    first.observe(event)
    second.observe(event)
  }

  func breach() -> GuardBreach? { first.breach() ?? second.breach() }

  func breach(ifStarted callIds: [String], by verdict: Verdict?) -> GuardBreach? {
    first.breach(ifStarted: callIds, by: verdict) ?? second.breach(ifStarted: callIds, by: verdict)
  }

  func breach(ifDecidingIn step: Int) -> GuardBreach? {
    first.breach(ifDecidingIn: step) ?? second.breach(ifDecidingIn: step)
  }

  func guarding(callsOf tool: String) -> (any RunGuard)? {
    let (first, second) = (first.guarding(callsOf: tool), second.guarding(callsOf: tool))
    guard let first, let second else { return first ?? second }
    return RunGuards(first: first, second: second)
  }
}

/// What a guard found.
public struct GuardBreach: Sendable, Hashable {
  /// Which of its expectations: what verdicts and stops name it by, behind `guard:`.
  public var expectation: String
  /// Why, in one sentence; told to the model where a call is refused.
  public var message: String

  /// The message is one sentence, which a model may be told.
  public init(expectation: String, message: String) {
    self.expectation = expectation
    self.message = message
  }

  /// What a verdict names in place of a policy's rule.
  var ruleId: String { Policy.guardPrefix + expectation }
}

extension Policy {
  /// What the rule of a verdict begins with that a guard gave; no rule of a policy is called so.
  package static let guardPrefix = "guard:"
}
