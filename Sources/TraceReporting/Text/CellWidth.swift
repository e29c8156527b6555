import AgentTrace

/// How many columns of a terminal text takes.
///
/// By the East Asian width of Unicode (UAX #11): wide and fullwidth characters take two columns, marks
/// that combine with the one before none, all others one. Terminals differ in sequences that join
/// several emoji; a layout must not rest on the sum alone.
public enum CellWidth {
  /// The columns of a text that was made visible.
  ///
  /// - Complexity: O(*n*).
  public static func of(_ text: some StringProtocol) -> Int {
    text.unicodeScalars.reduce(0) { $0 + of($1) }
  }

  /// The columns of one scalar: 0, 1 or 2.
  public static func of(_ scalar: Unicode.Scalar) -> Int {
    let value = scalar.value
    if value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    return isWide(value) ? 2 : 1
  }

  /// The beginning of a visible text that fits into some columns; a mark that combines stays with its
  /// character, but no more than three do.
  ///
  /// - Returns: the text, its columns, and whether it is the whole.
  public static func prefix(
    of text: String, columns: Int
  ) -> (text: String, columns: Int, isWhole: Bool) {
    var kept = String.UnicodeScalarView()
    var (used, marks) = (0, 0)
    for scalar in text.unicodeScalars {
      let width = of(scalar)
      if width == 0 {
        marks += 1
        if marks <= 3 { kept.append(scalar) }
        continue
      }
      guard used + width <= columns else { return (String(kept), used, false) }
      marks = 0
      used += width
      kept.append(scalar)
    }
    return (String(kept), used, true)
  }

  /// A visible text in at most so many columns, an ellipsis where it was cut.
  public static func cut(_ text: String, columns: Int) -> String {
    guard columns > 0 else { return "" }
    let whole = prefix(of: text, columns: columns)
    if whole.isWhole { return whole.text }
    return prefix(of: text, columns: columns - 1).text + "…"
  }

  /// The ranges with East_Asian_Width W or F, of EastAsianWidth.txt of Unicode 16, neighbours joined
  /// where only unassigned numbers stand between them.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x231a...0x231b, 0x2329...0x232a, 0x23e9...0x23ec, 0x23f0...0x23f0,
    0x23f3...0x23f3, 0x25fd...0x25fe, 0x2614...0x2615, 0x2630...0x2637, 0x2648...0x2653,
    0x267f...0x267f, 0x268a...0x268f, 0x2693...0x2693, 0x26a1...0x26a1, 0x26aa...0x26ab,
    0x26bd...0x26be, 0x26c4...0x26c5, 0x26ce...0x26ce, 0x26d4...0x26d4, 0x26ea...0x26ea,
    0x26f2...0x26f3, 0x26f5...0x26f5, 0x26fa...0x26fa, 0x26fd...0x26fd, 0x2705...0x2705,
    0x270a...0x270b, 0x2728...0x2728, 0x274c...0x274c, 0x274e...0x274e, 0x2753...0x2755,
    0x2757...0x2757, 0x2795...0x2797, 0x27b0...0x27b0, 0x27bf...0x27bf, 0x2b1b...0x2b1c,
    0x2b50...0x2b50, 0x2b55...0x2b55, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf,
    0x4e00...0xa4c6, 0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19,
    0xfe30...0xfe6b, 0xff01...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18aff, 0x1aff0...0x1b2fb,
    0x1d300...0x1d356, 0x1d360...0x1d376, 0x1f004...0x1f004, 0x1f0cf...0x1f0cf,
    0x1f18e...0x1f18e, 0x1f191...0x1f19a, 0x1f200...0x1f320, 0x1f32d...0x1f335,
    0x1f337...0x1f37c, 0x1f37e...0x1f393, 0x1f3a0...0x1f3ca, 0x1f3cf...0x1f3d3,
    0x1f3e0...0x1f3f0, 0x1f3f4...0x1f3f4, 0x1f3f8...0x1f43e, 0x1f440...0x1f440,
    0x1f442...0x1f4fc, 0x1f4ff...0x1f53d, 0x1f54b...0x1f54e, 0x1f550...0x1f567,
    0x1f57a...0x1f57a, 0x1f595...0x1f596, 0x1f5a4...0x1f5a4, 0x1f5fb...0x1f64f,
    0x1f680...0x1f6c5, 0x1f6cc...0x1f6cc, 0x1f6d0...0x1f6d2, 0x1f6d5...0x1f6df,
    0x1f6eb...0x1f6ec, 0x1f6f4...0x1f6fc, 0x1f7e0...0x1f7f0, 0x1f90c...0x1f93a,
    0x1f93c...0x1f945, 0x1f947...0x1f9ff, 0x1fa70...0x1faff, 0x20000...0x3fffd,
  ]

  private static func isWide(_ value: UInt32) -> Bool {
    guard value >= 0x1100 else { return false }
    let place = wide.partitionPoint { $0.upperBound < value }
    return place < wide.count && wide[place].contains(value)
  }
}
