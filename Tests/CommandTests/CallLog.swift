import AgentTrace
import TestSupport
import TraceStorage

/// Logs of runs that are nothing but their calls, as judging an eval set's cases asks for.
enum CallLog {
  /// Writes the log of some calls, each a decision of its own, with the answer behind them where there is one.
  static func write(
    _ path: String, _ caseId: String, _ calls: [(String, JSONValue)], answer: String? = nil
  ) throws {
    let writer = try LogWriter(creating: path)
    var (seq, step) = (0, 0)
    func add(_ type: EventType, _ data: JSONObject) throws {
      try writer.append(
        Event(seq: seq, step: step, type: type, runId: "r", data: data), isEffectAhead: false)
      seq += 1
    }
    var started = RunStarted(agentName: "a", goal: "g")
    started.caseId = caseId
    try add(.runStarted, started.encoded)
    for (tool, input) in calls {
      step += 1
      let call = ProposedCall(callId: "\(step).1.0", name: tool, input: input)
      try add(.decision, DecisionPayload(.tool([call])).encoded)
      try add(
        .toolResult,
        ToolResultPayload(callId: call.callId, tool: tool, result: .ok(data: nil)).encoded)
    }
    if let answer {
      step += 1
      try add(.decision, DecisionPayload(.answer(text: answer, evidenceRefs: [])).encoded)
    }
    try add(.stop, Stop(reason: .success).encoded)
    _ = try writer.close()
  }
}
