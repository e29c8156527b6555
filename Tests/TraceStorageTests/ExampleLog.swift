import AgentTrace
import TraceStorage

/// The run that Docs/log-format.md shows as an example.
enum ExampleLog {
  /// Small blocks, so that there are several.
  static let options = LogWriter.Options(blockBytes: 1500, durability: .none)

  private static let runId = "0193c2a4-7d10-8a44-9c1e-5b0d6f3a2e71"
  private static let goal =
    "Tell me when the next train leaves for Hull. I am at the north end of platform two, I have one "
    + "heavy suitcase and a folding bicycle with me, and I would rather wait half an hour for a direct "
    + "train than change in Selby; if there is none before noon, say so and stop."

  static let events: [Event] = {
    var state = AgentState()
    var events: [Event] = []
    func add(_ step: Int, _ type: EventType, t: Int, _ data: JSONObject) {
      let event = Event(
        seq: events.count, step: step, type: type, runId: runId,
        time: "2026-11-21T12:00:0\(events.count).000000Z", t: t, data: data)
      state.apply(event)
      events.append(event)
    }
    let question: JSONValue = [
      "role": "user", "content": [["type": "text", "text": .string(goal)]],
    ]
    let answer: JSONValue = [
      "role": "tool",
      "content": [["type": "tool_result", "callId": "1.1.0", "data": ["departure": "11:42"]]],
    ]
    func packet(_ messages: [JSONValue], refs: [String]) -> JSONObject {
      [
        "runId": .string(runId), "goal": .string(goal), "prompt": ["messages": .array(messages)],
        "evidenceRefs": JSONValue(refs),
      ]
    }
    add(
      0, .runStarted, t: 0,
      ["formatVersion": 2, "agent": ["name": "timetable"], "goal": .string(goal)])
    add(1, .contextBuilt, t: 150, packet([question], refs: []))
    add(
      1, .decision, t: 900,
      [
        "kind": "tool",
        "calls": [["callId": "1.1.0", "name": "next_train", "input": ["to": "Hull"]]],
      ])
    add(
      1, .toolResult, t: 1800,
      [
        "callId": "1.1.0", "tool": "next_train", "status": "ok", "data": ["departure": "11:42"],
        "elapsedMicroseconds": 850,
      ])
    add(2, .contextBuilt, t: 1900, packet([question, answer], refs: ["1.1.0"]))
    add(
      2, .decision, t: 2600,
      [
        "kind": "answer", "text": "The next direct train leaves at 11:42.",
        "evidenceRefs": ["1.1.0"],
      ])
    add(
      2, .stop, t: 2650,
      Stop(
        reason: .success, detail: "final_answer", answer: "The next direct train leaves at 11:42.",
        evidenceRefs: ["1.1.0"], totals: state.totals, stateFormat: AgentState.format,
        stateDigest: state.digest.hex
      ).encoded)
    return events
  }()
}
