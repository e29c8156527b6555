import AgentTrace

/// Results of τ-bench: `{"task_id","reward","info","traj":[messages],"trial"}`.
///
/// How a run ends is read from its messages: the simulated user writes `###STOP###` when it is done
/// (tau_bench/envs/user.py), an agent hands over by a tool, and anything else is the cap on steps.
enum TauBench {
  private static let transferTool = "transfer_to_human_agents"
  private static let stopWord = "###STOP###"

  /// What a result may hold; `info` tells the task, with the calls that it asks for.
  private static let keys = KnownKeys(
    read: ["traj"], words: ["task_id", "reward", "trial"], objects: ["info"])

  static func isRun(_ value: JSONValue) -> Bool { value["traj"] != nil }

  static func run(_ fields: MessageFields) throws(ImportError) -> CallGraph {
    let messages = try MessageFields.messages(
      try fields.list("traj"), at: fields.pointer.appending("traj"), reading: message)
    var run = CallGraph(benchmark: .openAIMessages, messages: messages)
    let labels = ["task_id", "trial", "reward"]
    run.labels = JSONObject(labels.compactMap { key in fields[key].map { (key, $0) } })
    run.extra = fields.without(["traj"] + labels)
    run.ending = ending(of: messages)
    run.unread = fields.unread(but: keys)
    return run
  }

  /// A result that begins with `Error` is one (tau_bench/envs/base.py).
  private static func message(_ fields: MessageFields) throws(ImportError) -> ReadMessage {
    var message = try OpenAIMessages.message(fields)
    let isError = message.text?.stringValue?.utf8.starts(with: "Error".utf8) ?? false
    for index in message.results.indices { message.results[index].status = isError ? .error : .ok }
    return message
  }

  private static func ending(of messages: [ReadMessage]) -> ParsedEnding {
    let saidStop = messages.contains { message in
      message.role == .user && contains(stopWord, in: message.text)
    }
    if saidStop { return ParsedEnding(reason: .success, detail: "user_stop") }
    let lastCall = messages.last { !$0.calls.isEmpty }?.calls.last
    if lastCall?.name == transferTool {
      return ParsedEnding(reason: .blocked, detail: StopDetail.tool(transferTool))
    }
    return ParsedEnding(reason: .budgetExhausted, detail: StopDetail.maxSteps)
  }

  private static func contains(_ word: String, in text: JSONValue?) -> Bool {
    guard let bytes = text?.stringValue.map({ Array($0.utf8) }) else { return false }
    let word = Array(word.utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: word) }
  }
}
