import AgentRuntime
import AgentTrace

/// Google's generateContent, as Gemini's own interface and Vertex AI speak it.
///
/// https://ai.google.dev/api/generate-content
enum GenerateContent {
  // MARK: Requests

  static func body(
    of prompt: ModelPrompt, _ settings: GenerationSettings
  ) -> JSONObject {
    let arranged = prompt.arranged { isReasoning($0) }
    var names: [String: String] = [:]
    var body: JSONObject = [
      "contents": .array(arranged.messages.map { content(of: $0, &names) })
    ]
    body["systemInstruction"] = arranged.system.map { ["parts": [["text": .string($0)]]] }
    if !prompt.tools.isEmpty {
      body["tools"] = [["functionDeclarations": .array(prompt.tools.map(Self.tool))]]
      body["toolConfig"] = toolConfig(settings)
    }
    let generation = generationConfig(settings)
    if !generation.isEmpty { body["generationConfig"] = .object(generation) }
    return body
  }

  private static func generationConfig(_ settings: GenerationSettings) -> JSONObject {
    var config = JSONObject()
    config["maxOutputTokens"] = settings.maxOutputTokens.map { JSONValue($0) }
    config["temperature"] = settings.temperature.map { JSONValue($0) }
    config["topP"] = settings.topP.map { JSONValue($0) }
    config["seed"] = settings.seed.map { JSONValue($0) }
    if !settings.stop.isEmpty { config["stopSequences"] = JSONValue(settings.stop) }
    if let reasoning = settings.reasoning {
      var thinking: JSONObject = ["includeThoughts": true]
      thinking["thinkingBudget"] = reasoning.budgetTokens.map { JSONValue($0) }
      thinking["thinkingLevel"] = reasoning.effort.map(JSONValue.string)
      config["thinkingConfig"] = .object(thinking)
    }
    return config
  }

  private static func toolConfig(_ settings: GenerationSettings) -> JSONValue? {
    var config: JSONObject
    switch settings.toolChoice {
    case nil: return nil
    case .auto?: config = ["mode": "AUTO"]
    case .none?: config = ["mode": "NONE"]
    case .required?: config = ["mode": "ANY"]
    case .tool(let name)?:
      config = [
        "mode": "ANY", "allowedFunctionNames": [.string(WireNames.wireName(ofTool: name))],
      ]
    }
    return ["functionCallingConfig": .object(config)]
  }

  private static func tool(_ tool: ToolDefinition) -> JSONValue {
    var wire: JSONObject = [
      "name": .string(WireNames.wireName(ofTool: tool.name)),
      "parametersJsonSchema": tool.inputSchema.schema,
    ]
    if !tool.description.isEmpty { wire["description"] = .string(tool.description) }
    return .object(wire)
  }

  /// - Parameter names: the tools of the calls so far, by their ids: a result names its tool.
  private static func content(
    of message: ModelPrompt.Message, _ names: inout [String: String]
  ) -> JSONValue {
    var parts: [JSONValue] = []
    var signature: JSONValue?
    for part in message.parts {
      var wire: JSONObject
      switch part {
      case .text:
        guard let words = part.words else { continue }
        wire = ["text": .string(words)]
      case .reasoning(let block):
        // What is signed is the part behind it.
        guard block["thought"] == true else {
          signature = block["thoughtSignature"]
          continue
        }
        wire = block
      case .call(let id, let name, let input):
        names[id] = WireNames.wireName(ofTool: name)
        wire = [
          "functionCall": [
            "name": .string(WireNames.wireName(ofTool: name)),
            "args": input.objectValue == nil ? ["value": input] : input,
          ]
        ]
      case .result(let id, let data, let isError):
        let response: JSONValue =
          isError
          ? ["error": .string(data.plainText)]
          : data.objectValue == nil ? ["output": .string(data.plainText)] : data
        wire = ["functionResponse": ["name": .string(names[id] ?? id), "response": response]]
      }
      if let signed = signature {
        wire["thoughtSignature"] = signed
        signature = nil
      }
      parts.append(.object(wire))
    }
    return ["role": message.role == .assistant ? "model" : "user", "parts": .array(parts)]
  }

  // MARK: Reasoning

  /// A thought, or the signature of the part that follows.
  private static func isReasoning(_ block: JSONObject) -> Bool {
    let keys = ["text", "thought", "thoughtSignature"]
    return (block["thought"] == true || block["thoughtSignature"] != nil)
      && block.allSatisfy { keys.contains($0.key) } && !RedactionToken.isIn(.object(block))
  }

  // MARK: Replies

  static func reply(_ body: JSONValue) throws(ReplyFault) -> ProviderReply {
    var assembly = Assembly()
    // Streamed without being called so, the pieces stand in a list.
    for piece in body.arrayValue ?? [body] { try assembly.take(piece) }
    guard assembly.isWhole || assembly.error != nil else {
      throw body.arrayValue == nil
        ? ReplyFault.unknownForm("it has no candidates that ended") : ReplyFault.cut
    }
    return assembly.reply
  }

  // MARK: What is known of a reply

  private static let headKeys: Set<String> = [
    "automaticFunctionCallingHistory", "candidates", "createTime", "error", "modelStatus",
    "modelVersion", "promptFeedback", "responseId", "sdkHttpResponse", "usageMetadata",
  ]
  private static let candidateKeys: Set<String> = [
    "avgLogprobs", "citationMetadata", "content", "finishMessage", "finishReason",
    "groundingAttributions", "groundingMetadata", "index", "logprobsResult", "safetyRatings",
    "tokenCount", "urlContextMetadata",
  ]
  private static let partKeys: Set<String> = [
    "codeExecutionResult", "executableCode", "fileData", "functionCall", "inlineData",
    "mediaResolution", "text", "thought", "thoughtSignature", "videoMetadata",
  ]
  private static let callKeys: Set<String> = ["args", "id", "name"]

  /// A reply that comes in pieces; each is of the form of a whole one.
  struct Assembly: Sendable {
    private enum Piece: Sendable {
      case text(TextPieces)
      case thought(TextPieces, signature: JSONValue?)
      case signature(JSONValue)
      case call(DraftCall)
    }

    private var pieces: [Piece] = []
    private var ran: [RanCall] = []
    private var unread = UnreadPlaces()
    private var otherChoices: Set<Int> = []
    private var finishReason: String?
    private var blockReason: String?
    private var usage: JSONObject = [:]
    private var model: String?
    private var id: String?
    private(set) var error: ProviderError?

    /// Whether everything is there that makes a reply.
    var isWhole: Bool { finishReason != nil || blockReason != nil }

    /// Takes in an event; the text that it adds to the reply.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      if event.data.elementsEqual("[DONE]".utf8) { return nil }
      return try take(try JSONValue.wire(event.data))
    }

    @discardableResult
    mutating func take(_ piece: JSONValue) throws(ReplyFault) -> JSONValue? {
      guard piece.objectValue != nil else { throw .unknownForm("a piece of it is no object") }
      unread.check(piece, knowing: headKeys, at: "", texts: false)
      if let found = ProviderError(piece["error"]) { error = found }
      model = piece["modelVersion"]?.stringValue ?? model
      id = piece["responseId"]?.stringValue ?? id
      blockReason = piece["promptFeedback"]?["blockReason"]?.stringValue ?? blockReason
      for member in piece["usageMetadata"]?.objectValue ?? [:] where !member.value.isNull {
        usage[member.key] = member.value
      }
      var told = TextPieces()
      guard let candidates = piece["candidates"]?.arrayValue else {
        if piece["candidates"]?.isNull == false { unread.note("/candidates") }
        return nil
      }
      for candidate in candidates {
        let index = candidate["index"]?.intValue ?? 0
        guard index == 0 else {
          if otherChoices.count < 1_000 { otherChoices.insert(index) }
          continue
        }
        take(candidate: candidate, &told)
      }
      return .string(told.text)
    }

    private mutating func take(candidate: JSONValue, _ told: inout TextPieces) {
      unread.check(candidate, knowing: candidateKeys, at: "/candidates/0")
      finishReason = candidate["finishReason"]?.stringValue ?? finishReason
      let content = candidate["content"]
      unread.check(content, knowing: ["parts", "role"], at: "/candidates/0/content")
      if let parts = content?["parts"], parts.arrayValue == nil, !parts.isNull {
        unread.note("/candidates/0/content/parts")
      }
      for part in content?["parts"]?.arrayValue ?? [] { take(part: part, &told) }
      note(candidate["groundingMetadata"]?["webSearchQueries"], "google_search", "queries")
      note(candidate["urlContextMetadata"]?["urlMetadata"], "url_context", "urls")
    }

    /// A tool of the provider that is told of by what it was asked for, in each piece anew.
    private mutating func note(_ asked: JSONValue?, _ tool: String, _ key: String) {
      guard let asked, asked.arrayValue?.isEmpty == false else { return }
      ran.removeAll { $0.name == tool }
      ran.append(RanCall(id: nil, name: tool, input: [key: asked], status: "returned"))
    }

    private mutating func take(part: JSONValue, _ told: inout TextPieces) {
      unread.check(part, knowing: partKeys, at: "/candidates/0/content/parts")
      let signature = part["thoughtSignature"].flatMap { $0.isNull ? nil : $0 }
      if part["thought"] == true, part["functionCall"] == nil {
        if case .thought(var text, signature: let before)? = pieces.last, before == nil {
          pieces.removeLast()
          text.append(part["text"])
          pieces.append(.thought(text, signature: signature))
        } else {
          var text = TextPieces()
          text.append(part["text"])
          pieces.append(.thought(text, signature: signature))
        }
        return
      }
      if let signature { pieces.append(.signature(signature)) }
      if let text = part["text"], !text.isNull {
        told.append(text)
        if case .text(var before)? = pieces.last {
          pieces.removeLast()
          before.append(text)
          pieces.append(.text(before))
        } else {
          var piece = TextPieces()
          piece.append(text)
          pieces.append(.text(piece))
        }
        if text.stringValue == nil { unread.note("/candidates/0/content/parts: text") }
      }
      if let call = part["functionCall"], !call.isNull {
        unread.check(call, knowing: callKeys, at: "/candidates/0/content/parts/functionCall")
        let input = call["args"] ?? .object([:])
        pieces.append(
          .call(
            DraftCall(
              id: call["id"]?.stringValue, name: call["name"]?.stringValue,
              input: input.isNull ? .object([:]) : input)))
      }
      take(code: part)
    }

    /// Code that the provider runs, and what came of it.
    private mutating func take(code part: JSONValue) {
      if let code = part["executableCode"], !code.isNull {
        var input = code.objectValue ?? ["code": code]
        let id = input["id"]?.stringValue
        input["id"] = nil
        ran.append(RanCall(id: id, name: "code_execution", input: .object(input)))
      }
      guard let result = part["codeExecutionResult"], !result.isNull else { return }
      guard let place = ran.lastIndex(where: { $0.name == "code_execution" && $0.status == nil })
      else { return unread.note("/candidates/0/content/parts/codeExecutionResult") }
      ran[place].status = result["outcome"] == "OUTCOME_OK" ? "ok" : "error"
      ran[place].data = result["output"] ?? result["outcome"] ?? .null
    }

    private var tokens: TokenUsage? {
      guard !usage.isEmpty else { return nil }
      func sum(_ keys: String...) -> Int? {
        let counts = keys.compactMap { TokenUsage.count(usage[$0]) }
        return counts.isEmpty ? nil : counts.reduce(0, +)
      }
      return TokenUsage(
        input: sum("promptTokenCount", "toolUsePromptTokenCount"),
        cachedInput: TokenUsage.count(usage["cachedContentTokenCount"]),
        output: sum("candidatesTokenCount", "thoughtsTokenCount"),
        reasoning: TokenUsage.count(usage["thoughtsTokenCount"]))
    }

    var reply: ProviderReply {
      var draft = ReplyDraft()
      for piece in pieces {
        switch piece {
        case .text(let text): draft.parts.append(.text(text))
        case .thought(let text, let signature):
          var block: JSONObject = ["text": .string(text.text), "thought": true]
          block["thoughtSignature"] = signature
          draft.parts.append(.reasoning(block))
        case .signature(let signature):
          draft.parts.append(.reasoning(["thoughtSignature": signature]))
        case .call(let call): draft.parts.append(.call(call))
        }
      }
      draft.ran = ran
      draft.unread = unread
      draft.otherChoices = otherChoices.count
      if let blockReason {
        draft.refusal.append(blockReason)
      } else if let finishReason, RefusalWord.detail(ofFinish: finishReason) != nil {
        draft.refusal.append(finishReason)
      } else if let finishReason, finishReason != "STOP" {
        draft.incomplete = finishReason
      }
      return ProviderReply(
        reply: draft.reply, finishReason: finishReason ?? blockReason, usage: tokens, model: model,
        id: id, error: error)
    }
  }

  // MARK: Requests of others

  static func observed(_ body: JSONObject, path: String) -> ObservedRequest? {
    guard let contents = body["contents"] else { return nil }
    var draft = ObservedDraft()
    let system = body["systemInstruction"] ?? body["system_instruction"]
    draft.add("system", (system?["parts"]?.arrayValue ?? []).map { part($0) })
    switch contents {
    case .string(let text): draft.add("user", [ObservedDraft.text(.string(text))])
    case .object: take(contents, into: &draft)
    default: for content in contents.arrayValue ?? [] { take(content, into: &draft) }
    }
    let known = ["contents", "systemInstruction", "system_instruction", "tools", "model"]
    return ObservedRequest(
      dialect: Dialect.gemini.rawValue, model: model(in: path) ?? body["model"]?.stringValue,
      streams: path.prefix { $0 != "?" }.hasSuffix(":streamGenerateContent"),
      messages: draft.messages, tools: (body["tools"]?.arrayValue ?? []).flatMap(tools(of:)),
      parameters: ObservedDraft.others(body, than: known + ObservedRequest.ignoredKeys))
  }

  /// `…/models/NAME:generateContent`.
  private static func model(in path: String) -> String? {
    let last = path.prefix { $0 != "?" }.split(separator: "/").last
    return last?.split(separator: ":").first.map(String.init)
  }

  private static func take(_ content: JSONValue, into draft: inout ObservedDraft) {
    let isModel = content["role"] == "model"
    var parts: [JSONValue] = []
    for item in content["parts"]?.arrayValue ?? [] {
      if let response = item["functionResponse"], !response.isNull {
        var data = response["response"] ?? .null
        let isAlone = data.objectValue?.count == 1
        let isError = isAlone && data["error"] != nil
        if isAlone, let inner = data["error"] ?? data["output"] ?? data["result"] { data = inner }
        draft.addResult(id: response["id"], name: response["name"], data, isError: isError)
      } else {
        parts.append(part(item))
      }
    }
    draft.add(isModel ? "assistant" : "user", parts)
  }

  private static func part(_ item: JSONValue) -> JSONValue {
    if item["thought"] == true { return ["type": "reasoning", "block": item] }
    if let call = item["functionCall"], !call.isNull {
      return ObservedDraft.call(
        id: call["id"], name: call["name"], input: call["args"] ?? .object([:]))
    }
    guard let text = item["text"], !text.isNull else { return item }
    return ObservedDraft.text(text)
  }

  private static func tools(of tool: JSONValue) -> [JSONValue] {
    var tools = (tool["functionDeclarations"]?.arrayValue ?? []).map { function in
      let object = function.objectValue ?? [:]
      return ObservedDraft.tool(
        name: object["name"], description: object["description"],
        schema: object["parametersJsonSchema"] ?? object["parameters"],
        extra: ObservedDraft.others(
          object, than: ["name", "description", "parameters", "parametersJsonSchema"]))
    }
    // A tool of the provider's own: its key is its name.
    for member in tool.objectValue ?? [:]
    where member.key != "functionDeclarations" && !member.value.isNull {
      tools.append(
        ObservedDraft.tool(
          name: .string(member.key), description: nil, schema: nil,
          extra: member.value.objectValue ?? [:]))
    }
    return tools
  }
}
