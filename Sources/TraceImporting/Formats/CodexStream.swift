import AgentTrace

/// What `codex exec --json` prints: lines of `{"type":"thread.started"|"turn.completed"|…}` and of
/// `{"type":"item.started"|"item.completed","item":{"id","type",…}}`. What was asked for it does not print.
enum CodexStream: AgentSessions {
  static let format = ImportFormat.codex
  static let summary = Codex.summary

  static func isMark(_ line: JSONValue) -> Bool {
    switch line["type"]?.stringValue {
    case "thread.started": line["thread_id"] != nil
    case "item.started", "item.completed": line["item"]?["type"]?.stringValue != nil
    default: false
    }
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    var stream = Stream()
    for (pointer, line) in lines.values { stream.take(line, at: pointer, into: &graph) }
  }

  private struct Stream {
    /// Where the calls stand in the graph that have begun, by the ids of their items, which each thread counts anew.
    private var begun: [String: Int] = [:]
    /// The items that are done, by their ids.
    private var done: [String: JSONValue] = [:]

    mutating func take(_ line: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph) {
      switch line["type"]?.stringValue {
      case "thread.started":
        (begun, done) = ([:], [:])
        graph.ending = nil
        graph.labels["thread_id"] = graph.labels["thread_id"] ?? line["thread_id"]
      case "turn.started":
        graph.ending = nil
        done = [:]
      case "turn.completed": complete(line, at: pointer, &graph)
      case "turn.failed":
        graph.ending = ParsedEnding(
          reason: .modelFailure, detail: StopDetail.error, field: pointer.appending("type"))
      case "item.started", "item.updated", "item.completed":
        guard let item = line["item"], let type = item["type"]?.stringValue else {
          return graph.unread.append(pointer)
        }
        graph.ending = nil
        take(item, type, isDone: line["type"] == "item.completed", at: pointer, &graph)
      // Of a connection that is tried again it speaks as well.
      case "error":
        graph.ending = nil
        if line.mayHoldCall { graph.unread.append(pointer) }
      default: if !line.saysNothing { graph.unread.append(pointer) }
      }
    }

    private mutating func take(
      _ item: JSONValue, _ type: String, isDone: Bool, at place: JSONPointer,
      _ graph: inout CallGraph
    ) {
      switch type {
      case "agent_message":
        guard isDone, let text = item["text"] else { return }
        var message = ReadMessage(
          role: .assistant, roleName: "assistant", pointer: place, raw: item)
        message.add(text: text)
        graph.items += MessageItems.items(of: [message])
      // A list of what is to do runs nothing, whatever tool keeps it.
      case "reasoning", "todo_list", "error":
        if item.mayHoldCall { graph.unread.append(place) }
      default:
        guard let call = Self.call(of: item, type) else { return graph.unread.append(place) }
        take(call, of: item, isDone: isDone, at: place, &graph)
      }
    }

    private mutating func take(
      _ call: GraphCall, of item: JSONValue, isDone: Bool, at place: JSONPointer,
      _ graph: inout CallGraph
    ) {
      let id = call.id ?? ""
      // Of one without an id nobody knows which end is its.
      guard isDone || !id.isEmpty else { return graph.unread.append(place) }
      // Told again.
      if isDone, !id.isEmpty, done[id] == item { return }
      if let index = begun[id], case .reply(var reply) = graph.items[index] {
        // What it was given may be told only once it is done.
        reply.calls = [call]
        graph.items[index] = .reply(reply)
      } else {
        var message = ReadMessage(
          role: .assistant, roleName: "assistant", pointer: place, raw: item)
        message.isModelCall = false
        message.calls = [call]
        if !id.isEmpty { begun[id] = graph.items.count }
        graph.items += MessageItems.items(of: [message])
        if item["type"] == "collab_tool_call" { graph.missing.append(.subAgent("", at: place)) }
      }
      guard isDone else { return }
      begun[id] = nil
      if !id.isEmpty { done[id] = item }
      graph.items.append(.result(Self.result(of: item, call, at: place)))
    }

    /// The call that an item is; `nil` for an item that is not known.
    private static func call(of item: JSONValue, _ type: String) -> GraphCall? {
      let id = item["id"]?.stringValue
      switch type {
      case "command_execution":
        return GraphCall(name: type, input: input(["command"], of: item), id: id)
      case "file_change": return GraphCall(name: type, input: input(["changes"], of: item), id: id)
      case "web_search":
        return GraphCall(name: type, input: input(["query", "action"], of: item), id: id)
      case "mcp_tool_call":
        guard let tool = item["tool"]?.stringValue else { return nil }
        let server = item["server"]?.stringValue.map { "mcp__\($0)__" } ?? ""
        return CallReader.call(name: server + tool, input: item["arguments"], id: id)
      case "collab_tool_call":
        guard let tool = item["tool"]?.stringValue else { return nil }
        return GraphCall(name: tool, input: input(["prompt"], of: item), id: id)
      default: return nil
      }
    }

    private static func input(_ keys: [String], of item: JSONValue) -> Told {
      .there(.object(JSONObject(keys.compactMap { key in item[key].map { (key, $0) } })))
    }

    private static func said(_ key: String, of item: JSONValue) -> JSONValue? {
      guard let value = item[key], !value.saysNothing else { return nil }
      return value
    }

    private static func result(
      of item: JSONValue, _ call: GraphCall, at place: JSONPointer
    ) -> GraphResult {
      let (error, given) = (said("error", of: item), said("result", of: item))
      let data =
        item["aggregated_output"] ?? error?["message"] ?? error ?? given?["content"] ?? given
      var result = GraphResult(
        id: call.id, data: data.map { Told(text: $0) } ?? .absent, status: .returned,
        pointer: place)
      result.tool = call.name
      if let code = item["exit_code"], !code.saysNothing { result.extra["exit_code"] = code }
      let hasFailed = error != nil || given?["isError"] == true || given?["is_error"] == true
      switch item["status"]?.stringValue {
      case "declined": result.status = .refused
      case "failed": result.status = .error
      case "completed": result.status = hasFailed ? .error : .ok
      default: if hasFailed { result.status = .error }
      }
      // Its end was not seen: the turn was over before.
      if item["status"] == "in_progress" {
        (result.status, result.isEffectUnknown) = (.error, true)
      }
      // What a server's tool gives back stands under `result`, so that an error's message is Codex' own.
      let isFramed = item["aggregated_output"] == nil && error?["message"] != nil
      if result.status != .ok, result.status != .refused { fate.tell(&result, isFramed: isFramed) }
      return result
    }

    private static let fate = FateWord(
      kept: FateWord.codex.kept + [("MCP tool call requires approval", "")],
      brokenOff: FateWord.codex.brokenOff)

    /// The end of a turn: its usage is that of all model calls since it began, and is kept with the last reply.
    private func complete(_ line: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph) {
      let isReply = { (item: GraphItem) in if case .reply = item { true } else { false } }
      let isModelCall = { (item: GraphItem) in
        if case .reply(let reply) = item { reply.isModelCall } else { false }
      }
      guard
        let last = graph.items.lastIndex(where: isModelCall)
          ?? graph.items.lastIndex(where: isReply),
        case .reply(var reply) = graph.items[last]
      else { return }
      var usage = ReadUsage(line["usage"])
      usage.cachedTokens = line["usage"]?["cached_input_tokens"]?.intValue ?? usage.cachedTokens
      reply.take(usage)
      graph.items[last] = .reply(reply)
      guard last == graph.items.indices.last, reply.isText else { return }
      graph.ending = ParsedEnding(
        reason: .success, detail: StopDetail.finalAnswer, field: pointer.appending("type"))
    }
  }
}
