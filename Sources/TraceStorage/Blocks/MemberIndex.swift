/// Where the members of a closed log begin, found by their links, without inflating any.
struct MemberIndex {
  /// One member.
  struct Entry {
    var firstSeq: Int
    var offset: Int
  }

  /// In the order of the file; the trailer at the end is left out.
  private(set) var entries: [Entry] = []

  /// Follows the links from the trailer to the first member. `nil` where there is no trailer, or a
  /// link leads to no header: reading forward says what is wrong then.
  init?(walkingBackIn file: LogFile) throws(LogError) {
    let size = try file.size()
    guard size >= Trailer.length else { return nil }
    let end = try file.read(at: size - Trailer.length, count: Trailer.length)
    guard end.suffix(Trailer.body.count) == Trailer.body[...],
      var header = try? MemberHeader(decoding: end)
    else { return nil }
    var offset = size - Trailer.length
    while offset > 0 {
      let length = Int(header.previousLength)
      guard length >= Trailer.length, length <= offset else { return nil }
      offset -= length
      let next = try? MemberHeader(
        decoding: try file.read(at: offset, count: MemberHeader.length))
      guard let next, next.firstSeq <= header.firstSeq else { return nil }
      header = next
      entries.append(Entry(firstSeq: Int(clamping: header.firstSeq), offset: offset))
    }
    guard header.previousLength == 0, header.firstSeq == 0 else { return nil }
    entries.reverse()
  }

  /// The last member with a checkpoint whose first event has at most this number.
  func checkpoint(atOrBefore seq: Int, in file: LogFile) throws(LogError) -> Int? {
    for place in entries.indices.reversed() where entries[place].firstSeq <= seq {
      if try Self.checkpointItems(at: entries[place].offset, in: file) != nil { return place }
    }
    return nil
  }

  /// The number of the first event of the last block whose first event stands before a step.
  func firstSeq(ofBlockBefore step: Int, in file: LogFile) throws(LogError) -> Int {
    let reader = try BlockReader(file: file)
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      reader.seek(to: entries[middle].offset, number: middle)
      guard try reader.next() != nil, let first = Self.firstStep(of: reader.lines) else { return 0 }
      if first < step { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? entries[low - 1].firstSeq : 0
  }

  /// The step of the first event; a block without events, the closing one of a pause, has none and
  /// counts as one behind all others.
  private static func firstStep(of text: UnsafeBufferPointer<UInt8>) -> Int? {
    var start = 0
    while let length = text.lineLength(from: start) {
      switch LineHead(scanning: UnsafeBufferPointer(rebasing: text[start..<(start + length)])) {
      case .event(_, let step, _)?: return step
      case .mark?: start += length + 1
      case nil: return nil
      }
    }
    return .max
  }

  /// The size of the item table that a member's checkpoint gives; `nil` where it has none. Inflates
  /// only its beginning.
  static func checkpointItems(at offset: Int, in file: LogFile) throws(LogError) -> Int? {
    let input = try file.read(at: offset + MemberHeader.length, count: 512)
    guard let inflater = Inflater() else { return nil }
    var text: [UInt8] = []
    input.withUnsafeBufferPointer { input in
      text.append(addingCapacity: 160) { _ = inflater.inflate(input, into: &$0) }
    }
    let beginning = Array(#"{"mark":"checkpoint","data":{"digest":""#.utf8)
    guard text.starts(with: beginning) else { return nil }
    let rest = text.dropFirst(beginning.count + 64)
    let key = Array(#"","items":"#.utf8)
    guard rest.starts(with: key) else { return nil }
    let digits = rest.dropFirst(key.count).prefix { (0x30...0x39).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }
}
