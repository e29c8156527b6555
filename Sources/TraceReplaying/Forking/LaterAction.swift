import AgentTrace

/// Something that a run before a fork did behind the place where it was forked.
enum LaterAction {
  private static let words = "the run that this one was forked from did it later, at its event "
  private static let wordsOfEarlier =
    "a run before the one that this was forked from did it later: "
  private static let wordsOfUnknown = "nobody knows whether a run before this one did it later: "

  /// Why a person is asked before a fork does it too.
  static func reason(_ seq: Int) -> String { words + "\(seq)" }

  /// The same of the run that the parent was forked from, or one before that.
  static func reason(_ seq: Int, of runId: String) -> String {
    wordsOfEarlier + "\(runId), at its event \(seq)"
  }

  /// Why a person is asked before a fork does anything, where the log of a run before it is not found or not whole.
  static func reason(lacking runId: String) -> String {
    wordsOfUnknown + "the log of \(runId) is not there, or not whole"
  }

  /// Whether that is why a person was asked.
  fileprivate static func isReason(_ reason: String) -> Bool {
    [words, wordsOfEarlier, wordsOfUnknown].contains { reason.hasPrefix($0) }
  }
}

/// Something that a person granted in the run that a fork came from.
enum EarlierGrant {
  /// Why a person is asked again before a fork does it itself.
  static let reason =
    "a person granted it in the run that this one was forked from, which lets nothing happen here"
}

/// A verdict that asks for approval because the run is a fork, where policy alone allows the call.
enum AskedByFork {
  /// Whether that is why a person was asked.
  static func isReason(_ reason: String) -> Bool {
    LaterAction.isReason(reason) || reason.hasSameUTF8(as: EarlierGrant.reason)
  }
}
