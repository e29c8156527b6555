extension PatternSearch {
  /// A way through the pattern, and where in the text it began.
  private struct Thread {
    var place: Int32
    var start: Int
  }

  /// Where the pattern is found: leftmost, longest, not empty; `nil` when the budget is used up.
  ///
  /// Places are kept in the order in which they began, each by the first that came there: of two ways
  /// through the same place only the earlier counts.
  mutating func ranges(in text: UnsafeBufferPointer<UInt8>) -> [Range<Int>]? {
    var ranges: [Range<Int>] = []
    var threads: [Thread] = []
    var found: Range<Int>?
    var (position, before) = (0, edgeIfNeeded(.text))
    /// What stands before the place that the search goes back to once a match is complete.
    var edgeAtEnd = before
    while true {
      if kinds.count >= Self.kindLimit { forgetKinds() }
      var next = position
      let kind: Int? =
        position < text.count
        ? Int(self.kind(of: Self.decode(text, at: &next), isLast: next == text.count)) : nil
      let after = kind.map { kinds[$0].edge } ?? .text
      if found == nil { threads.append(Thread(place: 0, start: position)) }
      let open = close(threads, between: before, and: after) { start in
        guard start < position, start <= found?.lowerBound ?? start else { return }
        found = start..<position
        edgeAtEnd = before
      }
      if workLeft < 0 { return nil }
      threads.removeAll(keepingCapacity: true)
      if let kind {
        let sets = kinds[kind].sets
        for thread in open where thread.start <= found?.lowerBound ?? thread.start {
          if case .take(let set) = program.instructions[Int(thread.place)],
            sets[set / 64] >> UInt64(set % 64) & 1 == 1
          {
            threads.append(Thread(place: thread.place + 1, start: thread.start))
          }
        }
      }
      if let complete = found, threads.isEmpty {
        ranges.append(complete)
        (position, before, found) = (complete.upperBound, edgeAtEnd, nil)
        continue
      }
      guard let kind else { return ranges }
      (position, before) = (next, edgeIfNeeded(kinds[kind].edge))
    }
  }

  /// The places that take a scalar and can be reached without one, in the order of their starts.
  ///
  /// - Parameter isFound: told of each start from which the pattern is found here.
  private mutating func close(
    _ threads: [Thread], between before: Edge, and after: Edge,
    isFound: (Int) -> Void
  ) -> [Thread] {
    turn += 1
    var open: [Thread] = []
    var pending: [Int32] = []
    for thread in threads {
      pending.append(thread.place)
      while let place = pending.popLast() {
        guard marks[Int(place)] != turn else { continue }
        marks[Int(place)] = turn
        workLeft -= 1
        switch program.instructions[Int(place)] {
        case .take: open.append(Thread(place: place, start: thread.start))
        case .split(let first, let second):
          pending.append(Int32(first))
          pending.append(Int32(second))
        case .jump(let target): pending.append(Int32(target))
        case .check(let assertion):
          if Self.holds(assertion, before: before, after: after) { pending.append(place + 1) }
        case .found: isFound(thread.start)
        }
      }
    }
    return open
  }
}
