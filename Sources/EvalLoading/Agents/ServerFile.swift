import AgentRuntime
import AgentTrace
import TraceMatching

/// The key `mcpServers` of an agent file: servers of tools, by their names.
enum ServerFile {
  static let servers = Shape<[SourceRegistration]>.members(
    [
      "type": "object", "propertyNames": ["pattern": "^[A-Za-z0-9_-]{1,64}$"],
      "additionalProperties": server.schema(),
    ], expected: "a mapping from names to servers"
  ) { member, reader in
    guard isName(member.key, upTo: 64) else {
      return reader.refuse("a server is named by 1 to 64 letters, digits, “_” and “-”", at: .key)
    }
    return server.read(member.value, reader).map { $0.registration(named: member.key) }
  }

  /// Whether a text is up to so many letters, digits, “_” and “-”.
  static func isName(_ name: String, upTo limit: Int) -> Bool {
    (1...limit).contains(name.utf8.count)
      && name.utf8.allSatisfy { CommandFile.isWord($0) || $0 == UInt8(ascii: "-") }
  }

  private struct Draft: Sendable {
    var command: [String]?
    var arguments: [String]?
    var environment: [String: EnvironmentText]?
    var limits: ProcessLimits?
    var url: String?
    var headers: [ServerEndpoint.Header]?
    var source = SourceRegistration(
      name: "", implementation: .command(ServerCommand(arguments: [])))
    var prefix: String?

    func registration(named name: String) -> SourceRegistration {
      var source = source
      source.name = name
      source.prefix = prefix ?? "\(name)."
      return source
    }
  }

  private static let server = Shape<Draft>.record(
    Draft(),
    [
      Field(
        "command", program, \.command,
        "The program that serves over its standard input and output, or a list of it and its arguments; one with a slash is relative to this file's folder."
      ),
      Field(
        "args", .list(of: CommandFile.argument), \.arguments,
        "The program's arguments, where “command” is not a list."),
      Field(
        "env", variables, \.environment,
        "Variables of its environment besides the usual; ${NAME} is filled in from this process's own."
      ),
      Field(
        "limits", CommandFile.limits(ProcessLimits()), \.limits,
        "What each of its processes may use."),
      Field("url", address, \.url, "The address that serves over HTTP."),
      Field(
        "headers", HTTPFile.headers, \.headers,
        "Headers of each request; ${NAME} is filled in from this process's environment."),
      Field(
        "tools", .list(of: choice, atLeast: 1), \.source.choices,
        "Which of its tools the agent takes: names, globs, or mappings that say more; all where it is left out."
      ),
      Field(
        "prefix", .text, \.prefix,
        "What stands before the names of its tools; the server's name and a dot where it is left out."
      ),
      Field(
        "annotations", .word, \.source.annotations,
        "What the server's own words about effects are worth: trust or ignore; trust where it is left out."
      ),
      Field(
        "onChange", .word, \.source.onChange,
        "What becomes of a tool that is not what it was when the run started: refuse, accept or stop; refuse where it is left out."
      ),
      Field(
        "digest", digest, \.source.digest,
        "The digest that its list must have when a run starts or goes on."),
      Field(
        "startTimeoutSeconds", .amount, \.source.startTimeoutSeconds,
        "Seconds until it has said which tools it has; 30 where it is left out."),
      Field(
        "timeoutSeconds", .amount, \.source.timeoutSeconds,
        "Seconds until a call is cut off; 300 where it is left out."),
      Field(
        "idleSeconds", .amount, \.source.idleSeconds,
        "Seconds without a word of progress until a call is cut off before that."),
    ],
    constraints: [
      "oneOf": [
        ["required": ["command"], "not": without("url", "headers")],
        ["required": ["url"], "not": without("command", "args", "env", "limits")],
      ]
    ]
  ).map { draft, reader -> Draft? in
    var draft = draft
    switch (draft.command, draft.url) {
    case (let command?, nil):
      if draft.headers != nil {
        reader.report("“headers” go with “url”", deeper: [.key("headers")])
      }
      draft.source.implementation = .command(
        ServerCommand(
          arguments: command + (draft.arguments ?? []), environment: draft.environment ?? [:],
          limits: draft.limits ?? ProcessLimits()))
    case (nil, let url?):
      for (key, isGiven) in [
        ("args", draft.arguments != nil), ("env", draft.environment != nil),
        ("limits", draft.limits != nil),
      ] where isGiven {
        reader.report("“\(key)” goes with “command”", deeper: [.key(key)])
      }
      draft.source.implementation = .endpoint(
        ServerEndpoint(url: url, headers: draft.headers ?? []))
    default:
      return reader.lacks("needs either “command” or “url”")
    }
    return draft
  }

  /// What no mapping with one of these keys is.
  private static func without(_ keys: String...) -> JSONValue {
    ["anyOf": .array(keys.map { ["required": JSONValue([$0])] })]
  }

  // MARK: Values

  /// A program, or a list of it and its arguments.
  private static let program = Shape<[String]>([
    "anyOf": [
      ["type": "string", "minLength": 1, "pattern": "^[^\\u0000]*$"],
      CommandFile.arguments.schema(),
    ]
  ]) { value, reader in
    if case .array = value { return CommandFile.arguments.read(value, reader) }
    if value == "" { return reader.refuse("should not be empty") }
    return CommandFile.argument.read(value, reader).map { [$0] }
  }

  private static let variables = CommandFile.variables.map { variables, _ in
    variables.mapValues { EnvironmentText($0) }
  }

  private static let address = Shape<String>(["type": "string", "pattern": "^https?://[^/?#]+"]) {
    value, reader in
    guard case .string(let text) = value else {
      return reader.refuseKind(of: value, expected: "a URL")
    }
    do {
      let template = try URLTemplate(text)
      guard template.keys.isEmpty else {
        return reader.refuse("nothing is filled in to the URL of a server")
      }
      return text
    } catch {
      return reader.refuse("\(error)")
    }
  }

  private static let digest = Shape<String>.text(
    ["type": "string", "pattern": "^[0-9a-f]{64}$"], expected: "a digest: 64 digits 0-9a-f"
  ) { Digest(hex: $0) != nil && $0.lowercased() == $0 }

  // MARK: Choices

  private struct ChoiceDraft: Sendable {
    var tool: Glob?
    var name: String?
    var description: String?
    var sideEffect: SideEffect?
    var sensitivity: String?
    var idempotent: Bool?
    var timeoutSeconds: Double?
    var handling = ToolChoice.Handling()
  }

  private static let detailed = Shape<ChoiceDraft>.record(
    ChoiceDraft(),
    [
      Field(
        "name", .glob, \.tool, required: true, "What the server calls it, or a glob for many."),
      Field(
        "as", toolName, \.name,
        "What it is called by; the server's name behind the prefix where it is left out."),
      Field(
        "description", .text, \.description,
        "What the model is told about it in place of what the server says."),
      Field(
        "sideEffect", .word, \.sideEffect,
        "What running it does to the world, whatever the server says: read, draft or write."),
      Field("sensitivity", .name, \.sensitivity, "A word of yours, for policy and the log."),
      Field(
        "idempotent", .flag, \.idempotent,
        "Whether a call may be made again, whatever the server says."),
      Field(
        "timeoutSeconds", .amount, \.timeoutSeconds, "Seconds until a call is cut off."),
    ] + ToolFile.handling(\.handling)
  )

  private static let toolName = Shape<String>.text(
    ["type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"],
    expected: "a tool's name: 1 to 128 letters, digits, “_”, “-” and “.”"
  ) { text in
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { CommandFile.isWord($0) || ".-".utf8.contains($0) }
  }

  private static let choice = Shape<ToolChoice>([
    "anyOf": [Shape<Glob>.glob.schema(), detailed.schema()]
  ]) { value, reader in
    guard case .object = value else {
      return Shape<Glob>.glob.read(value, reader).map { ToolChoice($0) }
    }
    guard let draft = detailed.read(value, reader), let tool = draft.tool else { return nil }
    if draft.name != nil, tool.literal == nil {
      return reader.refuse(
        "“as” names one tool, and “name” is a glob for many", deeper: [.key("as")])
    }
    return ToolChoice(
      tool, name: draft.name, description: draft.description, sideEffect: draft.sideEffect,
      sensitivity: draft.sensitivity, isIdempotent: draft.idempotent,
      timeoutSeconds: draft.timeoutSeconds, handling: draft.handling)
  }
}
