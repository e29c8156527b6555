import AgentRuntime
import AgentTrace
import TraceMatching

/// A run of a scripted agent on a clock that stands still.
struct SampleRun {
  var events: [Event]
  var state: AgentState

  var stop: (reason: String, detail: String?) {
    (state.stop?.reason ?? "none", state.stop?.detail)
  }

  /// `type` or `type:callId` of each event but context and model, for comparing whole runs.
  var outline: [String] {
    events.filter { ![.contextBuilt, .modelResult, .runStarted].contains($0.type) }.map { event in
      let what = event.data["callId"]?.stringValue ?? event.data["kind"]?.stringValue
      let status = event.data["status"]?.stringValue
      return ([event.type.rawValue, what, status].compactMap { $0 }).joined(separator: " ")
    }
  }

  func results() -> [String: String] {
    var statuses: [String: String] = [:]
    for event in events where event.type == .toolResult {
      statuses[event.data["callId"]?.stringValue ?? ""] = event.data["status"]?.stringValue
    }
    return statuses
  }
}

extension AgentDefinition {
  /// An agent that sends these replies one after the other.
  static func replying(
    _ replies: JSONValue..., tools: [ToolRegistration] = [.read, .draft, .write]
  ) -> AgentDefinition {
    .playing(replies.map { .init(choices: [.init(answer: .reply($0))]) }, tools: tools)
  }

  static func playing(
    _ turns: [ModelScript.Turn], tools: [ToolRegistration] = [.read, .draft, .write]
  ) -> AgentDefinition {
    AgentDefinition(
      name: "sample",
      model: ModelDefinition(
        provider: "scripted", name: "sample", implementation: .scripted(ModelScript(turns: turns))),
      tools: tools)
  }

  func run(
    goal: JSONValue = "do it", clock: any RunClock = FixedClock(),
    cancellation: Cancellation = Cancellation()
  ) async throws -> SampleRun {
    let sink = InMemoryEventSink()
    let boundary = AssembledBoundary(
      for: self, clock: clock, identifiers: SeededRunIDs(seed: 1), cancellation: cancellation,
      raise: { cancellation.cancel(signal: $0) })
    let state = try await Runtime(agent: self, boundary: boundary).run(
      .init(goal: goal, runId: boundary.makeRunID()), into: sink)
    return SampleRun(events: sink.events, state: state)
  }
}

extension ToolRegistration {
  static let read = tool("look", .read)
  static let draft = tool("sketch", .draft)
  static let write = tool("pay", .write)

  static func tool(
    _ name: String, _ sideEffect: SideEffect, onError: OnError = .continue,
    timeoutSeconds: Double? = nil, idempotent: Bool = false, rules: [ScriptedTool.Rule]? = nil
  ) -> ToolRegistration {
    ToolRegistration(
      definition: ToolDefinition(
        name: name,
        inputSchema: [
          "type": "object", "properties": ["n": ["type": "integer"]],
          "additionalProperties": false,
        ],
        sideEffect: sideEffect, timeoutSeconds: timeoutSeconds, idempotent: idempotent),
      implementation: .scripted(
        ScriptedTool(rules: rules ?? [.init(outcome: .ok(["seen": "${input.n}"]))])),
      onError: onError)
  }
}

/// A reply with calls, `"look 1"` being the tool `look` with the input `{"n":1}`.
func calls(_ texts: String...) -> JSONValue {
  [
    "calls": .array(
      texts.map { text in
        let words = text.split(separator: " ")
        let input: JSONValue = words.count > 1 ? ["n": JSONValue(Int(words[1]) ?? 0)] : [:]
        return ["name": .string(String(words[0])), "input": input]
      })
  ]
}

func answer(_ text: String) -> JSONValue { ["text": .string(text)] }
