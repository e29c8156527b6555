import AgentTrace
import TraceJudging

/// A run as a trajectory of ATIF 1.8 (Harbor, RFC 0001): unknown keys are refused there, so that whatever is ours
/// stands under `extra`.
enum AtifExport {
  static func value(of story: RunStory, results: [RunResult]) -> JSONValue {
    var builder = Builder(story)
    for item in story.items { builder.take(item) }
    builder.putStrays()
    let usage = story.usage
    var metrics: JSONObject = ["total_steps": JSONValue(builder.steps.count)]
    metrics["total_prompt_tokens"] = usage.input.map { JSONValue($0) }
    metrics["total_completion_tokens"] = usage.output.map { JSONValue($0) }
    metrics["total_cost_usd"] = usage.cost.map { JSONValue(Figures.money($0)) }
    var agent: JSONObject = [
      "name": .string(story.agentName.isEmpty ? "agent" : story.agentName),
      "version": .string(story.agentVersion ?? "unknown"),
    ]
    agent["model_name"] = story.modelName.map(JSONValue.string)
    if !story.tools.isEmpty {
      agent["tool_definitions"] = .array(story.tools.map(OpenAIExport.definition))
    }
    return [
      "schema_version": "ATIF-v1.8", "session_id": .string(story.runId),
      "agent": .object(agent), "steps": .array(builder.steps.map(JSONValue.object)),
      "final_metrics": .object(metrics),
      "extra": [
        "agent_eval": .object(OwnKey.summary(of: story, results: results))
      ],
    ]
  }

  private struct Builder {
    private let story: RunStory
    private(set) var steps: [JSONObject] = []
    /// At which step each call stands.
    private var places: [String: Int] = [:]
    private var strays: [RunStory.Result] = []

    init(_ story: RunStory) { self.story = story }

    mutating func take(_ item: RunStory.Item) {
      switch item {
      case .said(let said):
        put(said.role.rawValue, said.text, at: said.at)
      case .turn(let turn): put(turn)
      case .result(let result): put(result)
      case .model(let call):
        // A reply that failed, or that nothing was read from, was asked for and paid for all the same.
        guard call.result.purpose == ModelPurpose.decide.rawValue, call.result.error != nil else {
          return
        }
        put("agent", "", at: call.at)
        fill(&steps[steps.count - 1], with: call.result)
        steps[steps.count - 1]["extra"] = [
          "agent_eval": ["error": .string(call.result.error ?? "")]
        ]
      }
    }

    private mutating func put(_ source: String, _ text: String, at moment: RunStory.Moment) {
      var step: JSONObject = [
        "step_id": JSONValue(steps.count + 1), "source": .string(source),
        "message": .string(text),
      ]
      if story.began > 0 { step["timestamp"] = .string(UTCTime.text(moment.clock)) }
      steps.append(step)
    }

    private func fill(_ step: inout JSONObject, with model: ModelResult) {
      step["model_name"] = (model.model ?? story.modelName).map(JSONValue.string)
      var metrics = JSONObject()
      metrics["prompt_tokens"] = model.inputTokens.map { JSONValue($0) }
      metrics["completion_tokens"] = model.outputTokens.map { JSONValue($0) }
      metrics["cached_tokens"] = model.cachedInputTokens.map { JSONValue($0) }
      metrics["cost_usd"] = model.cost.map { JSONValue($0) }
      if !metrics.isEmpty { step["metrics"] = .object(metrics) }
    }

    private mutating func put(_ turn: RunStory.Turn) {
      put("agent", turn.text ?? "", at: turn.at)
      let index = steps.count - 1
      if let model = turn.model { fill(&steps[index], with: model) }
      steps[index]["reasoning_content"] = turn.reasoning.map(JSONValue.string)
      if turn.model == nil { steps[index]["llm_call_count"] = 0 }
      var own: JSONObject = ["decision": .string(turn.kind)]
      own["reason"] = turn.problem.map(JSONValue.string)
      if turn.isRepair { own["repairs"] = true }
      own["caller"] = turn.caller.map(JSONValue.string)
      if !turn.calls.isEmpty {
        steps[index]["tool_calls"] = .array(
          turn.calls.map { call in
            [
              "tool_call_id": .string(CallName.id(call.callId)),
              "function_name": .string(call.name),
              // Arguments are an object there.
              "arguments": call.input.objectValue == nil ? ["input": call.input] : call.input,
            ]
          })
        let verdicts = turn.calls.compactMap { call in
          story.verdicts[call.callId].map { verdict -> JSONValue in
            var object: JSONObject = [
              "call_id": .string(CallName.id(call.callId)), "verdict": .string(verdict.status),
            ]
            object["rule"] = verdict.ruleId.map(JSONValue.string)
            return .object(object)
          }
        }
        if !verdicts.isEmpty { own["policy"] = .array(verdicts) }
        for call in turn.calls { places[call.callId] = index }
      }
      steps[index]["extra"] = ["agent_eval": .object(own)]
    }

    /// An observation belongs to a call of its own step.
    private mutating func put(_ result: RunStory.Result) {
      guard let index = places[result.callId] else { return strays.append(result) }
      var results = steps[index]["observation"]?["results"]?.arrayValue ?? []
      results.append(Self.observation(of: result, id: CallName.id(result.callId)))
      steps[index]["observation"] = ["results": .array(results)]
    }

    /// Results of which no decision tells stand in steps of their own.
    mutating func putStrays() {
      for result in strays {
        put("agent", "", at: result.at)
        steps[steps.count - 1]["observation"] = [
          "results": [Self.observation(of: result, id: nil)]
        ]
        steps[steps.count - 1]["llm_call_count"] = 0
      }
    }

    private static func observation(of result: RunStory.Result, id: String?) -> JSONValue {
      var own: JSONObject = ["status": .string(result.status)]
      if result.isEffectUnknown { own["effect"] = "unknown" }
      if result.isData { own["json"] = true }
      if id == nil {
        own["call"] = .string(CallName.id(result.callId))
        own["tool"] = .string(result.tool)
      }
      var object: JSONObject = [
        "content": .string(RunStory.text(result.content)), "extra": ["agent_eval": .object(own)],
      ]
      object["source_call_id"] = id.map(JSONValue.string)
      return .object(object)
    }
  }
}

/// Names that other interfaces give to calls.
enum CallName {
  /// An id of letters, digits and underscores, as every interface takes it.
  static func id(_ callId: String) -> String {
    let safe = callId.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"):
        byte
      default: UInt8(ascii: "_")
      }
    }
    let text = "call_" + String(decoding: safe, as: UTF8.self)
    // Two ids never become one.
    let isPlain = callId.utf8.allSatisfy {
      (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "p")
    }
    guard !isPlain || text.utf8.count > 40 else { return text }
    return "call_" + Digest(of: Array(callId.utf8)).hex.prefix(24)
  }
}
