import AgentTrace
import TestSupport
import Testing
import TraceImporting

/// Traces: each model call and each execution once, whoever tells it, in whatever order it comes.
struct SpanFormatTests {
  /// What is compared of two imports: all but where things stood.
  private static func told(_ file: ImportedFile) -> [JSONValue] {
    file.logs.flatMap { $0 }.map { event in
      var data = event.data
      (data["source"], data["runId"]) = (nil, nil)
      return [
        "type": .string("\(event.type)"), "step": JSONValue(event.step), "t": JSONValue(event.t),
        "data": .object(data),
      ]
    }
  }

  @Test("an agent's trace tells its calls, results, usage and end", arguments: [true, false])
  func whole(_ hasTool: Bool) throws {
    let file = try SpanSource.run(hasTool: hasTool).imported()
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.reports.first?.format == .otlp)
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
    #expect(file.data(.toolResult).map { $0["data"] } == ["r"])
    // Where no span of the tool says that it succeeded, nobody knows.
    #expect(file.data(.toolResult).map { $0["status"] } == [hasTool ? "ok" : "returned"])
    #expect(file.data(.modelResult).map { $0["usage"]?["inputTokens"] } == [10, 10])
    #expect(file.stop == "success final_answer")
    #expect(file.data(.runStarted).first?["input"] == "q")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test(
    "a trace tells the same in any order, in pieces, sent twice, and with spans of others among it")
  func anyOrder() throws {
    var source = SpanSource.run()
    source.add("e1", under: "a1", "GET /", 12...18, ["http.method": "GET"], scope: "http")
    source.logs = [
      ("b1", "gen_ai.user.message", ["content": "q"], ["gen_ai.system": "p"], 11),
      (
        "b1", "gen_ai.choice",
        ["index": 0, "finish_reason": "x", "message": ["content": "never read"]], [:], 12
      ),
    ]
    let whole = Self.told(try source.imported())
    for seed in 0..<UInt64(TestRun.count(20, long: 400)) {
      var random = Seeded(seed: seed)
      let requests = (source.requests + source.requests).shuffled(using: &random)
      let file = try ImportedFile(source.lines(requests), name: "t.jsonl")
      #expect(Self.told(file) == whole, "seed \(seed)")
    }
  }

  @Test("one model call that two instrumentations tell is one: by its id, or one within the other")
  func doubled() throws {
    for id in ["r1", nil] {
      var source = SpanSource.run()
      let inner = SpanSource.chat([], nil, id: id, finish: "tool_calls")
      source.add(
        "b2", under: id == nil ? "b1" : "a1", "anthropic.messages.create", 11...19, inner,
        scope: "sdk")
      if id == nil { source.spans[1].attributes["gen_ai.response.id"] = nil }
      let file = try source.imported()
      #expect(file.data(.modelResult).count == 2)
      #expect(file.data(.decision).count == 2)
      #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
    }
  }

  @Test(
    "one execution that two instrumentations tell is one, also where one knows no id of the call")
  func executionToldTwice() throws {
    for failure in [nil, "boom"] as [String?] {
      var source = SpanSource.run(toolFailure: failure)
      source.add(
        "c2", under: "b1", "look", 31...41,
        [
          "openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "7",
          "output.value": "r",
        ], failure: failure, scope: "other")
      let file = try source.imported()
      #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
      #expect(file.data(.toolResult).count == 1)
      // What gave back something else is another one.
      source.spans[4].attributes["output.value"] = "another"
      #expect(try source.imported().data(.toolResult).count == (failure == nil ? 2 : 1))
    }
  }

  @Test("a run that two instrumentations tell in traces of their own is one")
  func toldInTwoTraces() throws {
    for isAtOnce in [true, false] {
      var source = SpanSource.run()
      source.spans += source.spans.map { span in
        var span = span
        span.id += "0"
        span.parent = span.parent.map { $0 + "0" }
        span.scope = "other"
        span.trace = "6b8efff798038103d269b633813fc60c"
        if !isAtOnce { (span.start, span.end) = (span.start + 1000, span.end + 1000) }
        return span
      }
      let file = try source.imported()
      #expect(file.logs.count == (isAtOnce ? 1 : 2))
      #expect(file.data(.modelResult).count == 2)
      #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
      #expect(file.data(.toolResult).count == 1)
      #expect(file.stop == "success final_answer")
    }
  }

  @Test("a request that was only made is no call of a model")
  func requestAlone() throws {
    var source = SpanSource.run()
    source.add(
      "e1", under: "a1", "M._prepare_chat_with_tools", 5...6,
      [
        "openinference.span.kind": "LLM", "llm.model_name": "m",
        "output.value": SpanSource.text(["messages": ["q"], "tools": [], "tool_choice": "auto"]),
      ])
    #expect(try source.imported().data(.modelResult).count == 2)
  }

  @Test("what frameworks wrap a result in says what came back, and whether it failed")
  func wrappedResults() throws {
    let outputs: [JSONValue] = [
      ["type": "tool", "data": ["content": "no", "tool_call_id": "c1", "status": "error"]],
      [
        "blocks": [["text": "no"]], "tool_name": "look", "raw_input": ["id": 7],
        "raw_output": "no", "is_error": true,
      ],
    ]
    for output in outputs {
      var source = SpanSource.run()
      source.spans[2].attributes["gen_ai.tool.call.result"] = SpanSource.text(output)
      let file = try source.imported()
      #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
      #expect(file.data(.toolResult).map { $0["reason"] } == ["no"])
    }
  }

  @Test("a choice in a reply's place says how the reply ended")
  func choices() throws {
    var source = SpanSource.run()
    source.spans[3].attributes["gen_ai.response.finish_reasons"] = nil
    source.spans[3].attributes["gen_ai.output.messages"] = SpanSource.text([
      [
        "index": 0, "finish_reason": "length",
        "message": ["role": "assistant", "content": "I was"],
      ]
    ])
    #expect(try source.imported().stop?.hasPrefix("budget_exhausted") == true)
  }

  @Test("a reply in an event that says nothing but that it was kept back is no success")
  func keptBack() throws {
    var source = SpanSource.run()
    source.spans[3].attributes["gen_ai.response.finish_reasons"] = nil
    source.spans[3].attributes["gen_ai.output.messages"] = nil
    source.logs = [
      (
        "d1", "gen_ai.choice", ["finish_reason": "content_filtered", "message": "[]"], [:], 55
      )
    ]
    #expect(try source.imported().stop?.hasPrefix("blocked") == true)
  }

  @Test("two calls with the same words and tokens, one after the other, stay two")
  func notDoubled() throws {
    var source = SpanSource.run()
    source.add(
      "b2", under: "a1", "chat m", 21...29,
      SpanSource.chat([SpanSource.user("q")], SpanSource.answer("hm"), id: "r9"))
    #expect(try source.imported().data(.modelResult).count == 3)
  }

  @Test("calls of one instrumentation stay several whatever their ids, also where two tell of each")
  func equalIds() throws {
    for isToldTwice in [false, true] {
      for isAtOnce in [false, true] {
        var source = SpanSource.run()
        for index in source.spans.indices
        where source.spans[index].attributes["gen_ai.response.id"] != nil {
          source.spans[index].attributes["gen_ai.response.id"] = "chatcmpl-123"
        }
        let time = isAtOnce ? 52...58 : 70...80
        let said = SpanSource.chat(
          [SpanSource.user("again")], SpanSource.answer("bomb"), id: "chatcmpl-123")
        source.add("e1", under: "a1", "chat m", time, said)
        if isToldTwice {
          for (name, time) in [("b2", 10...20), ("d2", 50...60), ("e2", time)] {
            source.add(
              name, under: "a1", "create", time, SpanSource.chat([], nil, id: "chatcmpl-123"),
              scope: "sdk")
          }
        }
        let file = try source.imported()
        #expect(file.data(.modelResult).count == 3, "\(isToldTwice) \(isAtOnce)")
        #expect(file.events.contains { "\($0.data)".contains("bomb") })
      }
    }
  }

  @Test("content that was not captured leaves names and ids, and marks what is not there")
  func noContent() throws {
    var source = SpanSource.run()
    for index in source.spans.indices {
      for key in ["input.messages", "output.messages", "tool.call.arguments", "tool.call.result"] {
        source.spans[index].attributes["gen_ai.\(key)"] = nil
      }
    }
    let file = try source.imported()
    let call = file.data(.decision).first?["calls"]?[0]
    #expect(call?["name"] == "look" && call?["providerCallId"] == "c1")
    #expect(call?["input"]?.typeName == "cut")
    #expect(file.data(.decision).count == 1)
    #expect(file.data(.modelResult).count == 2)
    let recorded = file.data(.runStarted).first?["recorded"]
    #expect(recorded?["tools"] == "partial" && recorded?["calls"] == "partial")
    #expect(file.stop == nil && recorded?["stop"] == "none")
  }

  @Test("a reply in an event that a limit cut is no answer")
  func cutEvent() throws {
    var source = SpanSource.run()
    let long = String(repeating: "x", count: 100)
    source.spans[3].attributes["gen_ai.output.messages"] = nil
    source.logs = [
      (
        "d1", "gen_ai.choice",
        [
          "finish_reason": "stop",
          "message": .string(String(#"[{"text":"\#(long)"}]"#.prefix(60))),
        ], [:], 55
      )
    ]
    let file = try source.imported()
    #expect(file.data(.decision).count == 1)
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial")
    #expect(file.stop == nil)
  }

  @Test(
    "values that a limit cut are cut, those that are no JSON too, and nothing is taken for an answer"
  )
  func cut() throws {
    var source = SpanSource.run()
    let long = String(repeating: "x", count: 100)
    source.spans[2].attributes["gen_ai.tool.call.result"] = .string(long)
    source.spans[3].attributes["gen_ai.output.messages"] = .string(
      String(#"[{"role":"assistant","parts":[{"type":"text","content":"\#(long)"}]}]"#.prefix(100)))
    source.spans[3].attributes["gen_ai.input.messages"] = nil
    source.spans[1].attributes["gen_ai.input.messages"] = nil
    let file = try source.imported()
    #expect(file.data(.toolResult).first?["data"]?.typeName == "cut")
    #expect(file.data(.decision).count == 1)
    let recorded = file.data(.runStarted).first?["recorded"]
    #expect(recorded?["tools"] == "partial" && recorded?["calls"] == "partial")
    #expect(file.stop == nil)
  }

  @Test(
    "a reply that a limit cut may have asked for more, whatever another attribute tells of it",
    arguments: ["gen_ai.output.messages", "events", "langfuse.observation.output", "output.value"])
  func cutBeside(_ key: String) throws {
    for mark in ["", "...", "…[truncated]"] {
      var source = SpanSource.run()
      source.spans[3].attributes["gen_ai.output.messages"] = nil
      source.spans[3].attributes["gen_ai.completion.0.role"] = "assistant"
      source.spans[3].attributes["gen_ai.completion.0.content"] = "done"
      #expect(try source.imported().stop == "success final_answer")
      source.spans[3].attributes[key] = .string(
        #"[{"role":"assistant","content":"So, I wi"# + mark)
      let file = try source.imported()
      #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial", "\(key) \(mark)")
      #expect(file.stop == nil, "\(key) \(mark)")
    }
  }

  @Test("the beginning of a list of parts in a message's place is no whole answer")
  func cutParts() throws {
    for (text, isPartial) in [
      (#"[{"type":"text","text":"done"},{"type":"tool_u"#, true), ("[1] and [2]", false),
      (#"{"answer": "do"#, false),
    ] {
      var source = SpanSource.run()
      source.spans[3].attributes["gen_ai.output.messages"] = SpanSource.text([
        ["role": "assistant", "content": .string(text)]
      ])
      let file = try source.imported()
      let recorded = file.data(.runStarted).first?["recorded"]
      #expect((recorded?["calls"] == "partial") == isPartial, "\(text)")
    }
  }

  @Test(
    "what a tool gave back is cut where it is JSON without its end, with a mark behind it or none",
    arguments: [
      (#"{"rows":[1,2],"#, true), (#"{"rows":[1,2],..."#, true),
      (#"{"rows":["a"...[truncated]"#, true),
      (#"{"a":1} {"b":2}"#, false), ("[1] and [2]", false),
    ])
  func cutResult(_ text: String, _ isCut: Bool) throws {
    var source = SpanSource.run()
    source.spans[2].attributes["gen_ai.tool.call.result"] = .string(text)
    let data = try source.imported().data(.toolResult).first?["data"]
    #expect((data?.typeName == "cut") == isCut, "\(text)")
  }

  @Test("a call in what is left of JSON that a limit cut is marked where nobody read it")
  func cutCall() throws {
    for (tool, isPartial) in [("delete_all", true), ("look", false)] {
      var source = SpanSource.run()
      let text =
        #"{"messages":[{"role":"assistant","tool_calls":[{"id":"c9","type":"function","function":{"name":"\#(tool)","arguments":"{\"id\":1,\"a"#
      source.add(
        "e1", under: "a1", "chain", 70...80,
        ["openinference.span.kind": "CHAIN", "output.value": .string(text)])
      let recorded = try source.imported().data(.runStarted).first?["recorded"]
      #expect((recorded?["calls"] == "partial") == isPartial, "\(tool)")
    }
  }

  @Test("a root that failed, or never came, or a refusal, is no success")
  func ends() throws {
    var failed = SpanSource.run()
    failed.spans[0].failure = "Max turns (2) exceeded"
    #expect(try failed.imported().stop?.hasPrefix("budget_exhausted") == true)
    failed.spans[0].failure = "boom"
    #expect(try failed.imported().stop == "tool_failure boom")
    var lost = SpanSource.run()
    lost.spans.removeFirst()
    let file = try lost.imported()
    #expect(file.stop == nil && file.data(.decision).count == 2)
    var refused = SpanSource.run()
    refused.spans[3].attributes["gen_ai.response.finish_reasons"] = ["content_filter"]
    #expect(try refused.imported().stop == "blocked content_filter")
    var broken = SpanSource.run()
    broken.spans[3].failure = "500"
    broken.spans[3].attributes["gen_ai.output.messages"] = nil
    let error = try broken.imported()
    #expect(error.data(.modelResult).last?["error"] == "500")
    #expect(error.stop == "model_failure error")
  }

  @Test("a model's call that failed is no success where some of its reply was captured")
  func lastFailed() throws {
    var source = SpanSource.run()
    for index in source.spans.indices where source.spans[index].id == "d1" {
      source.spans[index].failure = "connection lost"
    }
    let file = try source.imported()
    #expect(file.stop == "model_failure error")
    #expect(file.data(.stop).first?["answer"] == "done")
    // One that was asked again counts for nothing.
    source.add(
      "e1", under: "a1", "chat m", 70...80,
      SpanSource.chat([SpanSource.user("q")], SpanSource.answer("whole"), id: "r3"))
    #expect(try source.imported().stop == "success final_answer")
  }

  @Test("observations that have not ended, and graphs that wait for somebody, end no run")
  func stillRunning() throws {
    for (root, generation, isOver) in [
      (#""2026-01-01T00:00:04Z""#, #""2026-01-01T00:00:03Z""#, true),
      ("null", #""2026-01-01T00:00:03Z""#, false), (#""2026-01-01T00:00:04Z""#, "null", false),
    ] {
      let file = try ImportedFile(
        #"""
        {"trace":{"id":"t","name":"x","input":"q"},"observations":[
         {"id":"o1","traceId":"t","type":"SPAN","name":"root","startTime":"2026-01-01T00:00:01Z","endTime":\#(root),"parentObservationId":null,"input":"q"},
         {"id":"o2","traceId":"t","type":"EVENT","name":"seen","startTime":"2026-01-01T00:00:01Z","endTime":null,"parentObservationId":"o1"},
         {"id":"o3","traceId":"t","type":"GENERATION","name":"g","startTime":"2026-01-01T00:00:02Z","endTime":\#(generation),"parentObservationId":"o1",
          "input":[{"role":"user","content":"q"}],"output":{"role":"assistant","content":"done"},"model":"m"}]}
        """#)
      #expect(file.reports.first?.format == .langfuse, "\(file.errors)")
      #expect((file.stop == "success final_answer") == isOver, "\(root) \(generation)")
    }
    for waits in [true, false] {
      var source = SpanSource.run()
      source.spans[0].attributes["output.value"] = SpanSource.text(
        waits ? ["messages": [], "__interrupt__": [["value": "Go on?"]]] : ["messages": []])
      #expect(try (source.imported().stop == nil) == waits)
    }
  }

  @Test("a tool that failed is an error, with what it said")
  func toolError() throws {
    let file = try SpanSource.run(toolFailure: "no such order").imported()
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
    #expect(file.data(.toolResult).map { $0["reason"] } == ["r"])
  }

  @Test("an agent that is a tool is a caller of its own, and its answer is not the run's")
  func nested() throws {
    var source = SpanSource.run()
    source.add(
      "e1", under: "c1", "invoke_agent helper", 31...39,
      ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"])
    source.add(
      "f1", under: "e1", "chat m", 32...34,
      SpanSource.chat([SpanSource.user("sub")], SpanSource.call("rm", [:], id: "x1"), id: "r7"))
    source.add(
      "a2", under: "e1", "execute_tool rm", 35...36,
      [
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "rm",
        "gen_ai.tool.call.id": "x1", "gen_ai.tool.call.result": "ok",
      ])
    let file = try source.imported()
    #expect(file.data(.decision).map { $0["caller"] } == [nil, "helper", nil])
    #expect(file.data(.toolResult).map { $0["caller"] } == ["helper", nil])
    #expect(file.data(.humanReplied).map { $0["text"] } == ["q"])
    #expect(file.data(.stop).first?["answer"] == "done")
  }

  @Test(
    "several conversations in one file are several runs; traces that go on from one another are one"
  )
  func runs() throws {
    let first = SpanSource.run()
    var second = SpanSource.run()
    for index in second.spans.indices {
      second.spans[index].trace = "6b8efff798038103d269b633813fc60c"
    }
    let requests = first.requests + second.requests
    // Each asks for its call itself, whose id says nothing: servers count from 0.
    #expect(
      try ImportedFile(first.lines(requests), name: "t.jsonl").logs.count == 2)
    for index in second.spans.indices { second.spans[index].attributes["session.id"] = "s" }
    var named = first
    for index in named.spans.indices { named.spans[index].attributes["session.id"] = "s" }
    #expect(
      try ImportedFile(named.lines(named.requests + second.requests), name: "t.jsonl").logs.count
        == 1)
  }

  @Test(
    "a trace that shows a call which another one alone asked for goes on from that, unless they are of different conversations",
    arguments: [
      (["look"], nil, nil, 1), (["look"], "s", nil, 1), (["look"], "s", "t", 2),
      (["other"], nil, nil, 2), (["look", "look"], nil, nil, 3), (["look", "other"], nil, nil, 2),
    ] as [([String], String?, String?, Int)])
  func goesOn(_ asking: [String], _ first: String?, _ second: String?, _ count: Int) throws {
    var source = SpanSource()
    func add(_ trace: Int, _ session: String?, _ said: [JSONValue], _ reply: JSONValue) {
      var attributes = SpanSource.chat(said, reply, id: "r\(trace)")
      if let session { attributes["session.id"] = .string(session) }
      source.add(
        "b\(trace)", under: nil, "chat m", (trace * 10)...(trace * 10 + 5), attributes,
        trace: "\(trace)b8efff798038103d269b633813fc60c")
    }
    for (number, name) in asking.enumerated() {
      add(
        number + 1, first, [SpanSource.user("q\(number)")],
        SpanSource.call(name, ["id": 7], id: "call_0"))
    }
    add(
      9, second,
      [
        SpanSource.user("q0"), SpanSource.call("look", ["id": 7], id: "call_0"),
        SpanSource.result("r", id: "call_0"),
      ], SpanSource.answer("done"))
    for requests in [source.requests, source.requests.reversed()] {
      #expect(try ImportedFile(source.lines(requests), name: "t.jsonl").logs.count == count)
    }
  }

  @Test(
    "OpenInference, Langfuse, LangSmith, the AI SDK, Traceloop's older keys and messages as events say the same"
  )
  func dialects() throws {
    let call: JSONValue = [
      "role": "assistant",
      "tool_calls": [
        ["id": "c1", "type": "function", "function": ["name": "look", "arguments": "{\"id\":7}"]]
      ],
    ]
    let asked: JSONValue = ["role": "user", "content": "q"]
    let models: [(String, (Bool) -> JSONObject)] = [
      (
        "openinference",
        { first in
          first
            ? [
              "openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
              "llm.input_messages.0.message.content": "q",
              "llm.output_messages.0.message.role": "assistant",
              "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
              "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
              "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments":
                "{\"id\":7}",
            ]
            : [
              "openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant",
              "llm.output_messages.0.message.content": "done",
            ]
        }
      ),
      (
        "langfuse",
        { first in
          [
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": SpanSource.text([asked]),
            "langfuse.observation.output": first ? SpanSource.text(call) : "done",
          ]
        }
      ),
      (
        "langsmith",
        { first in
          [
            "langsmith.span.kind": "llm", "gen_ai.prompt": SpanSource.text(["messages": [asked]]),
            "gen_ai.completion": SpanSource.text(
              first ? ["choices": [["message": call]]] : ["generations": [[["text": "done"]]]]),
          ]
        }
      ),
      (
        "ai",
        { first in
          [
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.prompt.messages": SpanSource.text([asked]),
            first ? "ai.response.toolCalls" : "ai.response.text":
              first
              ? SpanSource.text([["toolCallId": "c1", "toolName": "look", "args": "{\"id\":7}"]])
              : "done",
          ]
        }
      ),
      (
        "traceloop",
        { first in
          var attributes: JSONObject = [
            "llm.request.type": "chat", "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "q", "gen_ai.completion.0.role": "assistant",
          ]
          if first {
            attributes["gen_ai.completion.0.tool_calls.0.id"] = "c1"
            attributes["gen_ai.completion.0.tool_calls.0.name"] = "look"
            attributes["gen_ai.completion.0.tool_calls.0.arguments"] = "{\"id\":7}"
          } else {
            attributes["gen_ai.completion.0.content"] = "done"
          }
          return attributes
        }
      ),
    ]
    for (name, attributes) in models {
      var source = SpanSource()
      source.add("a1", under: nil, "root", 0...100, ["gen_ai.operation.name": "invoke_agent"])
      source.add("b1", under: "a1", "call", 10...20, attributes(true))
      source.add("d1", under: "a1", "call", 50...60, attributes(false))
      let file = try source.imported()
      #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(name)")
      #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7], "\(name)")
      #expect(file.data(.runStarted).first?["input"] == "q", "\(name)")
    }
    var events = SpanSource()
    events.add("a1", under: nil, "root", 0...100, ["gen_ai.operation.name": "invoke_agent"])
    events.add("b1", under: "a1", "call", 10...20, ["gen_ai.operation.name": "chat"])
    events.logs = [
      ("b1", "gen_ai.user.message", ["content": "q"], [:], 11),
      (
        "b1", "gen_ai.choice", ["index": 0, "finish_reason": "tool_calls", "message": call], [:], 12
      ),
    ]
    #expect(try events.imported().data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
  }

  @Test(
    "spans that other tools export: Jaeger, Phoenix, Langfuse, LangSmith, MLflow, the OpenAI Agents SDK"
  )
  func exports() throws {
    let out =
      #"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"look\",\"arguments\":{\"id\":7}}]}]"#
    let sources: [(ImportFormat, String)] = [
      (
        .jaeger,
        #"""
        {"data":[{"traceID":"AB","spans":[
         {"traceID":"AB","spanID":"1","operationName":"chat","references":[],"startTime":1,"duration":5,"tags":[
          {"key":"gen_ai.operation.name","value":"chat"},{"key":"gen_ai.output.messages","value":"\#(out)"}],"logs":[],"processID":"p"}],
         "processes":{"p":{"serviceName":"s"}}}]}
        """#
      ),
      (
        .phoenix,
        #"""
        [{"name":"m","context":{"trace_id":"t","span_id":"1"},"span_kind":"LLM","parent_id":null,"start_time":"2026-01-01T00:00:00Z",
          "attributes":{"llm":{"output_messages":[{"message":{"role":"assistant","tool_calls":[{"tool_call":{"id":"c1","function":{"name":"look","arguments":"{\"id\":7}"}}}]}}]}}}]
        """#
      ),
      (
        .langfuse,
        #"""
        {"trace":{"id":"t"},"observations":[{"id":"1","traceId":"t","type":"GENERATION","name":"m","startTime":"2026-01-01T00:00:00Z",
         "output":"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"id\\\":7}\"}}]}"}]}
        """#
      ),
      (
        .langSmith,
        #"""
        {"post":[{"id":"1","trace_id":"1","run_type":"llm","name":"m","dotted_order":"x","start_time":"2026-01-01T00:00:00Z"}],
         "patch":[{"id":"1","trace_id":"1","outputs":{"generations":[[{"message":{"lc":1,"id":["x","AIMessage"],"kwargs":{"content":"","tool_calls":[{"name":"look","args":{"id":7},"id":"c1"}]}}}]]}}]}
        """#
      ),
      (
        .mlflow,
        #"""
        [{"info":{"trace_id":"tr-1"},"data":{"spans":[{"trace_id":"9iBZhGOt3oCVnQkYydzI2A==","span_id":"VNunxVgLgvw=","name":"m","start_time_unix_nano":5,
         "attributes":{"mlflow.spanType":"\"CHAT_MODEL\"","mlflow.spanOutputs":"{\"choices\":[{\"message\":{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"id\\\":7}\"}}]}}]}"}}]}}]
        """#
      ),
      (
        .openAIAgents,
        #"""
        {"data":[{"object":"trace","id":"t","workflow_name":"w"},{"object":"trace.span","id":"1","trace_id":"t","parent_id":null,"started_at":"2026-01-01T00:00:00+00:00",
         "span_data":{"type":"generation","input":[],"output":[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"look","arguments":"{\"id\":7}"}}]}]}}]}
        """#
      ),
    ]
    for (format, text) in sources {
      let file = try ImportedFile(text)
      #expect(file.reports.first?.format == format, "\(format): \(file.errors)")
      #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7], "\(format)")
      #expect(file.data(.modelResult).count == 1, "\(format)")
    }
  }

  @Test(
    "spans that stand alone are read: as JavaScript prints them, and with their ids beside their attributes"
  )
  func alone() throws {
    let output = SpanSource.text([SpanSource.call("look", ["id": 7], id: "c1")])
    let attributes: JSONValue = [
      "gen_ai.operation.name": "chat", "gen_ai.output.messages": output,
    ]
    let spans: [JSONValue] = [
      [
        "name": "chat", "spanContext": ["traceId": "ab", "spanId": "1f"], "startTime": [1, 5],
        "endTime": [2, 0], "attributes": attributes, "status": ["code": 0],
      ],
      [
        "name": "chat", "trace_id": "ab", "span_id": "1f", "parent_span_id": .null,
        "start_time": 1_700_000_000_000_000_000, "end_time": 1_700_000_001_000_000_000,
        "attributes": attributes, "status": ["code": "UNSET"],
      ],
    ]
    for span in spans {
      for value in [[span], ["spans": [span]]] as [JSONValue] {
        let file = try ImportedFile(CanonicalJSON.string(value, form: .plain))
        #expect(file.reports.first?.format == .otlp, "\(file.errors)")
        #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
      }
    }
  }
}
