import AgentTrace

/// Logs of Inspect: `.eval` archives and `.json`, a run for each sample of each epoch.
enum Inspect: FormatAdapter {
  static let summary = FormatSummary(
    reads: "Inspect's logs, .eval and .json, a run for each sample",
    tells: "calls, results, errors, usage; how samples ended")

  private static let quiet: Set<String> = [
    "scores", "score", "metadata", "store", "model_usage", "role_usage", "attachments", "limit",
    "error", "error_retries",
    "invalidation", "target", "choices", "sandbox", "setup", "files", "timelines", "events_data",
  ]

  /// The words of its events (`inspect_ai.event`).
  private static let knownEvents: Set<String> = [
    "anchor", "approval", "branch", "checkpoint", "compaction", "error", "info", "input",
    "interrupt", "logger", "model", "sample_init", "sample_limit", "sandbox", "score",
    "score_edit", "span_begin", "span_end", "state", "step", "store", "subtask", "tool",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value): isLog(value)
    case .lines: false
    case .parts(let parts):
      parts.contains { $0.name == "header.json" || $0.name == "_journal/start.json" }
    }
  }

  private static func isLog(_ value: JSONValue) -> Bool {
    value["eval"]?["task"] != nil && value["version"] != nil && value["samples"]?.arrayValue != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a log with `eval` and `samples`")
    var head: JSONValue = [:]
    var samples: [(JSONPointer, JSONValue)] = []
    switch document {
    case .value(let value):
      head = value
      for (index, sample) in (value["samples"]?.arrayValue ?? []).enumerated() {
        samples.append((JSONPointer(tokens: ["samples", String(index)]), sample))
      }
    case .parts(let parts):
      head =
        parts.first { $0.name == "header.json" }?.value
        ?? parts.first { $0.name == "_journal/start.json" }?.value ?? [:]
      for part in parts where part.name.hasPrefix("samples/") {
        if let sample = part.value { samples.append((part.pointer, sample)) }
      }
    case .lines: break
    }
    return samples.enumerated().map { index, entry in
      SourceRun(index: index) { () throws(ImportError) in
        if let run = try CarriedRun.find(in: entry.1, at: ["metadata"]) { return run }
        return try run(entry.1, at: entry.0, head)
      }
    }
  }

  private static func run(
    _ sample: JSONValue, at pointer: JSONPointer, _ head: JSONValue
  ) throws(ImportError) -> CallGraph {
    let sample = resolved(sample, sample["attachments"]?.objectValue ?? [:])
    let fields = try MessageFields(sample, at: pointer)
    var graph = CallGraph(format: .inspect)
    let list = try fields.list("messages")
    guard list.count <= ImportLimits.messageLimit else {
      throw ImportError(.tooManyMessages(limit: ImportLimits.messageLimit), at: pointer)
    }
    let told = told(in: try fields.list("events"))
    for (place, value) in list.placed(at: pointer.appending("messages")) {
      graph.items += try items(of: try MessageFields(value, at: place), told: told)
    }
    // A sample that failed was begun anew; what it did before stands nowhere.
    if let retries = fields["error_retries"], !retries.saysNothing {
      graph.missing.append(.attempts(at: pointer.appending("error_retries")))
    }
    // Whatever happened, the list of messages does not tell it.
    if list.isEmpty, ["events", "output"].contains(where: { fields[$0]?.saysNothing == false }) {
      graph.unread.append(pointer.appending("messages"))
    }
    if let place = compaction(in: try fields.list("events")) {
      graph.missing.append(
        .summedUp(at: pointer.appending("events").appending(String(place))))
    }
    for (place, event) in try fields.elements("events") {
      guard let word = event["event"]?.stringValue, !knownEvents.contains(word),
        event.speaksOfTools(type: word)
      else { continue }
      graph.unread.append(place)
    }
    graph.unread += executionsNotRead(
      among: try fields.list("events"), at: pointer.appending("events"), in: graph)
    // Each call of a tool has a span of its own.
    let called = ReadCalls(graph)
    for (place, event) in try fields.elements("events") {
      guard event["event"] == "span_begin", event["type"] == "tool",
        let name = event["name"]?.stringValue,
        !called.hold(CallSightings.Call(name: name, input: nil))
      else { continue }
      graph.unread.append(place)
    }
    graph.agentName = head["eval"]?["task"]?.stringValue
    graph.modelName = head["eval"]?["model"]?.stringValue
    for key in ["id", "epoch", "uuid"] { graph.labels[key] = fields[key] }
    for key in ["task", "run_id"] { graph.labels[key] = head["eval"]?[key] }
    for key in ["scores", "target", "model_usage"] { graph.extra[key] = fields[key] }
    // What has begun and not ended.
    let isOpen =
      try fields.list("events").contains { $0["pending"] == true }
      || head["status"] == "started"
    graph.ending = isOpen ? nil : ending(of: fields, graph)
    CarriedRun.take(
      fields["metadata"]?["agent_eval"], at: pointer.appending("metadata"), into: &graph)
    let known: Set<String> = ["messages", "events", "output", "input", "id", "epoch"]
    graph.unread += UnknownMember.places(
      in: fields.object, besides: known.union(quiet), quiet: [], at: pointer)
    graph.markCallsNotRead(among: CallSightings.all(in: sample, at: pointer))
    return graph
  }

  /// Where events tell of a tool that ran and of whose call no message tells: the messages of a solver or an agent may have
  /// been replaced by those of another.
  private static func executionsNotRead(
    among events: [JSONValue], at pointer: JSONPointer, in graph: CallGraph
  ) -> [JSONPointer] {
    var told: Set<String> = []
    for item in graph.items {
      switch item {
      case .reply(let reply):
        told.formUnion(reply.calls.compactMap(\.id))
        if let id = reply.extra["finalAnswerCall"]?["id"]?.stringValue { told.insert(id) }
      case .result(let result): if let id = result.id { told.insert(id) }
      case .message: break
      }
    }
    return events.enumerated().compactMap { index, event in
      guard event["event"] == "tool", let id = event["id"]?.stringValue, !id.isEmpty,
        !told.contains(id)
      else { return nil }
      return pointer.appending(String(index))
    }
  }

  /// The first event that says that messages were taken out of the context, where no model's call before it tells of them.
  private static func compaction(in events: [JSONValue]) -> Int? {
    guard let place = events.firstIndex(where: { $0["event"] == "compaction" }),
      !events[..<place].contains(where: { $0["event"] == "model" })
    else { return nil }
    return place
  }

  /// Texts that stand apart, put in their places.
  private static func resolved(_ value: JSONValue, _ attachments: JSONObject) -> JSONValue {
    guard !attachments.isEmpty else { return value }
    switch value {
    case .string(let text) where text.hasPrefix("attachment://"):
      return attachments[String(text.dropFirst("attachment://".count))] ?? value
    case .array(let elements): return .array(elements.map { resolved($0, attachments) })
    case .object(let object):
      return .object(
        object.mapMembers { key, value in
          key == "attachments" ? value : resolved(value, attachments)
        })
    default: return value
    }
  }

  /// What the event of a model's call says of its reply.
  private struct ReplyEvent {
    var usage: ReadUsage
    var finish: String?
    /// Its only call, and what that gave back, where it did.
    var call: (asked: JSONValue, gave: String)?
  }

  /// What events tell of each reply, by the id of its message.
  private static func told(in events: [JSONValue]) -> [String: ReplyEvent] {
    var given: [String: String] = [:]
    for event in events where event["event"] == "tool" && event["error"]?.saysNothing != false {
      if let id = event["id"]?.stringValue { given[id] = event["result"]?.stringValue }
    }
    var found: [String: ReplyEvent] = [:]
    for event in events where event["event"] == "model" {
      guard let choice = event["output"]?["choices"]?[0],
        let id = choice["message"]?["id"]?.stringValue
      else { continue }
      var told = ReplyEvent(
        usage: ReadUsage(event["output"]?["usage"]), finish: choice["stop_reason"]?.stringValue)
      if let calls = choice["message"]?["tool_calls"]?.arrayValue, calls.count == 1,
        let gave = calls[0]["id"]?.stringValue.flatMap({ given[$0] }), !gave.isEmpty
      {
        told.call = (calls[0], gave)
      }
      found[id] = told
    }
    return found
  }

  /// Takes the call by which an agent handed in its answer, and that it took out of the message: what that gave back is what
  /// the message ends with.
  private static func takeAnswer(_ told: ReplyEvent, into message: inout ReadMessage) {
    guard message.calls.isEmpty, let call = told.call, let text = message.text?.stringValue,
      text.utf8.reversed().starts(with: call.gave.utf8.reversed()),
      let name = (call.asked["function"]?["name"] ?? call.asked["function"])?.stringValue,
      // A tool of another name may do anything.
      name == "submit"
    else { return }
    message.extra["finalAnswerCall"] = [
      "name": .string(name), "id": call.asked["id"] ?? .null,
      "arguments": call.asked["arguments"] ?? .null,
    ]
    message.finish = "stop"
  }

  private static func items(
    of fields: MessageFields, told: [String: ReplyEvent]
  ) throws(ImportError) -> [GraphItem] {
    guard let roleName = fields["role"]?.stringValue else {
      throw ImportError(.wrongShape(expected: "a message with a role"), at: fields.pointer)
    }
    let role = MessageReader.role(roleName)
    var message = ReadMessage(
      role: role ?? .other, roleName: roleName, pointer: fields.pointer, raw: .object(fields.object)
    )
    if role == nil { message.unread.append(fields.pointer.appending("role")) }
    if message.role == .tool {
      message.results = [result(fields)]
    } else if let content = fields["content"] {
      let place = fields.pointer.appending("content")
      PartReader.take(content.arrayValue ?? [content], below: place, into: &message)
    }
    for (place, value) in try fields.elements("tool_calls") {
      let call = try MessageFields(value, at: place)
      var read = CallReader.call(
        name: (call["function"]?["name"] ?? call["function"])?.stringValue,
        input: call.object["arguments"] ?? call["function"]?["arguments"],
        id: call["id"]?.stringValue)
      if let problem = call["parse_error"]?.stringValue { read.problem = read.problem ?? problem }
      message.add(read, at: place)
    }
    message.model = fields["model"]?.stringValue
    if message.role == .assistant {
      // A reply that a program put there was no model's.
      message.isModelCall = fields["source"] != "input"
      if let id = fields["id"]?.stringValue, let told = told[id] {
        message.usage = told.usage
        message.finish = told.finish
        takeAnswer(told, into: &message)
      }
    }
    let known: Set<String> = ["content", "tool_calls", "error", "role", "function", "internal"]
    message.unread += UnknownMember.places(
      in: fields.object, besides: known, quiet: quiet, at: fields.pointer)
    return MessageItems.items(of: [message]).map { item in
      guard case .reply(var reply) = item else { return item }
      reply.take(fields["metadata"]?["agent_eval"])
      return .reply(reply)
    }
  }

  private static func result(_ fields: MessageFields) -> GraphResult {
    var result = GraphResult(
      id: fields["tool_call_id"]?.stringValue, tool: fields["function"]?.stringValue,
      data: fields.object["content"].map { Told(text: $0) } ?? .absent, status: .ok,
      pointer: fields.pointer)
    // Our own exports say where nobody knows whether it succeeded.
    if fields["metadata"]?["agent_eval"]?["status"] == "returned" { result.status = .returned }
    let isData = fields["metadata"]?["agent_eval"]?["json"] == true
    if isData { result.data = OwnMarks.data(in: result.data) }
    guard let error = fields["error"], !error.saysNothing else { return result }
    result.status = error["type"] == "approval" ? .refused : .error
    result.isEffectUnknown =
      result.status == .error && fields["metadata"]?["agent_eval"]?["effect"] == "unknown"
    result.extra["content"] = fields["content"]
    result.data = Told(text: error["message"] ?? error)
    if isData { result.data = OwnMarks.data(in: result.data) }
    return result
  }

  /// What went wrong in the call of a model that gave a reply, by the id of its message.
  private static func failure(of reply: GraphReply, among events: [JSONValue]) -> String? {
    guard let id = reply.raw["id"]?.stringValue else { return nil }
    let call = events.last { event in
      event["event"] == "model"
        && event["output"]?["choices"]?[0]?["message"]?["id"]?.stringValue == id
    }
    guard let error = call?["error"], !error.saysNothing else { return nil }
    return error.stringValue ?? "error"
  }

  /// A limit or an error ended a sample; else its last reply, by the word for how it ended.
  private static func ending(of sample: MessageFields, _ graph: CallGraph) -> ParsedEnding? {
    // Our own exports say it in our words.
    let own = sample["metadata"]?["agent_eval"]
    if let reason = own?["stop"]?.stringValue.flatMap(StopReason.init(rawValue:)) {
      return ParsedEnding(
        reason: reason, detail: own?["detail"]?.stringValue ?? "",
        field: sample.pointer.appending("metadata"))
    }
    // Where they name no reason, nobody knows it.
    if own?["runId"] != nil { return nil }
    if let error = sample["error"], !error.saysNothing {
      return ParsedEnding(
        reason: .toolFailure, detail: (error["message"]?.stringValue ?? "error").firstLine,
        field: sample.pointer.appending("error"))
    }
    if let limit = sample["limit"], !limit.saysNothing {
      let word = (limit["type"] ?? limit).stringValue ?? "limit"
      let isBlocked = word == "operator" || word == "custom"
      return ParsedEnding(
        reason: isBlocked ? .blocked : .budgetExhausted, detail: word,
        field: sample.pointer.appending("limit"))
    }
    guard case .reply(var reply)? = graph.items.last else { return nil }
    if reply.extra["finalAnswerCall"] == nil {
      reply.finish = sample["output"]?["choices"]?[0]?["stop_reason"]?.stringValue ?? reply.finish
    }
    reply.failure = failure(of: reply, among: sample["events"]?.arrayValue ?? [])
    return FinishWord.ending(of: reply, field: sample.pointer.appending("output"))
  }
}
