public import AgentTrace

/// What exporters post, by where they post it.
public enum ReceivedRoute: Sendable, Hashable {
  /// Spans in OTLP.
  case traces
  /// Log records in OTLP.
  case logs
  /// Metrics in OTLP, which no run is made of.
  case metrics
  /// What the OpenAI Agents SDK exports of itself.
  case openAIAgents
  /// Runs that LangSmith's clients post; of a single one that is changed, with its id.
  case langSmith(patched: String?)
  /// What LangSmith's clients ask a server about itself before they post.
  case langSmithInfo

  /// The route of a request; `nil` where no exporter that is known posts there. What stands before the ends of these
  /// paths is left to whoever set the exporter up: `/api/public/otel/v1/traces` is Langfuse's.
  public init?(method: String, target: String) {
    let path = target.prefix { $0 != "?" && $0 != "#" }
    let parts = path.split(separator: "/", omittingEmptySubsequences: true)
    let end = parts.suffix(2).joined(separator: "/")
    switch (method, end, parts.last) {
    case ("POST", "v1/traces", _): self = .traces
    case ("POST", "v1/logs", _): self = .logs
    case ("POST", "v1/metrics", _): self = .metrics
    case ("POST", "traces/ingest", _): self = .openAIAgents
    case ("POST", "runs/batch", _), ("POST", "runs/multipart", _), ("POST", _, "runs"):
      self = .langSmith(patched: nil)
    case ("PATCH", _, let id?) where parts.dropLast().last == "runs":
      self = .langSmith(patched: String(id))
    case ("GET", _, "info"): self = .langSmithInfo
    default: return nil
    }
  }

  /// Whether some method other than the one that was used would lead somewhere.
  public static func takes(target: String) -> Bool {
    ["POST", "PATCH", "GET"].contains { ReceivedRoute(method: $0, target: target) != nil }
  }

  /// What bodies may be, by the beginnings of their types; empty where there is none.
  public var contentTypes: [String] {
    switch self {
    case .traces, .logs, .metrics: ["application/x-protobuf", "application/protobuf", jsonType]
    case .openAIAgents: [jsonType]
    case .langSmith: [jsonType, "multipart/form-data"]
    case .langSmithInfo: []
    }
  }

  private var jsonType: String { "application/json" }

  /// What LangSmith's clients are told about the server: that runs may come in parts, several at once, and not packed
  /// with Zstandard.
  public static let aboutLangSmith: JSONValue = [
    "version": "0.10.0",
    "batch_ingest_config": [
      "use_multipart_endpoint": true, "scale_up_qsize_trigger": 1000,
      "scale_up_nthreads_limit": 4, "scale_down_nempty_trigger": 4, "size_limit": 100,
      "size_limit_bytes": JSONValue(20 << 20),
    ],
    "instance_flags": ["zstd_compression_enabled": false],
  ]
}
