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
    if try foldText(into: &state) { return }
    guard case .event(let event) = try line() else { return }
    foldedItems.passOver(try literalItemCount(of: event), event: event.seq)
    state.apply(event)
  }

  /// How many items of a packet stood in it for the first time.
  private func literalItemCount(of event: Event) throws(LogError) -> Int {
    guard event.type == .contextBuilt else { return 0 }
    return try catching { () throws(LineFault) in
      try Resolver.literalCount(of: self.bytes)
    }
  }

  /// Room for so much text is kept for the next event; more is asked for anew.
  private static let keptTextBytes = 1 << 20

  /// Folds the event in from its text; false, and nothing changed, where that has to be read the plain
  /// way.
  private func foldText(into state: inout AgentState) throws(LogError) -> Bool {
    guard holes.isEmpty, var scanner = LineScanner(bytes), let envelope = Envelope(&scanner) else {
      return false
    }
    var text = CanonicalText(scanner)
    var output = foldedText
    foldedText = []
    defer { if output.capacity <= Self.keptTextBytes { foldedText = output } }
    output.removeAll(keepingCapacity: true)
    AgentState.appendDigestHead(of: envelope.type, step: envelope.step, to: &output)
    let start = output.count
    let keys = AgentState.keysRead(of: envelope.type)
    var earlier = EarlierText(seq: envelope.seq, items: foldedItems, cursor: self)
    let isCopied = text.copyData(
      without: AgentState.keysNotDigested, lookingFor: keys ?? [],
      ofPacket: envelope.type == .contextBuilt, from: &earlier, to: &output)
    if let error = earlier.error { throw error }
    scanner = text.scanner
    guard isCopied, scanner.skip(UInt8(ascii: "}")), scanner.isAtEnd,
      text.isASCII || (try? UTF8Span(validating: bytes.span)) != nil,
      let runId = scanner.text(envelope.runId, known: lastRunID)
    else { return false }
    lastRunID = runId
    let members = keys.map { text.members($0, in: output) } ?? output[start...].objectValue
    output.append(UInt8(ascii: "]"))
    guard let data = members else { return false }
    let event = Event(
      seq: envelope.seq, step: envelope.step, type: envelope.type, runId: runId, t: envelope.t,
      data: data)
    // What a newer version may have changed is the plain way's to say.
    if event.type == .runStarted, (try? Resolver.checkFormat(of: event)) == nil { return false }
    var resultText: String?
    if event.type == .toolResult, let result = text.result {
      resultText = output[result].beginningAsText
      guard resultText != nil else { return false }
    }
    foldedItems.settle(event: event.seq)
    state.apply(event, digest: Digest(of: output), resultText: resultText)
    return true
  }
}

extension CanonicalText {
  /// The members that were looked for, whose keys grow, from the output; `nil` where one cannot be read.
  fileprivate func members(_ keys: [StaticString], in output: [UInt8]) -> JSONObject? {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(found.count)
    for (index, key) in keys.prefix(found.count).enumerated() where !found[index].isEmpty {
      guard let value = output[found[index]].jsonValue(depth: 2) else { return nil }
      members.append(JSONObject.Member(key: key.description, value: value))
    }
    return JSONObject(growing: members)
  }
}

extension ArraySlice<UInt8> {
  /// The value that stands here, valid UTF-8, so many levels below a line; `nil` where that cannot be
  /// read.
  fileprivate func jsonValue(depth: Int) -> JSONValue? {
    withUnsafeBufferPointer { bytes in
      let end = bytes.count - 1
      if end > 0, bytes[0] == UInt8(ascii: "\""), bytes.plainEnd(from: 1) == end {
        let text = UnsafeBufferPointer(rebasing: bytes[1..<end])
        return .string(String(decoding: text, as: UTF8.self))
      }
      let options = JSONValue.ParseOptions(depthLimit: LogFormat.depthLimit - depth)
      return try? JSONValue(parsing: bytes, options: options)
    }
  }

  /// The object that stands here, an event's data.
  fileprivate var objectValue: JSONObject? { jsonValue(depth: 1)?.objectValue }

  /// How a value begins whose canonical text this is: a string's own text, and the canonical form of
  /// any other, as much as an observation takes of it. `nil` where it is no such text.
  fileprivate var beginningAsText: String? {
    guard first == UInt8(ascii: "\"") else {
      var end = Swift.min(startIndex + Observation.summaryLimitBytes, endIndex)
      // Not within a character.
      while end < endIndex, end > startIndex, self[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
      return String(decoding: self[..<end], as: UTF8.self)
    }
    return jsonValue(depth: 2)?.stringValue
  }
}

/// List items as canonical text, the latest of them: as many as find room, and of small ones more. Of
/// the others, where they stand.
final class FoldedItems {
  private var texts: ItemTexts
  /// Small items alone; see ``ItemTable``.
  private var smallTexts: ItemTexts
  /// How many items had numbers before the event that is being read.
  private var settled: Int
  /// The packets with new items that were read, and the number of the first of each.
  private var origins: [(first: Int, seq: Int)] = []

  /// How many items have numbers.
  var count: Int { texts.count }

  /// - Parameters:
  ///   - first: how many items have numbers where reading begins; they are not kept.
  ///   - cacheBytes: the memory of all that earlier lines say, of which this takes half.
  init(first: Int = 0, cacheBytes: Int = 0) {
    settled = first
    texts = ItemTexts(first: first, limitBytes: cacheBytes / 2)
    smallTexts = ItemTexts(first: first, limitBytes: min(cacheBytes / 4, 1 << 19))
  }

  func add(_ item: ArraySlice<UInt8>) {
    texts.add(item)
    smallTexts.add(item.count <= ItemTable.smallItemBytes ? item : [])
  }

  /// Appends a kept item; false where it is not.
  func append(_ number: Int, to output: inout [UInt8]) -> Bool {
    texts.append(number, to: &output) || smallTexts.append(number, to: &output)
  }

  /// The packet that an item stands in, and which of its new items it is; `nil` where that packet was
  /// not read.
  func origin(of number: Int) -> (seq: Int, index: Int)? {
    let behind = origins.partitionPoint { $0.first <= number }
    guard behind > 0, number < settled else { return nil }
    return (origins[behind - 1].seq, number - origins[behind - 1].first)
  }

  private func settleNumbers(event seq: Int) {
    if count > settled { origins.append((settled, seq)) }
    settled = count
  }

  /// Keeps what an event has added, and forgets the oldest half where there is too much.
  func settle(event seq: Int) {
    settleNumbers(event: seq)
    texts.forgetBeyondLimit()
    smallTexts.forgetBeyondLimit()
  }

  /// Numbers the items of an event that was read another way; their text is not kept.
  func passOver(_ itemCount: Int, event seq: Int) {
    texts.drop(from: settled)
    smallTexts.drop(from: settled)
    for _ in 0..<itemCount {
      texts.add([])
      smallTexts.add([])
    }
    settleNumbers(event: seq)
  }
}

/// The texts of items whose numbers follow on one another.
///
/// Two generations: when the young one has half of the room, it becomes the old one, and the old one is
/// forgotten. So nothing is ever moved.
private struct ItemTexts {
  private var old: Generation
  private var young: Generation
  /// How much text is kept.
  private let limitBytes: Int

  init(first: Int, limitBytes: Int) {
    old = Generation(first: first)
    young = Generation(first: first)
    self.limitBytes = limitBytes
  }

  var count: Int { young.count }

  mutating func add(_ item: ArraySlice<UInt8>) { young.add(item) }

  func append(_ number: Int, to output: inout [UInt8]) -> Bool {
    number < young.first ? old.append(number, to: &output) : young.append(number, to: &output)
  }

  /// Takes back the items from a number on, none of which is older than the last
  /// ``forgetBeyondLimit()``.
  mutating func drop(from number: Int) { young.drop(from: number) }

  /// Forgets the older half where there is too much, of text or of places.
  mutating func forgetBeyondLimit() {
    guard
      young.textBytes > limitBytes / 2
        || young.placesCount * MemoryLayout<Range<Int>>.stride > limitBytes
    else { return }
    swap(&old, &young)
    young.removeAll(first: old.count)
  }

  private struct Generation {
    private var text: [UInt8] = []
    /// Where each item stands in the text; empty where it is not kept.
    private var places: [Range<Int>] = []
    /// The number of the first of ``places``.
    private(set) var first: Int

    init(first: Int) { self.first = first }

    var count: Int { first + places.count }
    var textBytes: Int { text.count }
    var placesCount: Int { places.count }

    mutating func add(_ item: ArraySlice<UInt8>) {
      let start = text.count
      text.append(contentsOf: item)
      places.append(start..<text.count)
    }

    func append(_ number: Int, to output: inout [UInt8]) -> Bool {
      guard (first..<count).contains(number) else { return false }
      let place = places[number - first]
      guard !place.isEmpty else { return false }
      output.append(contentsOf: text[place])
      return true
    }

    mutating func drop(from number: Int) {
      while count > number, let last = places.popLast() {
        if !last.isEmpty { text.removeSubrange(last.lowerBound...) }
      }
    }

    mutating func removeAll(first: Int) {
      text.removeAll(keepingCapacity: true)
      places.removeAll(keepingCapacity: true)
      self.first = first
    }
  }
}

extension LineCursor {
  /// Appends a text that was said before an event, as JSON; false where it is not there, with the error
  /// where it could not be read.
  fileprivate func append(
    textSameAs reference: String, before seq: Int, to output: inout [UInt8], error: inout LogError?
  ) -> Bool {
    do throws(LogError) {
      if try append(textSameAs: reference, before: seq, to: &output) { return true }
      guard let text = try text(sameAs: reference, before: seq) else { return false }
      CanonicalJSON.appendString(text, to: &output)
      return true
    } catch let fault {
      error = fault
      return false
    }
  }
}

/// What an event may refer to, as text.
private struct EarlierText: CanonicalText.Earlier {
  let seq: Int
  let items: FoldedItems
  let cursor: LineCursor
  var error: LogError?

  mutating func append(sameAs reference: String, to output: inout [UInt8]) -> Bool {
    cursor.append(textSameAs: reference, before: seq, to: &output, error: &error)
  }

  mutating func append(items first: Int, count: Int, to output: inout [UInt8]) -> Bool {
    guard count <= LogFormat.listItemLimit else { return false }
    for number in first..<(first + count) {
      if number > first { output.append(UInt8(ascii: ",")) }
      if items.append(number, to: &output) { continue }
      guard let item = forgottenItem(number) else { return false }
      output.append(contentsOf: item)
      guard output.count <= CanonicalText.outputLimitBytes else { return false }
    }
    return true
  }

  /// An item that is no longer kept, from the packet that it stands in.
  private mutating func forgottenItem(_ number: Int) -> [UInt8]? {
    guard let (packet, index) = items.origin(of: number) else { return nil }
    do {
      guard let line = try cursor.earlierLine(ofEvent: packet) else { return nil }
      return line.withUnsafeBufferPointer { line in
        guard var scanner = LineScanner(line), let envelope = Envelope(&scanner),
          envelope.seq == packet, envelope.type == .contextBuilt
        else { return nil }
        var text = CanonicalText(scanner)
        var finder = ItemFinder(index: index, packet: packet, cursor: cursor)
        var passed: [UInt8] = []
        let isRead = text.copyData(without: [], ofPacket: true, from: &finder, to: &passed)
        if let error = finder.error { self.error = error }
        return isRead ? finder.item : nil
      }
    } catch {
      self.error = error
      return nil
    }
  }

  mutating func add(item: ArraySlice<UInt8>) { items.add(item) }
}

/// Looks for one of the new items of a packet; everything else in it is only stepped over.
private struct ItemFinder: CanonicalText.Earlier {
  let index: Int
  let packet: Int
  let cursor: LineCursor
  var item: [UInt8]?
  var error: LogError?
  /// New items stepped over.
  private var count = 0

  init(index: Int, packet: Int, cursor: LineCursor) {
    self.index = index
    self.packet = packet
    self.cursor = cursor
  }

  mutating func append(sameAs reference: String, to output: inout [UInt8]) -> Bool {
    // What is no part of the item need not be there.
    guard count == index else { return true }
    return cursor.append(textSameAs: reference, before: packet, to: &output, error: &error)
  }

  mutating func append(items first: Int, count: Int, to output: inout [UInt8]) -> Bool { true }

  mutating func add(item: ArraySlice<UInt8>) {
    if count == index { self.item = Array(item) }
    count += 1
  }
}
