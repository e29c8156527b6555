import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `tools` of an agent file.
enum ToolFile {
  static let list = Shape<[ToolRegistration]>.list(of: tool).map { tools, reader in
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
    var onError = ToolRegistration.OnError.continue
    var maxAttempts = 3
    var routes: [String]?
    var disclose: [DisclosureRule]?
    var rules: [ScriptedTool.Rule]?
    var command: CommandDefinition?
  }

  private static let tool = Shape<Draft>.record(
    Draft(),
    [
      Field("name", .name, \.definition.name, required: true, "What the model calls it by."),
      Field("description", .text, \.definition.description, "What the model is told about it."),
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
      Field(
        "onError", .word, \.onError, "What happens when a call fails: continue, stop or retry."),
      Field(
        "maxAttempts", .count(1...10), \.maxAttempts,
        "How often a call is started at most with onError: retry; 3 where it is left out."),
      Field(
        "routes", .list(of: .name, atLeast: 1), \.routes,
        "The routes on which the model is told of it; every route where it is left out."),
      Field(
        "disclose", .list(of: DisclosureFile.rule, atLeast: 1), \.disclose,
        "Rules about when the model is told of it; the first that holds decides."),
      Field(
        "scripted", .list(of: rule, atLeast: 1), \.rules,
        "Results written down; the first whose condition holds is given."),
      Field("command", command, \.command, "A program that does the work."),
    ],
    constraints: ["oneOf": [["required": ["scripted"]], ["required": ["command"]]]]
  ).map(finished)

  @Sendable private static func finished(
    _ draft: Draft, _ reader: FieldReader
  ) -> ToolRegistration? {
    let implementation: ToolRegistration.Implementation
    switch (draft.rules, draft.command) {
    case (let rules?, nil): implementation = .scripted(ScriptedTool(rules: rules))
    case (nil, let command?): implementation = .command(command)
    case (nil, nil):
      if !reader.hasErrorHere {
        reader.report("nothing runs when it is called; add “scripted” or “command”")
      }
      return nil
    case (_?, _?):
      reader.report("has “scripted” and “command”; one of them is allowed")
      return nil
    }
    var tool = ToolRegistration(
      definition: draft.definition, implementation: implementation, onError: draft.onError,
      maxAttempts: draft.maxAttempts, routes: draft.routes)
    tool.disclose = draft.disclose
    if tool.onError == .retry, !tool.mayRetry {
      reader.report(
        "“retry” has no effect on a tool that is neither read-only nor idempotent", as: .warning,
        deeper: [.key("onError")])
    }
    return tool
  }

  // MARK: Scripted results

  private struct RuleDraft: Sendable {
    var condition: Matcher?
    var ok: JSONValue?
    var error: String?
    var delaySeconds = 0.0
    var raises: String?
  }

  private static let rule = Shape<RuleDraft>.record(
    RuleDraft(),
    [
      Field("when", .matcher, \.condition, "A matcher on input, attempt and step."),
      Field("ok", .any, \.ok, "The result's data; ${…} is filled in from input, attempt and step."),
      Field("error", .text, \.error, "The call fails with this reason."),
      Field("delaySeconds", .amount, \.delaySeconds, "How long the tool seems to work."),
      Field(
        "raise", .word(["SIGTERM", "SIGINT"]), \.raises,
        "A signal that reaches this process before the tool answers."),
    ],
    constraints: ["oneOf": [["required": ["ok"]], ["required": ["error"]]]]
  ).map { draft, reader -> ScriptedTool.Rule? in
    let outcome: ScriptedTool.Outcome
    switch (draft.ok, draft.error) {
    case (let data?, nil): outcome = .ok(data)
    case (nil, let reason?): outcome = .error(reason)
    default:
      if !reader.hasErrorHere { reader.report("needs either “ok” or “error”") }
      return nil
    }
    return ScriptedTool.Rule(
      condition: draft.condition, outcome: outcome, delaySeconds: draft.delaySeconds,
      raises: draft.raises)
  }

  // MARK: Commands

  private static let arguments = Shape<[String]>.list(of: argument, atLeast: 1)

  private static let argument = Shape<String>([
    "type": "string", "pattern": "^[^\\u0000]*$",
  ]) { value, reader in
    if case .string(let text) = value, !text.utf8.contains(0) { return text }
    reader.reportKind(of: value, expected: "text without zero bytes")
    return nil
  }

  private static let detailed = Shape<CommandDefinition>.record(
    CommandDefinition(arguments: []),
    [
      Field(
        "arguments", arguments, \.arguments, required: true,
        "The program and its arguments; one with a slash is relative to this file's folder."),
      Field(
        "outputLimitBytes", .count(1...(64 << 20)), \.outputLimitBytes,
        "The most bytes of standard output; 1048576 where it is left out."),
    ])

  private static let command = Shape<CommandDefinition>([
    "anyOf": [arguments.schema(), detailed.schema()]
  ]) { value, reader in
    switch value {
    case .object: return detailed.read(value, reader)
    case .array: return arguments.read(value, reader).map { CommandDefinition(arguments: $0) }
    default:
      reader.reportKind(of: value, expected: "a list of program and arguments, or a mapping")
      return nil
    }
  }
}
