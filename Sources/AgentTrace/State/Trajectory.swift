/// What an agent did in one run, as a judge looks at it: its calls in decision order with what became
/// of them, its answer and its stop.
public struct Trajectory: Sendable {
  /// One proposed call.
  public struct Call: Sendable, Hashable {
    /// Who called what, and what became of it.
    public var outline: CallOutline
    /// `nil` where only the summary of a log was read, or more were read than was asked for
    /// (``Trajectory/inputLimitBytes``). Where the log was read in a hurry, each look parses the text
    /// again; what is no JSON then counts as lost.
    public var input: JSONValue? { inputSource.value }
    fileprivate var inputSource: InputSource
    /// The result, where there is one and it was read.
    public var result: ToolResult? {
      if case .value(let result) = returned { result } else { nil }
    }
    fileprivate var returned = Returned.nothing
    /// Which decision with calls it belongs to, from 0. Calls of one decision have no order among
    /// themselves.
    public var group: Int
    /// The step of the decision that proposed it, from 1; 0 where only the summary was read.
    public var step: Int
    /// Whether the decision that held it was invalid, so that it never reached policy.
    public var isInvalid: Bool

    /// The tool that was called.
    public var tool: String { outline.tool }
    /// Who made the call.
    public var caller: String { outline.caller }
    /// What became of it; `nil` where it has neither start nor result.
    public var status: CallStatus? { outline.status }
    /// Whether the tool was started or returned something.
    public var isExecuted: Bool { outline.isExecuted }

    /// The numbers of the events that show it, oldest first.
    public var events: [Int] {
      // One that no decision holds begins with its start or its result.
      [outline.seq]
        + [outline.startedSeq, outline.resultSeq].compactMap { $0 == outline.seq ? nil : $0 }
    }
  }

  // Both elsewhere: a trajectory holds hundreds of thousands of calls, of most of which a judge needs neither.

  /// Where the input of a call is found. Two are equal where they lead to equal inputs.
  fileprivate enum InputSource: Sendable, Hashable {
    case unknown
    indirect case value(JSONValue)
    case text([UInt8])

    var value: JSONValue? {
      switch self {
      case .unknown: nil
      case .value(let value): value
      case .text(let text): (try? JSONValue(parsing: text)) ?? .lost("an input that is no JSON")
      }
    }

    static func == (left: InputSource, right: InputSource) -> Bool { left.value == right.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
  }

  fileprivate enum Returned: Sendable, Hashable {
    case nothing
    indirect case value(ToolResult)
  }

  /// How the run ended or paused.
  public struct StopFact: Sendable, Hashable {
    /// The kind of end.
    public var reason: StopReason
    /// What exactly, mostly one of ``StopDetail``; `nil` where the log does not say.
    public var detail: String?
    /// Whether the run may not go on.
    public var isFinal: Bool
    /// The number of the `stop`.
    public var seq: Int

    /// What the `stop` with the number `seq` says.
    public init(reason: StopReason, detail: String?, isFinal: Bool, seq: Int) {
      self.reason = reason
      self.detail = detail
      self.isFinal = isFinal
      self.seq = seq
    }
  }

  /// A text the run gave as its answer.
  public struct Answer: Sendable, Hashable {
    /// As text, whatever is left of it.
    public var text: String
    /// The text as it stands in the log: a string, or what is left of one that was lost or cut.
    public var value: JSONValue
    /// The observations that it rests on, by their ids; may be empty.
    public var evidenceRefs: [String]
    /// The number of the event that gave it.
    public var seq: Int
  }

  /// A tool that the run had.
  public struct Tool: Sendable, Hashable {
    /// What it is called by.
    public var name: String
    /// The JSON Schema of its input; `nil` where the definition has none, or it was not read.
    public var inputSchema: JSONValue?
    /// Whether its definition says that a second call does no more than the first: it only reads, or is idempotent.
    public var isSafeTwice: Bool
  }

  /// A hole in the log: events that are not there.
  public struct Gap: Sendable, Hashable {
    /// The number of the first event that is missing.
    public var first: Int
    /// `nil` where nobody knows how many are missing: the tail of a torn log.
    public var last: Int?

    /// Without `last`, all behind `first` may be missing.
    public init(first: Int, last: Int?) {
      self.first = first
      self.last = last
    }
  }

  /// Empty where no `run_started` was seen.
  public private(set) var runId = ""
  private var simulatedUser = SimulatedUser()
  /// A task that a pipeline has.
  public struct Task: Sendable, Hashable {
    /// Its name.
    public var id: String
    /// Whether it runs once for each of many.
    public var isFanOut: Bool

    /// The tasks of a definition as a `run_started` or a `run_resumed` holds it; `nil` where it holds none.
    public static func all(in data: JSONObject) -> [Task]? {
      data["inputs"]?["pipeline"]?["tasks"]?.arrayValue?.compactMap { task in
        task["id"]?.stringValue.map { Task(id: $0, isFanOut: task["forEach"] != nil) }
      }
    }
  }

  /// The tasks that it has, where it is a pipeline's run with those of its tasks; `nil` for any other.
  public private(set) var tasks: [Task]?
  /// Whether it is a pipeline's, with the runs of its tasks.
  public var isPipeline: Bool { tasks != nil }
  /// Every call that a decision proposed, in decision order. Where a start or a result belongs to none, the
  /// call that it tells of stands where it is told, with an input that is lost.
  public private(set) var calls: [Call] = []
  /// Steps that hold a decision.
  public private(set) var steps = 0
  /// Steps that hold a decision of the runs below it, in each of which they are counted anew.
  public private(set) var stepsBelow = 0
  /// The last step with a decision of each of those runs.
  private var lastStepsBelow: [String: Int] = [:]
  /// The last answer; `nil` where there is none.
  public private(set) var answer: Answer?
  /// How it ended; `nil` while it has not, also where it was resumed since.
  public private(set) var stop: StopFact?
  /// Whether something was done, or it ended once more, behind a stop that says that it may not go on.
  public private(set) var goesOnBehindEnd = false
  /// Names of all tools the run had; `nil` where that was not recorded.
  public private(set) var toolNames: [String]?
  /// The tools whose definitions were read, each with what it says of its input.
  public private(set) var tools: [Tool] = []
  /// `none` or `partial` for each channel that is not recorded whole: what `run_started` says, and what went
  /// unseen since.
  public private(set) var recorded = RecordedChannels()
  /// Why nobody knows what a run below did, or which of two logs of one tree is right, in words; `nil` where all of it
  /// is known.
  public private(set) var unseenRun: String?
  /// The number of the last event that tells of a decision which may have gone unseen; `nil` without one.
  public private(set) var lastUnseen: Int?
  /// What is missing, by event number.
  public private(set) var gaps: [Gap] = []
  /// The number of the last event taken in; -1 before the first.
  public private(set) var lastSeq = -1

  /// How many bytes of inputs are kept of decisions of which nothing was parsed: those of the first
  /// calls. For readers that judge by nothing in them and only show them.
  public var inputLimitBytes = Int.max
  private var inputBytes = 0

  private var groups = 0
  /// Whether anything tells of a call that no decision before it holds.
  private var hasStrays = false
  private var contradictions = CallContradictions()
  /// Where each call stands, by its id; empty where there are so few that looking through them costs less.
  private var indexByCallID: [String: UInt32] = [:]
  private static let fewCalls = 16
  private var lastDecidedStep = 0

  /// The trajectory of no events.
  public init() {}

  /// Takes in the next event. An event whose data are not what its type promises is passed over.
  public mutating func apply(_ event: Event) {
    passOver(event.seq)
    switch event.type {
    case .runStarted: apply(runStarted: event)
    case .toolsListed:
      if (try? ToolsListed(decoding: event.data)) != nil {
        add(tools: event.data["tools"]?.arrayValue ?? [])
      }
      if let callId = event.data[TreeEvents.callKey]?.stringValue, let index = index(ofCall: callId)
      {
        calls[index].outline.isRun = true
      }
    case .decision: apply(decision: event)
    case .policyDecision, .toolStarted, .toolResult: apply(toCall: event)
    case .unseen:
      let channels = Unseen.channels(in: event.data)
      recorded.formUnion(channels)
      if channels["calls"] != nil { lastUnseen = event.seq }
      if unseenRun == nil, event.data["what"]?.stringValue == Unseen.Kind.child.rawValue {
        unseenRun = event.data["reason"]?.stringValue
      }
    case .runResumed:
      stop = nil
      if tasks != nil, let others = Task.all(in: event.data) { tasks = others }
    case .stop: apply(stop: event)
    default: break
    }
  }

  /// The types of events that a trajectory looks into; a reader may pass over all others unread.
  public static let types: Set<EventType> = [
    .runStarted, .toolsListed, .decision, .policyDecision, .toolStarted, .toolResult, .unseen,
    .runResumed, .stop,
  ]

  /// Takes in only that an event of this number stands in the log.
  public mutating func passOver(_ seq: Int) {
    if seq > lastSeq + 1 { gaps.append(Gap(first: lastSeq + 1, last: seq - 1)) }
    lastSeq = max(lastSeq, seq)
  }

  /// Takes in that the events up to a number are there and are not the run's: of a row of several runs.
  public mutating func skip(to seq: Int) { lastSeq = max(lastSeq, seq) }

  /// Takes in that events are missing, which may have been the run's.
  public mutating func miss(_ gap: Gap) { gaps.append(gap) }

  /// Says that events are missing behind the last one: the log is torn or damaged there.
  public mutating func markTorn() { gaps.append(Gap(first: lastSeq + 1, last: nil)) }

  /// Takes its end away, as though the log were torn before it: what may still have come is open then.
  public mutating func forgetEnd() {
    stop = nil
    markTorn()
  }

  private mutating func apply(runStarted event: Event) {
    runId = event.runId
    simulatedUser.take(runStarted: event.data)
    if event.beginsPipeline { tasks = Task.all(in: event.data) ?? [] }
    // Key by key: what is wrong with one of them says nothing about the others.
    recorded.formUnion(RunStarted.recorded(in: event.data))
    let tools = event.data["tools"]?.arrayValue ?? []
    if !tools.isEmpty { add(tools: tools) }
  }

  private mutating func add(tools definitions: [JSONValue]) {
    let tools = definitions.compactMap { tool in
      (tool["name"]?.stringValue).map {
        Tool(
          name: $0, inputSchema: tool["inputSchema"],
          isSafeTwice: tool["sideEffect"] == "read" || tool["idempotent"] == true)
      }
    }
    self.tools += tools
    toolNames = (toolNames ?? []) + tools.map(\.name)
  }

  /// Takes in that something is done: behind a final stop nobody knows which of both is true.
  private mutating func noteAct() {
    if stop?.isFinal == true {
      goesOnBehindEnd = true
      lack("stop")
    }
  }

  private mutating func apply(stop event: Event) {
    noteAct()
    // Why it ended nobody knows where that cannot be read, whatever was said before.
    stop = (try? Stop(decoding: event.data)).map {
      StopFact(reason: $0.reason, detail: $0.detail, isFinal: $0.isFinal, seq: event.seq)
    }
    // Another answer than the one that a decision gave: which is the run's nobody knows.
    if stop?.reason == .success, let told = event.data["answer"]?.stringValue,
      let given = answer?.value.stringValue, !told.hasSameUTF8(as: given),
      !RedactionToken.isIn(told), !RedactionToken.isIn(given)
    {
      lastUnseen = event.seq
    }
  }

  private mutating func apply(decision event: Event) {
    noteAct()
    guard let payload = try? DecisionPayload(decoding: event.data) else {
      // Nobody knows which calls it held, so it counts as not there.
      gaps.append(Gap(first: event.seq, last: event.seq))
      return
    }
    count(stepOf: event)
    var isInvalid = false
    switch payload.decision {
    case .answer(let text, let refs):
      // Another agent may be called so.
      if payload.caller == nil || payload.isOfAgent {
        answer = Answer(
          text: text, value: event.data["text"] ?? .string(text), evidenceRefs: refs,
          seq: event.seq)
      }
    case .invalid: isInvalid = true
    default: break
    }
    for call in payload.decision.calls {
      var outline = CallOutline(call: call, caller: payload.caller ?? "agent", seq: event.seq)
      outline.isOfSimulatedUser = simulatedUser.made(event)
      // What could not be used called nothing.
      if call.name.isEmpty, !isInvalid { lack("calls") }
      noteProposal(of: call.callId)
      add(
        Call(
          outline: outline, inputSource: .value(call.input), group: groups, step: event.step,
          isInvalid: isInvalid))
    }
    if !payload.decision.calls.isEmpty { groups += 1 }
  }

  /// Takes in a decision of which nothing was parsed that nobody may ask for.
  public mutating func apply(_ decision: DecisionOutline) {
    passOver(decision.seq)
    noteAct()
    count(step: decision.step)
    for call in decision.calls {
      var outline = CallOutline(
        callId: call.callId, caller: decision.caller ?? "agent", tool: call.name, seq: decision.seq)
      outline.isOfSimulatedUser = simulatedUser.made(
        isMarked: decision.isOfUser, by: decision.caller)
      if call.name.isEmpty { lack("calls") }
      noteProposal(of: call.callId)
      inputBytes += call.input.count
      add(
        Call(
          outline: outline,
          inputSource: inputBytes <= inputLimitBytes ? .text(call.input) : .unknown, group: groups,
          step: decision.step, isInvalid: false))
    }
    if !decision.calls.isEmpty { groups += 1 }
  }

  /// Takes in a stop of which nothing else was read: for readers that do not look at the answer.
  public mutating func apply(_ ending: StopFact) {
    passOver(ending.seq)
    noteAct()
    stop = ending
  }

  /// Takes in what an event says of its call, but not what the tool returned.
  ///
  /// - Returns: `false` where no call of this id is known, or the word does not fit what was said of it: that may be
  ///   a call of its own, of which a ``CallNote`` does not tell enough. Nothing was taken in then.
  public mutating func take(_ note: CallNote) -> Bool {
    guard let index = index(ofCall: note.callId),
      contradictions.fault(in: note, of: calls[index].outline, at: index) == nil
    else { return false }
    passOver(note.seq)
    noteAct()
    apply(note, at: index)
    return true
  }

  private mutating func apply(_ note: CallNote, at index: Int) {
    contradictions.take(note, of: calls[index].outline, at: index)
    calls[index].outline.apply(note)
    switch note.type {
    case .policyDecision where calls[index].outline.verdict == nil: lack("policy")
    case .toolResult where calls[index].outline.isResultUnread: lack("tools")
    default: break
    }
  }

  /// Takes in that a decision holds a call of this id. Where one of the id began or ended before, it may be the same,
  /// told of too early, or another: which calls there were nobody knows.
  private mutating func noteProposal(of callId: String) {
    guard hasStrays, let index = index(ofCall: callId), calls[index].outline.isStray else { return }
    lack("calls")
  }

  /// Takes in that something of a channel is there and cannot be told.
  private mutating func lack(_ channel: String) {
    if recorded[channel] == nil { recorded[channel] = "partial" }
  }

  private mutating func add(_ call: Call) {
    // Nobody knows which tool it was.
    if RedactionToken.isIn(call.outline.tool) { recorded["calls"] = "partial" }
    calls.append(call)
    if calls.count == Self.fewCalls + 1 {
      for (index, call) in calls.enumerated() { note(call, at: index) }
    } else if calls.count > Self.fewCalls {
      note(call, at: calls.count - 1)
    }
  }

  private mutating func note(_ call: Call, at index: Int) {
    indexByCallID[call.outline.callId] = UInt32(clamping: index)
  }

  /// The last call with an id.
  private func index(ofCall callId: String) -> Int? {
    guard calls.count <= Self.fewCalls else { return indexByCallID[callId].map(Int.init) }
    // By index, and from the end: an event mostly speaks of one of the last calls.
    for index in calls.indices.reversed() where calls[index].outline.callId == callId {
      return index
    }
    return nil
  }

  private mutating func count(stepOf event: Event) {
    // A decision of a child stands in a step of the root's.
    count(step: event.step)
    guard event.isOfChild, let own = TreeEvents.Own(event),
      lastStepsBelow.updateValue(own.step, forKey: event.runId) != own.step
    else { return }
    stepsBelow += 1
  }

  private mutating func count(step: Int) {
    guard step != lastDecidedStep else { return }
    steps += 1
    lastDecidedStep = step
  }

  private mutating func apply(toCall event: Event) {
    noteAct()
    guard let callId = event.data["callId"]?.stringValue else { return }
    let note = CallNote(event, callId: callId)
    guard let index = index(toldOfBy: note) ?? addStray(callId, event) else { return }
    apply(note, at: index)
    if event.type == .toolResult {
      let result = try? ToolResultPayload(decoding: event.data).result
      calls[index].returned = result.map { .value($0) } ?? .nothing
    }
  }

  /// The call that a word is about; `nil` where none is known, or it tells of another than the last of its id.
  private mutating func index(toldOfBy note: CallNote) -> Int? {
    guard let index = index(ofCall: note.callId) else { return nil }
    let tool = calls[index].tool
    switch contradictions.fault(in: note, of: calls[index].outline, at: index) {
    case nil: return index
    case .namesAnotherTool?:
      // Which of the two tools it was nobody knows.
      lack(note.type == .policyDecision ? "policy" : "calls")
      return nil
    case .beginsAgain?:
      // One more time does nothing more, and some writers tell of it.
      return tools.contains { $0.isSafeTwice && $0.name.hasSameUTF8(as: tool) } ? index : nil
    case .endsAgain?:
      // It may have run twice, or its writer said the same twice.
      lack("calls")
      return index
    }
  }

  /// Adds a call of which no decision was seen: a tool that was started, or that returned something, was
  /// called, whoever proposed it. Its index; `nil` where the event tells of no such thing.
  private mutating func addStray(_ callId: String, _ event: Event) -> Int? {
    guard var outline = CallOutline(stray: callId, event) else { return nil }
    hasStrays = true
    outline.isOfSimulatedUser = simulatedUser.made(event)
    var input = InputSource.value(.lost("no decision holds this call"))
    if let known = index(ofCall: callId).map({ calls[$0] }) {
      // It begins once more, or as another tool: who makes the call is the same, and so may be the input.
      outline.caller = known.caller
      outline.isOfSimulatedUser = known.outline.isOfSimulatedUser
      if outline.tool.isEmpty { outline.tool = known.tool }
      if known.tool.hasSameUTF8(as: outline.tool) { input = known.inputSource }
    }
    // Which tool it was nobody knows; an import says so itself.
    if outline.tool.isEmpty, recorded["calls"] == nil {
      gaps.append(Gap(first: event.seq, last: event.seq))
    }
    add(
      Call(
        outline: outline, inputSource: input, group: groups, step: event.step, isInvalid: false))
    groups += 1
    return calls.count - 1
  }
}

/// A `decision` of kind `tool`, its calls' inputs unparsed, or an answer that nobody asks for: for
/// readers in a hurry.
public struct DecisionOutline: Sendable {
  /// One of its calls.
  public struct Call: Sendable {
    /// See ``ProposedCall/callId``.
    public var callId: String
    /// The tool's name.
    public var name: String
    /// The input's JSON text as it stands in the log, which holds no references.
    public var input: [UInt8]

    /// The input is not parsed.
    public init(callId: String, name: String, input: [UInt8]) {
      self.callId = callId
      self.name = name
      self.input = input
    }
  }

  /// The number of the event.
  public var seq: Int
  /// Its step.
  public var step: Int
  /// Who makes the calls; `nil` means the agent.
  public var caller: String?
  /// See ``DecisionPayload/isOfUser``.
  public var isOfUser: Bool
  /// In the order of the decision.
  public var calls: [Call]

  /// No input of the calls is parsed.
  public init(seq: Int, step: Int, caller: String?, calls: [Call], isOfUser: Bool = false) {
    self.isOfUser = isOfUser
    self.seq = seq
    self.step = step
    self.caller = caller
    self.calls = calls
  }
}

extension Trajectory {
  /// The trajectory of some events.
  public init(of events: some Sequence<Event>) {
    self.init()
    for event in events { apply(event) }
  }
}

extension Trajectory {
  /// The trajectory of a run of which only the end of its log was read.
  public init(_ outline: RunOutline) {
    runId = outline.runId
    calls.reserveCapacity(outline.calls.count)
    for call in outline.calls {
      if let last = calls.last, last.outline.seq != call.seq { groups += 1 }
      calls.append(
        Call(
          outline: call, inputSource: .unknown, group: groups, step: 0, isInvalid: false))
    }
    recorded = outline.recorded
    if calls.contains(where: { $0.tool.isEmpty || RedactionToken.isIn($0.tool) }) {
      recorded["calls"] = "partial"
    }
    toolNames = outline.toolNames
    stop = outline.stop
    lastSeq = outline.stop.seq
  }
}
