public import AgentTrace

/// Makes a new log of what is whole in a damaged one.
public enum LogRepair {
  /// Reads a log past its damage and writes what can be read to a new one. The old file stays as it is.
  ///
  /// Events keep their numbers; where some are missing stands a `gap` that says why. What was said in a
  /// missing event alone becomes `$lost`. Seals, checkpoints, summary and trailer are made anew, so that
  /// the new log is whole by itself and ``LogVerifier`` accepts exactly its gaps. The torn end of an
  /// unfinished log is no gap: what was acknowledged is all there.
  ///
  /// The new log is closed, also where its run has not stopped. Only where the old one ends in damage
  /// right behind a pause, so that nobody knows whether the run went on, it is left open.
  ///
  /// - Parameters:
  ///   - path: the log; where only `….open` is there, that is read.
  ///   - output: the plain name of the new log; without one `NAME-repaired.jsonl.gz` beside the old
  ///     one, with a number where that is taken. Nothing is ever replaced.
  ///   - options: how the new log is written.
  ///
  /// An event whose data are not what its type promises is passed over like a line that cannot be read,
  /// and so is one that says of those before it what is not so: a stop that speaks of another state than they
  /// lead to, an approval of another action than its call's.
  ///
  /// - Throws: ``LogError`` where the log cannot be read at all, holds no event, is of a newer format or
  ///   held by a writer, or where the new one cannot be written; then nothing is left of it.
  /// - Complexity: reads the log once, in constant memory but for what a writer remembers.
  public static func repair(
    _ path: String, to output: String? = nil, options: LogWriter.Options = .init()
  ) throws(LogError) -> RepairReport {
    let reader = try LogReader(
      path: path, options: LogReader.Options(skipsDamaged: true, checksLinks: true))
    // Of a log that somebody writes the end is only missing so far.
    try reader.cursor.blocks.file.lockForReading()
    var copy = LogCopy(cursor: reader.cursor)
    try copy.readToFirstEvent()
    let writer = try create(output, beside: reader.path, options)
    do throws(LogError) {
      return try copy.write(to: writer)
    } catch {
      writer.discard()
      throw error
    }
  }

  private static func create(
    _ output: String?, beside path: String, _ options: LogWriter.Options
  ) throws(LogError) -> LogWriter {
    if let output { return try LogWriter(creating: output, options: options) }
    let stem = LogFiles.stem(of: path)
    var number = 1
    while true {
      let suffix = number == 1 ? "" : "-\(number)"
      do {
        return try LogWriter(
          creating: "\(stem)-repaired\(suffix)\(LogFormat.suffix)", options: options)
      } catch {
        switch error.code {
        case .exists, .leftOpen, .inUse: number += 1
        default: throw error
        }
        guard number <= 1000 else { throw error }
      }
    }
  }
}

/// What became of a log that was repaired.
public struct RepairReport: Sendable, Hashable {
  /// Events that the new log lacks.
  public struct Gap: Sendable, Hashable {
    /// The number of the first that is missing.
    public var first: Int
    /// The number of the last.
    public var last: Int
    /// What took them.
    public var reason: String
  }

  /// The file that was read.
  public var path: String
  /// The file that was written.
  public var output: String
  /// How many events it holds.
  public var events = 0
  /// Which are missing, in order.
  public var gaps: [Gap] = []
  /// Values in its events that only a missing event had said.
  public var lostValues = 0
  /// What was wrong with the old log, in the order of the file.
  public var damage: [LogError] = []
  /// How the old log ends; `nil` where it ends in damage.
  public var ending: LogReader.Ending?
  /// Whether events may be missing behind the last one, of which nobody knows how many.
  public var mayLackEnd = false
  /// Whether the new log is closed; else it is unfinished, and `output` ends in `.open`.
  public var isClosed = false
  /// The digest of its last seal.
  public var sealDigest: Digest

  /// How many events are known to be missing.
  public var missingEvents: Int { gaps.reduce(0) { $0 + $1.last - $1.first + 1 } }
}

/// One walk over a log with a writer behind it.
private struct LogCopy {
  let cursor: LineCursor
  /// The line the walk stands on, before anything is written.
  private var first: LineHead?
  /// Why numbers are missing before the next event.
  private var reasons: [String] = []
  private var damageSeen = 0
  private var gaps: [RepairReport.Gap] = []
  private var lostValues = 0
  private var lastEvent: Event?
  private var eventCount = 0
  private var proof = RunProof()
  private let noState = AgentState()

  init(cursor: LineCursor) { self.cursor = cursor }

  /// Makes sure that there is something to copy before a file is created.
  ///
  /// - Throws: what is wrong with a file that holds no event.
  mutating func readToFirstEvent() throws(LogError) {
    while let head = try cursor.advance() {
      if case .event = head {
        first = head
        return
      }
    }
    throw cursor.damage.first { $0.code != .noTrailer } ?? LogError(.noEvents, path: cursor.path)
  }

  mutating func write(to writer: LogWriter) throws(LogError) -> RepairReport {
    var head = first
    while let current = head {
      try copy(current, to: writer)
      head = try cursor.advance()
    }
    takeReasons()
    if cursor.nextSeq > writer.nextSeq { try putGap(before: cursor.nextSeq, in: writer) }
    return try finish(writer)
  }

  // MARK: Lines

  private mutating func copy(_ head: LineHead, to writer: LogWriter) throws(LogError) {
    takeReasons()
    let line: (LogLine, said: JSONObject?)
    do { line = try read(head) } catch {
      guard error.isDamage else { throw error }
      return cursor.passOver(error)
    }
    switch line {
    case (.event(let event), let said): try copy(event, saying: said, to: writer)
    case (.mark(let mark), _): try copy(mark, to: writer)
    }
  }

  /// The line that the walk stands on, and of a packet what it says itself, where all that it may take over is
  /// known to be in order.
  private func read(_ head: LineHead) throws(LogError) -> (LogLine, said: JSONObject?) {
    guard case .event(_, _, .contextBuilt) = head, cursor.holes.isEmpty, cursor.damage.isEmpty,
      cursor.version == RunStarted.currentFormatVersion, let raw = try cursor.rawEvent()
    else { return (try cursor.line(), nil) }
    return (.event(try cursor.resolved(raw)), raw.data.saidHere)
  }

  private mutating func copy(
    _ event: Event, saying said: JSONObject?, to writer: LogWriter
  ) throws(LogError) {
    if let fault = fault(in: event, saying: said, behind: writer) { return cursor.passOver(fault) }
    if event.seq > writer.nextSeq { try putGap(before: event.seq, in: writer) }
    do { try writer.append(event, isEffectAhead: false) } catch {
      switch error.code {
      // With what it repeats lost it may have grown beyond what a line may hold.
      case .lineTooLong, .tooDeep, .tooManyValues, .expandsTooFar, .listTooLong, .contextsTooLong:
        return cursor.passOver(error)
      default: throw error
      }
    }
    reasons = []
    lastEvent = event
    eventCount += 1
    if !cursor.holes.isEmpty { lostValues += JSONValue.object(event.data).lostCount }
  }

  /// Why an event would be damage in the new log; `nil` where it would not. As ``LogVerifier`` has it.
  private mutating func fault(
    in event: Event, saying said: JSONObject?, behind writer: LogWriter
  ) -> LogError? {
    let isWhole = cursor.holes.isEmpty
    if let error = Self.fault(inDataOf: event, saying: said),
      isWhole || JSONValue.object(event.data).lostCount == 0
    {
      return fault("the data of a \(event.type.rawValue): \(error)")
    }
    proof.state = writer.state
    // The writer would copy a state that somebody else holds when it goes on.
    defer { proof.state = noState }
    let isNext = isWhole && gaps.isEmpty && event.seq == writer.nextSeq
    return proof.fault(in: event, isWhole: isNext, version: cursor.version).map(fault)
  }

  /// Why the data of an event are not what its type promises. All of it is looked at only where what it says itself
  /// is not in order.
  private static func fault(inDataOf event: Event, saying said: JSONObject?) -> PayloadError? {
    if let said {
      var own = event
      own.data = said
      if (try? EventPayload(of: own)) != nil { return nil }
    }
    do { _ = try EventPayload(of: event) } catch { return error }
    return nil
  }

  private func fault(_ what: String) -> LogError {
    LogError(
      .badLine(what), path: cursor.path, offset: cursor.block?.offset, block: cursor.block?.number)
  }

  private mutating func copy(_ mark: Mark, to writer: LogWriter) throws(LogError) {
    switch mark.name {
    case LogFormat.sealMark, LogFormat.summaryMark, LogFormat.checkpointMark: break
    case LogFormat.gapMark:
      if let reason = mark.data["reason"]?.stringValue { add(reason: reason) }
    default: try writer.append(mark)
    }
  }

  // MARK: What is missing

  private mutating func takeReasons() {
    for error in cursor.damage.dropFirst(damageSeen) { add(reason: error.shortDescription) }
    damageSeen = cursor.damage.count
  }

  private mutating func add(reason: String) {
    guard reasons.count < 4, !reasons.contains(where: { $0.hasSameUTF8(as: reason) }) else {
      return
    }
    reasons.append(String(decoding: reason.utf8.prefix(200), as: UTF8.self))
  }

  private mutating func putGap(before seq: Int, in writer: LogWriter) throws(LogError) {
    let reason = reasons.isEmpty ? "damage" : reasons.joined(separator: "; ")
    gaps.append(RepairReport.Gap(first: writer.nextSeq, last: seq - 1, reason: reason))
    try writer.appendGap(through: seq - 1, reason: reason)
    reasons = []
  }

  // MARK: The end

  private func finish(_ writer: LogWriter) throws(LogError) -> RepairReport {
    var report = RepairReport(path: cursor.path, output: "", sealDigest: .zero)
    report.events = eventCount
    report.gaps = gaps
    report.lostValues = lostValues
    report.damage = cursor.damage
    report.ending = cursor.ending
    let stop = lastEvent?.type == .stop ? lastEvent.flatMap { try? Stop(decoding: $0.data) } : nil
    let endIsKnown = cursor.ending != nil && !cursor.damage.contains { $0.code == .noTrailer }
    report.mayLackEnd = !endIsKnown && stop?.isFinal != true
    if report.mayLackEnd, stop != nil {
      report.sealDigest = try writer.leaveOpen()
      report.output = writer.path + LogFormat.openSuffix
    } else {
      let closed = try writer.close()
      report.sealDigest = closed.sealDigest
      report.output = closed.path
      report.isClosed = true
    }
    return report
  }
}

extension LogError {
  /// The place and the fault, without the path.
  fileprivate var shortDescription: String {
    guard let block, let offset else { return fault }
    return "block \(block), byte \(offset): \(fault)"
  }
}

extension JSONValue {
  /// How many values in it are lost.
  var lostCount: Int {
    switch self {
    case .lost: 1
    case .array(let elements): elements.reduce(0) { $0 + $1.lostCount }
    case .object(let object): object.reduce(0) { $0 + $1.value.lostCount }
    default: 0
    }
  }
}
