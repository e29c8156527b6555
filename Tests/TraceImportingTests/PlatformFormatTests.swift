import AgentTrace
import Testing
import TraceImporting

@Suite("What platforms export that trace agents")
struct PlatformFormatTests {
  /// One run as each platform tells it: a model asks for a tool, is shown what that gave back, and answers. What stands
  /// above both calls of the model repeats what they took.
  private static let samples: [ImportFormat: String] = [
    .braintrust: #"""
    {"id":"1","span_id":"r","root_span_id":"r","span_parents":[],"is_root":true,"span_attributes":{"name":"agent","type":"task"},"input":"Where is order 7?","output":"It was sent.","metrics":{"start":1700000000,"end":1700000009,"prompt_tokens":100,"completion_tokens":20},"created":"2026-01-01T00:00:00Z","_xact_id":"10"}
    {"id":"2","span_id":"a","root_span_id":"r","span_parents":["r"],"span_attributes":{"name":"Chat Completion","type":"llm"},"input":[{"role":"user","content":"Where is order 7?"}],"output":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]},"finish_reason":"tool_calls"}],"metrics":{"start":1700000001,"end":1700000002,"prompt_tokens":50,"completion_tokens":10},"metadata":{"model":"m"},"_xact_id":"10"}
    {"id":"3","span_id":"b","root_span_id":"r","span_parents":["r"],"span_attributes":{"name":"look","type":"tool"},"input":[{"order":7}],"output":"sent","metrics":{"start":1700000003,"end":1700000004},"_xact_id":"10"}
    {"id":"4","span_id":"c","root_span_id":"r","span_parents":["r"],"span_attributes":{"name":"Chat Completion","type":"llm"},"input":[{"role":"user","content":"Where is order 7?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]},{"role":"tool","tool_call_id":"c1","content":"sent"}],"output":[{"index":0,"message":{"role":"assistant","content":"It was sent."},"finish_reason":"stop"}],"metrics":{"start":1700000005,"end":1700000006,"prompt_tokens":50,"completion_tokens":10},"metadata":{"model":"m"},"_xact_id":"10"}
    """#,
    .opik: #"""
    {"trace":{"id":"t1","name":"agent","start_time":"2026-01-01T00:00:00Z","end_time":"2026-01-01T00:00:09Z","input":{"input":"Where is order 7?"},"output":{"output":"It was sent."},"usage":{"prompt_tokens":100,"completion_tokens":20},"span_count":3},"spans":[{"id":"a","trace_id":"t1","parent_span_id":null,"name":"chat_completion_create","type":"llm","start_time":"2026-01-01T00:00:01Z","end_time":"2026-01-01T00:00:02Z","input":{"messages":[{"role":"user","content":"Where is order 7?"}]},"output":{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]}}]},"model":"m","usage":{"prompt_tokens":50,"completion_tokens":10}},{"id":"b","trace_id":"t1","parent_span_id":null,"name":"look","type":"tool","start_time":"2026-01-01T00:00:03Z","end_time":"2026-01-01T00:00:04Z","input":{"order":7},"output":{"output":"sent"}},{"id":"c","trace_id":"t1","parent_span_id":null,"name":"chat_completion_create","type":"llm","start_time":"2026-01-01T00:00:05Z","end_time":"2026-01-01T00:00:06Z","input":{"messages":[{"role":"user","content":"Where is order 7?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]},{"role":"tool","tool_call_id":"c1","content":"sent"}]},"output":{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It was sent."}}]},"model":"m","usage":{"prompt_tokens":50,"completion_tokens":10}}],"attachments":[],"downloaded_at":"2026-01-01T01:00:00","project_name":"p"}
    """#,
    .weave: #"""
    {"id":"r","project_id":"e/p","op_name":"weave:///e/p/op/agent:abc","trace_id":"t1","parent_id":null,"started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:09Z","attributes":{},"inputs":{"question":"Where is order 7?"},"output":"It was sent.","exception":null,"summary":{"usage":{"m":{"prompt_tokens":100,"completion_tokens":20,"requests":2}}}}
    {"id":"a","project_id":"e/p","op_name":"weave:///e/p/op/openai.chat.completions.create:abc","trace_id":"t1","parent_id":"r","started_at":"2026-01-01T00:00:01Z","ended_at":"2026-01-01T00:00:02Z","attributes":{},"inputs":{"self":{"client":"x"},"model":"m","messages":[{"role":"user","content":"Where is order 7?"}]},"output":{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]}}],"usage":{"prompt_tokens":50,"completion_tokens":10}},"summary":{"usage":{"m":{"prompt_tokens":50,"completion_tokens":10,"requests":1}}}}
    {"id":"b","project_id":"e/p","op_name":"weave:///e/p/op/Shop.look:abc","trace_id":"t1","parent_id":"r","started_at":"2026-01-01T00:00:03Z","ended_at":"2026-01-01T00:00:04Z","attributes":{"weave":{"client_version":"1"}},"inputs":{"self":{"name":"shop"},"order":7},"output":"sent","summary":{}}
    {"id":"c","project_id":"e/p","op_name":"weave:///e/p/op/openai.chat.completions.create:abc","trace_id":"t1","parent_id":"r","started_at":"2026-01-01T00:00:05Z","ended_at":"2026-01-01T00:00:06Z","attributes":{},"inputs":{"model":"m","messages":[{"role":"user","content":"Where is order 7?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]},{"role":"tool","tool_call_id":"c1","content":"sent"}]},"output":{"id":"chatcmpl-2","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It was sent."}}],"usage":{"prompt_tokens":50,"completion_tokens":10}},"summary":{"usage":{"m":{"prompt_tokens":50,"completion_tokens":10,"requests":1}}}}
    """#,
    .datadog: #"""
    {"data":{"type":"span","attributes":{"ml_app":"shop","session_id":"s1","tags":[],"spans":[{"parent_id":"undefined","trace_id":"t1","span_id":"r","name":"agent","meta":{"kind":"agent","input":{"value":"Where is order 7?"},"output":{"value":"It was sent."}},"start_ns":1713889389000000000,"duration":9000000000,"status":"ok"},{"parent_id":"r","trace_id":"t1","span_id":"a","name":"chat","meta":{"kind":"llm","model_name":"m","input":{"messages":[{"role":"user","content":"Where is order 7?"}]},"output":{"messages":[{"role":"reasoning","content":"I look."},{"role":"assistant","content":"","tool_calls":[{"name":"look","arguments":{"order":7},"tool_id":"c1","type":"function"}]}]}},"start_ns":1713889390000000000,"duration":1000000000,"metrics":{"input_tokens":50,"output_tokens":10}},{"parent_id":"r","trace_id":"t1","span_id":"b","name":"look","meta":{"kind":"tool","input":{"value":"{\"order\":7}"},"output":{"value":"sent"}},"start_ns":1713889391000000000,"duration":500000000},{"parent_id":"r","trace_id":"t1","span_id":"c","name":"chat","meta":{"kind":"llm","model_name":"m","input":{"messages":[{"role":"user","content":"Where is order 7?"},{"role":"assistant","content":"","tool_calls":[{"name":"look","arguments":{"order":7},"tool_id":"c1","type":"function"}]},{"role":"user","content":"","tool_results":[{"name":"look","result":"sent","tool_id":"c1","type":"tool_result"}]}]},"output":{"messages":[{"role":"assistant","content":"It was sent."}]}},"start_ns":1713889392000000000,"duration":1000000000,"metrics":{"input_tokens":50,"output_tokens":10}}]}}}
    """#,
    .helicone: #"""
    {"response_id":"x","response_created_at":"2026-01-01T00:00:02Z","response_body":{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]}}]},"response_status":200,"request_id":"q1","request_created_at":"2026-01-01T00:00:01Z","request_body":{"model":"m","messages":[{"role":"user","content":"Where is order 7?"}]},"request_path":"/v1/chat/completions","request_properties":{"Helicone-Session-Id":"s1"},"prompt_tokens":50,"completion_tokens":10}
    {"response_id":"y","response_created_at":"2026-01-01T00:00:04Z","response_body":{"id":"chatcmpl-2","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It was sent."}}]},"response_status":200,"request_id":"q2","request_created_at":"2026-01-01T00:00:03Z","request_body":{"model":"m","messages":[{"role":"user","content":"Where is order 7?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":7}"}}]},{"role":"tool","tool_call_id":"c1","content":"sent"}]},"request_path":"/v1/chat/completions","request_properties":{"Helicone-Session-Id":"s1"},"prompt_tokens":50,"completion_tokens":10}
    """#,
    .posthog: #"""
    {"uuid":"1","event":"$ai_trace","timestamp":"2026-01-01T00:00:09Z","properties":{"$ai_trace_id":"t1","$ai_span_name":"agent","$ai_latency":9,"$ai_input_state":"Where is order 7?","$ai_output_state":"It was sent."}}
    {"uuid":"2","event":"$ai_generation","timestamp":"2026-01-01T00:00:02Z","properties":{"$ai_trace_id":"t1","$ai_span_id":"a","$ai_parent_id":"t1","$ai_model":"m","$ai_latency":1,"$ai_input":[{"role":"user","content":"Where is order 7?"}],"$ai_output_choices":[{"role":"assistant","content":[{"type":"function","id":"c1","function":{"name":"look","arguments":{"order":7}}}]}],"$ai_input_tokens":50,"$ai_output_tokens":10}}
    {"uuid":"3","event":"$ai_span","timestamp":"2026-01-01T00:00:04Z","properties":{"$ai_trace_id":"t1","$ai_span_id":"b","$ai_parent_id":"t1","$ai_span_name":"look","$ai_latency":1,"$ai_input_state":{"order":7},"$ai_output_state":"sent"}}
    {"uuid":"4","event":"$ai_generation","timestamp":"2026-01-01T00:00:06Z","properties":"{\"$ai_trace_id\":\"t1\",\"$ai_span_id\":\"c\",\"$ai_parent_id\":\"t1\",\"$ai_model\":\"m\",\"$ai_latency\":1,\"$ai_input\":[{\"role\":\"user\",\"content\":\"Where is order 7?\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"function\",\"id\":\"c1\",\"function\":{\"name\":\"look\",\"arguments\":{\"order\":7}}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"sent\"}],\"$ai_output_choices\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"It was sent.\"}]}],\"$ai_input_tokens\":50,\"$ai_output_tokens\":10}"}
    """#,
  ]

  private static let formats: [ImportFormat] = [
    .braintrust, .opik, .weave, .datadog, .helicone, .posthog,
  ]

  /// A platform's sample, with some of its text replaced, imported.
  private static func imported(
    _ format: ImportFormat, _ text: String = "", by other: String = ""
  ) throws -> ImportedFile {
    let sample = try #require(samples[format])
    #expect(text.isEmpty || sample.contains(text), "\(format): \(text)")
    return try ImportedFile(
      text.isEmpty ? sample : sample.replacing(text, with: other), name: "t.jsonl")
  }

  private static func calls(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["recorded"]?["calls"]
  }

  @Test(
    "a run tells its calls, results, usage and end, and no sum twice", arguments: formats)
  func whole(_ format: ImportFormat) throws {
    let file = try Self.imported(format)
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.reports.map(\.format) == [format])
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "look")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["order": 7])
    #expect(file.data(.toolResult).map { $0["data"] } == ["sent"])
    // A proxy sees no tool at work.
    #expect(
      file.data(.toolResult).map { $0["status"] } == [format == .helicone ? "returned" : "ok"])
    #expect(file.data(.modelResult).map { $0["usage"]?["inputTokens"] } == [50, 50])
    #expect(file.data(.runStarted).first?["input"] == "Where is order 7?")
    #expect(Self.calls(file) == nil, "\(file.data(.runStarted))")
    #expect(file.stop == (format == .helicone ? nil : "success final_answer"))
  }

  @Test(
    "a word for what a span is that nobody knows is marked",
    arguments: [
      (.braintrust, #""type":"tool""#, #""type":"robot""#),
      (.opik, #""type":"tool""#, #""type":"robot""#),
      (.weave, #""client_version":"1""#, #""kind":"robot""#),
      (.datadog, #""kind":"tool""#, #""kind":"robot""#),
      (.posthog, "$ai_span\"", "$ai_robot\""),
    ] as [(ImportFormat, String, String)])
  func unknownKind(_ format: ImportFormat, _ text: String, _ other: String) throws {
    let file = try Self.imported(format, text, by: other)
    #expect(Self.calls(file) == "partial", "\(file.errors)")
  }

  @Test(
    "what has not ended ends no run",
    arguments: [
      (.braintrust, #""end":1700000009,"#, ""),
      (.opik, #""end_time":"2026-01-01T00:00:09Z","#, ""),
      (.weave, #""ended_at":"2026-01-01T00:00:09Z""#, #""ended_at":null"#),
    ] as [(ImportFormat, String, String)])
  func open(_ format: ImportFormat, _ text: String, _ other: String) throws {
    let file = try Self.imported(format, text, by: other)
    #expect(file.logs.count == 1 && file.stop == nil, "\(file.errors)")
  }

  @Test(
    "a run that failed is no success, and a tool that failed is an error",
    arguments: [
      (.braintrust, #""output":"sent","#, #""output":null,"error":"boom","#),
      (
        .opik, #""output":{"output":"sent"}"#,
        #""error_info":{"exception_type":"E","message":"boom"}"#
      ),
      (.weave, #""output":"sent","#, #""output":null,"exception":"boom","#),
      (
        .datadog, #""output":{"value":"sent"}},"#,
        #""error":{"message":"boom","type":"E"}},"status":"error","#
      ),
      (
        .posthog, #""$ai_output_state":"sent""#,
        #""$ai_is_error":true,"$ai_error":"boom""#
      ),
    ] as [(ImportFormat, String, String)])
  func failed(_ format: ImportFormat, _ text: String, _ other: String) throws {
    let file = try Self.imported(format, text, by: other)
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"], "\(file.errors)")
  }

  @Test("a step that is called as a tool which a model asked for is the tool's execution")
  func steps() throws {
    let file = try Self.imported(.braintrust, #""type":"tool""#, by: #""type":"function""#)
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"])
    #expect(Self.calls(file) == nil)
    let untold = try Self.imported(.opik, #""type":"tool""#, by: #""type":"general""#)
    #expect(untold.data(.toolResult).map { $0["status"] } == ["ok"])
    // What ran before anybody asked for it is something else.
    let early = try Self.imported(
      .opik,
      #""type":"tool","start_time":"2026-01-01T00:00:03Z""#,
      by: #""type":"general","start_time":"2026-01-01T00:00:00Z""#)
    #expect(early.data(.toolResult).map { $0["status"] } == ["returned"])
  }

  // MARK: Each for itself

  @Test("of a row of Braintrust the last version counts, whatever page it stands on")
  func versions() throws {
    let sample = try #require(Self.samples[.braintrust])
    let older = sample.replacing(#""sent""#, with: #""lost""#).replacing(
      #""_xact_id":"10""#, with: #""_xact_id":"9""#)
    for text in [sample + "\n" + older, older + "\n" + sample] {
      let file = try ImportedFile(text, name: "t.jsonl")
      #expect(file.data(.toolResult).map { $0["data"] } == ["sent"], "\(file.errors)")
      #expect(Self.calls(file) == nil)
    }
  }

  @Test("a later part of a row of Braintrust is put into it")
  func parts() throws {
    let sample = try #require(Self.samples[.braintrust])
    let part =
      #"{"id":"3","_is_merge":true,"span_id":"b","root_span_id":"r","span_parents":["r"],"output":"sent","metrics":{"end":1700000004}}"#
    let begun = sample.replacing(#""output":"sent","#, with: "").replacing(
      #"{"start":1700000003,"end":1700000004}"#, with: #"{"start":1700000003}"#)
    let file = try ImportedFile(begun + "\n" + part, name: "t.jsonl")
    #expect(file.data(.toolResult).map { $0["data"] } == ["sent"], "\(file.errors)")
    #expect(file.stop == "success final_answer")
  }

  @Test("what a scorer asked of a model is no call of the agent's")
  func scorers() throws {
    let scorer = #"""
      {"id":"5","span_id":"s","root_span_id":"r","span_parents":["r"],"span_attributes":{"name":"judge","type":"score","purpose":"scorer"},"input":"x","output":1,"metrics":{"start":1700000007,"end":1700000009}}
      {"id":"6","span_id":"j","root_span_id":"r","span_parents":["s"],"span_attributes":{"name":"Chat Completion","type":"llm"},"input":[{"role":"user","content":"Is it good?"}],"output":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c9","type":"function","function":{"name":"choose","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"metrics":{"start":1700000008,"end":1700000009}}
      """#
    let rows = try ImportedFile(
      try #require(Self.samples[.braintrust]) + "\n" + scorer, name: "t.jsonl")
    #expect(rows.data(.modelResult).count == 2, "\(rows.errors)")
    #expect(rows.stop == "success final_answer" && Self.calls(rows) == nil)

    let example = try #require(Self.samples[.weave]).replacing(
      #""parent_id":null"#, with: #""parent_id":"x""#)
    let around = #"""
      {"id":"w","op_name":"weave:///e/p/op/Evaluation.evaluate:v","trace_id":"t1","parent_id":null,"started_at":"2025-12-31T00:00:00Z","ended_at":"2026-01-02T00:00:00Z","attributes":{},"inputs":{},"output":{},"summary":{}}
      {"id":"x","op_name":"weave:///e/p/op/Evaluation.predict_and_score:v","trace_id":"t1","parent_id":"w","started_at":"2025-12-31T00:00:01Z","ended_at":"2026-01-01T00:01:00Z","attributes":{},"inputs":{},"output":{},"summary":{}}
      {"id":"s","op_name":"weave:///e/p/op/judge:v","trace_id":"t1","parent_id":"x","started_at":"2026-01-01T00:00:20Z","ended_at":"2026-01-01T00:00:30Z","attributes":{},"inputs":{},"output":1,"summary":{}}
      {"id":"j","op_name":"weave:///e/p/op/openai.chat.completions.create:v","trace_id":"t1","parent_id":"s","started_at":"2026-01-01T00:00:21Z","ended_at":"2026-01-01T00:00:22Z","attributes":{},"inputs":{"messages":[{"role":"user","content":"Is it good?"}]},"output":{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Yes."}}]},"summary":{}}
      """#
    let calls = try ImportedFile(example + "\n" + around, name: "t.jsonl")
    #expect(calls.logs.count == 1, "\(calls.errors)")
    #expect(calls.data(.modelResult).count == 2)
    #expect(calls.stop == "success final_answer" && Self.calls(calls) == nil)
  }

  @Test("a function around a model's call, which hands on its reply, is no second call")
  func wrapped() throws {
    let sample = try #require(Self.samples[.weave])
    let reply =
      #"{"id":"chatcmpl-2","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It was sent."}}]}"#
    let file = try ImportedFile(
      sample.replacing(#""output":"It was sent.""#, with: #""output":\#(reply)"#), name: "t.jsonl")
    #expect(file.data(.modelResult).count == 2, "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
  }

  @Test("what Datadog left out since it was too large is no content")
  func dropped() throws {
    let file = try Self.imported(
      .datadog,
      #""name":"chat","meta":{"kind":"llm","model_name":"m","input":{"messages":[{"role":"user","content":"Where is order 7?"}]}"#,
      by:
        #""collection_errors":["dropped_io"],"name":"chat","meta":{"kind":"llm","model_name":"m","input":{"value":"[dropped]"}"#
    )
    #expect(file.logs.count == 1 && Self.calls(file) == "partial", "\(file.errors)")
  }

  @Test("Datadog's answers, and what its libraries send, tell the same as what it is sent")
  func datadogShapes() throws {
    let told = try #require(try Self.imported(.datadog).source)
    let spans = try #require(told["data"]?["attributes"]?["spans"]?.arrayValue)
    let answers = spans.map { span -> JSONValue in
      var event = span.objectValue ?? [:]
      let meta = span["meta"]
      event["meta"] = nil
      event["span_kind"] = meta?["kind"]
      event["input"] = meta?["input"]
      event["output"] = meta?["output"]
      return ["id": span["span_id"] ?? .null, "type": "span", "attributes": .object(event)]
    }
    let bodies: [JSONValue] = [
      ["data": .array(answers), "meta": ["page": .null, "status": "done"]],
      ["_dd.stage": "raw", "event_type": "span", "spans": .array(spans)],
    ]
    for body in bodies {
      let file = try ImportedFile(CanonicalJSON.string(body, form: .plain))
      #expect(file.reports.map(\.format) == [.datadog], "\(file.errors)")
      #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
      #expect(file.stop == "success final_answer" && Self.calls(file) == nil)
    }
  }

  @Test("requests of Helicone that failed, have not come back, or ran a tool say so")
  func requests() throws {
    let failed = try Self.imported(
      .helicone,
      #""finish_reason":"stop","message":{"role":"assistant","content":"It was sent."}}]},"response_status":200"#,
      by: #""finish_reason":"stop"}],"error":{"message":"too many"}},"response_status":429"#)
    #expect(failed.stop == nil && failed.data(.decision).map { $0["kind"] } != ["tool", "answer"])
    let tool = #"""
      {"request_id":"q3","request_created_at":"2026-01-01T00:00:02Z","response_created_at":"2026-01-01T00:00:02Z","request_body":{"_type":"tool","toolName":"look","input":{"order":7}},"response_body":"sent","response_status":200,"request_path":"custom","request_properties":{"Helicone-Session-Id":"s1"}}
      """#
    let file = try ImportedFile(
      try #require(Self.samples[.helicone]) + "\n" + tool, name: "t.jsonl")
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"], "\(file.errors)")
    #expect(file.data(.decision).count == 2)
  }

  @Test("spans of PostHog below a trace of which there is no event are the top of theirs")
  func traceWithoutEvent() throws {
    let sample = try #require(Self.samples[.posthog])
    let rest = sample.split(separator: "\n").dropFirst().joined(separator: "\n")
    let file = try ImportedFile(rest, name: "t.jsonl")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    #expect(Self.calls(file) == nil && file.stop == nil)
  }
}
