extension EventType {
  /// A tool's circuit breaker opened, closed or let one call through.
  public static let breakerChanged = EventType(rawValue: "breaker_changed")
}

/// The data of a `breaker_changed` event.
public struct BreakerChanged: Sendable, Hashable {
  /// The states of a circuit breaker.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// Calls go through.
    case closed
    /// Calls are refused.
    case open
    /// One call goes through, to see how it fares.
    case halfOpen = "half_open"
  }

  /// The tool whose breaker it is.
  public var tool: String
  /// What the breaker is from now on.
  public var state: State
  /// Failures in a row so far.
  public var failures: Int

  /// What the breaker of a tool is from the event on.
  public init(tool: String, state: State, failures: Int) {
    self.tool = tool
    self.state = state
    self.failures = failures
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    tool = try reader.text("tool")
    state = try reader.enumeration("state", State.self, "closed, open or half_open")
    failures = try reader.int("failures")
  }

  /// The wire form.
  public var encoded: JSONObject {
    [
      "tool": .string(tool), "state": .string(state.rawValue), "failures": JSONValue(failures),
    ]
  }
}

extension BreakerChanged: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("tool!", .text, "The tool."),
      DataKey("state!", .words(BreakerChanged.State.allCases.map(\.rawValue)), "Its state now."),
      DataKey("failures!", .count, "Failures in a row so far."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    [EventLine("breaker", .warning, "\(tool) is \(state.rawValue)")]
  }
}
