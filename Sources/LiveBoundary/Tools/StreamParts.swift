/// The first bytes of a stream, and how many there were.
struct Head: Sendable {
  private let limitBytes: Int
  private(set) var bytes: [UInt8] = []
  private(set) var count = 0

  init(limitBytes: Int) { self.limitBytes = max(0, limitBytes) }

  mutating func append(_ buffer: UnsafeRawBufferPointer) {
    count += buffer.count
    bytes.append(contentsOf: buffer.prefix(limitBytes - bytes.count))
  }

  /// Says how many bytes there are where not all were read.
  mutating func setCount(_ count: Int) { self.count = max(self.count, count) }

  /// Whether there was more than the limit.
  var isCut: Bool { count > limitBytes }
}

/// The last bytes of a stream.
struct Tail: Sendable {
  private let limitBytes: Int
  private var bytes: [UInt8] = []
  private(set) var isCut = false

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  mutating func append(_ buffer: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: buffer.suffix(limitBytes))
    isCut = isCut || buffer.count > limitBytes || bytes.count > limitBytes
    if bytes.count > limitBytes { bytes.removeFirst(bytes.count - limitBytes) }
  }

  /// The bytes as text without white space around them, `…` before them where more came earlier. What
  /// is no UTF-8 reads as U+FFFD.
  var text: String {
    var bytes = bytes[...]
    // A cut may fall into the middle of a character.
    if isCut { bytes = bytes.drop { $0 & 0xc0 == 0x80 } }
    bytes = bytes.drop { $0 <= 0x20 }
    while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
    let text = String(decoding: bytes, as: UTF8.self)
    return isCut ? "…\(text)" : text
  }
}
