/// What became of a call, in one word. Raw values are the wire format.
public enum CallStatus: String, Sendable, Hashable, CaseIterable {
  case ok
  case error
  case refused
  /// Started without a result, or cut off so that nobody knows whether it did its work.
  case unknown
}

/// A call without its input and result: what a summary says of it.
public struct CallOutline: Sendable, Hashable {
  public var callId: String
  /// Who made it: `agent`, `user` for a simulated user, or a sub-agent's name.
  public var caller: String
  public var tool: String
  /// The number of the decision that proposed it.
  public var seq: Int
  public var verdict: VerdictStatus?
  public var startedSeq: Int?
  public var resultSeq: Int?
  /// The status on the wire of its result.
  private var resultStatus: String?
  private var isEffectUnknown = false
  /// A summary says that it was started, and not always by which event.
  private var isStartUnnumbered = false

  init(call: ProposedCall, caller: String, seq: Int) {
    callId = call.callId
    self.caller = caller
    tool = call.name
    self.seq = seq
  }

  /// What became of it; `nil` where it has neither start nor result.
  public var status: CallStatus? {
    switch resultStatus {
    case "ok": .ok
    case "refused": .refused
    case "error": isEffectUnknown ? .unknown : .error
    default: isStarted ? .unknown : nil
    }
  }

  /// Whether it ran: it was started, or has a result that only a run tool has.
  public var isExecuted: Bool {
    isStarted || resultStatus == "ok" || resultStatus == "error"
  }

  private var isStarted: Bool { startedSeq != nil || isStartUnnumbered }

  /// Takes in an event that carries this call's id.
  mutating func apply(_ event: Event) {
    switch event.type {
    case .policyDecision:
      verdict = event.data["status"]?.stringValue.flatMap(VerdictStatus.init(rawValue:))
    case .toolStarted: if startedSeq == nil { startedSeq = event.seq }
    case .toolResult:
      resultSeq = event.seq
      resultStatus = event.data["status"]?.stringValue
      isEffectUnknown = event.data["effect"] == "unknown"
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
    return .object(object)
  }

  /// Reads the wire form in a summary; `nil` where it does not say what became of the call.
  init?(summary value: JSONValue) {
    guard let object = value.objectValue, let callId = object["callId"]?.stringValue,
      let caller = object["caller"]?.stringValue, let tool = object["tool"]?.stringValue,
      let status = object["status"]?.stringValue.flatMap(CallStatus.init(rawValue:)),
      let seq = object["seq"]?.intValue
    else { return nil }
    self.callId = callId
    self.caller = caller
    self.tool = tool
    self.seq = seq
    verdict = object["verdict"]?.stringValue.flatMap(VerdictStatus.init(rawValue:))
    startedSeq = object["startedSeq"]?.intValue
    resultSeq = object["resultSeq"]?.intValue
    switch status {
    case .ok, .error, .refused: resultStatus = status.rawValue
    case .unknown: isStartUnnumbered = true
    }
  }
}
