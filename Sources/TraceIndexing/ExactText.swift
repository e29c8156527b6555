import AgentTrace

/// Text as a key: the same only where the bytes are, unlike `String`, which calls equivalent spellings
/// equal.
struct ExactText: Hashable, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.hasSameUTF8(as: right.text)
  }

  // Equal bytes imply equal hashes of `String`.
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
