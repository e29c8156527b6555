import AgentTrace

/// The breakpoints of a session, and the way to the next one.
struct Breakpoints {
  /// Where going on stopped, and why.
  struct Hit {
    var seq: Int
    var reasons: [String]
  }

  private(set) var all: [Breakpoint] = []
  private var nextNumber = 1

  mutating func add(_ condition: Breakpoint.Condition, text: String) -> Breakpoint {
    let breakpoint = Breakpoint(number: nextNumber, condition: condition, text: text)
    nextNumber += 1
    all.append(breakpoint)
    return breakpoint
  }

  /// Removes one; false where there is none of this number.
  mutating func remove(_ number: Int) -> Bool {
    guard let index = all.firstIndex(where: { $0.number == number }) else { return false }
    all.remove(at: index)
    return true
  }

  mutating func removeAll() { all = [] }

  private var watches: [(breakpoint: Breakpoint, watch: ExpectationWatch)] {
    all.compactMap { breakpoint in
      guard case .expectation(let watch) = breakpoint.condition else { return nil }
      return (breakpoint, watch)
    }
  }

  /// Why an event is one to stop at; nothing where it is not, as far as is known.
  func reasons(at event: Event, in cursor: RunCursor) -> [String] {
    all.flatMap { breakpoint -> [String] in
      if case .expectation(let watch) = breakpoint.condition {
        return watch.breaks.filter { $0.seq == event.seq }.map {
          "breakpoint \(breakpoint.number): \($0.message)"
        }
      }
      let isHit = breakpoint.hits(event) { (try? cursor.firstSeq(ofStep: $0)) ?? nil }
      return isHit ? ["breakpoint \(breakpoint.number): \(breakpoint.text)"] : []
    }
  }

  // MARK: Forwards

  /// The first event behind one that is to stop at.
  ///
  /// - Parameter isCalledOff: asked now and then.
  func next(
    after seq: Int, in cursor: RunCursor, isCalledOff: () -> Bool = { false }
  ) throws -> Hit? {
    try catchUp(through: seq, in: cursor, isCalledOff)
    var found = knownBreak { $0 > seq }
    let watches = watches
    let start = watches.reduce(seq + 1) { min($0, max($1.watch.nextSeq, 0)) }
    try cursor.scanForward(from: min(start, seq + 1)) { number, step, type in
      !watches.isEmpty || (number > seq && all.contains { $0.mayHit(step: step, type: type) })
    } _: { event in
      if let found, found < event.seq { return .enough }
      for (_, watch) in watches {
        try watch.apply(event) { try Self.events(behind: $0, through: $1, in: cursor) }
      }
      let isHit =
        event.seq > seq
        && all.contains { $0.hits(event) { (try? cursor.firstSeq(ofStep: $0)) ?? nil } }
      if isHit { found = min(found ?? .max, event.seq) }
      if isHit || isCalledOff() {
        try settle(watches.map(\.watch), in: cursor)
      }
      if let broken = knownBreak({ $0 > seq }) { found = min(found ?? .max, broken) }
      return found.map { $0 <= event.seq } ?? false || isCalledOff() ? .enough : .goOn
    }
    try settle(watches.map(\.watch), in: cursor)
    if let broken = knownBreak({ $0 > seq }) { found = min(found ?? .max, broken) }
    return try found.map { try hit(at: $0, in: cursor) }
  }

  // MARK: Backwards

  /// The last event before one that is to stop at.
  func last(
    before seq: Int, in cursor: RunCursor, isCalledOff: () -> Bool = { false }
  ) throws -> Hit? {
    try catchUp(through: seq - 1, in: cursor, isCalledOff)
    let broken = watches.flatMap { $0.watch.breaks.map(\.seq) }.filter { $0 < seq }.max()
    var found: Int?
    if all.contains(where: { if case .expectation = $0.condition { false } else { true } }) {
      try cursor.scanBackward(before: seq) { _, step, type in
        all.contains { $0.mayHit(step: step, type: type) }
      } _: { event in
        if all.contains(where: { $0.hits(event) { (try? cursor.firstSeq(ofStep: $0)) ?? nil } }) {
          found = event.seq
        }
      } endOfStretch: {
        found == nil && !isCalledOff() ? .goOn : .enough
      }
    }
    return try [found, broken].compactMap { $0 }.max().map { try hit(at: $0, in: cursor) }
  }

  // MARK: -

  private func hit(at seq: Int, in cursor: RunCursor) throws -> Hit {
    let event = try cursor.event(at: seq)
    return Hit(seq: seq, reasons: event.map { reasons(at: $0, in: cursor) } ?? [])
  }

  private func knownBreak(_ isSuch: (Int) -> Bool) -> Int? {
    watches.flatMap { $0.watch.breaks.map(\.seq) }.filter(isSuch).min()
  }

  /// Judges what has happened up to an event, where that was not done yet.
  private func catchUp(
    through seq: Int, in cursor: RunCursor, _ isCalledOff: () -> Bool
  ) throws {
    for (_, watch) in watches where watch.nextSeq <= seq {
      try cursor.scanForward(from: watch.nextSeq, through: seq) {
        event in
        try watch.apply(event) { try Self.events(behind: $0, through: $1, in: cursor) }
        return isCalledOff() ? .enough : .goOn
      }
      try settle([watch], in: cursor)
    }
  }

  private func settle(_ watches: [ExpectationWatch], in cursor: RunCursor) throws {
    for watch in watches {
      try watch.settle { try Self.events(behind: $0, through: $1, in: cursor) }
    }
  }

  private static func events(
    behind first: Int, through last: Int, in cursor: RunCursor
  ) throws -> [Event] {
    var events: [Event] = []
    try cursor.scanForward(from: first + 1, through: last) {
      events.append($0)
      return .goOn
    }
    return events
  }
}
