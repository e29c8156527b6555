import AgentTrace
import TestSupport
import Testing
import TraceImporting
import TraceStorage

/// What a body holds that belongs to no trace: it is in nobody's run, and may have been a call of any of them.
@Suite("Bodies with what belongs to no trace")
struct UnplacedBodyTests {
  private struct Judged {
    var calls: JSONValue?
    var stop: JSONValue?
    var isOpen: Bool
  }

  private static func span(_ id: String, _ operation: String, _ more: String = "") -> String {
    let parent = id == "a1" ? "" : #""parentSpanId":"a1","#
    let end = more.contains("endTimeUnixNano") ? "" : #""endTimeUnixNano":"9","#
    return
      #"{"traceId":"7f","spanId":"\#(id)",\#(parent)"name":"\#(operation)","startTimeUnixNano":"1",\#(end)"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"\#(operation)"}},{"key":"gen_ai.output.messages","value":{"stringValue":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"done\"}],\"finish_reason\":\"stop\"}]"}}]\#(more)}"#
  }

  private static let tool =
    #"{"traceId":"7f","name":"execute_tool delete_x","startTimeUnixNano":"2","endTimeUnixNano":"3","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":"delete_x"}}]}"#

  private static func body(root: String = span("a1", "invoke_agent"), beside: String = "") -> String
  {
    #"{"resourceSpans":[{"scopeSpans":[{"spans":[\#(root),\#(span("b1", "chat"))\#(beside.hasPrefix(",") ? beside : "")]}]}]\#(beside.hasPrefix(",") ? "" : beside)}"#
  }

  private static func judged(
    _ text: String, _ route: ReceivedRoute = .traces, _ path: String = "/v1/traces"
  ) throws -> [Judged] {
    let folder = try TestSupport.TemporaryFolder()
    let body = try ReceivedBody(
      Array(text.utf8), route: route, path: path, contentType: "application/json")
    guard let format = body.pieces.first?.format else { return [] }
    let runs = try ReceivedRuns(body.pieces.map(\.payload), format: format)
    return try runs.runs.enumerated().map { index, run in
      let log = folder.path("\(index).jsonl.gz")
      _ = try runs.write(run, to: log, named: "r\(index)")
      var reader = try LogReader(path: log)
      var events: [Event] = []
      while let event = try reader.next() { events.append(event) }
      return Judged(
        calls: events.first?.data["recorded"]?["calls"],
        stop: events.last { $0.type == .stop }?.data["reason"], isOpen: run.isOpen)
    }
  }

  @Test("a body that is whole makes a whole run")
  func whole() throws {
    let runs = try Self.judged(Self.body())
    #expect(runs.count == 1 && runs[0].calls == nil && runs[0].stop == "success" && !runs[0].isOpen)
  }

  @Test(
    "whatever of a body belongs to no trace marks the runs of the others",
    arguments: [
      "," + tool.replacing(#""traceId":"7f","#, with: #""traceId":"7f","spanId":"","#), "," + tool,
      "," + tool.replacing(#""traceId":"7f","#, with: #""spanId":"c1","#),
      #","spans":[\#(tool)]"#, #","extraSpans":[\#(tool)]"#,
      #","resourceLogs":[{"scopeLogs":{"0":\#(tool)}}]"#,
    ].map { $0.hasPrefix(#",""#) ? " " + $0 : $0 })
  func unplaced(beside: String) throws {
    let runs = try Self.judged(Self.body(beside: beside))
    #expect(runs.count == 1 && runs[0].calls == "partial", "\(beside): \(runs)")
  }

  @Test(
    "a run whose root has not ended is open, and nothing is said of how it ended",
    arguments: [#","endTimeUnixNano":null"#, #","endTimeUnixNano":"0""#, #","endTimeUnixNano":0"#])
  func open(end: String) throws {
    let runs = try Self.judged(Self.body(root: Self.span("a1", "invoke_agent", end)))
    #expect(runs.count == 1 && runs[0].isOpen && runs[0].stop == nil, "\(runs)")
    #expect(runs[0].calls == "partial")
  }

  @Test(
    "a run of LangSmith that began and did not end is open, and one without an id marks the others")
  func langSmith() throws {
    let root =
      #"{"id":"r0","trace_id":"r0","dotted_order":"1","run_type":"chain","name":"agent","start_time":"2026-01-01T10:00:00Z","inputs":{}}"#
    let model =
      #"{"id":"r1","trace_id":"r0","parent_run_id":"r0","dotted_order":"2","run_type":"llm","name":"m","start_time":"2026-01-01T10:00:01Z","end_time":"2026-01-01T10:00:02Z","inputs":{"messages":[{"role":"user","content":"hi"}]},"outputs":{"choices":[{"message":{"role":"assistant","content":"I shall look."},"finish_reason":"stop"}]}}"#
    let open = try Self.judged(
      #"{"post":[\#(root),\#(model)]}"#, .langSmith(patched: nil), "/runs/batch")
    #expect(open.count == 1 && open[0].isOpen && open[0].stop == nil && open[0].calls == "partial")
    let ended = root.replacing(
      #""inputs":{}"#, with: #""end_time":"2026-01-01T10:00:09Z","inputs":{},"outputs":{}"#)
    let whole = try Self.judged(
      #"{"post":[\#(ended),\#(model)]}"#, .langSmith(patched: nil), "/runs/batch")
    #expect(whole.count == 1 && !whole[0].isOpen && whole[0].calls == nil, "\(whole)")
    for beside in [#""put":[\#(model)]"#, #""patch":[{"run_type":"tool","name":"delete_x"}]"#] {
      let runs = try Self.judged(
        #"{"post":[\#(ended),\#(model)],\#(beside)}"#, .langSmith(patched: nil), "/runs/batch")
      #expect(runs.count == 1 && runs[0].calls == "partial", "\(beside): \(runs)")
    }
  }

  @Test("a body of nothing but what belongs to no trace is refused, and an empty one is not")
  func lost() throws {
    func body(_ text: String) throws -> ReceivedBody {
      try ReceivedBody(
        Array(text.utf8), route: .traces, path: "/v1/traces", contentType: "application/json")
    }
    #expect(try body(#"{"resourceSpans":[{"scopeSpans":[{"spans":[\#(Self.tool)]}]}]}"#).isLost)
    for text in ["{}", #"{"resourceSpans":[]}"#, Self.body()] {
      #expect(try !body(text).isLost, "\(text)")
    }
  }
}
