import AgentTrace

/// Reads a pipeline and the runs that its tasks are as one row of events, for ``RunTreeReader``.
///
/// The events of a task's run stand somewhere between the event that began the attempt and the one that ended it:
/// nobody knows where among what else went on meanwhile. The order of the row says which of the possible places is
/// taken.
struct PipelineRowReader {
  typealias Entry = RunTreeReader.Entry
  typealias Order = RunTreeReader.Order

  /// How many pipelines may stand in one another.
  private static let depthLimit = 16

  private struct Child {
    /// The event that began it: what names it here.
    var seq: Int
    var node: TaskNode
    var run: TaskRun
    /// Whether it is an agent's: the summary of a pipeline's log does not count what its tasks used.
    var isAgents: Bool
    /// `nil` where its log is not there.
    var reader: RunTreeReader?
    /// Whether all that its log holds is told.
    var isTold: Bool
    /// Why it stopped last, as its log has it.
    var stopReason: String?
  }

  private(set) var hasChildren = false
  private(set) var hasParallelChildren = false
  /// Whether calls went on beside a child in the run of some task.
  private(set) var hasUnorderedEvents = false
  private(set) var nextSeq = 0
  var ending: LogReader.Ending? { reader.ending }
  var tree = TreeEvents()

  private let order: Order
  private let member: TreeEvents.Member
  private let depth: Int
  private let folder: String
  private var reader: LogReader
  private var runId = ""
  private var calls = PipelineCalls()
  /// Attempts that are under way, in the order in which they began.
  private var children: [Child] = []
  /// The events that began nodes last.
  private var begun: [TaskNode: Int] = [:]
  /// What has to be told whole before the event that is held: by the events that began them.
  private var due: [Int] = []
  /// How many events of any child are told before that, as chance has it.
  private var mixed = 0
  private var held: Event?
  private var told: [Entry] = []
  private var toldPlace = 0
  private var chance: UInt64

  init(path: String, order: Order, as member: TreeEvents.Member, depth: Int) throws(LogError) {
    self.order = order
    self.member = member
    self.depth = depth
    folder = RunTreeReader.folder(ofLog: path)
    reader = try LogReader(path: path)
    chance = if case .woven(let seed) = order { UInt64(bitPattern: Int64(seed)) } else { 0 }
  }

  mutating func next() throws(LogError) -> Entry? {
    while true {
      if toldPlace < told.count {
        defer { toldPlace += 1 }
        return told[toldPlace]
      }
      (told, toldPlace) = ([], 0)
      if let place = placeOfNext() {
        if let entry = try nextEvent(ofChildAt: place) { return entry }
      } else if let event = held {
        held = nil
        try take(event)
      } else if let event = try reader.next() {
        held = event
        prepare(for: event)
      } else {
        guard children.contains(where: { !$0.isTold }) else { return nil }
        due = children.filter { !$0.isTold }.map(\.seq)
        if order != .first { due.reverse() }
      }
    }
  }

  // MARK: The order

  /// Says which children are told before an event.
  private mutating func prepare(for event: Event) {
    let open = children.filter { !$0.isTold }
    due = []
    if case .woven = order, !open.isEmpty { mixed = random(below: 3 * open.count + 1) }
    guard let place = place(endedBy: event) else { return }
    let own = children[place].seq
    // What began later may have been over before.
    if order == .last { due = open.filter { $0.seq > own }.map(\.seq).reversed() }
    due.append(own)
  }

  /// The child that an event comes from next; `nil` where the event that is held is next.
  private mutating func placeOfNext() -> Int? {
    let open = children.indices.filter { !children[$0].isTold }
    guard !open.isEmpty else {
      (due, mixed) = ([], 0)
      return nil
    }
    if mixed > 0 {
      mixed -= 1
      return open[random(below: open.count)]
    }
    while let first = due.first {
      guard let place = open.first(where: { children[$0].seq == first }) else {
        due.removeFirst()
        continue
      }
      if case .woven = order, random(below: 2) == 0 { return open[random(below: open.count)] }
      return place
    }
    return nil
  }

  /// A number from chance that is the same each time.
  private mutating func random(below limit: Int) -> Int {
    // SplitMix64.
    chance &+= 0x9e37_79b9_7f4a_7c15
    var mixed = chance
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return Int((mixed ^ (mixed >> 31)) % UInt64(max(1, limit)))
  }

  // MARK: Children

  private mutating func nextEvent(ofChildAt place: Int) throws(LogError) -> Entry? {
    children[place].reader?.tree.effects = tree.effects
    let next = try children[place].reader?.next()
    guard var entry = next else {
      children[place].isTold = true
      if children[place].reader?.hasParallelChildren ?? false { hasParallelChildren = true }
      if children[place].reader?.hasUnorderedEvents ?? false { hasUnorderedEvents = true }
      if children[place].reader.map({ $0.ending != .closed }) ?? false {
        let name = children[place].node
        tell("“\(name)” is a run whose log is not closed: what it did since is not known")
      }
      // Its log is not read again.
      children[place].reader = nil
      return nil
    }
    tree.effects = children[place].reader?.tree.effects ?? tree.effects
    entry.event.seq = nextSeq
    nextSeq += 1
    if let stop = entry.original, stop.type == .stop,
      stop.runId.hasSameUTF8(as: children[place].run.runId)
    {
      children[place].stopReason = stop.data["reason"]?.stringValue
    }
    return entry
  }

  /// The child that an event says has ended; `nil` for none.
  private func place(endedBy event: Event) -> Int? {
    guard event.type == .taskFinished || event.type == .taskFailed,
      let task = event.data["task"]?.stringValue
    else { return nil }
    let node = TaskNode(task, element: event.data["element"]?.intValue)
    let run = event.data["run"]?["runId"]?.stringValue ?? ""
    // One that waited when the pipeline went back behind it never ends, whatever its node does since.
    return children.lastIndex { $0.node == node && $0.run.runId.hasSameUTF8(as: run) }
      ?? children.lastIndex { $0.node == node && $0.seq == begun[node] }
  }

  private mutating func begin(_ started: TaskStarted, _ event: Event) throws(LogError) {
    begun[started.node] = event.seq
    guard let run = started.run else {
      if started.kind == "agent" || started.kind == "pipeline" {
        tell("event \(event.seq) does not say which run “\(started.node)” is")
      }
      return
    }
    hasChildren = true
    if !children.isEmpty { hasParallelChildren = true }
    let opened = try open(run, started, event)
    children.append(
      Child(
        seq: event.seq, node: started.node, run: run, isAgents: started.kind == "agent",
        reader: opened, isTold: opened == nil))
    if opened == nil {
      tell("the log of the run \(run.runId) that “\(started.node)” is, is not there")
    } else if order == .first {
      due = [event.seq]
    }
  }

  /// Opens the log of an attempt, where it is there and is that attempt's.
  private func open(
    _ run: TaskRun, _ started: TaskStarted, _ event: Event
  ) throws(LogError) -> RunTreeReader? {
    guard depth < Self.depthLimit, let path = RunTreeReader.log(of: run.runId, in: folder) else {
      return nil
    }
    do {
      guard let first = try RunTreeReader.firstEvent(ofLog: path), first.type == .runStarted,
        let parent = first.data["parent"], parent["relation"]?.stringValue == ParentRun.task,
        first.runId.hasSameUTF8(as: run.runId),
        parent["runId"]?.stringValue?.hasSameUTF8(as: runId) ?? false,
        parent["seq"]?.intValue == event.seq
      else { return nil }
      return try RunTreeReader(
        path: path, order: order, as: tree.task(of: member, event, started), depth: depth + 1)
    } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }

  /// - Parameters:
  ///   - run: what the event says of the run that ended; `nil` where it names none.
  ///   - isVouchedFor: whether whoever finished the task was there when the run ended.
  private mutating func end(_ event: Event, _ run: TaskRun?, isVouchedFor: Bool) {
    guard let place = place(endedBy: event) else {
      if let run {
        contradict("event \(event.seq) ends the run \(run.runId), which was not under way then")
      }
      return
    }
    let child = children.remove(at: place)
    guard let run else {
      if isVouchedFor {
        contradict(
          "event \(event.seq) does not say which run “\(child.node)” ended as; it began as the run \(child.run.runId)"
        )
      }
      return
    }
    guard run.runId.hasSameUTF8(as: child.run.runId) else {
      return contradict(
        "“\(child.node)” began as the run \(child.run.runId), and ended in event \(event.seq) as the run \(run.runId)"
      )
    }
    if let was = child.stopReason, let said = run.stopReason, !was.hasSameUTF8(as: said) {
      contradict(
        "the run \(run.runId) stopped as \(was), and event \(event.seq) of its pipeline has it as \(said)"
      )
    }
    guard let seal = run.sealDigest else {
      // An attempt that was given up may have no end that anybody saw.
      if isVouchedFor || run.stopReason != nil || !run.totals.isEmpty {
        contradict("event \(event.seq) does not say with which seal the run \(run.runId) ended")
      }
      return
    }
    guard let path = RunTreeReader.log(of: child.run.runId, in: folder),
      let tail = try? LogTail(path: path)
    else { return }
    guard tail.sealDigest.hex.hasSameUTF8(as: seal) else {
      return contradict(
        "the log of the run \(child.run.runId) is not the one that its pipeline saw end in event \(event.seq)"
      )
    }
    if child.isAgents,
      let fault = tail.fault(inTotals: run.totals, of: run.runId, in: "event \(event.seq)")
    {
      contradict(fault)
    }
  }

  // MARK: Events

  private mutating func take(_ event: Event) throws(LogError) {
    if event.type == .runStarted { runId = event.runId }
    let calls = self.calls.told(by: event)
    let isOfCalls = (calls.before + calls.behind).contains { $0.type != .toolsListed }
    if isOfCalls, !children.isEmpty { hasParallelChildren = true }
    for one in calls.before { append(one, original: nil) }
    append(Self.whole(event), original: event)
    for one in calls.behind { append(one, original: nil) }
    let change = Result { () throws(PayloadError) in
      try PipelineEvent(type: event.type, data: event.data)
    }
    switch change {
    case .failure: tell("event \(event.seq) cannot be read: what it says of a task is not known")
    case .success(.started(let started)?): try begin(started, event)
    case .success(.finished(let finished)?):
      end(event, finished.run, isVouchedFor: finished.via == nil)
    case .success(.failed(let failed)?): end(event, failed.run, isVouchedFor: false)
    case .success(.resumed(let resumed)?): goOn(resumed)
    case .success: break
    }
  }

  private mutating func goOn(_ resumed: TaskResumed) {
    let isKnown = children.contains {
      $0.node == resumed.node && $0.run.runId.hasSameUTF8(as: resumed.runId)
    }
    if !isKnown {
      tell("no event began the run \(resumed.runId) as which “\(resumed.node)” went on")
    }
  }

  private mutating func append(_ event: Event, original: Event?) {
    told.append(
      Entry(
        event: tree.event(event, of: member, seq: nextSeq), original: original, member: member,
        seq: event.seq))
    nextSeq += 1
  }

  /// The start of a pipeline whose tasks' logs are read with it: what they called is in the row.
  private static func whole(_ event: Event) -> Event {
    guard event.beginsPipeline, var recorded = event.data["recorded"]?.objectValue else {
      return event
    }
    var event = event
    recorded["calls"] = nil
    recorded["policy"] = nil
    event.data["recorded"] = recorded.isEmpty ? nil : .object(recorded)
    return event
  }

  /// Says that two logs, or two events of one, cannot both be right.
  private mutating func contradict(_ reason: String) { tell(reason, RunTreeReader.contradicted) }

  private mutating func tell(
    _ reason: String, _ channels: RecordedChannels = ["calls": "partial", "policy": "partial"]
  ) {
    let payload = Unseen(.child, channels, reason: reason)
    let event = Event(
      seq: nextSeq, step: member.step ?? 1, type: .unseen, runId: runId, time: nil, t: 0,
      data: payload.encoded)
    nextSeq += 1
    told.append(Entry(event: event, original: nil, member: member))
  }
}
