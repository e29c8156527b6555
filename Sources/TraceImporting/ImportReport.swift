public import AgentTrace

/// What became of one run of a foreign file.
public struct ImportReport: Sendable, Hashable {
  /// How it went.
  public enum Outcome: Sendable, Hashable {
    /// The run is in this log, and this is what stands there.
    case imported(log: String, RunCounts)
    /// Nothing was written.
    case failed(ImportError)
  }

  /// The file: the path that was named, joined with the place below it.
  public var source: String
  /// Which run of the file, from 0; `nil` in formats that hold one run a file, and where the file as a
  /// whole failed.
  public var index: Int?
  /// What became of it.
  public var outcome: Outcome
  /// The format that it was read as; `nil` where none fits.
  public var format: ImportFormat?

  /// The report as `import --json` prints it.
  public var json: JSONValue {
    let index = index.map { JSONValue($0) } ?? .null
    switch outcome {
    case .imported(let log, let counts):
      var object: JSONObject = [
        "source": .string(source), "index": index, "log": .string(log),
        "messages": JSONValue(counts.messages), "toolCalls": JSONValue(counts.toolCalls),
        "userToolCalls": JSONValue(counts.userToolCalls),
        "parallelTurns": JSONValue(counts.parallelTurns),
        "toolErrors": JSONValue(counts.toolErrors),
        "stopReason": counts.stopReason.map(JSONValue.string) ?? .null,
      ]
      if !counts.unread.isEmpty { object["unread"] = JSONValue(counts.unread) }
      if !counts.missing.isEmpty { object["missing"] = JSONValue(counts.missing) }
      return .object(object)
    case .failed(let error):
      return ["source": .string(source), "index": index, "error": .string("\(error)")]
    }
  }
}

/// What stands in an imported log, counted from its events.
public struct RunCounts: Sendable, Hashable {
  /// Messages of the source that some event carries.
  public private(set) var messages = 0
  /// Calls that the agent's decisions propose.
  public private(set) var toolCalls = 0
  /// Calls that others' decisions propose, such as a simulated user's.
  public private(set) var userToolCalls = 0
  /// Decisions of the agent with several calls.
  public private(set) var parallelTurns = 0
  /// Results in error, whoever made the call.
  public private(set) var toolErrors = 0
  /// The last stop's reason, where there is one.
  public private(set) var stopReason: String?
  /// The first places of the source where something stands that may be a call and was not read: pointers.
  public private(set) var unread: [String] = []
  /// What the source speaks of and does not hold, in words: calls may have been made there.
  public private(set) var missing: [String] = []

  private var pointers: Set<JSONValue> = []

  /// The counts of no events.
  public init() {}

  /// Takes in the next event.
  public mutating func apply(_ event: Event) {
    for pointer in event.data["source"]?["pointers"]?.arrayValue ?? [] {
      if pointers.insert(pointer).inserted { messages += 1 }
    }
    switch event.type {
    case .runStarted:
      let unread = event.data["source"]?["unread"]?.arrayValue ?? []
      self.unread = unread.compactMap(\.stringValue)
      let missing = event.data["source"]?["missing"]?.arrayValue ?? []
      self.missing = missing.compactMap(\.stringValue)
    case .decision:
      guard event.data["kind"] == "tool" else { return }
      let calls = event.data["calls"]?.arrayValue?.count ?? 0
      if event.data["caller"] == nil {
        toolCalls += calls
        if calls > 1 { parallelTurns += 1 }
      } else {
        userToolCalls += calls
      }
    case .toolResult: if event.data["status"] == "error" { toolErrors += 1 }
    case .stop: stopReason = event.data["reason"]?.stringValue
    default: break
    }
  }
}
