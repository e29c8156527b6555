import AgentTrace

/// Turns lines into events: follows `$same`, expands `$list`, unescapes keys.
///
/// Held are the lines that the writer may refer to, the items of the latest packets, and the lists of the
/// last one; what an older reference leads to is read again from the file.
struct Resolver {
  /// The version of the log's format.
  var version: Int {
    didSet { if version != oldValue { packets = Self.window(version, counts: nil) } }
  }
  private var store: LineStore
  private var packets: PacketWindow<JSONValue>
  /// The lists that the next packet most likely goes on from, by list.
  private var latest: [LatestLists<ResolvedList>]
  /// The packet that was resolved last: asked for again, its items have their numbers already.
  private var lastPacket: (seq: Int, data: JSONObject)?
  /// How many items had numbers where reading began, by table.
  private let countsAtStart: [Int]
  /// Texts that references led to, by reference.
  private var texts: RecentCache<String, String>
  private var parsed = ParsedLines()
  /// Bytes of lines taken note of, and bytes parsed again for what they hold.
  private var notedBytes = 0
  private var parsedBytes = 0
  private var work = ReadingWork()
  /// Packets whose items have no numbers yet, because nobody has asked for them.
  private var unreadPackets: [Int] = []
  /// Events that are known to be missing.
  private(set) var holes: [ClosedRange<Int>] = []

  /// A list as it stood in a packet.
  private struct ResolvedList: ListOfRuns {
    var runs: [ItemRun] = []
    var items: [JSONValue] = []
    /// About how many bytes the items up to each have, and it.
    var bytes: [Int] = []
    /// A list of more runs is not searched for each run of another one: its items are found by number.
    private static let searchedRuns = 64

    mutating func append(_ item: JSONValue, _ bytes: Int) {
      items.append(item)
      self.bytes.append((self.bytes.last ?? 0) + bytes)
    }

    /// Where the first of some items stand that follow on each other; `nil` where not even one stands here.
    func places(of numbers: Range<Int>) -> Range<Int>? {
      guard runs.count <= Self.searchedRuns else { return nil }
      var start = 0
      for run in runs {
        if run.first <= numbers.lowerBound, numbers.lowerBound < run.end {
          let place = start + numbers.lowerBound - run.first
          let end = place + min(numbers.upperBound, run.end) - numbers.lowerBound
          return end <= items.count ? place..<end : nil
        }
        start += run.count
      }
      return nil
    }

    /// Takes over items of another list; returns about how many bytes they have.
    mutating func append(_ places: Range<Int>, of other: ResolvedList) -> Int {
      let start = places.lowerBound == 0 ? 0 : other.bytes[places.lowerBound - 1]
      let shift = (bytes.last ?? 0) - start
      items.append(contentsOf: other.items[places])
      bytes.append(contentsOf: other.bytes[places].lazy.map { $0 + shift })
      return other.bytes[places.upperBound - 1] - start
    }
  }

  /// A part of a list as it stands in its packet.
  private enum Part {
    case run(ItemRun)
    /// An item that stands literally, by its place among the new ones of its table.
    case new(Int)
  }

  /// - Parameters:
  ///   - cacheBytes: about how much of what may be referred to stays in memory.
  ///   - counts: how many items have numbers, by table, where reading begins at a checkpoint.
  init(version: Int, cacheBytes: Int, counts: [Int]? = nil) {
    self.version = version
    store = LineStore(limitBytes: cacheBytes)
    texts = RecentCache(limitBytes: cacheBytes / 2)
    packets = Self.window(version, counts: counts)
    latest = Array(repeating: LatestLists(), count: LogFormat.listCount)
    countsAtStart = packets.counts
  }

  private static func window(_ version: Int, counts: [Int]?) -> PacketWindow<JSONValue> {
    let zeros = Array(repeating: 0, count: LogFormat.tableCount(version))
    return PacketWindow(
      counts: counts ?? zeros, limitBytes: 2 * LogFormat.packetWindowBytes,
      limitPackets: version == 1 ? .max : LogFormat.packetWindow,
      sparePackets: LogFormat.packetWindow)
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
    packets.isUncertain = true
  }

  /// Takes note of events that a repaired log says are not there: nothing in it was numbered with them.
  mutating func noteGap(_ range: ClosedRange<Int>) { holes.append(range) }

  /// Takes note of a checkpoint's word on how many items have numbers.
  mutating func note(counts: [Int]) {
    guard packets.isUncertain else { return }
    // What stands between the hole and here has no numbers that anyone knows.
    unreadPackets = []
    packets.restart(at: counts)
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
    return try Self.inThisFormat(event)
  }

  /// An event of any format that is read, as one of today's: what a `run_started` says of its file's
  /// format is not handed on.
  ///
  /// - Throws: where the format is newer than this.
  static func inThisFormat(_ event: Event) throws(LineFault) -> Event {
    guard event.type == .runStarted, let version = event.data["formatVersion"]?.intValue,
      version != RunStarted.currentFormatVersion
    else { return event }
    guard version < RunStarted.currentFormatVersion else { throw .newerFormat(version) }
    return event.inThisFormat
  }

  /// How far one event has been expanded.
  private struct Expansion {
    let seq: Int
    let isPacket: Bool
    var expandedBytes: Int
    var expandedItems = 0
    /// Whether its items have numbers that are known.
    var numbersItems = false
    /// Its lists, by list; `nil` where one does not stand in it as `$list`.
    var lists = [ResolvedList?](repeating: nil, count: LogFormat.listCount)
    /// The items that stand literally in it so far, by table.
    var new: [[(item: JSONValue, bytes: Int)]] = []
    /// Whether only the items that stand literally are wanted. So reading a packet again never leads
    /// to another packet.
    var literalsOnly = false

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
    guard expansion.isPacket else {
      return try resolve(object: raw.data, lists: [], depth: 0, &expansion, from: file)
    }
    if let lastPacket, lastPacket.seq == raw.seq { return lastPacket.data }
    expansion.numbersItems = !packets.isUncertain
    expansion.new = Array(repeating: [], count: packets.counts.count)
    let data = try resolve(
      object: raw.data, lists: Self.listPlaces, depth: 0, &expansion, from: file)
    // Behind a hole nobody knows their numbers.
    guard expansion.numbersItems else { return data }
    var runs = [[ItemRun]](repeating: [], count: packets.counts.count)
    for (list, resolved) in expansion.lists.enumerated() {
      guard let resolved else { continue }
      runs[LogFormat.table(ofList: list, version)] += resolved.runs
      if !expansion.literalsOnly { latest[list].keep(resolved) }
    }
    packets.add(runs: runs, new: expansion.new)
    if !expansion.literalsOnly { lastPacket = (raw.seq, data) }
    return data
  }

  /// Where a list stands in the data of a packet, and which it is.
  private struct ListPlace {
    var tokens: [String]
    var list: Int
  }

  private static let listPlaces = ContextPacket.listPointers.enumerated().map {
    ListPlace(tokens: $0.element.tokens, list: $0.offset)
  }

  private mutating func resolve(
    object: JSONObject, lists: [ListPlace], depth: Int, _ expansion: inout Expansion,
    from file: some EarlierLines
  ) throws(LineFault) -> JSONObject {
    try object.unescaped { key, value throws(LineFault) in
      let inside =
        lists.isEmpty ? [] : lists.filter { $0.tokens.count > depth && $0.tokens[depth] == key }
      return try resolve(value, lists: inside, depth: depth + 1, &expansion, from: file)
    }
  }

  private mutating func resolve(
    _ value: JSONValue, lists: [ListPlace], depth: Int, _ expansion: inout Expansion,
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
        guard let place = lists.first(where: { $0.tokens.count == depth }) else {
          throw .line("“$list” stands where none may stand")
        }
        return .array(try expand(entries, of: place.list, &expansion, from: file))
      }
    default: return value
    }
  }

  // MARK: Lists

  private mutating func expand(
    _ entries: [JSONValue], of list: Int, _ expansion: inout Expansion,
    from file: some EarlierLines
  ) throws(LineFault) -> [JSONValue] {
    let table = LogFormat.table(ofList: list, version)
    var resolved = ResolvedList()
    var parts: [Part] = []
    for entry in entries {
      if case .array(let pair) = entry {
        let run = try Self.run(pair)
        // In format 1 a packet may repeat its own items.
        let known =
          packets.count(ofTable: table) + (version == 1 ? expansion.new[table].count : 0)
        guard run.end <= known || !holes.isEmpty else { throw .reference(run.text) }
        try expansion.addItems(run.count)
        resolved.runs.add(run)
        parts.append(.run(run))
      } else {
        try expansion.addItems(1)
        let before = expansion.expandedBytes
        let item = try resolve(entry, lists: [], depth: 0, &expansion, from: file)
        let bytes = expansion.expandedBytes - before + entry.approximateBytes
        let place = expansion.new[table].count
        expansion.new[table].append((item, bytes))
        resolved.runs.add(ItemRun(first: packets.count(ofTable: table) + place, count: 1))
        parts.append(.new(place))
      }
    }
    if !expansion.literalsOnly {
      try fill(&resolved, from: parts, of: list, in: table, &expansion, from: file)
    }
    expansion.lists[list] = resolved
    return resolved.items
  }

  /// `[first,count]`.
  static func run(_ pair: [JSONValue]) throws(LineFault) -> ItemRun {
    guard pair.count == 2, let first = pair[0].intValue, let count = pair[1].intValue,
      first >= 0, count >= 1, first <= LogFormat.numberLimit, count <= LogFormat.listItemLimit
    else { throw .line("“$list” is not of its form") }
    return ItemRun(first: first, count: count)
  }

  /// Puts the items of a list together: what it shares with a list before it at once, the others by their
  /// numbers.
  private mutating func fill(
    _ resolved: inout ResolvedList, from parts: [Part], of list: Int, in table: Int,
    _ expansion: inout Expansion, from file: some EarlierLines
  ) throws(LineFault) {
    let count = resolved.runs.itemCount
    // Behind a hole, what stands literally has no number that could be compared.
    let known = expansion.numbersItems ? latest[list].longest(sharedWith: resolved.runs) : nil
    let common = known?.common ?? 0
    work.add(items: count, hashes: ReadingWork.hashes(count - common, inFormat: version))
    try checkWork(file)
    if let known {
      let isWhole = common == known.list.items.count
      resolved.items = isWhole ? known.list.items : Array(known.list.items.prefix(common))
      resolved.bytes = isWhole ? known.list.bytes : Array(known.list.bytes.prefix(common))
      try expansion.add(bytes: resolved.bytes.last ?? 0)
    }
    // A list that lost its beginning has most of the last one all the same.
    let before = expansion.numbersItems ? latest[list].all.last : nil
    var position = 0
    for part in parts {
      switch part {
      case .new(let place):
        if position >= common {
          let (item, bytes) = expansion.new[table][place]
          resolved.append(item, bytes)
        }
        position += 1
      case .run(let run):
        var number = run.first + max(0, min(run.count, common - position))
        while number < run.end {
          if let before, let places = before.places(of: number..<run.end) {
            try expansion.add(bytes: resolved.append(places, of: before))
            number += places.count
          } else {
            let (item, bytes) = try self.item(number, run, table, expansion, from: file)
            try expansion.add(bytes: bytes)
            resolved.append(item, bytes)
            number += 1
          }
        }
        position += run.count
      }
    }
  }

  /// An item of a run, by its number.
  private mutating func item(
    _ number: Int, _ run: ItemRun, _ table: Int, _ expansion: Expansion,
    from file: some EarlierLines
  ) throws(LineFault) -> (item: JSONValue, bytes: Int) {
    let own = packets.count(ofTable: table)
    if number < own {
      if let known = packets.entry(number, ofTable: table) { return known }
      if number < countsAtStart[table] {
        let missing = (number..<min(run.end, own)).filter {
          packets.item($0, ofTable: table) == nil
        }
        try fetch(missing, in: table, from: file)
        if let known = packets.entry(number, ofTable: table) { return known }
      }
    } else if version == 1, expansion.numbersItems,
      expansion.new[table].indices.contains(number - own)
    {
      return expansion.new[table][number - own]
    }
    guard !holes.isEmpty else { throw .reference("[\(number),1]") }
    return (.lost("[\(number),1]"), 0)
  }

  /// Holds items that stand before the place where reading began: reads them in the file.
  private mutating func fetch(
    _ numbers: [Int], in table: Int, from file: some EarlierLines
  ) throws(LineFault) {
    var wanted = numbers.filter { $0 < countsAtStart[table] }[...]
    var (block, counts) = (-1, [Int]())
    while let next = wanted.first {
      let nearest: (block: Int, counts: [Int])
      do { nearest = try file.checkpoint(beforeItem: next, ofTable: table) } catch {
        throw .file(error)
      }
      // Going on is right until a checkpoint stands nearer.
      if nearest.block > block || block < 0 {
        (block, counts) = nearest
        if counts.isEmpty { counts = Array(repeating: 0, count: countsAtStart.count) }
      }
      let lines: [(seq: Int, line: [UInt8])]?
      do { lines = try file.packets(inBlock: block, countingIn: &store) } catch {
        throw .file(error)
      }
      guard let lines else { return }
      for (seq, line) in lines {
        try take(&wanted, from: line, seq: seq, &counts, in: table, file)
      }
      try checkRereading()
      block += 1
    }
  }

  private mutating func take(
    _ wanted: inout ArraySlice<Int>, from line: [UInt8], seq: Int, _ counts: inout [Int],
    in table: Int, _ file: some EarlierLines
  ) throws(LineFault) {
    let raw = try line.withUnsafeBufferPointer { line throws(LineFault) in
      try RawLine(parsing: line)
    }
    guard case .event(let event) = raw else { return }
    for (list, entries) in Self.entries(ofPacket: event).enumerated() {
      let place = LogFormat.table(ofList: list, version)
      for entry in entries ?? [] where entry.arrayValue == nil {
        if place == table, counts[table] == wanted.first {
          wanted.removeFirst()
          var expansion = Expansion(seq: seq, isPacket: false, expandedBytes: 0)
          let item = try resolve(entry, lists: [], depth: 0, &expansion, from: file)
          packets.keep(
            item, number: counts[table], ofTable: table,
            bytes: expansion.expandedBytes + entry.approximateBytes)
        }
        counts[place] += 1
      }
    }
  }

  /// What stands in the lists of a raw packet, by list; `nil` where one does not stand as `$list`.
  static func entries(ofPacket raw: Event) -> [[JSONValue]?] {
    ContextPacket.listPointers.map { pointer in
      guard let object = JSONValue.object(raw.data)[pointer]?.objectValue,
        case .list(let entries)? = try? SpecialForm(object)
      else { return nil }
      return entries
    }
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

  // MARK: Limits

  private func checkWork(_ file: some EarlierLines) throws(LineFault) {
    if work.isTooMuch(fileBytes: { file.fileBytes }) { throw .tooMuchWork }
  }

  /// What a few bytes may cause to be read again is bounded by what was read already.
  private func checkRereading() throws(LineFault) {
    guard repeatedBytes <= notedBytes * 16 + 1 << 30 else { throw .tooMuchWork }
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
    if let raw = parsed[target.seq] {
      guard raw.type != .stop, let text = target.literal(in: raw) else { return false }
      work.add(textBytes: text.utf8.count)
      try checkWork(file)
      CanonicalJSON.appendString(text, to: &output)
      return true
    }
    guard let line = try line(ofEvent: target.seq, from: file) else { return false }
    if parsed.isWorthParsing(target.seq, bytes: line.count) {
      _ = try rawEvent(target.seq, from: file)
      return try append(textSameAs: reference, before: seq, to: &output, from: file)
    }
    guard let range = LiteralText.range(of: target, in: line) else { return false }
    work.add(textBytes: range.count)
    try checkWork(file)
    output.append(contentsOf: UnsafeBufferPointer(rebasing: line[range]))
    return true
  }

  private mutating func follow(
    _ reference: String, _ expansion: inout Expansion, from file: some EarlierLines
  ) throws(LineFault) -> JSONValue {
    try checkWork(file)
    if let text = texts[reference] {
      work.add(textBytes: text.utf8.count)
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
    work.add(textBytes: text.utf8.count)
    try expansion.add(bytes: text.utf8.count)
    texts.keep(text, for: reference, bytes: text.utf8.count + reference.utf8.count)
    return .string(text)
  }

  /// The line of an earlier event, kept or read again, valid until another one is asked for or the
  /// reader goes on; `nil` where the log does not hold it.
  mutating func line(
    ofEvent seq: Int, from file: some EarlierLines
  ) throws(LineFault) -> UnsafeBufferPointer<UInt8>? {
    try checkRereading()
    var line = store.line(seq: seq)
    if line == nil {
      do { line = try file.line(ofEvent: seq, into: &store) } catch { throw .file(error) }
    }
    return line
  }

  private mutating func rawEvent(_ seq: Int, from file: some EarlierLines) throws(LineFault)
    -> Event?
  {
    if let event = parsed[seq] { return event }
    guard let line = try line(ofEvent: seq, from: file) else { return nil }
    parsedBytes += line.count
    guard case .event(let event) = try RawLine(parsing: line), event.seq == seq else { return nil }
    parsed.keep(event, bytes: line.count)
    return event
  }
}
