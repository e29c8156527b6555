/// A form that other tools read, and that runs are written in. Raw values are what a user types.
public enum ExportFormat: String, Sendable, Hashable, CaseIterable {
  /// Requests of OTLP in protocol buffers.
  case otlp
  /// The same in JSON, a line for each run.
  case otlpJSON = "otlp-json"
  /// The Agent Trajectory Interchange Format, 1.8.
  case atif
  /// A log of Inspect, `.eval`.
  case inspect
  /// Messages of the chat-completion interface.
  case openAI = "openai"
  /// Messages of Anthropic's interface.
  case anthropic
  /// Chrome's trace events, for Perfetto.
  case chromeTrace = "chrome-trace"
  /// Tables of runs, calls and outcomes.
  case csv
  /// The same as a line of JSON for each row.
  case ndjson

  /// The ending of a file's name.
  public var ending: String {
    switch self {
    case .otlp: ".pb"
    case .otlpJSON: ".otlp.jsonl"
    case .atif, .openAI, .anthropic: ".json"
    case .inspect: ".eval"
    case .chromeTrace: ".trace.json"
    case .csv: ".csv"
    case .ndjson: ".ndjson"
    }
  }

  /// Whether a file of this format may hold many runs.
  public var holdsMany: Bool { self != .atif }

  /// Whether it is a table, of which there are several.
  public var isTable: Bool { self == .csv || self == .ndjson }

  /// Whether the run's own log goes along, so that nothing is lost.
  public var carriesLogs: Bool { !isTable && self != .chromeTrace }

  /// Whether runs are spans in it.
  var hasSpans: Bool { self == .otlp || self == .otlpJSON }

  /// Whether it is no text.
  public var isBinary: Bool { self == .otlp || self == .inspect }

  /// What it is and what becomes of a run in it, for people who ask.
  public var summary: String {
    switch self {
    case .otlp:
      "requests of OTLP in protocol buffers: gen_ai and OpenInference attributes, a trace a run"
    case .otlpJSON: "the same in JSON, a line for each run, as collectors write files"
    case .atif: "trajectories of ATIF 1.8, a file a run"
    case .inspect: "a log of Inspect (.eval), a sample a run"
    case .openAI: "messages of the chat-completion interface, a run a line"
    case .anthropic: "messages of Anthropic's interface, a run a line"
    case .chromeTrace: "Chrome's trace events, for Perfetto, a process a run"
    case .csv: "tables of runs, calls and outcomes as CSV"
    case .ndjson: "the same tables as lines of JSON"
    }
  }
}
