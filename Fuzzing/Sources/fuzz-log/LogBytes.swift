import AgentTrace

/// Puts lines into members whose headers, links and checksums are right, so that inputs reach what
/// stands behind those. Written from Docs/log-format.md, not from the product's own writer; the text
/// is stored, not compressed (RFC 1951 §3.2.4).
struct LogBytes {
  private(set) var bytes: [UInt8] = []
  private var previousLength = 0
  private var previousCRC: UInt32 = 0

  // The chain of seals.
  private var previousDigest = String(repeating: "0", count: 64)
  private var previousSeal: [UInt8] = []

  /// Adds a block of lines, each without its `\n`. The line `seal` becomes the right one.
  mutating func addBlock(
    _ lines: [[UInt8]], firstSeq: Int, nextSeq: Int, isFlushed: Bool, isFinished: Bool
  ) {
    var member = header(firstSeq)
    var text: [UInt8] = []
    for line in lines {
      var line = line
      if line.elementsEqual("seal".utf8) { line = seal(text, firstSeq, nextSeq) }
      line.append(0x0a)
      text += line
      for start in stride(from: 0, to: line.count, by: 0xffff) {
        Self.store(line[start..<min(start + 0xffff, line.count)], in: &member)
      }
      // What Z_SYNC_FLUSH puts behind each event.
      if isFlushed { Self.store([], in: &member) }
    }
    if isFinished { finish(&member, text) } else { bytes += member }
  }

  /// Adds the member that ends a closed log.
  mutating func addTrailer(nextSeq: Int) {
    var member = header(nextSeq)
    finish(&member, [])
  }

  private mutating func seal(_ text: [UInt8], _ firstSeq: Int, _ nextSeq: Int) -> [UInt8] {
    var builder = DigestBuilder()
    builder.update(Array("agent-eval/1\n\(previousDigest)".utf8) + previousSeal + text)
    let digest = builder.digest().hex
    let line = Array(
      """
      {"mark":"seal","data":{"digest":"\(digest)","first":\(firstSeq),"last":\(nextSeq - 1),\
      "prev":"\(previousDigest)"}}
      """.utf8)
    (previousDigest, previousSeal) = (digest, line + [0x0a])
    return line
  }

  private func header(_ firstSeq: Int) -> [UInt8] {
    var field: [UInt8] = []
    Self.append(UInt64(firstSeq), to: &field)
    Self.append(UInt32(previousLength), to: &field)
    Self.append(previousCRC, to: &field)
    Self.append(CRC.of(field), to: &field)
    return [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 24, 0, 65, 69, 20, 0] + field
  }

  private mutating func finish(_ member: inout [UInt8], _ text: [UInt8]) {
    member += [3, 0]
    Self.append(CRC.of(text), to: &member)
    Self.append(UInt32(text.count), to: &member)
    bytes += member
    (previousLength, previousCRC) = (member.count, CRC.of(member))
  }

  private static func store(_ text: ArraySlice<UInt8>, in member: inout [UInt8]) {
    member.append(0)
    append(UInt16(text.count), to: &member)
    append(~UInt16(text.count), to: &member)
    member += text
  }

  private static func append<T: FixedWidthInteger>(_ value: T, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }
}

/// CRC-32 as gzip has it (RFC 1952 §8).
enum CRC {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1
    }
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ ($0 >> 8) }
  }
}
