extension EventType {
  /// A context packet was assembled; stands before each decision.
  public static let contextBuilt = EventType(rawValue: "context_built")
}

/// Something that was taken into a context or left out of it, and why.
public struct ContextItem: Sendable, Hashable {
  /// `system`, `goal`, `tool:<name>`, `summary:<event>`, or the id of an observation.
  public let ref: String
  /// Why it was taken in or left out, in words.
  public let reason: String
  /// The wire form, made once: who keeps an item has the same value in every packet, which is then known
  /// to be equal without a look at it.
  let encoded: JSONValue

  /// An item; any text is a reference or a reason.
  public init(ref: String, reason: String) {
    self.init(ref: ref, reason: reason, encoded: ["ref": .string(ref), "reason": .string(reason)])
  }

  private init(ref: String, reason: String, encoded: JSONValue) {
    self.ref = ref
    self.reason = reason
    self.encoded = encoded
  }

  /// Whether both say the same of the same thing.
  public static func == (left: ContextItem, right: ContextItem) -> Bool {
    left.ref == right.ref && left.reason == right.reason
  }

  /// Feeds what is compared.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ref)
    hasher.combine(reason)
  }

  init(reader: PayloadReader) throws(PayloadError) {
    let ref = try reader.text("ref")
    let reason = try reader.text("reason")
    self.init(ref: ref, reason: reason)
  }

  /// The item whose wire form a value is, which is kept as it is; `nil` where it says anything else.
  private init?(wireForm value: JSONValue) {
    guard let object = value.objectValue, object.count == 2,
      let ref = object["ref"]?.stringValue, let reason = object["reason"]?.stringValue
    else { return nil }
    self.init(ref: ref, reason: reason, encoded: value)
  }

  /// The items of a list.
  ///
  /// Each packet names nearly all that the one before it named: for an item that is what it should be, no value
  /// and no path for an error is made.
  fileprivate static func all(
    in key: String, of reader: PayloadReader
  ) throws(PayloadError) -> [ContextItem] {
    let values = try reader.optional(key, "a list", \.arrayValue) ?? []
    var items: [ContextItem] = []
    items.reserveCapacity(values.count)
    for (index, value) in values.enumerated() {
      if let item = ContextItem(wireForm: value) {
        items.append(item)
        continue
      }
      guard let object = value.objectValue else {
        throw reader.error("\(key)/\(index)", "an object")
      }
      items.append(try ContextItem(reader: PayloadReader(object, path: "\(key)/\(index)")))
    }
    return items
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

  /// What a packet holds as it is recorded: no part is worked out from the others.
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
    included = try ContextItem.all(in: "included", of: reader)
    omittedRefs = try ContextItem.all(in: "omittedRefs", of: reader)
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

  /// Where the messages stand.
  public static var messagesPointer: JSONPointer { listPointers[messagesList] }
}

/// What a `context_built` event holds, counted.
public struct ContextOutline: Sendable, Hashable {
  /// The number of the event.
  public var seq: Int
  /// The step that the event belongs to.
  public var step: Int
  /// How many messages the packet has.
  public var messages: Int
  /// How many tools the model may call.
  public var toolsDisclosed: Int
  /// How many things could have been put before the model and were not.
  public var omitted: Int
  /// Estimated tokens of the prompt; 0 where nobody estimated them.
  public var tokenEstimate: Int

  /// An outline of what was counted.
  public init(
    seq: Int, step: Int, messages: Int, toolsDisclosed: Int, omitted: Int, tokenEstimate: Int
  ) {
    self.seq = seq
    self.step = step
    self.messages = messages
    self.toolsDisclosed = toolsDisclosed
    self.omitted = omitted
    self.tokenEstimate = tokenEstimate
  }

  /// Counts the lists of a `context_built` event; `nil` where one is no list.
  ///
  /// What stands in the lists is not looked at.
  public init?(counting event: Event) {
    guard event.type == .contextBuilt, let messages = Self.count(event.data["prompt"]?["messages"]),
      let tools = Self.count(event.data["toolsDisclosed"]),
      let omitted = Self.count(event.data["omittedRefs"])
    else { return nil }
    var estimate = 0
    if let tokens = event.data["tokens"] {
      guard let count = tokens["estimate"]?.intValue else { return nil }
      estimate = count
    }
    self.init(
      seq: event.seq, step: event.step, messages: messages, toolsDisclosed: tools,
      omitted: omitted, tokenEstimate: estimate)
  }

  private static func count(_ list: JSONValue?) -> Int? {
    guard let list else { return 0 }
    return list.arrayValue?.count
  }

  /// Counts what a packet holds.
  public init(of packet: ContextPacket, seq: Int, step: Int) {
    self.init(
      seq: seq, step: step, messages: packet.messages.count,
      toolsDisclosed: packet.toolsDisclosed.count, omitted: packet.omittedRefs.count,
      tokenEstimate: packet.tokenEstimate)
  }
}

extension ContextOutline {
  /// The line that tells people of it.
  package var line: EventLine {
    var text = Figures.count(messages, "message")
    if tokenEstimate > 0 { text += ", about \(tokenEstimate) tokens" }
    if toolsDisclosed > 0 { text += ", \(Figures.count(toolsDisclosed, "tool"))" }
    if omitted > 0 { text += ", \(omitted) left out" }
    return EventLine("context", .faint, "\(text)")
  }
}

extension ContextPacket: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("runId!", .string, "The run."), DataKey("goal", .any, "What the agent is to do."),
      DataKey("stateSummary", .mapping, "A few figures of the state."),
      DataKey("observations", .list(.any), "What was observed: id and summary."),
      DataKey("toolsDisclosed", .list(.string), "Names of the tools that it may call."),
      DataKey("evidenceRefs", .list(.string), "Ids of results that an answer may cite."),
      DataKey("memoryRefs", .list(.string), "Notes that were read, as scope/key."),
      DataKey("included", .list(.contextItem), "What was taken in, and why."),
      DataKey("omittedRefs", .list(.contextItem), "What was left out, and why."),
      DataKey(
        "prompt", .object([DataKey("messages", .list(.any), "Each with role and content.")]),
        "The messages as the model got them."
      ),
      DataKey(
        "tokens",
        .object([
          DataKey("estimate", .count, "Estimated tokens of the prompt."),
          DataKey("budget", .count, "How many there may be."),
        ]), "How large the prompt is."
      ),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    [ContextOutline(of: self, seq: event.seq, step: event.step).line]
  }
}

extension DataShape {
  /// An entry of what was taken in or left out.
  package static let itemOfContext = DataShape.object(
    "Something that was taken in or left out.",
    [DataKey("ref!", .text, "What."), DataKey("reason!", .text, "Why.")])
}
