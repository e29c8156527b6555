public import AgentTrace

/// What a log says of how a model is asked: the keys of an agent file's `model`, without what tells
/// nothing of a reply.
///
/// Left out are keys of servers and where they are found, whether a reply is streamed, how long it may
/// take and how fast requests may follow. A header whose value comes from the environment is told by the
/// name of its variable.
extension ModelDefinition {
  /// The settings as one object: `provider` and `name`, and of a model that a provider serves `baseUrl`,
  /// everything that is asked for beside the conversation, `headers`, `headersFrom` and `prices`. Values
  /// are as the agent file has them: secrets among them are for a ``Redactor``.
  public var settings: JSONObject {
    if let knownSettings { return knownSettings }
    var settings: JSONObject = ["provider": .string(provider), "name": .string(name)]
    guard case .provider(let served) = implementation else { return settings }
    settings["baseUrl"] = .string(served.plainAddress)
    for member in served.settings.encoded(toolChoiceSteps: served.toolChoiceSteps) {
      settings[member.key] = member.value
    }
    var (texts, variables): (JSONObject, JSONObject) = ([:], [:])
    for header in served.headers {
      switch header.value {
      case .text(let text): texts[header.name] = .string(text)
      case .variable(let name): variables[header.name] = .string(name)
      }
    }
    if !texts.isEmpty { settings["headers"] = .object(texts) }
    if !variables.isEmpty { settings["headersFrom"] = .object(variables) }
    settings["replySchema"] = served.replySchema
    settings["prices"] = served.prices.map { .object($0.encoded) }
    return settings
  }

  /// What of the settings goes into a request in which they are asked for: neither an address nor
  /// headers, which a server sees beside it, nor prices; a choice of tools where it holds.
  func asked(for purpose: ModelPurpose, step: Int) -> JSONObject {
    var asked = settings
    for key in ["baseUrl", "headers", "headersFrom", "prices"] { asked[key] = nil }
    if purpose != .decide { asked["replySchema"] = nil }
    if purpose.takesNoCalls {
      asked["toolChoice"] = .object(GenerationSettings.ToolChoice.none.encoded(steps: nil))
      return asked
    }
    let steps = asked["toolChoice"]?["steps"]?.intValue
    if !Self.choosesTools(for: purpose, step: step, steps: steps) {
      asked["toolChoice"] = nil
    } else if var choice = asked["toolChoice"]?.objectValue {
      choice["steps"] = nil
      asked["toolChoice"] = .object(choice)
    }
    return asked
  }

  /// Whether a choice of tools holds: for decisions, in so many of the first steps.
  static func choosesTools(for purpose: ModelPurpose, step: Int, steps: Int?) -> Bool {
    purpose == .decide && step <= steps ?? .max
  }
}

extension ModelPurpose {
  /// Whether the model is told of tools that it is not to call now.
  fileprivate var takesNoCalls: Bool { self == .plan || self == .reflect }
}

extension ProviderModel {
  /// What a request asks for beside the conversation.
  public func settings(for purpose: ModelPurpose, step: Int) -> GenerationSettings {
    var settings = settings
    if purpose.takesNoCalls {
      settings.toolChoice = GenerationSettings.ToolChoice.none
      return settings
    }
    if !ModelDefinition.choosesTools(for: purpose, step: step, steps: toolChoiceSteps) {
      settings.toolChoice = nil
    }
    if purpose == .decide, let replySchema {
      settings.ask(for: replySchema, named: "answer", in: dialect)
    }
    return settings
  }

  /// The address without what may be a credential: user, query and fragment.
  fileprivate var plainAddress: String {
    let plain = baseURL.prefix { $0 != "?" && $0 != "#" }
    guard let scheme = plain.firstRange(of: "://") else { return String(plain) }
    let rest = plain[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" }
    guard let at = authority.lastIndex(of: "@") else { return String(plain) }
    return String(plain[..<scheme.upperBound] + rest[rest.index(after: at)...])
  }
}

extension GenerationSettings {
  /// As an agent file has it; what is not asked for is left out.
  func encoded(toolChoiceSteps: Int?) -> JSONObject {
    JSONObject(present: [
      ("maxOutputTokens", maxOutputTokens.map { JSONValue($0) }),
      ("temperature", temperature.map { JSONValue($0) }), ("topP", topP.map { JSONValue($0) }),
      ("seed", seed.map { JSONValue($0) }), ("stop", stop.isEmpty ? .null : JSONValue(stop)),
      ("toolChoice", toolChoice.map { .object($0.encoded(steps: toolChoiceSteps)) }),
      ("parallelToolCalls", parallelToolCalls.map { .bool($0) }),
      ("reasoning", reasoning.map { .object($0.encoded) }),
      ("options", options.isEmpty ? nil : .object(options)),
    ])
  }
}

extension GenerationSettings.ToolChoice {
  fileprivate func encoded(steps: Int?) -> JSONObject {
    var choice: JSONObject =
      switch self {
      case .auto: ["choice": "auto"]
      case .none: ["choice": "none"]
      case .required: ["choice": "required"]
      case .tool(let name): ["tool": .string(name)]
      }
    choice["steps"] = steps.map { JSONValue($0) }
    return choice
  }
}

extension GenerationSettings.Reasoning {
  fileprivate var encoded: JSONObject {
    JSONObject(present: [
      ("effort", effort.map(JSONValue.string)),
      ("budgetTokens", budgetTokens.map { JSONValue($0) }),
      ("summary", summary.map(JSONValue.string)),
    ])
  }
}

extension ProviderModel.Prices {
  fileprivate var encoded: JSONObject {
    JSONObject(present: [
      ("input", input.map { JSONValue($0) }), ("cachedInput", cachedInput.map { JSONValue($0) }),
      ("cacheWrite", cacheWrite.map { JSONValue($0) }), ("output", output.map { JSONValue($0) }),
    ])
  }
}

extension AgentDefinition {
  /// The settings of each model that a run may ask, by what it is asked for (`ModelPurpose`). Of a
  /// person that a model plays, `system` and `by` besides: whom it plays.
  public var models: JSONObject {
    var models: JSONObject = [purpose.rawValue: .object(model.settings)]
    if context.strategy == .summarize {
      models[ModelPurpose.summarize.rawValue] = .object(model.settings)
    }
    for purpose in [ModelPurpose.plan, .reflect] where thought(for: purpose) != nil {
      models[purpose.rawValue] = .object(model.settings)
    }
    if let person = human?.model {
      var settings = person.model.settings
      settings["system"] = person.systemPrompt.map(JSONValue.string)
      settings["by"] = .string(person.name)
      models[ModelPurpose.human.rawValue] = .object(settings)
    }
    return models
  }

  /// ``models`` as they may stand in a log.
  public func recordedModels(withheldBy redactor: Redactor?) -> JSONObject {
    models.mapValues { redactor?.redacted($0) ?? $0 }
  }

  /// ``origins`` as a log has them.
  public var recordedOrigins: JSONObject {
    JSONObject(origins.map { ($0.key, .string($0.origin.rawValue)) })
  }

  /// What of a model's settings goes into a request.
  func asked(for purpose: ModelPurpose, step: Int) -> JSONObject {
    let model = purpose == .human ? human?.model?.model ?? self.model : self.model
    return model.asked(for: purpose, step: step)
  }
}

extension SimulatedPerson {
  /// The person that a log says a model played (``AgentDefinition/models``); their model only answers
  /// from the log. `nil` where the log does not say it.
  public init?(recorded models: JSONObject) {
    guard var settings = models[ModelPurpose.human.rawValue]?.objectValue else { return nil }
    let (system, by) = (settings["system"]?.stringValue, settings["by"]?.stringValue)
    for key in ["system", "by"] { settings[key] = nil }
    self.init(
      model: ModelDefinition(recorded: settings), systemPrompt: system, name: by ?? "person")
  }
}

extension ModelDefinition {
  /// A model of which only its recorded settings are known: it says nothing by itself.
  public init(recorded settings: JSONObject) {
    self.init(
      provider: settings["provider"]?.stringValue ?? "", name: settings["name"]?.stringValue ?? "",
      implementation: .scripted(ModelScript(turns: [])))
    knownSettings = settings
  }
}
