import AgentTrace

/// A small agent's trace in OTLP, made up: it asks a model, calls a tool and answers.
public struct AgentTraceRequest: Sendable {
  /// 32 hexadecimal digits.
  public var trace: String
  /// The conversation that its spans name; `nil` for none.
  public var session: String?
  /// The tool that is called.
  public var tool = "look_up"
  /// The id of its call.
  public var call: String
  /// Seconds since 2023 at which it begins.
  public var second = 0

  /// A trace of its own for each number.
  public init(_ number: Int, session: String? = nil) {
    let digits = String(number, radix: 16)
    trace = "5b8efff7" + String(repeating: "0", count: 24 - digits.count) + digits
    call = "call_\(number)"
    self.session = session
    second = number
  }

  /// The spans in the order in which they end: the root last.
  public var spans: [JSONValue] {
    let goal: JSONValue = ["role": "user", "parts": [["type": "text", "content": "Where is it?"]]]
    let asked: JSONValue = [
      "role": "assistant",
      "parts": [
        [
          "type": "tool_call", "id": .string(call), "name": .string(tool),
          "arguments": ["what": "it"],
        ]
      ],
    ]
    let result: JSONValue = [
      "role": "tool",
      "parts": [["type": "tool_call_response", "id": .string(call), "response": "on the table"]],
    ]
    func answer(_ text: String) -> JSONValue {
      [
        "role": "assistant", "finish_reason": "stop",
        "parts": [["type": "text", "content": .string(text)]],
      ]
    }
    return [
      span(
        2, below: 1, "chat small", 10...20,
        [
          "gen_ai.operation.name": "chat", "gen_ai.request.model": "small",
          "gen_ai.input.messages": text([goal]), "gen_ai.output.messages": text([asked]),
        ]),
      span(
        3, below: 1, "execute_tool \(tool)", 30...40,
        [
          "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": .string(tool),
          "gen_ai.tool.call.id": .string(call),
          "gen_ai.tool.call.arguments": .string(#"{"what":"it"}"#),
          "gen_ai.tool.call.result": "on the table",
        ]),
      span(
        4, below: 1, "chat small", 50...60,
        [
          "gen_ai.operation.name": "chat", "gen_ai.request.model": "small",
          "gen_ai.input.messages": text([goal, asked, result]),
          "gen_ai.output.messages": text([answer("On the table.")]),
        ]),
      span(
        1, below: nil, "invoke_agent finder", 0...70,
        ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "finder"]),
    ]
  }

  private func text(_ messages: [JSONValue]) -> JSONValue {
    .string(CanonicalJSON.string(.array(messages), form: .plain))
  }

  /// One span.
  ///
  /// - Parameter milliseconds: of its beginning and its end.
  public func span(
    _ number: Int, below parent: Int?, _ name: String, _ milliseconds: ClosedRange<Int>,
    _ attributes: JSONObject
  ) -> JSONValue {
    func id(_ number: Int) -> JSONValue {
      .string(String(repeating: "0", count: 15) + String(number, radix: 16))
    }
    func time(_ milliseconds: Int) -> JSONValue {
      .string("\(1_700_000_000_000 + second * 1_000 + milliseconds)000000")
    }
    var attributes = attributes
    if let session { attributes["session.id"] = .string(session) }
    var object: JSONObject = [
      "traceId": .string(trace), "spanId": id(number), "name": .string(name), "kind": 1,
      "startTimeUnixNano": time(milliseconds.lowerBound),
      "endTimeUnixNano": time(milliseconds.upperBound),
      "attributes": .array(
        attributes.map { ["key": .string($0.key), "value": ["stringValue": $0.value]] }),
    ]
    if let parent { object["parentSpanId"] = id(parent) }
    return .object(object)
  }

  /// Some spans as a request in JSON.
  public static func request(_ spans: [JSONValue]) -> [UInt8] {
    let request: JSONValue = [
      "resourceSpans": [["scopeSpans": [["scope": ["name": "test"], "spans": .array(spans)]]]]
    ]
    return CanonicalJSON.encode(request, form: .plain)
  }

  /// All of it as one request.
  public var whole: [UInt8] { Self.request(spans) }
}
