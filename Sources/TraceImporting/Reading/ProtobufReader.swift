import AgentTrace

/// Reads the wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding), field by field;
/// never beyond the bytes of its message.
struct ProtobufReader {
  /// A field's value as it stands on the wire.
  enum Value {
    case varint(UInt64)
    case fixed64(UInt64)
    case fixed32(UInt32)
    case bytes(ArraySlice<UInt8>)
  }

  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  /// The next field and its number; `nil` at the end.
  ///
  /// - Throws: ``ImportError`` where the bytes are no message.
  mutating func next() throws(ImportError) -> (number: Int, value: Value)? {
    guard position < bytes.endIndex else { return nil }
    let start = position
    let key = try varint()
    guard let number = Int(exactly: key >> 3), number > 0 else { throw damage(at: start) }
    switch key & 7 {
    case 0: return (number, .varint(try varint()))
    case 1: return (number, .fixed64(try fixed(8)))
    case 2:
      let count = try varint()
      guard count <= UInt64(bytes.endIndex - position) else { throw damage(at: start) }
      let end = position + Int(count)
      defer { position = end }
      return (number, .bytes(bytes[position..<end]))
    case 5: return (number, .fixed32(UInt32(truncatingIfNeeded: try fixed(4))))
    default: throw damage(at: start)
    }
  }

  private mutating func varint() throws(ImportError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard position < bytes.endIndex else { throw damage(at: position) }
      let byte = bytes[position]
      position += 1
      if shift == 63, byte > 1 { throw damage(at: position - 1) }
      value |= UInt64(byte & 0x7f) << shift
      if byte & 0x80 == 0 { return value }
    }
    throw damage(at: position)
  }

  private mutating func fixed(_ count: Int) throws(ImportError) -> UInt64 {
    guard count <= bytes.endIndex - position else { throw damage(at: position) }
    var value: UInt64 = 0
    for index in (0..<count).reversed() { value = value << 8 | UInt64(bytes[position + index]) }
    position += count
    return value
  }

  private func damage(at position: Int) -> ImportError {
    ImportError(.notProtobuf(byte: position))
  }
}
