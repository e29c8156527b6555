/// What became of a call, in one word. Raw values are the wire format.
public enum CallStatus: String, Sendable, Hashable, CaseIterable {
  /// The tool ran and returned something.
  case ok
  /// The tool failed.
  case error
  /// It never began: policy, a person, a limit or a breaker stood in its way.
  case refused
  /// Started without a result, or cut off so that nobody knows whether it did its work.
  case unknown
  /// It ran and returned something, and its source does not say whether it succeeded: imports alone.
  case returned
}

/// What a verdict, a start or a result says of its call in a word: for readers in a hurry.
public struct CallNote: Sendable {
  /// The number of the event.
  public var seq: Int
  /// `policy_decision`, `tool_started` or `tool_result`.
  public var type: EventType
  /// See ``ProposedCall/callId``.
  public var callId: String
  /// The status on the wire; `nil` where it has none.
  public var status: String?
  /// Whether nobody knows what the tool did.
  public var isEffectUnknown: Bool
  /// The tool that the event names; `nil` where it names none.
  public var tool: String?
  /// Of a start which attempt it is; `nil` where it does not say.
  public var attempt: Int?

  /// The word of one event; a later one may say more of the call.
  public init(
    seq: Int, type: EventType, callId: String, status: String?, isEffectUnknown: Bool,
    tool: String? = nil, attempt: Int? = nil
  ) {
    self.tool = tool
    self.attempt = attempt
    self.seq = seq
    self.type = type
    self.callId = callId
    self.status = status
    self.isEffectUnknown = isEffectUnknown
  }

  /// The word of an event that carries this id.
  init(_ event: Event, callId: String) {
    self.init(
      seq: event.seq, type: event.type, callId: callId,
      status: event.data["status"]?.stringValue,
      isEffectUnknown: event.data["effect"] == "unknown", tool: event.data["tool"]?.stringValue,
      attempt: event.data["attempt"]?.intValue)
  }
}

/// A call without its input and result: what a summary says of it.
public struct CallOutline: Sendable, Hashable {
  /// See ``ProposedCall/callId``.
  public var callId: String
  /// Who made it: `agent`, `user` for a simulated user, or a sub-agent's name.
  public var caller: String
  /// The name of the tool that was called.
  public var tool: String
  /// The number of the decision that proposed it; of a call that no decision holds, of the event that first
  /// tells of it.
  public var seq: Int
  /// The number of the first `tool_started`; `nil` where there is none or a summary does not say.
  public var startedSeq: Int? {
    get { startedPlace < 0 ? nil : startedPlace }
    set { startedPlace = newValue ?? -1 }
  }
  /// The number of its `tool_result`; `nil` where there is none.
  public var resultSeq: Int? {
    get { resultPlace < 0 ? nil : resultPlace }
    set { resultPlace = newValue ?? -1 }
  }
  /// Whether no decision holds it: of such a call only its start or its result was seen. A summary does not tell
  /// of one that it began and no more.
  public var isStray: Bool { seq == startedSeq || seq == resultSeq }
  // Below 0 for none: a trajectory holds hundreds of thousands of calls, and an optional takes twice the room.
  private var startedPlace = -1
  private var resultPlace = -1
  /// The policy gate's word on it; `nil` where none was recorded.
  public var verdict: VerdictStatus?
  /// Whether the gate ever said that a person has to approve it; not known from a summary.
  public private(set) var wasAsked = false
  /// Whether it is a run of another agent, of which at least the beginning was seen: it was made for certain.
  public internal(set) var isRun = false
  /// Whether a simulated user made it, who is none of the agents: see ``SimulatedUser``.
  public internal(set) var isOfSimulatedUser = false
  /// The status of its result, as far as it is one that is known.
  private var resultStatus: ResultStatus?
  private var isEffectUnknown = false
  /// A summary says that it was started, and not always by which event.
  private var isStartUnnumbered = false

  /// What a result may say; see ``ToolResult/status``.
  private enum ResultStatus: String { case ok, refused, error, returned }

  init(callId: String, caller: String, tool: String, seq: Int) {
    self.callId = callId
    self.caller = caller
    self.tool = tool
    self.seq = seq
  }

  init(call: ProposedCall, caller: String, seq: Int) {
    self.init(callId: call.callId, caller: caller, tool: call.name, seq: seq)
  }

  /// A call that no decision holds, of the event that first tells of it: a start or a result. `nil` for other
  /// events. Without a name where that is not told.
  init?(stray callId: String, _ event: Event) {
    guard event.type == .toolStarted || event.type == .toolResult else { return nil }
    self.init(
      callId: callId, caller: event.data["caller"]?.stringValue ?? "agent",
      tool: event.data["tool"]?.stringValue ?? "", seq: event.seq)
    isOfSimulatedUser = event.data[SimulatedUser.key] == true
  }

  /// What became of it; `nil` where it has neither start nor result.
  public var status: CallStatus? {
    switch resultStatus {
    case .ok?: .ok
    case .returned?: .returned
    case .refused?: .refused
    case .error?: isEffectUnknown ? .unknown : .error
    case nil: isStarted ? .unknown : nil
    }
  }

  /// Whether it ran: it was started, or has a result that only a run tool has.
  public var isExecuted: Bool {
    isStarted || resultStatus == .ok || resultStatus == .error || resultStatus == .returned
  }

  /// Whether the word of its result is none that is known. Not known from a summary.
  var isResultUnread: Bool { resultSeq != nil && resultStatus == nil }

  /// Whether its tool failed, also where nobody knows what that did.
  public var hasFailed: Bool { resultStatus == .error }

  private var isStarted: Bool { startedSeq != nil || isStartUnnumbered }

  /// Takes in what an event says of this call.
  mutating func apply(_ note: CallNote) {
    switch note.type {
    case .policyDecision:
      verdict = note.status.flatMap(VerdictStatus.init(rawValue:))
      if verdict == .approvalRequired { wasAsked = true }
    case .toolStarted: if startedSeq == nil { startedSeq = note.seq }
    case .toolResult:
      resultSeq = note.seq
      resultStatus = note.status.flatMap(ResultStatus.init(rawValue:))
      isEffectUnknown = note.isEffectUnknown
    default: break
    }
  }

  /// The wire form in a summary. A start is told only where the status does not tell of it.
  var encoded: JSONValue {
    var object: JSONObject = [
      "callId": .string(callId), "caller": .string(caller), "tool": .string(tool),
      "status": status.map { .string($0.rawValue) } ?? .null,
      "verdict": verdict.map { .string($0.rawValue) } ?? .null, "seq": JSONValue(seq),
      "resultSeq": resultSeq.map { JSONValue($0) } ?? .null,
    ]
    if status == .refused { object["startedSeq"] = startedSeq.map { JSONValue($0) } }
    if isOfSimulatedUser { object[SimulatedUser.key] = true }
    return .object(object)
  }

  /// Reads the wire form in a summary; `nil` where it does not say what became of the call, or whether a simulated user
  /// made it: only the log does where it is named so and not marked.
  init?(summary value: JSONValue) {
    guard let object = value.objectValue, let callId = object["callId"]?.stringValue,
      let caller = object["caller"]?.stringValue, let tool = object["tool"]?.stringValue,
      let status = object["status"]?.stringValue.flatMap(CallStatus.init(rawValue:)),
      let seq = object["seq"]?.intValue,
      case let isOfUser = object[SimulatedUser.key] == true,
      isOfUser || !caller.hasSameUTF8(as: SimulatedUser.name)
    else { return nil }
    self.init(
      callId: callId, caller: caller, tool: tool, seq: seq, status: status,
      verdict: object["verdict"]?.stringValue.flatMap(VerdictStatus.init(rawValue:)),
      startedSeq: object["startedSeq"]?.intValue, resultSeq: object["resultSeq"]?.intValue)
    isOfSimulatedUser = isOfUser
  }

  /// What a summary says of a call.
  @_spi(Scanning) public init(
    callId: String, caller: String, tool: String, seq: Int, status: CallStatus,
    verdict: VerdictStatus?, startedSeq: Int?, resultSeq: Int?, isOfUser: Bool = false
  ) {
    self.init(callId: callId, caller: caller, tool: tool, seq: seq)
    isOfSimulatedUser = isOfUser
    self.verdict = verdict
    self.startedSeq = startedSeq
    self.resultSeq = resultSeq
    switch status {
    case .ok, .error, .refused, .returned: resultStatus = ResultStatus(rawValue: status.rawValue)
    case .unknown: isStartUnnumbered = true
    }
  }
}
