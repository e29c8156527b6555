public import AgentTrace

/// Reads a run log from its beginning, in constant memory: one block, and a bounded cache of what
/// later lines may refer to.
///
/// A last block cut short means that the writer died or is still writing, and ends the log; anything
/// wrong before that is damage. A block's checksum is checked before its first line is given out.
///
/// Copies of a reader share one position.
public struct LogReader {
  /// How a log is read.
  public struct Options: Sendable {
    /// Whether reading goes on behind damage; see ``LogReader/damage``.
    public var skipsDamaged: Bool
    /// Whether each member's link is checked against the bytes of the one before it; for
    /// verification. A CRC-32 over the file.
    public var checksLinks: Bool
    /// Whether the lines of recent blocks stay in memory for those that refer to them. Without, a
    /// reference to another block costs reading that block again: for callers that follow few.
    public var keepsLines: Bool
    /// The most bytes of lines in a block; more is an error.
    public var blockLimitBytes: Int
    /// About how many bytes of earlier lines and list items stay in memory. What is referred to and
    /// no longer there is read again from the file.
    public var cacheBytes: Int
    /// Whether ``LogReader/next()`` holds what the log of a run of ours says of it against the events; see
    /// ``LogReader/contradiction``. Costs a fold of the events.
    public var provesStates: Bool

    /// A block limit below 1 MiB or above 1 GiB, and a cache below 0, count as the nearest.
    public init(
      skipsDamaged: Bool = false, checksLinks: Bool = false, keepsLines: Bool = true,
      blockLimitBytes: Int = LogFormat.blockLimitBytes, cacheBytes: Int = 4 * 1024 * 1024,
      provesStates: Bool = false
    ) {
      self.provesStates = provesStates
      self.skipsDamaged = skipsDamaged
      self.checksLinks = checksLinks
      self.keepsLines = keepsLines
      self.blockLimitBytes = min(max(blockLimitBytes, 1024 * 1024), 1024 * 1024 * 1024)
      self.cacheBytes = max(cacheBytes, 0)
    }
  }

  /// How a log ends.
  public enum Ending: Sendable, Hashable {
    /// With a trailer, under its plain name.
    case closed
    /// A writer holds it, or died between two events: nothing is missing.
    case unfinished
    /// The last block is cut short: from this byte of the file on nothing whole stands.
    case torn(offset: Int)
  }

  /// A place where a log says otherwise than its events.
  public struct Contradiction: Sendable, Hashable {
    /// The number of the event that does not fit, or that a checkpoint that does not fit stands behind.
    public var seq: Int
    /// What does not fit, and where.
    public var error: LogError
  }

  let cursor: LineCursor
  /// What the events come to; `nil` where that is not looked at.
  private var proof: RunProof?
  /// The first place where the log says of the run otherwise than the events that ``next()`` gave, with
  /// ``Options/provesStates``: a digest of a stop, a checkpoint, or what an event says of earlier ones.
  /// Somebody changed it and sealed it anew.
  public private(set) var contradiction: Contradiction?

  /// Opens a log.
  ///
  /// - Parameters:
  ///   - path: a log. Where only `….open` is there, that is read.
  ///   - options: how it is read; where they are left out, damage is an error.
  /// - Throws: ``LogError`` where the file is not there or cannot be read.
  public init(path: String, options: Options = .init()) throws(LogError) {
    let file = try Self.open(path)
    // Whoever passes over what is damaged would read a device for ever.
    if options.skipsDamaged { try file.checkKind() }
    cursor = try LineCursor(file: file, options: options)
    if options.provesStates { proof = RunProof(requiresAll: true) }
  }

  /// Opens a log at the last checkpoint before an event, so that what comes before need not be read.
  ///
  /// ``startState`` is the state there, ``nextSeq`` the number of the first event that ``next()``
  /// gives: at most `seq`. Where the log is not closed, or has no checkpoint before the event, it is
  /// read from its beginning. What later lines refer to is looked up as it is needed.
  ///
  /// - Complexity: one small read for each block of the file; then as reading forward.
  public init(
    path: String, startingAtCheckpointBefore seq: Int, options: Options = .init()
  ) throws(LogError) {
    let file = try Self.open(path)
    if !options.checksLinks, let index = try MemberIndex(walkingBackIn: file),
      let place = try index.checkpoint(atOrBefore: seq, in: file),
      let cursor = try LineCursor(file: file, options: options, index: index, place: place)
    {
      self.cursor = cursor
    } else {
      cursor = try LineCursor(file: file, options: options)
    }
  }

  /// Opens a log at the last checkpoint before a step, as with an event of that step; steps are taken
  /// to grow with events.
  ///
  /// - Complexity: besides, inflating one block for each time that the number of blocks can be halved.
  public init(
    path: String, startingAtCheckpointBeforeStep step: Int, options: Options = .init()
  ) throws(LogError) {
    let file = try Self.open(path)
    var seq = 0
    if let index = try MemberIndex(walkingBackIn: file) {
      seq = try index.firstSeq(ofBlockBefore: step, in: file)
    }
    try self.init(path: path, startingAtCheckpointBefore: seq, options: options)
  }

  /// The state before the first event that is read: empty, unless reading begins at a checkpoint.
  public var startState: AgentState { cursor.startState }

  private static func open(_ path: String) throws(LogError) -> LogFile {
    do {
      return try LogFile.openForReading(path)
    } catch {
      guard error.code == .notFound, path.hasSuffix(LogFormat.suffix) else { throw error }
      do { return try LogFile.openForReading(path + LogFormat.openSuffix) } catch let second {
        throw second.code == .notFound ? error : second
      }
    }
  }

  /// The path of the file that is read: the one asked for, or with `.open`.
  public var path: String { cursor.path }

  /// The next event, references resolved, or `nil` behind the last.
  ///
  /// - Throws: ``LogError`` at the first damage; the reader is at its end then, unless it skips
  ///   damage.
  public mutating func next() throws(LogError) -> Event? {
    while let head = try cursor.advance() {
      switch head {
      case .event:
        guard case .event(let event)? = try readableLine() else { continue }
        prove(event)
        return event
      case .mark(LogFormat.checkpointMark) where proof != nil:
        if case .mark(let mark)? = try readableLine() { prove(checkpoint: mark.data) }
      case .mark: break
      }
    }
    return nil
  }

  private mutating func prove(_ event: Event) {
    let isWhole = isWhole
    let fault = proof?.fault(in: event, isWhole: isWhole, version: cursor.version)
    if let fault { note(fault, at: event.seq) }
    proof?.state.apply(event)
  }

  private mutating func prove(checkpoint data: JSONValue) {
    let count = nextSeq
    guard isWhole, let fault = proof?.fault(inCheckpoint: data, behind: count) else { return }
    note(fault, at: count - 1)
  }

  private var isWhole: Bool { cursor.damage.isEmpty && cursor.holes.isEmpty }

  private mutating func note(_ fault: String, at seq: Int) {
    guard contradiction == nil else { return }
    contradiction = Contradiction(
      seq: seq,
      error: LogError(
        .badLine("event \(seq): \(fault)"), path: path, offset: cursor.block?.offset,
        block: cursor.block?.number))
  }

  /// The next line, event or mark, or `nil` behind the last.
  ///
  /// - Throws: ``LogError`` at the first damage, as ``next()``.
  public mutating func nextLine() throws(LogError) -> LogLine? {
    while try cursor.advance() != nil {
      if let line = try readableLine() { return line }
    }
    return nil
  }

  /// A line for somebody who looks at a run as a whole.
  public enum Overview: Sendable {
    /// A context, counted.
    case context(ContextOutline)
    /// Any other line.
    case line(LogLine)
  }

  /// The next line, of a context only what can be counted: what it takes over from those before is not put
  /// together, so that a context costs what is new in it. Whether what it refers to is there is not
  /// looked at; ``LogVerifier`` does.
  ///
  /// - Throws: ``LogError`` at the first damage, as ``next()``.
  public mutating func nextOverview() throws(LogError) -> Overview? {
    while try cursor.advance() != nil {
      if let outline = cursor.contextOutline() { return .context(outline) }
      if let line = try readableLine() { return .line(line) }
    }
    return nil
  }

  /// The line stepped to; `nil` where it cannot be read and damage is skipped. Else a line that
  /// cannot be read ends the reading.
  private func readableLine() throws(LogError) -> LogLine? {
    do { return try cursor.line() } catch {
      guard cursor.options.skipsDamaged, error.isDamage else {
        cursor.stop()
        throw error
      }
      cursor.passOver(error)
      return nil
    }
  }

  /// Steps to the next line and says what it is, without reading what it says; `nil` behind the
  /// last. For callers that need only some events; ``line()`` reads the one stepped to.
  public mutating func advance() throws(LogError) -> LineHead? { try cursor.advance() }

  /// The line that ``advance()`` stepped to.
  ///
  /// - Throws: ``LogError`` where it is not what the format asks for.
  public func line() throws(LogError) -> LogLine { try cursor.line() }

  /// Folds the event that ``advance()`` stepped to into a state; a mark changes nothing. The same as
  /// ``line()`` and `AgentState.apply(_:)`, in less time: no value is made of what the fold does not
  /// look at.
  ///
  /// - Throws: ``LogError`` where the line is not what the format asks for.
  public func fold(into state: inout AgentState) throws(LogError) { try cursor.fold(into: &state) }

  /// The `t` of the event that ``advance()`` stepped to, mostly without reading what it says; 0 for a
  /// mark.
  public func elapsedMicroseconds() throws(LogError) -> Int {
    if let times = LineHead.times(scanning: cursor.bytes) { return times.t }
    guard case .event(let event) = try cursor.line() else { return 0 }
    return event.t
  }

  /// The event that ``advance()`` stepped to, without its time and with only some of its data; `nil`
  /// where it is a mark. The others are stepped over unread: what is wrong with them is no error here.
  ///
  /// - Parameters:
  ///   - keys: of the data that are wanted whole.
  ///   - list: the key of a list of objects that is wanted with at least the members that have
  ///     `elementKeys`.
  ///   - elementKeys: the keys that are wanted of each object in that list.
  public func event(
    withOnly keys: [StaticString], list: StaticString? = nil, elementKeys: [StaticString] = []
  ) throws(LogError) -> Event? {
    try cursor.event(
      withOnly: EventScan.Wanted(keys: keys, list: list, elementKeys: elementKeys))
  }

  /// The decision that ``advance()`` stepped to, if it is one with calls and nothing in it was said
  /// before; of any other this is `nil`, and ``line()`` reads it. Inputs are stepped over unread.
  ///
  /// - Parameter passesAnswers: an answer is then a decision without calls, its text unread.
  public func decisionOutline(passesAnswers: Bool = false) -> DecisionOutline? {
    EventScan.decision(of: cursor.bytes, passesAnswers: passesAnswers)
  }

  /// How the run ends by the `stop` that ``advance()`` stepped to; `nil` where that cannot be told from
  /// its text alone, and ``line()`` reads it.
  public func stopOutline() -> Trajectory.StopFact? { EventScan.stop(of: cursor.bytes) }

  /// What the verdict, start or result that ``advance()`` stepped to says of its call; `nil` where that
  /// cannot be told from its text alone, and ``line()`` reads it.
  public func callNote() -> CallNote? { EventScan.callNote(of: cursor.bytes) }

  /// How the log ends; `nil` before ``next()`` has returned `nil` or thrown.
  public var ending: Ending? { cursor.ending }

  /// What was passed over with ``Options/skipsDamaged``, in the order of the file.
  public var damage: [LogError] { cursor.damage }

  /// Events that are missing, by their numbers: the writer of the log said so, or damage took them.
  public var holes: [ClosedRange<Int>] { cursor.holes }

  /// The number of the next event: so many were read or are known to be missing.
  public var nextSeq: Int { cursor.nextSeq }
}
