import AgentRuntime
import AgentTrace

/// What events say of a request and its reply.
extension ExchangeRecorder {
  func beginStep(_ turn: Conversations.Turn) throws -> (step: Int, attempt: Int) {
    if turn.isTriedAgain, let last = failed[turn.conversation], last.step == lastStep {
      return (last.step, last.attempt + 1)
    }
    lastStep += 1
    let goal = Self.goal(of: turn.request)
    try append(
      .contextBuilt,
      [
        "runId": .string(start.runId), "goal": goal,
        "prompt": ["messages": .array(shownParts.bounded(turn.messages))],
        "toolsDisclosed": JSONValue(turn.request.tools.compactMap { $0["name"]?.stringValue }),
      ], step: lastStep)
    return (lastStep, 1)
  }

  func modelResult(
    _ turn: Conversations.Turn, _ outcome: Outcome, attempt: Int
  ) -> JSONObject {
    let read = outcome.reply ?? outcome.failed
    var result = ModelResult(
      attempt: attempt, requestDigest: turn.digest,
      reply: outcome.reply?.reply.cut(toBytes: Self.valueLimitBytes), error: outcome.error,
      model: (turn.request.model ?? read?.model)?.prefix(utf8Bytes: Self.nameLimitBytes))
    result.inputTokens = read?.usage?.input
    result.cachedInputTokens = read?.usage?.cachedInput
    result.cacheWriteTokens = read?.usage?.cacheWrite
    result.outputTokens = read?.usage?.output
    result.reasoningTokens = read?.usage?.reasoning
    result.finishReason = read?.finishReason?.prefix(utf8Bytes: Self.nameLimitBytes)
    result.cost = guarding?.rules.cost(
      of: read?.usage, model: read?.model ?? turn.request.model,
      status: outcome.status)
    result.modelVersion = read?.model.flatMap { version in
      result.model?.hasSameUTF8(as: version) ?? false
        ? nil : version.prefix(utf8Bytes: Self.nameLimitBytes)
    }
    result.requestId = (outcome.requestId ?? read?.id)?.prefix(utf8Bytes: Self.nameLimitBytes)
    result.status = outcome.status
    result.responseDigest = outcome.responseDigest
    result.elapsedMicroseconds = outcome.elapsedMicroseconds
    result.wire = outcome.wire.encoded
    return result.encoded
  }

  func append(_ result: Conversations.Result, _ turn: Conversations.Turn) throws {
    let data = result.data.cut(toBytes: Self.valueLimitBytes)
    shownParts.take(result: data)
    let told: ToolResult =
      result.isError
      ? .error(reason: data, isEffectUnknown: false)
      : result.isOfWords ? .returned(data: data) : .ok(data: data)
    let payload = ToolResultPayload(callId: result.callId, tool: result.tool, result: told)
    try append(.toolResult, payload.encoded, step: result.step, of: turn)
  }

  static func goal(of request: ObservedRequest) -> JSONValue {
    for message in request.messages where message["role"] == "user" {
      let texts = (message["content"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
      guard !texts.isEmpty else { continue }
      return JSONValue.string(texts.joined(separator: "\n")).cut(toBytes: valueLimitBytes)
    }
    return .null
  }

  static func listed(_ tools: [JSONValue]) -> JSONObject {
    let bounded = tools.map { LargeEvent.members(of: $0, toBytes: valueLimitBytes) }
    return [
      "source": "agent", "tools": .array(bounded),
      "digest": .string(Digest(of: .array(bounded)).hex),
    ]
  }
}
