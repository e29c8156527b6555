import AgentTrace
import TestSupport
import Testing
import TraceExporting
import TraceImporting
import TraceStorage

@Suite("What our own key tells of a run whose log does not go along")
struct OwnMarkTests {
  private typealias Data = [(EventType, JSONObject)]

  /// A closed log of some events behind the first.
  private static func log(_ data: Data, in folder: TemporaryFolder) throws -> String {
    let path = folder.path("run.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    let start = RunStarted(agentName: "a", goal: "Go").encoded
    for (seq, one) in ([(.runStarted, start)] + data).enumerated() {
      try writer.append(
        Event(seq: seq, step: min(seq, 1), type: one.0, runId: "r", data: one.1),
        isEffectAhead: false)
    }
    _ = try writer.close()
    return path
  }

  /// What an import makes of an export without the log.
  private static func back(
    _ log: String, _ format: ExportFormat, _ folder: TemporaryFolder
  ) throws -> String {
    let path = folder.path("out\(format.ending)")
    try Exporting.export(format, [log], to: path, isPlain: true)
    return try #require(try Exporting.imported(path, into: folder.path("in")).first)
  }

  private static func calls(_ inputs: [JSONValue]) -> Data {
    let calls = inputs.enumerated().map { index, input in
      ProposedCall(callId: "1.1.\(index)", name: "t\(index)", input: input)
    }
    return [
      (.modelResult, ModelResult(reply: ["text": ""], inputTokens: 1).encoded),
      (.decision, DecisionPayload(.tool(calls), modelResult: 1).encoded),
    ]
  }

  private static func result(_ index: Int, _ result: ToolResult) -> (EventType, JSONObject) {
    (
      .toolResult,
      ToolResultPayload(callId: "1.1.\(index)", tool: "t\(index)", result: result).encoded
    )
  }

  private static let end: Data = [
    (.modelResult, ModelResult(reply: ["text": "Done"], inputTokens: 1).encoded),
    (.decision, DecisionPayload(.answer(text: "Done", evidenceRefs: [])).encoded),
    (.stop, Stop(reason: .success, isFinal: true).encoded),
  ]

  @Test(
    "a call that was refused is no call that ran by any format, and what failed or came back is what it was",
    arguments: Exporting.carrying)
  func statuses(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let results: [ToolResult] = [
      .ok(data: "Refused: no, by its own words"), .refused(reason: "\u{301}not you"),
      .error(reason: "gone", isEffectUnknown: false), .error(reason: "cut", isEffectUnknown: true),
      .returned(data: "x"),
    ]
    let told = results.enumerated().map { Self.result($0.offset, $0.element) }
    let log = try Self.log(
      Self.calls(results.map { _ in ["a": 1] }) + told + Self.end, in: folder)
    let after = try Exporting.trajectory(try Self.back(log, format, folder))
    #expect(after.calls.map(\.status) == [.ok, .refused, .error, .unknown, .returned])
    #expect(after.calls.map(\.isExecuted) == [true, false, true, true, true])
    #expect(after.calls.map(\.result) == results)
  }

  @Test(
    "a result that is data is data again, and a text that is JSON a text",
    arguments: Exporting.carrying)
  func data(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let values: [JSONValue] = [
      ["orders": [["id": 7]]], 1, .null, [], "{\"a\": 1}", "1", "", true,
      // As frameworks wrap what a tool gave back.
      ["type": "tool", "status": "error", "content": "no"],
      ["name": "x", "id": "1", "response": ["error": "no"]],
    ]
    let told = values.enumerated().map { Self.result($0.offset, .ok(data: $0.element)) }
    let log = try Self.log(Self.calls(values.map { _ in ["a": 1] }) + told + Self.end, in: folder)
    let after = try Exporting.trajectory(try Self.back(log, format, folder))
    #expect(after.calls.map(\.result) == values.map { .ok(data: $0) })
  }

  @Test("what a tool was given is by a trace what it was, whatever it looks like")
  func inputs() throws {
    let folder = try TemporaryFolder()
    let inputs: [JSONValue] = [
      ["args": ["x": 1], "callId": "c"], ["args": [], "kwargs": ["x": 1]], ["input": "{\"x\":1}"],
      "rm -rf x", [1, 2], 7,
    ]
    // No model's call tells them: only the spans of the tools do.
    var data = Self.calls(inputs)
    data.remove(at: 0)
    data[0].1["modelResult"] = nil
    let told = inputs.indices.map { Self.result($0, .ok(data: "x")) }
    let log = try Self.log(data + told + Self.end, in: folder)
    let after = try Exporting.trajectory(try Self.back(log, .otlp, folder))
    #expect(
      after.calls.map { "\($0.tool) \($0.input.map { CanonicalJSON.string($0) } ?? "")" }.sorted()
        == inputs.enumerated().map { "t\($0.offset) \(CanonicalJSON.string($0.element))" })
  }

  @Test(
    "a decision that could not be made is told as one, and what repaired it as part of its step",
    arguments: Exporting.carrying)
  func invalid(format: ExportFormat) throws {
    for name in ["invalid-decision-repaired", "route-hides-tool"] {
      let folder = try TemporaryFolder()
      let log = Project.path("Fixtures/runs/\(name).jsonl.gz")
      let back = try Self.back(log, format, folder)
      #expect(try Self.kinds(back) == Self.kinds(log), "\(name) by \(format)")
      #expect(try Exporting.trajectory(back).steps == Exporting.trajectory(log).steps)
    }
  }

  /// The kinds of decisions in their order.
  private static func kinds(_ log: String) throws -> [String] {
    var reader = try LogReader(path: log)
    var kinds: [String] = []
    while let event = try reader.next() {
      guard event.type == .decision else { continue }
      kinds.append(try DecisionPayload(decoding: event.data).decision.kind)
    }
    return kinds
  }

  @Test(
    "where other results stand in a list than our key tells of, it tells of none",
    arguments: [ExportFormat.openAI, .anthropic])
  func changedLists(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let log = try Self.log(
      Self.calls([["a": 1]]) + [Self.result(0, .ok(data: "x"))] + Self.end, in: folder)
    let path = folder.path("run\(format.ending)")
    try Exporting.export(format, [log], to: path, isPlain: true)
    var value = try JSONValue(parsing: try Exporting.bytes(path)).objectValue ?? [:]
    var own = value["agent_eval"]?.objectValue ?? [:]
    own["results"] = [["id": "call_9_1_0", "status": "ok"]]
    value["agent_eval"] = .object(own)
    try folder.write("other.json", CanonicalJSON.encode(.object(value), form: .plain))
    let back = try Exporting.imported(folder.path("other.json"), into: folder.path("in"))
    #expect(try Exporting.trajectory(try #require(back.first)).calls.map(\.status) == [.returned])
  }

  @Test(
    "a tool that was started, of which nothing else is known, leaves what was called in part",
    arguments: Exporting.carrying)
  func unseenStarts(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let started: JSONObject = [
      "callId": "y", "tool": "b", "attempt": 1, "idempotencyKey": "r/y",
    ]
    let log = try Self.log([(.toolStarted, started)] + Self.end, in: folder)
    let after = try Exporting.trajectory(try Self.back(log, format, folder))
    #expect(after.recorded["calls"] != nil)
  }

  @Test(
    "an answer that no call of a model tells is the answer by any format",
    arguments: Exporting.carrying)
  func answers(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let log = try Self.log(Array(Self.end.dropFirst()), in: folder)
    let after = try Exporting.trajectory(try Self.back(log, format, folder))
    #expect(after.answer?.value == "Done")
  }

  /// A call that was denied, and another of the same id that ran.
  private static func reused(in folder: TemporaryFolder) throws -> String {
    func decision(_ name: String, _ input: JSONValue, _ reply: Int) -> (EventType, JSONObject) {
      let call = ProposedCall(callId: "1.1.0", name: name, input: input)
      return (.decision, DecisionPayload(.tool([call]), modelResult: reply).encoded)
    }
    func result(_ name: String, _ result: ToolResult) -> (EventType, JSONObject) {
      (.toolResult, ToolResultPayload(callId: "1.1.0", tool: name, result: result).encoded)
    }
    let reply = ModelResult(reply: ["text": ""], inputTokens: 1).encoded
    return try log(
      [
        (.modelResult, reply), decision("pay", ["n": 1], 1), result("pay", .refused(reason: "no")),
        (.modelResult, reply), decision("look", ["n": 2], 4), result("look", .ok(data: "fine")),
      ] + end, in: folder)
  }

  @Test(
    "a call that was denied is one though a later call has its id, and its log comes back whole",
    arguments: Exporting.carrying)
  func reusedIds(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let log = try Self.reused(in: folder)
    let after = try Exporting.trajectory(try Self.back(log, format, folder))
    #expect(after.calls.map(\.tool) == ["pay", "look"])
    #expect(after.calls.map(\.status) == [.refused, .ok])
    #expect(after.calls.map(\.input) == [["n": 1], ["n": 2]])
    let whole = folder.path("whole\(format.ending)")
    try Exporting.export(format, [log], to: whole)
    let logs = try Exporting.imported(whole, into: folder.path("again"))
    #expect(try logs.map(Exporting.bytes) == [Exporting.bytes(log)])
  }

  @Test("in the table of calls each has its own result, also where two have one id")
  func reusedInTable() throws {
    let folder = try TemporaryFolder()
    var exporter = Exporter(format: .csv, output: folder.path("calls.csv"), version: "1")
    exporter.table = .calls
    try exporter.run(logs: [try Self.reused(in: folder)]) { _ in }
    let rows = String(decoding: try Exporting.bytes(folder.path("calls.csv")), as: UTF8.self)
      .split(separator: "\n")
    #expect(rows.count == 3)
    #expect(rows[1].contains(",pay,") && rows[1].contains(",refused,"))
    #expect(rows[2].contains(",look,") && rows[2].contains(",ok,"))
  }

  @Test("a run that never stopped is one by an import, too", arguments: Exporting.carrying)
  func openRuns(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let log = try Self.log(
      Self.calls([["a": 1]]) + [Self.result(0, .ok(data: "x"))], in: folder)
    let after = try Exporting.trajectory(try Self.back(log, format, folder))
    #expect(after.stop == nil && after.recorded["stop"] == nil && after.recorded["calls"] != nil)
  }
}
