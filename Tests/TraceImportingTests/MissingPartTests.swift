import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceImporting
import TraceStorage

/// What a source speaks of and does not hold may be calls: it is named, and nothing is said against calls.
struct MissingPartTests {
  /// A source, and the words that name what it lacks; none where it holds all of it.
  struct Source: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var missing: String?
    var testDescription: String { "\(missing ?? "whole"): \(text.prefix(60))" }

    init(_ name: String, _ text: [String], _ missing: String?) {
      (self.name, self.text, self.missing) = (name, text.joined(separator: "\n") + "\n", missing)
    }
  }

  private static func codex(_ lines: [(type: String, payload: String)]) -> [String] {
    lines.map {
      #"{"timestamp":"2026-01-01T10:00:01Z","type":"\#($0.type)","payload":\#($0.payload)}"#
    }
  }
  private static let codexEnd = (
    "response_item",
    #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#
  )
  private static let codexAsk = (
    "response_item",
    #"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#
  )

  private static func claude(_ line: String, behind reply: Bool) -> [String] {
    let head = #""sessionId":"s","isSidechain":false,"timestamp":"2026-01-01T10:00:01Z""#
    let earlier = [
      #"{"type":"user","uuid":"u1","parentUuid":null,\#(head),"message":{"role":"user","content":"hi"}}"#,
      #"{"type":"assistant","uuid":"u2","parentUuid":"u1",\#(head),"message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"so"}]}}"#,
    ]
    return (reply ? earlier : []) + [
      line.replacing("HEAD", with: head).replacing("PARENT", with: reply ? #""u2""# : "null"),
      #"{"type":"assistant","uuid":"u9","parentUuid":"u8",\#(head),"message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"done"}]}}"#,
    ]
  }
  private static let claudeSummary =
    #"{"type":"user","uuid":"u8","parentUuid":PARENT,HEAD,"isCompactSummary":true,"message":{"role":"user","content":"Earlier I listed files."}}"#
  private static let claudeBoundary =
    #"{"type":"system","subtype":"compact_boundary","uuid":"u8","parentUuid":PARENT,HEAD,"content":"compacted"}"#

  private static func framework(_ tool: String, _ input: String) -> [String] {
    [
      #"[{"type":"human","content":"hi"},{"type":"ai","content":"","tool_calls":[{"name":"\#(tool)","args":\#(input),"id":"c"}]},{"type":"tool","name":"\#(tool)","content":"r","tool_call_id":"c","status":"success"},{"type":"ai","content":"done","tool_calls":[]}]"#
    ]
  }

  private static func adk(_ tool: String, _ input: String) -> [String] {
    let parts = [
      ("user", #"{"text":"hi"}"#),
      ("a", #"{"functionCall":{"id":"c","name":"\#(tool)","args":\#(input)}}"#),
      ("a", #"{"functionResponse":{"id":"c","name":"\#(tool)","response":{"ok":1}}}"#),
      ("a", #"{"text":"done"}"#),
    ]
    let events = parts.map { author, part in
      #"{"author":"\#(author)","invocationId":"i","content":{"parts":[\#(part)]}}"#
    }
    return [#"{"appName":"a","id":"1","events":[\#(events.joined(separator: ","))]}"#]
  }

  private static func atif(_ steps: String, beside: String = "") -> [String] {
    [
      #"{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},\#(beside)"steps":[\#(steps)]}"#
    ]
  }
  private static func step(_ id: String, _ source: String) -> String {
    #"{"step_id":\#(id),"source":"\#(source)","message":"m\#(id)"}"#
  }

  private static func openHands(_ condensation: String) -> [String] {
    let said = { (id: String, source: String, role: String) in
      #"{"id":"\#(id)","timestamp":"2026-01-01T00:00:00","kind":"MessageEvent","source":"\#(source)","llm_message":{"role":"\#(role)","content":[{"type":"text","text":"\#(id)"}]}}"#
    }
    let condensed =
      #"{"id":"q","timestamp":"2026-01-01T00:00:00","kind":"Condensation","source":"environment",\#(condensation),"summary":"x"}"#
    let events = [
      said("a", "user", "user"), said("b", "agent", "assistant"), condensed,
      said("c", "agent", "assistant"),
    ]
    return ["[\(events.joined(separator: ","))]"]
  }

  private static func inspect(_ events: String) -> [String] {
    [
      #"{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":1,"epoch":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"done"}],"events":[\#(events)],"output":{}}]}"#
    ]
  }

  private static let answer =
    #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"k"}]}"#

  private static func anthropic(before: String) -> String {
    #"[{"role":"user","content":"hi"},\#(before){"role":"assistant","content":[{"type":"compaction","content":"z"},{"type":"tool_use","id":"c","name":"look_up","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]},{"role":"assistant","content":[{"type":"text","text":"done"}]}]"#
  }

  static let sources: [Source] = [
    // Responses.
    Source(
      "a.json",
      [
        #"{"id":"resp_1","object":"response","status":"completed","previous_response_id":"resp_0","output":[\#(answer)]}"#
      ],
      "the response resp_0, from which this one goes on"),
    Source(
      "a.json",
      [
        #"{"id":"resp_1","object":"response","status":"completed","previous_response_id":null,"output":[\#(answer)]}"#
      ],
      nil),
    Source(
      "a.json",
      [
        #"{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]},\#(answer)],"previous_response_id":"resp_0"}"#
      ],
      "the response resp_0"),
    Source(
      "a.json",
      [
        #"{"id":"resp_1","object":"response","conversation":{"id":"conv_7"},"output":[\#(answer)]}"#
      ],
      "in the conversation conv_7 before"),
    Source(
      "a.json",
      [
        #"[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"compaction","id":"x","encrypted_content":"z"},\#(answer)]"#
      ],
      "a summary stands for"),
    Source(
      "a.json",
      [
        #"[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},\#(answer),{"type":"compaction","id":"x","encrypted_content":"z"},\#(answer)]"#
      ],
      nil),
    // Anthropic and pydantic-ai.
    Source("a.json", [anthropic(before: "")], "a summary stands for"),
    Source("a.json", [anthropic(before: #"{"role":"assistant","content":"so"},"#)], nil),
    Source(
      "a.json",
      [
        #"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"}]},{"kind":"response","parts":[{"part_kind":"compaction","content":"z"},{"part_kind":"text","content":"done"}]}]"#
      ], "a summary stands for"),
    // Codex.
    Source(
      "r.jsonl",
      codex([
        ("session_meta", #"{"id":"a","cwd":"/w","forked_from_id":"zzz"}"#), codexAsk, codexEnd,
      ]),
      "the session zzz, from which this one goes on"),
    Source(
      "r.jsonl",
      codex([
        ("session_meta", #"{"id":"a","cwd":"/w","forked_from_id":"zzz"}"#),
        ("session_meta", #"{"id":"zzz","cwd":"/w"}"#), codexAsk, codexEnd,
      ]), nil),
    Source(
      "r.jsonl",
      codex([
        ("session_meta", #"{"id":"a","cwd":"/w"}"#), codexAsk, ("compacted", #"{"message":"sum"}"#),
        codexEnd,
      ]), "a summary stands for"),
    Source(
      "r.jsonl",
      codex([
        ("session_meta", #"{"id":"a","cwd":"/w"}"#), codexAsk, codexEnd,
        ("compacted", #"{"message":"sum"}"#), codexEnd,
      ]), nil),
    // Claude Code.
    Source("s.jsonl", claude(claudeSummary, behind: false), "a summary stands for"),
    Source("s.jsonl", claude(claudeSummary, behind: true), nil),
    Source("s.jsonl", claude(claudeBoundary, behind: false), "a summary stands for"),
    Source("s.jsonl", claude(claudeBoundary, behind: true), nil),
    // ATIF.
    Source("a.json", atif(step("1", "user") + "," + step("2", "agent")), nil),
    Source("a.json", atif(step("0", "user") + "," + step("1", "agent")), nil),
    Source("a.json", atif(step("1", "user") + "," + step("5", "agent")), "steps 2 to 4 are not"),
    Source("a.json", atif(step("2", "user") + "," + step("3", "agent")), "step 1 is not"),
    Source(
      "a.json",
      atif(
        step("1", "user") + "," + step("2", "agent"),
        beside: #""continued_trajectory_ref":"b.json","#),
      "what it goes on with"),
    // Numbers that count nothing.
    Source(
      "a.json",
      atif(step("-9223372036854775808", "user") + "," + step("9223372036854775807", "agent")),
      nil),
    // Gemini CLI.
    Source(
      "a.json",
      [
        #"{"sessionId":"s","projectHash":"p","messages":[{"id":"u","type":"user","content":"hi"},{"id":"m","type":"gemini","content":"x","toolCalls":[{"id":"c1","name":"task","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","name":"task","response":{"output":"ok"}}}],"agentId":"abc"}]}]}"#
      ],
      "what the sub-agent abc did"),
    // Codex, Claude Code and Inspect: what is done elsewhere.
    Source(
      "r.jsonl",
      codex([
        ("session_meta", #"{"id":"a","cwd":"/w"}"#), codexAsk,
        ("event_msg", #"{"type":"entered_review_mode"}"#), codexEnd,
      ]), "what the sub-agent review did"),
    Source(
      "r.jsonl",
      codex([
        ("session_meta", #"{"id":"a","cwd":"/w"}"#), codexAsk,
        (
          "response_item",
          #"{"type":"function_call","name":"spawn_agents_on_csv","arguments":"{}","call_id":"c"}"#
        ),
        ("response_item", #"{"type":"function_call_output","call_id":"c","output":"{}"}"#),
        codexEnd,
      ]), "what a sub-agent did"),
    // Frameworks, whose lists show what one agent was shown.
    Source("a.json", framework("transfer_to_refunds", "{}"), "what the sub-agent refunds did"),
    Source("a.json", framework("ask_refund_agent", "{}"), "what the sub-agent ask_refund_agent"),
    Source(
      "a.json", framework("task", #"{"description":"d","subagent_type":"finder"}"#),
      "what the sub-agent finder did"),
    Source("a.json", framework("delegate_work", "{}"), "what the sub-agent delegate_work did"),
    Source("a.json", framework("task", #"{"id":7}"#), nil),
    Source("a.json", framework("look", #"{"request":"x"}"#), nil),
    Source("a.json", framework("transfer_to_human", "{}"), nil),
    Source("a.json", adk("look", #"{"request":"x"}"#), "what the sub-agent look did"),
    Source("a.json", adk("transfer_to_agent", #"{"agent_name":"b"}"#), nil),
    // OpenHands.
    Source("a.json", openHands(#""forgotten_event_ids":["z"]"#), "a summary stands for"),
    Source("a.json", openHands(#""forgotten_event_ids":["a","b"]"#), nil),
    Source(
      "a.json", openHands(#""forgotten_events_start_id":1,"forgotten_events_end_id":4"#),
      "a summary"),
    // Inspect.
    Source("a.json", inspect(#"{"event":"compaction","type":"summary"}"#), "a summary stands for"),
    Source(
      "a.json",
      inspect(
        #"{"event":"model","output":{"choices":[{"message":{"role":"assistant","content":"done"}}]}},{"event":"compaction","type":"summary"}"#
      ), nil),
    // Traces: a run that begins with the results of calls that nobody in it made.
    Source("a.json", [trace(shown: tail, attributes: "")], "in the middle of a turn"),
    Source(
      "a.json",
      [
        trace(
          shown: tail
            + #",{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"and?\"}]}"#,
          attributes: "")
      ], nil),
    Source(
      "a.json",
      [
        trace(
          shown: "",
          attributes:
            #",{"key":"output.value","value":{"stringValue":"{\"id\":\"resp_1\",\"previous_response_id\":\"resp_0\"}"}}"#
        )
      ],
      "the response resp_0"),
  ]

  private static let tail =
    #",{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"delete_file\",\"arguments\":{}}]},{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"c1\",\"response\":\"ok\"}]}"#

  private static func trace(shown: String, attributes: String) -> String {
    let ask = #"{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"hi\"}]}"#
    return
      #"{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"s"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000b2","name":"chat m","startTimeUnixNano":"1700000162000000000","endTimeUnixNano":"1700000162500000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.input.messages","value":{"stringValue":"["#
      + ask + shown
      + #"]"}},{"key":"gen_ai.output.messages","value":{"stringValue":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"done\"}],\"finish_reason\":\"stop\"}]"}}"#
      + attributes + #"]}]}]}]}"#
  }

  @Test("what is not at hand is named in words, where the source speaks of it", arguments: sources)
  func missing(_ source: Source) throws {
    let file = try ImportedFile(source.text, name: source.name)
    let started = try #require(file.data(.runStarted).first, "\(file.errors)")
    let words = (started["source"]?["missing"]?.arrayValue ?? []).compactMap(\.stringValue)
    guard let missing = source.missing else {
      #expect(words == [] && started["recorded"]?["calls"] == nil, "\(started)")
      return
    }
    #expect(words.count == 1 && words.first?.contains(missing) == true, "\(words)")
    #expect(started["recorded"]?["calls"] == "partial")
    #expect(started["source"]?["unread"]?.arrayValue?.isEmpty == false)
    #expect(file.reports.first?.json["missing"]?.arrayValue?.count == 1)
  }

  @Test("a file that goes on from steps told in another one goes on counting, or begins anew")
  func continuations() throws {
    for (first, isWhole) in [("1", true), ("3", true), ("4", false)] {
      let folder = try TemporaryFolder()
      try folder.write(
        "in/a.json", Self.atif(Self.step("1", "user") + "," + Self.step("2", "agent")).joined())
      try folder.write("in/a.cont-1.json", Self.atif(Self.step(first, "agent")).joined())
      var log: String?
      try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
        if case .imported(let path, _) = $0.outcome { log = path }
      }
      let events = try ImportedFile.events(of: try #require(log))
      let words = events.first?.data["source"]?["missing"]?[0]?.stringValue
      #expect(words == (isWhole ? nil : "step 3 is not in the source"), "\(first)")
    }
  }

  @Test(
    "a packed file of a folder is a trace unless it is a run log of ours, and what it is not is said",
    arguments: ["jsonl.gz", "ndjson.gz", "json.gz", "JSONL.GZ"])
  func packed(ending: String) throws {
    let folder = try TemporaryFolder()
    let list = #"[{"role":"user","content":"hi"},{"role":"assistant","content":"done"}]"#
    try folder.write("in/own/list.json", list)
    try Importer(format: nil, output: "\(folder.path)/in/own").run(
      paths: ["\(folder.path)/in/own/list.json"]
    ) { _ in }
    let write = { (name: String, bytes: [UInt8]) in
      try Data(bytes).write(to: URL(fileURLWithPath: "\(folder.path)/in/\(name)"))
    }
    try write("a.\(ending)", Gzip.stored(Array((list + "\n").utf8)))
    try write("b.\(ending)", Gzip.stored(Array("no JSON".utf8)))
    try write("c.\(ending)", Array("no gzip".utf8))
    try write("d.csv.gz", Gzip.stored(Array("a,b".utf8)))
    var imported: [String] = []
    var failed: [String] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
      let name = String($0.source.dropFirst(folder.path.count + 4))
      if case .imported = $0.outcome { imported.append(name) } else { failed.append(name) }
    }
    #expect(imported == ["a.\(ending)", "own/list.json"])
    #expect(failed == ["b.\(ending)", "c.\(ending)"])
  }

  @Test("a session's sub-agents stand with it, packed or not")
  func packedSession() throws {
    let line = { (id: String, side: Bool, text: String) in
      #"{"type":"assistant","uuid":"\#(id)","sessionId":"s","parentUuid":null,"isSidechain":\#(side),"timestamp":"2026-01-01T10:00:0\#(side ? 2 : 1)Z","message":{"id":"m\#(id)","role":"assistant","content":[{"type":"text","text":"\#(text)"}]}}"#
        + "\n"
    }
    for (session, agent) in [("", ""), (".gz", ""), ("", ".gz"), (".gz", ".gz")] {
      let folder = try TemporaryFolder()
      for (name, ending, text) in [
        ("s.jsonl", session, line("1", false, "so")),
        ("s/subagents/agent-x.jsonl", agent, line("2", true, "there")),
      ] {
        let path = try folder.write("in/\(name)\(ending)", text)
        guard !ending.isEmpty else { continue }
        try Data(Gzip.stored(Array(text.utf8))).write(to: URL(fileURLWithPath: path))
      }
      var logs: [String] = []
      try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
        if case .imported(let log, _) = $0.outcome { logs.append(log) }
      }
      #expect(logs.count == 1, "\(session) \(agent)")
      let events = try ImportedFile.events(of: try #require(logs.first))
      #expect(events.contains { $0.data["caller"] == "agent-x" }, "\(session) \(agent)")
    }
  }

  @Test("a parent that only another trace has is not there")
  func parentElsewhere() throws {
    // Both number their spans alike.
    let (whole, part) = (AgentTraceRequest(1), AgentTraceRequest(2))
    let stray = part.span(
      5, below: 2, "execute_tool look_up", 11...12,
      ["gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up"])
    let body = AgentTraceRequest.request(whole.spans + [stray, part.spans[3]])
    let file = try ImportedFile(String(decoding: body, as: UTF8.self))
    #expect(
      file.logs.map { $0.first?.data["recorded"]?["calls"] == "partial" } == [false, true],
      "\(file.reports)")
  }
}
