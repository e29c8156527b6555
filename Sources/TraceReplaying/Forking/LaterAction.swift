/// Something that the parent of a fork did behind the place where it was forked.
enum LaterAction {
  private static let words = "the run that this one was forked from did it later, at its event "

  /// Why a person is asked before a fork does it too.
  static func reason(_ seq: Int) -> String { words + "\(seq)" }

  /// Whether that is why a person was asked.
  static func isReason(_ reason: String) -> Bool { reason.hasPrefix(words) }
}
