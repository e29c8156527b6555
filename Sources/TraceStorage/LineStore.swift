import AgentTrace

/// Lines of events that later ones may refer to: the recent ones in memory, the others read again.
///
/// Bounded, so that a log of any size is read in the same memory.
struct LineStore {
  private var lines: [Int: [UInt8]] = [:]
  private var order: [Int] = []
  private var oldest = 0
  private var bytes = 0
  let limitBytes: Int
  /// Bytes of text that were inflated again for lines that had been forgotten.
  var rereadBytes = 0

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  /// Keeps a line, and forgets the oldest ones beyond the limit.
  mutating func keep(_ line: UnsafeBufferPointer<UInt8>, seq: Int) {
    guard lines[seq] == nil else { return }
    lines[seq] = Array(line)
    order.append(seq)
    bytes += line.count
    while bytes > limitBytes, order.count - oldest > 1 {
      bytes -= lines.removeValue(forKey: order[oldest])?.count ?? 0
      oldest += 1
    }
    if oldest > 4096, oldest * 2 > order.count {
      order.removeFirst(oldest)
      oldest = 0
    }
  }

  /// The line of an event, if it is still here.
  func line(seq: Int) -> [UInt8]? { lines[seq] }
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

/// Texts that references led to, by reference. Forgets all at its limit.
struct TextCache {
  private var texts: [String: String] = [:]
  private var bytes = 0
  let limitBytes: Int

  init(limitBytes: Int) { self.limitBytes = limitBytes }

  subscript(reference: String) -> String? { texts[reference] }

  mutating func keep(_ text: String, reference: String) {
    if bytes > limitBytes {
      texts = [:]
      bytes = 0
    }
    texts[reference] = text
    bytes += text.utf8.count
  }
}
