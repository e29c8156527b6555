import AgentPipelines
import AgentRuntime
import AgentTrace
import Synchronization
import TraceJudging
import TraceMatching

/// The keys of a pipeline file.
enum PipelineFile {
  struct InputDraft: Sendable {
    var schema: JSONValue?
    var value: JSONValue?
  }

  struct Draft: Sendable {
    var name = ""
    var input = InputDraft()
    var tasks: [TaskFile.Draft] = []
    var edges: [PipelineEdge]?
    var checkpoints = CheckpointStrategy.everyTask
    var concurrency = PipelineSpec.defaultConcurrency
    var labels: [String: Int] = [:]
    var limits = Limits()
    var redaction = RedactionSettings()
  }

  static let fields: [Field<Draft>] = [
    .schemaOfFile,
    Field("pipeline", .name, \.name, required: true, "The pipeline's name."),
    Field("input", input, \.input, "What the pipeline is given: its schema, and a default."),
    Field(
      "tasks", .list(of: TaskFile.task, atLeast: 1), \.tasks, required: true,
      "The tasks; where several could start, the one that stands first does."),
    Field(
      "edges", .list(of: edge), \.edges,
      "Which task needs which, as pairs; where it is left out, what tasks are given says it."),
    Field(
      "checkpoints", checkpoints, \.checkpoints,
      "After which tasks it can be rolled back to: every_task, none or a list of them; every_task where it is left out."
    ),
    Field(
      "concurrency", .count(1...10_000), \.concurrency,
      "How many attempts are under way at the same time; 16 where it is left out."),
    Field(
      "labels", labels, \.labels,
      "How many attempts may need a label at the same time, by its name."),
    Field("limits", limits, \.limits, "What all runs of its tasks together may use."),
    Field(
      "redaction", RedactionFile.ofPipeline, \.redaction,
      "What is withheld from the pipeline's log; agents say it of theirs in their files."),
  ]

  private static let input = Shape<InputDraft>.record(
    InputDraft(),
    [
      Field("schema", .jsonSchema, \.schema, "The JSON Schema of what it is given."),
      Field("default", .any, \.value, "What it is given where nothing else is."),
    ])

  private static let edge = Shape<[String]>.list(of: .name, atLeast: 1).map {
    words, reader -> PipelineEdge? in
    guard words.count == 2 else {
      return reader.refuse("should be a pair: the task that comes first, and the one that needs it")
    }
    return PipelineEdge(words[0], words[1])
  }

  private static let checkpoints = Shape<CheckpointStrategy>([
    "anyOf": [
      ["enum": ["every_task", "none"]], ["type": "array", "items": ["type": "string"]],
    ]
  ]) { value, reader in
    if case .array = value {
      return Shape<[String]>.list(of: .name).read(value, reader).map { .after($0) }
    }
    let word = Shape<String>.word(["every_task", "none"]).read(value, reader)
    return word.map { $0 == "none" ? .none : .everyTask }
  }

  private static let labels = Shape<[String: Int]>([
    "type": "object", "additionalProperties": ["type": "integer", "minimum": 1],
  ]) { value, reader in
    guard case .object(let object) = value else {
      return reader.refuseKind(of: value, expected: "a mapping from labels to numbers")
    }
    var labels: [String: Int] = [:]
    for member in object {
      reader.within(.key(member.key)) {
        labels[member.key] = Shape<Int>.count(1...1_000_000).read(member.value, reader)
      }
    }
    return labels
  }

  private static let limits = Shape<Limits>.record(
    Limits(),
    [
      Field("maxSteps", .count, \.maxSteps, "Steps of agents."),
      Field("maxToolCalls", .count, \.maxToolCalls, "Calls that agents execute."),
      Field("maxTokens", .count, \.maxTokens, "Tokens in and out."),
      Field("maxCost", .amount, \.maxCost, "Money."),
      Field("timeoutSeconds", .amount, \.timeoutSeconds, "Seconds of active run time."),
    ])
}

/// Counts the pipeline files that are read for one.
final class FileCount: Sendable {
  /// The most files of pipelines that may stand in one, each counted as often as it stands there.
  static let limit = 200
  private let value = Mutex(0)

  /// Whether one more may be read.
  func mayGoOn() -> Bool {
    value.withLock { value in
      value += 1
      return value <= Self.limit
    }
  }
}

/// Reads pipeline files; Docs/pipelines.md specifies them.
public enum PipelineLoader {
  /// Reads a pipeline file, and the agent files that it names.
  ///
  /// - Returns: the pipeline; or everything that is wrong with the file, its graph included, with places.
  public static func load(
    _ path: String, limits: SourceLimits = SourceLimits()
  ) -> Loaded<PipelineDefinition> {
    load(SourceDocument(path: path, limits: limits))
  }

  /// Whether a file is a pipeline's, by its keys; one that cannot be read is none.
  public static func isPipeline(_ path: String) -> Bool {
    SourceDocument(path: path).roots.lazy.compactMap { FileKind(of: $0.value) }.first == .pipeline
  }

  /// The files that are being read, each a task of the one before it.
  @TaskLocal static var outer: [String] = []
  /// How many files were read for the outermost one.
  @TaskLocal static var count: FileCount?

  static func load(_ document: SourceDocument) -> Loaded<PipelineDefinition> {
    guard count == nil else {
      return $outer.withValue(outer + [document.path]) { loadInner(document) }
    }
    return $count.withValue(FileCount()) {
      $outer.withValue([document.path]) { loadInner(document) }
    }
  }

  private static func loadInner(_ document: SourceDocument) -> Loaded<PipelineDefinition> {
    guard let root = document.onlyRoot else {
      return Loaded(nil, document.diagnostics + document.rootCountDiagnostics(of: "a pipeline"))
    }
    let reader = FieldReader(folder: SourceFolder(ofFile: document.path))
    var definition: PipelineDefinition?
    if case .object(let object) = root.value {
      var draft = PipelineFile.Draft()
      reader.read(object, into: &draft, PipelineFile.fields)
      definition = make(draft, reader, object)
      definition?.digest = document.digest
    } else {
      reader.reportKind(
        of: root.value, expected: "a pipeline, a mapping with “pipeline” and “tasks”")
    }
    return Loaded(
      definition,
      document.diagnostics + reader.diagnostics(path: document.path, in: root) + reader.attached,
      files: [document.path] + reader.files)
  }

  private static func make(
    _ draft: PipelineFile.Draft, _ reader: FieldReader, _ source: JSONObject
  ) -> PipelineDefinition? {
    // Places of tasks are only known where each could be read.
    guard !draft.tasks.isEmpty, draft.tasks.count == source["tasks"]?.arrayValue?.count else {
      return nil
    }
    var works: [PipelineDefinition.Work] = []
    var specs: [TaskSpec] = []
    for (index, task) in draft.tasks.enumerated() {
      let place: [PathStep] = [.key("tasks"), .index(index)]
      let (spec, work) = make(task, reader, place)
      specs.append(spec)
      works.append(work)
    }
    var spec = PipelineSpec(
      draft.name, tasks: specs, edges: draft.edges, checkpoints: draft.checkpoints,
      concurrency: draft.concurrency, labelConcurrency: draft.labels)
    spec.inputSchema = draft.input.schema
    spec.limits = draft.limits
    for fault in PipelineGraph.faults(in: spec) {
      var path: [PathStep] = []
      if let index = fault.task.flatMap({ id in specs.firstIndex { $0.id.hasSameUTF8(as: id) } }) {
        path = [.key("tasks"), .index(index)]
      }
      for part in fault.key.utf8.split(separator: UInt8(ascii: "/")) {
        let part = String(decoding: Array(part), as: UTF8.self)
        path.append(Int(part).map { .index($0) } ?? .key(part))
      }
      reader.reportAt(path, fault.isWarning ? .warning : .error, fault.message, hint: fault.hint)
    }
    return PipelineDefinition(
      spec: spec, works: works, digest: "", folder: reader.folder.path,
      redaction: draft.redaction, defaultInput: draft.input.value)
  }

  private static func make(
    _ draft: TaskFile.Draft, _ reader: FieldReader, _ place: [PathStep]
  ) -> (TaskSpec, PipelineDefinition.Work) {
    var spec: TaskSpec
    let work: PipelineDefinition.Work
    if let command = draft.command {
      spec = TaskSpec(draft.id, .command, input: draft.input, sideEffect: draft.sideEffect)
      spec.arguments = TaskTemplate(JSONValue(command.arguments))
      spec.implementation = implementation(of: command)
      spec.validate = outputMatcher(draft.validate, reader, place)
      work = .command(command)
    } else if let human = draft.human {
      spec = TaskSpec(draft.id, .human, sideEffect: .read)
      spec.human = human
      work = .human
      for (key, isSet) in [
        ("input", draft.input != nil), ("validate", draft.validate != nil),
        ("timeoutSeconds", draft.timeout != nil),
        ("totalTimeoutSeconds", draft.totalTimeout != nil),
      ] where isSet {
        reader.reportAt(place + [.key(key)], .error, "a person’s task has no “\(key)”")
      }
    } else if draft.pipelinePath != nil {
      let inner = draft.pipeline
      let effects = inner?.spec.tasks.map(\.sideEffect) ?? [.write]
      spec = TaskSpec(
        draft.id, .pipeline, input: draft.input, sideEffect: draft.sideEffect ?? .worst(of: effects)
      )
      spec.validate = outputMatcher(draft.validate, reader, place)
      spec.implementation = inner.map { inner in
        [
          "pipeline": .string(inner.spec.name),
          "definition": .string(Digest(of: .object(inner.spec.encoded)).hex),
        ]
      }
      if draft.isIdempotent {
        reader.reportAt(
          place + [.key("idempotent")], .error, "a pipeline is not idempotent; its tasks can be")
      }
      work = inner.map { .pipeline($0) } ?? .human
    } else {
      let agent = draft.agent
      spec = TaskSpec(
        draft.id, .agent, input: draft.input,
        sideEffect: draft.sideEffect ?? agent?.worstSideEffect ?? .write)
      let expectations = agentExpectations(draft.validate, reader, place)
      spec.implementation = .object(
        JSONObject(present: [
          ("agent", .string(agent?.digest ?? "")), ("validate", draft.validate),
        ]))
      work = agent.map { .agent($0, expectations) } ?? .human
    }
    let takesDefault = draft.input == nil && draft.pipeline?.defaultInput != nil
    spec.inputSchema =
      draft.inputSchema ?? (takesDefault ? nil : draft.pipeline?.spec.inputSchema)
    spec.outputSchema = draft.outputSchema
    spec.knownOutput = knownOutput(of: work)
    spec.forEach = draft.forEach
    (spec.parts, spec.knownPart) = (draft.parts, knownPart(draft.parts, of: work, reader, place))
    spec.timeoutMicroseconds = draft.timeout.map(TaskFile.microseconds)
    spec.totalTimeoutMicroseconds = draft.totalTimeout.map(TaskFile.microseconds)
    spec.retry = draft.retry ?? RetrySpec()
    spec.breaker = draft.breaker
    spec.recover = draft.recover
    spec.compensate = draft.compensate
    spec.isIdempotent = draft.isIdempotent
    spec.concurrency = draft.concurrency
    spec.labels = draft.labels
    return (spec, work)
  }

  /// What a task returns where that follows from what it is; see ``AgentPipelines/TaskSpec/knownOutput``.
  private static func knownOutput(of work: PipelineDefinition.Work) -> JSONValue? {
    switch work {
    case .command, .human: return nil
    case .agent(let agent, _):
      return [
        "type": "object", "additionalProperties": false,
        "properties": ["answer": agent.answers.schema ?? true, "text": ["type": "string"]],
      ]
    case .pipeline(let inner):
      let last = PipelineGraph.lastOutputs(of: inner.spec)
      return [
        "type": "object", "additionalProperties": false,
        "properties": .object(JSONObject(last.map { ($0.task, $0.schema ?? true) })),
      ]
    }
  }

  /// The schema of the parts that an agent gives; an agent that has no such tool is told.
  private static func knownPart(
    _ parts: PartsSource?, of work: PipelineDefinition.Work, _ reader: FieldReader,
    _ place: [PathStep]
  ) -> JSONValue? {
    guard case .calls(let name)? = parts, case .agent(let agent, _) = work else { return nil }
    let tools = agent.tools.map(\.definition)
    if let tool = tools.first(where: { $0.name.hasSameUTF8(as: name) }) {
      return tool.inputSchema
    }
    // What a tool server has is not known before it is asked.
    guard agent.sources.isEmpty else { return nil }
    let nearest = Spelling.nearest(to: name, among: tools.map(\.name))
    reader.reportAt(
      place + [.key("parts"), .key("calls")], .error, "the agent has no tool “\(name)”",
      hint: nearest.map { "did you mean “\($0)”?" })
    return nil
  }

  /// What of a command decides what it does, but for its words.
  private static func implementation(of command: CommandDefinition) -> JSONValue? {
    let set = command.environment.set.sorted { $0.key < $1.key }.map {
      ($0.key, JSONValue.string($0.value))
    }
    let object = JSONObject(present: [
      ("set", set.isEmpty ? nil : .object(JSONObject(set))),
      (
        "pass",
        command.environment.pass.isEmpty
          ? JSONValue?.none : JSONValue(command.environment.pass)
      ),
      (
        "noEffectExitCodes",
        command.noEffectExitCodes.isEmpty
          ? nil : .array(command.noEffectExitCodes.map { JSONValue($0) })
      ),
    ])
    return object.isEmpty ? nil : .object(object)
  }

  private static func outputMatcher(
    _ validate: JSONValue?, _ reader: FieldReader, _ place: [PathStep]
  ) -> JSONValue? {
    guard let validate else { return nil }
    guard let object = validate.objectValue, object.count == 1, let matcher = object["output"]
    else {
      reader.reportAt(
        place + [.key("validate")], .error, "of a command, validate says what its output is",
        hint: "validate: {output: …}")
      return nil
    }
    return matcher
  }

  private static func agentExpectations(
    _ validate: JSONValue?, _ reader: FieldReader, _ place: [PathStep]
  ) -> Expectations? {
    guard let validate else { return nil }
    do {
      let expectations = try Expectations(parsing: validate)
      if !expectations.isToldByLogs {
        reader.reportAt(
          place + [.key("validate")], .error,
          "what models and programs say of a run cannot be asked while its pipeline runs")
      }
      return expectations
    } catch {
      for problem in error.problems {
        reader.reportAt(
          place + [.key("validate")] + Array(problem.pointer, in: validate), .error,
          problem.message, hint: problem.hint)
      }
      return nil
    }
  }
}
