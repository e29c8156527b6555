extension EventType {
  /// A note was looked up.
  public static let memoryRead = EventType(rawValue: "memory_read")
  /// A note was kept.
  public static let memoryWritten = EventType(rawValue: "memory_written")
}

/// The data of a `memory_read` or `memory_written` event.
public struct MemoryNote: Sendable, Hashable {
  /// `run`, `agent`, `actor` or `tenant`.
  public var scope: String
  /// What the note is found by within its scope.
  public var key: String
  /// `nil` when there was none, or none is left.
  public var value: JSONValue?
  /// The call that read or wrote it; `nil` outside of one.
  public var callId: String?
  /// Where a note came from that was read when the run started: `store`; `nil` where the agent file
  /// says it.
  public var source: String?
  /// Words that it is found by besides its text.
  public var tags: [String] = []
  /// From when on it counts as not kept, in UTC; `nil` for never.
  public var expires: String?
  /// When it was kept, in UTC, of a note that is read; `nil` where nobody says.
  public var keptAt: String?
  /// Which event of which run kept it, of a note that is read; `nil` where nobody says.
  public var from: Origin?

  /// The event that kept a note.
  public struct Origin: Sendable, Hashable {
    /// The run.
    public var runId: String
    /// The number of the event there.
    public var seq: Int

    /// The wire form is `{"runId","seq"}`.
    public init(runId: String, seq: Int) {
      self.runId = runId
      self.seq = seq
    }
  }

  /// Without more, a note that no call read or wrote.
  public init(
    scope: String, key: String, value: JSONValue?, callId: String? = nil, source: String? = nil
  ) {
    self.scope = scope
    self.key = key
    self.value = value
    self.callId = callId
    self.source = source
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    scope = try reader.string("scope")
    key = try reader.string("key")
    value = object["value"]
    callId = try reader.optionalString("callId")
    source = try reader.optionalString("source")
    tags = try reader.strings("tags")
    expires = try reader.optionalString("expires")
    keptAt = try reader.optionalString("keptAt")
    if let origin = try reader.optionalObject("from") {
      let reader = PayloadReader(origin, path: "from")
      from = Origin(runId: try reader.string("runId"), seq: try reader.int("seq"))
    }
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("scope", .string(scope)), ("key", .string(key)), ("value", value),
      ("callId", callId.map(JSONValue.string)), ("source", source.map(JSONValue.string)),
      ("tags", tags.isEmpty ? Optional.none : .some(JSONValue(tags))),
      ("expires", expires.map(JSONValue.string)),
      ("keptAt", keptAt.map(JSONValue.string)),
      ("from", from.map { ["runId": .string($0.runId), "seq": JSONValue($0.seq)] }),
    ])
  }
}

extension MemoryNote: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("scope!", .string, "run, agent, actor or tenant."),
      DataKey("key!", .string, "What it is found by."),
      DataKey("value", .any, "The note; absent where there is none, or none is left."),
      DataKey("callId", .string, "The call that did it."),
      DataKey("source", .string, "store, where it was not the agent file that said it."),
      DataKey("tags", .list(.string), "Words that it is found by."),
      DataKey("expires", .string, "From when on it counts as not kept, in UTC."),
      DataKey("keptAt", .string, "When it was kept, in UTC, of one that is read."),
      DataKey(
        "from",
        .object([DataKey("runId!", .string, "The run."), DataKey("seq!", .integer, "Its number.")]),
        "Which event kept it, of one that is read."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let verb = event.type == .memoryWritten ? "wrote" : "read"
    let note: EventText =
      value.map { "\(verb) \(scope)/\(key): \($0)" } ?? "\(verb) \(scope)/\(key): nothing"
    return [EventLine("memory", .faint, note)]
  }
}
