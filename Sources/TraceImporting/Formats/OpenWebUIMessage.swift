import AgentTrace

/// One message of Open WebUI, as the replies and results that it is made of.
///
/// What models said and called stands in `output` in newer versions, else in the text, as ``DetailsBlocks``. Where tools are
/// called before the model is asked, at the word of another one, only what they gave back is kept, among the `sources`.
///
/// A tool that failed gave back a text that says so, as any other: nothing tells it from one that did not. A block that is
/// not done may be of a call that gave back nothing.
struct OpenWebUIMessage {
  private(set) var pieces: [ReadMessage] = []
  /// Whether tools were called before the model was asked.
  private(set) var isOfTask = false

  private let object: JSONObject
  private let pointer: JSONPointer
  private let role: ReadMessage.Role

  /// What a message may hold, whatever stands there.
  private static let known: Set<String> = [
    "content", "output", "sources", "citations", "statusHistory", "status", "files", "childrenIds",
    "usage", "info", "models", "error", "annotation", "followUps", "user", "merged", "embeds",
    "userContext", "modelIdx", "lastSentence", "originalContent", "favorite", "meta",
  ]

  init(_ value: JSONValue, at pointer: JSONPointer) {
    object = value.objectValue ?? [:]
    self.pointer = pointer
    role = MessageReader.role(object["role"]?.stringValue ?? "") ?? .other
    pieces = [piece()]
    takeSources()
    if role == .assistant, let output = object["output"]?.arrayValue, !output.isEmpty {
      take(output)
      takeBlocksBeside(output)
    } else if role == .assistant, let text = object["content"]?.stringValue {
      take(text)
    } else {
      takeContent()
    }
    let places = UnknownMember.places(in: object, besides: Self.known, quiet: [], at: pointer)
    pieces[0].unread += places
    if let output = object["output"], !output.saysNothing,
      output.arrayValue == nil || role != .assistant
    {
      pieces[0].unread.append(pointer.appending("output"))
    }
    // A reply without either says nothing of what the model wrote and called.
    if role == .assistant, object["content"] == nil, object["output"]?.arrayValue == nil {
      pieces[0].unread.append(pointer.appending("content"))
    }
    if role == .other { pieces[0].unread.append(pointer.appending("role")) }
    let last = pieces.count - 1
    pieces[last].usage = ReadUsage(object["usage"] ?? object["info"])
    let isCut = object["done"]?.boolValue == false || object["error"]?.saysError == true
    pieces[last].isUnfinished = isCut
    pieces.removeAll { $0.isEmpty && $0.parts.isEmpty && $0.unread.isEmpty }
  }

  private func piece() -> ReadMessage {
    var message = ReadMessage(
      role: role, roleName: object["role"]?.stringValue ?? "", pointer: pointer,
      raw: .object(object))
    message.time = object["timestamp"]?.doubleValue.flatMap { Timestamp(unix: $0) }
    if role == .assistant { message.model = object["model"]?.stringValue }
    return message
  }

  /// The reply that goes on: a new one behind what a tool gave back.
  private mutating func reply(_ edit: (inout ReadMessage) -> Void) {
    if !pieces[pieces.count - 1].results.isEmpty { pieces.append(piece()) }
    edit(&pieces[pieces.count - 1])
  }

  private mutating func takeContent() {
    guard let content = object["content"], !content.saysNothing else { return }
    let place = pointer.appending("content")
    if let parts = content.arrayValue {
      PartReader.take(parts, below: place, into: &pieces[0])
    } else {
      pieces[0].add(text: content)
    }
  }

  // MARK: Texts

  private mutating func take(_ text: String) {
    let blocks = DetailsBlocks(text)
    if blocks.hasHidden { pieces[0].unread.append(pointer.appending("content")) }
    for block in blocks.pieces {
      switch block {
      case .text(let text): reply { $0.add(text: .string(text)) }
      case .block(let block): take(block)
      }
    }
  }

  private mutating func take(_ block: DetailsBlocks.Block) {
    let place = pointer.appending("content")
    switch block.type {
    case "reasoning":
      reply { $0.parts.append(["type": "thinking", "thinking": .string(block.body)]) }
    case "tool_calls": take(callIn: block, at: place)
    case "code_interpreter": take(codeIn: block)
    default:
      reply { $0.parts.append(["type": .string(block.type), "text": .string(block.body)]) }
      pieces[pieces.count - 1].unread.append(place)
    }
  }

  private mutating func take(callIn block: DetailsBlocks.Block, at place: JSONPointer) {
    let name = block.attributes["name"]
    let id = block.attributes["id"].flatMap { $0.isEmpty ? nil : $0 }
    // A text of JSON, or that as a text of JSON once more.
    var input = block.attributes["arguments"].map(JSONValue.string)
    if let told = input?.stringValue.flatMap(JSONText.any) { input = told }
    // What is called with nothing may be given an empty text.
    if input == "" { input = [:] }
    let call = CallReader.call(name: name, input: input, id: id)
    // Blocks with nothing said between them may be calls that were asked for together.
    pieces[pieces.count - 1].add(call, at: place)
    guard let data = Self.result(in: block) else { return }
    take(data, id: id, tool: name, at: place)
  }

  /// What a tool gave back; `nil` where none of it stands there, which says nothing of whether the tool ran.
  private static func result(in block: DetailsBlocks.Block) -> JSONValue? {
    if let text = block.attributes["result"], !text.isEmpty {
      // A text is one of JSON, so that what a tool gave back as JSON is one once more.
      return JSONText.any(text).map { $0.stringValue == nil ? .string(text) : $0 } ?? .string(text)
    }
    guard !block.body.isEmpty else { return nil }
    return .string(DetailsBlocks.plain(Array(block.body.utf8)[...]))
  }

  private mutating func take(_ data: JSONValue, id: String?, tool: String?, at place: JSONPointer) {
    pieces[pieces.count - 1].results.append(
      GraphResult(
        id: id, tool: tool, data: Told(text: data), status: .returned, pointer: place))
  }

  /// Code that Open WebUI reads in what a model says, and runs.
  private mutating func take(codeIn block: DetailsBlocks.Block) {
    var code = block.body
    var language = ""
    if code.hasPrefix("```"), let end = code.firstIndex(of: "\n") {
      language = String(code[..<end].dropFirst(3))
      code = String(code[code.index(after: end)...])
      if code.hasSuffix("\n```") { code = String(code.dropLast(4)) }
    }
    let output = block.attributes["output"].flatMap { $0.isEmpty ? nil : $0 }
    take(
      code: code, language: language, id: nil,
      output: output.map { JSONText.any($0) ?? .string($0) }, at: pointer.appending("content"))
  }

  /// The name of the tool that runs code, which has none of its own.
  static let interpreter = "code_interpreter"

  private mutating func take(
    code: String, language: String, id: String?, output: JSONValue?, at place: JSONPointer
  ) {
    reply { message in
      message.add(
        GraphCall(
          name: Self.interpreter,
          input: .there(["code": .string(code), "lang": .string(language)]), id: id), at: place)
    }
    if let output { take(output, id: id, tool: Self.interpreter, at: place) }
  }

  // MARK: Items

  private mutating func take(_ items: [JSONValue]) {
    for (place, item) in items.placed(at: pointer.appending("output")) {
      switch item["type"]?.stringValue {
      case "message":
        for (place, part) in item.elements("content", at: place) {
          // What stands in it is text, whatever it looks like; a model may write it so.
          reply { PartReader.take(part, at: place, into: &$0) }
        }
        note(item, but: ["type", "content", "role", "status", "id"], at: place)
      case "reasoning": reply { $0.parts.append(item) }
      case "function_call":
        reply {
          $0.add(
            CallReader.call(
              name: item["name"]?.stringValue,
              input: item["arguments"].map { $0 == "" ? [:] : $0 },
              id: item["call_id"]?.stringValue), at: place)
        }
        note(item, but: ["type", "name", "arguments", "call_id", "id", "status"], at: place)
      case "function_call_output":
        take(
          Self.text(of: item["output"]), id: item["call_id"]?.stringValue, tool: nil, at: place)
        note(
          item,
          but: ["type", "output", "call_id", "id", "status", "files", "embeds", "declarative"],
          at: place)
      case "open_webui:code_interpreter":
        let output = item["output"].flatMap { $0.saysNothing ? nil : $0 }
        take(
          code: item["code"]?.stringValue ?? "", language: item["lang"]?.stringValue ?? "",
          id: item["id"]?.stringValue, output: output, at: place)
      default:
        if !item.saysNothing {
          // Tools that the provider's servers run among them.
          if let messages = MessageReader.read(item, at: place), !messages.isEmpty {
            takeOthers(messages)
          } else {
            pieces[pieces.count - 1].unread.append(place)
          }
        }
      }
    }
  }

  private mutating func takeOthers(_ messages: [ReadMessage]) {
    for message in messages {
      reply { reply in
        reply.parts += message.parts
        reply.calls += message.calls
        reply.unread += message.unread
      }
      pieces[pieces.count - 1].results += message.results
    }
  }

  private mutating func note(_ item: JSONValue, but known: [String], at place: JSONPointer) {
    pieces[pieces.count - 1].unread += UnknownMember.places(
      in: item.objectValue ?? [:], besides: known, quiet: [], at: place)
  }

  /// Texts of parts, where there is nothing else.
  private static func text(of output: JSONValue?) -> JSONValue {
    guard let parts = output?.arrayValue else { return output ?? .null }
    let texts = parts.compactMap { $0["text"]?.stringValue }
    return texts.count == parts.count ? .string(texts.joined()) : .array(parts)
  }

  /// Marks calls that the text tells and the items do not: either is what somebody made of the other, or a model wrote it.
  private mutating func takeBlocksBeside(_ output: [JSONValue]) {
    guard let text = object["content"]?.stringValue else { return }
    let told = Set(output.compactMap { $0["call_id"]?.stringValue })
    let blocks = DetailsBlocks(text).pieces.compactMap { piece -> DetailsBlocks.Block? in
      if case .block(let block) = piece, block.type == "tool_calls" { block } else { nil }
    }
    guard !blocks.allSatisfy({ told.contains($0.attributes["id"] ?? "") }) else { return }
    pieces[0].unread.append(pointer.appending("content"))
  }

  // MARK: Sources

  /// Tools that were called for a question at the word of a model before another was asked: of them what they gave back, and
  /// in newer versions what they were given.
  private mutating func takeSources() {
    for key in ["sources", "citations"] where role == .assistant {
      for (place, source) in object.elements(key, at: pointer) {
        let name = source["source"]?["name"]?.stringValue ?? ""
        guard source["tool_result"]?.boolValue == true || name.hasPrefix("TOOL:") else { continue }
        isOfTask = true
        var tool = name.hasPrefix("TOOL:") ? String(name.dropFirst(5)) : name
        // Behind the id of the tools that it is one of.
        if let slash = tool.lastIndex(of: "/") { tool = String(tool[tool.index(after: slash)...]) }
        let input = source["metadata"]?[0]?["parameters"]
        pieces[pieces.count - 1].add(
          GraphCall(
            name: tool, input: input.map(Told.there) ?? .absent,
            problem: tool.isEmpty ? "a call without a name" : nil), at: place)
        let documents = source["document"]?.arrayValue ?? []
        take(
          documents.count == 1 ? documents[0] : .array(documents), id: nil, tool: tool, at: place)
      }
    }
    // Which model asked for them, and by which words, is not kept.
    if isOfTask {
      pieces[0].isModelCall = false
      pieces.append(piece())
    }
  }
}
