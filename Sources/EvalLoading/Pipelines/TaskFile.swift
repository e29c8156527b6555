import AgentPipelines
import AgentRuntime
import AgentTrace

/// The keys of a task in a pipeline file.
enum TaskFile {
  /// A task as it is being read.
  struct Draft: Sendable {
    var id = ""
    var command: CommandDefinition?
    var agentPath: String?
    var agent: AgentDefinition?
    var pipelinePath: String?
    var pipeline: PipelineDefinition?
    var human: HumanSpec?
    var input: JSONValue?
    var forEach: FanOutSource?
    var parts: PartsSource?
    var inputSchema: JSONValue?
    var outputSchema: JSONValue?
    var validate: JSONValue?
    var timeout: Double?
    var totalTimeout: Double?
    var retry: RetrySpec?
    var breaker: BreakerSpec?
    var recover: [RecoverRule] = []
    var compensate: CompensationSpec?
    var sideEffect: SideEffect?
    var isIdempotent = false
    var concurrency: Int?
    var labels: [String] = []
  }

  static let fields: [Field<Draft>] = [
    Field("id", .name, \.id, required: true, "The task's name in the pipeline."),
    Field("agent", .path, \.agentPath, "An agent file: each attempt is a run of its own."),
    Field(
      "command", CommandFile.command, \.command,
      "A program and its arguments; ${…} in them stands for what the task is given, and $${ for a plain ${."
    ),
    Field("human", human, \.human, "A person: what is asked, and what is shown."),
    Field(
      "pipeline", .path, \.pipelinePath,
      "Another pipeline’s file: each attempt is a run of its own."),
    Field(
      "input", .any, \.input,
      "What the task is given, and nothing else; ${input.…}, ${task.…}, ${item} and ${index} stand for values, and $${ for a plain ${."
    ),
    Field(
      "forEach", forEach, \.forEach,
      "Runs the task once for each element of a list (${task.path}), of another fan-out as they come (${task.*}), or of the parts of an output (partsOf)."
    ),
    Field(
      "parts", parts, \.parts,
      "What it gives before its end to those that take its parts (forEach: {partsOf: …}): lines, of a command each line that it prints, as JSON; calls, of an agent the input of each call of a tool."
    ),
    Field(
      "inputSchema", .jsonSchema, \.inputSchema,
      "The JSON Schema of what the task needs to be given; of a pipeline, its own where it is left out."
    ),
    Field("outputSchema", .jsonSchema, \.outputSchema, "The JSON Schema of what it returns."),
    Field(
      "validate", .any, \.validate,
      "What has to hold of an attempt: output, a matcher; of an agent, any expectations on its run."
    ),
    Field("timeoutSeconds", .amount, \.timeout, "How long an attempt may take."),
    Field(
      "totalTimeoutSeconds", .amount, \.totalTimeout,
      "How long all attempts together may take, with the waiting between them."),
    Field("retry", retry, \.retry, "Attempts behind one that failed."),
    Field("breaker", breaker, \.breaker, "When a task that keeps failing is left alone."),
    Field(
      "recover", .list(of: rule), \.recover,
      "What is done about failures that no retry takes; the first rule that holds counts."),
    Field(
      "compensate", compensate, \.compensate, "What undoes the task when the pipeline goes back."),
    Field(
      "sideEffect", .word, \.sideEffect,
      "read, draft or write; write where it is left out, of an agent what its tools do."),
    Field(
      "idempotent", .flag, \.isIdempotent,
      "Whether doing it twice with the same key is as doing it once."),
    Field(
      "concurrency", .count(1...100_000), \.concurrency,
      "How many of its elements run at the same time."),
    Field("labels", .list(of: .name), \.labels, "What it needs of that there is only so much."),
  ]

  static let task = Shape<Draft>.record(
    Draft(), fields,
    expected: "a task, a mapping with “id” and “agent”, “command”, “human” or “pipeline”",
    constraints: [
      "oneOf": [
        ["required": ["agent"]], ["required": ["command"]], ["required": ["human"]],
        ["required": ["pipeline"]],
      ]
    ]
  ).map { draft, reader -> Draft? in
    var draft = draft
    let kinds = [
      draft.agentPath != nil, draft.command != nil, draft.human != nil, draft.pipelinePath != nil,
    ]
    if kinds.count(where: { $0 }) != 1, !reader.hasErrorHere {
      reader.report("needs one of “agent”, “command”, “human” and “pipeline”")
    }
    if let path = draft.pipelinePath { draft.pipeline = pipeline(path, reader) }
    if let path = draft.agentPath {
      let loaded = AgentLoader.load(path)
      reader.files += [path] + loaded.files
      reader.attached += loaded.diagnostics
      draft.agent = loaded.value
      if loaded.value == nil {
        reader.report("the agent file \(path.quotedPath) has errors", deeper: [.key("agent")])
      } else if loaded.value?.command != nil {
        reader.report(
          "the agent \(path.quotedPath) is a command, which cannot be a task yet",
          hint: "a command that is no agent can: command: […]", deeper: [.key("agent")])
      }
    }
    return draft
  }

  /// Reads the file of a pipeline that is a task of another.
  private static func pipeline(_ path: String, _ reader: FieldReader) -> PipelineDefinition? {
    let outer = PipelineLoader.outer
    guard !outer.contains(where: { $0.hasSameUTF8(as: path) }) else {
      let way = (outer.drop { !$0.hasSameUTF8(as: path) } + [path]).joined(separator: " → ")
      return reader.refuse("the pipeline stands in itself: \(way)", deeper: [.key("pipeline")])
    }
    guard outer.count < PipelineDefinition.depthLimit else {
      return reader.refuse(
        "more than \(PipelineDefinition.depthLimit) pipelines stand in one another",
        deeper: [.key("pipeline")])
    }
    guard PipelineLoader.count?.mayGoOn() ?? true else {
      return reader.refuse(
        "more than \(FileCount.limit) pipeline files stand in one", deeper: [.key("pipeline")])
    }
    let loaded = PipelineLoader.load(path)
    reader.files += [path] + loaded.files
    reader.attached += loaded.diagnostics
    if loaded.value == nil || loaded.diagnostics.hasErrors {
      reader.report("the pipeline file \(path.quotedPath) has errors", deeper: [.key("pipeline")])
    }
    return loaded.value
  }

  // MARK: Parts

  private struct HumanDraft: Sendable {
    var ask = ""
    var show: JSONValue?
  }

  private static let human = Shape<HumanDraft>.record(
    HumanDraft(),
    [
      Field(
        "ask", .name, \.ask, required: true,
        "The question; ${…} in it stands for a value, and $${ for a plain ${."),
      Field("show", .any, \.show, "What is shown beside it."),
    ]
  ).map { draft, _ in
    HumanSpec(ask: TaskTemplate(.string(draft.ask)), show: draft.show.map { TaskTemplate($0) })
  }

  private static let forEach = Shape<FanOutSource>([
    "anyOf": [
      ["type": "string", "pattern": "^\\$\\{[^}]+\\}$"],
      [
        "type": "object", "additionalProperties": false, "required": ["partsOf"],
        "properties": [
          "partsOf": [
            "type": "string",
            "description": "The task whose parts of output it runs for, as they come.",
          ]
        ],
      ],
    ]
  ]) { value, reader in
    switch value {
    case .string(let text):
      let template = TaskTemplate(value)
      if template.references.count == 1, text.utf8.first == UInt8(ascii: "$"),
        text.utf8.last == UInt8(ascii: "}"),
        text.utf8.count(where: { $0 == UInt8(ascii: "{") }) == 1
      {
        return .list(template.references[0])
      }
      return reader.refuse("should name one list", hint: "such as ${analyze.files}")
    case .object(let object):
      guard let task = object["partsOf"]?.stringValue, object.count == 1 else {
        return reader.refuseKind(of: value, expected: "a mapping with “partsOf” alone")
      }
      return .parts(of: task)
    default:
      return reader.refuseKind(of: value, expected: "a list’s name, or a mapping with “partsOf”")
    }
  }

  private static let parts = Shape<PartsSource>([
    "anyOf": [
      ["enum": ["lines"]],
      [
        "type": "object", "additionalProperties": false, "required": ["calls"],
        "properties": [
          "calls": ["type": "string", "minLength": 1, "description": "The tool’s name."]
        ],
      ],
    ]
  ]) { value, reader in
    if value.stringValue?.hasSameUTF8(as: "lines") ?? false { return .lines }
    if let object = value.objectValue, object.count == 1,
      let tool = object["calls"]?.stringValue, !tool.isEmpty
    {
      return .calls(of: tool)
    }
    return reader.refuseKind(
      of: value, expected: "“lines”, or a mapping with “calls” alone")
  }

  private struct RetryDraft: Sendable {
    var max = 0
    var on: [String] = ["*"]
    var backoff: Double?
  }

  private static let kinds = Shape<[String]>.oneOrMore(
    of: .word(["*"] + TaskError.Kind.allCases.map(\.rawValue)))

  private static let retry = Shape<RetryDraft>.record(
    RetryDraft(),
    [
      Field("max", .count(0...1_000), \.max, required: true, "How many attempts follow the first."),
      Field(
        "on", kinds, \.on, "The kinds of failures that another attempt follows; all without it."),
      Field(
        "backoffSeconds", .amount, \.backoff,
        "How long to wait before the first; twice as long before each further one, less up to half by chance."
      ),
    ]
  ).map { draft, _ in
    RetrySpec(
      max: draft.max, on: FailureKinds(draft.on),
      backoffMicroseconds: draft.backoff.map(microseconds) ?? 0)
  }

  private static let breaker = Shape<BreakerSpec>.record(
    BreakerSpec(failures: 0, coolMicroseconds: 0),
    [
      Field(
        "failures", .count(1...1_000_000), \.failures, required: true,
        "How many failures in a row open it."),
      Field("coolSeconds", .amount, required: true, "How long it stays open.") {
        $0.coolMicroseconds = microseconds($1)
      },
    ])

  private struct RuleDraft: Sendable {
    var on: [String] = []
    var action: TaskRecovery.Action?
    var task: String?
    var value: JSONValue?
    var max = 1
    var backoff: Double?
    var tellsFeedback = false
  }

  private static let actions = [
    "retry", "fallback", "substitute", "skip", "ask", "compensate", "fail",
  ]

  private static let rule = Shape<RuleDraft>.record(
    RuleDraft(),
    [
      Field(
        "on", kinds, \.on, required: true, "The kinds of failures that it holds for; * for all."),
      Field("do", .word(actions), required: true, "What is done.") {
        $0.action = TaskRecovery.Action(rawValue: $1)
      },
      Field("task", .name, \.task, "Of fallback: the task that stands in."),
      Field("value", .any, \.value, "Of substitute: the output."),
      Field("max", .count(1...1_000), \.max, "Of retry: how often; once where it is left out."),
      Field("backoffSeconds", .amount, \.backoff, "Of retry: how long to wait."),
      Field(
        "with", .record(false, [Field("feedback", .flag, \.self, "Whether it is told.")]),
        \.tellsFeedback, "Of retry: feedback, whether the next attempt is told what was wrong."),
    ]
  ).map { draft, _ in
    draft.action.map { action in
      RecoverRule(
        on: FailureKinds(draft.on), action, task: draft.task, value: draft.value, max: draft.max,
        backoffMicroseconds: draft.backoff.map(microseconds) ?? 0,
        tellsFeedback: draft.tellsFeedback)
    }
  }

  private static let compensate = Shape<[String]>.record(
    [],
    [
      Field(
        "command", CommandFile.arguments, \.self, required: true,
        "A program and its arguments; ${output.…} in them stands for what the task returned, and $${ for a plain ${."
      )
    ]
  ).map { words, _ in CompensationSpec.command(TaskTemplate(JSONValue(words))) }

  static func microseconds(_ seconds: Double) -> Int { Int((seconds * 1_000_000).rounded()) }
}
