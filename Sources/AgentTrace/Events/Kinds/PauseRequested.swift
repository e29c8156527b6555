extension EventType {
  /// Of a pipeline it is wished that it pauses: nothing new begins.
  public static let pauseRequested = EventType(rawValue: "pause_requested")
}

/// The data of a `pause_requested` event: what is under way ends by itself, and nothing new begins.
public struct PauseRequested: Sendable, Hashable {
  /// How the wish came: the name of a signal, or `pause` for a word of another process.
  public var by: String

  /// Nothing else is known.
  public init(by: String) { self.by = by }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` where the key is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    by = try PayloadReader(object).string("by")
  }

  /// The wire form.
  public var encoded: JSONObject { ["by": .string(by)] }
}

extension PauseRequested: EventData {
  package static var keys: [DataKey] {
    [DataKey("by!", .string, "The name of a signal, or pause for a word of another process.")]
  }

  package func lines(in event: Event) -> [EventLine] {
    [EventLine("pausing", .warning, "by \(by)")]
  }
}
