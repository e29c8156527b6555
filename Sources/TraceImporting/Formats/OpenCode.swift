import AgentTrace

/// Sessions of opencode, as `opencode export` writes them: `{"info","messages":[{"info":{"role",…},"parts":[…]}]}`, or the
/// messages alone; or the parts a line each, as `opencode run --format json` prints them; or as it keeps them, each message
/// and each part a file, or a row of its database.
enum OpenCode: AgentSessions {
  static let format = ImportFormat.openCode
  static let summary = FormatSummary(
    reads: "sessions of opencode, exported or as it keeps them, and what it prints as json",
    tells: "calls, results, errors, usage; ends that broke")
  static let listKeys = ["messages"]

  /// Parts by which nothing is called.
  private static let silent: Set<String> = [
    "agent", "file", "patch", "reasoning", "retry", "snapshot", "step-finish",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    sessions(in: document) != nil || SourceLines.begin(document, keys: listKeys, with: isMark)
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a session of \(format.rawValue)")
    guard let sessions = sessions(in: document) else {
      return [run(of: document, below: JSONPointer(), index: nil)]
    }
    return sessions.enumerated().map { index, session in
      run(
        of: .value(session),
        below: JSONPointer(tokens: [OpenCodeDatabase.key, String(index)]), index: index)
    }
  }

  /// The sessions of a database.
  private static func sessions(in document: SourceDocument) -> [JSONValue]? {
    guard case .value(let value) = document else { return nil }
    return value[OpenCodeDatabase.key]?.arrayValue
  }

  static func isMark(_ line: JSONValue) -> Bool {
    isMessage(line) || isPrinted(line) || StoredSession.isMessage(line)
  }

  private static func isMessage(_ line: JSONValue) -> Bool {
    ["user", "assistant"].contains(line["info"]?["role"]?.stringValue)
      && line["parts"]?.arrayValue != nil
  }

  /// Whether it is a line of what `opencode run --format json` prints: a part of a reply, as soon as it is done.
  private static func isPrinted(_ line: JSONValue) -> Bool {
    line["sessionID"]?.stringValue != nil && line["part"]?["type"]?.stringValue != nil
      && line["part"]?["messageID"] != nil
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    var step: ReadMessage?
    let stored = StoredSession(lines)
    for message in stored.messages {
      take(message.parts, of: message.line, at: message.place, into: &graph)
    }
    graph.unread += stored.unread
    for (pointer, line) in stored.others {
      if isPrinted(line), let part = line["part"] {
        take(printed: part, of: line, at: pointer, into: &step, &graph)
        continue
      }
      if line["sessionID"] != nil, line["type"] == "error", let error = line["error"] {
        graph.ending = ending(error, field: pointer.appending("error"))
        continue
      }
      guard isMessage(line), let parts = line["parts"]?.arrayValue else {
        if !line.saysNothing { graph.unread.append(pointer) }
        continue
      }
      let placed = parts.enumerated().map { index, part in
        (pointer.appending("parts").appending(String(index)), part)
      }
      take(placed, of: line, at: pointer, into: &graph)
    }
    if let step { graph.add(step) }
    graph.noteSubAgent(behindAnyOf: ["task"])
  }

  /// Takes in a message with its parts, each with its place.
  private static func take(
    _ parts: [(JSONPointer, JSONValue)], of line: JSONValue, at pointer: JSONPointer,
    into graph: inout CallGraph
  ) {
    let info = line["info"] ?? .null
    let role: ReadMessage.Role = info["role"] == "user" ? .user : .assistant
    graph.ending = nil
    var message = ReadMessage(
      role, nil, of: line, at: pointer, time: info["time"]?["created"]?.sessionTime)
    message.model = info["modelID"]?.stringValue
    var replies: [ReadMessage] = []
    for (place, part) in parts {
      // Each step asks the model once.
      if part["type"] == "step-start", !message.isEmpty {
        replies.append(message)
        message = ReadMessage(role, nil, of: line, at: pointer)
        message.model = info["modelID"]?.stringValue
      }
      take(part, at: place, into: &message, &graph)
    }
    message.finish = info["finish"]?.stringValue
    message.usage = ReadUsage(info["tokens"])
    message.usage.cachedTokens = info["tokens"]?["cache"]?["read"]?.intValue
    message.usage.cost = info["cost"]?.doubleValue
    if let error = info["error"], !error.saysNothing {
      message.isUnfinished = true
      graph.ending = ending(error, field: pointer.appending("info").appending("error"))
    }
    for reply in replies + [message] { graph.add(reply) }
  }

  /// Takes in a part that was printed by itself; a reply is what stands between the beginning of a step and its end.
  private static func take(
    printed part: JSONValue, of line: JSONValue, at pointer: JSONPointer,
    into step: inout ReadMessage?, _ graph: inout CallGraph
  ) {
    let type = part["type"]?.stringValue
    if type == "step-start" {
      if let step { graph.add(step) }
      step = nil
    }
    graph.ending = nil
    var message =
      step
      ?? ReadMessage(.assistant, nil, of: line, at: pointer, time: line["timestamp"]?.sessionTime)
    if type == "tool", let id = part["callID"]?.stringValue {
      // What was told of the call before it was done.
      message.calls.removeAll { $0.id == id }
      message.results.removeAll { $0.id == id }
    }
    take(part, at: pointer.appending("part"), into: &message, &graph)
    guard type == "step-finish" else {
      step = message
      return
    }
    message.finish = part["reason"]?.stringValue
    message.usage = ReadUsage(part["tokens"])
    message.usage.cachedTokens = part["tokens"]?["cache"]?["read"]?.intValue
    message.usage.cost = part["cost"]?.doubleValue
    graph.add(message)
    step = nil
  }

  private static func take(
    _ part: JSONValue, at place: JSONPointer, into message: inout ReadMessage,
    _ graph: inout CallGraph
  ) {
    switch part["type"]?.stringValue ?? "" {
    case "text": if let text = part["text"], !text.saysNothing { message.add(text: text) }
    case "tool":
      let state = part["state"] ?? .null
      let id = part["callID"]?.stringValue
      message.add(
        CallReader.call(name: part["tool"]?.stringValue, input: state["input"], id: id), at: place)
      let word = state["status"]?.stringValue ?? ""
      guard word != "pending", word != "running" else { return }
      let data = state["output"] ?? state["error"]
      var result = GraphResult(
        id: id, data: data.map { Told(text: $0) } ?? .absent,
        status: word == "completed" ? .ok : word == "error" ? .error : .returned, pointer: place)
      if result.status == .returned { result.unread.append(place) }
      // The sentences stand where an error does; of a server's tool that may be its own text.
      if result.status != .ok {
        fate.tell(&result, isFramed: ownTools.contains(part["tool"]?.stringValue ?? ""))
      }
      message.results.append(result)
    case "compaction": graph.noteSummary(at: place)
    case "step-start": break
    case let type where silent.contains(type) && !part.mayHoldCall: message.parts.append(part)
    default: message.unread.append(place)
    }
  }

  /// The tools of its own whose errors are its words.
  private static let ownTools: Set<String> = [
    "bash", "codesearch", "edit", "glob", "grep", "list", "ls", "lsp", "multiedit", "patch",
    "question",
    "read", "skill", "task", "todoread", "todowrite", "webfetch", "websearch", "write",
  ]

  private static let fate = FateWord(
    kept: [
      ("The user rejected permission to use this specific tool call", ""),
      ("The user has specified a rule which prevents you from using this specific tool call", ""),
    ], brokenOff: [("Tool execution aborted", "")])

  /// How a reply ended that was broken off.
  private static func ending(_ error: JSONValue, field: JSONPointer) -> ParsedEnding {
    let word = error["name"]?.stringValue ?? "error"
    let reason: StopReason =
      switch word {
      case "MessageAbortedError": .cancelled
      case "MessageOutputLengthError", "ContextOverflowError": .budgetExhausted
      default: .modelFailure
      }
    return ParsedEnding(reason: reason, detail: word.prefix(utf8Bytes: 200), field: field)
  }
}

/// A session as opencode keeps it: `message/SESSION/MESSAGE.json`, `part/MESSAGE/PART.json`, `session/PROJECT/SESSION.json`.
struct StoredSession {
  /// A message with its parts.
  struct Message {
    var place: JSONPointer
    /// As `opencode export` writes it.
    var line: JSONValue
    var parts: [(JSONPointer, JSONValue)]
  }

  /// In the order of their ids, which is that of their times.
  private(set) var messages: [Message] = []
  /// What is none of it.
  private(set) var others: [(pointer: JSONPointer, value: JSONValue)] = []
  /// Parts without their message, and replies without their parts.
  private(set) var unread: [JSONPointer] = []

  /// Whether a value is a message without its parts.
  static func isMessage(_ value: JSONValue) -> Bool {
    ["user", "assistant"].contains(value["role"]?.stringValue)
      && value["id"]?.stringValue != nil && value["sessionID"]?.stringValue != nil
      && value["time"]?["created"] != nil && value["content"] == nil && value["parts"] == nil
  }

  private static func isPart(_ value: JSONValue) -> Bool {
    value["messageID"]?.stringValue != nil && value["sessionID"]?.stringValue != nil
      && value["type"]?.stringValue != nil
  }

  /// Sorts what stands in the files of a session.
  init(_ lines: SourceLines) {
    var infos: [(place: JSONPointer, info: JSONValue)] = []
    var parts: [String: [(JSONPointer, JSONValue)]] = [:]
    for (pointer, value) in lines.values {
      if Self.isMessage(value) {
        infos.append((pointer, value))
      } else if Self.isPart(value), let message = value["messageID"]?.stringValue {
        parts[message, default: []].append((pointer, value))
      } else if !Self.isBeside(value, at: pointer) {
        others.append((pointer, value))
      }
    }
    infos.sort { Self.isBefore($0.info, $1.info) }
    for (place, info) in infos {
      let own = (parts.removeValue(forKey: info["id"]?.stringValue ?? "") ?? []).sorted {
        Self.isBefore($0.1, $1.1)
      }
      if own.isEmpty, info["role"] == "assistant" { unread.append(place) }
      messages.append(
        Message(
          place: place, line: ["info": info, "parts": .array(own.map(\.1))], parts: own))
    }
    let lost = parts.sorted { $0.key.precedesByUTF8($1.key) }.flatMap(\.value)
    unread += lost.map(\.0)
  }

  private static func isBefore(_ left: JSONValue, _ right: JSONValue) -> Bool {
    (left["id"]?.stringValue ?? "").precedesByUTF8(right["id"]?.stringValue ?? "")
  }

  /// Whether a value is what is kept of a session beside what was said: what it is called, what is to do, what it changed.
  private static func isBeside(_ value: JSONValue, at pointer: JSONPointer) -> Bool {
    let folders = pointer.tokens.first?.split(separator: "/").dropLast() ?? []
    if folders.last.map(SourceGroup.besideFolders.contains) == true { return true }
    return value["id"]?.stringValue?.hasPrefix("ses_") == true && value["projectID"] != nil
      && value["messages"] == nil
  }
}
