import AgentTrace

/// What Cursor's CLI prints as `stream-json`: lines of `{"type":"system"|"user"|"assistant"|"thinking"|"tool_call"|"result",
/// …,"session_id"}`. A call is told as it begins and as it ends, under a key that names its tool:
/// `{"type":"tool_call","subtype":"completed","call_id","tool_call":{"readToolCall":{"args","result":{"success":…}}}}`.
///
/// Shape: https://cursor.com/docs/cli/reference/output-format
enum CursorStream: AgentSessions {
  static let format = ImportFormat.cursor
  static let summary = FormatSummary(
    reads: "what Cursor's CLI prints as stream-json",
    tells: "calls, results, errors, refusals, how it ended; no usage")

  static func isMark(_ line: JSONValue) -> Bool {
    guard line["session_id"]?.stringValue != nil else { return false }
    switch line["type"]?.stringValue {
    case "tool_call": return line["tool_call"]?.objectValue != nil && line["subtype"] != nil
    // Claude Code's first line lists its tools.
    case "system":
      return line["subtype"] == "init" && line["apiKeySource"] != nil && line["tools"] == nil
    default: return false
    }
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    var stream = Stream()
    for (pointer, line) in lines.values { stream.take(line, at: pointer, into: &graph) }
    stream.endReply(in: &graph)
  }

  private struct Stream {
    /// The calls that have begun and where they stand in the graph, by their ids.
    private var begun: [String: (call: GraphCall, item: Int)] = [:]
    /// What the model is saying, in pieces.
    private var reply: ReadMessage?
    private var said = ""

    mutating func take(_ line: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph) {
      let type = line["type"]?.stringValue ?? ""
      if type == "assistant" { return takeReply(line, at: pointer, into: &graph) }
      if type == "thinking" {
        if line.mayHoldCall { graph.unread.append(pointer) }
        return
      }
      endReply(in: &graph)
      switch type {
      case "system":
        graph.modelName = graph.modelName ?? line["model"]?.stringValue
        for key in ["session_id", "cwd", "permissionMode"] where graph.labels[key] == nil {
          graph.labels[key] = line[key]
        }
        if line.mayHoldCall { graph.unread.append(pointer) }
      case "user":
        graph.ending = nil
        guard let inner = line["message"],
          let messages = MessageReader.read(inner, at: pointer.appending("message"))
        else { return graph.unread.append(pointer) }
        for message in messages { graph.add(message) }
      case "tool_call": takeCall(line, at: pointer, into: &graph)
      case "result": end(line, at: pointer, &graph)
      default: if !line.saysNothing { graph.unread.append(pointer) }
      }
    }

    /// A text comes in pieces, behind which all of it may stand once more.
    private mutating func takeReply(
      _ line: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph
    ) {
      graph.ending = nil
      guard let inner = line["message"],
        let messages = MessageReader.read(inner, at: pointer.appending("message"))
      else { return graph.unread.append(pointer) }
      for var message in messages {
        message.pointer = pointer
        message.time = line["timestamp_ms"]?.sessionTime
        guard message.calls.isEmpty, message.results.isEmpty, message.unread.isEmpty,
          let text = message.text?.stringValue
        else {
          endReply(in: &graph)
          graph.add(message)
          continue
        }
        if reply == nil {
          message.texts = []
          message.parts = []
          (reply, said) = (message, text)
        } else if !text.hasSameUTF8(as: said) {
          said += text
        }
      }
    }

    /// Adds what the model said to what happened.
    mutating func endReply(in graph: inout CallGraph) {
      guard var message = reply else { return }
      message.add(text: .string(said))
      graph.add(message)
      (reply, said) = (nil, "")
    }

    private mutating func takeCall(
      _ line: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph
    ) {
      graph.ending = nil
      let place = pointer.appending("tool_call")
      let object = line["tool_call"]?.objectValue ?? [:]
      let told = object.filter { $0.key.hasSuffix("ToolCall") || $0.key == "function" }
      graph.unread += UnknownMember.places(
        in: object, besides: told.map(\.key), quiet: [], at: place)
      guard told.count == 1, let (key, value) = told.first.map({ ($0.key, $0.value) }) else {
        return graph.unread.append(place)
      }
      let id = line["call_id"]?.stringValue
      let call = Self.call(key, value, id: id)
      if let id, let known = begun[id], known.call.name.hasSameUTF8(as: call.name),
        case .reply(var reply) = graph.items[known.item]
      {
        // What it was given may be told only once it is done.
        reply.calls = [call]
        graph.items[known.item] = .reply(reply)
      } else {
        if let id { begun[id] = (call, graph.items.count) }
        var message = ReadMessage(
          role: .assistant, roleName: "assistant", pointer: pointer, raw: line)
        message.isModelCall = false
        message.time = line["timestamp_ms"]?.sessionTime
        message.add(call, at: place)
        graph.add(message)
      }
      switch line["subtype"]?.stringValue {
      case "started": break
      case "completed":
        graph.items.append(.result(Self.result(value["result"], of: call, at: pointer)))
      default: graph.unread.append(pointer)
      }
    }

    private static func call(_ key: String, _ value: JSONValue, id: String?) -> GraphCall {
      if key == "function" {
        return CallReader.call(
          name: value["name"]?.stringValue, input: value["arguments"] ?? value["args"], id: id)
      }
      let args = value["args"]
      let name = String(key.dropLast("ToolCall".count))
      // A server's tool is named among what it is given.
      if name == "mcp", let tool = (args?["toolName"] ?? args?["name"])?.stringValue {
        return CallReader.call(name: tool, input: args?["args"], id: id)
      }
      return CallReader.call(name: name, input: args, id: id)
    }

    /// What came of a call is told by the only key of its result.
    private static func result(
      _ told: JSONValue?, of call: GraphCall, at pointer: JSONPointer
    ) -> GraphResult {
      var result = GraphResult(
        id: call.id, tool: call.name, data: told.map { Told(text: $0) } ?? .absent,
        status: .returned, pointer: pointer)
      guard let object = told?.objectValue else { return result }
      let words = object.filter { !$0.value.saysNothing || $0.value.objectValue != nil }.map(\.key)
        .filter { $0 != "isBackground" }
      guard words.count == 1, let word = words.first, let data = object[word] else {
        result.unread = [pointer]
        return result
      }
      result.data = Told(text: data)
      switch word {
      case "success": result.status = data["isError"] == true ? .error : .ok
      case "rejected", "permissionDenied": result.status = .refused
      case "error", "failure", "fileNotFound", "spawnError": result.status = .error
      case "timeout", "aborted": (result.status, result.isEffectUnknown) = (.error, true)
      default: result.unread = [pointer]
      }
      return result
    }

    private func end(_ line: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph) {
      if line.mayHoldCall { graph.unread.append(pointer) }
      let word = line["subtype"]?.stringValue ?? ""
      guard word == "success", line["is_error"]?.boolValue != true else {
        graph.ending = ParsedEnding(
          reason: .modelFailure, detail: StopDetail.error, field: pointer.appending("subtype"))
        return
      }
      guard let last = graph.items.last, case .reply(let reply) = last, reply.isText,
        reply.saysSomething
      else { return }
      graph.ending = ParsedEnding(
        reason: .success, detail: StopDetail.finalAnswer, field: pointer.appending("subtype"))
    }
  }
}
