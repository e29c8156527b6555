public import AgentTrace

/// A yes or a no in words, and the reason behind it: `y`, `no, too much`, `Yes: a known customer`,
/// `always, it is mine`.
public struct SpokenApproval: Sendable, Hashable {
  /// Whether it is a yes.
  public var granted: Bool
  /// What stands behind the word; `nil` where nothing does.
  public var reason: String?
  /// What a yes covers: this one call, unless `always` says this input for the run.
  public var scope = ApprovalScope.once

  /// Reads what somebody said; `nil` where it begins with neither yes nor no.
  ///
  /// - Parameters:
  ///   - text: their words: the yes or no first, then a reason where they give one.
  ///   - takesAlways: whether whoever speaks was told of `always`.
  public init?(_ text: String, takesAlways: Bool = false) {
    let trimmed = text.drop { $0.isWhitespace }
    let word = trimmed.prefix { $0.isLetter }
    switch word.lowercased() {
    case "y", "yes": granted = true
    case "n", "no": granted = false
    case "a", "always":
      guard takesAlways else { return nil }
      (granted, scope) = (true, .input)
    default: return nil
    }
    var rest = trimmed.dropFirst(word.count).drop { $0.isWhitespace || ",;:.-–!".contains($0) }
    while rest.last?.isWhitespace ?? false { rest.removeLast() }
    reason = rest.isEmpty ? nil : String(rest)
  }
}
