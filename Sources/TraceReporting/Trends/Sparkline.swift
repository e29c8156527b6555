import AgentTrace
import TraceJudging

/// Values in one line of a terminal, a character each.
public struct Sparkline: Sendable {
  private let painter: Painter
  /// Whether only characters of ASCII are used: for terminals and locales that know no others.
  private let isASCII: Bool

  /// - Parameter isASCII: whether only characters of ASCII are used.
  public init(painter: Painter, isASCII: Bool) {
    self.painter = painter
    self.isASCII = isASCII
  }

  /// Blocks from the lowest to the highest (U+2581 to U+2588), or what stands for them.
  private var levels: [Character] { Array(isASCII ? "_.:-=+*#" : "▁▂▃▄▅▆▇█") }

  /// What became of a case, oldest first: a mark where it is judged from recordings, the height of its
  /// rate where it is run live.
  func outcomes(_ points: some Sequence<CaseTrend.Point>) -> String {
    points.map { mark(of: $0.record) }.joined()
  }

  private func mark(of record: CaseRecord) -> String {
    let role: Painter.Role =
      switch record.outcome {
      case .pass: record.isFlaky ? .warning : .good
      case .fail, .error: .bad
      case .inconclusive: .warning
      }
    return painter.paint(String(character(of: record)), role)
  }

  private func character(of record: CaseRecord) -> Character {
    if record.isLive, let rate = record.rate.rate, record.outcome != .error {
      return levels[Self.level(rate, levels.count)]
    }
    return switch record.outcome {
    case .pass: isASCII ? "." : "✓"
    case .fail: isASCII ? "F" : "✗"
    case .inconclusive: "?"
    case .error: "!"
    }
  }

  /// Numbers between the least and the greatest of them; a dot where there is none.
  func values(_ values: [Double?]) -> String {
    let known = values.compactMap(\.self)
    guard let low = known.min(), let high = known.max() else { return "" }
    return String(
      values.map { value in
        guard let value else { return isASCII ? " " : "·" }
        let share = high > low ? (value - low) / (high - low) : 0
        return levels[Self.level(share, levels.count)]
      })
  }

  /// What the marks mean, in one line.
  var legend: String {
    let marks = isASCII ? ". passed, F failed" : "✓ passed, ✗ failed"
    return "\(marks), ? inconclusive, ! could not be judged; live cases by their rate, "
      + "\(levels[0]) none to \(levels[levels.count - 1]) all"
  }

  private static func level(_ share: Double, _ count: Int) -> Int {
    guard share.isFinite else { return 0 }
    return min(count - 1, max(0, Int((share * Double(count - 1)).rounded())))
  }
}
