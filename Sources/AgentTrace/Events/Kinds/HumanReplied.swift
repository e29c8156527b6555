extension EventType {
  /// A person, or one simulated, spoke.
  public static let humanReplied = EventType(rawValue: "human_replied")
}

/// The data of a `human_replied` event.
public struct HumanReplied: Sendable, Hashable {
  /// A string, unless it was lost, cut or no UTF-8.
  public var text: JSONValue
  /// Who spoke; `nil` where that was not recorded.
  public var by: String?
  /// The number of the event that asked.
  public var replyTo: Int?
  /// The number of the `model_result` that it was read from, where a model played the person.
  public var modelResult: Int?

  /// Without more, nobody knows who spoke and what was asked.
  public init(
    text: JSONValue, by: String? = nil, replyTo: Int? = nil, modelResult: Int? = nil
  ) {
    self.text = text
    self.by = by
    self.replyTo = replyTo
    self.modelResult = modelResult
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    guard let text = object["text"] else { throw reader.error("text", "a string") }
    self.text = text
    by = try reader.optionalString("by")
    replyTo = try reader.optionalInt("replyTo")
    modelResult = try reader.optionalInt("modelResult")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("text", text), ("by", by.map(JSONValue.string)), ("replyTo", replyTo.map { JSONValue($0) }),
      ("modelResult", modelResult.map { JSONValue($0) }),
    ])
  }
}

extension HumanReplied: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("text!", .any, "What they said."), DataKey("by", .string, "Who."),
      DataKey("replyTo", .count, "The event that asked."),
      DataKey("modelResult", .count, "The reply it was read from, where a model played them."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let speaker = by.map { "\($0): " } ?? ""
    return [EventLine("human", .heading, "\(speaker)\(text)")]
  }
}
