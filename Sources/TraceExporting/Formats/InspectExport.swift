import AgentTrace
import TraceJudging

/// Runs as a log of Inspect, an archive with a member for each: `header.json`, `samples/….json`, `summaries.json`.
///
/// https://inspect.aisi.org.uk/reference/inspect_ai.log.html; read by `inspect_ai.log.read_eval_log`.
enum InspectExport {
  /// The name of a sample's member.
  static func memberName(ofSample number: Int) -> String { "samples/\(number)_epoch_1.json" }

  static func sample(
    of story: RunStory, number: Int, results: [RunResult]
  ) -> JSONObject {
    var messages: [JSONValue] = []
    var last: (message: JSONValue, finish: String)?
    for item in story.items {
      switch item {
      case .said(let said):
        messages.append(["role": .string(said.role.rawValue), "content": .string(said.text)])
      case .turn(let turn):
        let message = message(of: turn, story)
        messages.append(message)
        if turn.caller == nil { last = (message, finish(of: turn)) }
      case .result(let result): messages.append(message(of: result))
      case .model: break
      }
    }
    var sample: JSONObject = [
      "id": .string(String(number)), "epoch": 1, "input": .string(story.goal), "target": "",
      "messages": .array(messages), "scores": scores(results), "store": [:], "events": [],
      "metadata": ["agent_eval": .object(OwnKey.summary(of: story, results: results))],
      "model_usage": usage(of: story), "uuid": .string(story.runId),
    ]
    sample["output"] = output(story, last)
    switch story.stop?.reason {
    case .toolFailure?, .modelFailure?, .invalidDecision?:
      let reason = story.stop?.reason.rawValue ?? ""
      let detail = story.stop?.detail.map { ": \($0)" } ?? ""
      sample["error"] = [
        "message": .string(reason + detail), "traceback": "", "traceback_ansi": "",
      ]
    case .budgetExhausted?: sample["limit"] = limit(story)
    case .blocked?, .approvalRequired?, .cancelled?, .policyDenied?:
      sample["limit"] = ["type": "operator", "limit": 1]
    default: break
    }
    return sample
  }

  private static func message(of turn: RunStory.Turn, _ story: RunStory) -> JSONValue {
    var object: JSONObject = [
      "role": "assistant", "content": .string(turn.text ?? ""),
      "source": turn.model == nil ? "input" : "generate",
    ]
    object["model"] = (turn.model?.model ?? story.modelName).map(JSONValue.string)
    var metadata = JSONObject()
    metadata["caller"] = turn.caller.map(JSONValue.string)
    var own = JSONObject()
    if let problem = turn.problem {
      own = ["decision": .string(turn.kind), "reason": .string(problem)]
    }
    if turn.isRepair { own["repairs"] = true }
    if !own.isEmpty { metadata["agent_eval"] = .object(own) }
    if !metadata.isEmpty { object["metadata"] = .object(metadata) }
    if !turn.calls.isEmpty {
      object["tool_calls"] = .array(
        turn.calls.map { call in
          [
            "id": .string(CallName.id(call.callId)), "function": .string(call.name),
            "arguments": call.input.objectValue == nil ? ["input": call.input] : call.input,
            "type": "function",
          ]
        })
    }
    return .object(object)
  }

  private static func message(of result: RunStory.Result) -> JSONValue {
    var object: JSONObject = [
      "role": "tool", "tool_call_id": .string(CallName.id(result.callId)),
      "function": .string(result.tool), "content": .string(RunStory.text(result.content)),
    ]
    var own = JSONObject()
    switch result.status {
    case "refused":
      object["error"] = ["type": "approval", "message": .string(RunStory.text(result.content))]
    case "error":
      object["error"] = ["type": "unknown", "message": .string(RunStory.text(result.content))]
      if result.isEffectUnknown { own["effect"] = "unknown" }
    case "returned": own["status"] = "returned"
    default: break
    }
    if result.isData { own["json"] = true }
    if !own.isEmpty { object["metadata"] = ["agent_eval": .object(own)] }
    return .object(object)
  }

  private static func finish(of turn: RunStory.Turn) -> String {
    turn.calls.isEmpty ? "stop" : "tool_calls"
  }

  private static func output(
    _ story: RunStory, _ last: (message: JSONValue, finish: String)?
  ) -> JSONValue {
    var choices: [JSONValue] = []
    if let last {
      choices.append(["message": last.message, "stop_reason": .string(last.finish)])
    }
    return [
      "model": .string(story.modelName ?? "unknown"), "choices": .array(choices),
      "completion": .string(story.answer ?? ""),
    ]
  }

  private static func usage(of story: RunStory) -> JSONValue {
    let usage = story.usage
    guard usage.input != nil || usage.output != nil else { return [:] }
    let (input, output) = (usage.input ?? 0, usage.output ?? 0)
    return .object([
      story.modelName ?? "unknown": [
        "input_tokens": JSONValue(input), "output_tokens": JSONValue(output),
        "total_tokens": JSONValue(input &+ output),
      ]
    ])
  }

  /// What limit it was, in the words that there are.
  private static func limit(_ story: RunStory) -> JSONValue {
    let (type, key): (String, String) =
      switch story.stop?.detail {
      case StopDetail.maxTokens?: ("token", "maxTokens")
      case StopDetail.maxCost?: ("cost", "maxCost")
      case StopDetail.timeout?: ("time", "timeoutSeconds")
      case StopDetail.maxToolCalls?: ("message", "maxToolCalls")
      default: ("message", "maxSteps")
      }
    return ["type": .string(type), "limit": story.start["limits"]?[key] ?? 0]
  }

  /// Each case's outcome in Inspect's letters: correct, incorrect, partly, none.
  private static func scores(_ results: [RunResult]) -> JSONValue {
    var scores = JSONObject()
    for result in results {
      let letter =
        switch result.outcome {
        case .pass: "C"
        case .fail: "I"
        case .inconclusive, .error: "N"
        }
      let reasons = result.expectations.filter { $0.outcome == .fail }.map(\.message)
      scores[result.caseId] = [
        "value": .string(letter), "explanation": .string(reasons.joined(separator: "\n")),
      ]
    }
    return .object(scores)
  }

  /// What is told of a sample without opening it.
  static func summary(of sample: JSONObject) -> JSONValue {
    var summary: JSONObject = ["completed": true, "target": ""]
    for key in ["id", "epoch", "input", "scores", "model_usage", "uuid"] {
      summary[key] = sample[key]
    }
    summary["error"] = sample["error"]?["message"]
    summary["limit"] = sample["limit"]?["type"]
    summary["message_count"] = JSONValue(sample["messages"]?.arrayValue?.count ?? 0)
    return .object(summary)
  }

  /// The archive's head.
  static func header(_ stories: [Head], version: String) -> JSONObject {
    let created = stories.map(\.began).min() ?? 0
    let ended = stories.map(\.ended).max() ?? created
    let task = stories.first.map(\.agent) ?? "agent"
    let isSame = stories.allSatisfy { $0.agent.hasSameUTF8(as: task) }
    let seed = Digest(of: JSONValue(stories.map(\.runId))).hex
    return [
      "version": 2, "status": "success",
      "eval": [
        "created": .string(moment(created)), "task": .string(isSame ? task : "agent-eval"),
        "task_id": .string(String(seed.prefix(22))), "run_id": .string(String(seed.suffix(22))),
        "eval_id": .string(String(seed.dropFirst(22).prefix(22))), "task_version": 0,
        "dataset": [
          "name": "agent-eval", "samples": JSONValue(stories.count),
          "sample_ids": JSONValue(stories.indices.map { String($0 + 1) }),
        ],
        "model": .string(stories.lazy.compactMap(\.model).first ?? "unknown"),
        "config": [:], "packages": ["agent-eval": .string(version)],
      ],
      "plan": ["name": "plan", "steps": [], "config": [:]],
      "results": [
        "total_samples": JSONValue(stories.count), "completed_samples": JSONValue(stories.count),
        "scores": [],
      ],
      "stats": [
        "started_at": .string(moment(created)), "completed_at": .string(moment(ended)),
        "model_usage": [:],
      ],
    ]
  }

  /// What the archive's head tells of a run.
  struct Head {
    var runId: String
    var agent: String
    var model: String?
    var began: UInt64
    var ended: UInt64

    init(_ story: RunStory) {
      runId = story.runId
      agent = story.agentName.isEmpty ? "agent" : story.agentName
      model = story.modelName
      began = story.began
      ended = story.last.clock
    }
  }

  /// A moment as Inspect writes it, to the second.
  private static func moment(_ nanoseconds: UInt64) -> String {
    UTCTime.text(nanoseconds).prefix(19) + "+00:00"
  }
}
