public import AgentTrace

/// What of a run the words beyond calls, stop and answer speak of, gathered event by event.
///
/// Holds what the expectations it was made for need, and nothing else.
public struct GatheredFacts: Sendable {
  /// What is gathered.
  public let facts: Facts

  struct VerdictFact: Sendable {
    var seq, step: Int
    /// Whose policy said it: of a tree, one of its runs.
    var runId: String
    var callId: String
    /// `nil` for a word of a later version.
    var status: VerdictStatus?
    var rule: String?
    var reason: JSONValue?
    /// The approval that it rests on.
    var found: RecordedFinding
  }

  struct ApprovalFact: Sendable {
    var seq, step: Int
    /// The run in which it counts.
    var runId: String
    var approval: Approval

    var callId: String { approval.callId }
    var isGranted: Bool { approval.granted }
    var by: String { approval.by }
  }

  /// A person's yes or no to a task of a pipeline: an approval of no call.
  struct TaskApproval: Sendable {
    var seq, step: Int
    /// The task, behind those that lead to its pipeline.
    var task: String
    var isGranted: Bool
    var by: String
  }

  /// Something with a text or a value: a reply, an answer, a note.
  struct Said: Sendable {
    var seq, step: Int
    var value: JSONValue?
    var by: String?
    /// Whether an import has it, of which nobody knows who said it.
    var isImported = false
  }

  struct StopFact: Sendable {
    var seq, step: Int
    var reason: StopReason
  }

  struct Note: Sendable {
    var seq: Int
    var isWritten: Bool
    var scope, key: String
    var value: JSONValue?
  }

  /// What a call took.
  struct Effort: Sendable {
    var attempts = 0
    /// The attempts beyond the first.
    var retries = Retries()
    var elapsedMicroseconds: Int?

    /// Takes in that an event tells of so many attempts.
    mutating func take(attempts count: Int, seq: Int) {
      guard count > attempts else { return }
      retries.add(count - max(1, attempts), at: seq)
      attempts = count
    }
  }

  /// Attempts beyond the first of their calls. An event may tell of many at once, so that they are not told one by one.
  struct Retries: Sendable {
    private var events: [(seq: Int, count: Int)] = []
    private(set) var count = 0

    /// - Parameter more: how many begin at an event; none for less than one.
    mutating func add(_ more: Int, at seq: Int) {
      guard more > 0 else { return }
      events.append((seq, more))
      count += more
    }

    mutating func add(_ others: Retries) {
      events += others.events
      count += others.count
    }

    mutating func sort() { events.sort { $0.seq < $1.seq } }

    /// The event of the one behind so many others; `nil` where there are fewer.
    func event(behind others: Int) -> Int? {
      var left = others
      for event in events {
        if left < event.count { return event.seq }
        left -= event.count
      }
      return nil
    }
  }

  private(set) var verdicts: [VerdictFact] = []
  /// The rules of the policy that the run began with, as far as its log holds them.
  private(set) var rules: Set<String> = []
  private(set) var approvals: [ApprovalFact] = []
  private(set) var taskApprovals: [TaskApproval] = []
  /// What leads to each run below the root; kept where words on tasks are.
  private var paths: [String: [String]] = [:]
  private(set) var replies: [Said] = []
  private(set) var answers: [Said] = []
  private(set) var questions: [Said] = []
  /// What the agent was asked to do, whatever is left of it.
  private(set) var goal: JSONValue?
  private(set) var stops: [StopFact] = []
  private(set) var invalidDecisions: [(seq: Int, step: Int)] = []
  private(set) var notes: [Note] = []
  /// Whether notes were written, and whether some were read, of which the log does not say which.
  private(set) var unreadNotes: (written: Bool, read: Bool) = (false, false)
  /// Whether somebody said something of a call that is no approval of a form that is known.
  private(set) var lacksApprovals = false
  /// Whether the run says that calls of its own may have gone unread; those of runs below it stand in their logs.
  private(set) var lacksOwnCalls = false
  /// Whether runs below it are told of, or one of which nobody knows what it did.
  private(set) var isOfTree = false
  private(set) var efforts: [String: Effort] = [:]
  /// What each tool does to the world, where its definition says so; of several of one name the most.
  private(set) var sideEffects: [String: SideEffect] = [:]
  /// Where each step was first seen.
  private(set) var stepStarts: [(step: Int, seq: Int)] = []
  private(set) var elapsedMicroseconds = 0
  private(set) var usage = Usage()
  private(set) var contexts: [ContextWatch] = []
  private(set) var state = AgentState()
  /// What became of tasks, where the run is a pipeline's.
  private(set) var tasks: TaskFacts
  /// The runs of the tree that have expectations of their own.
  private(set) var runsBelow: RunsBelow
  /// Where the run is a pipeline's, its own state; kept only where the state is.
  private(set) var pipeline: PipelineState?
  /// Of the references of the last answer, those that no earlier observation bears.
  private(set) var unobserved: [String] = []
  /// Of its references, those that the packet of that decision does not name.
  private(set) var unshown: [String] = []
  /// Those that the packet has in it, but not as evidence: of a result perhaps only its place.
  private(set) var placed: [String] = []
  /// Whether the packet of the last answer is not in the log, or not whole.
  private(set) var lacksPacket = true
  /// What stood in the last packet; kept only where the state is.
  private var packet: (step: Int, data: JSONObject)?

  /// Tokens and cost, and whether they are all.
  struct Usage: Sendable {
    var calls = 0
    var inputTokens = 0
    var outputTokens = 0
    var cost = 0.0
    var lacksTokens = false
    var lacksCost = false
    /// The model call that came last.
    var last: Int?
  }

  /// Gathers what some expectations need; nothing has happened yet.
  public init(for expectations: Expectations) {
    facts = expectations.facts
    contexts = expectations.contextRules.map(ContextWatch.init)
    runsBelow = RunsBelow(expectations.callerRules)
    tasks = TaskFacts(keepsOutputs: facts.contains(.taskOutputs))
  }

  /// Takes in the next event. An event whose data are not what its type promises is passed over.
  public mutating func apply(_ event: Event) {
    guard !facts.isEmpty else { return }
    passOver(event.seq, step: event.step)
    elapsedMicroseconds = max(elapsedMicroseconds, event.t)
    switch event.type {
    case .runStarted:
      goal = event.data["goal"]
      rules.formUnion(
        event.data["inputs"]?["policy"]?["rules"]?.arrayValue?.compactMap { $0["id"]?.stringValue }
          ?? [])
      apply(tools: event.data["tools"]?.arrayValue ?? [])
      if event.data["recorded"]?["calls"] != nil { lacksOwnCalls = true }
    case .unseen: apply(unseen: event)
    case .toolsListed:
      apply(tools: event.data["tools"]?.arrayValue ?? [])
      if event.isOfChild { isOfTree = true }
      if let path = event.pathOfChild { paths[event.runId] = path }
    case .decision: apply(decision: event)
    case .policyDecision:
      verdicts.append(
        VerdictFact(
          seq: event.seq, step: event.step, runId: event.runId,
          callId: event.data["callId"]?.stringValue ?? "",
          status: event.data["status"]?.stringValue.flatMap(VerdictStatus.init(rawValue:)),
          rule: event.data["ruleId"]?.stringValue, reason: event.data["reason"],
          found: RecordedFinding(context: event.data["context"])))
    case .approval:
      guard let approval = try? Approval(decoding: event.data) else {
        lacksApprovals = true
        break
      }
      approvals.append(
        ApprovalFact(
          seq: event.seq, step: event.step, runId: event.runId, approval: approval))
    case .toolStarted, .toolResult: apply(effort: event)
    case .humanReplied:
      replies.append(
        Said(
          seq: event.seq, step: event.step, value: event.data["text"],
          by: event.data["by"]?.stringValue,
          isImported: event.data["source"] != nil))
    case .taskAnswered, TreeEvents.ownType:
      if let word = event.wordOnTask { apply(word, event) }
    case .modelResult: if facts.contains(.usage) { usage.count(event) }
    case .contextBuilt:
      if facts.contains(.state) { packet = (event.step, event.data) }
      if facts.contains(.contexts) {
        for index in contexts.indices { contexts[index].apply(event) }
      }
    case .memoryRead, .memoryWritten: if facts.contains(.memory) { apply(note: event) }
    case .stop:
      guard let stop = try? Stop(decoding: event.data) else { break }
      stops.append(StopFact(seq: event.seq, step: event.step, reason: stop.reason))
    default: break
    }
    if facts.contains(.tasks) { tasks.apply(event) }
    if facts.contains(.runsBelow) { runsBelow.apply(event) }
    if facts.contains(.state), event.beginsPipeline { pipeline = PipelineState() }
    if pipeline != nil {
      // What is made of its events bears its identifier, but has types that say nothing there.
      if pipeline?.runId.isEmpty ?? true || pipeline?.runId.hasSameUTF8(as: event.runId) ?? false {
        pipeline?.apply(event)
      }
      return
    }
    // The state is the run's own, also of a tree.
    if facts.contains(.state), state.runId.isEmpty || state.runId.hasSameUTF8(as: event.runId) {
      state.apply(event)
    }
  }

  private mutating func apply(unseen event: Event) {
    if event.isOfChild || RunBelow.isToldToAll(event) {
      isOfTree = true
    } else if Unseen.channels(in: event.data)["calls"] != nil {
      lacksOwnCalls = true
    }
  }

  /// What a person says of a task is as what one says of a call, but that it is of no call.
  private mutating func apply(_ word: TaskAnswered, _ event: Event) {
    switch word.word {
    case .granted, .denied:
      let path = (paths[event.runId] ?? []) + ["\(word.node)"]
      taskApprovals.append(
        TaskApproval(
          seq: event.seq, step: event.step, task: path.joined(separator: "/"),
          isGranted: word.word == .granted, by: word.by))
    case .answered:
      replies.append(Said(seq: event.seq, step: event.step, value: word.data, by: word.by))
    case .happened, .didNotHappen, .skipped: break
    }
  }

  /// Says nothing of some runs that hangs on an order, where each is judged by itself.
  package mutating func leaveOpen(runs: Set<String>) { runsBelow.openRuns = runs }

  private mutating func apply(tools: [JSONValue]) {
    for tool in tools {
      guard let name = tool["name"]?.stringValue,
        let effect = tool["sideEffect"]?.stringValue.flatMap(SideEffect.init(rawValue:))
      else { continue }
      // A source that lists it again as harmless does not undo what it could do before.
      sideEffects[name] = max(effect, sideEffects[name] ?? effect)
    }
  }

  private mutating func apply(decision event: Event) {
    let data = event.data
    switch data["kind"]?.stringValue {
    case "answer":
      // What was handed over, and speaks in the agent's own conversation, gives the agent's answer.
      answers.append(
        Said(
          seq: event.seq, step: event.step, value: data["text"],
          by: data["ofAgent"] == true ? nil : data["caller"]?.stringValue))
      guard facts.contains(.state) else { return }
      guard data["caller"] == nil else {
        // What was shown to whoever took over is not looked at here.
        if data["ofAgent"] == true { forgetEvidence() }
        return
      }
      compareEvidence(
        (data["evidenceRefs"]?.arrayValue ?? []).compactMap(\.stringValue), in: event.step)
    case "ask_human":
      questions.append(
        Said(
          seq: event.seq, step: event.step, value: data["question"],
          by: data["caller"]?.stringValue ?? "agent"))
    case "invalid": invalidDecisions.append((event.seq, event.step))
    default: break
    }
  }

  /// Nothing is known of what an answer cites.
  private mutating func forgetEvidence() {
    (unobserved, unshown, placed, lacksPacket) = ([], [], [], true)
  }

  /// Holds what an answer cites against what was observed before it, and against its packet.
  private mutating func compareEvidence(_ refs: [String], in step: Int) {
    forgetEvidence()
    guard !refs.isEmpty else { return }
    let known = state.observations.recent.map(\.id)
    unobserved = refs.filter { ref in !known.contains { $0.hasSameUTF8(as: ref) } }
    // That of an earlier step is not what this decision was made on.
    guard let packet, packet.step == step,
      let evidence = packet.data["evidenceRefs"]?.arrayValue,
      let included = packet.data["included"]?.arrayValue
    else { return }
    let shown = evidence.compactMap(\.stringValue)
    let names = included.compactMap { $0["ref"]?.stringValue }
    lacksPacket = shown.count < evidence.count || names.count < included.count
    for ref in refs where !shown.contains(where: { $0.hasSameUTF8(as: ref) }) {
      if names.contains(where: { $0.hasSameUTF8(as: ref) }) {
        placed.append(ref)
      } else {
        unshown.append(ref)
      }
    }
  }

  private mutating func apply(effort event: Event) {
    guard let callId = event.data["callId"]?.stringValue else { return }
    let isStart = event.type == .toolStarted
    let told = event.data[isStart ? "attempt" : "attempts"]?.intValue ?? 0
    // A log may tell the number without the attempts.
    let least = (efforts[callId]?.attempts ?? 0) + (isStart ? 1 : 0)
    efforts[callId, default: Effort()].take(
      attempts: max(least, min(told, Expectations.timesLimit)), seq: event.seq)
    if !isStart {
      efforts[callId]?.elapsedMicroseconds = event.data["elapsedMicroseconds"]?.intValue
    }
  }

  /// How often a call was tried, as far as that was gathered.
  func attempts(at callId: String) -> Int { efforts[callId]?.attempts ?? 0 }

  /// Where attempts begin beyond the first of their call, in order. Of calls that share an id each is told once.
  func retries(of calls: [Trajectory.Call]) -> Retries {
    var seen: Set<String> = []
    var all = Retries()
    for call in calls {
      guard let retries = efforts[call.outline.callId]?.retries, retries.count > 0,
        seen.insert(call.outline.callId).inserted
      else { continue }
      all.add(retries)
    }
    all.sort()
    return all
  }

  /// Whether a call ran of which neither an attempt was seen, nor how many there were: an import's.
  func lacksAttempts(of call: Trajectory.Call) -> Bool {
    call.isExecuted && efforts[call.outline.callId].map { $0.attempts == 0 } ?? true
  }

  private mutating func apply(note event: Event) {
    let isWritten = event.type == .memoryWritten
    guard let note = try? MemoryNote(decoding: event.data) else {
      if isWritten { unreadNotes.written = true } else { unreadNotes.read = true }
      return
    }
    notes.append(
      Note(
        seq: event.seq, isWritten: isWritten, scope: note.scope, key: note.key, value: note.value))
  }

  /// Whether the times of events matter that nobody looks at: a run has gone on as long as its last event says.
  public var measuresTime: Bool { facts.contains(.usage) }

  /// Takes in that an event is there which nobody looks at: its step has begun.
  ///
  /// - Parameters:
  ///   - seq: its number; where its step is new, the step begins there.
  ///   - step: the step that it stands in.
  ///   - t: when it was; needed where ``measuresTime`` says so.
  public mutating func passOver(_ seq: Int, step: Int, t: Int = 0) {
    elapsedMicroseconds = max(elapsedMicroseconds, t)
    if stepStarts.last.map({ $0.step < step }) ?? true { stepStarts.append((step, seq)) }
  }

  /// The last step of which anything was seen before an event.
  func step(before seq: Int) -> Int {
    let behind = stepStarts.partitionPoint { $0.seq < seq }
    return behind > 0 ? stepStarts[behind - 1].step : 0
  }
}

extension GatheredFacts {
  /// The step of the first thing seen behind an event; `nil` where nothing is.
  func step(after seq: Int) -> Int? {
    let last = step(before: seq + 1)
    // The step that follows may have begun right there.
    return stepStarts.first { $0.step > last }.map(\.step)
  }
}

extension GatheredFacts.Usage {
  mutating func count(_ event: Event) {
    let data = event.data
    calls += 1
    last = event.seq
    let (input, output) = (
      data["usage"]?["inputTokens"]?.intValue, data["usage"]?["outputTokens"]?.intValue
    )
    inputTokens = Self.sum(inputTokens, input)
    outputTokens = Self.sum(outputTokens, output)
    // A call that failed may have cost nothing, and nobody says.
    let failed = data["error"] != nil
    if input == nil || output == nil, !failed { lacksTokens = true }
    if let cost = data["cost"]?.doubleValue {
      self.cost += max(0, cost)
    } else if !failed {
      lacksCost = true
    }
  }

  private static func sum(_ left: Int, _ right: Int?) -> Int {
    let (sum, overflows) = left.addingReportingOverflow(max(0, right ?? 0))
    return overflows ? .max : sum
  }
}
