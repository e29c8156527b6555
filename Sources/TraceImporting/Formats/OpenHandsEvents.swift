import AgentTrace

/// Events of OpenHands before V1, `{"id","source","action","args"}` and `{"observation","content","cause"}`: a list of them, one a
/// line, or one or many runs that hold them as `history`, as its benchmarks write them.
///
/// What a model answered stands beside the actions that were made of it (`tool_call_metadata`): its calls are those of the
/// reply. Without it an action is a call of its own name. They belong to ``OpenHands``.
enum OpenHandsEvents {
  /// Where a run keeps its events.
  fileprivate static let keys = ["history", "trajectory", "events"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys) { isEvent($0) || isPair($0) || holdsEvents($0) }
  }

  private static func isEvent(_ value: JSONValue) -> Bool {
    guard value["kind"] == nil, let source = value["source"]?.stringValue,
      ["agent", "user", "environment"].contains(source)
    else { return false }
    return value["action"]?.stringValue != nil && value["args"]?.objectValue != nil
      || value["observation"]?.stringValue != nil && value["content"] != nil
  }

  /// An action beside its observation, as older versions keep them.
  private static func isPair(_ value: JSONValue) -> Bool {
    value.arrayValue?.prefix(2).contains(where: isEvent) ?? false
  }

  private static func holdsEvents(_ value: JSONValue) -> Bool {
    keys.contains { key in
      value[key]?.arrayValue?.prefix(30).contains { isEvent($0) || isPair($0) } ?? false
    }
  }

  static func runs(in document: SourceDocument) -> [SourceRun] {
    switch document {
    case .lines(let lines) where lines.contains(where: { isRun($0) }):
      return SourceRun.each(lines, run)
    case .value(let value):
      guard let elements = value.arrayValue, elements.contains(where: holdsEvents) else {
        return [SourceRun(index: nil, try run(value, at: JSONPointer()))]
      }
      return SourceRun.each(elements, run)
    default: return [SourceRun(index: nil, try graph(of: SourceLines(document, keys: keys)))]
    }
  }

  private static func isRun(_ line: SourceDocument.Line) -> Bool {
    (try? line.content.get()).map(holdsEvents) ?? false
  }

  /// What stands beside the events of a run.
  private static let beside: Set<String> = Set(keys).union([
    "error", "instance", "instance_id", "instruction", "metadata", "metrics", "test_result",
  ])

  /// A run that is its events, or an object with them.
  private static func run(
    _ value: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> CallGraph {
    var graph = try graph(of: SourceLines(.value(value), keys: keys, below: pointer))
    guard let object = value.objectValue else { return graph }
    graph.unread += UnknownMember.places(
      in: object, besides: beside, quiet: [], at: pointer)
    graph.labels["instance_id"] = object["instance_id"]
    for key in ["metrics", "test_result"] { graph.extra[key] = object[key] }
    graph.agentName = object["metadata"]?["agent_class"]?.stringValue ?? graph.agentName
    graph.modelName = object["metadata"]?["llm_config"]?["model"]?.stringValue ?? graph.modelName
    if let error = object["error"], !error.saysNothing {
      graph.ending = OpenHandsReader.ending(
        ofError: error.stringValue ?? "error", field: pointer.appending("error"))
    }
    return graph
  }

  private static func graph(of lines: SourceLines) throws(ImportError) -> CallGraph {
    let lines = lines.withoutRepeats
    let events = lines.values.flatMap { place, value in
      value.arrayValue?.enumerated().map { (place.appending(String($0)), $1) } ?? [(place, value)]
    }
    var reader = OpenHandsReader(knowing: Set(events.compactMap { $0.1["id"] }))
    reader.graph.unread = lines.unread
    for (place, event) in events { reader.read(event, at: place) }
    let graph = reader.finished()
    guard !graph.items.isEmpty else { throw ImportError(.noMessages) }
    return graph
  }
}

/// Reads events of OpenHands before V1, in their order.
private struct OpenHandsReader {
  /// A sub-agent at work: what stands behind its beginning is its own.
  private struct Delegate {
    var name: String
    /// The id of the call that began it.
    var call: String
    var pointer: JSONPointer
    /// How many items stood before its own.
    var itemsBefore: Int
  }

  var graph = CallGraph(format: .openHands)
  /// The ids of all events that are there.
  private let known: Set<JSONValue>
  /// The ids of the calls that were told, by their response.
  private var told: [JSONValue: Set<String>] = [:]
  /// The ids of calls, by the events that made them.
  private var calls: [JSONValue: String] = [:]
  private var delegates: [Delegate] = []

  /// Actions by which nothing is called.
  private static let silent: Set<String> = [
    "null", "initialize", "start", "pause", "resume", "stop", "change_agent_state", "recall",
    "condensation_request", "loop_recovery",
  ]
  private static let read: Set<String> = [
    "id", "timestamp", "source", "message", "action", "args", "observation", "content", "extras",
    "cause", "tool_call_metadata",
  ]

  init(knowing known: Set<JSONValue>) { self.known = known }

  /// What was read, once there is no more.
  func finished() -> CallGraph {
    var graph = graph
    for delegate in delegates where delegate.itemsBefore == graph.items.count {
      graph.missing.append(.subAgent(delegate.name, at: delegate.pointer))
    }
    graph.agentName = "openhands"
    graph.modelName = graph.firstModel
    graph.ending = graph.endingByRefusal ?? graph.ending
    return graph
  }

  mutating func read(_ event: JSONValue, at pointer: JSONPointer) {
    graph.unread += UnknownMember.places(
      in: event.objectValue ?? [:], besides: Self.read, quiet: ["llm_metrics"], at: pointer)
    switch (event["action"]?.stringValue, event["observation"]?.stringValue) {
    case (let action?, nil): take(action: action, event, at: pointer)
    case (nil, let observation?): take(observation: observation, event, at: pointer)
    default: if !event.saysNothing { graph.unread.append(pointer) }
    }
  }

  // MARK: Actions

  private mutating func take(action: String, _ event: JSONValue, at pointer: JSONPointer) {
    let metadata = event["tool_call_metadata"].flatMap { $0.saysNothing ? nil : $0 }
    let isOfAgent = event["source"] == "agent"
    if action == "condensation", forgets(event["args"]) {
      graph.missing.append(.summedUp(at: pointer))
    }
    if isOfAgent, metadata == nil, action == "message" {
      return add(message(.assistant, "assistant", event["args"]?["content"], event, pointer))
    }
    guard metadata == nil else { return call(action, event, metadata, at: pointer) }
    switch action {
    case "message":
      let isOfUser = event["source"] == "user"
      add(
        message(
          isOfUser ? .user : .other, isOfUser ? "user" : "environment", event["args"]?["content"],
          event, pointer))
    case "system":
      add(message(.system, "system", event["args"]?["content"], event, pointer))
    case "condensation": break
    case _ where Self.silent.contains(action): break
    case _ where isOfAgent: call(action, event, nil, at: pointer)
    // Somebody else did something: a person at the terminal, or nobody knows who.
    default: graph.unread.append(pointer)
    }
  }

  /// Whether events are taken out of the context that do not stand here.
  private func forgets(_ args: JSONValue?) -> Bool {
    let forgotten =
      (args?["forgotten_event_ids"]?.arrayValue ?? [])
      + ["forgotten_events_start_id", "forgotten_events_end_id"].compactMap { args?[$0] }
    return forgotten.contains { !$0.isNull && !known.contains($0) }
  }

  private func message(
    _ role: ReadMessage.Role, _ roleName: String, _ text: JSONValue?, _ event: JSONValue,
    _ pointer: JSONPointer
  ) -> ReadMessage {
    var message = ReadMessage(role: role, roleName: roleName, pointer: pointer, raw: event)
    message.time = Self.time(of: event)
    if let text { message.add(text: text) }
    return message
  }

  private static func time(of event: JSONValue) -> Timestamp? {
    event["timestamp"]?.stringValue.flatMap(Timestamp.init)
  }

  private mutating func add(_ message: ReadMessage) {
    if message.role == .assistant || message.role == .user, delegates.isEmpty { graph.ending = nil }
    graph.items += MessageItems.items(of: [message], agent: delegates.last?.name)
  }

  /// Takes what the agent did: a call, or the call with which it ends.
  private mutating func call(
    _ action: String, _ event: JSONValue, _ metadata: JSONValue?, at pointer: JSONPointer
  ) {
    let id = metadata?["tool_call_id"]?.stringValue ?? Self.name(of: event["id"])
    if let number = event["id"] { calls[number] = id }
    if delegates.isEmpty { graph.ending = nil }
    let response = metadata?["model_response"].flatMap { $0.saysNothing ? nil : $0 }
    let key = response?["id"] ?? response ?? .null
    if told[key]?.contains(id) != true || key.isNull {
      var message =
        reply(response, with: id, event, at: pointer)
        ?? single(action, metadata, id: id, event, at: pointer)
      told[key, default: []].formUnion(message.calls.compactMap(\.id))
      if action == "finish" || action == "reject" { giveAnswer(&message, event["args"]) }
      add(message)
    }
    if action == "delegate" {
      let name = event["args"]?["agent"]?.stringValue ?? "delegate"
      delegates.append(
        Delegate(name: name, call: id, pointer: pointer, itemsBefore: graph.items.count))
    } else if delegates.isEmpty, action == "finish" || action == "reject" {
      graph.ending = Self.ending(
        isGivenUp: action == "reject", event["args"],
        field: pointer.appending("args").appending("task_completed"))
    }
  }

  /// All that a model answered, where that stands there and asks for a call.
  private mutating func reply(
    _ response: JSONValue?, with id: String, _ event: JSONValue, at pointer: JSONPointer
  ) -> ReadMessage? {
    let place = pointer.appending("tool_call_metadata").appending("model_response")
    guard let response, let found = MessageFinder.find(response, at: place), found.odd == nil,
      found.messages.count == 1, var message = found.messages.first, message.role == .assistant,
      message.calls.contains(where: { $0.id == id })
    else { return nil }
    graph.unread += found.unread
    message.pointer = pointer
    message.time = Self.time(of: event)
    message.responseId = response["id"]?.stringValue
    return message
  }

  /// An action as a call.
  private func single(
    _ action: String, _ metadata: JSONValue?, id: String, _ event: JSONValue,
    at pointer: JSONPointer
  ) -> ReadMessage {
    var input = event["args"]?.objectValue ?? [:]
    var message = message(.assistant, "assistant", nil, event, pointer)
    if let thought = input["thought"], thought.isText {
      message.add(text: thought)
      input["thought"] = nil
    }
    var name = metadata?["function_name"]?.stringValue ?? action
    var given: JSONValue? = event["args"].map { _ in .object(input) }
    if action == "call_tool_mcp", let tool = input["name"]?.stringValue {
      (name, given) = (tool, input["arguments"])
    }
    message.add(CallReader.call(name: name, input: given, id: id), at: pointer)
    return message
  }

  /// A call that ends a run and is the only one of its reply is its answer, where it says something.
  private func giveAnswer(_ message: inout ReadMessage, _ args: JSONValue?) {
    guard message.calls.count == 1, let call = message.calls.first else { return }
    let answers = [
      args?["final_thought"], call.input.value?["message"], args?["outputs"]?["content"],
      args?["outputs"]?["reason"],
    ]
    if let answer = answers.compactMap({ $0 }).first(where: { $0.isText && !$0.saysNothing }) {
      message.texts = [answer]
    }
    guard message.text != nil else { return }
    message.calls = []
    message.extra["finalAnswerCall"] = ["name": .string(call.name), "input": call.input.logged]
  }

  // MARK: Observations

  private mutating func take(
    observation kind: String, _ event: JSONValue, at pointer: JSONPointer
  ) {
    switch kind {
    case "agent_state_changed":
      if delegates.isEmpty { take(state: event["extras"], at: pointer.appending("extras")) }
      return
    // What the agent's program told its model by itself.
    case "recall", "condense", "loop_detection":
      return add(message(.other, "environment", event["content"], event, pointer))
    // The answer to what no tool runs.
    case "null": return
    default: break
    }
    var id = event["tool_call_metadata"]?["tool_call_id"]?.stringValue
    if id == nil, let cause = event["cause"] { id = calls[cause] }
    if kind == "delegate", let delegate = delegates.popLast() {
      id = id ?? delegate.call
      if delegate.itemsBefore == graph.items.count {
        graph.missing.append(.subAgent(delegate.name, at: pointer))
      }
    }
    guard let id else {
      // What went wrong, and with no call.
      if kind == "error" {
        return add(message(.other, "environment", event["content"], event, pointer))
      }
      return graph.unread.append(pointer)
    }
    graph.items.append(.result(result(kind, event, id: id, at: pointer)))
  }

  private func result(
    _ kind: String, _ event: JSONValue, id: String, at pointer: JSONPointer
  ) -> GraphResult {
    var status = GraphResult.Status.returned
    if let isSuccess = event["success"]?.boolValue { status = isSuccess ? .ok : .error }
    if kind == "error" { status = .error }
    if kind == "user_rejected" { status = .refused }
    var result = GraphResult(
      id: id, data: event["content"].map { Told(text: $0) } ?? .absent, status: status,
      pointer: pointer)
    result.agent = delegates.last?.name
    result.time = Self.time(of: event)
    let extras = event["extras"]
    result.extra["exit_code"] = extras?["metadata"]?["exit_code"] ?? extras?["exit_code"]
    result.extra["error_id"] = extras?["error_id"]
    // Its program stopped, or broke, while it waited for this.
    if extras?["error_id"]?.stringValue?.contains("ACTION_NOT_EXECUTED") == true
      || kind == "error"
        && event["content"]?.stringValue?.contains("action has not been executed") == true
    {
      result.isEffectUnknown = true
    }
    return result
  }

  // MARK: Ends

  /// How the run stands by its agent's state; a call that ended it says more.
  private mutating func take(state extras: JSONValue?, at pointer: JSONPointer) {
    let field = pointer.appending("agent_state")
    switch extras?["agent_state"]?.stringValue ?? "" {
    case "finished":
      graph.ending =
        graph.ending
        ?? ParsedEnding(reason: .success, detail: StopDetail.finalAnswer, field: field)
    case "error":
      let reason = extras?["reason"]?.stringValue ?? ""
      graph.ending = Self.ending(ofError: reason.isEmpty ? "error" : reason, field: field)
    case "rejected": graph.ending = ParsedEnding(reason: .blocked, detail: "rejected", field: field)
    case "stopped": graph.ending = ParsedEnding(reason: .cancelled, detail: "stopped", field: field)
    default: graph.ending = nil
    }
  }

  /// How a call ends a run. An agent that finishes by itself and says that its task is not completed did end so; the detail
  /// tells it apart.
  private static func ending(
    isGivenUp: Bool, _ args: JSONValue?, field: JSONPointer
  ) -> ParsedEnding {
    if isGivenUp { return ParsedEnding(reason: .blocked, detail: "reject") }
    let word = args?["task_completed"].flatMap { $0.isNull || $0 == "" ? nil : $0 }
    guard let word else { return ParsedEnding(reason: .success, detail: StopDetail.finalAnswer) }
    let isDone = word.boolValue == true || word == "true"
    return ParsedEnding(
      reason: .success, detail: isDone ? StopDetail.finalAnswer : "not completed", field: field)
  }

  /// How a run ended that broke: at a limit, in a call of its model, or otherwise.
  static func ending(ofError text: String, field: JSONPointer) -> ParsedEnding {
    let word = text.lowercased().replacing("_", with: "").replacing(" ", with: "")
    let holds = { (words: [String]) in words.contains(where: word.contains) }
    let reason: StopReason
    if holds(["ratelimit"]) {
      reason = .modelFailure
    } else if holds(["maximum", "maxiteration", "contextwindow", "limit", "timeout", "budget"]) {
      reason = .budgetExhausted
    } else if holds(["llm"]) {
      reason = .modelFailure
    } else {
      reason = .toolFailure
    }
    return ParsedEnding(reason: reason, detail: text.prefix(utf8Bytes: 200), field: field)
  }

  /// An event's id as that of its call.
  private static func name(of id: JSONValue?) -> String {
    id?.stringValue ?? id?.intValue.map(String.init) ?? ""
  }
}
