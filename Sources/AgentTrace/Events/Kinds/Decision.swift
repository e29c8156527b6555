extension EventType {
  /// The reply was read as a decision.
  public static let decision = EventType(rawValue: "decision")
}

/// A call that a decision proposes. What becomes of it is for validation and policy to say.
public struct ProposedCall: Sendable, Hashable {
  /// Ours: `<step>.<try>.<index>`, steps and tries from 1, index from 0.
  public var callId: String
  /// The tool's name.
  public var name: String
  /// The arguments as JSON: an object, unless the model's reply was no such thing.
  public var input: JSONValue
  /// The model's own id of the call, as it stood.
  public var providerCallId: String?
  /// Who runs it, where that is not whoever runs the agent: ``provider``, or a word that this version does not
  /// know.
  public var executedBy: String?

  /// ``executedBy`` of a call that the model's provider ran before its reply came: no policy was asked.
  public static let provider = "provider"

  /// Any name and input will do: whether the call is valid and may run is for validation and policy.
  public init(
    callId: String, name: String, input: JSONValue, providerCallId: String? = nil,
    executedBy: String? = nil
  ) {
    self.callId = callId
    self.name = name
    self.input = input
    self.providerCallId = providerCallId
    self.executedBy = executedBy
  }

  init(reader: PayloadReader) throws(PayloadError) {
    callId = try reader.string("callId")
    name = try reader.text("name")
    guard let input = reader.object["input"] else { throw reader.error("input", "a JSON value") }
    self.input = input
    providerCallId = try reader.optionalString("providerCallId")
    executedBy = try reader.optionalString("executedBy")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("callId", .string(callId)), ("name", .string(name)), ("input", input),
      ("providerCallId", providerCallId.map(JSONValue.string)),
      ("executedBy", executedBy.map(JSONValue.string)),
    ])
  }

  /// What an approval of this call covers, and nothing else: SHA-256 of canonical `[tool,input]`, numbers
  /// by their value.
  public var actionId: String { Digest(of: .array([.string(name), input.byValue])).hex }

  /// What older programs called it, which took each number as it was written: `5.0` was not `5`. `nil` where
  /// that is no other.
  public var olderActionId: String? {
    input.byValue == input ? nil : Digest(of: .array([.string(name), input])).hex
  }
}

/// What older programs called an action, as long as that is known: no part of what a state is.
struct OlderActionId: Sendable, Hashable {
  var id: String?

  static func == (left: OlderActionId, right: OlderActionId) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

/// What the model wants to do next, once its reply has been read. A proposal until it is allowed.
public enum Decision: Sendable, Hashable {
  /// The run's answer, with the observations it rests on.
  case answer(text: String, evidenceRefs: [String])
  /// One or more calls, without an order among themselves.
  case tool([ProposedCall])
  /// A question to a person.
  case askHuman(question: String)
  /// The model's own stop: `success` or `blocked`. The detail says why, where it was not the model's plain word:
  /// ``StopDetail/refusal`` or ``StopDetail/contentFilter``.
  case stop(StopReason, detail: String? = nil)
  /// A reply that is no decision, why, and what calls it held.
  case invalid(reason: String, calls: [ProposedCall])
}

extension Decision {
  /// The word for this kind of decision on the wire.
  public var kind: String {
    switch self {
    case .answer: "answer"
    case .tool: "tool"
    case .askHuman: "ask_human"
    case .stop: "stop"
    case .invalid: "invalid"
    }
  }

  /// Every call the decision holds, invalid ones too.
  public var calls: [ProposedCall] {
    switch self {
    case .tool(let calls), .invalid(_, let calls): calls
    default: []
    }
  }
}

/// The data of a `decision` event: the decision, flat, who made it, and the reply it was read from.
public struct DecisionPayload: Sendable, Hashable {
  /// What the reply was read as.
  public var decision: Decision
  /// Who makes the calls; `nil` means the agent.
  public var caller: String?
  /// The number of the `model_result` that the decision was read from.
  public var modelResult: Int?
  /// Which of several conversations that go on side by side it is part of; `nil` where there is one alone. Calls
  /// of one wait for their results whatever is decided in another.
  public var conversation: Int?
  /// Whether it is part of the agent's own conversation though ``caller`` is another: one that was handed over.
  public var isOfAgent = false
  /// Whether a simulated user makes the calls, who is none of the agents whatever ``caller`` says.
  public var isOfUser = false

  /// Without more, a decision of the agent's own that names no reply.
  public init(_ decision: Decision, caller: String? = nil, modelResult: Int? = nil) {
    self.decision = decision
    self.caller = caller
    self.modelResult = modelResult
  }

  /// Whether it only tells of calls that were run elsewhere: nothing is to be decided or done.
  public var isTold: Bool {
    !decision.calls.isEmpty && decision.calls.allSatisfy { $0.executedBy != nil }
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    caller = try reader.optionalString("caller")
    modelResult = try reader.optionalInt("modelResult")
    conversation = try reader.optionalInt("conversation")
    isOfAgent = try reader.optionalBool("ofAgent") ?? false
    isOfUser = try reader.optionalBool(SimulatedUser.key) ?? false
    var calls: [ProposedCall] = []
    for call in try reader.objects("calls") { calls.append(try ProposedCall(reader: call)) }
    let kind = try reader.string("kind")
    // Nobody knows what becomes of calls that stand beside something else.
    guard calls.isEmpty || kind == "tool" || kind == "invalid" else {
      throw reader.error("calls", "there only where the kind is tool or invalid")
    }
    switch kind {
    case "answer":
      decision = .answer(
        text: try reader.text("text"), evidenceRefs: try reader.strings("evidenceRefs"))
    case "tool": decision = .tool(calls)
    case "ask_human": decision = .askHuman(question: try reader.text("question"))
    case "stop":
      decision = .stop(
        try reader.enumeration("reason", StopReason.self, "a stop reason"),
        detail: try reader.optionalString("detail"))
    case "invalid": decision = .invalid(reason: try reader.text("reason"), calls: calls)
    default: throw reader.error("kind", "answer, tool, ask_human, stop or invalid")
    }
  }

  /// The wire form.
  public var encoded: JSONObject {
    var object: JSONObject
    switch decision {
    case .answer(let text, let refs):
      object = ["text": .string(text), "evidenceRefs": JSONValue(refs)]
    case .tool(let calls):
      object = ["calls": .array(calls.map { .object($0.encoded) })]
    case .askHuman(let question): object = ["question": .string(question)]
    case .stop(let reason, let detail):
      object = ["reason": .string(reason.rawValue)]
      object["detail"] = detail.map(JSONValue.string)
    case .invalid(let reason, let calls):
      object = ["reason": .string(reason), "calls": .array(calls.map { .object($0.encoded) })]
    }
    object["kind"] = .string(decision.kind)
    object["caller"] = caller.map(JSONValue.string)
    object["modelResult"] = modelResult.map { JSONValue($0) }
    object["conversation"] = conversation.map { JSONValue($0) }
    if isOfAgent { object["ofAgent"] = true }
    if isOfUser { object[SimulatedUser.key] = true }
    return object
  }
}

extension DecisionPayload: EventData {
  package static var keys: [DataKey] {
    [
      DataKey(
        "kind!", .words(["answer", "tool", "ask_human", "stop", "invalid"]),
        "What kind of decision."
      ),
      DataKey("text", .text, "The answer."),
      DataKey("evidenceRefs", .list(.string), "What the answer rests on."),
      DataKey("calls", .list(.call), "The calls that are proposed."),
      DataKey("question", .text, "The question to a person."),
      DataKey("reason", .text, "Why the model stops, or why the reply is no decision."),
      DataKey(
        "detail", .string,
        "Of a stop, what kind of refusal: refusal or content_filter; the model's plain word without it."
      ),
      DataKey("caller", .string, "Who makes the calls; the agent without it."),
      DataKey("modelResult", .count, "The event with the reply."),
      DataKey("conversation", .count, "Which of several conversations side by side."),
      DataKey(
        "ofAgent", .boolean,
        "Whether it is the agent's own conversation, which was handed over to the caller."),
      DataKey(
        SimulatedUser.key, .boolean,
        "Whether a simulated user makes the calls, who is none of the agents."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let by = caller.map { "\($0): " } ?? ""
    switch decision {
    case .answer(let text, _): return [EventLine("answer", .heading, "\(by)\(text)")]
    case .askHuman(let question): return [EventLine("asks", .heading, "\(by)\(question)")]
    case .stop(let reason, let detail):
      let words = [reason.rawValue, detail].compactMap(\.self).joined(separator: ": ")
      return [EventLine("stops", .heading, "\(by)\(words)")]
    case .invalid(let reason, _): return [EventLine("invalid", .bad, "\(by)\(reason)")]
    case .tool(let calls):
      return calls.map { call in
        EventLine("call", .heading, "\(by)\(call.name) \(call.input)", tail: call.callId)
      }
    }
  }
}

extension DataShape {
  /// A call, as decisions name it.
  package static let proposedCall = DataShape.object(
    "A call that a decision proposes.",
    [
      DataKey("callId!", .string, "Ours: step, try and index."),
      DataKey("name!", .text, "The tool."),
      DataKey("input!", .any, "What goes in."),
      DataKey("providerCallId", .string, "The model's own id."),
      DataKey("executedBy", .string, "Who ran it, where that is not who runs the agent: provider."),
    ])
}
