import AgentRuntime
import AgentTrace

/// Converse and ConverseStream of Amazon Bedrock.
///
/// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
enum Converse {
  // MARK: Requests

  static func body(
    of prompt: ModelPrompt, _ settings: GenerationSettings
  ) -> JSONObject {
    let arranged = prompt.arranged { isReasoning($0) }
    var messages = arranged.messages.map(Self.message)
    // A last message of the assistant is taken for the beginning of the reply, or refused.
    if arranged.messages.last?.role == .assistant {
      messages.append(["role": "user", "content": [text("Go on.")]])
    }
    var body: JSONObject = ["messages": .array(messages)]
    body["system"] = arranged.system.map { [text($0)] }
    // There is no word for calling none of them.
    if !prompt.tools.isEmpty, settings.toolChoice != GenerationSettings.ToolChoice.none {
      var config: JSONObject = ["tools": .array(prompt.tools.map(Self.tool))]
      config["toolChoice"] = toolChoice(settings)
      body["toolConfig"] = .object(config)
    }
    var inference = JSONObject()
    inference["maxTokens"] = settings.maxOutputTokens.map { JSONValue($0) }
    inference["temperature"] = settings.temperature.map { JSONValue($0) }
    inference["topP"] = settings.topP.map { JSONValue($0) }
    if !settings.stop.isEmpty { inference["stopSequences"] = JSONValue(settings.stop) }
    if !inference.isEmpty { body["inferenceConfig"] = .object(inference) }
    if let effort = settings.reasoning?.effort {
      body["outputConfig"] = ["effort": .string(effort)]
    }
    return body
  }

  private static func toolChoice(_ settings: GenerationSettings) -> JSONValue? {
    switch settings.toolChoice {
    case nil, .none?: nil
    case .auto?: ["auto": [:]]
    case .required?: ["any": [:]]
    case .tool(let name)?: ["tool": ["name": .string(WireNames.wireName(ofTool: name))]]
    }
  }

  private static func tool(_ tool: ToolDefinition) -> JSONValue {
    var wire: JSONObject = [
      "name": .string(WireNames.wireName(ofTool: tool.name)),
      "inputSchema": ["json": tool.inputSchema.schema],
    ]
    if !tool.description.isEmpty { wire["description"] = .string(tool.description) }
    return ["toolSpec": .object(wire)]
  }

  private static func message(_ message: ModelPrompt.Message) -> JSONValue {
    ["role": .string(message.role.rawValue), "content": .array(message.parts.compactMap(block))]
  }

  private static func text(_ text: String) -> JSONValue { ["text": .string(text)] }

  private static func block(_ part: ModelPrompt.Part) -> JSONValue? {
    switch part {
    case .text: return part.words.map(text)
    case .reasoning(let block): return .object(block)
    case .call(let id, let name, let input):
      return [
        "toolUse": [
          "toolUseId": .string(WireNames.wireID(ofCall: id)),
          "name": .string(WireNames.wireName(ofTool: name)),
          "input": input.objectValue == nil ? ["value": input] : input,
        ]
      ]
    case .result(let id, let data, let isError):
      let words = data.plainText
      var result: JSONObject = [
        "toolUseId": .string(WireNames.wireID(ofCall: id)),
        "content": words.isEmpty ? [] : [text(words)],
      ]
      if isError { result["status"] = "error" }
      return ["toolResult": .object(result)]
    }
  }

  /// What is signed can be sent back as it is or not at all: not where something in it was withheld.
  private static func isReasoning(_ block: JSONObject) -> Bool {
    block["reasoningContent"]?.objectValue != nil && !RedactionToken.isIn(.object(block))
  }

  // MARK: Replies

  static func reply(_ body: JSONValue) throws(ReplyFault) -> ProviderReply {
    guard let message = body["output"]?["message"], let content = message["content"]?.arrayValue
    else { throw .unknownForm("it has no message") }
    var assembly = Assembly()
    assembly.take(whole: body, message)
    for (index, block) in content.enumerated() { assembly.take(whole: block, at: index) }
    return assembly.reply
  }

  /// What the service says went wrong: it has no key of its own for that.
  static func error(in body: JSONValue) -> ProviderError? {
    guard body["output"] == nil, body["stopReason"] == nil else { return nil }
    guard let message = (body["message"] ?? body["Message"])?.stringValue else { return nil }
    var error = ProviderError(body) ?? ProviderError(message: message)
    // `com.amazon.coral.service#UnknownOperationException` in some services.
    error.type =
      body["__type"]?.stringValue?.split(separator: "#").last.map(String.init) ?? error.type
    return error
  }

  // MARK: What is known of a reply

  private static let headKeys: Set<String> = [
    "additionalModelResponseFields", "metrics", "output", "performanceConfig", "serviceTier",
    "stopReason", "trace", "usage",
  ]
  /// Of events, by their names; `p` is there to hide how long they are.
  private static let eventKeys: [String: Set<String>] = [
    "messageStart": ["role"], "contentBlockStart": ["contentBlockIndex", "start"],
    "contentBlockDelta": ["contentBlockIndex", "delta"],
    "contentBlockStop": ["contentBlockIndex"],
    "messageStop": ["additionalModelResponseFields", "stopReason"],
    "metadata": ["metrics", "performanceConfig", "serviceTier", "trace", "usage"],
  ]
  /// Of blocks: what holds no call, beside text, calls and reasoning.
  private static let silentBlocks: Set<String> = [
    "audio", "cachePoint", "document", "image", "video",
  ]
  private static let deltaKeys: Set<String> = [
    "citation", "image", "reasoningContent", "text", "toolResult", "toolUse",
  ]
  /// What a provider's own tools are called by.
  private static let ranType = "server_tool_use"

  /// A reply that comes in events.
  struct Assembly: Sendable {
    private enum Kind: Sendable {
      case text
      case call(id: String?, name: String?, input: JSONValue?, isRan: Bool)
      case reasoning
      case result(id: String?, isError: Bool)
      case other
    }

    private struct Block: Sendable {
      var index: Int
      var kind: Kind
      /// The text, what the model thinks, or the input of a call in pieces.
      var pieces = TextPieces()
      var signature = TextPieces()
      /// What a model thinks and its provider does not tell.
      var redacted: JSONValue?
      /// What a tool of the provider returned.
      var parts: [JSONValue] = []
    }

    private var blocks: [Block] = []
    private var unread = UnreadPlaces()
    private var usage: TokenUsage?
    private var stopReason: String?
    private var model: String?
    private(set) var error: ProviderError?
    /// Whether nothing follows: what a reply used comes behind its end.
    private(set) var isEnded = false

    /// Whether everything is there that makes a reply.
    var isWhole: Bool { stopReason != nil }

    /// Takes in an event; the text that it adds to the reply.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      let data = try JSONValue.wire(event.data)
      guard event.name != EventFrame.exceptionName else {
        error = ProviderError(data) ?? ProviderError(message: "an error")
        return nil
      }
      if let keys = eventKeys[event.name] {
        unread.check(data, knowing: keys.union(["p"]), at: "/\(event.name)", texts: false)
      } else {
        unread.note("event \(event.name)")
      }
      let place = data["contentBlockIndex"]?.intValue
      switch event.name {
      case "contentBlockStart": begin(data["start"] ?? .null, at: place ?? blocks.count)
      case "contentBlockDelta":
        guard let place else { throw .unknownForm("a delta belongs to no block") }
        return take(delta: data["delta"] ?? .null, at: place)
      case "messageStop": stopReason = data["stopReason"]?.stringValue ?? "unknown"
      case "metadata":
        take(head: data)
        isEnded = stopReason != nil
      default: break
      }
      return nil
    }

    /// A whole reply but for its blocks.
    mutating func take(whole body: JSONValue, _ message: JSONValue) {
      unread.check(body, knowing: headKeys, at: "", texts: false)
      unread.check(body["output"], knowing: ["message"], at: "/output", texts: false)
      unread.check(message, knowing: ["content", "role"], at: "/output/message", texts: false)
      stopReason = body["stopReason"]?.stringValue
      take(head: body)
    }

    private mutating func take(head: JSONValue) {
      model = head["trace"]?["promptRouter"]?["invokedModelId"]?.stringValue ?? model
      guard let found = head["usage"], found.objectValue != nil else { return }
      let fresh = TokenUsage.count(found["inputTokens"])
      let read = TokenUsage.count(found["cacheReadInputTokens"])
      let written = TokenUsage.count(found["cacheWriteInputTokens"])
      usage = TokenUsage(
        input: fresh.map { $0 + (read ?? 0) + (written ?? 0) }, cachedInput: read,
        cacheWrite: written, output: TokenUsage.count(found["outputTokens"]))
    }

    // MARK: Blocks

    /// A block that stands there as a whole.
    mutating func take(whole block: JSONValue, at index: Int) {
      let place = "/content/\(index)"
      guard let object = block.objectValue else { return unread.note(place) }
      for member in object where !member.value.isNull {
        var new = Block(index: index, kind: .other)
        switch member.key {
        case "text":
          new.kind = .text
          checkText(member.value, at: "\(place)/text")
          new.pieces.append(member.value)
        case "citationsContent":
          new.kind = .text
          unread.check(
            member.value, knowing: ["citations", "content"], at: "\(place)/\(member.key)")
          for piece in member.value["content"]?.arrayValue ?? [] {
            unread.check(piece, knowing: ["text"], at: "\(place)/citationsContent/content")
            new.pieces.append(piece["text"])
          }
        case "toolUse":
          new.kind = call(member.value, at: "\(place)/toolUse")
        case "toolResult":
          new.kind = result(member.value, at: "\(place)/toolResult")
          new.parts = member.value["content"]?.arrayValue ?? []
        case "reasoningContent":
          new.kind = .reasoning
          let thought = member.value["reasoningText"]
          unread.check(
            member.value, knowing: ["reasoningText", "redactedContent"],
            at: "\(place)/reasoningContent")
          unread.check(
            thought, knowing: ["signature", "text"], at: "\(place)/reasoningContent/reasoningText")
          new.pieces.append(thought?["text"])
          new.signature.append(thought?["signature"])
          new.redacted = member.value["redactedContent"]
        case let key where silentBlocks.contains(key): break
        default: unread.note("\(place)/\(member.key)")
        }
        blocks.append(new)
      }
    }

    /// Notes what stands where a text has to.
    private mutating func checkText(_ value: JSONValue, at place: String) {
      switch value {
      case .string, .bytes: break
      default: unread.note(place)
      }
    }

    private mutating func call(_ call: JSONValue, at place: String) -> Kind {
      unread.check(call, knowing: ["input", "name", "toolUseId", "type"], at: place)
      let type = call["type"]?.stringValue
      if let type, !type.hasSameUTF8(as: ranType) { unread.note("\(place): \(type)") }
      return .call(
        id: call["toolUseId"]?.stringValue, name: call["name"]?.stringValue, input: call["input"],
        isRan: type?.hasSameUTF8(as: ranType) ?? false)
    }

    private mutating func result(_ result: JSONValue, at place: String) -> Kind {
      unread.check(result, knowing: ["content", "status", "toolUseId", "type"], at: place)
      return .result(id: result["toolUseId"]?.stringValue, isError: result["status"] == "error")
    }

    private mutating func begin(_ start: JSONValue, at index: Int) {
      let place = "/content/\(index)/start"
      // Some clients know blocks by their numbers, some by their order, and give a piece to another one.
      if let last = blocks.last, last.index >= index {
        unread.note("/content/\(index): begun behind block \(last.index)")
      }
      var kind = Kind.other
      for member in start.objectValue ?? [:] where !member.value.isNull {
        switch member.key {
        case "toolUse": kind = call(member.value, at: "\(place)/toolUse")
        case "toolResult": kind = result(member.value, at: "\(place)/toolResult")
        case "image": break
        default: unread.note("\(place)/\(member.key)")
        }
      }
      if start.objectValue == nil { unread.note(place) }
      blocks.append(Block(index: index, kind: kind))
    }

    private mutating func take(delta: JSONValue, at index: Int) -> JSONValue? {
      let path = "/content/\(index)/delta"
      unread.check(delta, knowing: deltaKeys, at: path)
      // Blocks of text have no beginning of their own.
      func isText(_ block: Block) -> Bool { if case .text = block.kind { true } else { false } }
      func isCall(_ block: Block) -> Bool { if case .call = block.kind { true } else { false } }
      func isThought(_ block: Block) -> Bool {
        if case .reasoning = block.kind { true } else { false }
      }
      if let text = delta["text"], !text.isNull {
        checkText(text, at: "\(path)/text")
        let at = block(index, .text, isText)
        blocks[at].pieces.append(text)
        return text
      }
      if let call = delta["toolUse"], !call.isNull {
        unread.check(call, knowing: ["input"], at: "\(path)/toolUse")
        guard let at = blocks.lastIndex(where: { $0.index == index }), isCall(blocks[at]) else {
          unread.note("\(path)/toolUse: it belongs to no call")
          return nil
        }
        checkText(call["input"] ?? .null, at: "\(path)/toolUse/input")
        blocks[at].pieces.append(call["input"])
      }
      if let thought = delta["reasoningContent"], !thought.isNull {
        unread.check(
          thought, knowing: ["redactedContent", "signature", "text"],
          at: "\(path)/reasoningContent")
        let at = block(index, .reasoning, isThought)
        blocks[at].pieces.append(thought["text"])
        blocks[at].signature.append(thought["signature"])
        blocks[at].redacted = thought["redactedContent"] ?? blocks[at].redacted
      }
      if let parts = delta["toolResult"]?.arrayValue,
        let at = blocks.lastIndex(where: { $0.index == index })
      {
        blocks[at].parts += parts
      }
      return nil
    }

    /// Where the block stands that a piece belongs to; it begins with it where it has not begun.
    private mutating func block(
      _ index: Int, _ kind: Kind, _ fits: (Block) -> Bool
    ) -> Int {
      if let found = blocks.lastIndex(where: { $0.index == index }), fits(blocks[found]) {
        return found
      }
      blocks.append(Block(index: index, kind: kind))
      return blocks.count - 1
    }

    /// A call of a tool of the provider, with what a later block says came of it.
    private func ran(_ block: Block, id: String?, name: String?, input: JSONValue?) -> RanCall {
      var ran = RanCall(id: id, name: name ?? "", input: input ?? .object([:]))
      if !block.pieces.isEmpty { ran.input = ObservedDraft.input(.string(block.pieces.text)) }
      for other in blocks {
        guard case .result(let of?, let isError) = other.kind, of.hasSameUTF8(as: id ?? "") else {
          continue
        }
        ran.status = isError ? "error" : "ok"
        ran.data = Converse.data(of: other.parts)
      }
      return ran
    }

    var reply: ProviderReply {
      var draft = ReplyDraft()
      for block in blocks {
        switch block.kind {
        case .text: draft.parts.append(.text(block.pieces))
        case .call(let id, let name, let input, isRan: true):
          draft.ran.append(ran(block, id: id, name: name, input: input))
        case .call(let id, let name, let input, isRan: false):
          draft.parts.append(
            .call(DraftCall(id: id, name: name, arguments: block.pieces, input: input)))
        case .reasoning:
          var thought = JSONObject()
          if let redacted = block.redacted, !redacted.isNull {
            thought["redactedContent"] = redacted
          } else {
            var text: JSONObject = ["text": .string(block.pieces.text)]
            if !block.signature.isEmpty { text["signature"] = .string(block.signature.text) }
            thought["reasoningText"] = .object(text)
          }
          draft.parts.append(.reasoning(["reasoningContent": .object(thought)]))
        case .result, .other: break
        }
      }
      draft.unread = unread
      switch stopReason {
      case let word? where RefusalWord.detail(ofFinish: word) != nil: draft.refusal.append(word)
      case "end_turn"?, "stop_sequence"?, "tool_use"?, nil: break
      default: draft.incomplete = stopReason
      }
      return ProviderReply(
        reply: draft.reply, finishReason: stopReason, usage: usage, model: model, error: error)
    }
  }

  /// What a tool returned: its text where it is nothing else, a value where it is one.
  static func data(of parts: [JSONValue]) -> JSONValue {
    let texts = parts.compactMap { $0["text"]?.stringValue }
    if texts.count == parts.count { return .string(texts.joined(separator: "\n")) }
    if parts.count == 1, let value = parts.first?["json"] { return value }
    return .array(parts)
  }

  // MARK: Requests of others

  static func observed(_ body: JSONObject, path: String) -> ObservedRequest? {
    guard let messages = body["messages"]?.arrayValue else { return nil }
    var draft = ObservedDraft()
    draft.add("system", (body["system"]?.arrayValue ?? []).compactMap(part))
    for message in messages { take(message, into: &draft) }
    return ObservedRequest(
      dialect: Dialect.bedrock.rawValue, model: model(in: path),
      streams: path.prefix { $0 != "?" }.hasSuffix("/converse-stream"), messages: draft.messages,
      tools: (body["toolConfig"]?["tools"]?.arrayValue ?? []).compactMap(observed(tool:)),
      parameters: parameters(of: body))
  }

  /// What is asked for beside messages and tools, the choice among these included.
  private static func parameters(of body: JSONObject) -> JSONObject {
    var others = ObservedDraft.others(
      body,
      than: ["messages", "requestMetadata", "system", "toolConfig"] + ObservedRequest.ignoredKeys)
    if let choice = body["toolConfig"]?["toolChoice"], !choice.isNull {
      others["tool_choice"] = choice
    }
    return others
  }

  /// `/model/NAME/converse`; a name may be a whole address of a resource, escaped.
  private static func model(in path: String) -> String? {
    let steps = path.prefix { $0 != "?" }.split(separator: "/")
    guard let name = steps.dropLast().last else { return nil }
    return HTTPAddress.unescaped(String(name))
  }

  private static func take(_ message: JSONValue, into draft: inout ObservedDraft) {
    let isModel = message["role"] == "assistant"
    var parts: [JSONValue] = []
    for block in message["content"]?.arrayValue ?? [] {
      if !isModel, let result = block["toolResult"], !result.isNull {
        draft.addResult(
          id: result["toolUseId"], data(of: result["content"]?.arrayValue ?? []),
          isError: result["status"] == "error")
      } else if let part = part(block) {
        parts.append(part)
      }
    }
    let role = message["role"] == "system" ? "system" : isModel ? "assistant" : "user"
    draft.add(role, parts)
  }

  /// `nil` for what only a cache looks at.
  private static func part(_ block: JSONValue) -> JSONValue? {
    if block["cachePoint"] != nil { return nil }
    if let text = block["text"], !text.isNull { return ObservedDraft.text(text) }
    if block["reasoningContent"] != nil { return ["type": "reasoning", "block": block] }
    if let call = block["toolUse"], call["type"] == nil, call.objectValue != nil {
      return ObservedDraft.call(
        id: call["toolUseId"], name: call["name"], input: call["input"] ?? .object([:]))
    }
    if let pieces = block["citationsContent"]?["content"]?.arrayValue {
      let texts = pieces.compactMap { $0["text"]?.stringValue }
      return ObservedDraft.text(.string(texts.joined()))
    }
    return block
  }

  private static func observed(tool: JSONValue) -> JSONValue? {
    if let spec = tool["toolSpec"]?.objectValue {
      return ObservedDraft.tool(
        name: spec["name"], description: spec["description"], schema: spec["inputSchema"]?["json"],
        extra: ObservedDraft.others(spec, than: ["name", "description", "inputSchema"]))
    }
    if tool["cachePoint"] != nil { return nil }
    // A tool of the provider's own.
    let system = tool["systemTool"]?.objectValue ?? tool.objectValue ?? [:]
    return ObservedDraft.tool(
      name: system["name"] ?? system.keys.first.map { .string($0) }, description: nil, schema: nil,
      extra: ObservedDraft.others(system, than: ["name"]))
  }
}
