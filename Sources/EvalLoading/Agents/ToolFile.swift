import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `tools` of an agent file.
enum ToolFile {
  static let list = Shape<[ToolRegistration]>.list(of: toolOrAgent).map { tools, reader in
    var seen: [[UInt8]: Int] = [:]
    for (index, tool) in tools.enumerated() {
      let name = Array(tool.definition.name.utf8)
      if let first = seen[name] {
        reader.report(
          "the tool \(tool.definition.name.quoted) is there already, as number \(first + 1)",
          deeper: [.index(index), .key("name")])
      } else {
        seen[name] = index
      }
    }
    return tools
  }

  private struct Draft: Sendable {
    var definition = ToolDefinition(name: "")
    var handling = ToolChoice.Handling()
    var rules: [ScriptedTool.Rule]?
    var command: CommandDefinition?
    var http: HTTPDefinition?
    var code: CodeDefinition?
    var memory: MemoryAccess?
    /// Where it names something.
    var description: PromptTemplate?
  }

  /// The keys about what happens when a call fails, and when the model is told of a tool; read into a part of
  /// the target.
  static func handling<Target>(
    _ part: any WritableKeyPath<Target, ToolChoice.Handling> & Sendable
  ) -> [Field<Target>] {
    func into<Value>(
      _ key: String, _ shape: Shape<Value>,
      _ property: any WritableKeyPath<ToolChoice.Handling, Value> & Sendable, _ note: String
    ) -> Field<Target> {
      Field(key, shape, required: false, note) {
        $0[keyPath: part][keyPath: property] = $1
      }
    }
    func into<Value>(
      _ key: String, _ shape: Shape<Value>,
      _ property: any WritableKeyPath<ToolChoice.Handling, Value?> & Sendable, _ note: String
    ) -> Field<Target> {
      Field(key, shape, required: false, note) {
        $0[keyPath: part][keyPath: property] = $1
      }
    }
    return [
      into(
        "onError", .word, \.onError, "What happens when a call fails: continue, stop or retry."),
      into(
        "maxAttempts", .count(1...10), \.maxAttempts,
        "How often a call is started at most with onError: retry; 3 where it is left out."),
      into(
        "retry", retry, \.retry,
        "How a failed call is made again; only for tools that read or are idempotent."),
      into(
        "breaker", breaker, \.breaker,
        "When calls are no longer let through: after so many errors in a row, for a while."),
      into(
        "routes", .list(of: .name, atLeast: 1), \.routes,
        "The routes on which the model is told of it; every route where it is left out."),
      into(
        "disclose", .list(of: DisclosureFile.rule, atLeast: 1), \.disclose,
        "Rules about when the model is told of it; the first that holds decides."),
    ]
  }

  /// An agent is told from another tool by the key that names it.
  private static let toolOrAgent = Shape<ToolRegistration>([
    "anyOf": [tool.schema(), ChildFile.shape.schema()]
  ]) { value, reader in
    value["agent"] == nil ? tool.read(value, reader) : ChildFile.shape.read(value, reader)
  }

  private static let tool = Shape<Draft>.record(
    Draft(),
    [
      Field("name", .name, \.definition.name, required: true, "What the model calls it by."),
      Field(
        "description", PromptFile.early, required: false, "What the model is told about it."
      ) { draft, template in
        if let plain = template.plain {
          draft.definition.description = plain
        } else {
          draft.definition.description = template.written
          draft.description = template
        }
      },
      Field(
        "sideEffect", .word, \.definition.sideEffect, required: true,
        "What running it does to the world: read, draft or write."),
      Field("sensitivity", .name, \.definition.sensitivity, "A word of yours, for the log."),
      Field(
        "inputSchema", .jsonSchema, \.definition.inputSchema,
        "The JSON Schema of its input, checked before policy sees a call."),
      Field(
        "outputSchema", .jsonSchema, \.definition.outputSchema, "The JSON Schema of its result."),
      Field(
        "timeoutSeconds", .amount, \.definition.timeoutSeconds,
        "Seconds until a call is cut off."),
      Field(
        "idempotent", .flag, \.definition.idempotent,
        "Whether it honours idempotency keys, so that a call may be made again."),
    ] + handling(\.handling) + [
      Field(
        "scripted", .list(of: rule, atLeast: 1), \.rules,
        "Results written down; the first whose condition holds is given."),
      Field("command", CommandFile.ofTool, \.command, "A program that does the work."),
      Field("http", HTTPFile.shape, \.http, "A request over HTTP that does the work."),
      Field("code", CommandFile.code, \.code, "It runs programs that the model writes."),
      Field("memory", memory, \.memory, "It reads, writes or looks for notes."),
    ],
    constraints: [
      "oneOf": [
        ["required": ["scripted"]], ["required": ["command"]], ["required": ["http"]],
        ["required": ["code"]], ["required": ["memory"]],
      ]
    ]
  ).map(finished)

  private static let memoryKind = Shape<MemoryAccess.Kind>.word

  private static let memoryAccess = Shape<MemoryAccess>.record(
    MemoryAccess(.read),
    [
      Field("access", .word, \.kind, required: true, "read, write or search."),
      Field(
        "scopes", .list(of: .word(["run", "agent", "actor", "tenant"]), atLeast: 1), \.scopes,
        "Which notes it reaches; all where it is left out."),
    ])

  private static let memory = Shape<MemoryAccess>([
    "anyOf": [memoryKind.schema(), memoryAccess.schema()]
  ]) { value, reader in
    if case .object = value { return memoryAccess.read(value, reader) }
    return memoryKind.read(value, reader).map { MemoryAccess($0) }
  }

  private static let retry = Shape<RetrySettings>.record(
    RetrySettings(),
    [
      Field(
        "maxAttempts", .count(1...10), \.maxAttempts,
        "How often a call is started at most; 3 where it is left out."),
      Field(
        "backoffSeconds", .amount, \.backoffSeconds,
        "Seconds before the second attempt, twice as many before each further one; 0 where it is left out."
      ),
      Field(
        "maxBackoffSeconds", .amount, \.maxBackoffSeconds,
        "The longest wait; 60 where it is left out."),
    ])

  private static let breaker = Shape<BreakerSettings>.record(
    BreakerSettings(failures: 1, resetSeconds: 0),
    [
      Field(
        "failures", .count(1...1_000_000), \.failures, required: true,
        "The error in a row that opens it."),
      Field(
        "resetSeconds", .amount, \.resetSeconds, required: true,
        "Seconds of run time until one call is let through again."),
    ])

  @Sendable private static func finished(
    _ draft: Draft, _ reader: FieldReader
  ) -> ToolRegistration? {
    let candidates: [(key: String, implementation: ToolRegistration.Implementation?)] = [
      ("scripted", draft.rules.map { .scripted(ScriptedTool(rules: $0)) }),
      ("command", draft.command.map { .command($0) }), ("http", draft.http.map { .http($0) }),
      ("code", draft.code.map { .code($0) }), ("memory", draft.memory.map { .memory($0) }),
    ]
    let given = candidates.compactMap { key, implementation in implementation.map { (key, $0) } }
    guard let (key, implementation) = given.first else {
      return reader.lacks(
        "nothing runs when it is called; add “scripted”, “command”, “http”, “code”, “memory” or “agent”"
      )
    }
    if given.count > 1 {
      return reader.refuse("has “\(key)” and “\(given[1].0)”; one of them is allowed")
    }
    var definition = draft.definition
    if let access = draft.memory {
      // To write the same note twice is to write it once.
      definition.idempotent = true
      if definition.inputSchema == ToolDefinition(name: "").inputSchema {
        definition.inputSchema = access.inputSchema
      }
    }
    let handling = draft.handling
    var tool = ToolRegistration(
      definition: definition, implementation: implementation, onError: handling.onError,
      maxAttempts: handling.maxAttempts, retry: handling.retry, breaker: handling.breaker,
      routes: handling.routes)
    tool.disclose = handling.disclose
    tool.descriptionTemplate = draft.description
    for (key, isGiven) in [("onError", tool.onError == .retry), ("retry", tool.retry != nil)]
    where isGiven && !tool.mayRetry {
      reader.report(
        "“retry” has no effect on a tool that is neither read-only nor idempotent", as: .warning,
        deeper: [.key(key)])
    }
    return tool
  }

  // MARK: Scripted results

  struct RuleDraft: Sendable {
    var condition: Matcher?
    var ok: JSONValue?
    var error: String?
    var effect: String?
    var delaySeconds = 0.0
    var raises: String?
    var writes: [MemoryNote] = []
  }

  private static let writtenNote = Shape<MemoryNote>.record(
    MemoryNote(scope: "run", key: "", value: nil),
    [
      Field(
        "scope", .word(["run", "agent", "actor", "tenant"]), \.scope, required: true,
        "Whose note it is."),
      Field("key", .name, \.key, required: true, "What the note is found by."),
      Field("value", .any, \.value, "The note itself; it is taken away without one."),
    ])

  static let rule = Shape<RuleDraft>.record(
    RuleDraft(),
    [
      Field(
        "when", .matcher(on: ["input", "attempt", "step"]), \.condition,
        "A matcher on input, attempt and step."),
      Field("ok", .any, \.ok, "The result's data; ${…} is filled in from input, attempt and step."),
      Field("error", .text, \.error, "The call fails with this reason."),
      Field(
        "effect", .word(["none", "unknown"]), \.effect,
        "Of an error: whether nothing was done, or nobody knows; none where it is left out."),
      Field("delaySeconds", .amount, \.delaySeconds, "How long the tool seems to work."),
      Field(
        "writes", .list(of: writtenNote), \.writes,
        "Notes that it writes with its result; without a value one is taken away."),
      Field(
        "raise", .word(["SIGTERM", "SIGINT"]), \.raises,
        "A signal that reaches this process before the tool answers."),
    ],
    constraints: ["oneOf": [["required": ["ok"]], ["required": ["error"]]]]
  ).map { draft, reader -> ScriptedTool.Rule? in
    let outcome: ScriptedTool.Outcome
    switch (draft.ok, draft.error) {
    case (let data?, nil): outcome = .ok(data)
    case (nil, let reason?):
      outcome = .error(reason, isEffectUnknown: draft.effect == "unknown")
    default:
      return reader.lacks("needs either “ok” or “error”")
    }
    return ScriptedTool.Rule(
      condition: draft.condition, outcome: outcome, delaySeconds: draft.delaySeconds,
      raises: draft.raises, writes: draft.writes)
  }
}
