public import AgentTrace

/// Reads a run and the runs that calls of it are, as one row of events; see `AgentTrace.TreeEvents`.
///
/// The events of a child stand behind the `tool_started` that begins it and those of its siblings, before the first
/// result; of children that ran side by side the one that was started first comes first. Numbers count the row. A child's log lies beside its parent's; where it is
/// not there, or is not the one that its parent saw, an `unseen` says so in its place.
///
/// The root may be a pipeline: then each attempt at a task that is a run of its own is a child, and what commands and
/// closures did is told as calls; see `AgentTrace.PipelineCalls`.
///
/// Memory as for reading each log on the way from the root to the event; of a pipeline, each log of what ran side by
/// side.
public struct RunTreeReader {
  /// In which order what went side by side is told: what does not hold in each of them, nobody knows.
  public enum Order: Sendable, Hashable {
    /// What began first, as soon as it began.
    case first
    /// What began last; of a pipeline, as late as can be.
    case last
    /// As ``first``, but what began at this place among those side by side is told before all others.
    case leading(Int)
    /// As ``first``, but what began at this place among those side by side is told behind all others.
    case trailing(Int)
    /// Of a pipeline, event by event as chance has it; of anything else as ``last``.
    case woven(Int)
  }

  /// An event of the row, and where it stands.
  public struct Entry {
    /// As the tree has it.
    public var event: Event
    /// As its own log has it; `nil` for what no log holds.
    public var original: Event?
    /// Which run says it.
    public var member: TreeEvents.Member
    /// The number of the event of that run's log that tells it; `nil` for what no log tells.
    public var seq: Int?
  }

  /// How deep children are followed, whatever limits their logs name.
  private static let depthLimit = 64

  private struct Level {
    var reader: LogReader
    var member: TreeEvents.Member
    /// Empty before its first event.
    var runId = ""
    /// Of a fork, the run whose children may be its own, because it was answered from that one's log.
    var forkedFrom: String?
    /// The number that the row gives the log's next event, less that event's own.
    var shift: Int
    /// The number that the row had when it began.
    var start: Int
    /// The calls that are runs and have no result yet.
    var open: Set<String> = []
    /// The other calls that have none.
    var ownOpen: Set<String> = []
    /// The runs that calls began last which have no result yet, by those calls.
    var runs: [String: String] = [:]
    /// Of those, the ones whose logs were not there: their results may name others.
    var missing: [String: Start] = [:]
    /// Children that began, and are read before the next event that may follow on one of them.
    var begun: [Start] = []
    /// That event.
    var held: Event?
    /// Whether they are read now.
    var isReadingChildren = false
  }

  private struct Start {
    var event: Event
    var payload: ToolStartedPayload
  }

  /// The path of the root's file that is read.
  public let path: String
  /// Whether any event named a child.
  public var hasChildren: Bool { pipeline?.hasChildren ?? foundChildren }
  private var foundChildren = false
  /// Whether children ran side by side, so that their order among themselves is nobody's to say.
  public var hasParallelChildren: Bool { pipeline?.hasParallelChildren ?? foundParallelChildren }
  private var foundParallelChildren: Bool { parallelWidth > 1 }
  /// Whether a run and what else went on meanwhile have no order among themselves: another child, or a call of the run
  /// that began it.
  public var hasUnorderedEvents: Bool {
    hasParallelChildren || pipeline?.hasUnorderedEvents ?? foundCallsBeside
  }
  private var foundCallsBeside = false
  /// How many children ran side by side at most.
  private var parallelWidth = 0
  /// Of how many of them each is told first and last.
  private static let widthLimit = 16
  /// The orders beside ``Order/first`` in which the row is to be read, where children ran side by side.
  public var otherOrders: [Order] {
    guard hasParallelChildren else { return [] }
    guard pipeline == nil else { return [.last, .woven(1), .woven(2), .woven(3)] }
    guard parallelWidth > 2 else { return [.last] }
    // Of each run, what is so whatever the others did before, and what only if they did.
    return [.last]
      + (0..<min(parallelWidth, Self.widthLimit)).flatMap { [Order.leading($0), .trailing($0)] }
  }
  /// How the root's log ends, once all is read.
  public var ending: LogReader.Ending? { pipeline?.ending ?? levels.first?.reader.ending }
  /// The number of the row's next event.
  public private(set) var nextSeq = 0

  private let order: Order
  private let folder: String
  private var levels: [Level]
  /// Reads the root where it is a pipeline; then nothing else is read here.
  private var pipeline: PipelineRowReader?
  var tree = TreeEvents()
  /// What no log holds, to be given out before the next event that one does.
  private var told: [Entry] = []

  /// Opens the root's log.
  ///
  /// - Throws: ``LogError`` where it is not there or cannot be read.
  public init(path: String, order: Order = .first) throws(LogError) {
    try self.init(path: path, order: order, as: .root, depth: 0)
  }

  /// - Parameters:
  ///   - member: what the run is in a greater tree.
  ///   - depth: how many pipelines it is below.
  init(
    path: String, order: Order, as member: TreeEvents.Member, depth: Int
  ) throws(LogError) {
    self.order = order
    let reader = try LogReader(path: path)
    self.path = reader.path
    folder = Self.folder(ofLog: path)
    levels = [Level(reader: reader, member: member, shift: 0, start: 0)]
    if let first = try Self.firstEvent(ofLog: path), first.beginsPipelineAlone {
      pipeline = try PipelineRowReader(path: path, order: order, as: member, depth: depth)
    }
  }

  /// The next event of the row; `nil` behind the last.
  ///
  /// - Throws: ``LogError`` where a log of the tree is damaged.
  public mutating func next() throws(LogError) -> Entry? {
    if pipeline != nil {
      pipeline?.tree.effects = tree.effects
      let entry = try pipeline?.next()
      tree.effects = pipeline?.tree.effects ?? tree.effects
      nextSeq = pipeline?.nextSeq ?? nextSeq
      return entry
    }
    while true {
      if !told.isEmpty { return told.removeFirst() }
      let last = levels.count - 1
      if levels[last].isReadingChildren, try readChild(at: last) { continue }
      if let held = levels[last].held {
        levels[last].held = nil
        return try take(held, at: last)
      }
      guard let event = try levels[last].reader.next() else {
        if !levels[last].begun.isEmpty {
          beginChildren(at: last)
          continue
        }
        tellMissing(at: last)
        if last > 0 { leave() }
        if last == 0, told.isEmpty { return nil }
        continue
      }
      if !levels[last].begun.isEmpty, TreeEvents.mayFollowOnChild(event.type) {
        levels[last].held = event
        beginChildren(at: last)
        continue
      }
      return try take(event, at: last)
    }
  }

  /// Turns to the children that began, in the order in which they are told.
  private mutating func beginChildren(at last: Int) {
    levels[last].isReadingChildren = true
    let count = levels[last].begun.count
    switch order {
    case .first: break
    case .last, .woven: levels[last].begun.reverse()
    case .leading(let place):
      let start = levels[last].begun.remove(at: place % count)
      levels[last].begun.insert(start, at: 0)
    case .trailing(let place):
      levels[last].begun.append(levels[last].begun.remove(at: place % count))
    }
  }

  /// Turns to the next child that began; whether there was one.
  private mutating func readChild(at last: Int) throws(LogError) -> Bool {
    guard !levels[last].begun.isEmpty else {
      levels[last].isReadingChildren = false
      return false
    }
    let start = levels[last].begun.removeFirst()
    if try !enter(start.payload.child?.runId ?? "", start, at: last) {
      levels[last].missing[start.payload.callId] = start
    }
    return true
  }

  private mutating func take(_ event: Event, at last: Int) throws(LogError) -> Entry {
    if event.type == .runStarted {
      levels[last].runId = event.runId
      if let parent = event.data["parent"], parent["relation"] == "fork" {
        levels[last].forkedFrom = parent["runId"]?.stringValue
      }
    }
    let seq = event.seq + levels[last].shift
    nextSeq = max(nextSeq, seq + 1)
    let entry = Entry(
      event: tree.event(event, of: levels[last].member, seq: seq), original: event,
      member: levels[last].member, seq: event.seq)
    switch event.type {
    case .toolStarted where event.data["child"] != nil: begin(event, at: last)
    case .toolStarted:
      if let callId = event.data["callId"]?.stringValue { levels[last].ownOpen.insert(callId) }
    case .toolResult: try end(event, at: last)
    default: break
    }
    if !levels[last].open.isEmpty, !levels[last].ownOpen.isEmpty { foundCallsBeside = true }
    return entry
  }

  // MARK: Children

  private mutating func begin(_ event: Event, at last: Int) {
    guard let payload = try? ToolStartedPayload(decoding: event.data), payload.child != nil else {
      levels[last].shift += 1
      told.append(unseen("event \(event.seq) began a run and cannot be read"))
      return
    }
    foundChildren = true
    levels[last].open.insert(payload.callId)
    levels[last].runs[payload.callId] = payload.child?.runId
    parallelWidth = max(parallelWidth, levels[last].open.count)
    levels[last].begun.append(Start(event: event, payload: payload))
  }

  private mutating func end(_ event: Event, at last: Int) throws(LogError) {
    guard let callId = event.data["callId"]?.stringValue else { return }
    levels[last].open.remove(callId)
    levels[last].ownOpen.remove(callId)
    let runId = event.data["child"]?["runId"]?.stringValue
    let begun = levels[last].runs.removeValue(forKey: callId)
    guard let start = levels[last].missing.removeValue(forKey: callId) else {
      if let fault = fault(inEnd: event, ofRun: begun, at: last) {
        levels[last].shift += 1
        told.append(unseen(fault, Self.contradicted))
      }
      return
    }
    // A fork that was answered from its parent's log has its parent's children.
    if let runId, !runId.hasSameUTF8(as: start.payload.child?.runId ?? ""),
      try enter(runId, start, at: last)
    {
      return
    }
    tell("is not there", of: start, at: last)
  }

  /// Reads the log of a child next, where it is there and is that child's.
  private mutating func enter(
    _ runId: String, _ start: Start, at last: Int
  ) throws(LogError) -> Bool {
    guard levels.count < Self.depthLimit,
      !levels.contains(where: { $0.runId.hasSameUTF8(as: runId) }),
      let path = Self.log(of: runId, in: folder)
    else { return false }
    let reader: LogReader
    do {
      guard let first = try Self.firstEvent(ofLog: path), isStarted(first, by: start, at: last)
      else { return false }
      reader = try LogReader(path: path)
    } catch {
      guard error.code == .notFound else { throw error }
      return false
    }
    levels.append(
      Level(
        reader: reader, member: tree.child(of: levels[last].member, start.event, start.payload),
        shift: nextSeq, start: nextSeq))
    return true
  }

  private mutating func leave() {
    let level = levels.removeLast()
    if level.reader.ending != .closed, let callId = level.member.callId {
      told.append(
        unseen("“\(callId)” is a run whose log is not closed: what it did since is not known"))
    }
    levels[levels.count - 1].shift += nextSeq - level.start
  }

  /// Whether a log begins with the run that an event started.
  private func isStarted(_ first: Event, by start: Start, at last: Int) -> Bool {
    guard first.type == .runStarted, let parent = first.data["parent"],
      parent["relation"]?.stringValue == ParentRun.subagent,
      let runId = parent["runId"]?.stringValue
    else { return false }
    if let forkedFrom = levels[last].forkedFrom {
      if forkedFrom.hasSameUTF8(as: runId) { return true }
      let payload = start.payload
      if ChildStart.isRun(
        first.runId, ofCall: payload.callId, attempt: payload.attempt, in: parent)
      {
        return true
      }
    }
    return runId.hasSameUTF8(as: levels[last].runId)
      && parent["seq"]?.intValue == start.event.seq
      && parent["digest"]?.stringValue?.hasSameUTF8(as: start.payload.digest.hex) ?? false
  }

  /// What a result says of the run that its call is and what does not fit the event that began it, or its own log; `nil`
  /// where all of it fits.
  private func fault(inEnd event: Event, ofRun begun: String?, at last: Int) -> String? {
    let place = "event \(event.seq)"
    guard let child = event.data["child"] else {
      // Of a call that was cut off nobody saw the run end; a person, or who edits a fork, may say what became of it.
      guard let begun, event.data["by"] == nil, levels[last].forkedFrom == nil,
        event.data["status"] == "ok" || event.data["status"] == "returned"
      else { return nil }
      return "\(place) does not say how the run \(begun) ended"
    }
    let runId = child["runId"]?.stringValue ?? ""
    guard let begun else {
      return "\(place) ends the run \(runId) for a call that no event before it began as one"
    }
    guard runId.hasSameUTF8(as: begun) else {
      return "\(place) ends the run \(runId), and its call began as the run \(begun)"
    }
    guard let end = try? ChildEnd(decoding: child.objectValue ?? [:]) else {
      return "what \(place) says of the end of the run \(runId) cannot be read"
    }
    // That a log is not closed is said where it ends.
    guard let path = Self.log(of: runId, in: folder), let tail = try? LogTail(path: path) else {
      return nil
    }
    guard tail.sealDigest.hex.hasSameUTF8(as: end.sealDigest) else {
      return "the log of the run \(runId) is not the one that its parent saw end in \(place)"
    }
    if let reason = tail.stop?.data["reason"]?.stringValue, reason != end.reason.rawValue {
      return "the run \(runId) stopped as \(reason), and \(place) has it as \(end.reason.rawValue)"
    }
    return tail.fault(inTotals: end.totals.encoded, of: runId, in: place)
  }

  /// Says of the children that began, and whose logs were not there, that nobody knows what they did.
  private mutating func tellMissing(at last: Int) {
    let missing = levels[last].missing.values.sorted { $0.event.seq < $1.event.seq }
    levels[last].missing = [:]
    for start in missing { tell("is not there", of: start, at: last) }
  }

  /// What is not known where logs of one tree say different things: what they say was used no less than what was done.
  static let contradicted: RecordedChannels = [
    "calls": "partial", "model": "partial", "policy": "partial", "tools": "partial",
  ]

  private mutating func tell(_ what: String, of start: Start, at last: Int) {
    levels[last].shift += 1
    told.append(
      unseen(
        "the log of the run \(start.payload.child?.runId ?? "") that “\(start.payload.tool)” started \(what)"
      ))
  }

  private mutating func unseen(
    _ reason: String, _ channels: RecordedChannels = ["calls": "partial", "policy": "partial"]
  ) -> Entry {
    let payload = Unseen(.child, channels, reason: reason)
    let (level, seq) = (levels[levels.count - 1], nextSeq)
    nextSeq += 1
    let event = Event(
      seq: seq, step: level.member.step ?? 0, type: .unseen, runId: level.runId, time: nil, t: 0,
      data: payload.encoded)
    return Entry(event: event, original: nil, member: level.member)
  }

  static func firstEvent(ofLog path: String) throws(LogError) -> Event? {
    var reader = try LogReader(path: path)
    return try reader.next()
  }

  /// The folder of a log with its slash; empty for a bare name.
  package static func folder(ofLog path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? ""
  }

  /// The path of a run's log in a folder; `nil` where its identifier is no name of a file. A name from data never
  /// leads out of the folder.
  ///
  /// - Parameter folder: with its slash, or empty.
  package static func log(of runId: String, in folder: String) -> String? {
    guard !runId.isEmpty, runId.utf8.count <= 100,
      runId.utf8.allSatisfy({ $0.isLetterOrDigit || "-_".utf8.contains($0) })
    else { return nil }
    return folder + runId + LogFormat.suffix
  }
}

extension LogTail {
  /// What a log used that whoever saw its run end says otherwise; `nil` where both say the same, or one says nothing.
  ///
  /// - Parameters:
  ///   - said: the totals in the log of the run that began it.
  ///   - runId: the run whose log ends so.
  ///   - place: where the totals stand.
  func fault(inTotals said: JSONObject, of runId: String, in place: String) -> String? {
    guard let own = summary["totals"]?.objectValue.flatMap({ try? Totals(decoding: $0) }),
      let said = try? Totals(decoding: said), own != said
    else { return nil }
    return "the log of the run \(runId) says otherwise what it used than \(place) does"
  }
}
