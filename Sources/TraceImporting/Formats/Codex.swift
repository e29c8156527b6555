import AgentTrace

/// Rollouts of Codex in their three generations: lines of bare items behind `{"id","timestamp","instructions"}`; lines of
/// `{"timestamp","type","payload"}`; and those with `custom_tool_call` and calls of the provider's own tools.
enum Codex: FormatAdapter {
  static let summary = FormatSummary(
    reads: "rollouts of Codex, three generations",
    tells: "calls, results, usage; ends of newer ones; no errors")

  private static let envelopes: Set<String> = [
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
    "ghost_snapshot",
  ]
  /// Items that hold no call.
  private static let quietItems: Set<String> = ["token_count", "ghost_snapshot", "other"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .lines = document else { return false }
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
    guard recognizes(document) else {
      throw ImportError(.wrongShape(expected: "lines of a rollout"), at: JSONPointer())
    }
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var rollout = Rollout()
        let lines = SourceLines(document)
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
    private var callIds: Set<String> = []

    mutating func take(_ value: JSONValue, at pointer: JSONPointer) {
      guard let line = value.objectValue else { return graph.unread.append(pointer) }
      let type = line["type"]?.stringValue ?? ""
      let time = (line["timestamp"] ?? line["created_at"])?.stringValue.flatMap(Timestamp.init)
      guard Codex.envelopes.contains(type), let payload = line["payload"] else {
        return take(item: value, type: type, at: pointer, time: time)
      }
      let place = pointer.appending("payload")
      switch type {
      case "session_meta": takeSession(payload)
      case "turn_context":
        graph.modelName = graph.modelName ?? payload["model"]?.stringValue
        for key in ["approval_policy", "sandbox_policy"] where graph.extra[key] == nil {
          graph.extra[key] = payload[key]
        }
      case "response_item":
        take(item: payload, type: payload["type"]?.stringValue ?? "", at: place, time: time)
      case "event_msg": takeEvent(payload, at: place)
      case "compacted":
        var message = ReadMessage(role: .other, roleName: "compacted", pointer: place, raw: payload)
        if let text = payload["message"] { message.add(text: text) }
        messages.append(message)
      default: if payload.mayHoldCall { graph.unread.append(place) }
      }
    }

    private mutating func takeSession(_ payload: JSONValue) {
      let meta = payload["meta"] ?? payload
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
      if Codex.quietItems.contains(type) { return takeUsage(item) }
      var item = item
      if type == "function_call" || type == "custom_tool_call", item["name"]?.stringValue == nil,
        var object = item.objectValue
      {
        // A call whose name stands nowhere that is known is named as what it is.
        object["name"] = .string(type)
        item = .object(object)
        graph.unread.append(pointer)
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
        messages.append(message)
      }
    }

    private mutating func takeEvent(_ payload: JSONValue, at pointer: JSONPointer) {
      switch payload["type"]?.stringValue {
      case "token_count": takeUsage(payload)
      case "task_complete", "turn_complete":
        ending = (.success, StopDetail.finalAnswer, pointer.appending("type"))
      case "turn_aborted":
        ending = (
          .cancelled, payload["reason"]?.stringValue ?? StopDetail.human, pointer.appending("type")
        )
      case "user_message", "task_started", "turn_started": ending = nil
      // What was run stands in the items as well; of what does not, nobody read the call.
      case "exec_command_begin", "exec_command_end", "mcp_tool_call_begin", "mcp_tool_call_end",
        "patch_apply_begin", "patch_apply_end", "web_search_begin", "web_search_end",
        "view_image_tool_call", "dynamic_tool_call_request", "dynamic_tool_call_response":
        if let id = payload["call_id"]?.stringValue, callIds.contains(id) { return }
        graph.unread.append(pointer)
      default: break
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
      graph.items = MessageItems.items(of: messages)
      graph.agentName = "codex"
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
