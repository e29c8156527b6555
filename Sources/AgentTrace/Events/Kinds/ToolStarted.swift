extension EventType {
  /// A tool is about to run; on disk before it does.
  public static let toolStarted = EventType(rawValue: "tool_started")
}

/// The data of a `tool_started` event.
public struct ToolStartedPayload: Sendable, Hashable {
  /// The call that begins; see ``ProposedCall/callId``.
  public var callId: String
  /// The tool's name.
  public var tool: String
  /// From 1.
  public var attempt: Int
  /// `runId/callId`, the same for every attempt.
  public var idempotencyKey: String
  /// The run that this attempt is, of a tool that is an agent; `nil` for any other.
  public var child: ChildStart?
  /// Whether an earlier attempt of the call left its effect unknown, and none since has told.
  public var isEarlierEffectUnknown = false

  /// The key has to be the same for every attempt of the call.
  public init(
    callId: String, tool: String, attempt: Int, idempotencyKey: String, child: ChildStart? = nil
  ) {
    self.callId = callId
    self.tool = tool
    self.attempt = attempt
    self.idempotencyKey = idempotencyKey
    self.child = child
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    callId = try reader.string("callId")
    tool = try reader.text("tool")
    attempt = try reader.int("attempt")
    idempotencyKey = try reader.string("idempotencyKey")
    child = try reader.optionalObject("child").map(ChildStart.init(decoding:))
    isEarlierEffectUnknown = object[Self.earlierEffect] == "unknown"
  }

  private static let earlierEffect = "earlierEffect"

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("callId", .string(callId)), ("tool", .string(tool)), ("attempt", JSONValue(attempt)),
      ("idempotencyKey", .string(idempotencyKey)), ("child", child.map { .object($0.encoded) }),
      (Self.earlierEffect, isEarlierEffectUnknown ? "unknown" : nil),
    ])
  }

  /// SHA-256 of the canonical form of these data: what a child's start names the event by, beside its number.
  public var digest: Digest { Digest(of: .object(encoded)) }
}

extension ToolStartedPayload: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("callId!", .string, "The call."), DataKey("tool!", .text, "The tool."),
      DataKey("attempt!", .integer, "Which try, from 1."),
      DataKey("idempotencyKey!", .string, "The same for every try."),
      DataKey(
        "child",
        .object([
          DataKey("runId!", .string, "Its identifier."),
          DataKey("limits!", .limits, "What it may use of what is left to this run."),
        ]), "Of a tool that is an agent: the run that this try is."),
      DataKey(
        Self.earlierEffect, .words(["unknown"]),
        "Nobody knows whether an earlier try did its work."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let doubt = isEarlierEffectUnknown ? " (nobody knows what an earlier one did)" : ""
    let again =
      attempt > 1 ? [EventLine("retry", .warning, "\(tool), attempt \(attempt)\(doubt)")] : []
    let run = child.map { child in
      [EventLine("child", .faint, "\(tool) runs as \(child.runId)", tail: callId)]
    }
    return again + (run ?? [])
  }
}
