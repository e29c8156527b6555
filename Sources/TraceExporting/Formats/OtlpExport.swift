import AgentTrace

/// Requests of OTLP, in protocol buffers and in JSON: one for each run.
enum OtlpExport {
  /// What all spans of a run say of where they come from.
  private static func resource(_ story: RunStory) -> [(key: String, value: JSONValue)] {
    [
      ("service.name", .string(story.agentName.isEmpty ? "agent" : story.agentName)),
      ("telemetry.sdk.name", "agent-eval"),
    ]
  }

  /// A line of JSON, as collectors write it to files.
  static func json(_ spans: [ExportSpan], of story: RunStory, version: String) -> JSONValue {
    [
      "resourceSpans": [
        [
          "resource": ["attributes": ExportSpan.json(resource(story))],
          "scopeSpans": [
            [
              "scope": ["name": "agent-eval", "version": .string(version)],
              "spans": .array(spans.map(\.json)),
            ]
          ],
        ]
      ]
    ]
  }

  /// The message `ExportTraceServiceRequest`. Several of them one behind the other are one, too.
  static func message(_ spans: [ExportSpan], of story: RunStory, version: String) -> [UInt8] {
    var scope = Protobuf()
    scope.text(1, "agent-eval")
    scope.text(2, version)
    var scopeSpans = Protobuf()
    scopeSpans.message(1, scope)
    for span in spans { scopeSpans.message(2, span.message) }
    var inner = Protobuf()
    for attribute in resource(story) { inner.message(1, ExportSpan.keyValue(attribute)) }
    var resourceSpans = Protobuf()
    resourceSpans.message(1, inner)
    resourceSpans.message(2, scopeSpans)
    var request = Protobuf()
    request.message(1, resourceSpans)
    return request.encoded
  }
}
