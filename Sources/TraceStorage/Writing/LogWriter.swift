@_spi(Scanning) public import AgentTrace
import Glibc

/// Writes one run log: one file, one writer.
///
/// `append` returns when the event is in the file (what survives a killed process), or on the disk
/// (what survives the machine) as ``Durability`` says, unless the options say that it may wait. Until ``close()`` the file is named
/// `….jsonl.gz.open`. A writer that goes away without closing leaves such a file behind, whole up to
/// its last event; ``reopening(_:options:)`` goes on with it.
///
/// Not for several threads at once.
public final class LogWriter: EventSink {
  /// When bytes are forced to the disk.
  public enum Durability: String, Sendable, CaseIterable {
    /// Never; the system writes them when it likes. For logs that can be made again.
    case none
    /// Before an effect that cannot be undone, and when the log is closed.
    case process
    /// After every event.
    case sync
  }

  /// How a log is written. What it says never depends on this.
  public struct Options: Sendable {
    /// zlib's level, 0 to 9. Beyond them counts as the nearest.
    public var level: Int
    /// A block is closed when it holds so many bytes of lines. At most 16 MiB.
    public var blockBytes: Int
    /// A checkpoint comes before more than so many bytes of lines stand since the last one.
    public var checkpointBytes: Int
    /// What an event survives once it is appended.
    public var durability: Durability
    /// Whether each event is in the file when it is appended. Without, a block is written when it is full or the log is
    /// closed: for logs that nobody reads before, and that can be made again.
    public var flushesEachEvent: Bool
    /// What the file is written with.
    var system = SystemCalls.real

    /// A level or size beyond what is allowed counts as the nearest that is.
    public init(
      level: Int = 6, blockBytes: Int = 256 * 1024, checkpointBytes: Int = 4 * 1024 * 1024,
      durability: Durability = .process, flushesEachEvent: Bool = true
    ) {
      self.level = min(max(level, 0), 9)
      self.blockBytes = min(max(blockBytes, 1), LogFormat.blockLimitBytes / 2)
      self.checkpointBytes = max(checkpointBytes, 1)
      self.durability = durability
      self.flushesEachEvent = flushesEachEvent
    }
  }

  /// The plain name: the one the file has when it is closed.
  public let path: String
  /// The fold of all events so far, as checkpoints hold it.
  public private(set) var state: AgentState
  /// The number of the next event.
  public private(set) var nextSeq: Int

  private let options: Options
  private let file: LogFile
  private var blocks: BlockWriter
  private var deduplicator: Deduplicator
  private var summary: RunSummary
  private var bytesSinceCheckpoint: Int
  /// What all lines come to.
  private var volume: LogVolume
  private let volumeLimits = LogVolume.limits
  /// How many bytes the file has.
  private var fileBytes: Int
  /// What stands in the open block, as far as closing the log depends on it.
  private var closing: ClosingBlock
  private var isStopped = false
  /// Whether the name under which the file is written is on the disk.
  private var isNameForced = false
  private var isClosed = false
  /// Whether the file holds something that was acknowledged.
  private var holdsSomething: Bool
  private var runIsOver: Bool

  /// How much of the closing block is there.
  enum ClosingBlock {
    /// None of it.
    case none
    /// A block that holds a `stop` and nothing else.
    case stop
    /// A block that holds nothing but perhaps a `stop`, and the summary.
    case summary
    /// All of it.
    case sealed
    /// All of it, and the trailer.
    case whole
  }

  /// Creates a log.
  ///
  /// - Parameters:
  ///   - path: the plain name, `….jsonl.gz`. Missing folders above it are created.
  ///   - options: how the log is written; what it says never depends on them.
  /// - Throws: ``LogError`` where a log of that name is there already, held by a writer or left by
  ///   one.
  public convenience init(creating path: String, options: Options = .init()) throws(LogError) {
    guard path.hasSuffix(LogFormat.suffix) else { throw LogError(.badName, path: path) }
    try LogFile.createFolder(of: path, options.system)
    guard try !LogFile.exists(path, options.system) else { throw LogError(.exists, path: path) }
    let file = try Self.createOpen(path, options.system)
    do { try file.lock() } catch {
      // Nobody else has written to it, and the next try shall not find it left open.
      if case .system = error.code { file.remove() }
      throw error
    }
    try self.init(path: path, options: options, file: file, start: Start())
  }

  private static func createOpen(
    _ path: String, _ system: SystemCalls
  ) throws(LogError) -> LogFile {
    let open = path + LogFormat.openSuffix
    do {
      return try LogFile.open(open, O_RDWR | O_CREAT | O_EXCL, system)
    } catch {
      guard error.code == .system(operation: "open", errno: EEXIST) else { throw error }
      // The lock says whether its writer lives; it is let go with the descriptor.
      try LogFile.open(open, O_RDWR, system).lock()
      throw LogError(.leftOpen, path: open)
    }
  }

  /// Where a writer begins: behind what the file holds.
  struct Start {
    var tail = BlockWriter.Tail()
    var deduplicator = Deduplicator()
    var state = AgentState()
    var summary = RunSummary()
    var nextSeq = 0
    var bytesSinceCheckpoint = 0
    /// What all lines come to, those to be written again among them.
    var volume = LogVolume()
    var closing = ClosingBlock.none
    var runIsOver = false
    /// What stays of the file; `nil` for all of a new one.
    var length: Int?
    /// Whole lines from behind `length`, to be written again.
    var lines: [UInt8] = []
    /// Whether the last whole line is the seal of the member that `tail` leaves open.
    var endsInSeal = false
  }

  init(path: String, options: Options, file: LogFile, start: Start) throws(LogError) {
    guard let deflater = Deflater(level: options.level) else {
      throw LogError(.system(operation: "compress", errno: ENOMEM), path: path)
    }
    self.path = path
    self.options = options
    self.file = file
    var tail = start.tail
    // What is written again may have stood there uncompressed.
    tail.openMember?.isStored = !start.volume.isWithin(
      volumeLimits, fileBytes: start.length ?? 0)
    blocks = BlockWriter(deflater: deflater, tail: tail)
    deduplicator = start.deduplicator
    state = start.state
    summary = start.summary
    nextSeq = start.nextSeq
    bytesSinceCheckpoint = start.bytesSinceCheckpoint
    volume = start.volume
    fileBytes = start.length ?? 0
    closing = start.closing
    runIsOver = start.runIsOver
    holdsSomething = start.length != nil
    try begin(start)
  }

  /// Brings the file to where the writer goes on.
  private func begin(_ start: Start) throws(LogError) {
    guard let length = start.length else { return }
    try file.truncate(to: length)
    guard !start.lines.isEmpty || start.endsInSeal else { return }
    for line in start.lines.split(separator: UInt8(ascii: "\n")) { blocks.add(Array(line)) }
    if start.endsInSeal {
      blocks.finishSealedMember(digest: start.tail.lastDigest, sealLine: start.tail.lastSealLine)
    } else {
      blocks.flush()
    }
    try write(forcingDisk: options.durability == .sync)
  }

  // MARK: Appending

  /// Writes the next event, flushed so that it can be read.
  ///
  /// An event that cannot be written as it is (its number, size, depth or how many values it holds) is refused and changes
  /// nothing. A failed write, here or when the disk is forced, stops the writer for good.
  ///
  /// - Parameters:
  ///   - event: the one whose number is ``nextSeq``.
  ///   - isEffectAhead: forces the disk, unless the durability is `none`, and checks that the log is still at its path.
  /// - Throws: ``LogError``: what is wrong with the event, or why nothing can be written any more.
  public func append(_ event: Event, isEffectAhead: Bool) throws(LogError) {
    try checkUsable()
    guard !runIsOver else { throw LogError(.runIsOver, path: path) }
    guard event.seq == nextSeq else {
      throw LogError(.wrongNumber(expected: nextSeq, found: event.seq), path: path)
    }
    let event = event.inThisFormat
    deduplicator.fileBytes = fileBytes
    let line = deduplicator.encode(event)
    try check(line)
    let lineVolume = LogVolume(of: line.bytes)
    prepareBlock(for: event, lineVolume)
    add(line.bytes, lineVolume)
    if options.flushesEachEvent { blocks.flush() }
    deduplicator.commit(line)
    state.apply(event, digest: line.digest)
    summary.apply(event)
    nextSeq += 1
    closing = event.type == .stop ? .stop : .none
    if event.type != .stop, blocks.lineBytes >= options.blockBytes { sealBlock() }
    try write(
      forcingDisk: options.durability == .sync || isEffectAhead, checkingPlace: isEffectAhead)
  }

  private func checkUsable() throws(LogError) {
    guard !isStopped, !isClosed else { throw LogError(.writerStopped, path: path) }
  }

  private func check(_ line: Deduplicator.Line) throws(LogError) {
    guard line.bytes.count < LogFormat.lineLimitBytes else {
      throw LogError(.lineTooLong(limitBytes: LogFormat.lineLimitBytes), path: path)
    }
    guard line.depth <= LogFormat.depthLimit else {
      throw LogError(.tooDeep(limit: LogFormat.depthLimit), path: path)
    }
    let isTooFull = line.bytes.withUnsafeBufferPointer {
      $0.holdsMoreValues(than: LogFormat.valueLimit)
    }
    guard !isTooFull else {
      throw LogError(.tooManyValues(limit: LogFormat.valueLimit), path: path)
    }
    guard line.expandedBytes <= LogFormat.expandedLimitBytes else {
      throw LogError(.expandsTooFar(limitBytes: LogFormat.expandedLimitBytes), path: path)
    }
    guard line.itemCount <= LogFormat.listItemLimit else {
      throw LogError(.listTooLong(limitItems: LogFormat.listItemLimit), path: path)
    }
    guard deduplicator.mayAskFor(line) else { throw LogError(.contextsTooLong, path: path) }
  }

  /// Sees to it that a block is open in which the event may stand.
  private func prepareBlock(for event: Event, _ line: LogVolume) {
    let isCheckpointDue =
      nextSeq > 0
      && bytesSinceCheckpoint + line.textBytes + LogFormat.sealReserveBytes
        > options.checkpointBytes
    if isCheckpointDue || event.type == .stop { sealBlock() }
    if isCheckpointDue {
      // A `stop` begins the closing block, so the checkpoint gets a block to itself.
      addCheckpoint(before: event.type == .stop ? LogVolume() : line)
      if event.type == .stop { sealBlock() }
    }
    openBlock(firstSeq: nextSeq, for: line)
  }

  /// Sees to it that a block is open which may take so much: one that is not compressed, where the log would come to
  /// more than a file of its size may hold.
  ///
  /// Seals, and the summary behind a `stop`, are not asked for: readers allow for more than these.
  private func openBlock(firstSeq: Int, for more: LogVolume) {
    if blocks.isOpen, !blocks.isStored, !mayGrow(by: more) { sealBlock() }
    // The one that was sealed has perhaps made room.
    if !blocks.isOpen { blocks.open(firstSeq: firstSeq, isStored: !mayGrow(by: more)) }
  }

  private func mayGrow(by more: LogVolume) -> Bool {
    (volume + more).isWithin(volumeLimits, fileBytes: fileBytes + blocks.pending.count)
  }

  /// Opens a block with a checkpoint, which takes so much besides.
  private func addCheckpoint(before more: LogVolume) {
    let lists = deduplicator.checkpoint
    let line = CheckpointLine(of: state, items: lists.items, lists: lists.lists)
    // A state too large for a line would be unreadable; without it a reader folds from further back.
    if line.isReadable {
      openBlock(firstSeq: nextSeq, for: line.volume + more)
      add(line.bytes, line.volume)
    } else {
      openBlock(firstSeq: nextSeq, for: more)
    }
    bytesSinceCheckpoint = 0
  }

  private func add(_ line: [UInt8], _ lineVolume: LogVolume) {
    blocks.add(line)
    volume = volume + lineVolume
    bytesSinceCheckpoint += lineVolume.textBytes
  }

  /// Adds a mark to the block that it belongs to.
  private func add(_ mark: Mark, firstSeq: Int) {
    let line = mark.encodedLine()
    let lineVolume = LogVolume(of: line)
    openBlock(firstSeq: firstSeq, for: lineVolume)
    add(line, lineVolume)
  }

  private func sealBlock() {
    guard blocks.isOpen else { return }
    let bytes = blocks.close(nextSeq: nextSeq)
    bytesSinceCheckpoint += bytes
    volume.textBytes += bytes
    volume.values += Self.sealValues
  }

  /// Its two members, and the four of its data.
  private static let sealValues = 6

  private func write(forcingDisk: Bool, checkingPlace: Bool = false) throws(LogError) {
    do {
      if !blocks.pending.isEmpty { try file.write(blocks.pending) }
      fileBytes += blocks.pending.count
      blocks.pending.removeAll(keepingCapacity: true)
      if forcingDisk, options.durability != .none {
        try file.syncData()
        if !isNameForced { try file.syncFolder() }
        isNameForced = true
      }
      if checkingPlace { try file.checkPlace() }
      holdsSomething = true
    } catch {
      isStopped = true
      // A log without an event would only be in the way of the next try.
      if !holdsSomething { file.remove() }
      throw error
    }
  }

  // MARK: What repairing needs besides

  /// Leaves the numbers up to `last` unused: the events that had them are lost.
  func appendGap(through last: Int, reason: String) throws(LogError) {
    try checkUsable()
    guard !runIsOver else { throw LogError(.runIsOver, path: path) }
    guard last >= nextSeq, last < LogFormat.numberLimit else {
      throw LogError(.wrongNumber(expected: nextSeq, found: last), path: path)
    }
    sealBlock()
    let mark = Mark(
      name: LogFormat.gapMark,
      data: ["first": JSONValue(nextSeq), "last": JSONValue(last), "reason": .string(reason)])
    add(mark, firstSeq: last + 1)
    summary.markGap(through: last)
    nextSeq = last + 1
    closing = .none
  }

  /// Passes on a mark that this version does not know. It reaches the file with what follows it.
  func append(_ mark: Mark) throws(LogError) {
    try checkUsable()
    if closing != .none { sealBlock() }
    add(mark, firstSeq: nextSeq)
    closing = .none
  }

  /// Ends the open block and goes away; the log stays unfinished.
  ///
  /// - Returns: the digest of its last seal.
  func leaveOpen() throws(LogError) -> Digest {
    try checkUsable()
    sealBlock()
    try write(forcingDisk: true)
    isClosed = true
    file.unlock()
    return blocks.lastDigest
  }

  /// Takes away what was written: it was no success, or another log takes its place.
  public func discard() {
    isStopped = true
    file.remove()
  }

  // MARK: Closing

  /// A log as it was closed.
  public struct ClosedLog: Sendable, Hashable {
    /// The plain name.
    public var path: String
    /// How many events it holds.
    public var events: Int
    /// The digest of its last seal: what `--expect-digest` takes.
    public var sealDigest: Digest
  }

  /// Ends the log with summary, seal and trailer, forces it to the disk and gives it its plain name.
  ///
  /// - Throws: ``LogError``; the log then stays open under its `.open` name, readable.
  public func close() throws(LogError) -> ClosedLog {
    try checkUsable()
    if closing == .none { sealBlock() }
    if closing == .none || closing == .stop {
      let data = summary.encoded(totals: state.totals)
      let line = Mark(name: LogFormat.summaryMark, data: data).encodedLine()
      let lineVolume = LogVolume(of: line)
      // Behind a `stop` it goes where that stands.
      if closing == .none { openBlock(firstSeq: nextSeq, for: lineVolume) }
      add(line, lineVolume)
      closing = .summary
    }
    if closing == .summary {
      blocks.close(nextSeq: nextSeq)
      closing = .sealed
    }
    if closing == .sealed { blocks.putTrailer(nextSeq: nextSeq) }
    try write(forcingDisk: false)
    do {
      if options.durability != .none { try file.sync() }
      try file.rename(to: path)
      if options.durability != .none { try file.syncFolder() }
    } catch {
      isStopped = true
      throw error
    }
    isClosed = true
    file.unlock()
    return ClosedLog(path: path, events: nextSeq, sealDigest: blocks.lastDigest)
  }
}
