/// Everything a run knows about itself: a pure, bounded fold over its events.
///
/// The runtime changes it in one way, by appending an event and applying it; a replay does the same.
/// So a state is never stored as the truth, and a replay cannot drift from what happened. No input,
/// output, clock or dictionary order is involved. Results of one decision enter in call order,
/// whatever order they came in.
public struct AgentState: Sendable, Hashable {
  /// The version of this fold. A checkpoint of another one is not compared.
  public static let format = 2
  /// The most approvals, and the most notes, that a state keeps track of.
  public static let keyLimit = 10_000

  /// Empty before `run_started`.
  public internal(set) var runId = ""
  /// What the agent is to do, as it stood in `run_started`; null before.
  public internal(set) var goal: JSONValue = .null
  /// Who the run acts for, as it stood in `run_started`.
  public internal(set) var policyContext: JSONObject = [:]
  /// The limit on steps, as it stood in `run_started`; `nil` for none.
  public internal(set) var maxSteps: Int?
  /// What the run has used so far.
  public internal(set) var totals = Totals()
  /// What the agent has seen: the last 1,000 whole, the rest as a digest.
  public internal(set) var observations = RecentObservations()
  /// The calls of the current decision that have not entered the state yet, in call order.
  ///
  /// - Complexity: linear where calls before the last have entered.
  public var pendingCalls: [PendingCall] { pending.calls }
  var pending = PendingCalls()
  /// What people granted and is not used up.
  public internal(set) var approvals = Approvals()
  /// SHA-256 of the canonical value of each note, by `scope/key`.
  public internal(set) var memory: JSONObject = [:]
  /// `{"state","failures"}` of each tool's circuit breaker.
  public internal(set) var breakers: JSONObject = [:]
  /// What the limits on failures count.
  public internal(set) var counters = Counters()
  /// Microseconds of active run time up to the last event.
  public internal(set) var elapsedMicroseconds = 0
  /// What a person is asked, while nobody has answered.
  public internal(set) var question: String?
  /// Why the run stands still; `nil` while it goes on.
  public internal(set) var stop: StopSummary?
  /// A running digest of every event, in fold order; see ``apply(_:)``.
  public internal(set) var history = Digest.zero
  /// What the digest of the next packet need not hash again; no part of the state.
  var packetDigests = PacketDigests()

  /// The digest of the messages of the last packet that ``apply(_:)`` took in.
  @_spi(Scanning) public var messagesDigest: ListDigest { packetDigests.messages }

  /// What the limits on failures count.
  public struct Counters: Sendable, Hashable {
    /// Calls of this run that policy denied.
    public internal(set) var denials = 0
    /// Results in error since the last one that was not, in call order.
    public internal(set) var toolErrorsInARow = 0
    /// Invalid decisions since the last valid one.
    public internal(set) var invalidDecisionsInARow = 0
  }

  /// Why the run stands still.
  public struct StopSummary: Sendable, Hashable {
    /// The ``StopReason`` as it stood in the log; empty where none did.
    public internal(set) var reason: String
    /// What exactly; `nil` where the log did not say.
    public internal(set) var detail: String?
    /// Whether the run may not go on; true where the log did not say.
    public internal(set) var isFinal: Bool
  }

  /// The state before the first event.
  public init() {}

  /// The tools and inputs that unspent approvals cover, oldest first; see ``ProposedCall/actionId``.
  public var approvedActionIds: [String] { approvals.actionIds }

  /// Completed steps.
  public var steps: Int { totals.steps }
}

// MARK: - Wire form

extension AgentState {
  /// SHA-256 of the canonical state without event numbers and times.
  public var digest: Digest {
    var bytes: [UInt8] = []
    append(to: &bytes, withEventNumbers: false)
    return Digest(of: bytes)
  }

  /// The state as an older program recorded it, which named actions by the text of their input; `nil` where
  /// that is no other.
  package var withOlderActionIds: AgentState? {
    let older = approvals.withOlderActionIds
    let olderPending = pending.withOlderActionIds
    guard older != nil || olderPending != nil else { return nil }
    var state = self
    state.approvals = older ?? approvals
    state.pending = olderPending ?? pending
    return state
  }

  /// Whether a log may say that this is the state's digest: by today's names of actions, or by older ones.
  package func isRecorded(as digest: String) -> Bool {
    digest == self.digest.hex || digest == withOlderActionIds?.digest.hex
  }

  /// The wire form, as a checkpoint holds it.
  public var encoded: JSONValue {
    encoded(
      observations: observations.encoded(withEventNumbers: true), withEventNumbers: true)
  }

  /// Appends the canonical bytes of ``encoded``; returns how deep they nest. A thousand observations
  /// are most of a state, and no values are made of them.
  @_spi(Scanning) public func append(to bytes: inout [UInt8]) -> Int {
    append(to: &bytes, withEventNumbers: true)
  }

  @discardableResult
  private func append(to bytes: inout [UInt8], withEventNumbers: Bool) -> Int {
    // No key of a state has a meaning of its own in a log, so that their order stays.
    bytes.append(UInt8(ascii: "{"))
    let object = encoded(observations: nil, withEventNumbers: withEventNumbers).objectValue ?? [:]
    for (index, member) in object.enumerated() {
      CanonicalJSON.appendKey(member.key, isFirst: index == 0, to: &bytes)
      if member.key.hasSameUTF8(as: "observations") {
        observations.append(to: &bytes, withEventNumbers: withEventNumbers)
      } else {
        CanonicalJSON.append(member.value, to: &bytes)
      }
    }
    bytes.append(UInt8(ascii: "}"))
    return max(JSONValue.object(object).depth, observations.recent.isEmpty ? 3 : 4)
  }

  /// - Parameter observations: their wire form; `nil` leaves a null in their place.
  private func encoded(observations: JSONValue?, withEventNumbers: Bool) -> JSONValue {
    let stop = stop.map { stop in
      JSONObject(present: [
        ("reason", .string(stop.reason)), ("detail", stop.detail.map(JSONValue.string)),
        ("final", .bool(stop.isFinal)),
      ])
    }
    return .object(
      JSONObject(present: [
        ("runId", .string(runId)), ("goal", goal), ("policyContext", .object(policyContext)),
        ("steps", JSONValue(steps)), ("maxSteps", maxSteps.map { JSONValue($0) }),
        ("totals", .object(totals.encoded)),
        ("observations", observations ?? .null),
        (
          "pendingCalls",
          .array(pendingCalls.map { $0.encoded(withEventNumbers: withEventNumbers) })
        ),
        ("approvedActionIds", JSONValue(approvedActionIds)), ("approvals", approvals.encoded),
        ("memory", .object(memory)),
        ("breakers", .object(breakers)), ("counters", counters.encoded),
        ("elapsedMicroseconds", withEventNumbers ? JSONValue(elapsedMicroseconds) : .null),
        ("question", question.map(JSONValue.string)), ("stop", stop.map(JSONValue.object)),
        ("history", .string(history.hex)),
      ]))
  }

  /// Reads the wire form of this ``format``.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    runId = try reader.string("runId")
    goal = object["goal"] ?? .null
    policyContext = try reader.optionalObject("policyContext") ?? [:]
    maxSteps = try reader.optionalInt("maxSteps")
    totals = try Totals(decoding: try reader.optionalObject("totals") ?? [:])
    observations = try RecentObservations(
      reader: PayloadReader(try reader.optionalObject("observations") ?? [:], path: "observations"))
    for call in try reader.objects("pendingCalls") {
      pending.append(try PendingCall(reader: call))
    }
    approvals = try Approvals(readers: try reader.objects("approvals"))
    memory = try reader.optionalObject("memory") ?? [:]
    breakers = try reader.optionalObject("breakers") ?? [:]
    counters = try Counters(
      reader: PayloadReader(try reader.optionalObject("counters") ?? [:], path: "counters"))
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds") ?? 0
    question = try reader.optionalString("question")
    if let object = try reader.optionalObject("stop") {
      let stop = PayloadReader(object, path: "stop")
      self.stop = StopSummary(
        reason: try stop.string("reason"), detail: try stop.optionalString("detail"),
        isFinal: try stop.optionalBool("final") ?? true)
    }
    history = try reader.required("history", "a SHA-256 digest") {
      $0.stringValue.flatMap(Digest.init(hex:))
    }
  }
}

extension AgentState.Counters {
  var encoded: JSONValue {
    [
      "denials": JSONValue(denials), "toolErrorsInARow": JSONValue(toolErrorsInARow),
      "invalidDecisionsInARow": JSONValue(invalidDecisionsInARow),
    ]
  }

  init(reader: PayloadReader) throws(PayloadError) {
    denials = try reader.int("denials")
    toolErrorsInARow = try reader.int("toolErrorsInARow")
    invalidDecisionsInARow = try reader.int("invalidDecisionsInARow")
  }
}
