import AgentTrace

/// Reading again what the resolver has forgotten, or has never seen.
extension LineCursor: EarlierLines {
  func line(
    ofEvent seq: Int, into store: inout LineStore
  ) throws(LogError) -> UnsafeBufferPointer<UInt8>? {
    if let place = places.place(ofEvent: seq) {
      return UnsafeBufferPointer(rebasing: blocks.lines[place.range])
    }
    guard let place = place(ofEvent: seq),
      try open(block: place, asFarAs: seq, countingIn: &store)
    else { return nil }
    var found: UnsafeBufferPointer<UInt8>?
    eachEventOfOpenBlock { number, _, line in
      if number == seq {
        store.keep(line, seq: seq)
        found = line
      }
      return number < seq
    }
    return found
  }

  func checkpoint(
    beforeItem number: Int, ofTable table: Int
  ) throws(LogError) -> (block: Int, counts: [Int]) {
    while true {
      if let found = checkpoints.first(where: { $0.counts.isEmpty || $0.counts[table] <= number }) {
        return found
      }
      guard let last = checkpoints.last, last.block > 0 else { return (0, []) }
      var block = last.block - 1
      while block > 0 {
        let counts = try MemberIndex.checkpointCounts(at: index[block].offset, in: blocks.file)
        if let counts, counts.count == last.counts.count {
          checkpoints.append((block, counts))
          break
        }
        block -= 1
      }
      if block == 0 { checkpoints.append((0, [])) }
    }
  }

  var fileBytes: Int { (try? blocks.file.size()) ?? 0 }

  func packets(
    inBlock block: Int, countingIn store: inout LineStore
  ) throws(LogError) -> [(seq: Int, line: [UInt8])]? {
    guard index.indices.contains(block) else { return nil }
    guard try open(block: block, countingIn: &store) else { return [] }
    var packets: [(seq: Int, line: [UInt8])] = []
    eachEventOfOpenBlock { seq, type, line in
      if type == .contextBuilt { packets.append((seq, Array(line))) }
      return true
    }
    return packets
  }

  /// Reads an earlier block again, unless it is the one that was read again last; false where it has
  /// no lines.
  ///
  /// - Parameter seq: the last event that is needed of it; `nil` where all are.
  private func open(
    block: Int, asFarAs seq: Int? = nil, countingIn store: inout LineStore
  ) throws(LogError) -> Bool {
    let reader: BlockReader
    if let rereader {
      reader = rereader
    } else {
      reader = try BlockReader(file: blocks.file, limitBytes: options.blockLimitBytes)
      rereader = reader
    }
    let (offset, firstSeq) = (index[block].offset, index[block].firstSeq)
    let event = seq.map { $0 - firstSeq }
    // All of them are needed where no last one is named.
    if openBlock == block, (event ?? .max) < (openEventCount ?? .max) || openEventCount == nil {
      return reader.textCount > 0
    }
    openBlock = nil
    openEventCount = nil
    if let event, let start = beginnings.beginning(ofBlock: block, holding: event),
      try reader.readBeginning(
        ofBlockAt: offset, length: lengthOfBlock(block), number: block, bytes: start.bytes,
        checksum: start.checksum)
    {
      openEventCount = start.eventCount
    } else {
      reader.seek(to: offset, number: block)
      guard try reader.next() != nil else { return false }
    }
    openBlock = block
    store.rereadBytes += reader.textCount
    return reader.textCount > 0
  }

  /// How many bytes a block takes in the file; `nil` where that is not known.
  private func lengthOfBlock(_ block: Int) -> Int? {
    block + 1 < index.count ? index[block + 1].offset - index[block].offset : nil
  }

  /// Visits the events of the block that was read again, until a visit says to stop.
  private func eachEventOfOpenBlock(
    _ visit: (_ seq: Int, EventType, UnsafeBufferPointer<UInt8>) -> Bool
  ) {
    guard let text = rereader?.lines else { return }
    var start = 0
    while let length = text.lineLength(from: start) {
      let line = UnsafeBufferPointer(rebasing: text[start..<(start + length)])
      if case .event(let seq, _, let type)? = try? LineHead(of: line), !visit(seq, type, line) {
        return
      }
      start += length + 1
    }
  }

  /// The last block that begins at or before an event.
  private func place(ofEvent seq: Int) -> Int? {
    let behind = index.partitionPoint { $0.firstSeq <= seq }
    return behind > 0 ? behind - 1 : nil
  }
}
