public import AgentRuntime
import AgentTrace

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
      "timeoutSeconds", seconds, \.command.timeoutSeconds,
      "Seconds until it is ended; 300 where it is left out."),
    Field(
      "answer", .word, \.command.answer,
      "What its answer is: reply (the last thing that its model said) or stdout; reply where it is left out."
    ),
    Field("goal", .text, \.agent.goal, "What it is to do where a run does not say."),
    Field(
      "redaction", RedactionFile.shape, \.agent.redaction,
      "What is withheld from a run's events; credentials where it is left out."),
  ]

  /// The keys of a file.
  static let fileFields: [Field<Draft>] =
    [
      Field("$schema", .text, required: false, "The JSON Schema of this file, for editors.") {
        _, _ in
      }
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

  private static let seconds = Shape<Double>([
    "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000,
  ]) { value, reader in
    if let seconds = value.doubleValue, seconds > 0, seconds <= 1_000_000 { return seconds }
    reader.reportKind(of: value, expected: "a number of seconds above 0, 1000000 at most")
    return nil
  }

  private static let namePattern = "^[A-Za-z0-9_-]{1,40}$"

  private static let upstreams = Shape<[CommandAgent.Upstream]>([
    "type": "object", "propertyNames": ["pattern": .string(namePattern)],
    "additionalProperties": ProviderFile.url.schema(),
  ]) { value, reader in
    guard case .object(let object) = value else {
      reader.reportKind(of: value, expected: "a mapping from names to URLs")
      return nil
    }
    return object.compactMap { member in
      reader.within(.key(member.key)) {
        guard isName(member.key) else {
          reader.report(
            "an upstream is named by 1 to 40 letters, digits, “_” and “-”", at: .key)
          return nil
        }
        return ProviderFile.url.read(member.value, reader).map {
          CommandAgent.Upstream(name: member.key, url: $0)
        }
      }
    }
  }

  private static func isName(_ name: String) -> Bool {
    (1...40).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        CommandFile.isVariable("_" + String(UnicodeScalar(byte))) || byte == UInt8(ascii: "-")
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
      Shape<String>.path.schema(), .object(FileSchema.object(CommandAgentFile.fields)),
    ]
  ]) { value, reader in
    guard case .object(let object) = value else {
      guard case .string = value else {
        reader.reportKind(
          of: value, expected: "the path of an agent file, or a mapping with “command”")
        return nil
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
