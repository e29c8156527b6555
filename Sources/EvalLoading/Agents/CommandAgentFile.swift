public import AgentRuntime
import AgentTrace
import TraceMatching

/// An agent that is a command: a file of its own, or the key `agent` of a case. Docs/command-agents.md
/// explains each key.
enum CommandAgentFile {
  /// What the keys are read into.
  struct Draft: Sendable {
    var agent = AgentDefinition(name: "", model: ModelFile.start, limits: Limits())
    var command = CommandAgent(arguments: [])
  }

  /// The keys of a mapping in a case.
  static let fields: [Field<Draft>] = [
    Field(
      "name", .name, \.agent.name, "What logs call the agent; the program where it is left out."),
    Field("version", .name, \.agent.version, "Its version; text, so put quotes around a number."),
    Field(
      "command", arguments, \.command.arguments, required: true,
      "The program and its arguments; ${input}, ${caseId} and ${trial} are filled in."),
    Field(
      "cwd", .path, \.command.folder,
      "The folder that it works in, from this file's folder; that folder where it is left out."),
    Field(
      "environment", CommandFile.environment, \.command.environment,
      "What its environment holds besides the usual; ${input}, ${caseId} and ${trial} are filled in."
    ),
    Field(
      "upstream", upstreams, \.command.upstreams,
      "Where providers are, by their names; openai and anthropic are known."),
    Field(
      "timeoutSeconds", .seconds(atMost: 1_000_000), \.command.timeoutSeconds,
      "Seconds until it is ended; 300 where it is left out."),
    Field(
      "answer", .word, \.command.answer,
      "What its answer is: reply (the last thing that its model said) or stdout; reply where it is left out."
    ),
    Field(
      "answerFrom", answerCall, \.command.answerFrom,
      "The call that is its answer, where it answers by one."),
    Field(
      "main", matcher, \.command.main,
      "Which conversation is its own: tool:NAME, model:NAME, or a text that the instructions or the first message hold."
    ),
    Field(
      "callers", callers, \.command.callers,
      "Names of the others that speak with models, each with what tells their requests, as in main; of several that fit, the first by name."
    ),
    Field(
      "isolate", .flag, \.command.isIsolated,
      "Whether it can reach nothing but the proxy over a network; where the system refuses that, it does not run."
    ),
    Field(
      "policy", PolicyFile.inlineOrPath,
      "The rules about which of its calls may reach it: a mapping with rules, or the path of a policy file."
    ) { draft, policy in
      draft.agent.policy = policy
      draft.command.isGuarded = true
    },
    Field("policyContext", AgentFile.policyContext, \.agent.policyContext, "Who it runs for."),
    Field(
      "tools", tools, \.agent.tools,
      "What its tools do to the world, for the policy; any other tool counts as one that writes."),
    Field(
      "maxDenials", .count(1...1_000_000), \.agent.failures.maxDenials,
      "The denied call that ends the run; 3 where it is left out."),
    Field("human", HumanFile.shape, \.agent.human, "A person written down: what they approve."),
    Field("limits", limits, \.agent.limits, "What a run may use at most."),
    Field(
      "onLimit", onLimit,
      "What a request beyond a limit does: refuse (the command is told) or stop (it is ended); refuse where it is left out."
    ) { $0.command.endsAtLimit = $1 == .stop },
    Field(
      "prices", prices, \.command.prices,
      "Money for a million tokens, by the names of models or globs of them; the most exact that fits counts."
    ),
    Field("goal", .text, \.agent.goal, "What it is to do where a run does not say."),
    Field(
      "redaction", RedactionFile.shape, \.agent.redaction,
      "What is withheld from a run's events; credentials where it is left out."),
  ]

  private static let answerCall = Shape<CommandAgent.AnswerCall>.record(
    CommandAgent.AnswerCall(tool: ""),
    [
      Field("tool", .name, \.tool, required: true, "The tool that it calls to answer."),
      Field(
        "path", RedactionFile.pointer, \.path,
        "The part of the input that is the answer, as in /answer; all of it where it is left out."),
    ])

  private static let matcher = Shape<String>.name.map { text, reader -> CallerMatcher? in
    let matcher = CallerMatcher(text)
    if matcher == nil { reader.report("names nothing", hint: "write a name behind the colon") }
    return matcher
  }

  private static let callers = Shape<[CallerName]>.members(
    [
      "type": "object", "additionalProperties": matcher.schema(), "propertyNames": ["minLength": 1],
    ],
    expected: "a mapping from names to what tells their requests"
  ) { member, reader in
    guard !member.key.isEmpty else { return reader.refuse("a caller has a name", at: .key) }
    return matcher.read(member.value, reader).map { CallerName(name: member.key, matcher: $0) }
  }

  private enum OnLimit: String, CaseIterable, Sendable {
    case refuse, stop
  }

  private static let onLimit = Shape<OnLimit>.word

  private static let limits = Shape<Limits>.record(
    Limits(),
    [
      Field("maxSteps", .count, \.maxSteps, "Replies of models at most."),
      Field("maxTokens", .count, \.maxTokens, "Input and output tokens together, at most."),
      Field("maxCost", .amount, \.maxCost, "Money at most, in the currency of the prices."),
    ])

  private static let tools = Shape<[ToolDefinition]>.list(
    of: .record(
      ToolDefinition(name: ""),
      [
        Field("name", .name, \.name, required: true, "What the model calls it by."),
        Field(
          "sideEffect", .word, \.sideEffect, required: true,
          "What running it does to the world: read, draft or write."),
        Field("sensitivity", .name, \.sensitivity, "A word of yours, for policy and the log."),
      ])
  ).map { tools, reader -> [ToolRegistration]? in
    for (index, tool) in tools.enumerated()
    where tools[..<index].contains(where: { $0.name.hasSameUTF8(as: tool.name) }) {
      reader.report("the tool \(tool.name.quoted) stands twice", deeper: [.index(index)])
    }
    return tools.map {
      ToolRegistration(definition: $0, implementation: .listed(source: "command"))
    }
  }

  private static let prices = Shape<[CommandAgent.ModelPrices]>.members(
    [
      "type": "object", "additionalProperties": ProviderFile.prices.schema(),
      "propertyNames": ["minLength": 1],
    ], expected: "a mapping from models to prices"
  ) { member, reader in
    guard let models = Shape<Glob>.glob.read(.string(member.key), reader),
      let prices = ProviderFile.prices.read(member.value, reader)
    else { return nil }
    return CommandAgent.ModelPrices(models: models, prices: prices)
  }.map { prices, _ in prices.sorted(by: isMoreExact) }

  /// Whether one name of models goes before another: no mapping has an order, so a name goes before a glob, and
  /// a longer one before a shorter.
  private static func isMoreExact(
    _ one: CommandAgent.ModelPrices, than other: CommandAgent.ModelPrices
  ) -> Bool {
    let (text, its) = (one.models.text, other.models.text)
    if (one.models.literal == nil) != (other.models.literal == nil) {
      return one.models.literal != nil
    }
    if text.utf8.count != its.utf8.count { return text.utf8.count > its.utf8.count }
    return text.precedesByUTF8(its)
  }

  /// The keys of a file.
  static let fileFields: [Field<Draft>] =
    [
      .schemaOfFile
    ] + fields

  /// The agent that a mapping is; `nil` after reporting what is wrong with it.
  static func agent(
    _ object: JSONObject, _ fields: [Field<Draft>], _ reader: FieldReader
  ) -> AgentDefinition? {
    let before = reader.errorCount
    var draft = Draft()
    draft.command.folder = reader.folder.path
    reader.read(object, into: &draft, fields)
    checkNames(in: draft.command, reader)
    if draft.command.answer == .stdout, draft.command.answerFrom != nil {
      reader.report(
        "“answerFrom” goes with the replies of models, not with “answer: stdout”",
        deeper: [.key("answerFrom")])
    }
    if draft.agent.limits.maxCost != nil, draft.command.prices.isEmpty {
      reader.report(
        "“maxCost” needs “prices”: nobody knows what is spent without them",
        deeper: [.key("limits"), .key("maxCost")])
    }
    guard reader.errorCount == before else { return nil }
    var (agent, command) = (draft.agent, draft.command)
    // The way to a file's own folder from there may have no words left.
    if command.folder.isEmpty { command.folder = "." }
    agent.folder = reader.folder.path
    if agent.name.isEmpty { agent.name = command.programName }
    agent.model = ModelDefinition(
      provider: "command", name: command.programName, implementation: .command(command))
    return agent
  }

  private static func checkNames(in command: CommandAgent, _ reader: FieldReader) {
    let places =
      command.arguments.enumerated().map { ([PathStep.key("command"), .index($0)], $1) }
      + command.environment.set.sorted { $0.key.precedesByUTF8($1.key) }.map {
        ([.key("environment"), .key("set"), .key($0.key)], $0.value)
      }
    for (place, text) in places {
      for name in PlaceholderText(text).names where !CommandAgent.names.contains(name) {
        reader.report(
          "there is no ${\(name)} here",
          hint:
            "known here: \(CommandAgent.names.joined(separator: ", ")); write $${ for a plain ${",
          deeper: place)
      }
    }
  }

  private static let arguments = CommandFile.arguments.map { arguments, reader in
    if arguments.first == "" { reader.report("should not be empty", deeper: [.index(0)]) }
    return arguments
  }

  private static let upstreams = Shape<[CommandAgent.Upstream]>.members(
    [
      "type": "object", "propertyNames": ["pattern": "^[A-Za-z0-9_-]{1,40}$"],
      "additionalProperties": ProviderFile.url.schema(),
    ], expected: "a mapping from names to URLs"
  ) { member, reader in
    guard ServerFile.isName(member.key, upTo: 40) else {
      return reader.refuse("an upstream is named by 1 to 40 letters, digits, “_” and “-”", at: .key)
    }
    return ProviderFile.url.read(member.value, reader).map {
      CommandAgent.Upstream(name: member.key, url: $0)
    }
  }
}

/// An agent that stands in a case itself, and what it was read from.
public struct WrittenAgent: Sendable {
  /// The agent; a command.
  public var agent: AgentDefinition
  /// What the file says of it.
  var source: JSONValue
}

/// What a case says of its agent.
enum CaseAgent: Sendable {
  /// The path of its file, seen from where this process works.
  case file(String)
  case written(WrittenAgent)

  static let shape = Shape<CaseAgent>([
    "anyOf": [
      Shape<String>.path.schema(), ["$ref": "#/$defs/commandAgent"],
    ]
  ]) { value, reader in
    guard case .object(let object) = value else {
      guard case .string = value else {
        return reader.refuseKind(
          of: value, expected: "the path of an agent file, or a mapping with “command”")
      }
      return Shape<String>.path(to: .agent).read(value, reader).map { .file($0) }
    }
    guard var agent = CommandAgentFile.agent(object, CommandAgentFile.fields, reader) else {
      return nil
    }
    agent.digest = Digest(of: value).hex
    return .written(WrittenAgent(agent: agent, source: value))
  }
}
