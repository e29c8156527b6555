import AgentTrace
import EvalLoading
import EvalRunning
import TraceJudging

/// What an agent does in a made-up run.
struct Script {
  struct Call {
    var tool: String
    var input: JSONObject
    var verdict = VerdictStatus.allow
    var status = CallStatus.ok

    /// The call in the words of a comparison.
    var words: String {
      let parts = ["/n", "/note", "/where/city"].compactMap { pointer -> String? in
        let tokens = pointer.split(separator: "/").map(String.init)
        let value = tokens.count == 1 ? input[tokens[0]] : input[tokens[0]]?[tokens[1]]
        return value.map { "\(pointer) \($0)" }
      }
      return ([tool] + (parts.isEmpty ? [] : [parts.joined(separator: ", ")])).joined(
        separator: " ")
    }
  }

  var decisions: [[Call]]
  /// Steps that hold no call.
  var idle = 1
  var tokens = 1_000
  var cost = 0.01
  var stop = Stop(reason: .success, detail: "final_answer")

  var calls: [Call] { decisions.flatMap { $0 } }
  var steps: Int { decisions.count + idle }

  /// The number of the first call of a decision, from 1.
  func ordinal(of decision: Int) -> Int { decisions[..<decision].reduce(0) { $0 + $1.count } + 1 }

  /// The run as a log holds it.
  func events(runId: String) -> [Event] {
    var events: [Event] = []
    var step = 0
    func add(_ type: EventType, _ data: JSONObject) {
      events.append(
        Event(seq: events.count, step: step, type: type, runId: runId, data: data))
    }
    var started = RunStarted(agentName: "made up", goal: "g")
    started.tools =
      (0...4).map { ToolDefinition(name: "tool\($0)", sideEffect: .read) }
      + ["extra", "guarded"].map { ToolDefinition(name: $0, sideEffect: .read) }
      + [ToolDefinition(name: "writing", sideEffect: .write)]
    add(.runStarted, started.encoded)
    add(
      .modelResult,
      [
        "purpose": "decide", "attempt": 1, "cost": JSONValue(cost),
        "usage": ["inputTokens": JSONValue(tokens - 1), "outputTokens": 1],
      ])
    for calls in decisions {
      step += 1
      let proposed = calls.enumerated().map { index, call in
        ProposedCall(callId: "\(step).1.\(index)", name: call.tool, input: .object(call.input))
      }
      add(.decision, DecisionPayload(.tool(proposed)).encoded)
      for (call, made) in zip(calls, proposed) {
        add(
          .policyDecision,
          [
            "callId": .string(made.callId), "tool": .string(call.tool),
            "status": .string(call.verdict.rawValue), "reason": "so",
          ])
      }
      for (call, made) in zip(calls, proposed) {
        let id = JSONValue.string(made.callId)
        if call.status != .refused {
          add(.toolStarted, ["callId": id, "tool": .string(call.tool), "attempt": 1])
        }
        add(
          .toolResult,
          [
            "callId": id, "tool": .string(call.tool), "status": .string(call.status.rawValue),
            "data": .string(runId), "reason": .string(runId),
          ])
      }
    }
    for _ in 0..<max(0, idle - 1) {
      step += 1
      add(.decision, DecisionPayload(.askHuman(question: runId)).encoded)
    }
    step += 1
    add(.decision, DecisionPayload(.answer(text: "done, all of it", evidenceRefs: [])).encoded)
    add(.stop, stop.encoded)
    return events
  }
}

/// A case with what its agent does.
struct ScriptedCase {
  var caseId: String
  var script: Script
  var expected: JSONValue
  var skip: CaseSkip?
  /// The calls that it requires, by their place in the script, in the order of `toolsCalled`.
  var required: [Int] = []

  var isOrdered: Bool { expected["order"] == "in_order" }

  /// What the judge calls the expectation of the call at a place; `nil` where none is required.
  func check(of call: Int) -> String? {
    guard let index = required.firstIndex(of: call) else { return nil }
    return isOrdered ? "toolsCalled" : "toolsCalled[\(index)]"
  }
}

extension ScriptedCase {
  func evalCase(in folder: String) throws -> EvalCase {
    EvalCase(
      caseId: caseId, recording: "r", skip: skip, expected: try Expectations(parsing: expected),
      path: "\(folder)/cases.yaml", position: TextPosition(line: 1, column: 1))
  }

  /// What the judge says of its run.
  func result(_ evalCase: EvalCase, runId: String) -> CaseResult {
    var (trajectory, notes) = (Trajectory(), RunNotes())
    var gathered = GatheredFacts(for: evalCase.expected)
    for event in script.events(runId: runId) {
      trajectory.apply(event)
      gathered.apply(event)
      notes.apply(event)
    }
    let judgement = Judge.judge(trajectory, gathered, against: evalCase.expected)
    var trial = TrialResult(
      runId: runId, log: "log-of-\(runId)", judgedFrom: "body", judgement: judgement)
    trial.outline = AcceptedRun(of: trajectory, notes, judgement, asked: evalCase.expected)
    var result = CaseResult(caseId: caseId, position: "cases.yaml:1")
    result.trials = [trial]
    return result
  }
}

/// Cases that are judged together, their files in a folder.
struct ScriptedSuite {
  var cases: [ScriptedCase]

  /// Judges them, and compares them with the baselines in a folder.
  func results(
    in folder: String, runId: String, _ request: Baselines.Request? = nil
  ) throws -> (results: EvalResults, cases: [EvalCase]) {
    let evalCases = try cases.map { try $0.evalCase(in: folder) }
    var results = EvalResults(cases: [], skipped: [])
    for (scripted, evalCase) in zip(cases, evalCases) {
      if let skip = scripted.skip {
        results.skipped.append(SkippedCase(caseId: scripted.caseId, reason: skip.reason))
      } else {
        results.cases.append(scripted.result(evalCase, runId: "\(runId)-\(scripted.caseId)"))
      }
    }
    Baselines().compare(
      &results, of: evalCases, among: evalCases, request ?? Baselines.Request(paths: [folder]))
    return (results, evalCases)
  }

  /// Writes their baselines.
  func accept(in folder: String) throws {
    let (results, evalCases) = try results(in: folder, runId: "accepted")
    for item in Acceptance(of: results, evalCases).items {
      guard case .new(let bytes) = item.change else { continue }
      try BaselineFiles.write(bytes, to: item.path)
    }
  }
}
