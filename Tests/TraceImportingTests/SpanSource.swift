import AgentTrace

/// Small traces in OTLP, written by hand: spans with attributes, as requests in JSON.
struct SpanSource {
  struct Span {
    var id: String
    var parent: String?
    var name: String
    var start: Int
    var end: Int
    var attributes: JSONObject
    var failure: String?
    var scope = "test"
    var trace = "5b8efff798038103d269b633813fc60c"
  }

  var spans: [Span] = []
  /// A body that is no object stands below an empty key.
  var logs: [(span: String, name: String, body: JSONObject, attributes: JSONObject, time: Int)] = []

  mutating func add(
    _ id: String, under parent: String?, _ name: String, _ times: ClosedRange<Int>,
    _ attributes: JSONObject, failure: String? = nil, scope: String = "test",
    trace: String? = nil
  ) {
    var span = Span(
      id: id, parent: parent, name: name, start: times.lowerBound, end: times.upperBound,
      attributes: attributes, failure: failure, scope: scope)
    if let trace { span.trace = trace }
    spans.append(span)
  }

  /// An id as it stands in JSON.
  private static func hex(_ id: String) -> String {
    String(repeating: "0", count: 16 - id.utf8.count) + id
  }

  static func value(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string: ["stringValue": value]
    case .bool: ["boolValue": value]
    case .number(let number):
      number.intValue.map { ["intValue": .string(String($0))] } ?? ["doubleValue": value]
    case .array(let elements): ["arrayValue": ["values": .array(elements.map(Self.value))]]
    case .object(let object): ["kvlistValue": ["values": attributes(object)]]
    default: [:]
    }
  }

  static func attributes(_ object: JSONObject) -> JSONValue {
    .array(object.map { ["key": .string($0.key), "value": value($0.value)] })
  }

  private func json(_ span: Span) -> JSONValue {
    var object: JSONObject = [
      "traceId": .string(span.trace), "spanId": .string(Self.hex(span.id)),
      "name": .string(span.name),
      "startTimeUnixNano": .string("\(1_700_000_000_000 + span.start)000000"),
      "endTimeUnixNano": .string("\(1_700_000_000_000 + span.end)000000"),
      "attributes": Self.attributes(span.attributes),
    ]
    if let parent = span.parent { object["parentSpanId"] = .string(Self.hex(parent)) }
    if let failure = span.failure { object["status"] = ["code": 2, "message": .string(failure)] }
    return .object(object)
  }

  /// One request for each span, in their order.
  var requests: [JSONValue] {
    let spans = self.spans.map { span -> JSONValue in
      [
        "resourceSpans": [
          ["scopeSpans": [["scope": ["name": .string(span.scope)], "spans": [json(span)]]]]
        ]
      ]
    }
    let logs = self.logs.map { log -> JSONValue in
      var attributes = log.attributes
      attributes["event.name"] = .string(log.name)
      return [
        "resourceLogs": [
          [
            "scopeLogs": [
              [
                "logRecords": [
                  [
                    "timeUnixNano": .string("\(1_700_000_000_000 + log.time)000000"),
                    "spanId": .string(Self.hex(log.span)),
                    "body": Self.value(log.body[""] ?? .object(log.body)),
                    "attributes": Self.attributes(attributes),
                  ]
                ]
              ]
            ]
          ]
        ]
      ]
    }
    return spans + logs
  }

  func lines(_ requests: [JSONValue]? = nil) -> String {
    (requests ?? self.requests).map { CanonicalJSON.string($0, form: .plain) }
      .joined(separator: "\n")
  }

  func imported() throws -> ImportedFile { try ImportedFile(lines(), name: "t.jsonl") }

  // MARK: Attributes

  static func text(_ value: JSONValue) -> JSONValue {
    .string(CanonicalJSON.string(value, form: .plain))
  }

  /// A model's call in the newer names.
  static func chat(
    _ input: [JSONValue], _ output: JSONValue?, id: String? = nil, finish: String = "stop",
    tokens: Int = 10
  ) -> JSONObject {
    var attributes: JSONObject = [
      "gen_ai.operation.name": "chat", "gen_ai.provider.name": "p", "gen_ai.request.model": "m",
      "gen_ai.response.finish_reasons": [.string(finish)],
      "gen_ai.usage.input_tokens": JSONValue(tokens),
      "gen_ai.usage.output_tokens": 2,
    ]
    if let id { attributes["gen_ai.response.id"] = .string(id) }
    if let output {
      attributes["gen_ai.input.messages"] = text(.array(input))
      attributes["gen_ai.output.messages"] = text([output])
    }
    return attributes
  }

  static func user(_ text: String) -> JSONValue {
    ["role": "user", "parts": [["type": "text", "content": .string(text)]]]
  }

  static func answer(_ text: String) -> JSONValue {
    ["role": "assistant", "parts": [["type": "text", "content": .string(text)]]]
  }

  static func call(_ name: String, _ input: JSONValue, id: String) -> JSONValue {
    [
      "role": "assistant",
      "parts": [
        ["type": "tool_call", "id": .string(id), "name": .string(name), "arguments": input]
      ],
    ]
  }

  static func result(_ text: String, id: String) -> JSONValue {
    [
      "role": "tool",
      "parts": [["type": "tool_call_response", "id": .string(id), "response": .string(text)]],
    ]
  }

  /// An agent that asks a model twice and calls a tool once, whose execution has a span or not.
  static func run(hasTool: Bool = true, toolFailure: String? = nil) -> SpanSource {
    var source = SpanSource()
    source.add(
      "a1", under: nil, "invoke_agent a", 0...100,
      ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"])
    let call = call("look", ["id": 7], id: "c1")
    source.add(
      "b1", under: "a1", "chat m", 10...20, chat([user("q")], call, id: "r1", finish: "tool_calls"))
    if hasTool {
      source.add(
        "c1", under: "a1", "execute_tool look", 30...40,
        [
          "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
          "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": text(["id": 7]),
          "gen_ai.tool.call.result": "r",
        ], failure: toolFailure)
    }
    source.add(
      "d1", under: "a1", "chat m", 50...60,
      chat([user("q"), call, result("r", id: "c1")], answer("done"), id: "r2"))
    return source
  }
}
