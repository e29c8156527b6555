extension EventType {
  /// Something went by that could not be read, and may have held what the log then lacks.
  public static let unseen = EventType(rawValue: "unseen")
}

/// The data of an `unseen` event: something went by that could not be read, and what the log may lack of it.
///
/// Whoever judges the run takes the channels to be as little whole as the worst that the run says of them.
public struct Unseen: Sendable, Hashable {
  /// What it was that went by.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A reply of a model, whole or in part.
    case reply
    /// A request to a model.
    case request
    /// A request of which nobody knows what it asks for.
    case forwarded
    /// A command that asked no model by the way that is watched.
    case command
    /// The log of a run that a call of a tool is which is an agent: told by whoever reads the tree, in no log.
    case child
    /// Connections by another way than the one that is watched.
    case connections
  }

  /// A ``Kind``, or a word that this version does not know.
  public var what: String
  /// The channels that it may have touched, as `run_started` names them; empty for a mere note.
  public var channels: RecordedChannels
  /// Why it could not be read, in words.
  public var reason: String
  /// Who spoke; `nil` for the agent, or where that is not known.
  public var caller: String?
  /// The number of the `model_result` that it belongs to; `nil` where there is none.
  public var modelResult: Int?

  /// Without more, it belongs to no reply that is recorded.
  public init(
    _ what: Kind, _ channels: RecordedChannels, reason: String, caller: String? = nil,
    modelResult: Int? = nil
  ) {
    self.what = what.rawValue
    self.channels = channels
    self.reason = reason
    self.caller = caller
    self.modelResult = modelResult
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    what = try reader.string("what")
    channels = RecordedChannels(try reader.optionalObject("channels") ?? [:])
    reason = try reader.text("reason")
    caller = try reader.optionalString("caller")
    modelResult = try reader.optionalInt("modelResult")
  }

  /// The channels that the data of an event name: all that may hold calls where they cannot be read.
  public static func channels(in data: JSONObject) -> RecordedChannels {
    data["channels"]?.objectValue.map { RecordedChannels($0) } ?? ["calls": "partial"]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("what", .string(what)), ("channels", .object(channels.object)), ("reason", .string(reason)),
      ("caller", caller.map(JSONValue.string)), ("modelResult", modelResult.map { JSONValue($0) }),
    ])
  }
}

extension Unseen: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("what!", .string, "What it was: reply, request, forwarded, command or connections."),
      DataKey(
        "channels!", .mapping,
        "none or partial for each channel that may lack it, as in run_started; empty for a note."),
      DataKey("reason!", .text, "Why it could not be read."),
      DataKey("caller", .string, "Who spoke; the agent without it."),
      DataKey("modelResult", .count, "The event with the reply."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let lacking = channels.isEmpty ? "" : " (\(channels.words))"
    return [EventLine("unseen", .warning, "\(reason)\(lacking)")]
  }
}
