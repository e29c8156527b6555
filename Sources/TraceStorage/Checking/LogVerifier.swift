@_spi(Scanning) public import AgentTrace

/// Checks a log against everything its format promises.
public enum LogVerifier {
  /// Reads a log once and says what is wrong with it.
  ///
  /// Checked: headers, links and checksums of all members; the chain of seals; event numbers; the
  /// canonical form of every line; that each reference leads where it may; the data of every event of a
  /// known type; each checkpoint, each summary and each
  /// `stop`'s digest against the fold of the events; what events say of earlier ones (`EventClaims`);
  /// the closing block and the trailer.
  ///
  /// - Parameters:
  ///   - path: the log; where only `….open` is there, that is read.
  ///   - expectedDigest: the digest that the last seal must have. Only it shows that a log was cut back
  ///     to an earlier pause, or written anew.
  ///   - mayGoOn: whether the log may have been gone on with behind the seal of that digest: then another one may be its
  ///     last, and a note says so.
  public static func verify(
    path: String, expectedDigest: Digest? = nil, mayGoOn: Bool = false
  ) -> VerifyReport {
    verifyGatheringChildren(path: path, expectedDigest: expectedDigest, mayGoOn: mayGoOn).report
  }

  /// The note on a log that was gone on with behind the seal that was expected to be its last.
  public static let goneOnNote =
    "it was gone on with behind the expected seal, which still stands in it"

  /// The same, and the children that the log names.
  static func verifyGatheringChildren(
    path: String, expectedDigest: Digest?, mayGoOn: Bool = false
  ) -> (report: VerifyReport, children: [ChildLog]) {
    var report = VerifyReport(
      path: path, status: .whole, findings: [], notes: [], events: 0, blocks: 0, sealDigest: nil)
    do {
      let reader = try LogReader(
        path: path,
        options: LogReader.Options(skipsDamaged: true, checksLinks: true))
      report.path = reader.path
      var verification = Verification(cursor: reader.cursor, report: report)
      verification.run(expectedDigest: expectedDigest, mayGoOn: mayGoOn)
      return (verification.report, verification.children.all)
    } catch {
      report.status = .unreadable
      report.findings = [.init(block: nil, offset: nil, message: error.description)]
      return (report, [])
    }
  }
}

/// Whether each start and each result stands behind a decision that holds its call.
private struct CallOrder {
  /// Digests of ids: a run may have very many. Two that share one only leave a note out.
  private var callIds: Set<UInt64> = []
  private var firstStray: Int?
  private var strays = 0
  /// An import holds what its source does: there a result may have lost its call.
  private var isImport = false

  mutating func apply(_ event: Event) {
    switch event.type {
    case .runStarted:
      let format = event.data["source"]?["format"]?.stringValue
      isImport = format != nil && format != "agent-eval"
    case .decision where !isImport:
      for call in event.data["calls"]?.arrayValue ?? [] {
        if let callId = call["callId"]?.stringValue { callIds.insert(Self.hash(callId)) }
      }
    case .toolStarted where !isImport, .toolResult where !isImport:
      guard let callId = event.data["callId"]?.stringValue, !callIds.contains(Self.hash(callId))
      else { return }
      firstStray = firstStray ?? event.seq
      strays += 1
    default: break
    }
  }

  /// FNV-1a, 64 bits.
  private static func hash(_ callId: String) -> UInt64 {
    callId.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  /// What a reader should know; `nil` where all is in order.
  var note: String? {
    firstStray.map { seq in
      strays == 1
        ? "out of order: event \(seq) starts or ends a call that no decision before it holds"
        : "out of order: event \(seq), and \(strays - 1) more, start or end calls that no decision "
          + "before them holds"
    }
  }
}

private struct Verification {
  let cursor: LineCursor
  var report: VerifyReport

  // The fold.
  private var proof = RunProof()
  private var summary = RunSummary()
  private var order = CallOrder()
  private(set) var children: ChildLogs
  /// Whether everything before was read, so that what follows from it can be compared.
  private var isComplete: Bool { cursor.damage.isEmpty && !hasUnreadable }
  private var hasUnreadable = false

  // The block.
  private var blockNumber = -1
  private var blockOffset = 0
  private var blockFirstSeq = 0
  private var names: [String] = []
  private var lineInBlock = 0
  private var isSealed = true
  private var seal = SealBuilder(previous: .zero, previousLine: [])
  /// `nil` where the block before could not be read.
  private var lastDigest: Digest? = .zero
  private var lastSealLine: [UInt8] = []
  private var damageSeen = 0
  /// The digest that any seal may have, and whether one had it.
  private var awaitedDigest: Digest?
  private var hasAwaitedSeal = false

  init(cursor: LineCursor, report: VerifyReport) {
    self.cursor = cursor
    self.report = report
    children = ChildLogs(ofLog: report.path)
  }

  mutating func run(expectedDigest: Digest?, mayGoOn: Bool) {
    awaitedDigest = mayGoOn ? expectedDigest : nil
    do throws(LogError) {
      while let head = try cursor.advance() { check(head) }
    } catch {
      note(error)
      if case .newerFormat = error.code { report.status = .unreadable }
      if case .system = error.code { report.status = .unreadable }
    }
    finish(expectedDigest: expectedDigest)
  }

  // MARK: Findings

  private mutating func find(_ message: String, seq: Int? = nil) {
    report.status = report.status == .unreadable ? .unreadable : .damaged
    guard report.findings.count < VerifyReport.findingLimit else { return }
    report.findings.append(
      .init(block: blockNumber, offset: blockOffset, seq: seq, message: message))
  }

  private mutating func note(_ error: LogError, seq: Int? = nil) {
    report.status = .damaged
    guard report.findings.count < VerifyReport.findingLimit else { return }
    report.findings.append(
      .init(block: error.block, offset: error.offset, seq: seq, message: error.fault))
  }

  /// Takes over what the cursor has passed over.
  private mutating func takeDamage() {
    for error in cursor.damage.dropFirst(damageSeen) {
      note(error)
      if case .newerFormat = error.code { report.status = .unreadable }
    }
    if cursor.damage.count > damageSeen {
      // The chain has lost its link; the block behind begins a new one.
      lastDigest = nil
      isSealed = true
    }
    damageSeen = cursor.damage.count
  }

  // MARK: Lines

  private mutating func check(_ head: LineHead) {
    takeDamage()
    if let block = cursor.block, block.number != blockNumber { begin(block) }
    if isSealed, lineInBlock > 0 { find("a line stands behind the seal of its block") }
    if case .mark(LogFormat.sealMark) = head {
    } else {
      seal.update(UnsafeRawBufferPointer(cursor.bytesWithEnd))
    }
    // A closing block has no more than three lines.
    if names.count < 4 { names.append(Self.name(of: head)) }
    do throws(LogError) {
      switch head {
      case .event(_, _, let type): try checkEvent(isPacket: type == .contextBuilt)
      case .mark(LogFormat.checkpointMark) where isExpectedCheckpoint:
        proof.confirm(through: cursor.nextSeq - 1)
      case .mark: if case .mark(let mark) = try cursor.line() { check(mark) }
      }
    } catch {
      var seq: Int?
      if case .event(let number, _, _) = head { seq = number }
      note(error, seq: seq)
      hasUnreadable = true
      if case .newerFormat = error.code { report.status = .unreadable }
    }
    lineInBlock += 1
  }

  private static func name(of head: LineHead) -> String {
    switch head {
    case .event(_, _, .stop): "stop"
    case .event: "event"
    case .mark(let name): name
    }
  }

  private mutating func begin(_ block: BlockReader.Block) {
    if !isSealed { find("the block does not end in its seal") }
    blockNumber = block.number
    blockOffset = block.offset
    blockFirstSeq = Int(clamping: block.header?.firstSeq ?? 0)
    names = []
    lineInBlock = 0
    isSealed = false
    seal = SealBuilder(previous: lastDigest ?? .zero, previousLine: lastSealLine)
    report.blocks += 1
  }

  /// Checks the event that the cursor stands on.
  ///
  /// Of a packet no more is looked at than what it says: that its references lead where they may is told
  /// when it is folded in, before anything is made of it.
  private mutating func checkEvent(isPacket: Bool) throws(LogError) {
    report.events += 1
    if isPacket {
      try cursor.fold(into: &proof.state)
      if let packet = cursor.soundPacket { return take(packet) }
    }
    guard let raw = try cursor.rawEvent() else { return }
    if isPacket, !cursor.isFoldedCanonical { checkForm(of: raw) }
    var event = raw
    if isPacket { event.data = raw.data.saidHere } else { event = try cursor.resolved(raw) }
    do { _ = try EventPayload(of: event) } catch {
      // What a missing event had said stands as lost, whatever it was.
      if cursor.holes.isEmpty || JSONValue.object(event.data).lostCount == 0 {
        find("the data of a \(event.type.rawValue): \(error)", seq: event.seq)
      }
    }
    take(event)
    if cursor.version == RunStarted.currentFormatVersion, RunProof.isIncomparable(event) {
      report.notes.append(
        "event \(event.seq): the digest of a state of another format was not compared")
    }
    if !isPacket {
      try cursor.fold(into: &proof.state, known: event)
      if !cursor.isFoldedCanonical { checkForm(of: raw) }
    }
  }

  /// Takes in an event, of a packet no more than its envelope, which is held against the events before it.
  private mutating func take(_ event: Event) {
    let isWhole = cursor.holes.isEmpty && isComplete
    if let fault = proof.fault(in: event, isWhole: isWhole, version: cursor.version) {
      find(fault, seq: event.seq)
    }
    summary.apply(event)
    order.apply(event)
    children.apply(event)
  }

  /// Holds a line against the canonical form of what was read from it.
  private mutating func checkForm(of raw: Event) {
    guard !raw.isCanonical(in: cursor.bytes) else { return }
    find("the line is not in canonical form", seq: raw.seq)
  }

  private mutating func check(_ mark: Mark) {
    if !mark.encodedLine().elementsEqual(cursor.bytes) {
      find("a \(mark.name) is not in canonical form")
    }
    switch mark.name {
    case LogFormat.sealMark: check(seal: mark)
    case LogFormat.checkpointMark: check(checkpoint: mark)
    case LogFormat.gapMark:
      summary.markGap(through: cursor.nextSeq - 1)
      if lineInBlock != 0 || blockFirstSeq != cursor.nextSeq {
        find("a gap is not the first line of a block that begins behind it")
      }
    case LogFormat.summaryMark:
      if isComplete, mark.data != summary.encoded(totals: proof.state.totals),
        mark.data != summary.withoutContradictions?.encoded(totals: proof.state.totals),
        mark.data != summary.withoutStrays?.encoded(totals: proof.state.totals)
      {
        find("the summary is not the one that follows from the events", seq: cursor.nextSeq - 1)
      }
    default: break
    }
  }

  private mutating func check(seal mark: Mark) {
    isSealed = true
    let expected = seal.mark(first: blockFirstSeq, last: cursor.nextSeq - 1)
    if lastDigest != nil, mark.data != expected.data {
      find("the seal does not fit the lines before it")
    }
    lastDigest = mark.data["digest"]?.stringValue.flatMap(Digest.init(hex:))
    lastSealLine = Array(cursor.bytes) + [UInt8(ascii: "\n")]
    report.sealDigest = lastDigest
    if let awaitedDigest, lastDigest == awaitedDigest { hasAwaitedSeal = true }
  }

  /// Whether the line stepped to is the very one that a writer makes of what was read. Else it may be another program's,
  /// and is read.
  private var isExpectedCheckpoint: Bool {
    guard isComplete, lineInBlock == 0 else { return false }
    let line = CheckpointLine(
      of: proof.state, items: cursor.foldedLists.encodedCounts, lists: cursor.foldedLists.latest)
    return line.isReadable && line.bytes.isEqual(to: cursor.bytes)
  }

  private mutating func check(checkpoint mark: Mark) {
    if lineInBlock != 0 { find("a checkpoint is not the first line of its block") }
    guard isComplete else { return }
    guard RunProof.isComparable(checkpoint: mark.data) else {
      report.notes.append("a checkpoint of another state format was not compared")
      return
    }
    if let fault = proof.fault(inCheckpoint: mark.data, behind: cursor.nextSeq) {
      find(fault, seq: cursor.nextSeq - 1)
    }
    if cursor.holes.isEmpty,
      mark.data["items"] != cursor.foldedLists.encodedCounts
        || mark.data["lists"] != cursor.foldedLists.latest
    {
      find("a checkpoint gives other list items than those that stand before it")
    }
  }

  // MARK: The end

  private mutating func finish(expectedDigest: Digest?) {
    takeDamage()
    // Only the block that a log was torn in may lack its seal.
    if let last = cursor.block, !isSealed, last.kind != .torn || last.number != blockNumber,
      cursor.ending != nil
    {
      find("the block does not end in its seal")
    }
    switch cursor.ending {
    case .closed:
      let closing = names.suffix(lineInBlock)
      if report.status == .whole, closing != ["stop", "summary", "seal"],
        closing != ["summary", "seal"]
      {
        find("the last block is not a closing block")
      }
    case .unfinished: conclude("not closed; a writer holds it, or died between two events")
    case .torn(let offset):
      conclude("not closed, and its last block is cut short at byte \(offset)")
    case nil: break
    }
    if isComplete, cursor.holes.isEmpty, let note = order.note { report.notes.append(note) }
    if hasAwaitedSeal, report.sealDigest != expectedDigest {
      report.notes.append(LogVerifier.goneOnNote)
    } else if let expectedDigest, report.sealDigest != expectedDigest {
      find("the last seal is not the expected one: the log was cut back or written anew")
    }
    if cursor.memberCount == 0, report.status == .damaged {
      report.status = .unreadable
    }
  }

  private mutating func conclude(_ note: String) {
    if report.status == .whole { report.status = .torn }
    report.notes.append(note)
  }
}
