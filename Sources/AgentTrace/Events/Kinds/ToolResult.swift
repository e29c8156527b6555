extension EventType {
  /// What became of a call.
  public static let toolResult = EventType(rawValue: "tool_result")
}

/// What became of a call.
public enum ToolResult: Sendable, Hashable {
  /// The tool ran and returned this.
  case ok(data: JSONValue)
  /// The tool ran and returned this, and nobody says whether it succeeded: of a source that does not tell.
  case returned(data: JSONValue)
  /// The call never began: policy, a person, a limit or a breaker stood in its way.
  case refused(reason: String)
  /// The tool failed. `isEffectUnknown` when one that is not read-only was cut off, so that nobody
  /// knows whether it did its work.
  case error(reason: JSONValue, isEffectUnknown: Bool)
}

extension ToolResult {
  /// The word for this result on the wire: `ok`, `returned`, `refused` or `error`.
  public var status: String {
    switch self {
    case .ok: "ok"
    case .returned: "returned"
    case .refused: "refused"
    case .error: "error"
    }
  }

  /// A failure with a reason in words.
  public static func error(_ reason: String, isEffectUnknown: Bool = false) -> ToolResult {
    .error(reason: .string(reason), isEffectUnknown: isEffectUnknown)
  }
}

/// The data of a `tool_result` event.
public struct ToolResultPayload: Sendable, Hashable {
  /// The call that it ends; see ``ProposedCall/callId``.
  public var callId: String
  /// The tool's name.
  public var tool: String
  /// Who made the call; `nil` means the agent.
  public var caller: String?
  /// Whether a simulated user made the call; see ``DecisionPayload/isOfUser``.
  public var isOfUser = false
  /// The person who said what became of the call, where no tool did; `nil` for a tool's own result.
  public var by: String?
  /// See ``ProposedCall/executedBy``.
  public var executedBy: String?
  /// What became of the call, its attempts taken together.
  public var result: ToolResult
  /// The signal that cut the call off, or kept it from being made: then ``result`` says nothing about the tool.
  /// `nil` where none did, and in logs of programs that did not say so.
  public var signal: String?
  /// How often the tool was started for this call; `nil` where that was not recorded.
  public var attempts: Int?
  /// How long the last attempt took; `nil` where that was not recorded.
  public var elapsedMicroseconds: Int?
  /// How the run ended that the call was, of a tool that is an agent; `nil` for any other.
  public var child: ChildEnd?

  /// Without more, a call of the agent's, of which nobody knows attempts and time.
  public init(
    callId: String, tool: String, caller: String? = nil, result: ToolResult, attempts: Int? = nil,
    elapsedMicroseconds: Int? = nil
  ) {
    self.callId = callId
    self.tool = tool
    self.caller = caller
    self.result = result
    self.attempts = attempts
    self.elapsedMicroseconds = elapsedMicroseconds
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    callId = try reader.string("callId")
    tool = try reader.text("tool")
    caller = try reader.optionalString("caller")
    isOfUser = try reader.optionalBool(SimulatedUser.key) ?? false
    by = try reader.optionalString("by")
    executedBy = try reader.optionalString("executedBy")
    signal = try reader.optionalString("signal")
    attempts = try reader.optionalInt("attempts")
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds")
    child = try reader.optionalObject("child").map(ChildEnd.init(decoding:))
    switch try reader.string("status") {
    case "ok": result = .ok(data: object["data"] ?? .null)
    case "returned": result = .returned(data: object["data"] ?? .null)
    case "refused": result = .refused(reason: try reader.text("reason"))
    case "error":
      result = .error(
        reason: object["reason"] ?? .null, isEffectUnknown: object["effect"] == "unknown")
    default: throw reader.error("status", "ok, returned, refused or error")
    }
  }

  /// The wire form.
  public var encoded: JSONObject {
    var object = JSONObject(present: [
      ("callId", .string(callId)), ("tool", .string(tool)),
      ("caller", caller.map(JSONValue.string)), ("by", by.map(JSONValue.string)),
      ("executedBy", executedBy.map(JSONValue.string)), ("status", .string(result.status)),
      ("signal", signal.map(JSONValue.string)),
      ("attempts", attempts.map { JSONValue($0) }),
      ("elapsedMicroseconds", elapsedMicroseconds.map { JSONValue($0) }),
      ("child", child.map { .object($0.encoded) }),
    ])
    if isOfUser { object[SimulatedUser.key] = true }
    switch result {
    case .ok(let data), .returned(let data): object["data"] = data
    case .refused(let reason): object["reason"] = .string(reason)
    case .error(let reason, let isEffectUnknown):
      object["reason"] = reason
      if isEffectUnknown { object["effect"] = "unknown" }
    }
    return object
  }
}

extension ToolResultPayload: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("callId!", .string, "The call."), DataKey("tool!", .text, "The tool."),
      DataKey("caller", .string, "Who made the call; the agent without it."),
      DataKey(SimulatedUser.key, .boolean, "Whether a simulated user made it."),
      DataKey("by", .string, "The person who said what became of it, where no tool did."),
      DataKey("executedBy", .string, "Who ran it, where that is not who runs the agent: provider."),
      DataKey("status!", .words(["ok", "returned", "refused", "error"]), "How it ended."),
      DataKey("data", .any, "What the tool returned."), DataKey("reason", .any, "Why it did not."),
      DataKey("effect", .words(["unknown"]), "Nobody knows whether it did its work."),
      DataKey(
        "signal", .string, "The signal that cut it off, or kept it from being made; not the tool."),
      DataKey("attempts", .integer, "How often the tool was started."),
      DataKey("elapsedMicroseconds", .count, "How long it took."),
      DataKey(
        "child",
        .object([
          DataKey("runId!", .string, "Its identifier."),
          DataKey(
            "stop!",
            .object([
              DataKey("reason!", .words(StopReason.names), "The kind of end."),
              DataKey("detail", .string, "What exactly."),
            ]), "Why it stopped."),
          DataKey("totals!", .totals, "What it used, with what its own children used."),
          DataKey("sealDigest!", .string, "The digest of the last seal of its log."),
          DataKey(
            "effect", .words(["unknown"]),
            "Nobody knows of one of its calls whether it did its work."
          ),
        ]), "Of a tool that is an agent: how the run ended that the call was."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let elapsed = elapsedMicroseconds ?? 0
    let time = elapsed > 0 ? Figures.duration(microseconds: elapsed) : ""
    let tail = [callId, time].filter { !$0.isEmpty }.joined(separator: " ")
    switch result {
    case .ok(let data):
      let doubt =
        child?.isEffectUnknown ?? false ? " (nobody knows what one of its calls did)" : ""
      return [EventLine("ok", .good, "\(tool) → \(data)\(doubt)", tail: tail)]
    case .returned(let data):
      return [EventLine("returned", .faint, "\(tool) → \(data)", tail: tail)]
    case .refused(let reason):
      return [EventLine("refused", .warning, "\(tool): \(reason)", tail: tail)]
    case .error(let reason, let isEffectUnknown):
      let effect = isEffectUnknown ? "effect unknown: " : ""
      return [EventLine("error", .bad, "\(tool): \(effect)\(reason)", tail: tail)]
    }
  }
}
