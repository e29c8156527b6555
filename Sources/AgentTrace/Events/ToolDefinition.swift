/// What running a tool does to the world.
public enum SideEffect: String, Sendable, Hashable, CaseIterable {
  /// Looks, changes nothing.
  case read
  /// Makes something that a person still has to release.
  case draft
  /// Changes the world.
  case write

  /// The worst of some; `read` of none.
  public static func worst(of effects: [SideEffect]) -> SideEffect {
    allCases.last { effects.contains($0) } ?? .read
  }
}

/// What a tool is, as the model and the policy gate see it.
public struct ToolDefinition: Sendable, Hashable {
  /// What calls name it by; unique among an agent's tools.
  public var name: String
  /// What the model is told about it; may be empty.
  public var description: String
  /// A JSON Schema that every input is checked against before policy sees it.
  public var inputSchema: JSONValue
  /// A JSON Schema of the result's data.
  public var outputSchema: JSONValue?
  /// What a call does to the world at most.
  public var sideEffect: SideEffect
  /// A word of the agent's author, for policy; `nil` where none was given.
  public var sensitivity: String?
  /// Seconds until a call is cut off; `nil` for the runtime's default.
  public var timeoutSeconds: Double?
  /// Whether the tool honours idempotency keys, so that a call may be made again.
  public var idempotent: Bool
  /// The kind of decision that a call of it makes in place of running anything (``Decision/kind``); `nil` for a
  /// tool that runs.
  public var decides: String?
  /// Of a tool that is an agent, what it is: a call of it is a run of its own; `nil` for any other.
  public var agent: ChildAgent?

  /// An agent that is a tool.
  public struct ChildAgent: Sendable, Hashable {
    /// The agent's own name; what calls name it by is ``ToolDefinition/name``.
    public var name: String
    /// Whether its answer is the answer of the run that calls it, which then stops.
    public var isHandoff: Bool

    /// The wire form is `{"name","handoff"}`.
    public init(name: String, isHandoff: Bool = false) {
      self.name = name
      self.isHandoff = isHandoff
    }
  }

  /// The defaults are the careful ones: a tool of unknown effect writes.
  public init(
    name: String, description: String = "", inputSchema: JSONValue = ["type": "object"],
    outputSchema: JSONValue? = nil, sideEffect: SideEffect = .write, sensitivity: String? = nil,
    timeoutSeconds: Double? = nil, idempotent: Bool = false
  ) {
    self.name = name
    self.description = description
    self.inputSchema = inputSchema
    self.outputSchema = outputSchema
    self.sideEffect = sideEffect
    self.sensitivity = sensitivity
    self.timeoutSeconds = timeoutSeconds
    self.idempotent = idempotent
  }

  /// Reads the wire form. Only the name is required; a tool of unknown effect counts as a write.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    try self.init(reader: PayloadReader(object))
  }

  init(reader: PayloadReader) throws(PayloadError) {
    name = try reader.string("name")
    description = try reader.optionalString("description") ?? ""
    inputSchema = reader.object["inputSchema"] ?? ["type": "object"]
    outputSchema = reader.object["outputSchema"]
    sideEffect =
      reader.object["sideEffect"] == nil
      ? .write
      : try reader.enumeration("sideEffect", SideEffect.self, "read, draft or write")
    sensitivity = try reader.optionalString("sensitivity")
    timeoutSeconds = try reader.optionalDouble("timeoutSeconds")
    idempotent = try reader.optionalBool("idempotent") ?? false
    decides = try reader.optionalString("decides")
    if let object = try reader.optionalObject("agent") {
      let child = PayloadReader(object, path: "agent")
      agent = ChildAgent(
        name: try child.string("name"), isHandoff: try child.optionalBool("handoff") ?? false)
    }
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("name", .string(name)), ("description", .string(description)),
      ("inputSchema", inputSchema), ("outputSchema", outputSchema),
      ("sideEffect", .string(sideEffect.rawValue)),
      ("sensitivity", sensitivity.map(JSONValue.string)),
      ("timeoutSeconds", timeoutSeconds.map { JSONValue($0) }),
      ("idempotent", .bool(idempotent)), ("decides", decides.map(JSONValue.string)),
      ("agent", agent.map { ["name": .string($0.name), "handoff": .bool($0.isHandoff)] }),
    ])
  }
}

extension DataShape {
  /// A tool, as runs list it.
  package static let toolDefinition = DataShape.object(
    "A tool as the model and the gate see it.",
    [
      DataKey("name!", .string, "Its name."),
      DataKey("description", .string, "What the model is told."),
      DataKey("inputSchema", .any, "The JSON Schema of its input."),
      DataKey("outputSchema", .any, "The JSON Schema of its result."),
      DataKey("sideEffect", .words(SideEffect.allCases.map(\.rawValue)), "What running it does."),
      DataKey("sensitivity", .string, "A word of the agent's author."),
      DataKey("timeoutSeconds", .number, "Seconds until a call is cut off."),
      DataKey("idempotent", .boolean, "Whether a call may be made again."),
      DataKey(
        "decides", .words(["answer", "ask_human", "stop"]),
        "The kind of decision that a call of it makes in place of running."),
      DataKey(
        "agent",
        .object([
          DataKey("name!", .string, "Its name."),
          DataKey("handoff", .boolean, "Whether its answer is this run's own."),
        ]), "The agent that it is: a call of it is a run of its own."),
    ])
}
