import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import Testing
import TraceJudging
import TraceMatching
import TraceStorage

/// A redactor as `promote` makes it.
private func redactor() throws -> Redactor {
  Redactor(
    RedactionSettings(patterns: [.init(kind: "order", pattern: try Pattern("ORD-[0-9]{6}"))]),
    RunSecrets(known: [.init(kind: "environment", text: PlantedFailure.known)]), values: .recorded)
}

private func write(_ events: [Event], to path: String) throws {
  let writer = try LogWriter(creating: path, options: .init(durability: .none))
  for event in events { try writer.append(event, isEffectAhead: false) }
  _ = try writer.close()
}

@Suite("From a failing run to a case")
struct PromotionTests {
  @Test(
    "runs with a planted failure of m calls become cases of m + 1 calls at most that fail in the same way, pass once it is mended, and hold no secret",
    arguments: PlantedFailure.Cause.allCases)
  func planted(_ cause: PlantedFailure.Cause) async throws {
    let causes = PlantedFailure.Cause.allCases.count
    let place = try #require(PlantedFailure.Cause.allCases.firstIndex(of: cause))
    let folder = try TemporaryFolder()
    for number in stride(from: place, to: TestRun.isLong ? 500 : 42, by: causes) {
      var random = Seeded(seed: UInt64(number))
      let planted = PlantedFailure(number, using: &random)
      try await check(planted, in: folder)
    }
  }

  private func check(_ planted: PlantedFailure, in folder: TemporaryFolder) async throws {
    let log = folder.path("\(planted.number).jsonl.gz")
    let recorded = try await planted.events(in: folder)
    try write(recorded, to: log)
    let mended = try await planted.events(isMended: true, in: folder)
    try await apart { try Self.check(planted, log, mended, in: folder) }
  }

  private static func check(
    _ planted: PlantedFailure, _ log: String, _ mended: [Event], in folder: TemporaryFolder
  ) throws {
    let name: Comment = "\(planted.cause) \(planted.number)"
    let expectations = try Expectations(parsing: .object(planted.expected))
    let before = Judge.judge(try Fixture.events(log), against: expectations)
    let failing = before.outcomes.filter { $0.outcome == .fail }
    try #require(!failing.isEmpty, name)

    let found = try Promotion.failing(log, against: expectations, good: [], isShortened: true)
    let promotion = try #require(found, name).scrubbed(by: redactor())
    let files = PromotedFiles(for: promotion, caseId: nil, folder: folder.path("\(planted.number)"))
    try files.write(promotion, agent: nil)

    // The files alone, as a runner finds them.
    let loaded = CaseLoader.load([files.caseFile])
    try #require(loaded.cases.count == 1, "\(name) \(loaded.diagnostics)")
    let evalCase = loaded.cases[0]
    let events = try Fixture.events(files.log)
    let now = Judge.judge(events, against: evalCase.expected)
    let stillFailing = now.outcomes.filter { $0.outcome == .fail }
    #expect(now.outcome == .fail, name)
    #expect(
      stillFailing.map { $0.expectation.prefix { $0 != "[" } }
        == failing.map { $0.expectation.prefix { $0 != "[" } }, name)
    #expect(stillFailing.count == now.outcomes.count, name)
    let calls = events.filter { $0.type == .decision }
      .reduce(0) { $0 + ($1.data["calls"]?.arrayValue?.count ?? 0) }
    #expect(calls <= planted.size + 1 && calls == promotion.callCounts.after, name)

    let after = Judge.judge(mended, against: evalCase.expected)
    #expect(after.outcome == .pass, "\(name) \(after.outcomes)")

    var text = try String(contentsOfFile: files.caseFile, encoding: .utf8)
    for event in events { text += String(decoding: event.encodedLine(), as: UTF8.self) }
    for secret in planted.secrets { #expect(!text.contains(secret), "\(name) \(secret)") }
    try checkIsWhole(files.log, events, name)
  }

  private static func checkIsWhole(_ log: String, _ events: [Event], _ name: Comment) throws {
    #expect(LogVerifier.verify(path: log).status == .whole, name)
    var state = AgentState()
    for event in events {
      if event.type == .stop, let digest = event.data["stateDigest"] {
        #expect(digest == .string(state.digest.hex), name)
      }
      state.apply(event)
      #expect(event.runId == events[0].runId, name)
      if let seq = event.data["modelResult"]?.intValue {
        #expect(events.indices.contains(seq) && events[seq].type == .modelResult, name)
      }
    }
  }
}

@Suite("What is not promoted, and how it is written")
struct PromotedFilesTests {
  private static let shortRun: [Event] = {
    var started: JSONObject = [
      "formatVersion": 2, "agent": ["name": "../../a\u{1b}[2J"], "goal": "g", "limits": [:],
      "policyContext": [:], "tools": [],
    ]
    started["case"] = ["caseId": "other"]
    return [
      Event(seq: 0, step: 0, type: .runStarted, runId: "../../../r\u{7}", data: started),
      Event(
        seq: 1, step: 1, type: .decision, runId: "../../../r\u{7}",
        data: DecisionPayload(.answer(text: "x", evidenceRefs: [])).encoded),
      Event(
        seq: 2, step: 1, type: .stop, runId: "../../../r\u{7}",
        data: ["reason": "success", "answer": "x"]),
    ]
  }()

  @Test("a log that is torn, open, not there, no run, or lacks events is refused, and says so")
  func damagedLogs() throws {
    let folder = try TemporaryFolder()
    let open = folder.path("open.jsonl.gz")
    let writer = try LogWriter(creating: open)
    try writer.append(Self.shortRun[0], isEffectAhead: false)
    let other = folder.path("other.jsonl.gz")
    try write([Self.shortRun[0]], to: other)
    let gap = folder.path("gap.jsonl.gz")
    try writeLog(
      of: try Fixture.events(Fixture.run("refund-drafted")), without: 3...4, to: gap)
    let noRun = folder.path("none.jsonl.gz")
    var late = Self.shortRun[1]
    late.seq = 0
    try write([late], to: noRun)
    for (log, words) in [
      (open + ".open", "never closed"), (Fixture.torn + ".open", "never closed"),
      (gap, "are missing"), (noRun, "does not begin"), (folder.path("gone.jsonl.gz"), "no such"),
    ] {
      let error = #expect(throws: PromotionError.self) { try Promotion.good([log]) }
      #expect(
        error?.description.lowercased().contains(words) == true, "\(String(describing: error))")
      #expect(error?.message.contains(log) == false, "\(String(describing: error))")
      #expect(throws: PromotionError.self) {
        try Promotion.failing(log, against: nil, good: [], isShortened: true)
      }
    }
    try writer.append(Self.shortRun[1], isEffectAhead: false)
  }

  @Test("a run that meets what was asked of it is no failure")
  func meets() throws {
    let log = Fixture.run("refund-drafted")
    let error = #expect(throws: PromotionError.self) {
      try Promotion.failing(
        log, against: expecting(["stopReason": "success"]), good: [], isShortened: true)
    }
    #expect(error?.message.contains("meets all") == true)
    #expect(try Promotion.failing(log, against: nil, good: [], isShortened: true) == nil)
    #expect(throws: PromotionError.self) {
      try Promotion.failing(log, against: nil, good: [log], isShortened: true)
    }
  }

  @Test("names from data never leave the folder, and what is there is kept")
  func names() throws {
    let folder = try TemporaryFolder()
    let log = folder.path("hostile.jsonl.gz")
    try write(Self.shortRun, to: log)
    let promotion = try Promotion.good([log]).scrubbed(by: redactor())
    for caseId in [
      nil, "../../up", "/etc/x", ".hidden", "a\u{1b}]0;x\u{7}", "-o",
      String(repeating: "n", count: 500),
    ]
      as [String?]
    {
      let into = try TemporaryFolder()
      let files = PromotedFiles(for: promotion, caseId: caseId, folder: into.path)
      guard EvalCase.isUsable(caseId: files.caseId) else {
        let error = #expect(throws: PromotionError.self) {
          try files.write(promotion, agent: nil)
        }
        #expect(error?.message.contains("200 characters") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: into.path).isEmpty)
        continue
      }
      try files.write(promotion, agent: nil)
      let found = FileManager.default.enumerator(atPath: into.path)?.allObjects as? [String] ?? []
      #expect(found.count == 3, "\(found)")
      let loaded = CaseLoader.load([files.caseFile])
      #expect(loaded.cases.map(\.caseId) == [files.caseId], "\(loaded.diagnostics)")
      let text = try String(contentsOfFile: files.caseFile, encoding: .utf8)
      #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0.value == 0x7f })
      let error = #expect(throws: PromotionError.self) { try files.write(promotion, agent: nil) }
      #expect(error?.message.contains("there already") == true)
      #expect(try String(contentsOfFile: files.caseFile, encoding: .utf8) == text)
    }
  }

  @Test("what a case file is given comes back from it, whatever texts stand in it")
  func texts() throws {
    var random = Seeded(seed: 11)
    let pieces = [
      "a", " ", "#", ": ", "'", "\"", "\\", "\n", "\t", "\u{1}", "\u{85}", "\u{2028}", "\u{feff}",
      "\u{7f}", "é", "e\u{301}", "😀", "{", "]", ",", "&x", "*y", "!!str", "- ", "yes", "null",
      "0x1f",
      "1e3", "%", "@", "`", "|", ">", "~", "?",
    ]
    for number in 0..<400 {
      func text() -> String {
        (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in
          pieces.randomElement(using: &random)
        }.joined()
      }
      let expected: JSONObject = [
        "answer": ["$contains": .string("yy" + text())],
        "toolsCalled": [
          ["tool": "erase", "input": ["k" + text(): .string(text()), "n": 1.5]], "never",
        ],
        "maxSteps": JSONValue(number % 2),
      ]
      var events = Self.shortRun
      let goal = text()
      events[0].data["goal"] = .string(goal)
      let folder = try TemporaryFolder()
      let log = folder.path("l.jsonl.gz")
      try write(events, to: log)
      let agent = text()
      let caseId =
        "c" + text().filter { !$0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f } }
      let found = try Promotion.failing(
        log, against: Expectations(parsing: .object(expected)), good: [], isShortened: false)
      let promotion = try #require(found)
      let files = PromotedFiles(for: promotion, caseId: caseId, folder: folder.path)
      try files.write(promotion, agent: agent.isEmpty ? nil : agent)
      let loaded = CaseLoader.load([files.caseFile])
      let written = try String(contentsOfFile: files.caseFile, encoding: .utf8)
      let evalCase = try #require(loaded.cases.first, "\(loaded.diagnostics) \(written)")
      #expect(evalCase.input.hasSameUTF8(as: goal))
      #expect(evalCase.expected.written.source == promotion.expected)
    }
  }

  @Test("a failure that hangs on a secret is not promoted without it")
  func secretFailure() throws {
    let folder = try TemporaryFolder()
    var random = Seeded(seed: 3)
    _ = random.next()
    let log = folder.path("s.jsonl.gz")
    var events = Self.shortRun
    events[1].data["text"] = "it is umbrella-kettle-77"
    events[2].data["answer"] = events[1].data["text"]
    try write(events, to: log)
    let found = try Promotion.failing(
      log, against: expecting(["answer": ["$not": ["$contains": "kettle"]]]), good: [],
      isShortened: true)
    let error = #expect(throws: PromotionError.self) {
      try #require(found).scrubbed(by: redactor())
    }
    #expect(error?.message.contains("secrets") == true)
  }

  @Test("of a run that went well what hangs on a secret is not expected, and the rest is")
  func secretAnswer() throws {
    let folder = try TemporaryFolder()
    let log = folder.path("s.jsonl.gz")
    let word = "1j1l-2k3j"
    var events = Self.shortRun
    events[1].data["text"] = .string("If so, update the password to '\(word)'.")
    events[2].data["answer"] = events[1].data["text"]
    try write(events, to: log)
    let found = try Promotion.good([log])
    #expect(CanonicalJSON.string(found.expected).contains(word))
    let promotion = try found.scrubbed(by: redactor())
    let kept = promotion.events.map { JSONValue.object($0.data) } + [promotion.expected]
    #expect(!CanonicalJSON.string(.array(kept)).contains(word))
    #expect(promotion.expected["stopReason"] == "success")
    let expectations = try Expectations(parsing: promotion.expected)
    #expect(Judge.judge(promotion.events, against: expectations).outcome == .pass)
  }

  @Test("of several runs only what they share is expected, and each of them meets it")
  func shared() throws {
    let (drafted, approved) = (Fixture.run("refund-drafted"), Fixture.run("refund-approved"))
    let promotion = try Promotion.good([drafted, approved])
    let expected = promotion.expected
    #expect(expected["stopReason"] == "success")
    #expect(
      expected["toolsCalled"] == [
        [
          "tool": "lookup_order_summary", "input": ["orderId": "1234"], "status": "ok", "times": 1,
        ]
      ])
    #expect(expected["toolsNotCalled"] == nil && expected["order"] == nil)
    for path in Fixture.runs {
      let events = try Fixture.events(Project.path(path))
      guard let alone = SharedExpectations(of: [events]).json else { continue }
      let judged = Judge.judge(events, against: try Expectations(parsing: alone))
      #expect(judged.outcomes.allSatisfy { $0.outcome == .pass }, "\(path)")
    }
    let failing = try Promotion.failing(
      approved, against: nil, good: [drafted], isShortened: true)
    #expect(failing?.failures.first?.expectation.hasPrefix("toolsCalled") == true)
  }

  @Test("every recorded run that fails by itself is shortened to a whole log that fails as it did")
  func fixtures() throws {
    var promoted = 0
    for path in Fixture.runs {
      let log = Project.path(path)
      let found = try Promotion.failing(log, against: nil, good: [], isShortened: true)
      guard let found else { continue }
      promoted += 1
      let folder = try TemporaryFolder()
      let promotion = try found.scrubbed(by: redactor())
      let files = PromotedFiles(for: promotion, caseId: nil, folder: folder.path)
      try files.write(promotion, agent: nil)
      #expect(LogVerifier.verify(path: files.log).status == .whole)
      let evalCase = try #require(CaseLoader.load([files.caseFile]).cases.first)
      let judged = Judge.judge(try Fixture.events(files.log), against: evalCase.expected)
      #expect(judged.outcome == .fail, "\(path)")
    }
    #expect(promoted >= 8)
  }

  @Test("of a run with too many calls no part of it is judged twice in the same company")
  func tooMany() throws {
    let count = 60
    var told: [(step: Int, type: EventType, data: JSONObject)] = [
      (0, .runStarted, RunStarted(agentName: "a", goal: "g").encoded)
    ]
    for step in 1...count {
      let call = ProposedCall(
        callId: "\(step).1.0", name: "read", input: ["page": JSONValue(step)])
      told.append((step, .decision, DecisionPayload(.tool([call])).encoded))
      let result = ToolResultPayload(callId: call.callId, tool: "read", result: .ok(data: 1))
      told.append((step, .toolResult, result.encoded))
    }
    let answer = DecisionPayload(.answer(text: "done", evidenceRefs: []))
    told.append((count + 1, .decision, answer.encoded))
    told.append((count + 1, .stop, Stop(reason: .success).encoded))
    let events = told.enumerated().map { index, event in
      Event(seq: index, step: event.step, type: event.type, runId: "r", data: event.data)
    }
    let short = try #require(
      ShortRun(of: events, breaking: try Expectations(parsing: ["maxToolCalls": 30])))
    #expect(short.calls.after == 31 && !short.isCutShort)
    // To see that none of 31 calls can be left out, each is left out once.
    #expect(short.judgements < 4 * count, "\(short.judgements)")
  }

  @Test("packets that name calls as the model did no longer speak of those that are left out")
  func toldIds() throws {
    func decided(_ tool: String, _ step: Int) -> (EventType, JSONObject) {
      let call = ProposedCall(
        callId: "\(step).1.0", name: tool, input: [:], providerCallId: "told-\(tool)")
      return (.decision, DecisionPayload(.tool([call])).encoded)
    }
    func returned(_ tool: String, _ step: Int) -> (EventType, JSONObject) {
      let result = ToolResultPayload(callId: "\(step).1.0", tool: tool, result: .ok(data: 1))
      return (.toolResult, result.encoded)
    }
    func shown(_ tools: [String]) -> (EventType, JSONObject) {
      let messages = tools.map { tool -> JSONValue in
        let part: JSONValue = [
          "type": "tool_result", "providerCallId": .string("told-\(tool)"), "data": 1,
        ]
        return ["role": "user", "content": [part]]
      }
      return (.contextBuilt, ["prompt": ["messages": .array(messages)]])
    }
    let told: [(EventType, JSONObject)] = [
      (.runStarted, RunStarted(agentName: "a", goal: "g").encoded),
      decided("look", 1), returned("look", 1), shown(["look"]), decided("rm", 2),
      returned("rm", 2), shown(["look", "rm"]),
      (.decision, DecisionPayload(.answer(text: "done", evidenceRefs: [])).encoded),
      (.stop, Stop(reason: .success).encoded),
    ]
    let steps = [0, 1, 1, 2, 2, 2, 3, 3, 3]
    let events = told.indices.map { index in
      Event(
        seq: index, step: steps[index], type: told[index].0, runId: "r", data: told[index].1)
    }
    let short = try #require(
      ShortRun(of: events, breaking: try Expectations(parsing: ["toolsNotCalled": ["rm"]])))
    #expect(short.calls.after == 1)
    let packets = short.events.filter { $0.type == .contextBuilt }
    #expect(!packets.isEmpty)
    for packet in packets {
      let text = CanonicalJSON.string(.object(packet.data), form: .plain)
      #expect(!text.contains("told-look"))
    }
    #expect(
      packets.contains { CanonicalJSON.string(.object($0.data), form: .plain).contains("told-rm") })
  }
}
