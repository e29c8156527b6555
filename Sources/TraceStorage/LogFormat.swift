import AgentTrace
import Glibc

/// The constants of format version 2, and of version 1 where it differs. Docs/log-format.md is their specification.
///
/// Why: Docs/decisions/0014-a-log-is-read-forward.md
public enum LogFormat {
  /// The name of a closed log ends so.
  public static let suffix = ".jsonl.gz"
  /// What the name of a log that a writer holds, or left behind, has besides.
  public static let openSuffix = ".open"
  /// The most bytes of a line, its `\n` included.
  public static let lineLimitBytes = 8 * 1024 * 1024
  /// How deep a line may nest, its envelope included.
  public static let depthLimit = 128
  /// The most values of a line: elements of arrays and members of objects at any depth, its envelope included.
  public static let valueLimit = JSONValue.countLimit
  /// The most that a reader takes: before writers kept to ``valueLimit``, a line could hold more.
  public static let readValueLimit = 1 << 20
  /// A string value of so many bytes of UTF-8 is said once.
  public static let sameMinimumBytes = 256
  /// The most bytes of an event's plain form, with nothing left out because it was said before.
  public static let expandedLimitBytes = 64 * 1024 * 1024
  /// The most items in all lists of one event together.
  public static let listItemLimit = 1_000_000
  /// The largest number of an event: the largest that every reader of JSON knows exactly.
  public static let numberLimit = 1 << 53
  /// The most bytes of lines in a block: what a reader holds at once.
  public static let blockLimitBytes = 32 * 1024 * 1024

  /// How many of the latest packets a packet may take list items over from.
  static let packetWindow = 64
  /// A writer refers to the items of so many bytes of packets, and always to those of the last one.
  static let packetWindowBytes = 2 * 1024 * 1024
  /// A writer refers to strings no further back than so many bytes of events' lines.
  static let sameWindowBytes = 4 * 1024 * 1024
  /// How many arrays of a packet are written as `$list`.
  static let listCount = 7

  /// How many tables number the items of a log's lists: one for each list, in format 1 one for all.
  static func tableCount(_ version: Int) -> Int { version == 1 ? 1 : listCount }

  /// The table that numbers the items of a list.
  static func table(ofList list: Int, _ version: Int) -> Int { version == 1 ? 0 : list }

  /// How many items have numbers, by table, as a checkpoint says; `nil` where it does not.
  static func itemCounts(ofCheckpoint data: JSONValue) -> [Int]? {
    guard let items = data["items"] else { return nil }
    let counts = items.arrayValue?.map(\.intValue) ?? [items.intValue]
    guard [1, listCount].contains(counts.count) else { return nil }
    var result: [Int] = []
    for count in counts {
      guard let count, (0...numberLimit).contains(count) else { return nil }
      result.append(count)
    }
    return result
  }

  static let sealMark = "seal"
  static let summaryMark = "summary"
  static let checkpointMark = "checkpoint"
  static let gapMark = "gap"

  /// What the digest of every seal begins with.
  static let sealDomain = Array("agent-eval/1\n".utf8)
  /// No seal is longer than this: two digests and two numbers.
  static let sealReserveBytes = 512

  /// The plain name of a log from either of its names.
  public static func plainName(_ path: String) -> String {
    path.hasSuffix(suffix + openSuffix) ? String(path.dropLast(openSuffix.count)) : path
  }
}

/// The header of a member: 36 bytes, of which only the extra field `AE` differs.
struct MemberHeader: Equatable {
  /// The number of the first event in the member; without events, of the next one.
  var firstSeq: UInt64
  /// Bytes of the member before; 0 for the first.
  var previousLength: UInt32
  /// CRC-32 of that member's bytes in the file; 0 for the first.
  var previousCRC: UInt32

  static let length = 36
  /// Magic, CM 8, FLG FEXTRA, MTIME 0, XFL 0, OS 255, XLEN 24, subfield `AE` of 20 bytes.
  static let fixedBytes: [UInt8] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 24, 0, UInt8(ascii: "A"), UInt8(ascii: "E"), 20, 0,
  ]

  var encoded: [UInt8] {
    var field: [UInt8] = []
    field.appendLittleEndian(firstSeq)
    field.appendLittleEndian(previousLength)
    field.appendLittleEndian(previousCRC)
    let check = CRC32.of(field)
    field.appendLittleEndian(check)
    return Self.fixedBytes + field
  }

  /// Why some bytes are no header.
  enum Fault: Error, Equatable {
    case fixedBytes
    case checksum
  }

  /// Reads the first 36 of some bytes; fewer are a fault.
  init(decoding bytes: UnsafeBufferPointer<UInt8>) throws(Fault) {
    guard bytes.count >= Self.length, let base = bytes.baseAddress,
      Self.fixedBytes.withUnsafeBytes({ fixed in
        fixed.baseAddress.map { memcmp(base, $0, fixed.count) == 0 } ?? false
      })
    else { throw .fixedBytes }
    let field = UnsafeBufferPointer(rebasing: bytes[16..<Self.length])
    var check = CRC32()
    check.update(UnsafeBufferPointer(rebasing: field[..<16]))
    guard check.value == field.littleEndian(UInt32.self, at: 16) else { throw .checksum }
    firstSeq = field.littleEndian(UInt64.self, at: 0)
    previousLength = field.littleEndian(UInt32.self, at: 8)
    previousCRC = field.littleEndian(UInt32.self, at: 12)
  }

  /// Reads the first 36 of some bytes; fewer are a fault.
  init(decoding bytes: some RandomAccessCollection<UInt8>) throws(Fault) {
    self = try Array(bytes.prefix(Self.length)).withUnsafeBufferPointer { bytes throws(Fault) in
      try MemberHeader(decoding: bytes)
    }
  }

  init(firstSeq: Int, previousLength: Int, previousCRC: UInt32) {
    self.firstSeq = UInt64(clamping: firstSeq)
    self.previousLength = UInt32(clamping: previousLength)
    self.previousCRC = previousCRC
  }
}

/// The empty member at the end of a closed log.
enum Trailer {
  static let length = 46
  /// An empty last deflate block, CRC-32 0, ISIZE 0.
  static let body: [UInt8] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

extension [UInt8] {
  mutating func appendLittleEndian<T: FixedWidthInteger>(_ value: T) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// The integer at an index; what lies behind the end counts as zero.
  func littleEndian<T: FixedWidthInteger & UnsignedInteger>(_ type: T.Type, at index: Int) -> T {
    var value: T = 0
    for offset in 0..<MemoryLayout<T>.size where index + offset < count {
      value |= T(self[index + offset]) << T(8 * offset)
    }
    return value
  }
}
