/// Where a trace came from, if not from our own runtime, and which channels it lacks.
public struct RunSource: Sendable, Hashable {
  /// The name of the format, for example `tau2`.
  public var format: String
  /// The file it was read from.
  public var file: String
  /// Which run of the file, where it holds many.
  public var index: Int?
  /// What the source says about the run: rewards, tasks, models.
  public var labels: JSONObject

  public init(format: String, file: String, index: Int? = nil, labels: JSONObject = [:]) {
    self.format = format
    self.file = file
    self.index = index
    self.labels = labels
  }
}

/// The run that this one came from.
public struct ParentRun: Sendable, Hashable {
  public var runId: String
  /// The last event that both share, or the one that started this run.
  public var seq: Int
  /// `fork`, `task` or `subagent`.
  public var relation: String

  public init(runId: String, seq: Int, relation: String) {
    self.runId = runId
    self.seq = seq
    self.relation = relation
  }
}

/// The data of a `run_started` event.
public struct RunStarted: Sendable, Hashable {
  /// The version of the log format that this project writes.
  public static let currentFormatVersion = 1

  public var formatVersion = currentFormatVersion
  public var agentName: String
  public var agentVersion: String?
  /// SHA-256 of the agent file's bytes.
  public var agentDigest: String?
  public var goal: JSONValue
  public var input: JSONValue?
  public var limits: Limits
  public var policyContext: PolicyContext
  /// SHA-256 of the policy's bytes, where it stands in a file of its own.
  public var policyDigest: String?
  public var tools: [ToolDefinition]
  /// Who serves the model, and its name.
  public var modelProvider: String?
  public var modelName: String?
  public var seed: Int?
  public var caseId: String?
  public var trial: Int?
  public var parent: ParentRun?
  public var pipelineId: String?
  public var taskId: String?
  /// Imports only: `none` or `partial` for each channel that is not whole.
  public var recorded: [String: String]
  public var source: RunSource?
  public var tags: [String]

  public init(
    agentName: String, goal: JSONValue, input: JSONValue? = nil, limits: Limits = Limits(),
    policyContext: PolicyContext = PolicyContext(), tools: [ToolDefinition] = []
  ) {
    self.agentName = agentName
    self.goal = goal
    self.input = input
    self.limits = limits
    self.policyContext = policyContext
    self.tools = tools
    recorded = [:]
    tags = []
  }

  /// Reads the wire form. A newer format version is for the caller to refuse.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    formatVersion = try reader.int("formatVersion")
    let agent = PayloadReader(try reader.optionalObject("agent") ?? [:], path: "agent")
    agentName = try agent.optionalString("name") ?? ""
    agentVersion = try agent.optionalString("version")
    agentDigest = try agent.optionalString("digest")
    goal = object["goal"] ?? .null
    input = object["input"]
    limits = try Limits(decoding: try reader.optionalObject("limits") ?? [:])
    policyContext = try PolicyContext(decoding: try reader.optionalObject("policyContext") ?? [:])
    policyDigest = try reader.optionalString("policyDigest")
    tools = []
    for tool in try reader.objects("tools") { tools.append(try ToolDefinition(reader: tool)) }
    let model = PayloadReader(try reader.optionalObject("model") ?? [:], path: "model")
    modelProvider = try model.optionalString("provider")
    modelName = try model.optionalString("name")
    seed = try reader.optionalInt("seed")
    let evalCase = PayloadReader(try reader.optionalObject("case") ?? [:], path: "case")
    caseId = try evalCase.optionalString("caseId")
    trial = try evalCase.optionalInt("trial")
    parent = try Self.parent(in: reader)
    pipelineId = try reader.optionalString("pipelineId")
    taskId = try reader.optionalString("taskId")
    _ = try reader.optionalObject("recorded")
    recorded = Self.recorded(in: object)
    source = try Self.source(in: reader)
    tags = try reader.strings("tags")
  }

  /// What the data of the event say of channels that are not whole, whatever else is in them.
  static func recorded(in data: JSONObject) -> [String: String] {
    var recorded: [String: String] = [:]
    for member in data["recorded"]?.objectValue ?? [:] {
      recorded[member.key] = member.value.stringValue ?? "partial"
    }
    return recorded
  }

  private static func parent(in reader: PayloadReader) throws(PayloadError) -> ParentRun? {
    guard let object = try reader.optionalObject("parent") else { return nil }
    let parent = PayloadReader(object, path: "parent")
    return ParentRun(
      runId: try parent.string("runId"), seq: try parent.int("seq"),
      relation: try parent.string("relation"))
  }

  private static func source(in reader: PayloadReader) throws(PayloadError) -> RunSource? {
    guard let object = try reader.optionalObject("source") else { return nil }
    let source = PayloadReader(object, path: "source")
    return RunSource(
      format: try source.string("format"), file: try source.text("file"),
      index: try source.optionalInt("index"), labels: try source.optionalObject("labels") ?? [:])
  }

  /// The wire form.
  public var encoded: JSONObject {
    let agent = JSONObject(present: [
      ("name", .string(agentName)), ("version", agentVersion.map(JSONValue.string)),
      ("digest", agentDigest.map(JSONValue.string)),
    ])
    let model = JSONObject(present: [
      ("provider", modelProvider.map(JSONValue.string)),
      ("name", modelName.map(JSONValue.string)),
    ])
    let evalCase = caseId.map { caseId in
      JSONObject(present: [("caseId", .string(caseId)), ("trial", trial.map { JSONValue($0) })])
    }
    return JSONObject(present: [
      ("formatVersion", JSONValue(formatVersion)), ("agent", .object(agent)), ("goal", goal),
      ("input", input), ("limits", .object(limits.encoded)),
      ("policyContext", .object(policyContext.encoded)),
      ("policyDigest", policyDigest.map(JSONValue.string)),
      ("tools", .array(tools.map { .object($0.encoded) })),
      ("model", model.isEmpty ? nil : .object(model)), ("seed", seed.map { JSONValue($0) }),
      ("case", evalCase.map(JSONValue.object)),
      (
        "parent",
        parent.map {
          [
            "runId": .string($0.runId), "seq": JSONValue($0.seq),
            "relation": .string($0.relation),
          ]
        }
      ),
      ("pipelineId", pipelineId.map(JSONValue.string)), ("taskId", taskId.map(JSONValue.string)),
      ("recorded", recorded.isEmpty ? nil : .object(recordedObject)),
      ("source", source.map { .object($0.encoded) }),
      ("tags", tags.isEmpty ? JSONValue?.none : JSONValue(tags)),
    ])
  }

  private var recordedObject: JSONObject {
    JSONObject(recorded.map { ($0.key, .string($0.value)) })
  }
}

extension RunSource {
  var encoded: JSONObject {
    JSONObject(present: [
      ("format", .string(format)), ("file", .string(file)), ("index", index.map { JSONValue($0) }),
      ("labels", labels.isEmpty ? nil : .object(labels)),
    ])
  }
}
