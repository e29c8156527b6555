@_spi(Scanning) import AgentTrace

/// Folding a log into a state from its text: an event's digest is taken of its resolved text, and a
/// value is made only of what the fold looks at.
///
/// Whatever this cannot do, the plain way does: reading the event and applying it. `FoldingTests`
/// holds both against each other.
extension LineCursor {
  /// Folds the event in that was stepped to; a mark changes nothing.
  ///
  /// - Parameter known: that event, where it was read already, and is no packet: no value is then made of it once more.
  func fold(into state: inout AgentState, known: Event? = nil) throws(LogError) {
    guard isAtEvent else { return }
    isFoldedCanonical = false
    if try foldText(into: &state, known: known) { return }
    if let known { return state.apply(known) }
    guard let raw = try rawEvent() else { return }
    let event = try resolved(raw)
    if raw.type == .contextBuilt, holes.isEmpty {
      foldedLists.take(raw: raw, resolved: event)
      try catching { () throws(LineFault) in
        if foldedLists.work.isTooMuch(fileBytes: { fileBytes }) { throw .tooMuchWork }
      }
    }
    state.apply(event)
  }

  /// The packet that was folded in, without its data, where its text shows that nothing is wrong with them; `nil` says
  /// nothing against it.
  var soundPacket: Event? {
    guard isAtEvent, isFoldedCanonical, PacketForm.isSound(bytes), var scanner = LineScanner(bytes),
      let envelope = Envelope(&scanner), envelope.type == .contextBuilt
    else { return nil }
    return Event(
      seq: envelope.seq, step: envelope.step, type: envelope.type, runId: lastRunID,
      t: envelope.t, data: [:])
  }

  /// Room for so much text is kept for the next event; more is asked for anew.
  private static let keptTextBytes = 1 << 20

  /// Folds the event in from its text; false, and nothing changed, where that has to be read the plain
  /// way.
  private func foldText(into state: inout AgentState, known: Event?) throws(LogError) -> Bool {
    guard holes.isEmpty, !bytes.holdsMoreValues(than: LogFormat.readValueLimit),
      var scanner = LineScanner(bytes), let envelope = Envelope(&scanner)
    else { return false }
    var text = CanonicalText(scanner)
    var output = foldedText
    foldedText = []
    defer { if output.capacity <= Self.keptTextBytes { foldedText = output } }
    output.removeAll(keepingCapacity: true)
    AgentState.appendDigestHead(of: envelope.type, step: envelope.step, to: &output)
    let start = output.count
    let keys = AgentState.keysRead(of: envelope.type)
    let isPacket = envelope.type == .contextBuilt
    var earlier = EarlierText(
      seq: envelope.seq, ofPacket: isPacket, lists: foldedLists, cursor: self)
    let isCopied = text.copyData(
      without: AgentState.keysNotDigested, lookingFor: keys ?? [], ofPacket: isPacket,
      from: &earlier, to: &output)
    if let error = earlier.error { throw error }
    scanner = text.scanner
    guard isCopied, scanner.skip(UInt8(ascii: "}")), scanner.isAtEnd,
      text.isASCII || (try? UTF8Span(validating: bytes.span)) != nil,
      let runId = scanner.text(envelope.runId, known: lastRunID)
    else { return false }
    lastRunID = runId
    let members: JSONObject?
    // Of a beginning it matters how it stands in the line: it may be of another format.
    if let known, known.type != .runStarted {
      members = known.data
    } else {
      members = keys.map { text.members($0, in: output) } ?? output[start...].objectValue
    }
    output.append(UInt8(ascii: "]"))
    guard let data = members else { return false }
    let event = Event(
      seq: envelope.seq, step: envelope.step, type: envelope.type, runId: runId, t: envelope.t,
      data: data)
    // What a newer version may have changed is the plain way's to say.
    if event.type == .runStarted, (try? Resolver.inThisFormat(event)) != event { return false }
    var resultText: String?
    if event.type == .toolResult, let result = text.result {
      resultText = output[result].beginningAsText
      guard resultText != nil else { return false }
    }
    if isPacket { foldedLists.take(earlier.packet) }
    state.apply(event, digest: Digest(of: output), resultText: resultText)
    isFoldedCanonical = text.isCanonical
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

/// What an event may refer to: strings as text, list items as digests.
private struct EarlierText: CanonicalText.Earlier {
  let seq: Int
  let lists: FoldedLists
  let cursor: LineCursor
  var error: LogError?
  /// What the packet holds, if it is one.
  var packet: FoldedLists.Packet
  private var list = 0
  /// Whether nothing more is made of it, because it asks for too much.
  private var isRefused = false
  /// How many items are taken before it is looked whether they are too many, which costs asking for the file's size.
  private static let itemsAtOnce = 1_024

  init(seq: Int, ofPacket isPacket: Bool, lists: FoldedLists, cursor: LineCursor) {
    self.seq = seq
    self.lists = lists
    self.cursor = cursor
    packet = isPacket ? FoldedLists.Packet(tableCount: lists.counts.count) : FoldedLists.Packet()
  }

  mutating func append(sameAs reference: String, to output: inout [UInt8]) -> Bool {
    cursor.append(textSameAs: reference, before: seq, to: &output, error: &error)
  }

  mutating func begin(list: Int) {
    self.list = list
    packet.lists[list] = []
  }

  mutating func take(items first: Int, count: Int) -> Bool {
    guard count <= LogFormat.listItemLimit else { return false }
    packet.lists[list]?.add(ItemRun(first: first, count: count))
    return true
  }

  mutating func take(item: ArraySlice<UInt8>) {
    if packet.said.isMultiple(of: Self.itemsAtOnce) { isRefused = isRefused || isTooMuch }
    guard !isRefused else { return }
    lists.add(item.withUnsafeBytes { Digest(of: $0) }, to: &packet, list: list)
  }

  private var isTooMuch: Bool {
    lists.work.isTooMuch(said: packet.said, fileBytes: { cursor.fileBytes })
  }

  mutating func endList() -> ListDigest? {
    // What has asked for too much once is asked no more of its packets, by those who read on behind it.
    if !isTooMuch {
      let digest = lists.digest(of: &packet, list: list)
      guard isTooMuch else { return digest }
    }
    lists.refuse(packet)
    do throws(LogError) {
      try cursor.catching { () throws(LineFault) in throw .tooMuchWork }
    } catch let fault {
      error = fault
    }
    return nil
  }
}
