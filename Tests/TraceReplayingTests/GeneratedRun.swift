import AgentRuntime
import AgentTrace
import TestSupport
import TraceReplaying

/// A run made up: decisions of calls, an answer, a stop; and the events that tell it.
struct GeneratedRun {
  struct Call {
    var tool: String
    var input: JSONObject
    var verdict = "allow"
    var rule: String? = "r1"
    var status = "ok"
    var result: JSONValue = ["found": true]
    var attempts = 1
  }

  var decisions: [[Call]]
  var goal = "do it"
  var answer = "Done."
  var question: String?
  var stopReason = StopReason.success
  var inputTokens = 100
  var cost = 0.25

  // What may not count.
  var runId = "run"
  var tag = ""
  var t = 10
  /// The order in which the results of each decision come; the call order where it is empty.
  var arrival: [[Int]] = []

  init(decisions: [[Call]]) { self.decisions = decisions }

  init(using random: inout SeededGenerator) {
    var count = 0
    decisions = (0..<Int.random(in: 2...12, using: &random)).map { _ in
      (0..<[1, 1, 1, 2, 3, 4][Int.random(in: 0..<6, using: &random)]).map { _ in
        count += 1
        var call = Call(
          tool: "tool\(Int.random(in: 0..<4, using: &random))",
          input: ["n": JSONValue(count), "where": ["city": "Graz", "zip": [8_010, 8_020]]])
        call.result = ["rows": [JSONValue(count), "x"], "next": .null]
        if Int.random(in: 0..<6, using: &random) == 0 { call.status = "error" }
        if Int.random(in: 0..<8, using: &random) == 0 {
          (call.verdict, call.rule, call.status) = ("deny", "guests", "refused")
        }
        return call
      }
    }
    if Bool.random(using: &random) { question = "Which one?" }
  }

  /// The same run as it could have been recorded on another day.
  func disguised(using random: inout SeededGenerator) -> GeneratedRun {
    var other = self
    other.runId = "run-\(Int.random(in: 0..<1_000_000, using: &random))"
    other.tag = "call_\(Int.random(in: 0..<1_000_000, using: &random))_"
    other.t = Int.random(in: 11..<1_000, using: &random)
    other.decisions = decisions.map { $0.shuffled(using: &random) }
    other.arrival = decisions.map { Array($0.indices).shuffled(using: &random) }
    return other
  }

  // MARK: Events

  var events: [Event] {
    var events: [Event] = []
    func add(_ type: EventType, step: Int, _ data: JSONObject) {
      events.append(
        Event(
          seq: events.count, step: step, type: type, runId: runId,
          time: "2026-01-01T00:00:\(10 + t % 50)Z", t: t * events.count, data: data))
    }
    add(
      .runStarted, step: 0,
      [
        "formatVersion": 2, "agent": ["name": "made", "digest": .string(tag)],
        "goal": .string(goal), "limits": [:], "policyContext": [:],
        "tools": [["name": "tool0", "description": "Looks."]], "seed": JSONValue(t),
      ])
    var step = 0
    func model() {
      add(
        .modelResult, step: step,
        [
          "purpose": "decide", "attempt": 1, "requestDigest": .string(tag), "cost": JSONValue(cost),
          "usage": ["inputTokens": JSONValue(inputTokens), "outputTokens": 5],
          "elapsedMicroseconds": JSONValue(t), "reply": ["text": .string(tag)],
        ])
    }
    for (number, calls) in decisions.enumerated() {
      step += 1
      model()
      let ids = calls.indices.map { "\(tag)\(step).1.\($0)" }
      add(
        .decision, step: step,
        [
          "kind": "tool", "modelResult": JSONValue(events.count - 1),
          "calls": .array(
            zip(calls, ids).map { call, id in
              [
                "callId": .string(id), "name": .string(call.tool), "input": .object(call.input),
                "providerCallId": .string("p\(id)"),
              ]
            }),
        ])
      for (call, id) in zip(calls, ids) {
        var verdict: JSONObject = [
          "callId": .string(id), "tool": .string(call.tool), "status": .string(call.verdict),
          "reason": "because", "context": ["remainingSteps": JSONValue(step)],
        ]
        verdict["ruleId"] = call.rule.map(JSONValue.string)
        add(.policyDecision, step: step, verdict)
      }
      let order = arrival.isEmpty ? Array(calls.indices) : arrival[number]
      for index in order {
        let (call, id) = (calls[index], ids[index])
        if call.status != "refused" {
          add(
            .toolStarted, step: step,
            [
              "callId": .string(id), "tool": .string(call.tool), "attempt": 1,
              "idempotencyKey": .string("\(runId)/\(id)"),
            ])
        }
        var result: JSONObject = [
          "callId": .string(id), "tool": .string(call.tool), "status": .string(call.status),
          "attempts": JSONValue(call.attempts), "elapsedMicroseconds": JSONValue(t),
        ]
        result[call.status == "ok" ? "data" : "reason"] =
          call.status == "ok" ? call.result : "no luck"
        add(.toolResult, step: step, result)
      }
    }
    if let question {
      step += 1
      model()
      add(.decision, step: step, ["kind": "ask_human", "question": .string(question)])
      add(.humanReplied, step: step, ["text": "That one.", "by": "ana", "replyTo": JSONValue(t)])
    }
    step += 1
    model()
    add(
      .decision, step: step,
      ["kind": "answer", "text": .string(answer), "evidenceRefs": [.string("\(tag)1.1.0")]])
    add(
      .stop, step: step,
      [
        "reason": .string(stopReason.rawValue), "detail": "final_answer", "final": true,
        "stateDigest": .string(tag), "answer": .string(answer),
      ])
    return events
  }
}

extension GeneratedRun {
  /// What a comparison must say of a planted change, and nothing else.
  struct Plant: CustomStringConvertible {
    var description: String
    var standing = RunDiff.Row.Standing.changed
    var paths: [String] = []
    var tool: String?
  }

  /// How many kinds of change there are.
  static let plants = 20

  /// Changes one thing.
  mutating func plant(_ kind: Int, using random: inout SeededGenerator) -> Plant {
    let decision = Int.random(in: decisions.indices, using: &random)
    let index = Int.random(in: decisions[decision].indices, using: &random)
    let tool = decisions[decision][index].tool
    func change(_ paths: String..., by change: (inout Call) -> Void) -> Plant {
      change(&decisions[decision][index])
      return Plant(description: "\(kind) in \(tool)", paths: paths, tool: tool)
    }
    switch kind {
    case 0: return change("/input/n") { $0.input["n"] = JSONValue(-1 - decision) }
    case 1: return change("/input/more") { $0.input["more"] = true }
    case 2: return change("/input/where") { $0.input["where"] = nil }
    case 3:
      return change("/input/where/city") {
        $0.input["where"] = ["city": "Linz", "zip": [8_010, 8_020]]
      }
    case 4:
      return change("/input/where/zip/1") { $0.input["where"] = ["city": "Graz", "zip": [8_010]] }
    case 5: return change("/verdict/ruleId") { $0.rule = "other" }
    case 6: return change("/verdict/status") { $0.verdict = "approval_required" }
    case 7: return change("/result/attempts") { $0.attempts += 1 }
    case 8:
      guard decisions[decision][index].status == "ok" else {
        return change("/result/data", "/result/reason", "/result/status") { $0.status = "ok" }
      }
      return change("/result/data/rows/1") {
        $0.result = ["rows": [$0.result["rows"]?[0] ?? 0, "y"], "next": .null]
      }
    case 9: return change("/verdict/ruleId") { $0.rule = nil }
    case 10:
      let call = Call(tool: "extra", input: ["a": 1])
      decisions.insert([call], at: decision)
      return Plant(description: "a call more", standing: .right, tool: "extra")
    case 11:
      // Alone in its decision, so that nothing else is about it.
      decisions.insert([Call(tool: "extra", input: [:])], at: decision)
      decisions[decision].append(Call(tool: "extra", input: ["b": 1]))
      decisions[decision].removeFirst()
      return Plant(description: "another call more", standing: .right, tool: "extra")
    case 12: return replaceTool(decision, index)
    case 13:
      answer = "Not done."
      return Plant(description: "answer", paths: ["/answer"])
    case 14:
      stopReason = .blocked
      return Plant(description: "stop", paths: ["/stop/reason"])
    case 15:
      inputTokens += 1
      return Plant(description: "tokens", paths: ["/usage/tokens/input"])
    case 16:
      cost += 0.5
      return Plant(description: "cost", paths: ["/usage/cost"])
    case 17:
      goal += "!"
      return Plant(description: "goal", paths: ["/start/goal"])
    case 18: return change("/input/n") { $0.input["n"] = 1.5 }
    default:
      return change("/input/where/city", "/input/where/zip/0") {
        $0.input["where"] = ["city": "Wien", "zip": [1_010, 8_020]]
      }
    }
  }

  private mutating func replaceTool(_ decision: Int, _ index: Int) -> Plant {
    decisions[decision][index].tool = "another"
    return Plant(description: "another tool", standing: .replaced)
  }
}
