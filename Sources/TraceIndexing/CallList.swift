import AgentTrace

/// The calls of a run without inputs and results, in few bytes each: a run may hold very many.
struct CallList: Sendable {
  /// The most calls of a run that are kept; more are only counted.
  static let limit = 250_000

  struct Call: Sendable {
    var callId: String
    var seq: Int
    /// -1 where there is none.
    var resultSeq = -1
    /// Numbers of names; see ``CallList/name(_:)``.
    var caller: Int32
    var tool: Int32
    var status: CallStatus?
    var verdict: VerdictStatus?
    var isStarted = false
    /// Whether a simulated user made it.
    var isOfUser = false
  }

  /// In pieces, so that no growing copies what is there.
  private var pieces: [[Call]] = []
  private static let pieceCount = 8192
  private(set) var count = 0
  /// Calls beyond the limit.
  private(set) var unlisted = 0

  private var names: [String] = []
  private var numbers: [ExactText: Int32] = [:]
  /// Where the last call of each id is, plus 1; 0 for a free place. A table with open addressing: a
  /// dictionary would keep every id a second time.
  private var places: [Int32] = []

  /// The calls, in the order of the decisions.
  var calls: FlattenSequence<[[Call]]> { pieces.joined() }

  func name(_ number: Int32) -> String { names[Int(number)] }

  /// How many calls have a verdict.
  func count(_ verdict: VerdictStatus) -> Int {
    calls.reduce(0) { $0 + ($1.verdict == verdict ? 1 : 0) }
  }

  // MARK: From events

  /// Takes in the calls of a decision.
  mutating func append(_ payload: DecisionPayload, of event: Event, _ user: SimulatedUser) {
    for call in payload.decision.calls {
      append(
        call.callId, call.name, by: payload.caller, seq: event.seq, isOfUser: user.made(event))
    }
  }

  private mutating func append(
    _ id: String, _ tool: String, by caller: String?, seq: Int, isOfUser: Bool
  ) {
    guard count < Self.limit else {
      unlisted += 1
      return
    }
    let callId = IndexText.name(id)
    append(
      Call(
        callId: callId, seq: seq, caller: number(of: caller ?? "agent"), tool: number(of: tool),
        isOfUser: isOfUser))
    if 2 * count > places.count { growPlaces() } else { setPlace(of: callId, to: count - 1) }
  }

  private mutating func append(_ call: Call) {
    if count % Self.pieceCount == 0 { pieces.append([]) }
    pieces[pieces.count - 1].append(call)
    count += 1
  }

  // MARK: Ids

  private func callId(at place: Int) -> String {
    pieces[place / Self.pieceCount][place % Self.pieceCount].callId
  }

  /// Where an id stands in `places`, or would.
  private func slot(of callId: String) -> Int {
    var slot = callId.hashValue & (places.count - 1)
    while places[slot] != 0, !self.callId(at: Int(places[slot]) - 1).hasSameUTF8(as: callId) {
      slot = (slot + 1) & (places.count - 1)
    }
    return slot
  }

  private mutating func setPlace(of callId: String, to place: Int) {
    places[slot(of: callId)] = Int32(clamping: place + 1)
  }

  private mutating func growPlaces() {
    places = Array(repeating: 0, count: max(16, places.count * 2))
    for place in 0..<count { setPlace(of: callId(at: place), to: place) }
  }

  private func place(of callId: String) -> Int? {
    guard !places.isEmpty else { return nil }
    let place = Int(places[slot(of: IndexText.name(callId))]) - 1
    return place >= 0 ? place : nil
  }

  /// Takes in an event that carries a call's id; as ``Trajectory`` does: a start or a result that belongs to
  /// no decision's call tells of one that nobody saw proposed.
  mutating func apply(_ event: Event, _ user: SimulatedUser = SimulatedUser()) {
    guard let callId = event.data["callId"]?.stringValue else { return }
    if place(of: callId) == nil, event.type == .toolStarted || event.type == .toolResult {
      append(
        callId, event.data["tool"]?.stringValue ?? "", by: event.data["caller"]?.stringValue,
        seq: event.seq, isOfUser: user.made(event))
    }
    guard let place = place(of: callId) else { return }
    let piece = place / Self.pieceCount
    Self.apply(event, to: &pieces[piece][place % Self.pieceCount])
  }

  private static func apply(_ event: Event, to call: inout Call) {
    switch event.type {
    case .policyDecision:
      call.verdict = event.data["status"]?.stringValue.flatMap(VerdictStatus.init(rawValue:))
    case .toolStarted:
      call.isStarted = true
      if call.status == nil { call.status = .unknown }
    case .toolResult:
      call.resultSeq = event.seq
      call.status = status(of: event.data, isStarted: call.isStarted)
    default: break
    }
  }

  private static func status(of data: JSONObject, isStarted: Bool) -> CallStatus? {
    switch data["status"]?.stringValue {
    case "ok": .ok
    case "returned": .returned
    case "refused": .refused
    case "error": data["effect"] == "unknown" ? .unknown : .error
    default: isStarted ? .unknown : nil
    }
  }

  // MARK: From a summary

  /// Takes in the calls of a summary; `nil` where one of them is not of its form.
  ///
  /// - Parameter user: which calls a simulated user made that are not marked.
  init?(summary entries: [JSONValue], _ user: SimulatedUser) {
    for entry in entries {
      guard let object = entry.objectValue, let callId = object["callId"]?.stringValue,
        let caller = object["caller"]?.stringValue, let tool = object["tool"]?.stringValue,
        let seq = object["seq"]?.intValue
      else { return nil }
      append(
        Call(
          callId: IndexText.name(callId), seq: seq,
          resultSeq: object["resultSeq"]?.intValue ?? -1, caller: number(of: caller),
          tool: number(of: tool),
          status: object["status"]?.stringValue.flatMap(CallStatus.init(rawValue:)),
          verdict: object["verdict"]?.stringValue.flatMap(VerdictStatus.init(rawValue:)),
          isOfUser: user.made(isMarked: object[SimulatedUser.key] == true, by: caller)))
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
