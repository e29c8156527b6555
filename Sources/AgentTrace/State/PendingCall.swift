/// A call of the current decision that has not entered the state yet: it waits for its result, or
/// its result waits for those of the calls before it.
///
/// Why: Docs/decisions/0002-history-of-parallel-calls.md
public struct PendingCall: Sendable, Hashable {
  /// See ``ProposedCall/callId``.
  public var callId: String
  /// The name of the tool that is called.
  public var tool: String
  /// What an approval of it covers; the input itself stays in the log.
  public var actionId: String
  var older = OlderActionId()
  /// The number of the decision that holds it.
  public var seq: Int
  /// Whether a `tool_started` was seen.
  public var isStarted: Bool
  /// The digest of this call's events so far, to enter the state's history in call order.
  public var history: Digest
  /// A result that came before its turn.
  public var result: Result?
  /// See ``DecisionPayload/conversation``.
  public var conversation: Int?

  /// What of a result enters the state.
  public struct Result: Sendable, Hashable {
    /// What is observed once it is the call's turn.
    public var observation: Observation
    /// The result's status on the wire.
    public var status: String
  }

  init(call: ProposedCall, seq: Int, conversation: Int?) {
    self.conversation = conversation
    callId = call.callId
    tool = call.name
    actionId = call.actionId
    older.id = call.olderActionId
    self.seq = seq
    isStarted = false
    history = .zero
  }

  init(reader: PayloadReader) throws(PayloadError) {
    callId = try reader.string("callId")
    tool = try reader.string("tool")
    actionId = try reader.string("actionId")
    seq = try reader.optionalInt("seq") ?? 0
    isStarted = try reader.optionalBool("started") ?? false
    history = try reader.required("history", "a SHA-256 digest") {
      $0.stringValue.flatMap(Digest.init(hex:))
    }
    conversation = try reader.optionalInt("conversation")
    if let object = try reader.optionalObject("result") {
      let result = PayloadReader(object, path: "result")
      let observation = PayloadReader(try result.optionalObject("observation") ?? [:])
      self.result = Result(
        observation: try Observation(reader: observation), status: try result.string("status"))
    }
  }

  func encoded(withEventNumbers: Bool) -> JSONValue {
    let result = result.map { result -> JSONValue in
      [
        "observation": result.observation.encoded(withEventNumbers: withEventNumbers),
        "status": .string(result.status),
      ]
    }
    return .object(
      JSONObject(present: [
        ("callId", .string(callId)), ("tool", .string(tool)), ("actionId", .string(actionId)),
        ("seq", withEventNumbers ? JSONValue(seq) : .null), ("started", .bool(isStarted)),
        ("history", .string(history.hex)), ("result", result),
        ("conversation", conversation.map { JSONValue($0) }),
      ]))
  }
}
