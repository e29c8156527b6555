public import AgentTrace
import TraceMatching

/// What a run is, in the words by which cases choose among many.
public struct RunDescription: Sendable, Hashable {
  /// The agent's name; empty where nobody says.
  public var agent = ""
  /// Words to find the run by.
  public var tags: [String] = []
  /// The tools that were called or proposed, each once, in order.
  public var tools: [String] = []
  /// The format that it was imported from; `nil` for a run of our own.
  public var format: String?
  /// What its source says of it in a word or figure.
  public var labels: JSONObject = [:]
  /// Whether all its calls are recorded, and nothing of the run is missing.
  public var hasAllCalls = true

  /// A run of which nothing is known.
  public init() {}

  /// Takes in the data of a `run_started`.
  public mutating func apply(runStarted data: JSONObject) {
    agent = data["agent"]?["name"]?.stringValue ?? ""
    tags = (data["tags"]?.arrayValue ?? []).compactMap(\.stringValue)
    format = data["source"]?["format"]?.stringValue
    labels = data["source"]?["labels"]?.objectValue ?? [:]
  }
}

/// The `where` of a case: which of many runs it is judged on. All that is said has to hold.
public struct RunFilter: Sendable {
  /// The agent's name is like one of these, `nil` for an agent without a name; empty for any.
  var agents: [Glob?] = []
  /// The run has all of these.
  var tags: [String] = []
  /// For each of these there is a tool that was called or proposed.
  var tools: [Glob] = []
  /// The format is like one of these, `nil` for runs of our own; empty for any.
  var formats: [Glob?] = []
  /// Whether all calls of the run are recorded; `nil` for either.
  var hasAllCalls: Bool?
  /// The source says exactly this; numbers count by their value.
  var labels: JSONObject = [:]

  init() {}

  /// Whether a run has to be read beyond its beginning.
  public var asksForCalls: Bool { !tools.isEmpty || hasAllCalls != nil }

  /// Whether a run is one of those that are meant.
  public func matches(_ run: RunDescription) -> Bool {
    (agents.isEmpty || agents.contains { $0?.matches(run.agent) ?? run.agent.isEmpty })
      && tags.allSatisfy { tag in run.tags.contains { $0.hasSameUTF8(as: tag) } }
      && tools.allSatisfy { glob in run.tools.contains { glob.matches($0) } }
      && (formats.isEmpty
        || formats.contains { $0.map { $0.matches(run.format ?? "") } ?? (run.format == nil) })
      && (hasAllCalls.map { $0 == run.hasAllCalls } ?? true)
      && labels.allSatisfy { run.labels[$0.key]?.byValue == $0.value.byValue }
  }
}

/// The keys of `where`.
enum RunFilterFile {
  static let shape = Shape<RunFilter>.record(
    RunFilter(),
    [
      Field(
        "agent", .oneOrMore(of: globOrNothing), \.agents,
        "Globs; the agent's name is like one of them, and an empty text is an agent without a name."
      ),
      Field("tags", .oneOrMore(of: .name), \.tags, "Tags that the run has, all of them."),
      Field(
        "tools", .oneOrMore(of: .glob), \.tools,
        "Globs; for each of them a tool was called or proposed."),
      Field(
        "format", .oneOrMore(of: globOrNothing), \.formats,
        "Globs; the run was imported from a format like one of them, and an empty text is a run of our own."
      ),
      Field(
        "calls", calls, \.hasAllCalls,
        "whole: all calls of the run are recorded; partial: some may not be."),
      Field("labels", labels, \.labels, "What the run's source says of it, word for word."),
    ])

  private static let calls = Shape<Bool?>(["enum": ["whole", "partial"]]) { value, reader in
    if value == "whole" { return .some(true) }
    if value == "partial" { return .some(false) }
    return reader.refuseKind(of: value, expected: "“whole” or “partial”")
  }

  /// A glob, or an empty text.
  private static let globOrNothing = Shape<Glob?>(["type": "string"]) { value, reader in
    if value == "" { return .some(nil) }
    return Shape<Glob>.glob.read(value, reader).map(Optional.some)
  }

  private static let labels = Shape<JSONObject>([
    "type": "object", "additionalProperties": ["type": ["string", "number", "boolean"]],
  ]) { value, reader in
    guard let object = Shape<JSONObject>.mapping.read(value, reader) else { return nil }
    for member in object {
      switch member.value {
      case .string, .number, .bool: break
      default:
        return reader.refuse(
          "should be a text, a number or a truth value", deeper: [.key(member.key)])
      }
    }
    return object
  }
}
