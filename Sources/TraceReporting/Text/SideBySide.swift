/// Two texts next to each other, line by line.
public struct SideBySide: Sendable {
  private let left: [String]
  private let right: [String]

  /// The lines must be fit for a terminal already: without colour, and hidden characters made visible.
  public init(_ left: [String], _ right: [String]) {
    self.left = left
    self.right = right
  }

  /// How wide each half is, in characters.
  public static func half(ofWidth width: Int) -> Int { max(40, (width - 3) / 2) }

  /// The lines of both; those that are too long for their half are cut.
  public func lines(width: Int) -> [String] {
    let half = Self.half(ofWidth: width)
    return (0..<max(left.count, right.count)).map { index in
      let first = index < left.count ? Self.cut(left[index], half) : ""
      let second = index < right.count ? Self.cut(right[index], half) : ""
      let padding = String(repeating: " ", count: max(0, half - first.count))
      var line = "\(first)\(padding) │ \(second)"
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  private static func cut(_ line: String, _ width: Int) -> String {
    line.count > width ? line.prefix(width - 1) + "…" : line
  }
}
