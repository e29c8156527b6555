public import AgentTrace

/// What the model's calls of a run used.
public struct RunUsage: Sendable {
  private var totals = Totals()
  private var lacksTokens = false

  /// No call was seen.
  public init() {}

  /// Takes in the data of a `model_result`.
  public mutating func count(modelResult data: JSONObject) {
    totals.count(modelResult: data)
    // A try that failed and says nothing used nothing that anybody knows of.
    let usage = data["usage"]
    if data["error"] == nil,
      usage?["inputTokens"]?.intValue == nil || usage?["outputTokens"]?.intValue == nil
    {
      lacksTokens = true
    }
  }

  /// All tokens; `nil` where no call said so, or not every one.
  var tokens: Int? {
    guard totals.modelCalls > 0, !lacksTokens else { return nil }
    let (sum, overflow) = totals.inputTokens.addingReportingOverflow(totals.outputTokens)
    return overflow ? nil : sum
  }

  /// The cost to a millionth; `nil` where it is not known.
  var cost: Double? {
    guard let cost = totals.cost, cost.isFinite, cost >= 0, cost < 1e9 else { return nil }
    return (cost * 1_000_000).rounded() / 1_000_000
  }
}

/// What a baseline holds of a run beyond its trajectory: what it was made with and used, and what policy and
/// people said of each call.
public struct RunNotes: Sendable {
  /// What the model's calls used.
  public private(set) var usage = RunUsage()
  /// What the run was made with.
  private(set) var setting = RunSetting()
  /// What the run was to do, as ``AcceptedText`` writes a value: its goal, and of a pipeline what it was given; `nil`
  /// where nobody says so.
  private(set) var goal: String?
  /// What the runs below it were made with, by who they are, without the elements of tasks.
  private var settingsBelow: [ByteText: RunSetting] = [:]
  /// Decisions that could not be used.
  private(set) var invalidDecisions = 0
  /// What the tools of the run do to the world at most, by their names.
  private var effects: [ByteText: SideEffect] = [:]

  /// One call, by the decision that proposed it: an id may come again in a log that others wrote.
  private struct CallKey: Hashable {
    var callId: ByteText
    var seq: Int
  }

  private struct CallNotes {
    var gateAnswers: [AcceptedCall.GateAnswer] = []
    var starts = 0
  }

  private var calls: [CallKey: CallNotes] = [:]
  /// The last decision that proposed a call of an id.
  private var proposals: [ByteText: Int] = [:]

  /// The types of events that it looks into.
  public static let types: Set<EventType> = [
    .runStarted, .toolsListed, .modelResult, .decision, .policyDecision, .toolStarted, .toolResult,
    .approval, .runResumed,
  ]

  /// Nothing was seen.
  public init() {}

  /// Takes in the next event. An event whose data are not what its type promises is passed over.
  public mutating func apply(_ event: Event) {
    switch event.type {
    case .runStarted:
      setting = RunSetting(started: event.data)
      goal = Self.goal(started: event).map { AcceptedText.value(.string($0)) }
      note(tools: event.data["tools"]?.arrayValue ?? [])
    case .toolsListed:
      note(tools: event.data["tools"]?.arrayValue ?? [])
      if var below = RunBelow(beginningWith: event) { note(&below, event) }
    case .modelResult: usage.count(modelResult: event.data)
    case .decision:
      guard let payload = try? DecisionPayload(decoding: event.data) else { return }
      if case .invalid = payload.decision { invalidDecisions += 1 }
      for call in payload.decision.calls { propose(call.callId, event.seq) }
    case .policyDecision, .toolStarted:
      guard let callId = event.data["callId"]?.stringValue else { return }
      apply(
        CallNote(
          seq: event.seq, type: event.type, callId: callId,
          status: event.data["status"]?.stringValue, isEffectUnknown: false))
    case .toolResult:
      guard let callId = event.data["callId"]?.stringValue else { return }
      // An import may tell the number without the attempts.
      let told = event.data["attempts"]?.intValue ?? 0
      if told > 1 { change(callId) { $0.starts = max($0.starts, told) } }
    case .approval:
      guard let approval = try? Approval(decoding: event.data) else { return }
      change(approval.callId) { $0.gateAnswers.append(.approval(AcceptedCall.Grant(approval))) }
    case .runResumed: setting.goOn(resumed: event.data)
    default: break
    }
  }

  /// Takes in a decision of which nothing was parsed that nobody may ask for.
  public mutating func apply(_ decision: DecisionOutline) {
    for call in decision.calls { propose(call.callId, decision.seq) }
  }

  /// Takes in what an event says of its call.
  public mutating func apply(_ note: CallNote) {
    switch note.type {
    case .policyDecision:
      guard let verdict = note.status.flatMap(VerdictStatus.init(rawValue:)) else { return }
      change(note.callId) { $0.gateAnswers.append(.verdict(verdict.rawValue)) }
    case .toolStarted: change(note.callId) { $0.starts += 1 }
    default: break
    }
  }

  /// Whether no try of a call was seen, so that its result may tell how many there were.
  public func lacksStart(ofCall callId: String) -> Bool {
    let id = ByteText(callId)
    guard let seq = proposals[id] else { return false }
    return (calls[CallKey(callId: id, seq: seq)]?.starts ?? 0) == 0
  }

  /// What a run is to do. The goal of a pipeline is its name: what it is to do is its input, as a case says it.
  private static func goal(started event: Event) -> String? {
    guard event.beginsPipeline else { return event.data["goal"]?.stringValue }
    guard let input = event.data["input"], !input.isNull else { return nil }
    return input.stringValue ?? CanonicalJSON.string(input)
  }

  private mutating func note(tools: [JSONValue]) {
    for tool in tools {
      guard let name = tool["name"]?.stringValue else { continue }
      // A tool of unknown effect counts as one that writes, and one that is listed again as what it was listed as most.
      let effect = tool["sideEffect"]?.stringValue.flatMap(SideEffect.init(rawValue:)) ?? .write
      effects[ByteText(name)] = max(effect, effects[ByteText(name)] ?? effect)
    }
  }

  private mutating func note(_ below: inout RunBelow, _ event: Event) {
    guard let started = below.event(event)?.data else { return }
    let setting = RunSetting(startedBelow: started)
    settingsBelow[ByteText(CallerPattern.withoutElements(below.caller)), default: setting]
      .join(setting)
  }

  /// What the runs below it were made with, sorted by who they are.
  var below: [(caller: String, setting: RunSetting)] {
    settingsBelow.map { (AcceptedText.name(for: $0.key.text), $0.value) }
      .sorted { $0.0.precedesByUTF8($1.0) }
  }

  private mutating func propose(_ callId: String, _ seq: Int) {
    proposals[ByteText(callId)] = seq
  }

  private mutating func change(_ callId: String, _ change: (inout CallNotes) -> Void) {
    let id = ByteText(callId)
    guard let seq = proposals[id] else { return }
    change(&calls[CallKey(callId: id, seq: seq), default: CallNotes()])
  }

  /// Puts in its place what was noted of a call.
  func complete(_ accepted: inout AcceptedCall, _ call: Trajectory.Call) {
    accepted.mayWrite = effects[ByteText(call.tool)] != .read
    let key = CallKey(callId: ByteText(call.outline.callId), seq: call.outline.seq)
    guard let notes = calls[key] else { return }
    accepted.gateAnswers = notes.gateAnswers
    accepted.attempts = max(1, notes.starts)
  }
}

extension AcceptedCall.Grant {
  fileprivate init(_ approval: Approval) {
    let calls: Int? =
      switch approval.scope {
      case .calls(let count)?: count
      case .input?, nil: nil
      }
    self.init(
      isGranted: approval.granted, by: AcceptedText.name(for: approval.by), calls: calls)
  }
}
