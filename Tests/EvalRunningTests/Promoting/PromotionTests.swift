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
    "500 runs with a planted failure of m calls become cases of m + 1 calls at most that fail in the same way, pass once it is mended, and hold no secret",
    arguments: PlantedFailure.Cause.allCases)
  func planted(_ cause: PlantedFailure.Cause) async throws {
    let causes = PlantedFailure.Cause.allCases.count
    let place = try #require(PlantedFailure.Cause.allCases.firstIndex(of: cause))
    let folder = try TemporaryFolder()
    for number in stride(from: place, to: 500, by: causes) {
      var random = Seeded(seed: UInt64(number))
      let planted = PlantedFailure(number, using: &random)
      try await check(planted, in: folder)
    }
  }

  private func check(_ planted: PlantedFailure, in folder: TemporaryFolder) async throws {
    let name: Comment = "\(planted.cause) \(planted.number)"
    let log = folder.path("\(planted.number).jsonl.gz")
    try write(try await planted.events(in: folder), to: log)
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

    let mended = try await planted.events(isMended: true, in: folder)
    let after = Judge.judge(mended, against: evalCase.expected)
    #expect(after.outcome == .pass, "\(name) \(after.outcomes)")

    var text = try String(contentsOfFile: files.caseFile, encoding: .utf8)
    for event in events { text += String(decoding: event.encodedLine(), as: UTF8.self) }
    for secret in planted.secrets { #expect(!text.contains(secret), "\(name) \(secret)") }
    try checkIsWhole(files.log, events, name)
  }

  private func checkIsWhole(_ log: String, _ events: [Event], _ name: Comment) throws {
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
