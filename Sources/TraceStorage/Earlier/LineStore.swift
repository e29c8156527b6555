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
    /// `nil` once it was forgotten.
    var text: BlockText?
    var count: Int
    var places: [Place]
    /// Bytes of the lines of events alone, with their `\n`.
    let eventBytes: Int
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
      eventBytes = places.reduce(0) { $0 + $1.range.count + 1 }
      events = first...last
    }
  }

  /// In the order of their events.
  private var blocks: [Kept] = []
  /// Those before it were forgotten.
  private var firstBlock = 0
  private var eventBytes = 0
  /// Lines that were read again.
  private var reread: [Kept] = []
  private var rereadCount = 0
  /// How many bytes of events' lines are kept at least, where there are so many.
  let limitBytes: Int
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
    let free = makeRoom(for: places.reduce(0) { $0 + $1.range.count + 1 })
    keep(Kept(text: reader.exchangeText(for: free), count: count, places: places))
  }

  /// Keeps one line that was read again.
  mutating func keep(_ line: UnsafeBufferPointer<UInt8>, seq: Int) {
    let place = Place(seq: seq, range: 0..<line.count)
    guard let kept = Kept(text: BlockText(copying: line), count: line.count, places: [place])
    else { return }
    reread.append(kept)
    rereadCount += kept.count
    while reread.count > 1, rereadCount > limitBytes / 2 || reread.count > 64 {
      rereadCount -= reread.removeFirst().count
    }
  }

  private mutating func keep(_ kept: Kept?) {
    guard let kept else { return }
    blocks.append(kept)
    eventBytes += kept.eventBytes
    while blocks.count - firstBlock > 1, mayForgetFirst(beside: 0) { forgetFirst() }
  }

  /// Whether enough is kept without the oldest block.
  private func mayForgetFirst(beside bytes: Int) -> Bool {
    firstBlock < blocks.count && eventBytes - blocks[firstBlock].eventBytes + bytes >= limitBytes
  }

  /// Forgets what will have to go anyway.
  ///
  /// - Returns: memory that a reader may go on with; `nil` where none is free.
  private mutating func makeRoom(for eventBytes: Int) -> BlockText? {
    var free: BlockText?
    while mayForgetFirst(beside: eventBytes) {
      if let text = forgetFirst(), text.bytes.count >= ReadingBuffers.textBytes { free = text }
    }
    return free
  }

  @discardableResult
  private mutating func forgetFirst() -> BlockText? {
    let first = blocks[firstBlock]
    eventBytes -= first.eventBytes
    blocks[firstBlock].text = nil
    firstBlock += 1
    if firstBlock > 64, firstBlock > blocks.count / 2 {
      blocks.removeFirst(firstBlock)
      firstBlock = 0
    }
    return first.text
  }

  /// From how many bytes on a block's memory is handed over; smaller ones are copied, so that reading
  /// many small logs takes no new memory for each.
  private static let exchangedBytes = 64 * 1024

  /// The line of an event, if it is still here; valid until something else is kept.
  func line(seq: Int) -> UnsafeBufferPointer<UInt8>? {
    let behind = blocks[firstBlock...].partitionPoint { $0.events.lowerBound <= seq }
    if behind > firstBlock, let line = line(seq: seq, in: blocks[behind - 1]) { return line }
    for kept in reread.reversed() {
      if let line = line(seq: seq, in: kept) { return line }
    }
    return nil
  }

  private func line(seq: Int, in kept: Kept) -> UnsafeBufferPointer<UInt8>? {
    guard kept.events.contains(seq), let text = kept.text,
      let place = kept.places.place(ofEvent: seq)
    else { return nil }
    return UnsafeBufferPointer(rebasing: UnsafeBufferPointer(text.bytes)[place.range])
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

/// Lines that references led to, parsed: as many as the writer's window may hold.
struct ParsedLines {
  private var events: [Int: (event: Event, bytes: Int)] = [:]
  private var order: [Int] = []
  private var bytes = 0
  /// How often lines were referred to that are not parsed yet.
  private var references: [Int: Int] = [:]

  subscript(seq: Int) -> Event? { events[seq]?.event }

  /// Whether a line is to be parsed for one reference more: a short one never, a long one where it is
  /// not the first.
  mutating func isWorthParsing(_ seq: Int, bytes: Int) -> Bool {
    guard bytes > 1024 else { return false }
    if references.count > 4096 { references.removeAll(keepingCapacity: true) }
    references[seq, default: 0] += 1
    return references[seq, default: 0] > 1
  }

  mutating func keep(_ event: Event, bytes: Int) {
    guard events.updateValue((event, bytes), forKey: event.seq) == nil else { return }
    order.append(event.seq)
    self.bytes += bytes
    while order.count > 1, order.count > 4096 || self.bytes > LogFormat.sameWindowBytes {
      self.bytes -= events.removeValue(forKey: order.removeFirst())?.bytes ?? 0
    }
  }
}
