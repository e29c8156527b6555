import AgentTrace
import Testing
import TraceImporting

@Suite("Spans of agents and tools that say less than they could")
struct AgentSpanTests {
  @Test(
    "a tool that threw and whose framework caught it failed by the word beside it",
    arguments: [
      ("tool.status", "error", "error"), ("gen_ai.tool.status", "failed", "error"),
      ("tool.status", "success", "ok"),
    ])
  func status(key: String, word: String, expected: String) throws {
    var source = SpanSource.run()
    source.spans[2].attributes[key] = .string(word)
    let file = try source.imported()
    #expect(file.data(.toolResult).map { $0["status"]?.stringValue } == [expected])
  }

  @Test("what stands in the place of an id is none: the call and its execution are one")
  func placeholder() throws {
    var source = SpanSource.run(toolFailure: "boom")
    source.spans[2].attributes["gen_ai.tool.call.id"] = "<not specified>"
    source.spans[2].attributes["gen_ai.tool.call.arguments"] = nil
    source.spans.removeLast()
    let file = try source.imported()
    #expect(file.data(.decision).count == 1)
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
  }

  @Test("a tool's span without attributes is one by its name, as where it failed before it had any")
  func withoutAttributes() throws {
    var source = SpanSource.run(toolFailure: "boom")
    source.spans[2].attributes = [:]
    source.spans.removeLast()
    let file = try source.imported()
    #expect(file.data(.decision).count == 1)
    #expect(file.data(.toolResult).map { $0["reason"] } == ["boom"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test(
    "what came back is taken from what the next call was shown, where the tool's span says nothing")
  func shownResult() throws {
    var source = SpanSource.run()
    source.spans[2].attributes["gen_ai.tool.call.result"] = nil
    let file = try source.imported()
    #expect(file.data(.toolResult).map { $0["data"] } == ["r"])
    #expect(file.data(.runStarted).first?["recorded"]?["tools"] == nil)
  }

  @Test("a tool that its span calls by a title is the one that the reply asked for")
  func title() throws {
    var source = SpanSource.run()
    source.spans[1].attributes["gen_ai.output.messages"] = SpanSource.text([
      SpanSource.call("look_up", ["id": 7], id: "c1")
    ])
    source.spans[2].attributes["gen_ai.tool.name"] = "Look Up"
    source.spans[2].attributes["gen_ai.tool.call.id"] = nil
    let file = try source.imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["look_up"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"])
  }

  @Test(
    "an agent that was asked for as a tool is told by its own span, and what is below it is its own"
  )
  func agentAsTool() throws {
    var source = SpanSource.run(hasTool: false)
    source.spans[0].attributes = ["openinference.span.kind": "AGENT"]
    source.spans[0].name = "Manager.run"
    source.spans[2].attributes = SpanSource.chat([SpanSource.user("q")], SpanSource.answer("done"))
    source.add(
      "c1", under: "a1", "look.run", 25...45,
      ["openinference.span.kind": "AGENT", "output.value": "found"])
    source.add(
      "c2", under: "c1", "chat m", 30...35,
      SpanSource.chat(
        [SpanSource.user("sub")], SpanSource.call("read", [:], id: "x"), finish: "tool_calls"))
    source.add(
      "c3", under: "c1", "execute_tool read", 36...37,
      [
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read",
        "gen_ai.tool.call.id": "x", "gen_ai.tool.call.result": "s",
      ])
    let file = try source.imported()
    let results = file.data(.toolResult)
    #expect(results.map { $0["tool"] } == ["read", "look"])
    #expect(results.map { $0["caller"] } == ["look", nil])
    #expect(results.map { $0["data"] } == ["s", "found"])
    #expect(file.data(.runStarted).first?["agent"]?["name"] == "Manager")
    #expect(file.stop == "success final_answer")
  }

  @Test("two spans of one execution, one in the other, are of the agent that the outer one is of")
  func nestedExecution() throws {
    var source = SpanSource.run()
    source.add(
      "c2", under: "c1", "look", 31...39,
      ["openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "r"], scope: "other")
    let file = try source.imported()
    #expect(file.data(.toolResult).count == 1)
    #expect(file.data(.toolResult).first?["caller"] == nil)
  }

  @Test("a run that failed for a reply that was kept back is blocked")
  func keptBack() throws {
    var source = SpanSource()
    source.add(
      "a1", under: nil, "invoke_agent a", 0...100,
      ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"],
      failure: "ContentFilterError: refused")
    source.add(
      "b1", under: "a1", "chat m", 10...20,
      SpanSource.chat(
        [SpanSource.user("q")], ["role": "assistant", "parts": []], finish: "content_filter"))
    let file = try source.imported()
    #expect(file.stop == "blocked content_filter")
  }

  @Test("arguments that a flattened reply leaves out are taken from the whole reply beside it")
  func emptyArguments() throws {
    var source = SpanSource.run()
    let prefix = "llm.output_messages.0.message"
    source.spans[1].attributes = [
      "openinference.span.kind": "LLM", "\(prefix).role": "assistant",
      "\(prefix).tool_calls.0.tool_call.id": "c1",
      "\(prefix).tool_calls.0.tool_call.function.name": "look",
      "output.value": SpanSource.text([
        [
          "role": "assistant",
          "tool_calls": [
            ["id": "c1", "type": "function", "function": ["name": "look", "arguments": "{}"]]
          ],
        ]
      ]),
    ]
    let file = try source.imported()
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == [:])
  }

  @Test("calls that records tell of one span stand behind what came of the ones before")
  func callsOfOneSpan() throws {
    var source = SpanSource.run()
    source.spans.removeLast()
    source.spans[1].end = 60
    source.spans[1].attributes = SpanSource.chat([], nil)
    let call = SpanSource.call("look", ["id": 7], id: "c1")
    for (said, time) in [(call, 20), (SpanSource.answer("done"), 55)] {
      source.logs.append(
        (
          "b1", "gen_ai.client.inference.operation.details", [:],
          ["gen_ai.output.messages": SpanSource.text([said])], time
        ))
    }
    let file = try source.imported()
    let order = file.events.map(\.type).filter { [.decision, .toolResult].contains($0) }
    #expect(order == [.decision, .toolResult, .decision])
  }

  @Test(
    "a span around a model's call that tells again what it asked for hides nothing, and one that tells of more does",
    arguments: [("look", true), ("delete", false)])
  func wrapper(tool: String, isToldAgain: Bool) throws {
    var source = SpanSource.run()
    source.spans[1].parent = "e1"
    source.add(
      "e1", under: "a1", "Response.resume", 9...21,
      [
        "custom.content": SpanSource.text([
          ["type": "tool_call", "id": "c1", "name": .string(tool), "args": "{\"id\": 7}"]
        ])
      ])
    let file = try source.imported()
    #expect(
      file.data(.runStarted).first?["recorded"]?["calls"] == (isToldAgain ? nil : "partial"))
  }
}
