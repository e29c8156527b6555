import TraceStorage

/// A zip file that is written member by member, each deflated (method 8).
///
/// PKWARE's APPNOTE.TXT, without the forms for more than 65,535 members or 4 GiB.
struct ZipWriter {
  private struct Entry {
    var name: [UInt8]
    var checksum: UInt32
    var packedCount: Int
    var count: Int
    var start: Int
  }

  private var entries: [Entry] = []
  private var position = 0

  /// The bytes of the next member.
  ///
  /// - Throws: ``ExportError`` where the archive would be larger than its numbers can say.
  mutating func member(_ name: String, _ bytes: [UInt8]) throws(ExportError) -> [UInt8] {
    guard entries.count < 65_000, let packed = ForeignPacking.deflate(bytes),
      position + packed.count + (64 << 20) < 0xffff_ffff, bytes.count < 0xffff_ffff
    else { throw ExportError(.tooLarge("an archive of more than 65,000 runs or 4 GiB")) }
    let entry = Entry(
      name: Array(name.utf8), checksum: ForeignPacking.checksum(of: bytes),
      packedCount: packed.count, count: bytes.count, start: position)
    var output: [UInt8] = []
    Self.append(0x0403_4b50, 4, to: &output)
    Self.appendCommon(entry, to: &output)
    output += entry.name + packed
    entries.append(entry)
    position += output.count
    return output
  }

  /// The directory behind the last member.
  func directory() -> [UInt8] {
    var output: [UInt8] = []
    for entry in entries {
      Self.append(0x0201_4b50, 4, to: &output)
      Self.append(20, 2, to: &output)
      Self.appendCommon(entry, to: &output)
      // No comment, the first disk, no attributes.
      for (value, count) in [(0, 2), (0, 2), (0, 2), (0, 4), (entry.start, 4)] {
        Self.append(value, count, to: &output)
      }
      output += entry.name
    }
    let length = output.count
    Self.append(0x0605_4b50, 4, to: &output)
    for (value, count) in [
      (0, 2), (0, 2), (entries.count, 2), (entries.count, 2), (length, 4), (position, 4), (0, 2),
    ] {
      Self.append(value, count, to: &output)
    }
    return output
  }

  /// What both headers of a member say: names in UTF-8, deflate, the first day that there is.
  private static func appendCommon(_ entry: Entry, to output: inout [UInt8]) {
    for (value, count) in [
      (20, 2), (0x0800, 2), (8, 2), (0, 2), (0x21, 2), (Int(entry.checksum), 4),
      (entry.packedCount, 4), (entry.count, 4), (entry.name.count, 2), (0, 2),
    ] {
      append(value, count, to: &output)
    }
  }

  private static func append(_ value: Int, _ count: Int, to output: inout [UInt8]) {
    for shift in 0..<count { output.append(UInt8(truncatingIfNeeded: value >> (8 * shift))) }
  }
}
