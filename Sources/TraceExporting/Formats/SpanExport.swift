import AgentTrace
import TraceStorage

/// A run as spans: the agent's at the root, below it one for each model call and one for each call
/// of a tool, with the attributes of OpenTelemetry's conventions for generative AI and of OpenInference.
///
/// https://github.com/open-telemetry/semantic-conventions-genai, https://github.com/Arize-ai/openinference (spec)
struct SpanExport {
  private let story: RunStory
  private let trace: [UInt8]
  private let root: [UInt8]
  /// The span of the call that the run is.
  private let parent: [UInt8]?
  private var spans: [ExportSpan] = []
  private var calls: [String: ProposedCall] = [:]
  private var callers: [String: String] = [:]
  /// The turn that each reply was read as.
  private var turns: [Int: RunStory.Turn] = [:]
  /// The span of each other agent, by its name: where it stands among the spans.
  private var agents: [String: Int] = [:]

  /// The spans of a run, the root first.
  static func spans(
    of story: RunStory, at place: SpanPlace? = nil, results: [RunResult]
  ) -> [ExportSpan] {
    var export = SpanExport(story, at: place)
    export.putRoot(results)
    export.putItems()
    return export.spans
  }

  /// The spans of a run that goes on of which nothing more will be said: neither the root nor those of other agents.
  static func ended(of story: RunStory, at place: SpanPlace? = nil) -> [ExportSpan] {
    var export = SpanExport(story, at: place)
    let decided = Set(export.turns.keys)
    for item in story.items where story.hasEnded(item, decided: decided) {
      switch item {
      case .said: break
      case .turn(let turn): export.take(turn)
      case .model(let call): export.putModel(call)
      case .result(let result): export.putTool(result)
      }
    }
    let agents = Set(export.agents.values)
    return export.spans.enumerated().filter { !agents.contains($0.offset) }.map(\.element)
  }

  private init(_ story: RunStory, at place: SpanPlace?) {
    self.story = story
    trace = place?.trace ?? ExportSpan.trace(of: story.identity)
    parent = place?.parent
    root = ExportSpan.identifier(["agent-eval", "run", story.identity], bytes: 8)
    for case .turn(let turn) in story.items {
      if let seq = turn.modelSeq { turns[seq] = turn }
      take(turn)
    }
  }

  /// Takes in the calls of a decision: what follows under an id is of the latest that has it.
  private mutating func take(_ turn: RunStory.Turn) {
    for call in turn.calls {
      calls[call.callId] = call
      callers[call.callId] = turn.caller
    }
  }

  private func id(_ kind: String, _ name: String) -> [UInt8] {
    ExportSpan.identifier(["agent-eval", kind, story.identity, name], bytes: 8)
  }

  /// A span below the root, or below that of another agent.
  private mutating func put(_ span: ExportSpan, of caller: String?) {
    var span = span
    if let caller, !caller.isEmpty, caller != "agent" {
      let index = agents[caller] ?? putAgent(caller, span)
      spans[index].start = min(spans[index].start, span.start)
      spans[index].end = max(spans[index].end, span.end)
      span.parent = spans[index].id
    }
    spans.append(span)
  }

  private mutating func putAgent(_ name: String, _ first: ExportSpan) -> Int {
    var span = ExportSpan(
      trace: trace, id: id("agent", name), parent: root, name: "invoke_agent \(name)",
      start: first.start, end: first.end)
    span.set("gen_ai.operation.name", "invoke_agent")
    span.set("gen_ai.agent.name", name)
    span.set("openinference.span.kind", "AGENT")
    span.set("gen_ai.conversation.id", story.identity)
    span.set("session.id", story.identity)
    spans.append(span)
    agents[name] = spans.count - 1
    return spans.count - 1
  }

  // MARK: The run

  private mutating func putRoot(_ results: [RunResult]) {
    let name = story.agentName
    var span = ExportSpan(
      trace: trace, id: root, parent: parent,
      name: name.isEmpty ? "invoke_agent" : "invoke_agent \(name)",
      start: story.first.nanoseconds, end: story.last.nanoseconds)
    span.set("gen_ai.operation.name", "invoke_agent")
    span.set("openinference.span.kind", "AGENT")
    if !name.isEmpty { span.set("gen_ai.agent.name", name) }
    span.set("gen_ai.agent.version", story.agentVersion)
    span.set("gen_ai.conversation.id", story.identity)
    span.set("session.id", story.identity)
    span.set("input.value", story.goal)
    span.set("input.mime_type", "text/plain")
    span.set("output.value", story.answer)
    span.set("output.mime_type", story.answer.map { _ in "text/plain" })
    span.set("agent_eval.run.id", story.runId)
    span.set("agent_eval.case.id", story.start["case"]?["caseId"]?.stringValue)
    if story.isPartial { span.set("agent_eval.partial", true) }
    if story.isOpen { span.set("agent_eval.open", true) }
    if !story.isAnswered { span.set("agent_eval.answered", false) }
    if story.isAnswerCut { span.set("agent_eval.answer.cut", true) }
    if story.hasPaused { span.set("agent_eval.paused", true) }
    if let stop = story.stop {
      span.set("agent_eval.stop.reason", stop.reason.rawValue)
      span.set("agent_eval.stop.detail", stop.detail)
      if stop.reason != .success {
        span.set("error.type", stop.reason.rawValue)
        span.failure = stop.detail.map { "\(stop.reason.rawValue): \($0)" } ?? stop.reason.rawValue
      }
    }
    span.events = results.flatMap { $0.events(at: story.last.clock) }
    spans.append(span)
  }

  private mutating func putItems() {
    var ended: Set<String> = []
    for item in story.items {
      switch item {
      case .said: break
      case .turn(let turn): take(turn)
      case .model(let call): putModel(call)
      case .result(let result):
        ended.insert(result.callId)
        putTool(result)
      }
    }
    // What was started and never heard of again may have done its work.
    for id in story.started.keys.filter({ !ended.contains($0) }).sorted(by: {
      $0.precedesByUTF8($1)
    }) {
      putTool(
        RunStory.Result(
          at: story.last, callId: id, tool: calls[id]?.name ?? "",
          status: "unknown",
          content: .null, isEffectUnknown: true, started: story.started[id]))
    }
  }

  // MARK: Model calls

  private mutating func putModel(_ call: RunStory.ModelCall) {
    let model = call.result.model ?? story.modelName ?? ""
    var span = ExportSpan(
      trace: trace, id: id("event", String(call.seq)), parent: root,
      name: model.isEmpty ? "chat" : "chat \(model)", start: call.began.nanoseconds,
      end: call.at.nanoseconds)
    span.kind = 3
    span.set("gen_ai.operation.name", "chat")
    span.set("gen_ai.provider.name", story.modelProvider ?? "unknown")
    span.set("openinference.span.kind", "LLM")
    span.set("gen_ai.conversation.id", story.identity)
    if !model.isEmpty {
      span.set("gen_ai.request.model", model)
      span.set("llm.model_name", model)
    }
    span.set("gen_ai.response.model", call.result.modelVersion)
    span.set("gen_ai.usage.input_tokens", call.result.inputTokens)
    span.set("gen_ai.usage.output_tokens", call.result.outputTokens)
    span.set("gen_ai.usage.cache_read.input_tokens", call.result.cachedInputTokens)
    span.set("gen_ai.usage.reasoning.output_tokens", call.result.reasoningTokens)
    span.set("llm.token_count.prompt", call.result.inputTokens)
    span.set("llm.token_count.completion", call.result.outputTokens)
    span.set("agent_eval.cost", call.result.cost.map(ExportSpan.fraction))
    span.set("agent_eval.seq", call.seq)
    if let shown = call.shown {
      span.set("gen_ai.input.messages", shown.text(of: story.identity))
      if shown.omitted > 0 { span.set("agent_eval.input.omitted", shown.omitted) }
    }
    let turn = turns[call.seq]
    putReply(call, turn, in: &span)
    let isDeciding = call.result.purpose == ModelPurpose.decide.rawValue
    if !isDeciding { span.set("agent_eval.model.purpose", call.result.purpose) }
    put(span, of: isDeciding ? turn?.caller : call.result.purpose)
  }

  private func putReply(
    _ call: RunStory.ModelCall, _ turn: RunStory.Turn?, in span: inout ExportSpan
  ) {
    if let error = call.result.error {
      span.set("error.type", "model_error")
      span.failure = error
      return
    }
    let reply = call.result.reply
    // What was answered nobody recorded: an empty reply would be another thing.
    guard turn != nil || reply != nil && reply != .null else { return }
    let text =
      turn?.text ?? reply?.stringValue ?? (reply?["text"] ?? reply?["content"])?.stringValue
    var parts: [JSONValue] = []
    if let reasoning = turn?.reasoning {
      parts.append(["type": "reasoning", "content": .string(reasoning)])
    }
    if let text, !text.isEmpty { parts.append(["type": "text", "content": .string(text)]) }
    for proposed in turn?.calls ?? [] {
      parts.append([
        "type": "tool_call", "id": .string("\(story.identity)/\(proposed.callId)"),
        "name": .string(proposed.name), "arguments": ShownMessages.arguments(proposed.input),
      ])
    }
    let finish = call.result.finishReason ?? (turn?.calls.isEmpty == false ? "tool_call" : "stop")
    span.set(
      "gen_ai.output.messages",
      CanonicalJSON.string(
        [["role": "assistant", "parts": .array(parts), "finish_reason": .string(finish)]],
        form: .plain))
    span.set("gen_ai.response.finish_reasons", [.string(finish)])
    span.set("output.value", text)
    span.set("agent_eval.decision", turn?.kind)
    span.set("agent_eval.problem", turn?.problem)
    if turn?.isRepair == true { span.set("agent_eval.repairs", true) }
  }

  // MARK: Tools

  private mutating func putTool(_ result: RunStory.Result) {
    let call = calls[result.callId]
    let tool = result.tool.isEmpty ? call?.name ?? "" : result.tool
    let attempts = story.attempts[result.callId] ?? []
    var span = ExportSpan(
      trace: trace,
      id: id("call", result.isAgain ? "\(result.callId)#\(result.seq)" : result.callId),
      parent: root, name: "execute_tool \(tool)",
      start: (attempts.first ?? result.started ?? result.at).nanoseconds,
      end: result.at.nanoseconds)
    span.events = attempts.enumerated().map { index, moment in
      ExportSpan.Event(
        name: "agent_eval.attempt", nanoseconds: moment.nanoseconds,
        attributes: [("agent_eval.attempt", JSONValue(index + 1))])
    }
    span.set("gen_ai.operation.name", "execute_tool")
    span.set("openinference.span.kind", "TOOL")
    span.set("gen_ai.tool.name", tool)
    span.set("tool.name", tool)
    span.set("gen_ai.tool.type", "function")
    span.set("gen_ai.tool.call.id", "\(story.identity)/\(result.callId)")
    if let call {
      let input = CanonicalJSON.string(call.input, form: .plain)
      span.set("gen_ai.tool.call.arguments", input)
      span.set("input.value", input)
      span.set("input.mime_type", "application/json")
    }
    span.set("agent_eval.call.status", result.status)
    if result.isData { span.set("agent_eval.call.json", true) }
    let verdict = story.verdicts[result.callId]
    span.set("agent_eval.policy.verdict", verdict?.status)
    span.set("agent_eval.policy.rule", verdict?.ruleId)
    span.set("agent_eval.policy.reason", verdict?.reason)
    if story.granted.contains(result.callId) { span.set("agent_eval.approval.granted", true) }
    let output = RunStory.text(result.content)
    switch result.status {
    case "refused":
      span.set("error.type", "policy_denied")
      span.failure = output
    case "error", "unknown":
      span.set("error.type", result.isEffectUnknown ? "unknown_effect" : "tool_error")
      span.failure = output
    default:
      span.set("gen_ai.tool.call.result", output)
      span.set("output.value", output)
    }
    put(span, of: result.caller ?? callers[result.callId])
  }
}

// MARK: - The log that goes along

extension SpanExport {
  /// A piece of a log, in letters of base64: so that no attribute grows with the run.
  private static let pieceLetters = 8 * 1024

  /// The longest piece that a few spans are made to hold.
  private static let pieceLimitLetters = 4 << 20

  /// Lays the pieces of a log on the spans, and on the root what they belong to.
  ///
  /// - Parameter places: the spans that take them, the root first; `nil` for all. Where these are too few for what there is, the
  ///   log does not go along.
  static func carry(_ log: [UInt8], on spans: inout [ExportSpan], at places: [Int]? = nil) {
    let text = CarriedLog.base64(log)
    let places = places ?? Array(spans.indices)
    guard places.first == 0, !text.isEmpty else { return }
    let wanted = (text.utf8.count + pieceLetters - 1) / pieceLetters
    let count = min(max(1, wanted), places.count)
    let length = (text.utf8.count + count - 1) / count
    guard count == spans.count || length <= pieceLimitLetters else { return }
    spans[0].set("agent_eval.log.visible", CarriedLog.digest(of: visible(spans)))
    spans[0].set("agent_eval.log.parts", count)
    let letters = Array(text.utf8)
    for index in 0..<count {
      let piece = letters[
        min(index * length, letters.count)..<min((index + 1) * length, letters.count)]
      spans[places[index]].set("agent_eval.log", String(decoding: piece, as: UTF8.self))
      spans[places[index]].set("agent_eval.log.part", index)
    }
  }

  /// What can be seen of the spans, as an importer puts it together from what it reads.
  private static func visible(_ spans: [ExportSpan]) -> JSONValue {
    let rows = spans.map { span -> (String, JSONValue) in
      let id = ExportSpan.hex(span.id)
      return (
        id,
        [
          .string(id), .string(span.parent.map(ExportSpan.hex) ?? ""), .string(span.name),
          .object(JSONObject(span.attributes.map { ($0.key, $0.value) })),
          .bool(span.failure != nil),
          .array(
            span.events.map { event in
              [
                .string(event.name),
                .object(JSONObject(event.attributes.map { ($0.key, $0.value) })),
              ]
            }),
        ]
      )
    }
    return .array(rows.sorted { $0.0.precedesByUTF8($1.0) }.map(\.1))
  }
}
