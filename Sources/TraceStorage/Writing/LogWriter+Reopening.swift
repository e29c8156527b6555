public import AgentTrace
import Glibc

extension LogWriter {
  /// What was found in a log that was opened again.
  public struct Reopened: Sendable {
    /// The state after its last event.
    public var state: AgentState
    /// The number of the next event.
    public var nextSeq: Int
    /// Its last event; `nil` where it has none.
    public var lastEvent: Event?
    /// Whether it was closed; else a writer had left it behind.
    public var wasClosed: Bool
    /// Where a torn end was cut off, in bytes of the file; `nil` where nothing was torn.
    public var cutAt: Int?
    /// Bytes that were cut off. Whole lines among them were written again.
    public var bytesDropped: Int?
    /// Whether the run has ended for good: then the writer takes no event, and is only to be closed.
    public var runIsOver: Bool
  }

  /// Opens a log again to go on in it: one that was closed (behind its trailer), or one that a dead
  /// writer left open (behind its last whole line).
  ///
  /// The caller appends `run_resumed` first, with what ``Reopened`` says, unless the run is over: then
  /// it only closes the log. Nothing is lost but bytes behind the last event that was flushed whole.
  ///
  /// - Parameters:
  ///   - path: the plain name, or the one with `.open`, of the log or of a symbolic link to it.
  ///   - options: how the log is written on; what it holds already stays as it is.
  /// - Throws: ``LogError`` where another writer holds the log, where it is damaged (then nothing was
  ///   changed), or where it is closed and its run has ended for good.
  /// - Complexity: reads the log once.
  public static func reopening(
    _ path: String, options: Options = .init()
  ) throws(LogError) -> (writer: LogWriter, reopened: Reopened) {
    let plain = LogFormat.plainName(LogFiles.followingLinks(path))
    guard plain.hasSuffix(LogFormat.suffix) else { throw LogError(.badName, path: path) }
    let wasClosed = try LogFile.exists(plain, options.system)
    let file = try LogFile.open(
      wasClosed ? plain : plain + LogFormat.openSuffix, O_RDWR, options.system)
    try file.lock()
    var recovery = try Recovery(file: file)
    try recovery.readAll()
    let start = try recovery.start()
    if wasClosed {
      guard !start.runIsOver else { throw LogError(.runIsOver, path: plain) }
      try file.rename(to: plain + LogFormat.openSuffix)
    }
    let size = try file.size()
    let writer = try LogWriter(path: plain, options: options, file: file, start: start)
    let dropped = start.length.map { size - $0 } ?? 0
    return (
      writer,
      Reopened(
        state: start.state, nextSeq: start.nextSeq, lastEvent: recovery.lastEvent,
        wasClosed: wasClosed, cutAt: dropped > 0 ? start.length : nil,
        bytesDropped: dropped > 0 ? dropped : nil, runIsOver: start.runIsOver)
    )
  }
}

/// Reads a log to its end and finds where a writer goes on.
private struct Recovery {
  let file: LogFile
  let cursor: LineCursor
  private var result = LogWriter.Start()
  private(set) var lastEvent: Event?
  /// What the lines of the last block are, as far as that matters.
  private var kinds: [Kind] = []
  private var lastBlock = -1

  private enum Kind {
    case stop
    case otherEvent
    case summary
    case seal
    case otherMark
  }

  init(file: LogFile) throws(LogError) {
    self.file = file
    cursor = try LineCursor(file: file, options: LogReader.Options(checksLinks: true))
  }

  mutating func readAll() throws(LogError) {
    while try cursor.advance() != nil {
      if let number = cursor.block?.number, number != lastBlock {
        kinds = []
        lastBlock = number
      }
      result.bytesSinceCheckpoint += cursor.bytes.count + 1
      result.volume = result.volume + LogVolume(of: cursor.bytes)
      if let raw = try cursor.rawEvent() {
        guard cursor.version == RunStarted.currentFormatVersion else {
          throw LogError(.olderFormat(cursor.version), path: file.path)
        }
        try take(raw: raw, resolved: try cursor.resolved(raw))
      } else if case .mark(let mark) = try cursor.line() {
        try take(mark)
      }
    }
    result.nextSeq = cursor.nextSeq
    if let lastEvent, lastEvent.type == .stop {
      result.runIsOver = (try? Stop(decoding: lastEvent.data))?.isFinal ?? true
    }
  }

  private mutating func take(raw: Event, resolved event: Event) throws(LogError) {
    result.deduplicator.take(raw: raw, resolved: event, lineBytes: cursor.bytes.count)
    try cursor.fold(into: &result.state)
    result.summary.apply(event)
    lastEvent = event
    add(event.type == .stop ? .stop : .otherEvent)
  }

  private mutating func take(_ mark: Mark) throws(LogError) {
    switch mark.name {
    case LogFormat.sealMark:
      guard let digest = mark.data["digest"]?.stringValue.flatMap(Digest.init(hex:)) else {
        throw LogError(
          .badLine("a seal lacks its digest"), path: file.path, offset: cursor.block?.offset,
          block: cursor.block?.number, intactEvents: cursor.nextSeq)
      }
      result.tail.lastDigest = digest
      result.tail.lastSealLine = Array(cursor.bytes) + [UInt8(ascii: "\n")]
      add(.seal)
    case LogFormat.checkpointMark:
      result.bytesSinceCheckpoint = 0
      add(.otherMark)
    case LogFormat.summaryMark: add(.summary)
    case LogFormat.gapMark:
      result.summary.markGap(through: cursor.nextSeq - 1)
      add(.otherMark)
    default: add(.otherMark)
    }
  }

  private mutating func add(_ kind: Kind) {
    // Four tell a closing block from any other.
    if kinds.count < 4 { kinds.append(kind) } else { kinds[3] = kind }
  }

  // MARK: Where to go on

  mutating func start() throws(LogError) -> LogWriter.Start {
    (result.tail.previousLength, result.tail.previousCRC) = cursor.lastMember
    guard let block = cursor.block else {
      result.length = 0
      return result
    }
    switch block.kind {
    case .trailer:
      result.length = block.offset + block.length
      if result.runIsOver { result.closing = .whole }
    case .whole:
      result.length = block.offset + block.length
      if result.runIsOver, isClosingBlock(kinds) { result.closing = .sealed }
    case .torn: try startInTornMember(block)
    }
    return result
  }

  private mutating func startInTornMember(_ block: BlockReader.Block) throws(LogError) {
    let torn = try TornTail(examining: block, of: file)
    guard let header = block.header, !(torn.text.isEmpty && torn.linesBehind.isEmpty) else {
      result.length = block.offset
      // What is torn may be the trailer alone.
      if result.runIsOver, isClosingBlock(kinds) { result.closing = .sealed }
      return
    }
    result.length = torn.offset
    result.lines = torn.linesBehind
    result.tail.openMember = .init(
      firstSeq: Int(clamping: header.firstSeq),
      bytes: try file.read(at: block.offset, count: torn.offset - block.offset), text: torn.text)
    result.endsInSeal = kinds.last == .seal
    switch kinds {
    case [.stop]: result.closing = .stop
    case [.stop, .summary], [.summary]: result.closing = .summary
    case let kinds where isClosingBlock(kinds): result.closing = .sealed
    default: result.closing = .none
    }
  }

  private func isClosingBlock(_ kinds: [Kind]) -> Bool {
    kinds == [.stop, .summary, .seal] || kinds == [.summary, .seal]
  }
}
