extension EventType {
  /// The first event of a log.
  public static let runStarted = EventType(rawValue: "run_started")
}

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

  /// Without an index, the file holds this run alone.
  public init(format: String, file: String, index: Int? = nil, labels: JSONObject = [:]) {
    self.format = format
    self.file = file
    self.index = index
    self.labels = labels
  }
}

/// The run that this one came from.
public struct ParentRun: Sendable, Hashable {
  /// The parent's identifier.
  public var runId: String
  /// The last event that both share, or the one that started this run.
  public var seq: Int
  /// `fork`, `task`, `subagent` or `judge`.
  public var relation: String
  /// Of a sub-agent: ``ToolStartedPayload/digest`` of the event that started it; `nil` for others.
  public var digest: String?
  /// Of a sub-agent: how many calls lead to it from the run at the top, from 1; `nil` for others.
  public var depth: Int?
  /// What a fork was made to have otherwise: `decision` or `result` with the number of the event that
  /// was put in its place, and `dropContext` with each `ref` that its packets leave out behind event
  /// `seq`. Empty for one
  /// that goes on as it is.
  public var edit: JSONObject
  /// Of a fork, under what that is otherwise now both shared what they share: `agentDigest` and
  /// `policyDigest` of then (null for none), `limits`, and of `models` and `tools` the SHA-256. Empty
  /// where nothing is.
  public var inputs: JSONObject = [:]

  /// The relation of a run that a call of a tool is which is an agent.
  public static let subagent = "subagent"

  /// Whether what a `run_started` says of its parent makes it the run that a call of that one is: it names the event
  /// that started it. A sub-agent that another program wrote down for itself does not.
  public static func isCall(_ parent: JSONValue?) -> Bool {
    parent?["relation"]?.stringValue == subagent && parent?["digest"]?.stringValue != nil
  }

  /// The relation of a run that a task of a pipeline is.
  public static let task = "task"

  /// Whether what a `run_started` says of its parent makes it a part of that one: a call of it, or an attempt at a task of
  /// it. Whoever looks at that one sees this with it; what this one used is in the totals of that.
  public static func isPart(_ parent: JSONValue?) -> Bool {
    isCall(parent) || parent?["relation"]?.stringValue == task
  }

  /// Without an edit, it goes on as the parent was.
  public init(runId: String, seq: Int, relation: String, edit: JSONObject = [:]) {
    self.runId = runId
    self.seq = seq
    self.relation = relation
    self.edit = edit
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("runId", .string(runId)), ("seq", JSONValue(seq)), ("relation", .string(relation)),
      ("digest", digest.map(JSONValue.string)), ("depth", depth.map { JSONValue($0) }),
      ("edit", edit.isEmpty ? nil : .object(edit)),
      ("inputs", inputs.isEmpty ? nil : .object(inputs)),
    ])
  }
}

/// The data of a `run_started` event.
public struct RunStarted: Sendable, Hashable {
  /// The key that names the log whose secrets were withheld to make this one.
  public static let scrubbedFromKey = "scrubbedFrom"

  /// The version of the log format that this project writes.
  public static let currentFormatVersion = 2

  /// The version of the format that the log is written in.
  public var formatVersion = currentFormatVersion
  /// What logs and reports call the agent; empty where an import does not say.
  public var agentName: String
  /// As its author counts; `nil` where none was given.
  public var agentVersion: String?
  /// SHA-256 of the agent file's bytes.
  public var agentDigest: String?
  /// What the agent is to do.
  public var goal: JSONValue
  /// What the run was started with; `nil` where it was not recorded.
  public var input: JSONValue?
  /// What the run may use at most.
  public var limits: Limits
  /// Who the run acts for.
  public var policyContext: PolicyContext
  /// SHA-256 of the policy's bytes, where it stands in a file of its own.
  public var policyDigest: String?
  /// The tools that the agent has; empty where that was not recorded.
  public var tools: [ToolDefinition]
  /// Who serves the model, and its name.
  public var modelProvider: String?
  /// The model's name as its provider has it; `nil` where it was not recorded.
  public var modelName: String?
  /// How each model is asked, by what it is asked for (``ModelPurpose``): an object of settings each;
  /// empty where that was not recorded.
  public var models: JSONObject = [:]
  /// Where what the run was started with came from, other than the agent file: by the key of an agent
  /// file (`limits.maxSteps`, `human`) one of `case`, `command_line`, `parent`, `fork` and `resume`.
  public var origins: JSONObject = [:]
  /// What else the agent file and its policy say that decides what a run does, by the keys of an agent
  /// file; empty where that was not recorded. Nothing is compared by it: it explains what differs.
  public var inputs: JSONObject = [:]
  /// What the run's identifier was made from; `nil` where it is random.
  public var seed: Int?
  /// The case that the run was made for; `nil` outside of one.
  public var caseId: String?
  /// Which trial of the case; `nil` where that was not recorded.
  public var trial: Int?
  /// The run that this one came from; `nil` for one that stands by itself.
  public var parent: ParentRun?
  /// The graph of tasks that the run belongs to; `nil` outside of one.
  public var pipelineId: String?
  /// The task of that graph; `nil` outside of one.
  public var taskId: String?
  /// Imports only: `none` or `partial` for each channel that is not whole.
  public var recorded: RecordedChannels
  /// Where an import came from; `nil` for a run of our own.
  public var source: RunSource?
  /// Words to find the run by.
  public var tags: [String]

  /// What no argument says is unknown, and can be set afterwards.
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
    recorded = RecordedChannels()
    tags = []
  }

  /// Reads the wire form. A newer format version is for the caller to refuse.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
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
    models = try reader.optionalObject("models") ?? [:]
    origins = try reader.optionalObject("origins") ?? [:]
    inputs = try reader.optionalObject("inputs") ?? [:]
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
  static func recorded(in data: JSONObject) -> RecordedChannels {
    RecordedChannels(data["recorded"]?.objectValue ?? [:])
  }

  private static func parent(in reader: PayloadReader) throws(PayloadError) -> ParentRun? {
    guard let object = try reader.optionalObject("parent") else { return nil }
    let parent = PayloadReader(object, path: "parent")
    var run = ParentRun(
      runId: try parent.string("runId"), seq: try parent.int("seq"),
      relation: try parent.string("relation"), edit: try parent.optionalObject("edit") ?? [:])
    run.digest = try parent.optionalString("digest")
    run.depth = try parent.optionalInt("depth")
    run.inputs = try parent.optionalObject("inputs") ?? [:]
    return run
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
      ("model", model.isEmpty ? nil : .object(model)),
      ("models", models.isEmpty ? nil : .object(models)),
      ("origins", origins.isEmpty ? nil : .object(origins)),
      ("inputs", inputs.isEmpty ? nil : .object(inputs)), ("seed", seed.map { JSONValue($0) }),
      ("case", evalCase.map(JSONValue.object)),
      ("parent", parent.map { .object($0.encoded) }),
      ("pipelineId", pipelineId.map(JSONValue.string)), ("taskId", taskId.map(JSONValue.string)),
      ("recorded", recorded.isEmpty ? nil : .object(recorded.object)),
      ("source", source.map { .object($0.encoded) }),
      ("tags", tags.isEmpty ? JSONValue?.none : JSONValue(tags)),
    ])
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

extension RunStarted: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("formatVersion!", .integer, "The version of the log format: 1."),
      DataKey(
        "agent",
        .object([
          DataKey("name", .string, "The agent's name."),
          DataKey("version", .string, "The agent's version."),
          DataKey("digest", .string, "SHA-256 of the agent file's bytes."),
        ]), "Who ran."
      ),
      DataKey("goal", .any, "What the agent was to do."),
      DataKey("input", .any, "What a user said first."),
      DataKey("limits", .limits, "What the run might use at most."),
      DataKey(
        "policyContext",
        .object([
          DataKey("actorId", .string, "The principal on whose behalf the agent ran."),
          DataKey("tenantId", .string, "The tenant of that principal."),
          DataKey("route", .string, "The route that led to the agent."),
          DataKey("attributes", .mapping, "Anything else."),
        ]), "Who the run acted for."
      ),
      DataKey("policyDigest", .string, "SHA-256 of the policy file's bytes."),
      DataKey("tools", .list(.tool), "The tools of the agent."),
      DataKey(
        "model",
        .object([
          DataKey("provider", .string, "Who served the model."),
          DataKey("name", .string, "Its name."),
        ]), "Which model decided."
      ),
      DataKey(
        "models", .mapping,
        "How each model was asked, by purpose: provider, name, baseUrl, temperature and so on; of human also system and by."
      ),
      DataKey(
        "origins", .mapping,
        "Who said what the agent file does not, by its key there: case, command_line, parent, fork or resume."
      ),
      DataKey(
        "inputs", .mapping,
        "What else the agent file and its policy said that decides what a run does, by the keys of an agent file."
      ),
      DataKey("seed", .integer, "The seed of everything random."),
      DataKey(
        "case",
        .object([
          DataKey("caseId!", .string, "The eval case."),
          DataKey("trial", .integer, "Which trial of it."),
        ]), "The case that was run."
      ),
      DataKey(
        "parent",
        .object([
          DataKey("runId!", .string, "The other run."),
          DataKey("seq!", .count, "The last event that both share."),
          DataKey("relation!", .string, "fork, task, subagent or judge."),
          DataKey("depth", .integer, "Sub-agents: how many calls lead to it, from 1."),
          DataKey(
            "digest", .string, "Sub-agents: SHA-256 of the data of the event that started it."),
          DataKey(
            "edit", .mapping,
            "Forks: decision or result with the number of the event put in its place; dropContext."
          ),
          DataKey(
            "inputs", .mapping,
            "Forks: what both shared was made under, where it is otherwise now: digests of agent and policy, limits, models, tools."
          ),
        ]), "The run that this one came from."
      ),
      DataKey("pipelineId", .string, "The pipeline it is part of."),
      DataKey("taskId", .string, "The task of that pipeline."),
      DataKey(
        "recorded", .mapping,
        "Imports: none or partial for each channel that is not whole; of calls, partial where some may have gone unread."
      ),
      DataKey(
        "source", .mapping,
        "Imports: format, file, index and labels of the source, and the places that went unread."),
      DataKey("tags", .list(.string), "Words to find it by."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    // What its tasks called stands in their logs; that is no gap of this one.
    if inputs["pipeline"]?.objectValue != nil {
      let run = EventLine("run", .heading, "\(event.runId)  pipeline \(agentName)")
      return [run] + (input.map { [EventLine("input", .heading, "\($0)")] } ?? [])
    }
    let agent = agentName.isEmpty ? source?.format ?? "" : agentName
    let version = agentVersion.map { " \($0)" } ?? ""
    var lines = [EventLine("run", .heading, "\(event.runId)  agent \(agent)\(version)")]
    if !goal.isNull { lines.append(EventLine("goal", .heading, "\(goal)")) }
    if !recorded.isEmpty {
      lines.append(EventLine("recorded", .warning, "\(recorded.words)"))
    }
    let source = event.data["source"]
    let unread = source?["unread"]?.arrayValue?.compactMap(\.stringValue) ?? []
    if !unread.isEmpty {
      lines.append(EventLine("unread", .warning, "\(unread.joined(separator: ", "))"))
    }
    for part in source?["missing"]?.arrayValue?.compactMap(\.stringValue) ?? [] {
      lines.append(EventLine("missing", .warning, "\(part)"))
    }
    return lines
  }
}
