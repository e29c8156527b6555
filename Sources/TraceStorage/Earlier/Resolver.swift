import AgentTrace

/// Turns lines into events: follows `$same`, expands `$list`, unescapes keys.
///
/// Nothing is held but a bounded cache and, per event with new list items, three numbers: what an
/// old reference leads to is read again from the file.
struct Resolver {
  private var store: LineStore
  private var items: ItemTable
  /// Texts that references led to, by reference.
  private var texts: RecentCache<String, String>
  private var parsed = ParsedLines()
  /// Bytes of lines taken note of, and bytes parsed again for what they hold.
  private var notedBytes = 0
  private var parsedBytes = 0
  /// Packets whose items have no numbers yet, because nobody has asked for them.
  private var unreadPackets: [Int] = []
  /// Events that are known to be missing.
  private(set) var holes: [ClosedRange<Int>] = []

  /// - Parameters:
  ///   - cacheBytes: about how much of what may be referred to stays in memory.
  ///   - itemCount: the size of the item table, where reading begins at a checkpoint.
  init(cacheBytes: Int, itemCount: Int = 0) {
    store = LineStore(limitBytes: cacheBytes)
    texts = RecentCache(limitBytes: cacheBytes / 2)
    items = ItemTable(count: itemCount, cacheLimitBytes: cacheBytes)
  }

  // MARK: Taking note

  /// Takes note of an event before anything after it is resolved.
  mutating func note(lineBytes: Int, seq: Int, type: EventType) {
    notedBytes += lineBytes
    if type == .contextBuilt { unreadPackets.append(seq) }
  }

  /// Keeps the lines of a block that the reader leaves, as far as there is room.
  mutating func keepLines(of reader: BlockReader, places: [LineStore.Place]) {
    store.keepLines(of: reader, places: places)
  }

  /// Bytes that were parsed or inflated again for what lines refer to.
  var repeatedBytes: Int { parsedBytes + store.rereadBytes }

  /// Takes note of events that are not there.
  mutating func noteHole(_ range: ClosedRange<Int>, from file: some EarlierLines) throws(LineFault)
  {
    try readPackets(before: range.lowerBound, from: file)
    holes.append(range)
    items.isUncertain = true
  }

  /// Takes note of events that a repaired log says are not there: nothing in it was numbered with them.
  mutating func noteGap(_ range: ClosedRange<Int>) { holes.append(range) }

  /// Takes note of a checkpoint's word on the size of the item table.
  mutating func note(itemCount: Int) {
    guard items.isUncertain else { return }
    // What stands between the hole and here has no numbers that anyone knows.
    unreadPackets = []
    items.restart(at: itemCount)
  }

  // MARK: Events

  /// The event that a raw one stands for.
  mutating func resolve(_ raw: Event, lineBytes: Int, from file: some EarlierLines)
    throws(LineFault) -> Event
  {
    var event = raw
    event.extra = try raw.extra.unescaped { _, value throws(LineFault) in
      try value.withoutForms()
    }
    if raw.type == .stop {
      event.data = try raw.data.unescaped { _, value throws(LineFault) in
        try value.withoutForms()
      }
    } else {
      if raw.type == .contextBuilt { try readPackets(before: raw.seq, from: file) }
      var expansion = Expansion(
        seq: raw.seq, isPacket: raw.type == .contextBuilt, expandedBytes: lineBytes)
      event.data = try resolve(raw, &expansion, from: file)
    }
    try Self.checkFormat(of: event)
    return event
  }

  /// Refuses a log of a newer format.
  static func checkFormat(of event: Event) throws(LineFault) {
    guard event.type == .runStarted, let version = event.data["formatVersion"]?.intValue,
      version > RunStarted.currentFormatVersion
    else { return }
    throw .newerFormat(version)
  }

  /// How far one event has been expanded.
  private struct Expansion {
    let seq: Int
    let isPacket: Bool
    var expandedBytes: Int
    var expandedItems = 0
    /// The number that its next literal item has.
    var nextItem = 0
    var numbersItems = false
    /// The items that stand literally in this event so far.
    var ownItems: [(item: JSONValue, bytes: Int)] = []
    /// Whether only the items that stand literally are wanted. So reading a packet again never leads
    /// to another packet.
    var literalsOnly = false
    /// The number of the item that is looked for, and that item.
    var wantedItem: Int?
    var foundItem: (item: JSONValue, bytes: Int)?

    mutating func add(bytes: Int) throws(LineFault) {
      let (sum, overflow) = expandedBytes.addingReportingOverflow(bytes)
      guard !overflow, sum <= LogFormat.expandedLimitBytes else { throw .expandsTooFar }
      expandedBytes = sum
    }

    mutating func addItems(_ count: Int) throws(LineFault) {
      guard count <= LogFormat.listItemLimit - expandedItems else { throw .expandsTooFar }
      expandedItems += count
    }
  }

  private mutating func resolve(
    _ raw: Event, _ expansion: inout Expansion, from file: some EarlierLines
  ) throws(LineFault) -> JSONObject {
    if expansion.isPacket {
      (expansion.nextItem, expansion.numbersItems) = items.begin(event: raw.seq)
    }
    let lists = expansion.isPacket ? Self.listTokens : []
    let data = try resolve(
      object: raw.data, lists: lists, depth: 0, &expansion, from: file)
    if expansion.isPacket { items.end(event: raw.seq, nextItem: expansion.nextItem) }
    return data
  }

  private static let listTokens = ContextPacket.listPointers.map(\.tokens)

  private mutating func resolve(
    object: JSONObject, lists: [[String]], depth: Int, _ expansion: inout Expansion,
    from file: some EarlierLines
  ) throws(LineFault) -> JSONObject {
    try object.unescaped { key, value throws(LineFault) in
      let inside = lists.isEmpty ? [] : lists.filter { $0.count > depth && $0[depth] == key }
      return try resolve(value, lists: inside, depth: depth + 1, &expansion, from: file)
    }
  }

  private mutating func resolve(
    _ value: JSONValue, lists: [[String]], depth: Int, _ expansion: inout Expansion,
    from file: some EarlierLines
  ) throws(LineFault) -> JSONValue {
    switch value {
    case .array(let elements):
      var result: [JSONValue] = []
      result.reserveCapacity(elements.count)
      for element in elements {
        result.append(try resolve(element, lists: [], depth: 0, &expansion, from: file))
      }
      return .array(result)
    case .object(let object):
      switch try SpecialForm(object) {
      case nil:
        return .object(
          try resolve(object: object, lists: lists, depth: depth, &expansion, from: file))
      case .value(let value): return value
      case .same(let reference): return try follow(reference, &expansion, from: file)
      case .list(let entries):
        guard lists.contains(where: { $0.count == depth }) else {
          throw .line("“$list” stands where none may stand")
        }
        return .array(try expand(entries, &expansion, from: file))
      }
    default: return value
    }
  }

  // MARK: Lists

  private mutating func expand(
    _ entries: [JSONValue], _ expansion: inout Expansion, from file: some EarlierLines
  ) throws(LineFault) -> [JSONValue] {
    var result: [JSONValue] = []
    for entry in entries {
      if case .array(let pair) = entry {
        guard pair.count == 2, let first = pair[0].intValue, let count = pair[1].intValue,
          first >= 0, count >= 1, first <= LogFormat.numberLimit, count <= LogFormat.listItemLimit
        else { throw .line("“$list” is not of its form") }
        if expansion.literalsOnly { continue }
        try expansion.addItems(count)
        for number in first..<(first + count) {
          result.append(try item(number, &expansion, from: file))
        }
      } else {
        try expansion.addItems(1)
        let before = expansion.expandedBytes
        let item = try resolve(entry, lists: [], depth: 0, &expansion, from: file)
        let bytes = expansion.expandedBytes - before + entry.approximateBytes
        expansion.ownItems.append((item, bytes))
        if expansion.numbersItems {
          items.keep(item, number: expansion.nextItem, bytes: bytes)
          if expansion.nextItem == expansion.wantedItem { expansion.foundItem = (item, bytes) }
        }
        expansion.nextItem += 1
        result.append(item)
      }
    }
    return result
  }

  private mutating func item(
    _ number: Int, _ expansion: inout Expansion, from file: some EarlierLines
  ) throws(LineFault) -> JSONValue {
    guard number < expansion.nextItem || !holes.isEmpty else { throw .reference("[\(number),1]") }
    let own = number - expansion.nextItem + expansion.ownItems.count
    let known =
      expansion.numbersItems && expansion.ownItems.indices.contains(own)
      ? expansion.ownItems[own] : items.kept(number)
    if let (item, bytes) = known {
      try expansion.add(bytes: bytes)
      return item
    }
    guard let origin = try origin(of: number, from: file), origin != expansion.seq else {
      if holes.isEmpty { throw .reference("[\(number),1]") }
      return .lost("[\(number),1]")
    }
    // The item was forgotten: its packet is read again, which keeps all the items it holds.
    guard let raw = try rawEvent(origin, from: file) else { return .lost("[\(number),1]") }
    var again = Expansion(seq: origin, isPacket: true, expandedBytes: 0)
    again.literalsOnly = true
    again.wantedItem = number
    _ = try resolve(raw, &again, from: file)
    guard let (item, bytes) = again.foundItem else { throw .reference("[\(number),1]") }
    try expansion.add(bytes: bytes)
    return item
  }

  /// The packet an item stands in first. Behind a checkpoint the older ones are searched in the file.
  private mutating func origin(
    of number: Int, from file: some EarlierLines
  ) throws(LineFault) -> Int? {
    if let origin = items.origin(of: number) { return origin }
    guard items.isBeforeStart(number) else { return nil }
    var (block, first): (Int, Int)
    do { (block, first) = try file.checkpoint(beforeItem: number) } catch { throw .file(error) }
    while first <= number {
      let packets: [(seq: Int, line: [UInt8])]?
      do { packets = try file.packets(inBlock: block, countingIn: &store) } catch {
        throw .file(error)
      }
      guard let packets else { break }
      for (seq, line) in packets {
        let count = try line.withUnsafeBufferPointer { line throws(LineFault) in
          try Self.literalCount(of: line)
        }
        items.add(packet: seq, firstItem: first, itemCount: count)
        line.withUnsafeBufferPointer { store.keep($0, seq: seq) }
        first += count
      }
      block += 1
    }
    return items.origin(of: number)
  }

  /// How many list items stand literally in the line of a packet.
  static func literalCount(of line: UnsafeBufferPointer<UInt8>) throws(LineFault) -> Int {
    guard case .event(let event) = try RawLine(parsing: line) else { return 0 }
    var count = 0
    for pointer in ContextPacket.listPointers {
      guard let object = JSONValue.object(event.data)[pointer]?.objectValue,
        case .list(let entries)? = try SpecialForm(object)
      else { continue }
      for entry in entries where entry.arrayValue == nil { count += 1 }
    }
    return count
  }

  private mutating func readPackets(before seq: Int, from file: some EarlierLines) throws(LineFault)
  {
    guard let first = unreadPackets.first, first <= seq else { return }
    let due = unreadPackets.prefix { $0 < seq }
    unreadPackets.removeFirst(due.count)
    if unreadPackets.first == seq { unreadPackets.removeFirst() }
    for packet in due {
      guard let raw = try rawEvent(packet, from: file) else {
        throw .reference("\(packet)")
      }
      var expansion = Expansion(seq: packet, isPacket: true, expandedBytes: 0)
      expansion.literalsOnly = true
      _ = try resolve(raw, &expansion, from: file)
    }
  }

  // MARK: Text

  /// The string that a reference of an event leads to; `nil` where it was lost.
  mutating func text(
    sameAs reference: String, before seq: Int, from file: some EarlierLines
  ) throws(LineFault) -> String? {
    var expansion = Expansion(seq: seq, isPacket: false, expandedBytes: 0)
    guard case .string(let text) = try follow(reference, &expansion, from: file) else { return nil }
    return text
  }

  /// Appends the string that a reference of an event leads to, as JSON, copied from the line that says
  /// it. False where only the plain way can tell.
  mutating func append(
    textSameAs reference: String, before seq: Int, to output: inout [UInt8],
    from file: some EarlierLines
  ) throws(LineFault) -> Bool {
    guard let target = SameTarget(reference), target.seq < seq else { return false }
    guard let line = try line(ofEvent: target.seq, from: file) else { return false }
    guard let range = LiteralText.range(of: target, in: line) else { return false }
    output.append(contentsOf: UnsafeBufferPointer(rebasing: line[range]))
    return true
  }

  private mutating func follow(
    _ reference: String, _ expansion: inout Expansion, from file: some EarlierLines
  ) throws(LineFault) -> JSONValue {
    if let text = texts[reference] {
      try expansion.add(bytes: text.utf8.count)
      return .string(text)
    }
    guard let target = SameTarget(reference), target.seq < expansion.seq else {
      throw .reference(reference)
    }
    guard let raw = try rawEvent(target.seq, from: file) else {
      if holes.contains(where: { $0.contains(target.seq) }) { return .lost(reference) }
      throw .reference(reference)
    }
    guard raw.type != .stop, let text = target.literal(in: raw) else { throw .reference(reference) }
    try expansion.add(bytes: text.utf8.count)
    texts.keep(text, for: reference, bytes: text.utf8.count + reference.utf8.count)
    return .string(text)
  }

  /// The line of an earlier event, kept or read again, valid until another one is asked for or the
  /// reader goes on; `nil` where the log does not hold it.
  mutating func line(
    ofEvent seq: Int, from file: some EarlierLines
  ) throws(LineFault) -> UnsafeBufferPointer<UInt8>? {
    // What a few bytes may cause is bounded by what was read already.
    guard repeatedBytes <= notedBytes * 16 + 1 << 30 else {
      throw .rereadsTooMuch
    }
    var line = store.line(seq: seq)
    if line == nil {
      do { line = try file.line(ofEvent: seq, into: &store) } catch { throw .file(error) }
    }
    parsedBytes += line?.count ?? 0
    return line
  }

  private mutating func rawEvent(_ seq: Int, from file: some EarlierLines) throws(LineFault)
    -> Event?
  {
    if let event = parsed[seq] { return event }
    guard let line = try line(ofEvent: seq, from: file) else { return nil }
    guard case .event(let event) = try RawLine(parsing: line), event.seq == seq else { return nil }
    parsed.keep(event, bytes: line.count)
    return event
  }
}
