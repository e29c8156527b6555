import AgentTrace

/// Prompts as Google's AI Studio keeps them in a drive: `{"chunkedPrompt":{"chunks":[{"role","text",…}]},"runSettings",…}`.
///
/// What the model says stands in several chunks, one for each part of it: thoughts, texts, code that Google's servers ran and
/// what it printed. Those between two of the user's are one reply.
enum AIStudio: FormatAdapter {
  static let summary = FormatSummary(
    reads: "prompts as Google's AI Studio keeps them", tells: "calls, results, how replies ended")

  /// What is a part of a message, under the name that Gemini has for it.
  private static let partKeys = [
    "functionCall", "executableCode", "codeExecutionResult", "functionResponse",
  ]
  /// What holds no call: figures, files and where they are.
  private static let quiet: Set<String> = [
    "branchChildren", "branchParent", "createTime", "driveAudio", "driveDocument", "driveImage",
    "driveVideo", "finishReason", "grounding", "id", "inlineAudio", "inlineData", "inlineFile",
    "inlineImage", "isEdited", "isGeneratedUsingApiKey", "isThought", "safetyRatings",
    "thinkingBudget", "thoughtSignatures", "tokenCount", "youtubeVideo",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .value(let value) = document else { return false }
    return value["chunkedPrompt"]?["chunks"]?.arrayValue != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a prompt with `chunkedPrompt`")
    guard case .value(let prompt) = document else { return [] }
    return [SourceRun(index: nil) { () throws(ImportError) in try graph(of: prompt) }]
  }

  private static func graph(of prompt: JSONValue) throws(ImportError) -> CallGraph {
    var graph = CallGraph(format: .aiStudio)
    let model = prompt["runSettings"]?["model"]?.stringValue
    graph.modelName = model
    graph.labels["title"] = prompt["title"] ?? prompt["displayName"]
    let root = JSONPointer()
    var messages: [ReadMessage] = []
    for key in ["systemInstruction", "system_instruction"] {
      guard let said = prompt[key], !said.saysNothing else { continue }
      messages.append(
        ReadMessage(
          .system, said["parts"] ?? said["text"] ?? said, of: said, at: root.appending(key)))
    }
    let place = root.appending("chunkedPrompt")
    for (pointer, chunk) in (prompt["chunkedPrompt"] ?? .null).elements("chunks", at: place) {
      take(chunk, at: pointer, model: model, into: &messages)
    }
    // What was written and not sent is no part of the run.
    graph.items = MessageItems.items(of: messages)
    guard !graph.items.isEmpty else { throw ImportError(.noMessages) }
    graph.ending = graph.endingByRefusal ?? ending(messages)
    return graph
  }

  private static func take(
    _ chunk: JSONValue, at pointer: JSONPointer, model: String?, into messages: inout [ReadMessage]
  ) {
    let role = chunk["role"]?.stringValue.flatMap(MessageReader.role) ?? .other
    if role == .assistant, messages.last?.role == .assistant {
      add(chunk, at: pointer, to: &messages[messages.count - 1])
      return
    }
    var message = ReadMessage(
      role: role, roleName: chunk["role"]?.stringValue ?? "", pointer: pointer, raw: chunk)
    message.time = chunk["createTime"]?.sessionTime
    message.model = role == .assistant ? model : nil
    add(chunk, at: pointer, to: &message)
    messages.append(message)
  }

  private static func add(
    _ chunk: JSONValue, at pointer: JSONPointer, to message: inout ReadMessage
  ) {
    let object = chunk.objectValue ?? [:]
    message.unread += UnknownMember.places(
      in: object, besides: ["role", "text", "parts", "errorMessage"] + partKeys, quiet: quiet,
      at: pointer)
    if chunk["isThought"]?.boolValue == true {
      if chunk.mayHoldCall { message.unread.append(pointer) }
      return
    }
    if let parts = chunk["parts"]?.arrayValue {
      PartReader.take(parts, below: pointer.appending("parts"), into: &message)
    } else if let text = chunk["text"], !text.saysNothing {
      message.add(text: text)
    }
    for key in partKeys {
      guard let part = chunk[key], !part.saysNothing else { continue }
      PartReader.take([.object([key: part])], below: pointer, into: &message)
    }
    message.finish = chunk["finishReason"]?.stringValue ?? message.finish
    if chunk["errorMessage"]?.saysNothing == false { message.isUnfinished = true }
  }

  /// The end, where the last words are the model's and it ended by itself.
  private static func ending(_ messages: [ReadMessage]) -> ParsedEnding? {
    guard let last = messages.last, last.role == .assistant, last.finish == "STOP",
      !last.isUnfinished, last.text != nil, last.calls.count <= last.results.count
    else { return nil }
    return ParsedEnding(
      reason: .success, detail: StopDetail.finalAnswer,
      field: last.pointer.appending("finishReason"))
  }
}
