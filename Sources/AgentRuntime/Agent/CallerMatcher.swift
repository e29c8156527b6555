/// Tells requests of models by what they ask: to name callers, and to find the agent's own conversation.
public struct CallerMatcher: Sendable, Hashable {
  /// What is looked at.
  package enum Way: Sendable, Hashable {
    /// The instructions and the first message, for a text that they hold.
    case text(String)
    /// The tools that the model is told of.
    case tool(String)
    /// The model that is asked.
    case model(String)
  }

  package let way: Way

  /// `tool:NAME`, `model:NAME`, or a text that the instructions or the first message hold; `nil` where nothing
  /// is named.
  public init?(_ text: String) {
    func rest(_ prefix: String) -> String? {
      text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
    }
    if let name = rest("tool:") {
      way = .tool(name)
    } else if let name = rest("model:") {
      way = .model(name)
    } else {
      way = .text(text)
    }
    switch way {
    case .text(let word), .tool(let word), .model(let word): if word.isEmpty { return nil }
    }
  }
}

/// A name for those who ask in one way.
public struct CallerName: Sendable, Hashable {
  /// What expectations call them.
  public var name: String
  /// Whose requests are theirs.
  public var matcher: CallerMatcher

  /// The name is given where the matcher fits, unless an earlier one of the same list does.
  public init(name: String, matcher: CallerMatcher) {
    self.name = name
    self.matcher = matcher
  }

  /// `NAME=MATCHER`; `nil` where the text is not of that form.
  public init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, let matcher = CallerMatcher(String(parts[1])) else { return nil }
    self.init(name: String(parts[0]), matcher: matcher)
  }
}
