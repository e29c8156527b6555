import AgentTrace
import TestSupport
import Testing
import TraceExporting
import TraceImporting
import TraceJudging
import TraceStorage

@Suite("What is exported and imported again")
struct RoundTripTests {
  @Test(
    "each log of the project comes back from each format byte for byte",
    arguments: Exporting.carrying)
  func fixtures(format: ExportFormat) throws {
    #expect(Exporting.logs.count > 45)
    for (number, name) in Exporting.logs.enumerated() {
      let folder = try TemporaryFolder()
      let log = Project.path(name)
      let path = folder.path("run-\(number)\(format.ending)")
      let reports = try Exporting.export(format, [log], to: path)
      #expect(reports[0].note == nil && reports[0].files == [path])
      let logs = try Exporting.imported(path, into: folder.path("in"))
      #expect(try logs.map(Exporting.bytes) == [Exporting.bytes(log)], "\(name) by \(format)")
    }
  }

  @Test(
    "many logs in one file come back, each by itself, also where two have the same identifier",
    arguments: Exporting.carrying.filter(\.holdsMany))
  func together(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let path = folder.path(
      "all\(format == .openAI || format == .anthropic ? ".jsonl" : format.ending)")
    let sources = Exporting.logs.map(Project.path)
    try Exporting.export(format, sources, to: path)
    let logs = try Exporting.imported(path, into: folder.path("in"))
    let back = Set(try logs.map(Exporting.bytes))
    #expect(logs.count == sources.count)
    #expect(back == Set(try sources.map(Exporting.bytes)))
  }

  @Test("files of requests that are named one by one have logs of their own, named after them")
  func requestsByName() throws {
    let folder = try TemporaryFolder()
    let logs = ["refund-drafted", "hidden-deletion"].map {
      Project.path("Fixtures/runs/\($0).jsonl.gz")
    }
    for (log, name) in zip(logs, ["a", "b"]) {
      try Exporting.export(.otlp, [log], to: folder.path("\(name).pb"))
    }
    var made: [String] = []
    for name in ["a", "b"] {
      made += try Exporting.imported(folder.path("\(name).pb"), into: folder.path("back"))
    }
    #expect(made == ["a", "b"].map { folder.path("back/\($0).jsonl.gz") })
    for (log, back) in zip(logs, made) {
      #expect(try Exporting.bytes(log) == Exporting.bytes(back))
    }
  }

  @Test(
    "a file that is there already is told of as something else, whatever its size",
    arguments: [1, 100_000])
  func thereAlready(size: Int) throws {
    let folder = try TemporaryFolder()
    try Exporting.export(
      .otlp, [Project.path("Fixtures/runs/refund-drafted.jsonl.gz")], to: folder.path("a.pb"))
    try folder.write("back/a.jsonl.gz", [UInt8](repeating: 120, count: size))
    var told: [String] = []
    try Importer(format: nil, output: folder.path("back")).run(paths: [folder.path("a.pb")]) {
      if case .failed(let error) = $0.outcome { told.append("\(error)") }
    }
    #expect(told.count == 1 && told[0].contains("holds something else"), "\(told)")
  }

  @Test(
    "of many lists without their logs the first may have nothing but texts",
    arguments: [ExportFormat.openAI, .anthropic])
  func textsFirst(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let logs = ["blocked-without-person", "refund-drafted"].map {
      Project.path("Fixtures/runs/\($0).jsonl.gz")
    }
    let path = folder.path("all.jsonl")
    try Exporting.export(format, logs, to: path, isPlain: true)
    let back = try Exporting.imported(path, into: folder.path("in"))
    #expect(back.count == 2)
    let calls = try logs.map { try Exporting.trajectory($0).calls.count }
    #expect(calls[0] == 0 && calls[1] > 0)
    #expect(try back.map { try Exporting.trajectory($0).calls.count } == calls)
  }

  @Test("exporting again gives the same bytes", arguments: ExportFormat.allCases)
  func again(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let sources = Exporting.logs.prefix(12).map(Project.path)
    for name in ["a/", "b/"] { try Exporting.export(format, sources, to: folder.path(name)) }
    let files = folder.listing.filter { $0.hasPrefix("a/") }
    #expect(files.count >= (format.isTable ? 2 : sources.count))
    for file in files {
      #expect(
        try Exporting.bytes(folder.path(file))
          == Exporting.bytes(folder.path("b" + file.dropFirst())))
    }
  }

  /// Texts that are trouble: what looks like a log's own forms, like JSON, what no text should hold.
  private static let texts = [
    "", "plain", "{\"a\":", "[1,2", "\u{0}\u{1b}[31mred", "a\r\nb\u{2028}c", "é e\u{301} 🙂\u{200d}",
    "$same", "{\"$cut\":{\"bytes\":9,\"head\":\"x\"}}", "=HYPERLINK(\"x\")", "</script>", "N/A",
    String(repeating: "long ", count: 3_000), "<redacted>", "attachment://0",
  ]

  private static func value(_ depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
    switch Int.random(in: 0..<(depth > 3 ? 5 : 8), using: &generator) {
    case 0: .null
    case 1: .bool(Bool.random(using: &generator))
    case 2: JSONNumber(token: "1.50e3").map(JSONValue.number) ?? .null
    case 3: JSONValue(Int.random(in: Int.min...Int.max, using: &generator))
    case 4: .string(texts[Int.random(in: 0..<texts.count, using: &generator)])
    case 5: .array((0..<3).map { _ in value(depth + 1, &generator) })
    case 6: .cut(bytes: 12, head: "cut")
    default:
      .object(
        JSONObject(
          (0..<3).map { index in
            (["$same", "name", "\(index) \u{7f}"][index], value(depth + 1, &generator))
          }))
    }
  }

  /// A run of anything, in the order that a log asks for and no more.
  private static func events(_ generator: inout SeededGenerator) -> [Event] {
    var events: [Event] = []
    let runId = "run-\(Int.random(in: 0...999_999, using: &generator))"
    func text() -> JSONValue {
      .string(texts[Int.random(in: 0..<texts.count, using: &generator)])
    }
    func add(_ type: EventType, _ data: JSONObject) {
      events.append(
        Event(
          seq: events.count, step: events.count, type: type, runId: runId, t: events.count * 10,
          data: data))
    }
    var start = RunStarted(agentName: "a", goal: text())
    start.tags = ["x"]
    add(.runStarted, start.encoded)
    for round in 1...Int.random(in: 1...6, using: &generator) {
      if Bool.random(using: &generator) {
        add(.contextBuilt, ["prompt": ["messages": [["role": "user", "content": text()]]]])
      }
      let ids = (0..<Int.random(in: 0...3, using: &generator)).map { "\(round).1.\($0)" }
      add(
        .modelResult,
        ModelResult(reply: value(0, &generator), inputTokens: 1, cost: 0.1).encoded)
      let calls = ids.map {
        ProposedCall(callId: $0, name: "tool \($0)", input: value(0, &generator))
      }
      add(
        .decision,
        DecisionPayload(
          calls.isEmpty
            ? .answer(text: text().stringValue ?? "", evidenceRefs: []) : .tool(calls),
          caller: Bool.random(using: &generator) ? "other" : nil,
          modelResult: Bool.random(using: &generator) ? events.count - 1 : nil
        ).encoded)
      for id in ids where Int.random(in: 0..<5, using: &generator) > 0 {
        let results: [ToolResult] = [
          .ok(data: value(0, &generator)), .returned(data: value(0, &generator)),
          .refused(reason: "no"), .error(reason: value(0, &generator), isEffectUnknown: true),
        ]
        add(
          .toolResult,
          ToolResultPayload(
            callId: id, tool: "tool \(id)",
            result: results[Int.random(in: 0..<4, using: &generator)]
          ).encoded)
      }
      if Bool.random(using: &generator) {
        add(EventType(rawValue: "of_a_newer_version"), ["x": value(0, &generator)])
      }
    }
    if Bool.random(using: &generator) {
      add(
        .stop,
        Stop(
          reason: .allCases[Int.random(in: 0..<StopReason.allCases.count, using: &generator)],
          isFinal: true
        ).encoded)
    }
    return events
  }

  @Test("runs of anything come back from each format byte for byte", arguments: Exporting.carrying)
  func random(format: ExportFormat) throws {
    var generator = SeededGenerator(seed: 20_261_125)
    for round in 0..<(TestRun.isLong ? 2_000 : 60) {
      let folder = try TemporaryFolder()
      let log = folder.path("run.jsonl.gz")
      let writer = try LogWriter(creating: log, options: .init(durability: .none))
      for event in Self.events(&generator) { try writer.append(event, isEffectAhead: false) }
      _ = try writer.close()
      let path = folder.path("run\(format.ending)")
      let note = try Exporting.export(format, [log], to: path)[0].note
      let logs = try Exporting.imported(path, into: folder.path("in"))
      #expect(note == nil)
      #expect(try logs.map(Exporting.bytes) == [Exporting.bytes(log)], "round \(round)")
    }
  }

  /// What of a call everybody can see.
  private static func shape(_ call: Trajectory.Call, _ format: ExportFormat) -> String {
    let wraps = format == .atif || format == .inspect || format == .anthropic
    let input = call.input ?? .null
    let shown: JSONValue = wraps && input.objectValue == nil ? ["input": input] : input
    return "\(call.tool) \(CanonicalJSON.string(shown.byValue))"
  }

  @Test(
    "without the log that goes along, what can be seen tells the same calls and what became of them, and of traces, ATIF and Inspect how the run ended",
    arguments: Exporting.carrying)
  func plain(format: ExportFormat) throws {
    let names = Exporting.logs.filter { !$0.contains("format-1") && !$0.contains("before") }
    for name in names {
      let folder = try TemporaryFolder()
      let path = folder.path("run\(format.ending)")
      try Exporting.export(format, [Project.path(name)], to: path, isPlain: true)
      let logs = try Exporting.imported(path, into: folder.path("in"))
      let before = try Exporting.trajectory(Project.path(name))
      let after = try Exporting.trajectory(try #require(logs.first))
      #expect(
        after.calls.map { Self.shape($0, format) }.sorted()
          == before.calls.map { Self.shape($0, format) }.sorted(), "\(name) by \(format)")
      #expect(
        after.calls.map { "\($0.tool) \($0.status?.rawValue ?? "none")" }.sorted()
          == before.calls.map { "\($0.tool) \($0.status?.rawValue ?? "none")" }.sorted(),
        "\(name) by \(format)")
      guard format != .openAI, format != .anthropic else { continue }
      #expect(after.stop?.reason == before.stop?.reason, "\(name) by \(format)")
    }
  }
}

extension RoundTripTests {
  @Test(
    "a run whose beginning has no time, as that of an import, began by the times of what follows")
  func timesOfImports() throws {
    let folder = try TemporaryFolder()
    let log = folder.path("run.jsonl.gz")
    let writer = try LogWriter(creating: log, options: .init(durability: .none))
    let reply = ModelResult(reply: ["text": "Hi"], inputTokens: 1).encoded
    let answer = DecisionPayload(.answer(text: "Hi", evidenceRefs: []), modelResult: 1).encoded
    let time = "2026-01-31T10:00:02.000Z"
    let events = [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "r",
        data: RunStarted(agentName: "a", goal: "Go").encoded),
      Event(
        seq: 1, step: 1, type: .modelResult, runId: "r", time: time, t: 2_000_000, data: reply),
      Event(seq: 2, step: 1, type: .decision, runId: "r", time: time, t: 2_000_000, data: answer),
    ]
    for event in events { try writer.append(event, isEffectAhead: false) }
    _ = try writer.close()
    try Exporting.export(.otlpJSON, [log], to: folder.path("run.jsonl"), isPlain: true)
    let value = try JSONValue(parsing: try Exporting.bytes(folder.path("run.jsonl")))
    let spans = value["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?.arrayValue ?? []
    let starts = spans.compactMap { $0["startTimeUnixNano"]?.stringValue }
    #expect(starts == ["1769853600000000000", "1769853602000000001"])
    try Exporting.export(.csv, [log], to: folder.path("runs.csv"))
    let table = String(decoding: try Exporting.bytes(folder.path("runs.csv")), as: UTF8.self)
    #expect(table.contains("2026-01-31T10:00:00"))
  }

  @Test("money is told as its decimals add up, whatever doubles leave over")
  func decimalCost() throws {
    let folder = try TemporaryFolder()
    let log = folder.path("run.jsonl.gz")
    let writer = try LogWriter(creating: log, options: .init(durability: .none))
    let start = Event(
      seq: 0, step: 0, type: .runStarted, runId: "r",
      data: RunStarted(agentName: "a", goal: "Go").encoded)
    try writer.append(start, isEffectAhead: false)
    for seq in 1...3 {
      let reply = ModelResult(reply: "x", inputTokens: 1, cost: 0.1)
      try writer.append(
        Event(seq: seq, step: 1, type: .modelResult, runId: "r", data: reply.encoded),
        isEffectAhead: false)
    }
    _ = try writer.close()
    try Exporting.export(.csv, [log], to: folder.path("runs.csv"))
    let table = String(decoding: try Exporting.bytes(folder.path("runs.csv")), as: UTF8.self)
    #expect(table.contains(",0.3,"), "\(table)")
  }

  @Test(
    "a run that is not told whole is not taken for one that is, where its log does not go along",
    arguments: Exporting.carrying)
  func partial(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    func log(_ name: String, recorded: JSONObject, input: JSONValue) throws -> String {
      let path = folder.path("\(name).jsonl.gz")
      let writer = try LogWriter(creating: path, options: .init(durability: .none))
      var start = RunStarted(agentName: "a", goal: "Go").encoded
      if !recorded.isEmpty { start["recorded"] = .object(recorded) }
      let call = ProposedCall(callId: "1.1.0", name: "look", input: input)
      let data: [(EventType, JSONObject)] = [
        (.runStarted, start),
        (.modelResult, ModelResult(reply: ["text": ""], inputTokens: 1).encoded),
        (.decision, DecisionPayload(.tool([call]), modelResult: 1).encoded),
        (
          .toolResult,
          ToolResultPayload(callId: "1.1.0", tool: "look", result: .ok(data: "x")).encoded
        ),
        (.modelResult, ModelResult(reply: ["text": "Done"], inputTokens: 1).encoded),
        (
          .decision,
          DecisionPayload(.answer(text: "Done", evidenceRefs: []), modelResult: 4).encoded
        ),
        (.stop, Stop(reason: .success, isFinal: true).encoded),
      ]
      for (seq, one) in data.enumerated() {
        try writer.append(
          Event(seq: seq, step: min(seq, 1), type: one.0, runId: "r-\(name)", data: one.1),
          isEffectAhead: false)
      }
      _ = try writer.close()
      return path
    }
    let logs = [
      try log("whole", recorded: [:], input: ["a": 1]),
      try log("calls", recorded: ["calls": "partial"], input: ["a": 1]),
      try log("cut", recorded: [:], input: ["a": .cut(bytes: 9, head: "x")]),
    ]
    for (log, isWhole) in zip(logs, [true, false, false]) {
      let path = folder.path("out-\(log.split(separator: "/").last ?? "")\(format.ending)")
      try Exporting.export(format, [log], to: path, isPlain: true)
      let back = try Exporting.imported(path, into: path + ".in")
      let trajectory = try Exporting.trajectory(try #require(back.first))
      #expect((trajectory.recorded["calls"] == nil) == isWhole, "\(log)")
      #expect(trajectory.calls.map(\.tool) == ["look"])
    }
  }
}

extension RoundTripTests {
  @Test(
    "without the log that goes along a call of which nobody knows what it did stays one, and a text that a tool was given a text",
    arguments: [ExportFormat.otlp, .otlpJSON, .atif, .inspect])
  func brokenOff(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let call = ProposedCall(callId: "1.1.0", name: "shell", input: "rm -rf x")
    let log = try Self.log(
      folder.path("run.jsonl.gz"),
      [
        (.modelResult, ModelResult(reply: ["text": "go"], inputTokens: 1).encoded),
        (.decision, DecisionPayload(.tool([call]), modelResult: 1).encoded),
        (
          .toolResult,
          [
            "callId": "1.1.0", "tool": "shell", "status": "error", "reason": "broken off",
            "effect": "unknown",
          ]
        ),
      ])
    let after = try Self.back(log, format)
    #expect(after.calls.map(\.status) == [.unknown])
    guard format == .otlp || format == .otlpJSON else { return }
    #expect(after.calls.map(\.input) == ["rm -rf x"])
  }
}

extension RoundTripTests {
  /// A closed log of some events.
  private static func log(
    _ path: String, recorded: JSONObject = [:], _ data: [(EventType, JSONObject)]
  ) throws -> String {
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    var start = RunStarted(agentName: "a", goal: "Go").encoded
    if !recorded.isEmpty { start["recorded"] = .object(recorded) }
    let all: [(EventType, JSONObject)] = [(.runStarted, start)] + data
    for (seq, one) in all.enumerated() {
      try writer.append(
        Event(seq: seq, step: min(seq, 1), type: one.0, runId: "r", data: one.1),
        isEffectAhead: false)
    }
    _ = try writer.close()
    return path
  }

  private static func back(_ log: String, _ format: ExportFormat) throws -> Trajectory {
    let path = "\(log).\(format.rawValue)\(format.ending)"
    try Exporting.export(format, [log], to: path, isPlain: true)
    return try Exporting.trajectory(
      try #require(try Exporting.imported(path, into: path + ".in").first))
  }

  @Test(
    "where nobody knows how a run ended, or that it did, no format says that it went well",
    arguments: Exporting.carrying)
  func endings(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let answered: [(EventType, JSONObject)] = [
      (
        .modelResult,
        ModelResult(reply: ["text": "Done"], inputTokens: 1, finishReason: "stop").encoded
      ),
      (.decision, DecisionPayload(.answer(text: "Done", evidenceRefs: []), modelResult: 1).encoded),
    ]
    let unknown = try Self.back(
      Self.log(folder.path("unknown.jsonl.gz"), recorded: ["stop": "none"], answered), format)
    #expect(unknown.stop == nil && unknown.answer?.value == "Done")
    let open = try Self.back(Self.log(folder.path("open.jsonl.gz"), answered), format)
    #expect(open.stop == nil && open.recorded["calls"] != nil)
  }

  @Test(
    "what was said in a run that gave no answer is none by any format",
    arguments: Exporting.carrying)
  func noAnswers(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let log = try Self.log(
      folder.path("blocked.jsonl.gz"),
      [
        (.modelResult, ModelResult(reply: ["text": "I will not."], inputTokens: 1).encoded),
        (
          .decision,
          DecisionPayload(.stop(.blocked, detail: "refused"), modelResult: 1).encoded
        ),
        (.stop, Stop(reason: .blocked, isFinal: true).encoded),
      ])
    #expect(try Exporting.trajectory(log).answer == nil)
    let after = try Self.back(log, format)
    #expect(after.answer == nil && after.stop?.reason == .blocked)
  }

  @Test("a call that packets name as the model did is one call by a trace")
  func callsInPackets() throws {
    let folder = try TemporaryFolder()
    let ids: [String?] = ["c1", nil]
    for (index, id) in ids.enumerated() {
      let call = ProposedCall(
        callId: "1.1.0", name: "look", input: ["a": 1], providerCallId: "c1")
      let result = ToolResultPayload(callId: "1.1.0", tool: "look", result: .ok(data: "seen"))
      let told = JSONObject(present: [
        ("type", "tool_result"), ("providerCallId", id.map(JSONValue.string)), ("data", "seen"),
      ])
      let asked: JSONValue = ["role": "user", "content": [["type": "text", "text": "Go"]]]
      let shown: JSONValue = ["role": "user", "content": [.object(told)]]
      let log = try Self.log(
        folder.path("packets\(index).jsonl.gz"),
        [
          (.contextBuilt, ["runId": "r", "prompt": ["messages": [asked]]]),
          (.modelResult, ModelResult(reply: ["text": "?"], inputTokens: 1).encoded),
          (.decision, DecisionPayload(.tool([call]), modelResult: 2).encoded),
          (.toolResult, result.encoded),
          (.contextBuilt, ["runId": "r", "prompt": ["messages": [asked, shown]]]),
          (.modelResult, ModelResult(reply: ["text": "Done"], inputTokens: 1).encoded),
          (
            .decision,
            DecisionPayload(.answer(text: "Done", evidenceRefs: []), modelResult: 6).encoded
          ),
          (.stop, Stop(reason: .success, isFinal: true).encoded),
        ])
      #expect(try Self.back(log, .otlp).calls.map(\.tool) == ["look"])
    }
  }

  @Test(
    "a call whose result reads like a refusal ran by the lists that we export",
    arguments: [ExportFormat.openAI, .anthropic])
  func refusingWords(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let call = ProposedCall(callId: "1.1.0", name: "look", input: ["a": 1])
    let result = ToolResultPayload(
      callId: "1.1.0", tool: "look", result: .ok(data: "User did not allow tool call"))
    let log = try Self.log(
      folder.path("words.jsonl.gz"),
      [
        (.modelResult, ModelResult(reply: ["text": "?"], inputTokens: 1).encoded),
        (.decision, DecisionPayload(.tool([call]), modelResult: 1).encoded),
        (.toolResult, result.encoded), (.stop, Stop(reason: .blocked, isFinal: true).encoded),
      ])
    #expect(try Self.back(log, format).calls.map(\.isExecuted) == [true])
  }

  @Test(
    "an answer of which only the beginning is there is not whole by any format",
    arguments: Exporting.carrying)
  func cutAnswers(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    var answer = DecisionPayload(.answer(text: "", evidenceRefs: []), modelResult: 1).encoded
    answer["text"] = JSONValue.cut(bytes: 9_000, head: "The beginning")
    let log = try Self.log(
      folder.path("cut.jsonl.gz"),
      [
        (.modelResult, ModelResult(reply: ["text": "?"], inputTokens: 1).encoded),
        (.decision, answer), (.stop, Stop(reason: .success, isFinal: true).encoded),
      ])
    for run in [try Exporting.trajectory(log), try Self.back(log, format)] {
      guard case .cut? = run.answer?.value else {
        Issue.record("\(format): \(String(describing: run.answer))")
        continue
      }
    }
  }

  @Test(
    "what came back, nobody knows how well or from which call, is told by traces, ATIF and Inspect",
    arguments: Exporting.carrying.filter { $0 != .openAI && $0 != .anthropic })
  func returned(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    func result(_ callId: String, _ tool: String) -> (EventType, JSONObject) {
      (
        .toolResult,
        ToolResultPayload(callId: callId, tool: tool, result: .returned(data: "x")).encoded
      )
    }
    let call = ProposedCall(callId: "1.1.0", name: "look", input: ["a": 1])
    let log = try Self.log(
      folder.path("returned.jsonl.gz"), recorded: ["stop": "none"],
      [
        (.modelResult, ModelResult(reply: ["text": ""], inputTokens: 1).encoded),
        (.decision, DecisionPayload(.tool([call]), modelResult: 1).encoded),
        result("1.1.0", "look"), result("unmatched.1", "send"),
      ])
    let before = try Exporting.trajectory(log)
    #expect(before.calls.map(\.tool) == ["look", "send"])
    let after = try Self.back(log, format)
    #expect(after.calls.map(\.tool) == ["look", "send"])
    #expect(after.calls.allSatisfy { $0.status == .returned })
  }

  @Test("a model's call that failed is no decision by ATIF either")
  func failedReply() throws {
    let folder = try TemporaryFolder()
    let log = try Self.log(
      folder.path("failed.jsonl.gz"),
      [
        (.modelResult, ModelResult(error: "500").encoded),
        (.stop, Stop(reason: .modelFailure, detail: "error", isFinal: true).encoded),
      ])
    let before = try Exporting.trajectory(log)
    let after = try Self.back(log, .atif)
    #expect(before.steps == 0 && after.steps == 0)
    #expect(after.stop?.reason == .modelFailure)
  }
}
