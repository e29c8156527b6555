import AgentTrace

/// How what is asked now relates to what was asked when a case was accepted.
///
/// Only what can be shown is said: of an expectation that is called stricter, every run that meets it met the
/// one before.
enum Strictness {
  /// Everything meets the one that meets the other.
  case same
  /// Everything that met what was asked then meets what is asked now, and perhaps more does.
  case looser
  /// The other way round.
  case stricter
  /// Neither could be shown.
  case unknown

  /// By whether each was shown to ask for at least what the other asks for.
  init(isAtLeast: Bool, isAtMost: Bool) {
    switch (isAtLeast, isAtMost) {
    case (true, true): self = .same
    case (true, false): self = .stricter
    case (false, true): self = .looser
    case (false, false): self = .unknown
    }
  }

  /// Of two matchers.
  static func matcher(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    Strictness(
      isAtLeast: MatcherProof.shows(new, within: old),
      isAtMost: MatcherProof.shows(old, within: new))
  }

  /// Of two expectations under one key, standing among others.
  init(
    of old: AskedExpectation, to new: AskedExpectation, before: AskedContext = AskedContext(),
    after: AskedContext = AskedContext()
  ) {
    self.init(
      isAtLeast: Self.shows(new, atLeast: old, before, after),
      isAtMost: Self.shows(old, atLeast: new, after, before))
  }

  /// Whether every run that meets `new` met `old`.
  private static func shows(
    _ new: AskedExpectation, atLeast old: AskedExpectation, _ before: AskedContext,
    _ after: AskedContext
  ) -> Bool {
    guard old.severity == new.severity || new.severity == .error else { return false }
    guard let was = old.value, let now = new.value else {
      return old.list.hasSameUTF8(as: new.list) && old.text.hasSameUTF8(as: new.text)
    }
    if was.byValue == now.byValue { return true }
    return Expectations.kind(old.key)?.isAtLeastAsStrict(
      AskedChange(list: old.list, was: was, now: now, before: before, after: after)) ?? false
  }
}

/// A text whose bytes count, not its look.
struct ByteText: Hashable, Sendable {
  var text: String

  init(_ text: String) { self.text = text }

  static func == (left: ByteText, right: ByteText) -> Bool { left.text.hasSameUTF8(as: right.text) }
  func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}
