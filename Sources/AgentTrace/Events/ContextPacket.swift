/// Something that was taken into a context or left out of it, and why.
public struct ContextItem: Sendable, Hashable {
  /// `system`, `goal`, `tool:<name>`, `summary:<event>`, or the id of an observation.
  public var ref: String
  /// Why it was taken in or left out, in words.
  public var reason: String

  /// Nothing is checked.
  public init(ref: String, reason: String) {
    self.ref = ref
    self.reason = reason
  }

  var encoded: JSONValue { ["ref": .string(ref), "reason": .string(reason)] }

  init(reader: PayloadReader) throws(PayloadError) {
    ref = try reader.text("ref")
    reason = try reader.text("reason")
  }
}

/// Everything a model is given before one decision: the data of a `context_built` event.
public struct ContextPacket: Sendable, Hashable {
  /// The run that the packet is for.
  public var runId: String
  /// What the agent is to do; null in an import that does not say.
  public var goal: JSONValue
  /// A few figures of the state; small and bounded.
  public var stateSummary: JSONObject
  /// What was observed, as `{"id","summary"}`.
  public var observations: [JSONValue]
  /// Names of the tools the model may call.
  public var toolsDisclosed: [String]
  /// Ids of results that an answer may cite.
  public var evidenceRefs: [String]
  /// Notes that were read, as `scope/key`.
  public var memoryRefs: [String]
  /// What was put before the model, and why.
  public var included: [ContextItem]
  /// What could have been put before the model and was not, and why.
  public var omittedRefs: [ContextItem]
  /// The messages, each `{"role","content":[…]}`.
  public var messages: [JSONValue]
  /// Estimated tokens of the prompt, and how many there may be.
  public var tokenEstimate: Int
  /// The most that ``tokenEstimate`` should be; `nil` for no budget.
  public var tokenBudget: Int?

  /// Nothing is checked.
  public init(
    runId: String, goal: JSONValue, stateSummary: JSONObject, observations: [JSONValue],
    toolsDisclosed: [String], evidenceRefs: [String], memoryRefs: [String],
    included: [ContextItem], omittedRefs: [ContextItem], messages: [JSONValue],
    tokenEstimate: Int, tokenBudget: Int?
  ) {
    self.runId = runId
    self.goal = goal
    self.stateSummary = stateSummary
    self.observations = observations
    self.toolsDisclosed = toolsDisclosed
    self.evidenceRefs = evidenceRefs
    self.memoryRefs = memoryRefs
    self.included = included
    self.omittedRefs = omittedRefs
    self.messages = messages
    self.tokenEstimate = tokenEstimate
    self.tokenBudget = tokenBudget
  }

  /// Reads the wire form, references resolved. An import may hold only some of the keys.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    runId = try reader.string("runId")
    goal = object["goal"] ?? .null
    stateSummary = try reader.optionalObject("stateSummary") ?? [:]
    observations = try reader.optional("observations", "a list", \.arrayValue) ?? []
    toolsDisclosed = try reader.strings("toolsDisclosed")
    evidenceRefs = try reader.strings("evidenceRefs")
    memoryRefs = try reader.strings("memoryRefs")
    included = []
    for item in try reader.objects("included") { included.append(try ContextItem(reader: item)) }
    omittedRefs = []
    for item in try reader.objects("omittedRefs") {
      omittedRefs.append(try ContextItem(reader: item))
    }
    let prompt = PayloadReader(try reader.optionalObject("prompt") ?? [:], path: "prompt")
    messages = try prompt.optional("messages", "a list", \.arrayValue) ?? []
    let tokens = PayloadReader(try reader.optionalObject("tokens") ?? [:], path: "tokens")
    tokenEstimate = try tokens.optionalInt("estimate") ?? 0
    tokenBudget = try tokens.optionalInt("budget")
  }

  /// The wire form, every array plain.
  public var encoded: JSONObject {
    [
      "runId": .string(runId), "goal": goal, "stateSummary": .object(stateSummary),
      "observations": .array(observations), "toolsDisclosed": JSONValue(toolsDisclosed),
      "evidenceRefs": JSONValue(evidenceRefs), "memoryRefs": JSONValue(memoryRefs),
      "included": .array(included.map(\.encoded)),
      "omittedRefs": .array(omittedRefs.map(\.encoded)),
      "prompt": ["messages": .array(messages)],
      "tokens": .object(
        JSONObject(present: [
          ("estimate", JSONValue(tokenEstimate)), ("budget", tokenBudget.map { JSONValue($0) }),
        ])),
    ]
  }

  /// Where in the data of a `context_built` the arrays stand that a log writes as `$list`, in the
  /// order their items are numbered: by key.
  public static let listPointers: [JSONPointer] = [
    JSONPointer(tokens: ["evidenceRefs"]), JSONPointer(tokens: ["included"]),
    JSONPointer(tokens: ["memoryRefs"]), JSONPointer(tokens: ["observations"]),
    JSONPointer(tokens: ["omittedRefs"]), JSONPointer(tokens: ["prompt", "messages"]),
    JSONPointer(tokens: ["toolsDisclosed"]),
  ]

  /// The place of the messages among ``listPointers``.
  static let messagesList = 5
}
