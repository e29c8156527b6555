import AgentTrace

/// Rollouts of Codex in their three generations: lines of bare items behind `{"id","timestamp","instructions"}`; lines of
/// `{"timestamp","type","payload"}`; and those with `custom_tool_call` and calls of the provider's own tools.
enum Codex: FormatAdapter {
  static let summary = FormatSummary(
    reads: "rollouts of Codex, three generations, and what it prints as --json",
    tells: "calls, results, usage; ends of newer ones; errors as it prints them only")

  private static let envelopes: Set<String> = [
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
    "ghost_snapshot", "inter_agent_communication", "inter_agent_communication_metadata",
    "security_risk_score", "token_usage_record",
  ]
  /// Items that hold no call.
  private static let quietItems: Set<String> = ["token_count", "ghost_snapshot", "other"]

  /// What an event calls an error that is a limit.
  private static let limits: Set<String> = [
    "context_window_exceeded", "usage_limit_exceeded", "session_budget_exceeded",
  ]

  /// Items of events that are no calls.
  private static let quietEvents: Set<String> = [
    "agentmessage", "contextcompaction", "plan", "reasoning", "usermessage",
  ]

  /// Whether code calls a tool by its name: `tools.look_up(`, and no file that is called so, or `codex.tool('look_up', …)`.
  fileprivate static func callsTools(_ code: String) -> Bool {
    if code.contains("codex.tool(") { return true }
    return code.split(separator: "tools.", omittingEmptySubsequences: false).dropFirst().contains {
      rest in
      let name = rest.utf8.prefix { ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || $0 == 0x5f }
      return !name.isEmpty && name.endIndex < rest.endIndex && rest.utf8[name.endIndex] == 0x28
    }
  }

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .lines = document else { return false }
    if CodexStream.recognizes(document) { return true }
    return SourceLines.begin(document) { value in
      if let type = value["type"]?.stringValue, envelopes.contains(type),
        value["payload"]?.objectValue != nil
      {
        return true
      }
      if value["record_type"]?.stringValue == "state" { return true }
      return value["instructions"] != nil && value["timestamp"] != nil && value["id"] != nil
        && value["messages"] == nil
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "lines of a rollout")
    if CodexStream.recognizes(document) { return try CodexStream.runs(in: document) }
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var rollout = Rollout()
        let lines = SourceLines(document).withoutRepeats
        rollout.graph.unread = lines.unread
        for (pointer, value) in lines.values { rollout.take(value, at: pointer) }
        return rollout.finished()
      }
    ]
  }

  private struct Rollout {
    var graph = CallGraph(format: .codex)
    private var messages: [ReadMessage] = []
    private var input = 0
    private var output = 0
    private var cached = 0
    private var reasoning = 0
    private var ending: (StopReason, String, JSONPointer)?
    /// Where the turn says that it failed, with nothing said behind it.
    private var failure: (StopReason, JSONPointer)?
    /// The calls of which an event says that they were kept from running.
    private var declined: Set<String> = []
    private var callIds: Set<String> = []
    /// The calls of tools whose output stands behind Codex' own words.
    private var framed: Set<String> = []
    /// The sessions whose heads stand there, and those from which they were forked.
    private var sessions: Set<String> = []
    private var origins: [(session: String, pointer: JSONPointer)] = []

    mutating func take(_ value: JSONValue, at pointer: JSONPointer) {
      guard let line = value.objectValue else { return graph.unread.append(pointer) }
      let type = line["type"]?.stringValue ?? ""
      let time = (line["timestamp"] ?? line["created_at"])?.stringValue.flatMap(Timestamp.init)
      guard Codex.envelopes.contains(type), let payload = line["payload"] else {
        return take(item: value, type: type, at: pointer, time: time)
      }
      let place = pointer.appending("payload")
      switch type {
      case "session_meta": takeSession(payload, at: place)
      case "turn_context":
        graph.modelName = graph.modelName ?? payload["model"]?.stringValue
        for key in ["approval_policy", "sandbox_policy"] where graph.extra[key] == nil {
          graph.extra[key] = payload[key]
        }
      case "response_item":
        take(item: payload, type: payload["type"]?.stringValue ?? "", at: place, time: time)
      case "event_msg": takeEvent(payload, at: place)
      // What another agent says; what it did stands in its own session.
      case "inter_agent_communication": graph.missing.append(.subAgent("", at: place))
      case "compacted":
        var message = ReadMessage(role: .other, roleName: "compacted", pointer: place, raw: payload)
        message.sumsUp = true
        if let text = payload["message"] { message.add(text: text) }
        messages.append(message)
      case let other:
        if payload.mayHoldCall || payload.speaksOfTools(type: other) { graph.unread.append(place) }
      }
    }

    /// A session that was forked from another one begins with a copy of it, whose own head stands behind its own.
    private mutating func takeSession(_ payload: JSONValue, at pointer: JSONPointer) {
      let meta = payload["meta"] ?? payload
      if let id = meta["id"]?.stringValue { sessions.insert(id) }
      if let origin = meta["forked_from_id"]?.stringValue, !origin.isEmpty {
        origins.append((origin, pointer.appending("forked_from_id")))
      }
      for key in ["id", "cwd", "cli_version", "originator", "model_provider", "source"] {
        if let value = meta[key], value.arrayValue == nil, value.objectValue == nil {
          graph.labels[key] = value
        }
      }
      graph.extra["git"] = meta["git"]
    }

    private mutating func take(
      item: JSONValue, type: String, at pointer: JSONPointer, time: Timestamp?
    ) {
      if Codex.quietItems.contains(type) {
        if item.mayHoldCall || item.speaksOfTools(type: nil) { graph.unread.append(pointer) }
        return takeUsage(item)
      }
      var item = item
      if type == "function_call" || type == "custom_tool_call", item["name"]?.stringValue == nil,
        var object = item.objectValue
      {
        // A call whose name stands nowhere that is known is named as what it is.
        object["name"] = .string(type)
        item = .object(object)
        graph.unread.append(pointer)
      }
      if type == "function_call" || type == "custom_tool_call" {
        noteInnerCalls(of: item, at: pointer)
      }
      if let name = item["name"]?.stringValue, let space = item["namespace"]?.stringValue,
        !space.isEmpty,
        var object = item.objectValue
      {
        // Servers' tools are called by both, as they are offered.
        object["name"] = .string(space + (space.hasSuffix("__") ? "" : "__") + name)
        item = .object(object)
      }
      guard let read = MessageReader.read(item, at: pointer) else {
        // The first line of the first generation, and lines of its state, hold no item.
        let isHead =
          item["instructions"] != nil && item["id"] != nil || item["record_type"] != nil
        if isHead {
          graph.labels["id"] = graph.labels["id"] ?? item["id"]
        } else if !item.saysNothing {
          graph.unread.append(pointer)
        }
        return
      }
      for var message in read {
        message.time = message.time ?? time
        if message.role == .assistant { message.isPiece = true }
        callIds.formUnion(message.calls.compactMap(\.id))
        if message.role == .assistant { failure = nil }
        for call in message.calls where Codex.framedTools.contains(call.name) {
          if let id = call.id { framed.insert(id) }
        }
        for index in message.results.indices {
          let isFramed = message.results[index].id.map(framed.contains) ?? false
          FateWord.codex.tell(&message.results[index], isFramed: isFramed)
        }
        messages.append(message)
      }
    }

    /// What a call makes happen that no line of this session tells: the calls of code that a model wrote to call tools, and
    /// those of an agent that it started.
    private mutating func noteInnerCalls(of item: JSONValue, at pointer: JSONPointer) {
      let name = item["name"]?.stringValue ?? ""
      if name.hasPrefix("spawn_agent") { graph.missing.append(.subAgent("", at: pointer)) }
      guard ["exec", "js_repl"].contains(where: { name == $0 || name.hasSuffix(".\($0)") }) else {
        return
      }
      let code = (item["input"] ?? item["arguments"])?.stringValue ?? ""
      if Codex.callsTools(code) { graph.unread.append(pointer) }
    }

    private mutating func takeEvent(_ payload: JSONValue, at pointer: JSONPointer) {
      switch payload["type"]?.stringValue {
      case "token_count": takeUsage(payload)
      case "task_complete", "turn_complete":
        // A turn that failed completes as well; what it said before is no answer.
        if let (reason, place) = failure {
          ending = (reason, StopDetail.error, place)
        } else {
          let isSilent = payload["last_agent_message"]?.isNull == true
          ending = isSilent ? nil : (.success, StopDetail.finalAnswer, pointer.appending("type"))
        }
      case "turn_aborted":
        let word = payload["reason"]?.stringValue ?? StopDetail.human
        let reason: StopReason = word == "budget_limited" ? .budgetExhausted : .cancelled
        ending = (reason, word, pointer.appending("type"))
      // What a turn that was taken back ended with is no end of the session.
      case "user_message", "task_started", "turn_started", "thread_rolled_back":
        (ending, failure) = (nil, nil)
      // Another agent looks at what was done.
      case "entered_review_mode": graph.missing.append(.subAgent("review", at: pointer))
      case "sub_agent_activity":
        graph.missing.append(.subAgent(payload["agent_thread_id"]?.stringValue ?? "", at: pointer))
      case "error":
        let info = payload["codex_error_info"]
        let word = info?.stringValue ?? info?.objectValue?.first?.key ?? ""
        failure = (
          Codex.limits.contains(word) ? .budgetExhausted : .modelFailure, pointer.appending("type")
        )
      // What was run stands in the items as well; of what does not, nobody read the call.
      case "exec_command_begin", "exec_command_end", "mcp_tool_call_begin", "mcp_tool_call_end",
        "patch_apply_begin", "patch_apply_end", "web_search_begin", "web_search_end",
        "view_image_tool_call", "dynamic_tool_call_request", "dynamic_tool_call_response":
        if let id = payload["call_id"]?.stringValue, callIds.contains(id) {
          if payload["status"]?.stringValue == "declined" { declined.insert(id) }
          return
        }
        graph.unread.append(pointer)
      case "item_started", "item_completed", "item_updated":
        let item = payload["item"]
        let type = JSONValue.plainKey(item?["type"]?.stringValue ?? "")
        if Codex.quietEvents.contains(type) { return }
        if let id = item?["id"]?.stringValue, callIds.contains(id) { return }
        graph.unread.append(pointer)
      default:
        // Whatever it is, it speaks of a call.
        if let id = payload["call_id"]?.stringValue {
          if !callIds.contains(id) { graph.unread.append(pointer) }
        } else if payload.speaksOfTools(type: payload["type"]?.stringValue) {
          graph.unread.append(pointer)
        }
      }
    }

    /// Totals grow: what a reply took is what they grew by.
    private mutating func takeUsage(_ payload: JSONValue) {
      let total = payload["info"]?["total_token_usage"]
      let usage = ReadUsage(total ?? payload)
      guard !usage.isEmpty, let last = messages.lastIndex(where: { $0.role == .assistant }) else {
        return
      }
      var taken = messages[last].usage
      func grow(_ known: inout Int, _ now: Int?, _ field: WritableKeyPath<ReadUsage, Int?>) {
        guard let now, now > known || total == nil else { return }
        let growth = total == nil ? now : now - known
        taken[keyPath: field] = (taken[keyPath: field] ?? 0) + growth
        known = total == nil ? known : now
      }
      grow(&input, usage.inputTokens, \.inputTokens)
      grow(&output, usage.outputTokens, \.outputTokens)
      grow(&cached, usage.cachedTokens, \.cachedTokens)
      grow(&reasoning, usage.reasoningTokens, \.reasoningTokens)
      messages[last].usage = taken
    }

    mutating func finished() -> CallGraph {
      for message in messages.indices {
        for index in messages[message].results.indices
        where messages[message].results[index].id.map(declined.contains) ?? false {
          messages[message].results[index].refuse()
        }
      }
      graph.items = MessageItems.items(of: messages)
      graph.agentName = "codex"
      graph.missing += origins.filter { !sessions.contains($0.session) }.map {
        .session($0.session, at: $0.pointer)
      }
      if let part = messages.summaryOfMissing { graph.missing.append(part) }
      guard let (reason, detail, field) = ending else { return graph }
      if reason != .success {
        graph.ending = ParsedEnding(reason: reason, detail: detail, field: field)
      } else if graph.answerIndex != nil, graph.answerIndex == graph.lastReplyIndex {
        graph.ending = ParsedEnding(reason: reason, detail: detail, field: field)
      }
      return graph
    }
  }
}
