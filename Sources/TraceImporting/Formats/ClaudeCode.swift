import AgentTrace

/// Sessions of Claude Code: lines of `{"type":"user"|"assistant"|…,"uuid","sessionId","message":{…}}`, with the files of
/// sub-agents in `SESSION/subagents`, or the web's `{"loglines":[…]}`; or what it prints as `stream-json`, where the lines
/// of sub-agents name the call that began them (`parent_tool_use_id`) and the last line says how it ended.
///
/// One reply is split over lines that share `message.id`; its usage stands whole on the last of them. Lines can be
/// there twice after a session was resumed. A file of several sessions is several runs.
enum ClaudeCode: FormatAdapter {
  static let summary = FormatSummary(
    reads: "sessions of Claude Code, with sub-agents",
    tells: "calls, results, errors, refusals, usage; no end but of a printed stream")

  /// Kinds of lines that say something about the session and hold no message.
  private static let silent: Set<String> = [
    "summary", "system", "file-history-snapshot", "queue-operation", "progress", "attachment",
    "permission-mode", "mode", "custom-title", "ai-title", "last-prompt", "agent-name", "tag",
    "pr-link", "worktree-state", "agent-color", "agent-setting", "content-replacement",
    "marble-origami-commit", "speculation-accept", "task-summary", "started", "result",
    "file-history-delta", "atis-latch", "bridge-session", "cost-state", "frame-link",
    "artifact-autoreact-ledger", "artifact-comment-monitor", "rate_limit_event", "auth_status",
    "prompt_suggestion", "keep_alive",
  ]
  private static let quiet: Set<String> = [
    "thinkingMetadata", "todos", "imagePasteIds", "snapshot", "compactMetadata", "hookInfos",
    "hookErrors", "attachment", "data", "microcompactMetadata", "origin", "mcpMeta",
    "planContent", "forkedFrom", "classifierMetaLines", "tool_result_meta", "toolResultMeta",
  ]
  /// Tools that begin sub-agents.
  private static let beginners: Set<String> = ["Agent", "Task", "Workflow"]
  /// Keys that repeat what a result's block says, richer.
  private static let repeated: Set<String> = ["message", "toolUseResult", "tool_use_result"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["loglines"], with: isLine)
  }

  private static func isLine(_ value: JSONValue) -> Bool {
    guard let type = value["type"]?.stringValue else { return false }
    if type == "user" || type == "assistant" {
      guard let message = value["message"], message["content"] != nil else { return false }
      if value["uuid"] != nil || value["sessionId"] != nil || value["timestamp"] != nil {
        return true
      }
      // Older ones print streams without ids of lines; others print the like, and no whole message of the interface.
      return value["session_id"] != nil
        && (value["parent_tool_use_id"] != nil || message["type"] == "message")
    }
    return value["sessionId"] != nil && value["parentUuid"] != nil && value["isSidechain"] != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "lines of a session")
    let files = files(of: document)
    let sessions = ClaudeSessions(files.filter { $0.agent == nil }.map(\.lines))
    let sorted = files.map { sessions.sorted($0.lines) }
    return (0..<sessions.count).map { session in
      SourceRun(index: sessions.count > 1 ? session : nil) { () throws(ImportError) in
        var read = Session()
        for (lines, file) in zip(sorted, files) { read.take(lines[session], agent: file.agent) }
        return try read.finished()
      }
    }
  }

  /// The session first, then those of its sub-agents.
  private static func files(of document: SourceDocument) -> [(lines: SourceLines, agent: String?)] {
    var files: [(name: String, SourceDocument)] = [("", document)]
    if case .parts(let parts) = document { files = parts.map { ($0.name, $0.content) } }
    let isChild = { (name: String) in name.contains("subagents/") }
    let ordered = files.filter { !isChild($0.name) } + files.filter { isChild($0.name) }
    let hasMain = ordered.contains { !isChild($0.name) }
    return ordered.map { name, content in
      let below = files.count > 1 ? JSONPointer(tokens: [name]) : JSONPointer()
      return (
        SourceLines(content, keys: ["loglines"], below: below).withoutRepeats,
        hasMain && isChild(name) ? agentName(ofFile: name) : nil
      )
    }
  }

  /// `agent-…`, as its file is named.
  private static func agentName(ofFile name: String) -> String {
    var last = SourceFiles.lastComponent(of: name)
    if last.hasSuffix(".gz") { last.removeLast(3) }
    return last.hasSuffix(".jsonl") ? String(last.dropLast(6)) : last
  }

  /// What was read of a session so far.
  private struct Session {
    private var graph = CallGraph(format: .claudeCode)
    /// The messages of lines by their ids.
    private var seen: [String: JSONValue] = [:]
    /// Where the reply of a message id stands.
    private var replies: [String: Int] = [:]
    private var agentsSeen: Set<String> = []
    /// Where a sub-agent is spoken of whose lines may stand elsewhere, with one of them where the line holds that.
    private var progress: [(agent: String, pointer: JSONPointer, told: JSONValue?)] = []
    /// How many calls sub-agents made, as the results say that sum up their work.
    private var callCounts: [String: Int] = [:]
    /// The calls of which lines say which sub-agent they began.
    private var callsOfAgents: Set<String> = []
    /// What hooks and servers say of a call under way, by the call's id.
    private var spokenOf: [(call: String, pointer: JSONPointer)] = []
    /// What the first line that holds a message goes on from.
    private var beginning: (parent: String, pointer: JSONPointer)?
    /// How the session ended, by the line that says so and with nothing said behind it.
    private var ending: ParsedEnding?
    /// The calls that the last line says were kept from running.
    private var denied: Set<String> = []
    /// The calls of tools whose errors are the program's own words.
    private var framed: Set<String> = []

    mutating func take(_ lines: SourceLines, agent: String?) {
      graph.unread += lines.unread
      if let agent { agentsSeen.insert(agent) }
      // A file of nothing but a sub-agent's lines is that agent's own run.
      let isMixed = lines.values.contains { _, value in
        value["isSidechain"]?.boolValue != true && value["message"] != nil
      }
      for (pointer, value) in lines.values {
        take(value, at: pointer, agent: agent, isMixed: isMixed)
      }
    }

    private mutating func take(
      _ value: JSONValue, at pointer: JSONPointer, agent: String?, isMixed: Bool
    ) {
      guard let line = value.objectValue, let type = line["type"]?.stringValue else {
        if value.mayHoldCall { graph.unread.append(pointer) }
        return
      }
      if let uuid = line["uuid"]?.stringValue {
        let name = Self.name(of: uuid, agent)
        if let told = seen[name] {
          // Another line of the same id is a copy, or holds what nobody read.
          if told != line["message"] ?? .null, value.mayHoldCall { graph.unread.append(pointer) }
          return
        }
        seen[name] = line["message"] ?? .null
      }
      if agent == nil, beginning == nil, type == "user" || type == "assistant",
        let parent = line["parentUuid"]?.stringValue
      {
        beginning = (parent, pointer)
      }
      for key in ["sessionId", "cwd", "gitBranch", "version"] where graph.labels[key] == nil {
        graph.labels[key] = line[key]
      }
      guard type == "user" || type == "assistant" else {
        return takeOther(line, value, type: type, at: pointer)
      }
      var speaker = agent
      if speaker == nil, isMixed, line["isSidechain"]?.boolValue == true {
        speaker = line["agentId"]?.stringValue ?? "sidechain"
        agentsSeen.insert(speaker ?? "")
      } else if speaker == nil, let call = line["parent_tool_use_id"]?.stringValue, !call.isEmpty {
        speaker = call
        agentsSeen.insert(call)
      }
      if speaker == nil { ending = nil }
      guard let body = line["message"]?.objectValue?.withRole(type),
        let messages = MessageReader.read(body, at: pointer.appending("message"))
      else {
        if value.mayHoldCall { graph.unread.append(pointer) }
        return
      }
      if speaker == nil, line["isCompactSummary"]?.boolValue == true {
        graph.noteSummary(at: pointer)
      }
      for message in messages { take(message, line, at: pointer, agent: speaker) }
      noteSubAgent(of: line, at: pointer)
      graph.unread += UnknownMember.places(
        in: line, besides: ClaudeCode.repeated, quiet: ClaudeCode.quiet, at: pointer)
    }

    /// Notes the sub-agent whose work a result sums up.
    private mutating func noteSubAgent(of line: JSONObject, at pointer: JSONPointer) {
      let outcome = line["toolUseResult"] ?? line["tool_use_result"]
      let count = outcome?["totalToolUseCount"]?.intValue
      guard let child = outcome?["agentId"]?.stringValue else {
        // Whose calls these were, nobody says.
        if let count, count > 0 { graph.missing.append(.subAgent("", at: pointer)) }
        return
      }
      let calls = (line["message"]?["content"]?.arrayValue ?? []).compactMap {
        $0["tool_use_id"]?.stringValue
      }
      callsOfAgents.formUnion(calls)
      guard count != 0 else { return }
      if let count { callCounts[child] = count }
      // What it did stands in its own file, or in lines that name its call.
      if !calls.contains(where: agentsSeen.contains) { progress.append((child, pointer, nil)) }
    }

    private mutating func take(
      _ read: ReadMessage, _ line: JSONObject, at pointer: JSONPointer, agent: String?
    ) {
      var message = read
      message.pointer = pointer
      message.time = line["timestamp"]?.stringValue.flatMap(Timestamp.init) ?? message.time
      if message.role == .user,
        line["isMeta"]?.boolValue == true
          || message.text?.stringValue?.hasPrefix("[Request interrupted by user") == true
      {
        // What the program itself says in a user's place.
        message.role = .other
      }
      if message.role == .assistant, message.model == "<synthetic>" {
        // What the program itself says in a model's place.
        message.isModelCall = false
      }
      for call in message.calls where ClaudeCode.framedTools.contains(call.name) {
        if let id = call.id { framed.insert(id) }
      }
      for index in message.results.indices { refuse(&message.results[index], line) }
      let id = line["message"]?["id"]?.stringValue
      guard message.role == .assistant, let id else {
        graph.items += MessageItems.items(of: [message], agent: agent)
        return
      }
      message.responseId = id
      let key = "\(agent ?? "") \(id)"
      guard let place = replies[key], case .reply(var reply) = graph.items[place] else {
        // A result of a server's tool stands behind its reply.
        let items = MessageItems.items(of: [message], agent: agent)
        replies[key] = graph.items.count
        graph.items += items
        return
      }
      // A line may tell again what one before it told of the reply.
      message.calls.removeAll { $0.id?.isEmpty == false && reply.calls.contains($0) }
      reply.merge(message)
      graph.items[place] = .reply(reply)
      graph.items += MessageItems.items(of: [message], agent: agent).filter {
        if case .result = $0 { true } else { false }
      }
    }

    /// A line, by its id among those of a file.
    private static func name(of uuid: String, _ agent: String?) -> String {
      "\(agent ?? "") \(uuid)"
    }

    /// Whether a call was kept from running is told by the line, or in words only.
    private func refuse(_ result: inout GraphResult, _ line: JSONObject) {
      let meta = (line["tool_result_meta"]?.arrayValue ?? []).first {
        $0["id"]?.stringValue == result.id
      }
      switch (line["toolDenialKind"] ?? meta?["non_execution_kind"])?.stringValue {
      case nil where result.status == .error:
        // What a tool says that failed stands behind a word of the program there.
        let isSaid = line["toolUseResult"] == "User rejected tool use"
        let isFramed = isSaid || result.id.map(framed.contains) ?? false
        FateWord.claudeCode.tell(&result, isFramed: isFramed)
      case nil: break
      case "interrupted": (result.status, result.isEffectUnknown) = (.error, true)
      case let kind?:
        result.status = .refused
        result.extra["refusedBy"] = .string(kind)
      }
    }

    private mutating func takeOther(
      _ line: JSONObject, _ value: JSONValue, type: String, at pointer: JSONPointer
    ) {
      if type == "progress" || type == "agent_progress", let data = line["data"],
        data["message"]?["message"] != nil || data["message"] != nil && value.mayHoldCall
      {
        // A sub-agent at work: its own file says the same, where it is there.
        if let call = line["parentToolUseID"]?.stringValue { callsOfAgents.insert(call) }
        progress.append((data["agentId"]?.stringValue ?? "", pointer, data["message"]))
        return
      }
      if type == "progress", let call = line["toolUseID"]?.stringValue, let data = line["data"],
        data["toolName"] != nil || data["hookEvent"]?.stringValue?.hasSuffix("ToolUse") == true
      {
        spokenOf.append((call, pointer))
      }
      if type == "result", line["subtype"] != nil { return takeEnd(line, at: pointer) }
      if let id = (line["event"]?["content_block"]?["id"] ?? line["tool_use_id"])?.stringValue,
        type == "stream_event" || type == "tool_progress"
      {
        // A call as it comes in, or runs.
        spokenOf.append((id, pointer))
        return
      }
      if type == "stream_event" { return }
      if type == "system", line["subtype"]?.stringValue == "compact_boundary" {
        graph.noteSummary(at: pointer)
      }
      if ClaudeCode.silent.contains(type), !value.mayHoldCall {
        if type == "system", line["toolUseID"] == nil,
          value.speaksOfTools(type: line["subtype"]?.stringValue)
        {
          graph.unread.append(pointer)
        }
        return
      }
      if type == "attachment" || type == "file-history-snapshot" { return }
      if !value.saysNothing, value.mayHoldCall || !ClaudeCode.silent.contains(type) {
        graph.unread.append(pointer)
      }
    }

    /// The last line of what it prints: how it ended, and which calls were kept from running.
    private mutating func takeEnd(_ line: JSONObject, at pointer: JSONPointer) {
      for denial in line["permission_denials"]?.arrayValue ?? [] {
        guard let call = denial["tool_use_id"]?.stringValue else {
          graph.unread.append(pointer.appending("permission_denials"))
          continue
        }
        denied.insert(call)
        spokenOf.append((call, pointer))
      }
      let word = line["subtype"]?.stringValue ?? ""
      let isError = line["is_error"]?.boolValue == true
      let reason: StopReason =
        if word.hasPrefix("error_max") {
          .budgetExhausted
        } else if word == "success" {
          isError ? .modelFailure : .success
        } else {
          .toolFailure
        }
      let detail =
        reason == .success
        ? StopDetail.finalAnswer : reason == .modelFailure ? StopDetail.error : word
      ending = ParsedEnding(reason: reason, detail: detail, field: pointer.appending("subtype"))
    }

    /// How it ended: as the last line says, unless its last words are a refusal, or are none where that says success.
    private var told: ParsedEnding? {
      if let refusal = graph.endingByRefusal { return refusal }
      guard let ending, ending.reason == .success else { return ending }
      return graph.answerIndex != nil && graph.answerIndex == graph.lastReplyIndex ? ending : nil
    }

    /// Corrects the results of calls that the last line says were kept from running.
    private mutating func refuseDenied() {
      for index in graph.items.indices {
        guard case .result(var result) = graph.items[index], result.status == .error,
          let id = result.id, denied.contains(id)
        else { continue }
        result.refuse()
        graph.items[index] = .result(result)
      }
    }

    /// The items of several agents by their times; one without a time stands behind the one before it.
    private static func merged(_ items: [GraphItem]) -> [GraphItem] {
      var last = Int.min
      var agent: String?
      let timed = items.enumerated().map {
        index, item -> (time: Int, index: Int, item: GraphItem) in
        if item.agent != agent { (agent, last) = (item.agent, Int.min) }
        last = max(last, item.time?.microseconds ?? last)
        return (last, index, item)
      }
      return timed.sorted { $0.time != $1.time ? $0.time < $1.time : $0.index < $1.index }.map(
        \.item)
    }

    /// Reads the calls of sub-agents whose own lines are not there from the lines that show them at work, and notes those
    /// of whom that is not all: a result counts the calls that it sums up.
    private mutating func takeProgress() {
      let known = Set(agentsSeen.flatMap { [$0, $0.replacingPrefix("agent-")] })
      for (agent, pointer, told) in progress where !agent.isEmpty && !known.contains(agent) {
        guard let told else { continue }
        agentsSeen.insert(agent)
        let place = pointer.appending("data").appending("message")
        take(told, at: place, agent: agent, isMixed: false)
      }
      var counts: [String: Int] = [:]
      for case .reply(let reply) in graph.items {
        if let agent = reply.agent { counts[agent, default: 0] += reply.calls.count }
      }
      var noted = known
      for (agent, pointer, _) in progress
      where agent.isEmpty || callCounts[agent] == nil || counts[agent] != callCounts[agent] {
        if noted.insert(agent).inserted { graph.missing.append(.subAgent(agent, at: pointer)) }
      }
      if known.isEmpty, !agentsSeen.isEmpty { noteAgentsNotSpokenOf() }
    }

    /// Notes the calls that begin sub-agents of which no line says which agent it was.
    private mutating func noteAgentsNotSpokenOf() {
      for case .reply(let reply) in graph.items where reply.agent == nil {
        let begun = reply.calls.filter {
          ClaudeCode.beginners.contains($0.name) && !callsOfAgents.contains($0.id ?? "")
        }
        guard !begun.isEmpty, let place = reply.pointers.first else { continue }
        graph.missing.append(.subAgent("", at: place))
      }
    }

    mutating func finished() throws(ImportError) -> CallGraph {
      guard !graph.items.isEmpty || !graph.labels.isEmpty else { throw ImportError(.noMessages) }
      takeProgress()
      let calls = Set(
        graph.items.flatMap { item -> [String] in
          if case .reply(let reply) = item { reply.calls.compactMap(\.id) } else { [] }
        })
      if agentsSeen.isEmpty, progress.isEmpty {
        graph.noteSubAgent(behindAnyOf: ClaudeCode.beginners)
      }
      graph.unread += spokenOf.filter { !calls.contains($0.call) }.map(\.pointer)
      // A session that goes on from what another file holds.
      if let (parent, pointer) = beginning, seen[Self.name(of: parent, nil)] == nil {
        graph.missing.append(.line(parent, at: pointer))
      }
      graph.agentName = "claude-code"
      graph.modelName = graph.firstModel
      if !agentsSeen.isEmpty { graph.items = Self.merged(graph.items) }
      refuseDenied()
      graph.ending = told
      return graph
    }
  }
}

extension JSONObject {
  /// A message whose role is what its line says it is, where it says none itself.
  fileprivate func withRole(_ role: String) -> JSONValue {
    var message = self
    if message["role"] == nil { message["role"] = .string(role) }
    return .object(message)
  }
}

extension String {
  /// Without a beginning, where it has it.
  func replacingPrefix(_ prefix: String) -> String {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
  }
}
