import AgentTrace

/// Sessions of Google's Agent Development Kit, `{"id","appName","events":[{"author","content":{"parts":[…]},…}]}`,
/// in camel or snake case; a list, or lines, of events alone.
enum AdkSessions: FormatAdapter {
  static let summary = FormatSummary(
    reads: "sessions of Google's ADK",
    tells: "calls, results, errors, usage; an end by form")

  private static let quiet: Set<String> = [
    "actions", "usageMetadata", "usage_metadata", "groundingMetadata", "grounding_metadata",
    "nodeInfo", "node_info", "longRunningToolIds", "long_running_tool_ids", "customMetadata",
    "custom_metadata", "logprobsResult", "logprobs_result", "cacheMetadata", "cache_metadata",
    "citationMetadata", "citation_metadata", "state", "inputTranscription", "outputTranscription",
    "input_transcription", "output_transcription", "output",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value):
      if let events = value["events"]?.arrayValue {
        return value["appName"] != nil || value["app_name"] != nil
          || events.first.map(isEvent) ?? false
      }
      return value.arrayValue?.first.map(isEvent) ?? false
    case .lines(let lines): return (try? lines.first?.content.get()).map(isEvent) ?? false
    case .parts: return false
    }
  }

  private static func isEvent(_ value: JSONValue) -> Bool {
    value["author"]?.stringValue != nil
      && (value["invocationId"] != nil || value["invocation_id"] != nil)
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    var events: [(JSONPointer, JSONValue)] = []
    var session = JSONObject()
    switch document {
    case .value(let value):
      session = value.objectValue ?? [:]
      let isBare = value.arrayValue != nil
      let list = value.arrayValue ?? value["events"]?.arrayValue ?? []
      for (index, event) in list.enumerated() {
        events.append((JSONPointer(tokens: (isBare ? [] : ["events"]) + [String(index)]), event))
      }
    case .lines(let lines):
      for line in lines {
        events.append((JSONPointer(tokens: [String(line.index)]), try line.content.get()))
      }
    case .parts: break
    }
    try check(document, expecting: "a session with `events`")
    return [SourceRun(index: nil, try run(events, session))]
  }

  private static func run(
    _ events: [(JSONPointer, JSONValue)], _ session: JSONObject
  ) throws(ImportError) -> CallGraph {
    guard !events.isEmpty else { throw ImportError(.noMessages) }
    guard events.count <= ImportLimits.messageLimit else {
      throw ImportError(.tooManyMessages(limit: ImportLimits.messageLimit))
    }
    var graph = CallGraph(format: .adk)
    var messages: [ReadMessage] = []
    var failure: String?
    for (place, event) in events {
      let fields = try MessageFields(event, at: place)
      if fields["partial"]?.boolValue == true { continue }
      if let message = message(fields) {
        messages.append(message)
      } else if event.mayHoldCall {
        graph.unread.append(place)
      }
      failure = (fields["errorCode"] ?? fields["error_code"])?.stringValue
    }
    resolveConfirmations(in: &messages)
    graph.items = MessageItems.items(of: messages)
    // Whoever takes over goes on in the session.
    let targets = messages.flatMap(\.calls).filter { $0.name == "transfer_to_agent" }
      .compactMap { $0.input.value?["agent_name"]?.stringValue }
    graph.noteAgentsThatAreTools(
      besides: messages.compactMap(\.author) + targets, takeRequests: true)
    graph.unread += callsElsewhere(events, among: Set(messages.flatMap(\.calls).compactMap(\.id)))
    graph.agentName = (session["appName"] ?? session["app_name"])?.stringValue
    graph.modelName = graph.firstModel
    for key in ["id", "userId", "user_id"] { graph.labels[key] = session[key] }
    graph.extra["state"] = session["state"]
    if let refusal = RefusalWord.detail(ofFinish: failure) {
      graph.ending = ParsedEnding(reason: .blocked, detail: refusal)
    } else {
      graph.ending =
        failure == nil
        ? graph.endingByForm : ParsedEnding(reason: .toolFailure, detail: StopDetail.error)
    }
    let known: Set<String> = ["events", "state", "appName", "app_name"]
    graph.unread += UnknownMember.places(
      in: session, besides: known, quiet: quiet, at: JSONPointer())
    return graph
  }

  private static let confirmation = "adk_request_confirmation"

  /// Takes the words that a tool waits for a person as no result of its call, and what comes back where the person would not
  /// have it run as a refusal.
  private static func resolveConfirmations(in messages: inout [ReadMessage]) {
    var asked: [String: String] = [:]
    for call in messages.flatMap(\.calls) where call.name == confirmation {
      guard let id = call.input.value?["originalFunctionCall"]?["id"]?.stringValue,
        let request = call.id
      else { continue }
      asked[id] = request
    }
    guard !asked.isEmpty else { return }
    var answered: Set<String> = []
    var refused: Set<String> = []
    for result in messages.flatMap(\.results) where result.tool == confirmation {
      guard let id = result.id else { continue }
      answered.insert(id)
      // Some clients send it as a text.
      let said = result.data.value?["response"]?.stringValue.flatMap(JSONText.parse)
      if (said ?? result.data.value)?["confirmed"] == false { refused.insert(id) }
    }
    var left: [String: Int] = [:]
    for id in messages.flatMap(\.results).compactMap(\.id) where asked[id] != nil {
      left[id, default: 0] += 1
    }
    for index in messages.indices {
      var kept: [GraphResult] = []
      for var result in messages[index].results {
        guard let id = result.id, let request = asked[id] else {
          kept.append(result)
          continue
        }
        left[id, default: 1] -= 1
        if left[id, default: 0] > 0 || !answered.contains(request) {
          messages[index].parts.append(["type": "tool_result", "data": result.data.logged])
          continue
        }
        if refused.contains(request), result.status == .error { result.status = .refused }
        kept.append(result)
      }
      messages[index].results = kept
    }
  }

  /// The events that speak of calls by ids that no call of the session has.
  private static func callsElsewhere(
    _ events: [(JSONPointer, JSONValue)], among ids: Set<String>
  ) -> [JSONPointer] {
    events.filter { _, event in
      let running = (event["longRunningToolIds"] ?? event["long_running_tool_ids"])?.arrayValue
      let actions = event["actions"]
      let asked =
        (actions?["requestedToolConfirmations"] ?? actions?["requested_tool_confirmations"])?
        .objectValue
      let spokenOf = (running ?? []).compactMap(\.stringValue) + (asked ?? [:]).map(\.key)
      return spokenOf.contains { !ids.contains($0) }
    }.map(\.0)
  }

  /// What an event says; `nil` where it has no content.
  private static func message(_ event: MessageFields) -> ReadMessage? {
    guard let content = event["content"]?.objectValue else { return nil }
    // Where nobody says who spoke, the content says whether it was the model.
    let author = event["author"]?.stringValue
    let speaker = author ?? content["role"]?.stringValue
    // What a part is not may stand in it as null: a dump of all members says of each part that it has no result.
    let parts = (content["parts"]?.arrayValue ?? []).map { part -> JSONValue in
      guard let members = part.objectValue else { return part }
      return .object(JSONObject(members.filter { !$0.value.isNull }.map { ($0.key, $0.value) }))
    }
    let isUnread = content["parts"].map { $0.arrayValue == nil && !$0.saysNothing } ?? false
    let holdsResults = parts.contains {
      $0["functionResponse"] != nil || $0["function_response"] != nil
    }
    let isUser = speaker == "user" && (author != nil || !holdsResults)
    let role: ReadMessage.Role = isUser ? .user : holdsResults ? .tool : .assistant
    var message = ReadMessage(
      role: role, roleName: "\(role)", pointer: event.pointer, raw: .object(event.object))
    if speaker == nil || isUnread { message.unread.append(event.pointer) }
    let place = event.pointer.appending("content").appending("parts")
    PartReader.take(parts, below: place, into: &message)
    message.finish = (event["finishReason"] ?? event["finish_reason"])?.stringValue
    // Somebody spoke over it, or it was ended: it did not end by itself.
    if event["interrupted"]?.boolValue == true { message.finish = "interrupted" }
    message.model = (event["modelVersion"] ?? event["model_version"])?.stringValue
    message.usage = ReadUsage(event["usageMetadata"] ?? event["usage_metadata"])
    message.author = author
    if let seconds = event["timestamp"]?.doubleValue { message.time = Timestamp(unix: seconds) }
    let confirmations =
      event["actions"]?["requestedToolConfirmations"]
      ?? event["actions"]?["requested_tool_confirmations"]
    if let confirmations, !confirmations.saysNothing {
      message.extra["requestedToolConfirmations"] = confirmations
    }
    if role == .assistant, let author { message.extra["agent"] = .string(author) }
    message.unread += UnknownMember.places(
      in: event.object, besides: ["content"], quiet: quiet, at: event.pointer)
    return message
  }
}
