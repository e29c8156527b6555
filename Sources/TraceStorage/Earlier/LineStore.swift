import AgentTrace

/// Lines of events that later ones may refer to: those of recent blocks in memory, the others read
/// again.
///
/// Bounded, so that a log of any size is read in the same memory. Whole blocks are kept, as one copy
/// each: most lines are never referred to, so nothing is done for each of them.
struct LineStore {
  /// Where an event's line stands in the text of its block, without its `\n`.
  struct Place {
    var seq: Int
    var range: Range<Int>
  }

  private struct Kept {
    var text: BlockText
    var count: Int
    var places: [Place]
    /// Between the first and the last of the places; found without going there.
    let events: ClosedRange<Int>

    /// `nil` where there are no places.
    init?(text: BlockText, count: Int, places: [Place]) {
      guard let first = places.first?.seq, let last = places.last?.seq, first <= last else {
        return nil
      }
      self.text = text
      self.count = count
      self.places = places
      events = first...last
    }
  }

  private var blocks: [Kept] = []
  private var bytes = 0
  let limitBytes: Int
  private static let limitBlocks = 512
  /// Bytes of text that were inflated again for lines that had been forgotten.
  var rereadBytes = 0

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  /// Keeps the lines of the block that a reader is about to leave, and forgets the oldest blocks beyond
  /// the limit.
  mutating func keepLines(of reader: BlockReader, places: [Place]) {
    guard !places.isEmpty else { return }
    let count = reader.textCount
    guard count >= Self.exchangedBytes else {
      return keep(Kept(text: BlockText(copying: reader.lines), count: count, places: places))
    }
    let free = makeRoom(for: count)
    keep(Kept(text: reader.exchangeText(for: free), count: count, places: places))
  }

  /// Keeps one line.
  mutating func keep(_ line: UnsafeBufferPointer<UInt8>, seq: Int) {
    let place = Place(seq: seq, range: 0..<line.count)
    keep(Kept(text: BlockText(copying: line), count: line.count, places: [place]))
  }

  private mutating func keep(_ kept: Kept?) {
    guard let kept else { return }
    blocks.append(kept)
    bytes += kept.count
    while blocks.count > 1, bytes > limitBytes || blocks.count > Self.limitBlocks { forgetFirst() }
  }

  /// Forgets what will have to go anyway.
  ///
  /// - Returns: memory that a reader may go on with; `nil` where none is free.
  private mutating func makeRoom(for count: Int) -> BlockText? {
    var free: BlockText?
    while !blocks.isEmpty, bytes + count > limitBytes {
      let text = forgetFirst()
      if text.bytes.count >= ReadingBuffers.textBytes { free = text }
    }
    return free
  }

  @discardableResult
  private mutating func forgetFirst() -> BlockText {
    let first = blocks.removeFirst()
    bytes -= first.count
    return first.text
  }

  /// From how many bytes on a block's memory is handed over; smaller ones are copied, so that reading
  /// many small logs takes no new memory for each.
  private static let exchangedBytes = 64 * 1024

  /// The line of an event, if it is still here; valid until something else is kept.
  func line(seq: Int) -> UnsafeBufferPointer<UInt8>? {
    for index in blocks.indices.reversed() where blocks[index].events.contains(seq) {
      if let place = blocks[index].places.place(ofEvent: seq) {
        return UnsafeBufferPointer(
          rebasing: UnsafeBufferPointer(blocks[index].text.bytes)[place.range])
      }
    }
    return nil
  }
}

extension [LineStore.Place] {
  /// Where an event stands; the places are in the order of their numbers.
  func place(ofEvent seq: Int) -> LineStore.Place? {
    guard let first, let last, first.seq <= seq, seq <= last.seq else { return nil }
    let place = partitionPoint { $0.seq < seq }
    return place < count && self[place].seq == seq ? self[place] : nil
  }
}

/// The last few lines that references led to, parsed.
struct ParsedLines {
  private var events: [(event: Event, bytes: Int)] = []
  private var bytes = 0

  subscript(seq: Int) -> Event? { events.last { $0.event.seq == seq }?.event }

  mutating func keep(_ event: Event, bytes: Int) {
    events.append((event, bytes))
    self.bytes += bytes
    while events.count > 1, events.count > 16 || self.bytes > 1024 * 1024 {
      self.bytes -= events.removeFirst().bytes
    }
  }
}
