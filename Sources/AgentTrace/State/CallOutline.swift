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
    default: startedSeq == nil ? nil : .unknown
    }
  }

  /// Whether it ran: it was started, or has a result that only a run tool has.
  public var isExecuted: Bool {
    startedSeq != nil || resultStatus == "ok" || resultStatus == "error"
  }

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

  /// The wire form in a summary.
  var encoded: JSONValue {
    [
      "callId": .string(callId), "caller": .string(caller), "tool": .string(tool),
      "status": status.map { .string($0.rawValue) } ?? .null,
      "verdict": verdict.map { .string($0.rawValue) } ?? .null, "seq": JSONValue(seq),
      "resultSeq": resultSeq.map { JSONValue($0) } ?? .null,
    ]
  }
}
