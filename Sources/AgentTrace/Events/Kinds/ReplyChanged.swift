extension EventType {
  /// Of a proxy: calls were taken out of a reply before whoever asked saw it.
  public static let replyChanged = EventType(rawValue: "reply_changed")
}

/// The data of a `reply_changed` event: calls were taken out of a model's reply before whoever asked saw it.
public struct ReplyChanged: Sendable, Hashable {
  /// The number of the `model_result` that holds the reply as it came.
  public var modelResult: Int
  /// The calls that were taken out, in their order.
  public var removed: [String]
  /// What whoever asked was given, as it went over the wire.
  public var wire: JSONObject

  /// `modelResult` is the number of the event that holds the calls taken out.
  public init(modelResult: Int, removed: [String], wire: JSONObject) {
    self.modelResult = modelResult
    self.removed = removed
    self.wire = wire
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    modelResult = try reader.int("modelResult")
    removed = try reader.strings("removed")
    wire = try reader.optionalObject("wire") ?? [:]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("modelResult", JSONValue(modelResult)), ("removed", JSONValue(removed)),
      ("wire", wire.isEmpty ? nil : .object(wire)),
    ])
  }
}

extension ReplyChanged: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("modelResult!", .count, "The event that holds the reply as it came."),
      DataKey("removed!", .list(.string), "The calls that were taken out."),
      DataKey("wire", .wire, "What whoever asked was given."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let calls = removed.joined(separator: ", ")
    return [EventLine("taken out", .warning, "of the reply before it was handed on: \(calls)")]
  }
}
