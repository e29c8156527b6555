import AgentTrace

/// Events of OpenHands' agent SDK (V1), one a line or in a list: `{"kind":"ActionEvent","tool_name","tool_call",…}`. Actions of one
/// `llm_response_id` are the calls of one reply. Of the events before it ``OpenHandsEvents`` knows.
enum OpenHands: FormatAdapter {
  static let summary = FormatSummary(
    reads: "events of OpenHands",
    tells: "calls, results, errors; ends where its state is told")

  /// Kinds of events that hold no call.
  private static let silent: Set<String> = [
    "ConversationStateUpdateEvent", "SystemPromptEvent", "PauseEvent", "Condensation",
    "CondensationRequest", "CondensationSummaryEvent", "TokenEvent", "LLMCompletionLogEvent",
    "ConversationErrorEvent", "StreamingDeltaEvent", "HookExecutionEvent",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    isOfSDK(document) || OpenHandsEvents.recognizes(document)
  }

  private static func isOfSDK(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["events"]) { value in
      guard let kind = value["kind"]?.stringValue, value["source"]?.stringValue != nil else {
        return false
      }
      return kind.hasSuffix("Event") || kind.hasPrefix("Condensation")
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    guard isOfSDK(document) else {
      if OpenHandsEvents.recognizes(document) { return OpenHandsEvents.runs(in: document) }
      throw ImportError(.wrongShape(expected: "events with `kind` and `source`"), at: JSONPointer())
    }
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var graph = CallGraph(format: .openHands)
        let lines = SourceLines(document, keys: ["events"]).withoutRepeats
        graph.unread = lines.unread
        var open: String?
        let known = Set(lines.values.compactMap { $0.1["id"] })
        for (pointer, value) in lines.values {
          read(value, at: pointer, known: known, open: &open, into: &graph)
        }
        // What its sub-agents do stands in conversations of their own.
        graph.noteSubAgent(behindAnyOf: ["delegate", "task"])
        graph.agentName = "openhands"
        graph.ending = graph.endingByRefusal ?? ending(by: lines.values)
        return graph
      }
    ]
  }

  /// How it ended, by the last word for how it stands with nothing done behind it: it finished, or broke.
  private static func ending(by events: [(pointer: JSONPointer, value: JSONValue)]) -> ParsedEnding?
  {
    var ending: ParsedEnding?
    for (pointer, event) in events {
      switch event["kind"]?.stringValue {
      case "ConversationStateUpdateEvent" where event["key"] == "execution_status":
        let word = event["value"]?.stringValue ?? ""
        let reason: StopReason? =
          switch word {
          case "finished": .success
          case "error": .toolFailure
          default: nil
          }
        ending = reason.map {
          ParsedEnding(
            reason: $0, detail: $0 == .success ? StopDetail.finalAnswer : word,
            field: pointer.appending("value"))
        }
      case "MessageEvent", "ActionEvent": ending = nil
      default: break
      }
    }
    return ending
  }

  private static func read(
    _ event: JSONValue, at pointer: JSONPointer, known: Set<JSONValue>, open: inout String?,
    into graph: inout CallGraph
  ) {
    let time = event["timestamp"]?.stringValue.flatMap(Timestamp.init)
    switch event["kind"]?.stringValue ?? "" {
    case "ActionEvent":
      let response = event["llm_response_id"]?.stringValue
      var message = action(event, at: pointer)
      message.time = time
      message.responseId = response
      if let response, response == open,
        let last = graph.items.lastIndex(where: { if case .reply = $0 { true } else { false } }),
        case .reply(var reply) = graph.items[last]
      {
        reply.merge(message)
        graph.items[last] = .reply(reply)
      } else {
        graph.items += MessageItems.items(of: [message])
      }
      open = response
    case "MessageEvent":
      open = nil
      guard let body = event["llm_message"] ?? event["message"],
        let messages = MessageReader.read(body, at: pointer.appending("llm_message"))
      else { return graph.unread.append(pointer) }
      for var message in messages {
        message.time = time
        message.responseId = event["llm_response_id"]?.stringValue
        graph.items += MessageItems.items(of: [message])
      }
    case "ObservationEvent", "AgentErrorEvent", "UserRejectObservation":
      graph.items.append(.result(observation(event, at: pointer, time: time)))
    case let kind where silent.contains(kind):
      if kind == "Condensation" {
        open = nil
        if forgets(event, known) { graph.missing.append(.summedUp(at: pointer)) }
      }
    default:
      if !event.saysNothing { graph.unread.append(pointer) }
    }
  }

  /// Whether a condensation takes events out of the context that do not stand here.
  private static func forgets(_ event: JSONValue, _ known: Set<JSONValue>) -> Bool {
    let forgotten =
      (event["forgotten_event_ids"]?.arrayValue ?? [])
      + ["forgotten_events_start_id", "forgotten_events_end_id"].compactMap { event[$0] }
    return forgotten.contains { !$0.isNull && !known.contains($0) }
  }

  private static func action(_ event: JSONValue, at pointer: JSONPointer) -> ReadMessage {
    var message = ReadMessage(role: .assistant, roleName: "assistant", pointer: pointer, raw: event)
    PartReader.take(
      event["thought"]?.arrayValue ?? [], below: pointer.appending("thought"), into: &message)
    let call = event["tool_call"]
    let input = call?["arguments"] ?? call?["function"]?["arguments"] ?? event["action"]
    message.add(
      CallReader.call(
        name: (event["tool_name"] ?? call?["name"] ?? call?["function"]?["name"])?.stringValue,
        input: input, id: (event["tool_call_id"] ?? call?["id"])?.stringValue), at: pointer)
    return message
  }

  private static func observation(
    _ event: JSONValue, at pointer: JSONPointer, time: Timestamp?
  ) -> GraphResult {
    let observation = event["observation"]
    let data = observation?["content"] ?? observation ?? event["error"] ?? event["rejection_reason"]
    var status: GraphResult.Status = .returned
    if let isError = observation?["is_error"]?.boolValue { status = isError ? .error : .ok }
    if event["kind"] == "AgentErrorEvent" { status = .error }
    if event["kind"] == "UserRejectObservation" { status = .refused }
    var result = GraphResult(
      id: event["tool_call_id"]?.stringValue, tool: event["tool_name"]?.stringValue,
      data: data.map { Told(text: $0) } ?? .absent, status: status, pointer: pointer)
    result.time = time
    if let metadata = observation?.objectValue {
      for key in ["exit_code", "command", "timeout"] { result.extra[key] = metadata[key] }
    }
    return result
  }
}
