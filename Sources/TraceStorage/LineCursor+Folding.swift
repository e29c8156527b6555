@_spi(Scanning) import AgentTrace

/// Folding a log into a state from its text: an event's digest is taken of its resolved text, and a
/// value is made only of what the fold looks at.
///
/// Whatever this cannot do, the plain way does: reading the event and applying it. `FoldingTests`
/// holds both against each other.
extension LineCursor {
  /// Folds the event in that was stepped to; a mark changes nothing.
  func fold(into state: inout AgentState) throws(LogError) {
    guard isAtEvent else { return }
    var items = foldedItems.take()
    defer { foldedItems = items }
    if let (event, digest, resultText) = try digest(countingIn: &items) {
      items.settle()
      return state.apply(event, digest: digest, resultText: resultText)
    }
    guard case .event(let event) = try line() else { return }
    items.passOver(try literalItemCount(of: event))
    state.apply(event)
  }

  /// How many items of a packet stood in it for the first time.
  private func literalItemCount(of event: Event) throws(LogError) -> Int {
    guard event.type == .contextBuilt else { return 0 }
    return try catching { () throws(LineFault) in
      try Resolver.literalCount(of: Array(self.bytes))
    }
  }

  private func digest(
    countingIn items: inout FoldedItems
  ) throws(LogError) -> (event: Event, digest: Digest, resultText: String?)? {
    guard holes.isEmpty, isUTF8, var scanner = LineScanner(bytes),
      let envelope = Envelope(&scanner),
      var text = CanonicalText(bytes, at: scanner.position)
    else { return nil }
    var output = foldedText
    foldedText = []
    defer { foldedText = output }
    output.removeAll(keepingCapacity: true)
    output.append(UInt8(ascii: "["))
    CanonicalJSON.appendString(envelope.type.rawValue, to: &output)
    output.append(contentsOf: ",\(envelope.step),".utf8)
    let start = output.count
    var earlier = EarlierText(seq: envelope.seq, items: items.take(), cursor: self)
    let isCopied = text.copyData(
      without: AgentState.keysNotDigested, ofPacket: envelope.type == .contextBuilt, from: &earlier,
      to: &output)
    items = earlier.items.take()
    if let error = earlier.error { throw error }
    guard isCopied, text.position == bytes.count - 1, bytes.last == UInt8(ascii: "}") else {
      return nil
    }
    let end = output.count
    output.append(UInt8(ascii: "]"))
    guard let event = event(envelope, output[start..<end]) else { return nil }
    var resultText: String?
    if envelope.type == .toolResult, let result = text.result {
      resultText = output[result].beginningAsText
      guard resultText != nil else { return nil }
    }
    return (event, Digest(of: output), resultText)
  }

  /// The event with as much of its data as the fold reads.
  private func event(_ envelope: Envelope, _ data: ArraySlice<UInt8>) -> Event? {
    if let keys = AgentState.keysRead(of: envelope.type) {
      if let event = EventScan.event(
        of: bytes, withOnly: EventScan.Wanted(keys: keys), runId: lastRunID)
      {
        lastRunID = event.runId
        return event
      }
      guard envelope.type != .contextBuilt else { return nil }
    }
    guard let scanner = LineScanner(bytes),
      let runId = scanner.text(envelope.runId, known: lastRunID)
    else { return nil }
    lastRunID = runId
    let value = data.withUnsafeBufferPointer { data in
      try? JSONValue(
        parsing: data, options: JSONValue.ParseOptions(depthLimit: LogFormat.depthLimit - 1))
    }
    guard case .object(let object)? = value else { return nil }
    let event = Event(
      seq: envelope.seq, step: envelope.step, type: envelope.type, runId: runId, t: envelope.t,
      data: object)
    // What a newer version may have changed is the plain way's to say.
    return envelope.type == .runStarted && (try? Resolver.checkFormat(of: event)) == nil
      ? nil : event
  }

  private var isUTF8: Bool {
    let bytes = bytes
    return bytes.isASCII || (try? UTF8Span(validating: bytes.span)) != nil
  }
}

extension ArraySlice<UInt8> {
  /// How a value begins whose canonical text this is: a string's own text, and the canonical form of
  /// any other, as much as an observation takes of it. `nil` where it is no such text.
  fileprivate var beginningAsText: String? {
    guard first == UInt8(ascii: "\"") else {
      var end = Swift.min(startIndex + Observation.summaryLimitBytes, endIndex)
      // Not within a character.
      while end < endIndex, end > startIndex, self[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
      return String(decoding: self[..<end], as: UTF8.self)
    }
    return withUnsafeBufferPointer { try? JSONValue(parsing: $0).stringValue }
  }
}

/// List items as canonical text, the latest of them: as many as find room.
struct FoldedItems {
  private var text: [UInt8] = []
  /// Where each kept item stands in the text; empty where it is not kept.
  private var places: [Range<Int>] = []
  /// The number of the first of ``places``.
  private var first: Int
  /// How many items had numbers before the event that is being read.
  private var settled: Int

  private static let limitBytes = 2 * 1024 * 1024

  /// How many items have numbers.
  var count: Int { first + places.count }

  /// - Parameter first: how many items have numbers where reading begins; they are not kept.
  init(first: Int = 0) {
    self.first = first
    settled = first
  }

  /// Leaves nothing behind, so that what is taken is changed in its place.
  mutating func take() -> FoldedItems {
    defer { self = FoldedItems() }
    return self
  }

  mutating func add(_ item: ArraySlice<UInt8>) {
    let start = text.count
    text.append(contentsOf: item)
    places.append(start..<text.count)
  }

  /// Appends kept items; false where one is not.
  func append(_ range: Range<Int>, to output: inout [UInt8]) -> Bool {
    guard range.lowerBound >= first, range.upperBound <= count else { return false }
    var isFirst = true
    for place in places[(range.lowerBound - first)..<(range.upperBound - first)] {
      guard !place.isEmpty else { return false }
      if !isFirst { output.append(UInt8(ascii: ",")) }
      isFirst = false
      output.append(contentsOf: text[place])
    }
    return true
  }

  /// Keeps what an event has added, and forgets the oldest half where there is too much.
  mutating func settle() {
    settled = count
    guard text.count > Self.limitBytes else { return }
    let dropped = places.count / 2
    let start = places[dropped...].first { !$0.isEmpty }?.lowerBound ?? text.count
    text.removeSubrange(..<start)
    places.removeFirst(dropped)
    first += dropped
    for index in places.indices where !places[index].isEmpty {
      places[index] = (places[index].lowerBound - start)..<(places[index].upperBound - start)
    }
  }

  /// Numbers the items of an event that was read another way; their text is not kept.
  mutating func passOver(_ itemCount: Int) {
    while count > settled, let last = places.popLast() {
      if !last.isEmpty { text.removeSubrange(last.lowerBound...) }
    }
    for _ in 0..<itemCount { places.append(0..<0) }
    settled = count
  }
}

/// What an event may refer to, as text.
private struct EarlierText: CanonicalText.Earlier {
  let seq: Int
  var items: FoldedItems
  let cursor: LineCursor
  var error: LogError?

  mutating func append(sameAs reference: String, to output: inout [UInt8]) -> Bool {
    do {
      guard let text = try cursor.text(sameAs: reference, before: seq) else { return false }
      CanonicalJSON.appendString(text, to: &output)
      return true
    } catch {
      self.error = error
      return false
    }
  }

  mutating func append(items first: Int, count: Int, to output: inout [UInt8]) -> Bool {
    count <= LogFormat.listItemLimit && items.append(first..<(first + count), to: &output)
  }

  mutating func add(item: ArraySlice<UInt8>) { items.add(item) }
}
