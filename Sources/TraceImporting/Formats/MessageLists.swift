import AgentTrace
import TraceStorage

/// Lists of messages of interfaces and frameworks other than the chat-completion interface: Anthropic's, OpenAI's
/// Responses items, Gemini's contents, Bedrock's Converse, LangChain's messages and graph states, pydantic-ai's,
/// AutoGen's, the AI SDK's, and one request or response of any of them.
enum MessageLists: FormatAdapter {
  static let summary = FormatSummary(
    reads:
      "message lists and replies of Anthropic, Responses, Gemini, Bedrock, LangChain, pydantic-ai, AutoGen, "
      + "AI SDK",
    tells: "calls, arguments and results; what a tool that is an agent did inside is told nowhere")

  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value):
      return isForeign(value) || severalRuns(in: value)?.contains(where: isForeignRun) == true
    case .lines(let lines):
      if MessageRecords.recognizes(document) { return true }
      if lines.contains(where: { line in (try? line.content.get()).map(isForeignRun) ?? false }) {
        return true
      }
      let messages = messages(among: lines)
      if messages.count < lines.count { return true }
      guard let first = messages.first, let value = try? first.content.get() else {
        return false
      }
      if isForeign(value) || isForeignMessage(value) { return true }
      // A conversation may begin as it does everywhere.
      return value["role"] != nil
        && messages.contains { line in (try? line.content.get()).map(isForeignMessage) ?? false }
    case .parts: return false
    }
  }

  /// Whether a value has what the chat-completion interface has not.
  private static func isForeign(_ value: JSONValue) -> Bool {
    if let elements = value.arrayValue { return isForeign(elements) }
    if isOfAgno(value) { return true }
    guard let object = value.objectValue, object["suite_name"] == nil,
      object["simulations"] == nil, object["traj"] == nil
    else { return false }
    if let list = object["messages"]?.arrayValue {
      guard object["termination_reason"] == nil else { return false }
      return isForeign(list) || object["system"] != nil || object["stop_reason"] != nil
        || isResponse(object["response"])
    }
    if isForeignMessage(value) { return true }
    return object["role"] == nil && MessageFinder.find(value, at: JSONPointer()) != nil
  }

  /// The runs of a list of several: lists of messages, or objects that hold one. `nil` for a list of messages, and for
  /// the batch of one in which LangChain asks models.
  private static func severalRuns(in value: JSONValue) -> [JSONValue]? {
    guard let elements = value.arrayValue, let first = elements.first,
      elements.count > 1 || first.arrayValue == nil,
      elements.allSatisfy({ element in
        list(ofRun: element).map { $0.isEmpty || $0[0].objectValue != nil } ?? false
      })
    else { return nil }
    return elements
  }

  private static func list(ofRun value: JSONValue) -> [JSONValue]? {
    value.arrayValue ?? (value["role"] == nil ? value["messages"]?.arrayValue : nil)
  }

  /// Whether a run among several tells that it is none of the chat interface. One of nothing but texts is the same
  /// everywhere, so that the first of many need not tell it.
  private static func isForeignRun(_ value: JSONValue) -> Bool {
    list(ofRun: value) != nil && isForeign(value)
  }

  /// Whether a value beside a list is what a model's interface answered.
  private static func isResponse(_ value: JSONValue?) -> Bool {
    ["choices", "candidates", "output", "content", "promptFeedback"].contains {
      value?[$0] != nil
    }
  }

  /// Whether a list, or a batch of one, has a message that is none of the chat interface.
  private static func isForeign(_ elements: [JSONValue]) -> Bool {
    if elements.count == 1, let inner = elements[0].arrayValue {
      return inner.contains(where: isForeignMessage)
    }
    return elements.contains(where: isForeignMessage)
  }

  private static let foreignRoles: Set<String> = [
    "model", "human", "ai", "toolResult", "tool-call", "tool-response",
  ]
  private static let foreignBlocks: Set<String> = [
    "functionCall", "functionResponse", "function_call", "function_response", "toolUse",
    "toolResult",
  ]

  private static func isForeignMessage(_ value: JSONValue) -> Bool {
    guard let object = value.objectValue else { return false }
    if let role = object["role"]?.stringValue {
      if object["type"] == "message" || MessageReader.isOfKernel(object) { return true }
      if foreignRoles.contains(role) || object["parts"]?.arrayValue != nil { return true }
      if MessageReader.isSplit(object) { return true }
      return object["content"]?.arrayValue?.contains(where: isForeignBlock) ?? false
    }
    return object["messages"] == nil && object["traj"] == nil
      && MessageReader.read(value, at: JSONPointer()) != nil
  }

  private static func isForeignBlock(_ part: JSONValue) -> Bool {
    switch part["type"]?.stringValue {
    case "tool_use": part["name"]?.stringValue != nil
    case "tool_result": (part["tool_use_id"] ?? part["toolUseID"])?.stringValue != nil
    case "tool-call", "tool-result", "tool_call", "tool_call_response", "toolCall",
      "toolRequest", "toolResponse", "server_tool_use", "mcp_tool_use", "thinking",
      "redacted_thinking":
      true
    // Of tools that Anthropic's servers run.
    case let type? where type.hasSuffix("_tool_result"): part["tool_use_id"]?.stringValue != nil
    case nil:
      part["text"]?.stringValue != nil || foreignBlocks.contains { part[$0] != nil }
    default: false
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    if MessageRecords.recognizes(document) { return MessageRecords.runs(in: document) }
    switch document {
    case .value(let value):
      if let elements = severalRuns(in: value) {
        return SourceRun.each(elements, carriedOrRun)
      }
      return [SourceRun(index: nil, try carriedOrRun(value, at: JSONPointer()))]
    case .lines(let lines):
      let lines = messages(among: lines)
      let first = lines.lazy.compactMap { try? $0.content.get() }.first
      if let first, MessageReader.read(first, at: JSONPointer()) == nil {
        return SourceRun.each(lines, carriedOrRun)
      }
      var elements: [(JSONPointer, JSONValue)] = []
      for line in lines {
        elements.append((JSONPointer(tokens: [String(line.index)]), try line.content.get()))
      }
      return [
        SourceRun(index: nil) { () throws(ImportError) in
          var messages: [ReadMessage] = []
          for (place, element) in elements {
            let unknown =
              MessageFinder.isTyped(element) ? [MessageFinder.unknown(element, at: place)] : nil
            guard let read = MessageReader.read(element, at: place) ?? unknown else {
              throw ImportError(.wrongShape(expected: "a message"), at: place)
            }
            messages += read
          }
          return try graph(messages, beside: [:], unread: [])
        }
      ]
    case .parts: throw ImportError(.wrongShape(expected: "a list of messages"), at: JSONPointer())
    }
  }

  /// The lines without the first where that is goose's word for the session whose messages follow.
  private static func messages(among lines: [SourceDocument.Line]) -> [SourceDocument.Line] {
    guard lines.count > 1, let first = try? lines[0].content.get(), first["role"] == nil,
      first["working_dir"]?.stringValue != nil, !first.mayHoldCall,
      let next = try? lines[1].content.get(), next["role"]?.stringValue != nil
    else { return lines }
    return Array(lines.dropFirst())
  }

  /// The run whose log goes along, or what the messages beside it say.
  private static func carriedOrRun(
    _ value: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> any EventSource {
    try CarriedRun.find(in: value, at: pointer, else: run)
  }

  /// What a file may hold beside its messages.
  private static let known: Set<String> = [
    "messages", "input_items", "contents", "history", "items", "input", "output", "system",
    "instructions", "system_instruction", "systemInstruction", "choices", "candidates", "content",
    "tools", "config", "generations", "conversation", "kwargs", "role", "parts", "response",
    "channel_values",
  ]
  private static let quiet: Set<String> = [
    "usage", "metadata", "usageMetadata", "usage_metadata", "tags", "generationConfig",
    "llm_output", "env", "include", "logit_bias", "modalities", "output_config", "prediction",
    "response_format", "stop", "stop_sequences", "stream_options", "thinking",
    "incomplete_details", "reasoning", "text", "tool_choice", "toolConfig", "channel_versions",
    "versions_seen",
  ]

  /// What Agno says of a run beside its messages: whose it is. What the members of a team did is none of it.
  private static let ofAgno: Set<String> = [
    "agent_id", "agent_name", "metrics", "model_provider_data", "session_state", "team_id",
    "team_name",
  ]

  /// Whether it is a run as Agno gives it (`RunOutput.to_dict()`).
  private static func isOfAgno(_ value: JSONValue) -> Bool {
    value["run_id"] != nil && (value["agent_id"] ?? value["team_id"]) != nil
      && value["messages"]?[0]?["role"] != nil
  }

  /// The run that one list, request or reply is.
  static func run(_ value: JSONValue, at pointer: JSONPointer) throws(ImportError)
    -> CallGraph
  {
    guard let found = MessageFinder.find(value, at: pointer), !found.messages.isEmpty else {
      throw ImportError(.wrongShape(expected: "a list of messages"), at: pointer)
    }
    if let odd = found.odd { throw ImportError(.wrongShape(expected: "a message"), at: odd) }
    var beside = JSONObject()
    var unread = found.unread
    var messages = found.messages
    // A logged request, and what was answered.
    if let response = value["response"],
      !found.holders(below: pointer).contains("response"),
      let answer = MessageFinder.find(response, at: pointer.appending("response"))
    {
      messages += answer.messages
      unread += answer.unread
    } else if isResponse(value["response"]),
      !found.holders(below: pointer).contains("response")
    {
      // What was answered, nobody can read.
      unread.append(pointer.appending("response"))
    }
    unread += passedOver(value, at: pointer, messages)
    let isAgno = isOfAgno(value)
    for member in value.objectValue ?? [:] where !known.contains(member.key) {
      beside[member.key] = member.value
      if isAgno, ofAgno.contains(member.key), !member.value.mayHoldCall { continue }
      if !UnknownMember.isHarmless(member.key, member.value, quiet: quiet) {
        unread.append(pointer.appending(member.key))
      }
    }
    var graph = try graph(messages, beside: beside, unread: unread)
    graph.missing += missing(from: value, at: pointer)
    if let response = value["response"] {
      graph.missing += missing(from: response, at: pointer.appending("response"))
    }
    if let tools = value["tools"] { graph.extra["tools"] = tools }
    return graph
  }

  /// What a request or a response goes on from, and its provider keeps; a reply says itself from which response.
  private static func missing(from value: JSONValue, at pointer: JSONPointer) -> [MissingPart] {
    var parts: [MissingPart] = []
    if let id = value["previous_response_id"]?.stringValue, !id.isEmpty, value["output"] == nil {
      parts.append(.response(id, at: pointer.appending("previous_response_id")))
    }
    let conversation = value["conversation"]
    if let id = (conversation?["id"] ?? conversation)?.stringValue, !id.isEmpty,
      value["input"] != nil || value["output"] != nil
    {
      parts.append(.conversation(id, at: pointer.appending("conversation")))
    }
    return parts
  }

  /// Members that may hold messages, of which others were read: they are told already, or nobody read their calls.
  private static func passedOver(
    _ value: JSONValue, at pointer: JSONPointer, _ messages: [ReadMessage]
  ) -> [JSONPointer] {
    let read = MessageFinder.Found(messages: messages).holders(below: pointer)
    let told = Set(messages.flatMap(\.calls).compactMap(\.id))
    return (value.objectValue ?? [:]).compactMap { member in
      guard MessageFinder.holderKeys.contains(member.key) || member.key == "response",
        !read.contains(member.key), member.value.mayHoldCallAsText
      else { return nil }
      let place = pointer.appending(member.key)
      guard let other = MessageFinder.find(member.value, at: place), other.unread.isEmpty,
        other.odd == nil, other.messages.allSatisfy(\.unread.isEmpty)
      else { return place }
      let calls = other.messages.flatMap(\.calls)
      return calls.allSatisfy { $0.id.map(told.contains) ?? false } ? nil : place
    }
  }

  private static func graph(
    _ messages: [ReadMessage], beside: JSONObject, unread: [JSONPointer]
  ) throws(ImportError) -> CallGraph {
    guard messages.count <= ImportLimits.messageLimit else {
      throw ImportError(.tooManyMessages(limit: ImportLimits.messageLimit))
    }
    var graph = CallGraph(format: .messages)
    graph.items = MessageItems.items(of: messages.filter { !$0.isRemoval })
    graph.tell(messages.reduce(into: [:]) { $0.merge($1.outcomes) { $1 } })
    graph.tellFates()
    graph.extra = beside
    graph.unread = unread + messages.callsSummedUp + messages.removalsOfOthers
    if let part = messages.summaryOfMissing { graph.missing.append(part) }
    graph.agentName = (beside["last_agent"] ?? beside["agent"])?.stringValue
    // How the last reply ended may stand beside the list.
    if let finish = beside.finish,
      let last = graph.items.indices.last, case .reply(var reply) = graph.items[last],
      reply.finish == nil
    {
      reply.finish = finish
      graph.items[last] = .reply(reply)
    }
    graph.ending = beside.isOver ? graph.endingByForm : nil
    graph.mayHideInnerCalls = messages.contains(where: \.isFromFramework)
    if graph.mayHideInnerCalls {
      graph.noteAgentsThatAreTools(besides: messages.compactMap(\.author))
    }
    graph.modelName = graph.firstModel
    return graph
  }
}

extension CallGraph {
  /// The model of the first reply that names one.
  var firstModel: String? {
    for case .reply(let reply) in items {
      if let model = reply.model { return model }
    }
    return nil
  }
}
