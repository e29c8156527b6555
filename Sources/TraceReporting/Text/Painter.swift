import AgentTrace

/// Colours for a terminal, or none.
public struct Painter: Sendable {
  /// What a piece of text is, rather than how it looks.
  public enum Role: Sendable {
    case heading
    case faint
    case good
    case bad
    case warning
  }

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

/// Figures as people read them.
public enum Figures {
  /// `3 calls`, `1 call`.
  public static func count(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }

  /// A sum of money to a millionth, without the dust that adding doubles leaves.
  public static func cost(_ cost: Double) -> String {
    let rounded = (cost * 1_000_000).rounded() / 1_000_000
    return JSONValue(rounded).description
  }

  /// `850 µs`, `12 ms`, `1.5 s`, `2 min 5 s`.
  public static func duration(microseconds: Int) -> String {
    switch microseconds {
    case ..<1_000: return "\(microseconds) µs"
    case ..<1_000_000: return "\(microseconds / 1_000) ms"
    case ..<60_000_000:
      let tenths = microseconds / 100_000
      return "\(tenths / 10).\(tenths % 10) s"
    default:
      let seconds = microseconds / 1_000_000
      return "\(seconds / 60) min \(seconds % 60) s"
    }
  }
}
