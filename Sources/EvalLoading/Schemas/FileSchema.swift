public import AgentTrace

/// The JSON Schemas (Draft 2020-12) of the files that people and programs read and write.
///
/// Those of case, agent and policy files are made from the tables that the loaders read by, so that
/// an editor and the loader agree on every key. What a schema cannot say (that two rules have the same
/// id, that a pattern can be compiled, that a file is there) the loaders check alone. The same bytes
/// stand under `Schemas/`.
public enum FileSchema: String, Sendable, Hashable, CaseIterable {
  /// A file of eval cases; one line of one, for JSONL.
  case `case`
  /// An agent file.
  case agent
  /// A policy file.
  case policy
  /// A pipeline file.
  case pipeline
  /// A file with a project's defaults, `.agent-eval.yaml`.
  case settings
  /// A line of a run log, references resolved, as `agent-eval show --json` prints it.
  case event
  /// What `agent-eval run --json` prints.
  case results
  /// A line that `agent-eval run --files-from` prints.
  case outcome
  /// What `agent-eval diff --json` prints.
  case diff
  /// What `agent-eval policy backtest --json` prints.
  case backtest
  /// What `agent-eval policy check --json` prints.
  case policyCheck = "policy-check"
  /// A file that `agent-eval run --history` writes.
  case history
  /// A line that `agent-eval history --json` prints.
  case trend
  /// What `agent-eval inspect --json` prints.
  case inspection

  /// The schema. Made anew each time.
  public var json: JSONValue {
    let body: JSONObject =
      switch self {
      case .case: CaseSchema.file
      case .agent:
        [
          "if": ["required": ["command"], "not": ["required": ["model"]]],
          "then": .object(Self.object(CommandAgentFile.fileFields)),
          "else": .object(Self.object(AgentFile.fields)),
        ]
      case .policy: Self.object(PolicyFile.fields)
      case .pipeline: Self.object(PipelineFile.fields)
      case .settings: Self.object(SettingsFile.fields)
      case .event: EventSchema.line
      case .results: ResultsSchema.results
      case .outcome: ResultsSchema.line
      case .diff: ReplaySchema.diff
      case .backtest: ReplaySchema.backtest
      case .policyCheck: ReplaySchema.policyCheck
      case .history: HistorySchema.record
      case .trend: HistorySchema.line
      case .inspection: InspectionSchema.inspection
      }
    var schema = body
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = .string(title)
    schema["description"] = .string(summary)
    if [.case, .agent, .policy].contains(self) {
      var definitions = schema["$defs"]?.objectValue ?? [:]
      for member in MatcherSchema.definitions { definitions[member.key] = member.value }
      if self != .policy {
        for part in [MatcherSchema.textDefinitions, ExpectationsSchema.definitions] {
          for member in part { definitions[member.key] = member.value }
        }
      }
      schema["$defs"] = .object(definitions)
    }
    return .object(schema)
  }

  /// The schema as a file: indented by two spaces, keys sorted, a newline at the end.
  public var text: String { IndentedJSON.text(json) + "\n" }

  /// The name of its file under `Schemas/`.
  public var fileName: String { "\(rawValue).schema.json" }

  private var title: String {
    switch self {
    case .case: "agent-eval case file"
    case .agent: "agent-eval agent file"
    case .policy: "agent-eval policy file"
    case .pipeline: "agent-eval pipeline file"
    case .settings: "agent-eval settings file"
    case .event: "agent-eval run log line"
    case .results: "agent-eval results"
    case .outcome: "agent-eval outcome line"
    case .diff: "agent-eval diff"
    case .backtest: "agent-eval policy backtest"
    case .policyCheck: "agent-eval policy check"
    case .history: "agent-eval history"
    case .trend: "agent-eval trend line"
    case .inspection: "agent-eval inspection"
    }
  }

  private var summary: String {
    switch self {
    case .case: "One case, a list of cases, or a mapping of cases. See Docs/eval-case-format.md."
    case .agent:
      "An agent: its model, tools, policy and limits, or a command. See Docs/agent-files.md and Docs/command-agents.md."
    case .policy: "Ordered rules about which calls may run. See Docs/policies.md."
    case .pipeline: "A graph of tasks and what is done about their failures. See Docs/pipelines.md."
    case .settings: "The defaults of a project. See Docs/configuration.md."
    case .event: "One event or mark, references resolved. See Docs/log-format.md."
    case .results: "The outcomes of cases, their trials and their expectations."
    case .outcome: "What became of one line of input. See Docs/continuous-integration.md."
    case .diff: "In what two runs differ. See Docs/comparing-runs.md."
    case .backtest: "What another policy says of recorded calls. See Docs/policy-backtest.md."
    case .policyCheck: "What can be said of a policy without a run. See Docs/policies.md."
    case .history: "What one run of a suite came to. See Docs/history.md."
    case .trend: "What became of a case over runs of its suite. See Docs/history.md."
    case .inspection: "Many runs at a glance. See Docs/judging-many-runs.md."
    }
  }
}

extension FileSchema {
  /// The schema of a mapping with known keys.
  static func object<Target>(
    _ fields: [Field<Target>], constraints: JSONObject = [:]
  ) -> JSONObject {
    var properties = JSONObject()
    for field in fields {
      var property = field.schema().objectValue ?? [:]
      property["description"] = .string(field.note)
      properties[field.name] = .object(property)
    }
    var schema: JSONObject = [
      "type": "object", "additionalProperties": false, "properties": .object(properties),
    ]
    let required = fields.filter(\.isRequired).map(\.name)
    if !required.isEmpty { schema["required"] = JSONValue(required) }
    for member in constraints { schema[member.key] = member.value }
    return schema
  }
}

/// JSON for people to read.
enum IndentedJSON {
  /// A value with each member on a line of its own, indented by two spaces; what is short and holds
  /// no object stands on one line.
  static func text(_ value: JSONValue, indent: Int = 0) -> String {
    let inner = String(repeating: " ", count: indent + 2)
    let outer = String(repeating: " ", count: indent)
    switch value {
    case .object(let object) where !object.isEmpty:
      let members = object.map { member in
        inner + CanonicalJSON.string(.string(member.key)) + ": "
          + text(member.value, indent: indent + 2)
      }
      return "{\n" + members.joined(separator: ",\n") + "\n\(outer)}"
    case .array(let elements) where !elements.isEmpty:
      if elements.allSatisfy({ $0.depth == 0 }) {
        let line = "[" + elements.map { text($0) }.joined(separator: ", ") + "]"
        if indent + line.utf8.count <= 80 { return line }
      }
      let lines = elements.map { inner + text($0, indent: indent + 2) }
      return "[\n" + lines.joined(separator: ",\n") + "\n\(outer)]"
    default: return CanonicalJSON.string(value, form: .plain)
    }
  }
}
