import AgentTrace

/// Tasks of Cline, Roo Code and Kilo Code whose models call tools by tags (`api_conversation_history.json`): a list of
/// messages in which a reply has `<read_file><path>a</path></read_file>`, and the message behind it
/// `[read_file for 'a'] Result:`. Where models call by their interface's own means, it is a list like any.
enum Cline: AgentSessions {
  static let format = ImportFormat.cline
  static let summary = FormatSummary(
    reads: "tasks of Cline, Roo Code and Kilo Code whose models call by tags",
    tells: "calls, results, errors; no usage, an end where the model completed its task")

  static func isMark(_ line: JSONValue) -> Bool { false }

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .value(let value) = document, let list = value.arrayValue, list.count > 1,
      list.prefix(30).allSatisfy({ ["user", "assistant"].contains($0["role"]?.stringValue) })
    else { return false }
    let isTask = texts(of: list[0]).first?.hasPrefix("<task>") == true
    return zip(list, list.dropFirst()).prefix(1000).contains { message, next in
      guard message["role"] == "assistant" else { return false }
      let answered = Set(texts(of: next).compactMap { ToolAnswer($0)?.tool })
      let called = texts(of: message).flatMap { TaggedReply($0, tools: answered).calls.map(\.tag) }
      return called.contains { isTask || answered.contains($0) }
    }
  }

  private static func texts(of message: JSONValue) -> [String] {
    if let text = message["content"]?.stringValue { return [text] }
    return (message["content"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    // The calls of the last reply that nothing came back of, by their tags.
    var open: [(tag: String, name: String)] = []
    for (index, (pointer, line)) in lines.values.enumerated() {
      guard let messages = MessageReader.read(line, at: pointer) else {
        if !line.saysNothing { graph.unread.append(pointer) }
        continue
      }
      graph.ending = nil
      for var message in messages {
        message.time = line["ts"]?.sessionTime
        message.unread.removeAll { $0.tokens.last == "ts" }
        if message.role == .assistant {
          let next = index + 1 < lines.values.count ? lines.values[index + 1].value : .null
          let answered = Set(texts(of: next).compactMap { ToolAnswer($0)?.tool })
          open = take(&message, tools: answered, into: &graph)
        } else if message.role == .user {
          takeAnswers(&message, of: &open)
        }
        graph.add(message)
      }
    }
    graph.noteSubAgent(behindAnyOf: ["new_task"])
  }

  /// Takes the calls out of a reply's texts.
  private static func take(
    _ message: inout ReadMessage, tools: Set<String>, into graph: inout CallGraph
  ) -> [(tag: String, name: String)] {
    var calls: [(tag: String, name: String)] = []
    let parts = message.parts
    (message.texts, message.parts) = ([], [])
    for part in parts {
      guard part["type"] == "text", let text = part["text"]?.stringValue else {
        message.parts.append(part)
        continue
      }
      let reply = TaggedReply(text, tools: tools)
      for text in reply.texts { message.add(text: .string(text)) }
      for call in reply.calls {
        message.add(
          CallReader.call(name: call.name, input: call.input, id: nil), at: message.pointer)
        calls.append((call.tag, call.name))
      }
      if !reply.isWhole { message.unread.append(message.pointer) }
      if reply.completes, message.calls.isEmpty, reply.isWhole {
        graph.ending = ParsedEnding(
          reason: .success, detail: StopDetail.finalAnswer, field: message.pointer)
      }
    }
    return calls
  }

  /// Takes what calls gave back out of a message's texts.
  private static func takeAnswers(
    _ message: inout ReadMessage, of open: inout [(tag: String, name: String)]
  ) {
    let parts = message.parts
    (message.texts, message.parts) = ([], [])
    var index = 0
    while index < parts.count {
      let part = parts[index]
      index += 1
      guard part["type"] == "text", let text = part["text"]?.stringValue else {
        message.parts.append(part)
        continue
      }
      guard let answer = ToolAnswer(text) else {
        message.add(text: .string(text))
        continue
      }
      var data = answer.data
      // What stands behind the mark is what came back, also where it says what this program says of others.
      if data.isEmpty, !answer.isRefused, index < parts.count,
        let next = parts[index]["text"]?.stringValue,
        ToolAnswer(next)?.isRefused ?? true, !next.hasPrefix("<environment_details>")
      {
        data = next
        index += 1
      }
      guard let place = open.firstIndex(where: { $0.tag.hasSameUTF8(as: answer.tool) }) else {
        // What a person answered to a question is theirs; of anything else nobody read the call.
        message.add(text: .string(data))
        if !TaggedReply.words.contains(answer.tool) { message.unread.append(message.pointer) }
        continue
      }
      var result = GraphResult(
        tool: open.remove(at: place).name, data: .there(.string(data)),
        status: answer.isRefused
          ? .refused
          : data.hasPrefix("The tool execution failed with the following error")
            ? .error : .returned, pointer: message.pointer)
      if answer.isRefused { result.extra["refusedBy"] = FateWord.source }
      message.results.append(result)
    }
  }
}

/// What such a program says came of a call.
private struct ToolAnswer {
  var tool: String
  /// What stands behind that; in older versions the next part has it.
  var data: String
  var isRefused = false

  private static let mark = Array("] Result:".utf8)
  private static let kept = [
    "Tool [", "Skipping tool due to user rejecting a previous tool.",
    "Tool was interrupted and not executed due to user rejecting a previous tool.",
  ]

  /// `nil` for a text that says nothing of a call.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    isRefused = Self.kept.contains { text.hasPrefix($0) }
    guard isRefused || bytes.first == UInt8(ascii: "["),
      let start = bytes.prefix(128).firstIndex(of: UInt8(ascii: "["))
    else { return nil }
    let name = bytes[(start + 1)...].prefix(128).prefix(while: CallsInTexts.isOfName)
    guard let behind = bytes[name.endIndex...].first, !name.isEmpty,
      behind == UInt8(ascii: " ") || behind == UInt8(ascii: "]")
    else { return nil }
    tool = String(decoding: name, as: UTF8.self)
    data = text
    if isRefused {
      guard !text.hasPrefix("Tool [") || text.contains("] was not executed") else { return nil }
      return
    }
    guard let end = bytes[name.endIndex...].prefix(64 << 10).place(of: Self.mark) else {
      return nil
    }
    data = String(decoding: CallsInTexts.trim(bytes[(end + Self.mark.count)...]), as: UTF8.self)
  }
}

/// A reply whose calls are tags, as these programs read it.
private struct TaggedReply {
  struct Call {
    /// The tag.
    var tag: String
    /// The tool: of a call of a server's tool, that one.
    var name: String
    var input: JSONValue
  }

  private(set) var calls: [Call] = []
  /// What was said around the calls, and the result of a task that it completes.
  private(set) var texts: [String] = []
  /// Whether each tag ends.
  private(set) var isWhole = true
  /// Whether it says that the task is complete.
  private(set) var completes = false

  /// The tools that say something and do nothing.
  static let words: Set<String> = [
    "ask_followup_question", "attempt_completion", "plan_mode_respond", "plan_mode_response",
  ]

  /// - Parameter tools: further ones, of which something came back.
  /// - Complexity: O(*n*) in the text's bytes.
  init(_ text: String, tools: Set<String>) {
    let bytes = Array(text.utf8)
    var said = bytes.startIndex
    var index = bytes.startIndex
    while index < bytes.endIndex, let start = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
      index = start + 1
      guard let tag = Self.tag(at: start, in: bytes[...]),
        ProgramCalls.tools.contains(tag) || Self.words.contains(tag) || tools.contains(tag)
      else { continue }
      say(bytes[said..<start])
      let (members, end) = Self.members(bytes[(start + tag.utf8.count + 2)...], of: tag)
      guard let end else {
        // It is told as it stands, and marked.
        isWhole = false
        say(bytes[start...])
        return
      }
      take(tag, members)
      (said, index) = (end, end)
    }
    say(bytes[said...])
  }

  private mutating func say(_ bytes: ArraySlice<UInt8>) {
    let text = CallsInTexts.trim(bytes)
    if !text.isEmpty { texts.append(String(decoding: text, as: UTF8.self)) }
  }

  private mutating func take(_ tag: String, _ members: JSONObject) {
    if tag == "attempt_completion", members["command"] == nil {
      if let result = members["result"]?.stringValue { texts.append(result) }
      completes = true
      return
    }
    if tag != "attempt_completion", Self.words.contains(tag) {
      texts += [members["question"], members["response"]].compactMap { $0?.stringValue }
      return
    }
    if tag == "use_mcp_tool", let name = members["tool_name"]?.stringValue, !name.isEmpty {
      let told = members["arguments"]?.stringValue ?? "{}"
      calls.append(Call(tag: tag, name: name, input: JSONText.parse(told) ?? .string(told)))
      return
    }
    calls.append(Call(tag: tag, name: tag, input: .object(members)))
  }

  /// The name of the tag that opens at a place.
  private static func tag(at start: Int, in bytes: ArraySlice<UInt8>) -> String? {
    let name = bytes[(start + 1)...].prefix(64).prefix(while: CallsInTexts.isOfName)
    guard !name.isEmpty, name.endIndex < bytes.endIndex,
      bytes[name.endIndex] == UInt8(ascii: ">")
    else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  /// The members of a call, and where it ends; `nil` where it does not.
  private static func members(
    _ bytes: ArraySlice<UInt8>, of tool: String
  ) -> (JSONObject, end: Int?) {
    let close = Array("</\(tool)>".utf8)
    var members: JSONObject = [:]
    var rest = bytes
    while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
      if rest[start...].starts(with: close) { return (members, start + close.count) }
      guard let name = tag(at: start, in: rest) else {
        rest = rest[(start + 1)...]
        continue
      }
      let value = rest[(start + name.utf8.count + 2)...]
      let end = Array("</\(name)>".utf8)
      guard var place = value.place(of: end) else { return (members, nil) }
      // A file may hold the tag that ends it: its last one counts.
      if name == "content", let last = value[place...].place(of: close) {
        while let next = value[(place + 1)..<last].place(of: end) { place = next }
      }
      members[name] = .string(
        String(decoding: CallsInTexts.trim(value[..<place]), as: UTF8.self))
      rest = value[(place + end.count)...]
    }
    return (members, nil)
  }
}

extension ArraySlice<UInt8> {
  /// Where some bytes, of which there is at least one, stand first.
  fileprivate func place(of mark: [UInt8]) -> Int? {
    var rest = self
    while let place = rest.firstIndex(of: mark[0]) {
      if rest[place...].starts(with: mark) { return place }
      rest = rest[(place + 1)...]
    }
    return nil
  }
}
