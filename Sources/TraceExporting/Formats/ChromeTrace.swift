import AgentTrace
import TraceJudging

/// A run in the trace format of Chrome, which Perfetto shows: a process for each run, in it a lane for its model calls
/// and as many for its tools as ran side by side.
///
/// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
enum ChromeTrace {
  static func events(of story: RunStory, process: Int, results: [RunResult]) -> [JSONValue] {
    var events: [JSONValue] = []
    let name = story.agentName.isEmpty ? story.runId : "\(story.agentName) \(story.runId)"
    events.append(meta("process_name", name, process, 0))
    events.append(meta("thread_name", "model", process, 1))
    var calls: [String: ProposedCall] = [:]
    for case .turn(let turn) in story.items {
      for call in turn.calls { calls[call.callId] = call }
    }
    // When each lane of tools is free again.
    var lanes: [Int] = []
    for item in story.items {
      switch item {
      case .said(let said):
        events.append(
          instant(said.role.rawValue, said.at, ["text": .string(said.text)], process))
      case .turn(let turn):
        events.append(
          instant("decision: \(turn.kind)", turn.at, ["step": JSONValue(turn.step)], process))
      case .model(let call):
        var arguments: JSONObject = ["purpose": .string(call.result.purpose)]
        arguments["inputTokens"] = call.result.inputTokens.map { JSONValue($0) }
        arguments["outputTokens"] = call.result.outputTokens.map { JSONValue($0) }
        arguments["error"] = call.result.error.map(JSONValue.string)
        events.append(
          span(
            "chat \(call.result.model ?? "")", "model", (call.began, call.at), arguments,
            (process, 1)))
      case .result(let result):
        let start = result.started ?? result.at
        let lane = lanes.firstIndex { $0 <= start.microseconds } ?? lanes.count
        if lane == lanes.count {
          lanes.append(0)
          events.append(meta("thread_name", "tools \(lane + 1)", process, lane + 2))
        }
        lanes[lane] = max(result.at.microseconds, start.microseconds &+ 1)
        var arguments: JSONObject = [
          "callId": .string(result.callId), "status": .string(result.status),
          "result": result.content,
        ]
        arguments["input"] = calls[result.callId]?.input
        arguments["verdict"] = story.verdicts[result.callId].map { .string($0.status) }
        events.append(
          span(
            result.tool, "tool", (start, result.at), arguments, (process, lane + 2)))
      }
    }
    if let stop = story.stop {
      events.append(
        instant(
          "stop: \(stop.reason.rawValue)", story.last,
          ["outcomes": .array(results.map { .string("\($0.caseId): \($0.outcome.rawValue)") })],
          process))
    }
    return events
  }

  private static func meta(_ key: String, _ name: String, _ process: Int, _ thread: Int)
    -> JSONValue
  {
    [
      "ph": "M", "name": .string(key), "pid": JSONValue(process), "tid": JSONValue(thread),
      "args": ["name": .string(name)],
    ]
  }

  private static func instant(
    _ name: String, _ moment: RunStory.Moment, _ arguments: JSONObject, _ process: Int
  ) -> JSONValue {
    [
      "ph": "i", "s": "t", "name": .string(name), "cat": "run",
      "ts": JSONValue(moment.microseconds),
      "pid": JSONValue(process), "tid": 1, "args": .object(arguments),
    ]
  }

  private static func span(
    _ name: String, _ category: String, _ time: (start: RunStory.Moment, end: RunStory.Moment),
    _ arguments: JSONObject, _ place: (process: Int, thread: Int)
  ) -> JSONValue {
    [
      "ph": "X", "name": .string(name), "cat": .string(category),
      "ts": JSONValue(time.start.microseconds),
      "dur": JSONValue(max(0, time.end.microseconds &- time.start.microseconds)),
      "pid": JSONValue(place.process),
      "tid": JSONValue(place.thread), "args": .object(arguments),
    ]
  }
}
