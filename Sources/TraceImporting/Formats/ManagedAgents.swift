import AgentTrace

/// Sessions of Anthropic's managed agents: events as their stream sends them and their list answers
/// (`{"type":"agent.tool_use","name","input","id","processed_at"}`), or as clients keep them, with the call that gave each
/// before it (`["client.beta.sessions.events.stream",{…}]`).
///
/// What stands between `span.model_request_start` and its end is one reply. (anthropics/anthropic-sdk-python,
/// src/anthropic/types/beta/sessions.)
enum ManagedAgents: AgentSessions {
  static let format = ImportFormat.managedAgents
  static let listKeys = ["data", "events"]
  static let summary = FormatSummary(
    reads: "sessions of Anthropic's managed agents, as events",
    tells: "calls, results, errors, refused calls, tokens, the end; not what sub-agents did")

  private static let marks: Set<String> = [
    "agent.custom_tool_use", "agent.mcp_tool_use", "agent.message", "agent.tool_use",
    "session.status_idle", "session.status_running", "span.model_request_start",
  ]

  /// What says nothing of calls.
  private static let silent: Set<String> = [
    "agent.thinking", "session.deleted", "session.outcome_evaluated", "session.status_rescheduled",
    "user.define_outcome",
  ]

  static func isMark(_ line: JSONValue) -> Bool {
    guard let event = event(in: line) else { return false }
    return event["processed_at"] != nil
      && event["type"]?.stringValue.map(marks.contains) ?? false
  }

  /// The event of a line; `nil` where it is something else that a client kept.
  private static func event(in line: JSONValue) -> JSONValue? {
    guard let pair = line.arrayValue else { return line }
    guard pair.count == 2, let name = pair[0].stringValue,
      name.hasSuffix(".events.stream") || name.hasSuffix(".events.list")
    else { return nil }
    return pair[1]
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    var session = Session()
    for (pointer, line) in lines.values {
      if let event = event(in: line) {
        session.take(event, at: pointer, &graph)
      } else {
        session.takeOther(line, at: pointer, &graph)
      }
    }
  }

  /// What is known on the way through the events.
  private struct Session {
    /// The request to a model that is under way.
    private var request: String?
    /// What calls were kept from running, by their ids.
    private var refused: Set<String> = []
    /// The threads of other agents that were spoken of.
    private var threads: Set<String> = []

    /// Threads of other agents have events of their own, which nobody knows here.
    private mutating func noteThread(
      of event: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph
    ) {
      let keys = ["session_thread_id", "to_session_thread_id", "from_session_thread_id"]
      guard let id = keys.lazy.compactMap({ event[$0]?.stringValue }).first,
        threads.insert(id).inserted
      else { return }
      let name = event["agent_name"]?.stringValue ?? id
      graph.missing.append(
        MissingPart(pointer, "what \(name) did in a thread of its own is not in the source"))
    }

    /// What a client sent stands again among the events; what it was answered when it made the session names the model.
    mutating func takeOther(_ line: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph) {
      let name = line[0]?.stringValue ?? ""
      if name.hasSuffix(".sessions.create") || name.hasSuffix(".sessions.retrieve") {
        let model = line[1]?["agent"]?["model"]
        graph.modelName = model?["id"]?.stringValue ?? model?.stringValue ?? graph.modelName
      } else if !name.hasSuffix(".events.send"), !line.saysNothing {
        graph.unread.append(pointer)
      }
    }

    mutating func take(_ event: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph) {
      let type = event["type"]?.stringValue ?? ""
      let time = event["processed_at"]?.sessionTime
      switch type {
      case "user.message", "system.message":
        graph.ending = nil
        let role: ReadMessage.Role = type == "user.message" ? .user : .system
        graph.add(ReadMessage(role, event["content"], of: event, at: pointer, time: time))
      case "span.model_request_start": request = event["id"]?.stringValue
      case "span.model_request_end": end(event, at: pointer, &graph)
      case "agent.message":
        graph.addPiece(reply(event["content"], of: event, at: pointer, time: time))
      case "agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use":
        var message = reply(nil, of: event, at: pointer, time: time)
        let id = event["id"]?.stringValue
        message.add(
          CallReader.call(name: event["name"]?.stringValue, input: event["input"], id: id),
          at: pointer)
        if event["evaluated_permission"] == "deny", let id { refused.insert(id) }
        // Shown here to be approved, and told in full where the sub-agent's events are.
        noteThread(of: event, at: pointer, &graph)
        graph.addPiece(message)
      case "user.tool_confirmation":
        if event["result"] == "deny", let id = event["tool_use_id"]?.stringValue {
          refused.insert(id)
        }
      case "agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result":
        graph.items.append(.result(result(event, at: pointer, time: time)))
      case "user.interrupt":
        graph.ending = ParsedEnding(
          reason: .cancelled, detail: StopDetail.error, field: pointer.appending("type"))
      case "session.status_running": graph.ending = nil
      case "session.status_idle": idle(event, at: pointer, &graph)
      case "session.status_terminated":
        graph.ending = ParsedEnding(
          reason: .toolFailure, detail: StopDetail.error, field: pointer.appending("type"))
      case "session.error": break
      case "agent.thread_context_compacted": graph.noteSummary(at: pointer)
      case "session.thread_created", "agent.thread_message_sent", "agent.thread_message_received":
        noteThread(of: event, at: pointer, &graph)
      case let type
      where silent.contains(type)
        || ["session.thread_status_", "span.outcome_evaluation_"].contains(where: type.hasPrefix):
        break
      default: if !event.saysNothing { graph.unread.append(pointer) }
      }
    }

    private func reply(
      _ content: JSONValue?, of event: JSONValue, at pointer: JSONPointer, time: Timestamp?
    ) -> ReadMessage {
      var message = ReadMessage(.assistant, content, of: event, at: pointer, time: time)
      message.responseId = request
      return message
    }

    private static let failure = "the request to the model failed"

    /// What a request to a model took, and that it failed.
    private mutating func end(
      _ event: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph
    ) {
      let id = event["model_request_start_id"]?.stringValue ?? request
      request = nil
      guard let id else { return }
      let usage = ReadUsage(event["model_usage"])
      let hasFailed = event["is_error"]?.boolValue == true
      let place = graph.items.lastIndex { item in
        if case .reply(let reply) = item { reply.responseId == id } else { false }
      }
      guard let place, case .reply(var reply) = graph.items[place] else {
        // It thought, or failed: what it took counts all the same.
        var reply = GraphReply(pointers: [pointer])
        reply.isTold = false
        if hasFailed { reply.error = Self.failure }
        reply.take(usage)
        return graph.items.append(.reply(reply))
      }
      reply.take(usage)
      if hasFailed { reply.failure = Self.failure }
      graph.items[place] = .reply(reply)
    }

    private func result(
      _ event: JSONValue, at pointer: JSONPointer, time: Timestamp?
    ) -> GraphResult {
      let id = ["tool_use_id", "mcp_tool_use_id", "custom_tool_use_id"].lazy
        .compactMap { event[$0]?.stringValue }.first
      let texts = (event["content"]?.arrayValue ?? []).map { $0["text"]?.stringValue }
      let text =
        texts.allSatisfy { $0 != nil } ? texts.compactMap { $0 }.joined(separator: "\n") : nil
      let data = text.map(JSONValue.string) ?? event["content"]
      var result = GraphResult(
        id: id, data: event["content"] == nil ? .absent : data.map { Told(text: $0) } ?? .absent,
        status: ResultReader.status(of: event.objectValue ?? [:], data: nil), pointer: pointer)
      if let id, refused.contains(id) { result.status = .refused }
      result.time = time
      return result
    }

    /// What the session waits for: a word of the person, who may say none; or for what became of calls.
    private func idle(_ event: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph) {
      let field = pointer.appending("stop_reason").appending("type")
      switch event["stop_reason"]?["type"]?.stringValue {
      case "end_turn":
        guard case .reply(let reply)? = graph.items.last, reply.isText, reply.failure == nil
        else { return }
        graph.ending = ParsedEnding(
          reason: .success, detail: StopDetail.finalAnswer, field: field)
      case "retries_exhausted":
        graph.ending = ParsedEnding(
          reason: .modelFailure, detail: StopDetail.error, field: field)
      case "budget_reached":
        graph.ending = ParsedEnding(
          reason: .budgetExhausted, detail: "budget_reached", field: field)
      case "refusal":
        graph.ending = ParsedEnding(
          reason: .blocked, detail: StopDetail.refusal, field: field)
      default: break
      }
    }
  }
}
