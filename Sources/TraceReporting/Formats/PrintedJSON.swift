/// JSON as it is printed: the same value, in which no character of a trace acts on whoever reads the bytes as text.
///
/// JSON itself escapes the control characters of ASCII. Those of U+0080 to U+009F are written as escapes here, and the
/// marks that turn the direction of reading around, and the line breaks of Unicode, at which some readers split. All of
/// them can stand in strings only.
public struct PrintedJSON: Sendable {
  /// The beginning of such a character, the rest of which is still to come.
  private var held: [UInt8] = []

  /// Nothing was printed so far.
  public init() {}

  /// JSON as it may be printed behind that of before, cut anywhere.
  ///
  /// - Complexity: O(*n*); without such a character the bytes are not copied.
  public mutating func escaped(_ bytes: [UInt8]) -> [UInt8] {
    guard !held.isEmpty || bytes.contains(where: Self.mayBegin) else { return bytes }
    let all = held + bytes
    held = []
    var result: [UInt8] = []
    result.reserveCapacity(all.count)
    var index = 0
    while index < all.count {
      let rest = all[index...]
      switch Self.escape(at: rest) {
      case .none:
        result.append(all[index])
        index += 1
      case .unknown:
        held = Array(rest)
        return result
      case .escaped(let scalar, let count):
        result += "\\u\(Self.hex(scalar))".utf8
        index += count
      }
    }
    return result
  }

  private enum Found {
    case none
    /// Too little has come to tell.
    case unknown
    case escaped(UInt32, count: Int)
  }

  private static func mayBegin(_ byte: UInt8) -> Bool {
    byte == 0xc2 || byte == 0xd8 || byte == 0xe2
  }

  private static func escape(at rest: ArraySlice<UInt8>) -> Found {
    guard let first = rest.first, mayBegin(first) else { return .none }
    guard let second = rest.dropFirst().first else { return .unknown }
    switch (first, second) {
    case (0xc2, 0x80...0x9f): return .escaped(UInt32(second), count: 2)
    case (0xd8, 0x9c): return .escaped(0x061c, count: 2)
    case (0xe2, 0x80), (0xe2, 0x81):
      guard let third = rest.dropFirst(2).first else { return .unknown }
      let scalar = 0x2000 | UInt32(second & 0x3f) << 6 | UInt32(third & 0x3f)
      switch scalar {
      case 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069:
        return third & 0xc0 == 0x80 ? .escaped(scalar, count: 3) : .none
      default: return .none
      }
    default: return .none
    }
  }

  private static func hex(_ scalar: UInt32) -> String {
    let digits = String(scalar, radix: 16)
    return String(repeating: "0", count: 4 - digits.utf8.count) + digits
  }
}
