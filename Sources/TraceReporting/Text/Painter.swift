public import AgentTrace

/// Colours for a terminal, or none.
public struct Painter: Sendable {
  /// What a piece of text is, rather than how it looks.
  public typealias Role = Tone

  private let isColoured: Bool

  /// - Parameter isColoured: true only where the output is a terminal and `NO_COLOR` is not set.
  public init(isColoured: Bool) { self.isColoured = isColoured }

  /// The text in the colour of its role (ECMA-48 SGR sequences).
  public func paint(_ text: String, _ role: Role) -> String {
    guard isColoured, !text.isEmpty else { return text }
    let code =
      switch role {
      case .heading: "1"
      case .faint: "2"
      case .good: "32"
      case .bad: "31;1"
      case .warning: "33"
      }
    return "\u{1b}[\(code)m\(text)\u{1b}[0m"
  }
}
