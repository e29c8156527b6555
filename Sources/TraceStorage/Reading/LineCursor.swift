import AgentTrace

/// A position among the lines of a log. Steps over lines by their heads; reads the one it stands on
/// when asked.
final class LineCursor {
  let blocks: BlockReader
  let options: LogReader.Options
  private var resolver: Resolver

  /// The block the cursor is in, its number and where it begins.
  private(set) var block: BlockReader.Block?
  /// Where the next line begins in the block's text.
  private var position = 0
  /// The current line in the block's text, without `\n`.
  private var current = 0..<0
  private var head: LineHead?
  /// Whether the current line is an event that counts in `nextSeq`.
  private var isOnEvent = false

  /// Whether the current line is an event.
  var isAtEvent: Bool { if case .event? = head { true } else { false } }

  private(set) var nextSeq = 0
  /// Members that have a header and could be inflated, at least in part.
  private(set) var memberCount = 0
  private(set) var ending: LogReader.Ending?
  private(set) var damage: [LogError] = []
  private var isAtEnd = false
  /// The last member was a trailer.
  private var endsInTrailer = false
  private var isBehindDamage = false
  private var volume = MetVolume()

  /// The events of the current block so far.
  var places: [LineStore.Place] = []
  /// The text of the last `runId`: nearly always that of the next event too.
  var lastRunID = ""
  /// What folding from text keeps.
  let foldedLists: FoldedLists
  /// Whether the line of the event that was folded in last is in canonical form, as far as that was seen on the way:
  /// false says nothing.
  var isFoldedCanonical = false
  /// Memory for the resolved text of one event.
  var foldedText: [UInt8] = []
  /// The members up to here, those before the start too, to read one of them again.
  var index: [MemberIndex.Entry] = []
  /// Checkpoints before the start, the last one first, as far as they were looked for.
  var checkpoints: [(block: Int, counts: [Int])] = []
  var rereader: BlockReader?
  /// Which member the rereader holds.
  var openBlock: Int?
  /// How many of its events the rereader holds; `nil` where it holds all.
  var openEventCount: Int?
  /// How the texts of the members in `index` begin.
  var beginnings = BlockBeginnings()
  /// The state where the cursor began.
  let startState: AgentState

  init(file: LogFile, options: LogReader.Options) throws(LogError) {
    blocks = try BlockReader(
      file: file, checksLinks: options.checksLinks, limitBytes: options.blockLimitBytes)
    blocks.keepsBeginnings = options.keepsLines
    self.options = options
    resolver = Resolver(
      version: RunStarted.currentFormatVersion, cacheBytes: options.cacheBytes)
    foldedLists = FoldedLists(version: RunStarted.currentFormatVersion)
    startState = AgentState()
  }

  /// Begins at a checkpoint: the member `place` of an index must begin with one of this state format,
  /// else this is `nil`.
  init?(
    file: LogFile, options: LogReader.Options, index: MemberIndex, place: Int
  ) throws(LogError) {
    let entry = index.entries[place]
    blocks = try BlockReader(
      file: file, offset: entry.offset, number: place, limitBytes: options.blockLimitBytes)
    self.options = options
    guard let block = try blocks.next(), block.kind == .whole,
      let line = blocks.lines.split(separator: 0x0a).first,
      case .mark(let mark)? = try? RawLine(parsing: UnsafeBufferPointer(rebasing: line)),
      mark.name == LogFormat.checkpointMark,
      let data = try? mark.data.withoutForms(), data["stateFormat"]?.intValue == AgentState.format,
      let counts = LogFormat.itemCounts(ofCheckpoint: data), counts.count == LogFormat.listCount,
      let lists = FoldedLists(checkpoint: data, counts: counts),
      let object = data["state"]?.objectValue, let state = try? AgentState(decoding: object),
      state.digest.hex == data["digest"]?.stringValue
    else { return nil }
    blocks.seek(to: entry.offset, number: place)
    blocks.keepsBeginnings = options.keepsLines
    self.index = Array(index.entries[..<place])
    nextSeq = entry.firstSeq
    checkpoints = [(place, counts)]
    resolver = Resolver(
      version: RunStarted.currentFormatVersion, cacheBytes: options.cacheBytes, counts: counts)
    foldedLists = lists
    startState = state
  }

  var path: String { blocks.file.path }
  var holes: [ClosedRange<Int>] { resolver.holes }

  /// Bytes that were parsed or inflated again for what lines refer to.
  var repeatedBytes: Int { resolver.repeatedBytes }

  /// The bytes of the current line, without `\n`; valid until the next step.
  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: blocks.lines[current]) }

  /// What the next member must link to.
  var lastMember: (length: Int, crc: UInt32) {
    (blocks.previousLength ?? 0, blocks.previousCRC ?? 0)
  }

  /// The same with its `\n`.
  var bytesWithEnd: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: blocks.lines[current.lowerBound...current.upperBound])
  }

  // MARK: Stepping

  /// Steps to the next line; `nil` behind the last.
  func advance() throws(LogError) -> LineHead? {
    while !isAtEnd {
      do {
        if let head = try nextLineInBlock() { return head }
        try nextBlock()
      } catch {
        guard options.skipsDamaged, error.isDamage else {
          isAtEnd = true
          throw error
        }
        try skip(error)
      }
    }
    head = nil
    return nil
  }

  /// Reads no further: there is no line behind the current one.
  func stop() { isAtEnd = true }

  private func nextLineInBlock() throws(LogError) -> LineHead? {
    isOnEvent = false
    guard let block, position < blocks.textCount else { return nil }
    guard let length = blocks.lines.lineLength(from: position) else {
      if block.kind == .torn { return nil }
      throw error(.badLine("a block ends within a line"))
    }
    guard length < LogFormat.lineLimitBytes else {
      throw error(.lineTooLong(limitBytes: LogFormat.lineLimitBytes))
    }
    current = position..<(position + length)
    position += length + 1
    if volume.countsValues { try refuse(volume.take(bytes)) }
    let head = try head(of: bytes)
    self.head = head
    try note(head)
    return head
  }

  /// Refuses to go on with a log in which too much was met.
  private func refuse(_ code: LogError.Code?) throws(LogError) {
    if let code { throw error(code) }
  }

  private func head(of line: UnsafeBufferPointer<UInt8>) throws(LogError) -> LineHead {
    try catching { () throws(LineFault) in try LineHead(of: line) }
  }

  private func note(_ head: LineHead) throws(LogError) {
    switch head {
    case .event(let seq, _, let type):
      guard seq == nextSeq || (isBehindDamage && seq > nextSeq) else {
        throw error(.badLine("event \(seq) stands where event \(nextSeq) should"))
      }
      if seq > nextSeq { try noteHole(nextSeq...(seq - 1)) }
      isBehindDamage = false
      nextSeq = seq + 1
      isOnEvent = true
      places.append(LineStore.Place(seq: seq, range: current))
      if seq == 0, type == .runStarted { noteVersion() }
      resolver.note(lineBytes: current.count, seq: seq, type: type)
    case .mark(LogFormat.gapMark): try noteGap()
    case .mark(LogFormat.checkpointMark):
      guard !resolver.holes.isEmpty else { break }
      if let counts = LogFormat.itemCounts(ofCheckpoint: try mark().data) {
        // Where the first event is lost, only this tells of the format.
        if version(of: counts) != resolver.version { take(version: version(of: counts)) }
        resolver.note(counts: counts)
      }
    case .mark: break
    }
  }

  /// Takes note of the format that the first event names.
  private func noteVersion() {
    let wanted = EventScan.Wanted(keys: ["formatVersion"])
    var event = EventScan.event(of: bytes, withOnly: wanted)
    if event == nil, case .event(let raw)? = try? RawLine(parsing: bytes) { event = raw }
    if event?.data["formatVersion"]?.intValue == 1 { take(version: 1) }
  }

  /// Which format a log has whose checkpoints give so many numbers of items.
  private func version(of counts: [Int]) -> Int {
    counts.count == 1 ? 1 : RunStarted.currentFormatVersion
  }

  private func take(version: Int) {
    resolver.version = version
    foldedLists.begin(version: version)
  }

  /// The version of the log's format.
  var version: Int { resolver.version }

  private func noteGap() throws(LogError) {
    let data = try mark().data
    guard let first = data["first"]?.intValue, let last = data["last"]?.intValue,
      first == nextSeq || (isBehindDamage && first > nextSeq), last >= first,
      last < LogFormat.numberLimit
    else { throw error(.badLine("a gap does not begin where events are missing")) }
    if first > nextSeq { try noteHole(nextSeq...(first - 1)) }
    isBehindDamage = false
    resolver.noteGap(first...last)
    nextSeq = last + 1
  }

  private func noteHole(_ hole: ClosedRange<Int>) throws(LogError) {
    try catching { () throws(LineFault) in
      try resolver.noteHole(hole, from: self)
    }
  }

  private func nextBlock() throws(LogError) {
    if block?.kind == .torn { return try end() }
    if options.keepsLines {
      if let block, block.kind == .whole, holes.isEmpty, let last = index.indices.last,
        index[last].offset == block.offset
      {
        beginnings.add(blocks.beginnings, block: last, events: places)
      }
      resolver.keepLines(of: blocks, places: places)
    }
    places.removeAll(keepingCapacity: true)
    let next: BlockReader.Block?
    do { next = try blocks.next() } catch {
      var error = error
      error.intactEvents = intactEvents
      let work = blocks.workBytes
      if error.isDamage, let code = volume.lose(work, fileBytes: fileBytes) { error.code = code }
      throw error
    }
    guard let next else { return try end() }
    block = next
    position = 0
    current = 0..<0
    endsInTrailer = next.kind == .trailer
    try refuse(volume.begin(next, textBytes: blocks.textCount))
    guard let header = next.header else { return }
    memberCount += 1
    let firstSeq = Int(clamping: header.firstSeq)
    guard firstSeq <= LogFormat.numberLimit else { throw error(.badLink) }
    // Where events are missing, a gap mark must say so, and it is the first line of its block.
    if next.kind != .trailer, firstSeq > nextSeq, beginsWithGap() { return addToIndex(next) }
    guard firstSeq == nextSeq || (isBehindDamage && firstSeq > nextSeq) else {
      throw error(.badLink)
    }
    if firstSeq > nextSeq {
      try noteHole(nextSeq...(firstSeq - 1))
      nextSeq = firstSeq
    }
    isBehindDamage = false
    addToIndex(next)
  }

  private func addToIndex(_ block: BlockReader.Block) {
    guard let header = block.header else { return }
    index.append(
      MemberIndex.Entry(firstSeq: Int(clamping: header.firstSeq), offset: block.offset))
  }

  private func beginsWithGap() -> Bool {
    let beginning = Array("{\"mark\":\"gap\"".utf8)
    return blocks.lines.prefix(beginning.count).elementsEqual(beginning)
  }

  private func skip(_ error: LogError) throws(LogError) {
    damage.append(error)
    guard !error.endsReading else { return stop() }
    isBehindDamage = true
    position = 0
    block = nil
    // Where a member is unreadable the next header has to be found; what is wrong inside a whole
    // block only costs its other lines.
    if blocks.isLost, try !blocks.resynchronize() { isAtEnd = true }
  }

  private func end() throws(LogError) {
    isAtEnd = true
    let isOpen = path.hasSuffix(LogFormat.openSuffix)
    if endsInTrailer, block?.kind == .trailer {
      ending = isOpen ? .unfinished : .closed
      return
    }
    if let block, block.kind == .torn {
      let tail = try TornTail(examining: block, of: blocks.file)
      ending = tail.isWhole ? .unfinished : .torn(offset: tail.offset)
    } else {
      ending = .unfinished
    }
    guard isOpen else {
      throw LogError(
        .noTrailer, path: path, offset: block?.offset ?? 0, block: block?.number ?? 0,
        intactEvents: intactEvents)
    }
  }

  /// Takes note that the line stepped to cannot be read.
  func passOver(_ error: LogError) { damage.append(error) }

  // MARK: Reading on

  /// Takes up reading where the file ended, as far as it has grown since.
  func takeUp() throws(LogError) {
    guard isAtEnd else { return }
    ending = nil
    volume.forgetLosses()
    guard let old = block, old.kind == .torn else {
      blocks.forget()
      // What could be inflated of a member with an error is no part of the block before it.
      position = blocks.textCount
      isAtEnd = false
      return
    }
    blocks.rewind(to: old)
    guard position > 0 else {
      // Nothing of the block was given out: it is as if it had not been read.
      volume.forgetBlock()
      if index.last?.offset == old.offset { index.removeLast() }
      if old.header != nil { memberCount -= 1 }
      block = nil
      isAtEnd = false
      return
    }
    // Its text now begins with what was given out, and may go on.
    guard let again = try blocks.next() else { return }
    block = again
    try refuse(volume.update(again, textBytes: blocks.textCount))
    isAtEnd = false
  }

  // MARK: Reading the current line

  /// The event stepped to, without its time, with only the data wanted (of a list perhaps more). The
  /// others were not read, so that nobody knows whether they could be.
  func event(withOnly wanted: EventScan.Wanted) throws(LogError) -> Event? {
    if let event = EventScan.event(of: bytes, withOnly: wanted, runId: lastRunID) {
      lastRunID = event.runId
      return try catching { () throws(LineFault) in try Resolver.inThisFormat(event) }
    }
    guard case .event(var event) = try line() else { return nil }
    let names = (wanted.keys + [wanted.list].compactMap { $0 }).map { "\($0)" }
    event.time = nil
    for key in event.data.keys where !names.contains(where: { $0.hasSameUTF8(as: key) }) {
      event.data[key] = nil
    }
    return event
  }

  /// What the context stepped to holds, counted without following what it refers to; `nil` where that
  /// takes more than its text.
  func contextOutline() -> ContextOutline? {
    guard case .event(_, _, .contextBuilt)? = head, case .event(let raw)? = try? rawLine(),
      let messages = Self.count(raw.data["prompt"]?["messages"]),
      let tools = Self.count(raw.data["toolsDisclosed"]),
      let omitted = Self.count(raw.data["omittedRefs"])
    else { return nil }
    var estimate = 0
    if let tokens = raw.data["tokens"] {
      guard let count = tokens["estimate"]?.intValue else { return nil }
      estimate = count
    }
    return ContextOutline(
      seq: raw.seq, step: raw.step, messages: messages, toolsDisclosed: tools, omitted: omitted,
      tokenEstimate: estimate)
  }

  /// How many items a list of a packet has, as it stands in a line; `nil` where it is none.
  private static func count(_ list: JSONValue?) -> Int? {
    guard let list else { return 0 }
    if let items = list.arrayValue { return items.count }
    guard let object = list.objectValue, case .list(let entries)? = try? SpecialForm(object) else {
      return nil
    }
    var count = 0
    for entry in entries {
      if let pair = entry.arrayValue {
        guard let run = try? Resolver.run(pair) else { return nil }
        count += run.count
      } else {
        count += 1
      }
      guard count <= LogFormat.listItemLimit else { return nil }
    }
    return count
  }

  /// The line stepped to, references resolved.
  func line() throws(LogError) -> LogLine {
    switch try rawLine() {
    case .event(let raw): return .event(try resolved(raw))
    case .mark(let mark) where !bytes.mayHoldForms: return .mark(mark)
    case .mark(let mark):
      return try catching { () throws(LineFault) in
        .mark(
          Mark(
            name: mark.name, data: try mark.data.withoutForms(),
            extra: try mark.extra.unescaped { _, value throws(LineFault) in
              try value.withoutForms()
            }))
      }
    }
  }

  /// The line stepped to as it stands.
  private func rawLine() throws(LogError) -> RawLine {
    guard head != nil else { throw error(.badLine("no line was stepped to")) }
    let raw = try catching { () throws(LineFault) in
      try RawLine(parsing: self.bytes, runId: self.lastRunID)
    }
    if case .event(let event) = raw { lastRunID = event.runId }
    return raw
  }

  /// The event stepped to as it stands; `nil` for a mark.
  func rawEvent() throws(LogError) -> Event? {
    if case .event(let raw) = try rawLine() { raw } else { nil }
  }

  /// What the event stepped to stands for.
  ///
  /// - Parameter raw: that event as it stands.
  func resolved(_ raw: Event) throws(LogError) -> Event {
    try catching { () throws(LineFault) in
      guard raw.type == .contextBuilt || self.bytes.mayHoldForms else {
        return try Resolver.inThisFormat(raw)
      }
      return try self.resolver.resolve(raw, lineBytes: self.current.count, from: self)
    }
  }

  private func mark() throws(LogError) -> Mark {
    guard case .mark(let mark) = try line() else { throw error(.badLine("a mark is none")) }
    return mark
  }

  // MARK: Faults

  /// Events before the line that is stepped to, or that would be next: those that are missing do not
  /// count, nor does one that may turn out to be unreadable.
  private var intactEvents: Int {
    nextSeq - (isOnEvent ? 1 : 0) - holes.reduce(0) { $0 + $1.count }
  }

  private func error(_ code: LogError.Code) -> LogError {
    LogError(
      code, path: path, offset: block?.offset, block: block?.number,
      intactEvents: intactEvents)
  }

  /// The string that a reference of an event leads to; `nil` where that is not a string.
  func text(sameAs reference: String, before seq: Int) throws(LogError) -> String? {
    try catching { () throws(LineFault) in
      try self.resolver.text(sameAs: reference, before: seq, from: self)
    }
  }

  /// Appends that string as JSON; false where ``text(sameAs:before:)`` has to be asked.
  func append(
    textSameAs reference: String, before seq: Int, to output: inout [UInt8]
  ) throws(LogError) -> Bool {
    try catching { () throws(LineFault) in
      try self.resolver.append(textSameAs: reference, before: seq, to: &output, from: self)
    }
  }

  func catching<T>(_ body: () throws(LineFault) -> T) throws(LogError) -> T {
    do {
      return try body()
    } catch {
      if case .file(let error) = error { throw error }
      var located = self.error(.noTrailer)
      located.code = error.error(path: path).code
      throw located
    }
  }
}
