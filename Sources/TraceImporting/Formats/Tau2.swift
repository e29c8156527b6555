import AgentTrace

/// Result files of τ²-bench: `{"timestamp","info","tasks","simulations":[{…,"messages":[…]}]}`, or one
/// simulation in a file of its own.
///
/// Agent and simulated user both have tools. A call says who made it by `requestor`, and so does a
/// result; calls of the user and what they gave back never reach the agent
/// (https://github.com/sierra-research/tau2-bench, src/tau2/orchestrator/orchestrator.py).
enum Tau2: FormatAdapter {
  static let summary = FormatSummary(
    reads: "result files of tau2-bench",
    tells: "all, the simulated user's calls too; how runs ended")

  /// What the objects of a file may hold (src/tau2/data_model/simulation.py, message.py).
  private enum Keys {
    static let file = KnownKeys(
      read: ["simulations", "tasks"], words: ["timestamp"], objects: ["info"])
    static let run = KnownKeys(
      read: ["messages"],
      words: [
        "id", "task_id", "trial", "seed", "timestamp", "start_time", "end_time", "duration",
        "termination_reason", "agent_cost", "user_cost", "mode",
      ], objects: ["reward_info"])
    /// What a model's reply leaves beside it; `raw_data` is that reply, its calls among it.
    private static let common = KnownKeys(
      words: ["turn_idx", "timestamp", "cost", "reasoning", "generation_time_seconds"],
      data: ["usage", "errors"], objects: ["raw_data"])
    private static let speaker = common + KnownKeys(read: ["tool_calls"])
    static let messages = MessageKeys(
      system: common, user: speaker, assistant: speaker,
      tool: common + KnownKeys(words: ["id", "requestor", "error"]))
    static let call = KnownKeys(read: ["arguments"], words: ["id", "name", "requestor"])
  }

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .value(let value) = document else { return false }
    return value["simulations"]?.arrayValue != nil || isSimulation(value)
  }

  private static func isSimulation(_ value: JSONValue) -> Bool {
    value["messages"]?.arrayValue != nil && value["termination_reason"] != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    guard case .value(let value) = document, recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "an object with `simulations`, or one simulation"), at: JSONPointer())
    }
    guard let simulations = value["simulations"]?.arrayValue else {
      return [SourceRun(index: nil, try run(try MessageFields(value, at: JSONPointer()), in: [:]))]
    }
    let unread = try MessageFields(value, at: JSONPointer()).unread(but: Keys.file)
    return simulations.enumerated().map { index, simulation in
      SourceRun(index: index) { () throws(ImportError) in
        let pointer = JSONPointer(tokens: ["simulations", String(index)])
        var run = try run(try MessageFields(simulation, at: pointer), in: value.objectValue ?? [:])
        run.unread += unread
        return run
      }
    }
  }

  private static let labelKeys = ["id", "task_id", "trial", "seed", "termination_reason"]

  private static func run(
    _ fields: MessageFields, in file: JSONObject
  ) throws(ImportError) -> CallGraph {
    var run = CallGraph(
      benchmark: .tau2,
      messages: withCallers(
        try MessageFields.messages(
          try fields.list("messages"), at: fields.pointer.appending("messages"), reading: message)))
    let info = file["info"]
    run.agentName = info?["agent_info"]?["implementation"]?.stringValue
    run.modelName = info?["agent_info"]?["llm"]?.stringValue
    run.labels = JSONObject(labelKeys.compactMap { key in fields[key].map { (key, $0) } })
    run.labels["domain"] = info?["environment_info"]?["domain_name"]
    run.labels["reward"] = fields["reward_info"]?["reward"]
    run.extra = fields.without(["messages"] + labelKeys)
    run.extra["info"] = info
    run.extra["task"] = file["tasks"]?.arrayValue?.first { task in
      fields["task_id"].map { task["id"] == $0 } ?? false
    }
    run.ending = ending(fields["termination_reason"]?.stringValue, at: fields.pointer)
    run.unread = fields.unread(but: Keys.run)
    return run
  }

  /// The benchmark's own reasons (src/tau2/data_model/simulation.py). A fault of the infrastructure or
  /// of the simulated user says nothing about how the agent's run would have ended.
  private static func ending(_ reason: String?, at pointer: JSONPointer) -> ParsedEnding? {
    let (stop, detail): (StopReason, String)
    switch reason {
    case "user_stop", "agent_stop": (stop, detail) = (.success, reason ?? "")
    case "max_steps": (stop, detail) = (.budgetExhausted, StopDetail.maxSteps)
    case "timeout": (stop, detail) = (.budgetExhausted, StopDetail.timeout)
    case "context_window_exceeded": (stop, detail) = (.budgetExhausted, StopDetail.maxTokens)
    case "too_many_errors": (stop, detail) = (.toolFailure, reason ?? "")
    case "agent_error": (stop, detail) = (.invalidDecision, reason ?? "")
    default: return nil
    }
    return ParsedEnding(
      reason: stop, detail: detail, field: pointer.appending("termination_reason"))
  }

  private static func message(_ fields: MessageFields) throws(ImportError) -> ReadMessage {
    var message = try fields.message(
      taking: ["tool_calls", "requestor", "error"], known: Keys.messages)
    message.time = fields["timestamp"]?.stringValue.flatMap(Timestamp.init)
    switch message.role {
    case .assistant, .user:
      try readCalls(of: fields, into: &message)
      guard message.role == .assistant else { break }
      message.usage.inputTokens = fields["usage"]?["prompt_tokens"]?.intValue
      message.usage.outputTokens = fields["usage"]?["completion_tokens"]?.intValue
      message.usage.cost = fields["cost"]?.doubleValue
    case .tool:
      message.results = [
        GraphResult(
          id: fields["id"]?.stringValue, data: .there(fields.object["content"] ?? .null),
          status: fields["error"]?.boolValue == true ? .error : .ok, pointer: fields.pointer)
      ]
      message.extra["content"] = nil
      message.caller = caller(fields["requestor"], speaker: .assistant)
      if !isKnown(fields["requestor"]) {
        message.unread.append(fields.pointer.appending("requestor"))
      }
      message.isShown = message.caller == nil
    default: break
    }
    return message
  }

  /// A result that does not say who made its call is for whoever made the last one of that id: it is marked as
  /// not read all the same.
  private static func withCallers(_ messages: [ReadMessage]) -> [ReadMessage] {
    var messages = messages
    var callers: [String: String?] = [:]
    for index in messages.indices {
      for call in messages[index].calls {
        guard let id = call.id else { continue }
        let speaker = messages[index].role == .user ? "user" : nil
        callers[id] = .some(messages[index].caller ?? speaker)
      }
      guard messages[index].role == .tool, !messages[index].unread.isEmpty,
        let id = messages[index].results.first?.id, let caller = callers[id]
      else { continue }
      messages[index].caller = caller
      messages[index].isShown = caller == nil
    }
    return messages
  }

  private static func readCalls(
    of fields: MessageFields, into message: inout ReadMessage
  ) throws(ImportError) {
    var requestor: JSONValue?
    for (index, value) in try fields.list("tool_calls").enumerated() {
      let place = fields.pointer.appending("tool_calls").appending(String(index))
      let call = try MessageFields(value, at: place)
      message.addCall(
        name: call["name"], arguments: call.object["arguments"], id: call["id"], of: call,
        known: Keys.call)
      // One message has one caller: who speaks, and an agent where nobody is named.
      let named = call["requestor"] ?? (message.role == .user ? nil : "assistant")
      if named != .string(message.role == .user ? "user" : "assistant")
        || index > 0 && call["requestor"] != requestor
      {
        message.unread.append(place.appending("requestor"))
      }
      requestor = requestor ?? call["requestor"]
    }
    guard !message.calls.isEmpty else { return }
    message.caller = caller(requestor, speaker: message.role)
    message.isShown = message.caller == nil
  }

  private static func isKnown(_ requestor: JSONValue?) -> Bool {
    requestor == nil || requestor == "user" || requestor == "assistant"
  }

  /// `user` for the simulated user, `nil` for the agent. Who speaks counts where nobody is named.
  private static func caller(_ requestor: JSONValue?, speaker: ReadMessage.Role) -> String? {
    switch requestor?.stringValue {
    case "user": "user"
    case "assistant": nil
    default: speaker == .user ? "user" : nil
    }
  }
}
