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
  func breach(ifStarted callIds: [String]) -> GuardBreach?

  /// What another decision would break, whatever it is.
  func breach(ifDecidingIn step: Int) -> GuardBreach?
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
  var ruleId: String { "guard:\(expectation)" }
}
