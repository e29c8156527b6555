import AgentTrace

/// The calls of a run without inputs and results, in few bytes each: a run may hold very many.
struct CallList: Sendable {
  /// The most calls of a run that are kept; more are only counted.
  static let limit = 250_000

  struct Call: Sendable {
    var callId: String
    var caller: Int32
    var tool: Int32
    var seq: Int
    /// -1 where there is none.
    var resultSeq = -1
    var status: CallStatus?
    var verdict: VerdictStatus?
    var isStarted = false
  }

  private(set) var calls: [Call] = []
  /// Calls beyond the limit.
  private(set) var unlisted = 0

  private var names: [String] = []
  private var numbers: [ExactText: Int32] = [:]
  /// The last call of each id.
  private var places: [ExactText: Int] = [:]

  func name(_ number: Int32) -> String { names[Int(number)] }

  /// How many calls have a verdict.
  func count(_ verdict: VerdictStatus) -> Int {
    calls.reduce(0) { $0 + ($1.verdict == verdict ? 1 : 0) }
  }

  // MARK: From events

  /// Takes in the calls of a decision.
  mutating func append(_ payload: DecisionPayload, seq: Int) {
    let caller = payload.caller ?? "agent"
    for call in payload.decision.calls {
      guard calls.count < Self.limit else {
        unlisted += 1
        continue
      }
      places[ExactText(call.callId)] = calls.count
      calls.append(
        Call(
          callId: IndexText.name(call.callId), caller: number(of: caller),
          tool: number(of: call.name), seq: seq))
    }
  }

  /// Takes in an event that carries a call's id; as ``CallOutline`` does.
  mutating func apply(_ event: Event) {
    guard let callId = event.data["callId"]?.stringValue, let place = places[ExactText(callId)]
    else { return }
    switch event.type {
    case .policyDecision:
      calls[place].verdict = event.data["status"]?.stringValue.flatMap(
        VerdictStatus.init(rawValue:))
    case .toolStarted:
      calls[place].isStarted = true
      if calls[place].status == nil { calls[place].status = .unknown }
    case .toolResult:
      calls[place].resultSeq = event.seq
      calls[place].status = Self.status(of: event.data, isStarted: calls[place].isStarted)
    default: break
    }
  }

  private static func status(of data: JSONObject, isStarted: Bool) -> CallStatus? {
    switch data["status"]?.stringValue {
    case "ok": .ok
    case "refused": .refused
    case "error": data["effect"] == "unknown" ? .unknown : .error
    default: isStarted ? .unknown : nil
    }
  }

  // MARK: From a summary

  /// Takes in the calls of a summary; `nil` where one of them is not of its form.
  init?(summary entries: [JSONValue]) {
    calls.reserveCapacity(entries.count)
    for entry in entries {
      guard let object = entry.objectValue, let callId = object["callId"]?.stringValue,
        let caller = object["caller"]?.stringValue, let tool = object["tool"]?.stringValue,
        let seq = object["seq"]?.intValue
      else { return nil }
      calls.append(
        Call(
          callId: IndexText.name(callId), caller: number(of: caller), tool: number(of: tool),
          seq: seq, resultSeq: object["resultSeq"]?.intValue ?? -1,
          status: object["status"]?.stringValue.flatMap(CallStatus.init(rawValue:)),
          verdict: object["verdict"]?.stringValue.flatMap(VerdictStatus.init(rawValue:))))
    }
  }

  init() {}

  private mutating func number(of name: String) -> Int32 {
    if let number = numbers[ExactText(name)] { return number }
    let number = Int32(clamping: names.count)
    names.append(IndexText.name(name))
    numbers[ExactText(name)] = number
    return number
  }
}
