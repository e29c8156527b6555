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
