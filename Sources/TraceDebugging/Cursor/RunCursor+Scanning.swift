import AgentTrace
import TraceStorage

extension RunCursor {
  /// What a look at an event says of the search.
  enum Look {
    case goOn
    case enough
  }

  /// Visits events behind the selected one, oldest first.
  ///
  /// - Parameters:
  ///   - isWanted: by number, step and type, whether an event is read at all.
  func scanForward(
    from first: Int, through last: Int = .max,
    isWanted: (Int, Int, EventType) -> Bool = { _, _, _ in true },
    _ visit: (Event) throws -> Look
  ) throws {
    var reader = try self.reader(before: first)
    while let head = try head(of: &reader) {
      guard case .event(let seq, let step, let type) = head, seq >= first else { continue }
      guard seq <= last else { return }
      guard isWanted(seq, step, type) else { continue }
      guard case .event(let event)? = try? reader.line() else { return }
      if try visit(event) == .enough { return }
    }
  }

  /// Visits stretches of the log that end before an event, the nearest first: each is what stands
  /// between two checkpoints, and within it the events come oldest first.
  ///
  /// - Parameters:
  ///   - isWanted: by number, step and type, whether an event is read at all.
  ///   - endOfStretch: asked behind each stretch whether to go on.
  /// - Returns: the number of the first event that was looked at.
  @discardableResult
  func scanBackward(
    before end: Int, isWanted: (Int, Int, EventType) -> Bool = { _, _, _ in true },
    _ visit: (Event) throws -> Void,
    endOfStretch: () throws -> Look
  ) throws -> Int {
    var end = end
    while end > 0 {
      var reader = try self.reader(before: end - 1)
      let first = reader.nextSeq
      while let head = try head(of: &reader) {
        guard case .event(let seq, let step, let type) = head else { continue }
        guard seq < end else { break }
        guard isWanted(seq, step, type) else { continue }
        guard case .event(let event)? = try? reader.line() else { break }
        try visit(event)
      }
      end = first
      if try endOfStretch() == .enough { return first }
    }
    return 0
  }

  /// The last event before a number that is of some type and as asked.
  func lastEvent(
    before end: Int, of types: Set<EventType>, where isSuch: (Event) -> Bool = { _ in true }
  ) throws -> Event? {
    // The window tells only of what it holds, up to the number.
    let isInWindow = slots.last.map { $0.seq >= end - 1 } ?? false
    for slot in slots.reversed()
    where isInWindow && slot.seq < end && types.contains(slot.type) {
      guard let event = slot.event else { break }
      if isSuch(event) { return event }
    }
    var found: Event?
    let bound = slots.first?.seq ?? end
    try scanBackward(
      before: !isInWindow || slots.contains { $0.event == nil } ? end : min(end, bound),
      isWanted: { types.contains($2) }, { if isSuch($0) { found = $0 } },
      endOfStretch: { found == nil ? .goOn : .enough })
    return found
  }

  /// The events of a step that are as asked, but no more than a few thousand, and of few MiB.
  func events(ofStep step: Int, where isSuch: (Event) -> Bool) throws -> [Event] {
    var events: [Event] = []
    var bytes = 0
    try visit(step: step) { event in
      guard isSuch(event) else { return .goOn }
      events.append(event)
      bytes += event.approximateBytes
      return events.count < 5_000 && bytes < 8 << 20 ? .goOn : .enough
    }
    return events
  }

  /// Visits the events of a step.
  func visit(step: Int, _ visit: (Event) throws -> Look) throws {
    guard let first = try firstSeq(ofStep: step) else { return }
    try scanForward(from: first) { event in
      event.step == step ? try visit(event) : .enough
    }
  }

  /// The state after an event, folded beside the window.
  func state(after seq: Int) throws -> AgentState {
    var reader = try self.reader(before: seq)
    var state = reader.startState
    while let head = try head(of: &reader) {
      guard case .event(let number, _, _) = head else { continue }
      guard number <= seq else { break }
      try reader.fold(into: &state)
    }
    return state
  }

  /// What the run may use, as its first event says.
  var limits: Limits? {
    guard let started = try? event(at: 0), started.type == .runStarted else { return nil }
    return try? Limits(decoding: started.data["limits"]?.objectValue ?? [:])
  }

  /// The packet that was assembled last, up to the selected event, and the one before it.
  func contexts() throws -> (Event, previous: Event?)? {
    guard
      let context = event.type == .contextBuilt
        ? event : try lastEvent(before: seq, of: [.contextBuilt])
    else { return nil }
    return (context, try lastEvent(before: context.seq, of: [.contextBuilt]))
  }

  /// One event, read beside the window; `nil` where the log does not hold it.
  func event(at seq: Int) throws -> Event? {
    if let slot = slots.first(where: { $0.seq == seq }), let event = slot.event { return event }
    var found: Event?
    try scanForward(from: seq, through: seq) { event in
      found = event
      return .enough
    }
    return found
  }
}

extension Event {
  /// Bytes in memory, roughly.
  var approximateBytes: Int { 200 + JSONValue.object(data).approximateBytes(limit: 64 << 20) }
}

extension JSONValue {
  /// Bytes in memory, roughly; stops counting at a limit.
  func approximateBytes(limit: Int) -> Int {
    guard limit > 0 else { return 0 }
    switch self {
    case .string(let text), .lost(let text), .cut(_, let text): return 32 + text.utf8.count
    case .bytes(let bytes): return 32 + bytes.count
    case .array(let elements):
      var sum = 32
      for element in elements where sum < limit {
        sum += element.approximateBytes(limit: limit - sum)
      }
      return sum
    case .object(let object):
      var sum = 32
      for member in object where sum < limit {
        sum += 32 + member.key.utf8.count + member.value.approximateBytes(limit: limit - sum)
      }
      return sum
    case .null, .bool, .number: return 24
    }
  }
}
