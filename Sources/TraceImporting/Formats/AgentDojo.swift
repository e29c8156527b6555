import AgentTrace

/// Recorded runs of AgentDojo, one a file: `{"suite_name","pipeline_name","user_task_id",
/// "injection_task_id","attack_type","injections","messages","error","utility","security",…}`.
///
/// Calls are `{"function","args","id"?}`; a tool message names the call it answers, often without an
/// id, and its own error (https://github.com/ethz-spylab/agentdojo, src/agentdojo/types.py).
enum AgentDojo: FormatAdapter {
  static let summary = FormatSummary(
    reads: "recorded runs of AgentDojo",
    tells: "calls, results, errors; how runs ended")

  /// What the objects of a file may hold (src/agentdojo/types.py, src/agentdojo/logging.py).
  private enum Keys {
    static let run = KnownKeys(
      read: ["messages", "error"],
      words: [
        "suite_name", "pipeline_name", "user_task_id", "injection_task_id", "attack_type",
        "duration",
        "security", "utility", "benchmark_version", "evaluation_timestamp",
        "agentdojo_package_version",
      ], data: ["injections"])
    static let messages = MessageKeys(
      assistant: KnownKeys(read: ["tool_calls"]),
      tool: KnownKeys(read: ["error", "tool_call"], words: ["tool_call_id"]))
    static let call = KnownKeys(
      read: ["function", "args"], words: ["id"], objects: ["placeholder_args"])
  }

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .value(let value) = document else { return false }
    return value["suite_name"] != nil && value["messages"] != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    guard case .value(let value) = document, recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "an object with `suite_name` and `messages`"), at: JSONPointer())
    }
    return [SourceRun(index: nil, try run(try MessageFields(value, at: JSONPointer())))]
  }

  private static func run(_ fields: MessageFields) throws(ImportError) -> CallGraph {
    let messages = try MessageFields.messages(
      try fields.list("messages"), at: fields.pointer.appending("messages"), reading: message)
    var run = CallGraph(benchmark: .agentDojo, messages: messages)
    run.agentName = fields["pipeline_name"]?.stringValue
    for member in fields.without(["messages"]) {
      switch member.value {
      case .array, .object: run.extra[member.key] = member.value
      case .null: break
      default: run.labels[member.key] = member.value
      }
    }
    run.ending = ending(of: messages, error: reason(fields))
    run.unread = fields.unread(but: Keys.run)
    return run
  }

  /// The `error` of a run or of a result, where one is set.
  private static func reason(_ fields: MessageFields) -> JSONValue? {
    fields["error"].flatMap { $0 != "" ? $0 : JSONValue?.none }
  }

  private static func ending(of messages: [ReadMessage], error: JSONValue?) -> ParsedEnding? {
    if error != nil {
      return ParsedEnding(
        reason: .toolFailure, detail: StopDetail.error, field: JSONPointer(tokens: ["error"]))
    }
    guard let last = messages.last, last.role == .assistant else { return nil }
    if !last.calls.isEmpty {
      return ParsedEnding(reason: .budgetExhausted, detail: StopDetail.maxSteps)
    }
    return last.isAssistantText
      ? ParsedEnding(reason: .success, detail: StopDetail.finalAnswer) : nil
  }

  private static func message(_ fields: MessageFields) throws(ImportError) -> ReadMessage {
    var message = try fields.message(taking: ["tool_calls", "error"], known: Keys.messages)
    switch message.role {
    case .assistant:
      for (place, value) in try fields.elements("tool_calls") {
        let call = try MessageFields(value, at: place)
        message.addCall(
          name: call["function"], arguments: call.object["args"], id: call["id"], of: call,
          known: Keys.call)
      }
    case .tool:
      let error = reason(fields)
      message.results = [
        GraphResult(
          id: fields["tool_call_id"]?.stringValue,
          tool: fields["tool_call"]?["function"]?.stringValue,
          data: .there(error ?? message.text ?? fields.object["content"] ?? .null),
          status: error == nil ? .ok : .error, pointer: fields.pointer)
      ]
      // A failed call's event holds the error; what else the tool said stands beside it.
      if error != nil { message.extra["content"] = fields["content"] }
      if let call = fields["tool_call"] {
        let place = fields.pointer.appending("tool_call")
        message.unread += try MessageFields(call, at: place).unread(but: Keys.call)
      }
    default: break
    }
    return message
  }
}
