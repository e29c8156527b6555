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
      if try Self.checkpointCounts(at: entries[place].offset, in: file) != nil { return place }
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

  /// How many items have numbers, by table, as a member's checkpoint says; `nil` where it has none.
  /// Inflates only its beginning.
  static func checkpointCounts(at offset: Int, in file: LogFile) throws(LogError) -> [Int]? {
    let input = try file.read(at: offset + MemberHeader.length, count: 512)
    guard let inflater = Inflater() else { return nil }
    var text: [UInt8] = []
    input.withUnsafeBufferPointer { input in
      text.append(addingCapacity: 288) { _ = inflater.inflate(input, into: &$0) }
    }
    return text.withUnsafeBufferPointer { text in
      guard var scanner = LineScanner(text),
        scanner.skip(#"{"mark":"checkpoint","data":{"digest":"#), scanner.quotedName() != nil,
        scanner.skip(#","items":"#)
      else { return nil }
      // One number in format 1.
      if let count = scanner.number() { return [count] }
      var counts: [Int] = []
      guard
        scanner.elements({ scanner in
          scanner.number().map { counts.append($0) } != nil
        })
      else { return nil }
      return counts.count == LogFormat.listCount ? counts : nil
    }
  }
}
