extension EventType {
  /// A log was opened again to go on.
  public static let runResumed = EventType(rawValue: "run_resumed")
}

/// The data of a `run_resumed` event.
public struct RunResumed: Sendable, Hashable {
  /// The reason in words.
  public var why: String
  /// Where a torn log was cut, in bytes of the file; `nil` where nothing was torn.
  public var cutAt: Int?
  /// How many bytes of a torn end were cut off; `nil` where nothing was torn.
  public var bytesDropped: Int?
  /// SHA-256 of the agent file that goes on, where it is not the one from before.
  public var agentDigest: String?
  /// SHA-256 of the policy file that goes on, where it is not the one from before.
  public var policyDigest: String?
  /// How each model is asked from here on, where that is not as before; see ``RunStarted/models``.
  public var models: JSONObject = [:]
  /// Who said what the agent file that goes on does not; see ``RunStarted/origins``.
  public var origins: JSONObject = [:]
  /// What else the files that go on say, where they are not those from before; see
  /// ``RunStarted/inputs``.
  public var inputs: JSONObject = [:]

  /// The same agent and policy go on, unless digests are set afterwards.
  public init(why: String, cutAt: Int? = nil, bytesDropped: Int? = nil) {
    self.why = why
    self.cutAt = cutAt
    self.bytesDropped = bytesDropped
  }

  /// Whether another agent file or policy goes on: then both digests are told, `nil` for what stands in
  /// no file of its own.
  public var changesFiles: Bool { agentDigest != nil || policyDigest != nil }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    why = try reader.text("why")
    cutAt = try reader.optionalInt("cutAt")
    bytesDropped = try reader.optionalInt("bytesDropped")
    agentDigest = try reader.optionalString("agentDigest")
    policyDigest = try reader.optionalString("policyDigest")
    models = try reader.optionalObject("models") ?? [:]
    origins = try reader.optionalObject("origins") ?? [:]
    inputs = try reader.optionalObject("inputs") ?? [:]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("why", .string(why)), ("cutAt", cutAt.map { JSONValue($0) }),
      ("bytesDropped", bytesDropped.map { JSONValue($0) }),
      ("agentDigest", agentDigest.map(JSONValue.string)),
      ("policyDigest", policyDigest.map(JSONValue.string)),
      ("models", models.isEmpty ? nil : .object(models)),
      ("origins", origins.isEmpty ? nil : .object(origins)),
      ("inputs", inputs.isEmpty ? nil : .object(inputs)),
    ])
  }
}

extension RunResumed: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("why!", .text, "Why."), DataKey("cutAt", .count, "Where a torn log was cut."),
      DataKey("bytesDropped", .count, "How much was cut off."),
      DataKey(
        "agentDigest", .string, "SHA-256 of the agent file that goes on, where it is another."),
      DataKey(
        "policyDigest", .string, "SHA-256 of the policy file that goes on, where it is another."),
      DataKey(
        "models", .mapping, "How each model is asked from here on, where that is not as before."),
      DataKey("origins", .mapping, "Who said what the agent file that goes on does not."),
      DataKey("inputs", .mapping, "What else the files that go on say, where they are others."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    [EventLine("resumed", .heading, "\(why)")]
  }
}
