import AgentTrace

extension AgentLoop {
  /// The end of a run in which something has happened that may not.
  func haltByGuard() -> Halt? { recorder.record.runGuard?.breach().map(Self.stopped) }

  static func stopped(by breach: GuardBreach) -> Halt {
    Halt(reason: .policyDenied, detail: StopDetail.rule(breach.ruleId))
  }

  /// Why a call may not begin, or not once more, though the guard let it when policy ruled on it: what has happened
  /// since (a verdict on a call beside it, a result) may forbid it. `nil` where it may.
  func guardedReason(notToBegin call: ProposedCall) -> String? {
    // Nothing has happened since the guard was asked.
    if recorder.record.justRuled?.hasSameUTF8(as: call.callId) ?? false { return nil }
    return recorder.record.runGuard?.breach(ifStarted: [call.callId], by: nil)?.message
  }
}
