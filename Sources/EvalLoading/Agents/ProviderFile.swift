import AgentRuntime
import AgentTrace

/// The key `model` of an agent file where a provider serves the model.
enum ProviderFile {
  /// What stands under `provider`, other than `scripted`.
  static let providers = Dialect.allCases.map(\.rawValue)

  private struct Draft: Sendable {
    var dialect = Dialect.openai
    var name = ""
    var baseURL: String?
    var keyVariable: String?
    var headers: [ProviderModel.Header] = []
    var headersFrom: [ProviderModel.Header] = []
    var streams = true
    var settings = GenerationSettings()
    var toolChoice: ToolChoiceDraft?
    var prices: ProviderModel.Prices?
    var timeouts = ProviderModel.Timeouts()
    var authorityFile: String?
    var requestsPerMinute: Int?
    var tokensPerMinute: Int?
  }

  static let shape = Shape<Draft>.record(
    Draft(),
    [
      Field(
        "provider", Shape<Dialect>.word, \.dialect, required: true,
        "How the server is spoken to: openai (Chat Completions), anthropic (Messages), openai-responses, gemini (generateContent), ollama (its own chat) or bedrock (Converse)."
      ),
      Field("name", .name, \.name, required: true, "The model's name as its provider has it."),
      Field(
        "baseUrl", url, \.baseURL,
        "Where the server is; the vendor's own where it is left out."),
      Field(
        "keyFrom", variable, \.keyVariable,
        "The variable of the environment that holds the key; OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY where both this and baseUrl are left out."
      ),
      Field(
        "headers", headers(of: headerText) { .text($0) }, \.headers, "Headers of each request."),
      Field(
        "headersFrom", headers(of: variable) { .variable($0) }, \.headersFrom,
        "Headers of each request whose values are taken from variables of the environment."),
      Field(
        "stream", .flag, \.streams, "Whether replies come as they are written; true where left out."
      ),
      Field(
        "maxOutputTokens", .count(1...100_000_000), \.settings.maxOutputTokens,
        "Tokens of a reply at most."),
      Field(
        "temperature", .amount, \.settings.temperature,
        "Sent only where it stands here; many models refuse it."),
      Field(
        "topP", .amount, \.settings.topP, "Sent only where it stands here; many models refuse it."),
      Field(
        "seed", .count, \.settings.seed, "Sent only where it stands here; promises nothing."),
      Field("stop", .list(of: .name, atLeast: 1), \.settings.stop, "Texts that end a reply."),
      Field(
        "toolChoice", toolChoice, \.toolChoice,
        "Which tools a reply may call: auto, none, required, or a mapping with a tool."),
      Field(
        "parallelToolCalls", .flag, \.settings.parallelToolCalls,
        "Whether a reply may hold several calls; left to the provider where it is left out."),
      Field(
        "reasoning", reasoning, \.settings.reasoning,
        "What the model may think; left to the provider where it is left out."),
      Field(
        "textToolCalls", Shape<GenerationSettings.TextToolCalls>.word, \.settings.textToolCalls,
        "hermes: what the model writes as <tool_call>{…}</tool_call> is read as calls, where the server does not do so."
      ),
      Field(
        "options", .mapping, \.settings.options,
        "Keys of the request as they are, in place of any that are made from the other keys."),
      Field(
        "prices", prices, \.prices, "Money for a million tokens; cost is unknown without them."),
      Field(
        "ca", .path, \.authorityFile,
        "A file of authorities (PEM) that the server's certificate may be signed by, besides the usual ones; a path from this file's folder."
      ),
      Field("timeouts", timeouts, \.timeouts, "Seconds until a request is given up."),
      Field(
        "requestsPerMinute", .count(1...1_000_000), \.requestsPerMinute,
        "Requests that all runs of a process may begin within a minute."),
      Field(
        "tokensPerMinute", .count(1...1_000_000_000), \.tokensPerMinute,
        "Tokens that all runs of a process may use within a minute."),
    ]
  ).map { draft, reader -> ModelDefinition? in
    // Without the two there is nothing to build on, and their lack is reported.
    guard !draft.name.isEmpty else { return nil }
    let names = draft.headers + draft.headersFrom
    for (index, header) in names.enumerated()
    where names[..<index].contains(where: { $0.name.lowercased() == header.name.lowercased() }) {
      reader.report("the header \(header.name.quoted) stands twice")
    }
    if [.anthropic, .bedrock, .openaiResponses].contains(draft.dialect),
      draft.settings.seed != nil
    {
      reader.report("“seed” is nothing that provider: \(draft.dialect.rawValue) takes")
    }
    if [.bedrock, .gemini, .ollama].contains(draft.dialect),
      draft.settings.parallelToolCalls != nil
    {
      reader.report("“parallelToolCalls” is nothing that provider: \(draft.dialect.rawValue) takes")
    }
    if draft.dialect == .ollama, let choice = draft.toolChoice?.choice,
      choice != .auto, choice != .none
    {
      reader.report("“toolChoice” of provider: ollama is auto or none")
    }
    if draft.dialect == .bedrock, draft.toolChoice?.choice == GenerationSettings.ToolChoice.none {
      reader.report("“toolChoice: none” is nothing that provider: bedrock takes")
    }
    if draft.dialect == .openaiResponses, !draft.settings.stop.isEmpty {
      reader.report("“stop” is nothing that provider: openai-responses takes")
    }
    if let reasoning = draft.settings.reasoning {
      if reasoning.budgetTokens != nil, ![.anthropic, .gemini].contains(draft.dialect) {
        reader.report(
          "“reasoning.budgetTokens” is something that only provider: anthropic or gemini takes")
      }
      if reasoning.effort == nil, draft.dialect == .bedrock {
        reader.report(
          "“reasoning” of provider: bedrock is an effort; what else a model takes stands below "
            + "“additionalModelRequestFields” in “options”")
      }
      if reasoning.summary != nil, draft.dialect != .openaiResponses {
        reader.report("“reasoning.summary” is something that only provider: openai-responses takes")
      }
    }
    var settings = draft.settings
    settings.toolChoice = draft.toolChoice?.choice
    var provider = ProviderModel(
      dialect: draft.dialect, baseURL: draft.baseURL, keyVariable: draft.keyVariable,
      headers: names, streams: draft.streams, settings: settings,
      toolChoiceSteps: draft.toolChoice?.steps, prices: draft.prices, timeouts: draft.timeouts,
      requestsPerMinute: draft.requestsPerMinute, tokensPerMinute: draft.tokensPerMinute)
    provider.authorityFile = draft.authorityFile
    return ModelDefinition(
      provider: draft.dialect.rawValue, name: draft.name, implementation: .provider(provider))
  }

  // MARK: Parts

  private static let urlPattern = "^https?://[^\\s?#@\\\\]+$"

  static let url = Shape<String>.text(
    ["type": "string", "pattern": .string(urlPattern)],
    expected: "a URL that begins with http:// or https://, without user, query and fragment"
  ) { text in
    let rest = ["http://", "https://"].lazy.filter { text.hasPrefix($0) }
      .map { text.dropFirst($0.count) }.first
    let isFree = !text.unicodeScalars.contains {
      $0.value <= 0x20 || $0.value == 0x7f || "?#@\\".unicodeScalars.contains($0)
    }
    return rest.map { !$0.isEmpty && !$0.hasPrefix("/") } ?? false && isFree
  }

  /// The name of a variable; never a key itself.
  private static let variable = Shape<String>([
    "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
  ]) { value, reader in
    if case .string(let text) = value, CommandFile.isVariable(text) { return text }
    // What stands here may be the key: it is not repeated.
    return reader.refuse(
      "should be the name of a variable of the environment",
      hint: "write the name, as in OPENAI_API_KEY; the key itself belongs in no file")
  }

  private static let headerText = Shape<String>.text(
    ["type": "string", "pattern": "^[\\u0020-\\u007e]*$"],
    expected: "text of printable ASCII characters"
  ) { $0.utf8.allSatisfy { (0x20...0x7e).contains($0) } }

  private static let headerPattern = "^[A-Za-z0-9_.!#$%&'*+^`|~-]+$"

  private static func headers(
    of text: Shape<String>, _ make: @escaping @Sendable (String) -> ProviderModel.Header.Value
  ) -> Shape<[ProviderModel.Header]> {
    .members([
      "type": "object", "propertyNames": ["pattern": .string(headerPattern)],
      "additionalProperties": text.schema(),
    ]) { member, reader in
      guard HTTPFile.isToken(member.key) else { return reader.refuse("is no name of a header") }
      return text.read(member.value, reader).map {
        ProviderModel.Header(name: member.key, value: make($0))
      }
    }
  }

  private struct ToolChoiceDraft: Sendable {
    var choice = GenerationSettings.ToolChoice.auto
    var steps: Int?
  }

  private static let words: [(String, GenerationSettings.ToolChoice)] = [
    ("auto", .auto), ("none", .none), ("required", .required),
  ]

  private static let word = Shape<String>.word(words.map(\.0)).map { word, _ in
    words.first { $0.0.hasSameUTF8(as: word) }?.1
  }

  private static let detailedChoice = Shape<ToolChoiceDraft>.record(
    ToolChoiceDraft(),
    [
      Field("tool", .name, "The tool that must be called.") { $0.choice = .tool($1) },
      Field("choice", word, \.choice, "auto, none or required, in place of a tool."),
      Field(
        "steps", .count(1...1_000_000), \.steps,
        "In how many of the first steps this holds; in all where it is left out."),
    ],
    constraints: ["oneOf": [["required": ["tool"]], ["required": ["choice"]]]]
  ).map { draft, reader in
    if case .tool(let name) = draft.choice { reader.mention(.call(name)) }
    return draft
  }

  private static let toolChoice = Shape<ToolChoiceDraft>([
    "anyOf": [word.schema(), detailedChoice.schema()]
  ]) { value, reader in
    guard case .object(let object) = value else {
      return word.read(value, reader).map { ToolChoiceDraft(choice: $0) }
    }
    if (object["tool"] == nil) == (object["choice"] == nil) {
      reader.report("needs either “tool” or “choice”")
    }
    return detailedChoice.read(value, reader)
  }

  private static let reasoning = Shape<GenerationSettings.Reasoning>.record(
    GenerationSettings.Reasoning(),
    [
      Field("effort", .name, \.effort, "How hard, in the provider's word: low, medium, high …"),
      Field(
        "budgetTokens", .count(1...100_000_000), \.budgetTokens,
        "Tokens that it may think with; only for anthropic and gemini, whose models think as they see fit without it."
      ),
      Field(
        "summary", .name, \.summary,
        "How what it thought is summed up, in the provider's word; only for openai-responses."),
    ])

  static let prices = Shape<ProviderModel.Prices>.record(
    ProviderModel.Prices(),
    [
      Field("input", .amount, \.input, "A million tokens that go in."),
      Field(
        "cachedInput", .amount, \.cachedInput, "A million of those that are read from a cache."),
      Field("cacheWrite", .amount, \.cacheWrite, "A million of those that are written to a cache."),
      Field("output", .amount, \.output, "A million tokens that come out."),
    ])

  private static let timeouts = Shape<ProviderModel.Timeouts>.record(
    ProviderModel.Timeouts(),
    [
      Field("connectSeconds", seconds, \.connect, "Until a connection stands; 5."),
      Field("firstByteSeconds", seconds, \.firstByte, "To the head of the reply; 600."),
      Field("idleSeconds", seconds, \.idle, "Between two pieces of the reply; 120."),
      Field("totalSeconds", seconds, \.total, "To the end of the reply; 600."),
    ])

  private static let seconds = Shape<Double>.seconds(atMost: 86_400)
}

extension FieldReader {
  /// Warns of a limit in money that never holds, since nobody knows what the agent's model costs.
  func checkCost(of agent: AgentDefinition) {
    guard agent.limits.maxCost != nil, case .provider(let model) = agent.model.implementation,
      model.prices == nil
    else { return }
    reportAt(
      [.key("limits"), .key("maxCost")], .warning,
      "the model has no prices: nobody knows what is spent, and this limit never holds",
      hint: "say “prices” of the model, or limit “maxTokens”")
  }
}
