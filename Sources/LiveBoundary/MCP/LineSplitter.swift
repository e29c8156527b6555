/// Lines of a stream of bytes, each of bounded length.
struct LineSplitter {
  /// A whole line, or what is kept of one that is too long.
  struct Line {
    /// Without its end; the beginning alone where it is cut.
    var bytes: [UInt8]
    /// How many bytes it had.
    var count: Int

    var isCut: Bool { count > bytes.count }
  }

  /// How much of the beginning of a line that is too long is kept.
  static let headBytes = 1_024

  private let limitBytes: Int
  private var bytes: [UInt8] = []
  private var count = 0

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  /// The lines that end in these bytes.
  mutating func append(_ buffer: UnsafeRawBufferPointer) -> [Line] {
    var lines: [Line] = []
    var rest = buffer[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      take(rest[..<end])
      lines.append(finish())
      rest = rest[(end + 1)...]
    }
    take(rest)
    return lines
  }

  /// What stands behind the last end of a line; `nil` for nothing.
  mutating func rest() -> Line? { count > 0 ? finish() : nil }

  private mutating func take(_ part: Slice<UnsafeRawBufferPointer>) {
    count += part.count
    if count <= limitBytes {
      bytes.append(contentsOf: part)
    } else if bytes.count > Self.headBytes {
      bytes = Array(bytes.prefix(Self.headBytes))
    } else {
      bytes.append(contentsOf: part.prefix(max(0, Self.headBytes - bytes.count)))
    }
  }

  private mutating func finish() -> Line {
    defer {
      bytes = []
      count = 0
    }
    return Line(bytes: bytes, count: count)
  }
}
