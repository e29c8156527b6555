import AgentTrace
import TestSupport
import Testing
import TraceImporting
import TraceJudging

/// The property that no import of a trace hides a call: whatever attribute is renamed, emptied or left out, and whatever
/// span, what was counted still is, or nobody says anything for certain.
struct SpanAccountingTests {
  private static func outcomes(_ expected: JSONValue, _ events: [Event]) throws -> [Outcome] {
    Judge.judge(events, against: try Expectations(parsing: expected)).outcomes.map(\.outcome)
  }

  /// An agent that calls some tools, one after the other.
  private static func source(_ tools: [String], hasExecutions: Bool) -> SpanSource {
    var source = SpanSource()
    source.add(
      "a1", under: nil, "invoke_agent a", 0...10_000,
      ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"])
    var history = [SpanSource.user("q")]
    for (index, tool) in tools.enumerated() {
      let call = SpanSource.call(tool, ["n": JSONValue(index)], id: "c\(index)")
      source.add(
        "b\(index)", under: "a1", "chat m", (index * 100 + 1)...(index * 100 + 20),
        SpanSource.chat(history, call, id: "r\(index)", finish: "tool_calls"))
      if hasExecutions {
        source.add(
          "c\(index)", under: "a1", "execute_tool \(tool)",
          (index * 100 + 30)...(index * 100 + 40),
          [
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": .string(tool),
            "gen_ai.tool.call.id": .string("c\(index)"), "gen_ai.tool.call.result": "r",
          ])
      }
      history += [call, SpanSource.result("r", id: "c\(index)")]
    }
    source.add(
      "d1", under: "a1", "chat m", 9_000...9_100,
      SpanSource.chat(history, SpanSource.answer("done"), id: "last"))
    return source
  }

  @Test("whatever attribute of a model's or a tool's span is changed, no call is hidden")
  func nothingIsHidden() throws {
    var (marked, read, refused) = (0, 0, 0)
    for seed in 0..<UInt64(TestRun.count(150, long: 4_000)) {
      var random = Seeded(seed: seed)
      let tools = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        ["search", "refund", "delete_all"].randomElement(using: &random) ?? "search"
      }
      var source = Self.source(tools, hasExecutions: Bool.random(using: &random))
      let index = Int.random(in: 1..<source.spans.count, using: &random)
      let keys = source.spans[index].attributes.keys
      let key = keys.randomElement(using: &random) ?? ""
      let value = source.spans[index].attributes[key] ?? .null
      switch Int.random(in: 0..<5, using: &random) {
      case 0:
        source.spans[index].attributes[key] = nil
        source.spans[index].attributes["vendor.\(key)"] = value
      case 1: source.spans[index].attributes[key] = "something new"
      case 2: source.spans[index].attributes[key] = [value]
      case 3: source.spans[index].attributes[key] = ["wrapped": value]
      default: source.spans[index].attributes[key] = nil
      }
      let file = try source.imported()
      guard let events = file.logs.first, file.logs.count == 1 else {
        refused += 1
        continue
      }
      if events.first?.data["recorded"]?["calls"] == nil { read += 1 } else { marked += 1 }
      let what = "seed \(seed), \(key) of \(source.spans[index].name)"
      for tool in Set(tools) {
        let count = tools.count { $0 == tool }
        for expected in [
          ["toolsNotCalled": [.string(tool)]], ["maxToolCalls": JSONValue(tools.count - 1)],
          ["toolsCalled": [["tool": .string(tool), "times": ["max": JSONValue(count - 1)]]]],
        ] as [JSONValue] {
          #expect(try !Self.outcomes(expected, events).contains(.pass), "\(expected): \(what)")
        }
      }
    }
    print(
      "imports of changed traces: \(refused) refused, \(marked) marked, \(read) read as they were")
    #expect(marked > 0 && read > 0)
  }
}
