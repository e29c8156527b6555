/// The bytes of one input, taken from the front.
public struct FuzzInput {
  private var rest: ArraySlice<UInt8>

  /// What libFuzzer handed over.
  public init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
    rest = Array(UnsafeBufferPointer(start: start, count: count))[...]
  }

  /// The next byte; 0 behind the last.
  public mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Two bytes as one number.
  public mutating func number() -> Int {
    let high = Int(byte())
    return high << 8 | Int(byte())
  }

  /// Everything that was not taken.
  public var bytes: [UInt8] { Array(rest) }

  /// What was not taken, up to a byte and behind it; all and nothing where the byte is not there.
  public func split(at separator: UInt8) -> (before: [UInt8], behind: [UInt8]) {
    guard let index = rest.firstIndex(of: separator) else { return (bytes, []) }
    return (Array(rest[..<index]), Array(rest[(index + 1)...]))
  }
}
