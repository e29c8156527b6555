import AgentTrace
import Testing
import TraceImporting

/// That no span of a file goes unread: whatever is renamed, wrapped or written as text around spans, the import refuses it,
/// has the calls that it had, or says of each run that calls may be missing.
struct SpanContainerTests {
  private static func call(_ name: String) -> JSONObject {
    [
      "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": .string(name),
      "gen_ai.tool.call.arguments": "{\"order\":7}", "gen_ai.tool.call.result": "sent",
    ]
  }

  private static func attributes(_ members: JSONObject) -> JSONValue {
    .array(members.map { ["key": .string($0.key), "value": ["stringValue": $0.value]] })
  }

  private static func span(_ trace: String, _ id: String, _ parent: String?, _ members: JSONObject)
    -> JSONValue
  {
    var span: JSONObject = [
      "traceId": .string(String(repeating: trace, count: 16)),
      "spanId": .string(String(repeating: id, count: 8)), "name": "a span",
      "startTimeUnixNano": "1000", "endTimeUnixNano": "2000",
      "attributes": attributes(members),
      "events": [["name": "told", "attributes": attributes(["word": "yes"])]],
    ]
    span["parentSpanId"] = parent.map { .string(String(repeating: $0, count: 8)) }
    return .object(span)
  }

  private static func batch(_ trace: String, _ tool: String) -> JSONValue {
    [
      "resource": ["attributes": attributes(["service.name": "shop"])],
      "scopeSpans": [
        [
          "scope": ["name": "own"],
          "spans": [
            span(trace, "a1", nil, ["gen_ai.operation.name": "invoke_agent"]),
            span(trace, "b2", "a1", call(tool)),
          ],
        ]
      ],
    ]
  }

  private static func jaeger(_ trace: String, _ tool: String) -> JSONValue {
    let tags = call(tool).map { member -> JSONValue in
      ["key": .string(member.key), "type": "string", "value": member.value]
    }
    return [
      "traceID": .string(trace), "processes": ["p1": ["serviceName": "shop"]],
      "spans": [
        [
          "traceID": .string(trace), "spanID": .string(trace + "1"), "operationName": "run",
          "startTime": 1, "duration": 9, "processID": "p1", "tags": .array(tags),
        ]
      ],
    ]
  }

  private static func langSmith(_ id: String, _ tool: String) -> JSONValue {
    [
      "id": .string(id), "trace_id": .string(id), "dotted_order": .string(id), "run_type": "tool",
      "name": .string(tool), "inputs": ["order": 7], "outputs": ["output": "sent"],
      "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z",
    ]
  }

  private static func agents(_ id: String, _ tool: String) -> JSONValue {
    [
      "object": "trace.span", "id": .string("s" + id), "trace_id": .string("t" + id),
      "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:01Z",
      "span_data": [
        "type": "function", "name": .string(tool), "input": "{\"order\":7}", "output": "sent",
      ],
    ]
  }

  private static func phoenix(_ trace: String, _ tool: String) -> JSONValue {
    [
      "name": "call", "context": ["trace_id": .string(trace), "span_id": .string(trace + "1")],
      "span_kind": "TOOL", "start_time": "2026-01-01T00:00:00Z", "attributes": .object(call(tool)),
    ]
  }

  private static func langfuse(_ trace: String, _ tool: String) -> JSONValue {
    [
      "id": .string(trace),
      "observations": [
        [
          "id": .string(trace + "1"), "traceId": .string(trace), "type": "TOOL",
          "name": .string(tool), "startTime": "2026-01-01T00:00:00Z", "input": ["order": 7],
          "output": "sent",
        ]
      ],
    ]
  }

  /// Sorted as nothing but a span, of which its attributes alone say that it is a call.
  private static func langfuse(_ trace: String, _ attributes: JSONObject) -> JSONValue {
    [
      "id": .string(trace + "1"), "traceId": .string(trace), "type": "SPAN", "name": "a span",
      "startTime": "2026-01-01T00:00:00Z", "metadata": ["attributes": .object(attributes)],
    ]
  }

  private static func mlflow(_ trace: String, _ tool: String) -> JSONValue {
    var span = span(trace, "c3", nil, [:]).objectValue ?? [:]
    span["attributes"] = .object(
      call(tool).mapValues { .string(CanonicalJSON.string($0)) })
    return ["info": ["trace_id": .string(trace)], "data": ["spans": [.object(span)]]]
  }

  /// Each holds two traces with a call each.
  private static let sources: [(String, JSONValue)] = [
    ("otlp", ["resourceSpans": [batch("aa", "look"), batch("bb", "ship")]]),
    ("jaeger", ["data": [jaeger("aa", "look"), jaeger("bb", "ship")]]),
    ("langsmith", [langSmith("a", "look"), langSmith("b", "ship")]),
    ("langsmith bodies", ["post": [langSmith("a", "look")], "patch": [langSmith("b", "ship")]]),
    ("openai-agents", ["data": [agents("a", "look"), agents("b", "ship")]]),
    ("phoenix", [phoenix("aa", "look"), phoenix("bb", "ship")]),
    ("langfuse", ["data": [langfuse("aa", "look"), langfuse("bb", "ship")]]),
    (
      "langfuse with attributes",
      [langfuse("aa", call("look")), langfuse("bb", call("ship"))]
    ),
    ("mlflow", ["traces": [mlflow("aa", "look"), mlflow("bb", "ship")]]),
  ]

  /// Each way to write one place of a value otherwise: another key, a list or an object around it, a text of it.
  private static func changes(of value: JSONValue) -> [(String, JSONValue)] {
    let own: [(String, JSONValue)] = [
      ("in a list", [value]), ("in an object", ["data2": value]),
      ("as text", .string(CanonicalJSON.string(value))),
    ]
    switch value {
    case .array(let elements):
      return own
        + elements.indices.flatMap { index in
          changes(of: elements[index]).map { what, new in
            var changed = elements
            changed[index] = new
            return ("\(index)/\(what)", .array(changed))
          }
        }
    case .object(let object):
      return own
        + object.flatMap { member -> [(String, JSONValue)] in
          var renamed = object
          renamed[member.key] = nil
          renamed[member.key + "2"] = member.value
          let inner = changes(of: member.value).map { what, new -> (String, JSONValue) in
            var changed = object
            changed[member.key] = new
            return ("\(member.key)/\(what)", .object(changed))
          }
          return [("\(member.key) renamed", .object(renamed))] + inner
        }
    default: return []
    }
  }

  private static func called(_ file: ImportedFile) -> Set<String> {
    Set(
      file.logs.joined().filter { $0.type == .decision }.flatMap { event in
        (event.data["calls"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
      })
  }

  @Test("whatever is renamed, wrapped or written as text, no call is hidden", arguments: sources)
  func nothingIsHidden(_ source: (String, JSONValue)) throws {
    let whole = try ImportedFile(CanonicalJSON.string(source.1))
    #expect(Self.called(whole) == ["look", "ship"], "\(whole.errors)")
    #expect(whole.logs.allSatisfy { $0.first?.data["recorded"]?["calls"] == nil })
    var (refused, marked) = (0, 0)
    for (what, changed) in Self.changes(of: source.1) {
      let file = try ImportedFile(CanonicalJSON.string(changed))
      let calls = Self.called(file)
      if file.logs.isEmpty {
        refused += 1
        #expect(!file.errors.isEmpty, "\(what)")
      } else if !calls.isSuperset(of: ["look", "ship"]) {
        marked += 1
        // A call whose name nobody knows is one that may be any.
        #expect(
          file.logs.allSatisfy { $0.first?.data["recorded"]?["calls"] == "partial" }
            || calls.count == 2,
          "\(what): \(calls.sorted())")
      }
    }
    #expect(refused + marked > 5)
  }
}
