import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Synchronization
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@Suite("Judging cases")
struct EvalRunnerTests {
  private static func runner(
    _ options: EvalRunner.Options = .init(), cancellation: Cancellation = Cancellation(),
    onBoundary: @escaping @Sendable (RunConditions) -> Void = { _ in }
  ) throws -> EvalRunner {
    try EvalRunner(
      options: options, cancellation: cancellation,
      makeClock: { FixedClock(elapsedMicroseconds: 7_000_000) },
      makeBoundary: { agent, conditions in
        onBoundary(conditions)
        return AssembledBoundary(
          for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
          cancellation: conditions.cancellation)
      })
  }

  private static func evalCase(
    _ id: String, recording: String? = nil, agent: String? = nil,
    expected: JSONObject = ["stopReason": "success"], skip: String? = nil
  ) throws -> EvalCase {
    EvalCase(
      caseId: id, input: "Refund order 1234", recording: recording, agent: agent,
      skip: skip.map { .init(reason: $0) }, expected: try expecting(expected))
  }

  private static let support = Project.path("Fixtures/agents/support.yaml")

  @Test("no cases at all, or none but skipped ones, is nothing to judge: exit code 2")
  func nothing() async throws {
    let runner = try Self.runner()
    #expect(await runner.run([]).exitCode == 2)
    let skipped = try Self.evalCase("a", recording: "nowhere", skip: "later")
    let results = await runner.run([skipped])
    #expect(results.exitCode == 2 && results.cases.isEmpty && results.skipped.count == 1)
  }

  @Test("a case that cannot be judged is an error of its own, and the others go on")
  func errors() async throws {
    let folder = try TemporaryFolder()
    let broken = try folder.write("agent.yaml", "name: x\ntolls: []\n")
    let cases = [
      try Self.evalCase("damaged", recording: Fixture.damaged),
      try Self.evalCase("missing", recording: folder.path("nowhere.jsonl.gz")),
      try Self.evalCase("neither"),
      try Self.evalCase("no-agent", agent: folder.path("nowhere.yaml")),
      try Self.evalCase("bad-agent", agent: broken),
      try Self.evalCase("starts-processes", agent: Project.path("Fixtures/agents/counter.yaml")),
      try Self.evalCase("fine", recording: Fixture.run("refund-drafted")),
    ]
    let results = try await Self.runner(.init(files: RunFiles(output: folder.path("runs")))).run(
      cases)
    #expect(results.cases.map(\.outcome) == Array(repeating: .error, count: 6) + [.pass])
    #expect(results.exitCode == 2)
    for (result, word) in zip(
      results.cases,
      [
        "damaged", "nowhere.jsonl.gz", "neither a recording nor an agent", "nowhere.yaml", "tolls",
        "--live",
      ])
    {
      #expect(result.error?.contains(word) == true, "\(result)")
      #expect(result.trials.isEmpty)
    }
    #expect(!folder.listing.contains { $0.hasPrefix("runs") })
  }

  @Test(
    "a run that was recorded for another input is a warning",
    arguments: [
      ("Refund order 1234", false), (" Refund order 1234\n", false), ("", false),
      ("Refund order 99", true),
    ])
  func otherInputs(input: String, isTold: Bool) async throws {
    for expected in [["stopReason": "success"], ["answer": ["$any": true]]] as [JSONObject] {
      var evalCase = try Self.evalCase(
        "a", recording: Fixture.run("refund-drafted"), expected: expected)
      evalCase.input = input
      let trial = try await Self.runner().run([evalCase]).cases[0].trials[0]
      #expect(trial.judgement.outcome == .pass)
      #expect(trial.judgement.warnings.count == (isTold ? 1 : 0), "\(trial.judgement.warnings)")
      #expect(trial.judgement.warnings.allSatisfy { $0.contains("\"Refund order 99\"") })
    }
  }

  @Test(
    "the worst of several trials is the outcome of the case",
    arguments: [
      (["refund-drafted", "refund-approved"], CaseOutcome.pass, Int32(0)),
      (["refund-drafted", "tool-failure"], .fail, 1),
      (["refund-drafted", "torn"], .inconclusive, 3),
      (["tool-failure", "torn"], .fail, 1),
      (["refund-drafted", "damaged"], .error, 2),
    ])
  func trials(_ logs: [String], _ outcome: CaseOutcome, _ exitCode: Int32) async throws {
    let folder = try TemporaryFolder()
    for (index, log) in logs.enumerated() {
      let name = "runs/case/\(index).jsonl.gz"
      switch log {
      case "torn":
        let whole = try Fixture.bytes("parallel-search")
        try folder.write(name + ".open", whole.prefix(whole.count * 2 / 3))
      case "damaged": try folder.write(name, "no log")
      default: try folder.write(name, try Fixture.bytes(log))
      }
    }
    let results = try await Self.runner(.init(runsFolder: folder.path("runs")))
      .run([try Self.evalCase("case")])
    #expect(results.cases.map(\.outcome) == [outcome])
    #expect(results.exitCode == exitCode)
    if outcome != .error { #expect(results.cases[0].trials.count == logs.count) }
  }

  @Test("results stand in the order of the cases, however many are worked on at once")
  func order() async throws {
    let cases = try Fixture.runs.enumerated().map { index, log in
      try Self.evalCase("case-\(index)", recording: Project.path(log))
    }
    let plain = try await Self.runner(.init(jobs: 1)).run(cases)
    #expect(plain.cases.map(\.caseId) == cases.map(\.caseId))
    for jobs in [-3, 0, 2, 7, 500] {
      let told = Mutex<[String]>([])
      let results = try await Self.runner(.init(jobs: jobs)).run(cases) { result in
        told.withLock { $0.append(result.caseId) }
      }
      #expect(results.json == plain.json)
      #expect(told.withLock { $0.sorted() } == cases.map(\.caseId).sorted())
    }
  }

  @Test("a scripted agent runs in place, on a clock of its own, without --live")
  func inPlace() async throws {
    let folder = try TemporaryFolder()
    let isFixed = Mutex<[Bool]>([])
    let files = RunFiles(output: folder.path("runs"))
    let evalCase = try Self.evalCase(
      "in place", agent: Self.support,
      expected: ["stopReason": "success", "toolsCalled": ["draft_refund_request"]])
    let results = try await Self.runner(
      .init(files: files),
      onBoundary: { conditions in isFixed.withLock { $0.append(conditions.clock.isFixed) } }
    ).run([evalCase])
    #expect(results.cases.map(\.outcome) == [.pass])
    #expect(isFixed.withLock { $0 } == [true])
    let log = try #require(results.cases.first?.trials.first?.log)
    #expect(log.hasPrefix(folder.path("runs/")) && log.hasSuffix(".jsonl.gz"))
    let events = try Fixture.events(log)
    #expect(events.first?.t == 0)
    #expect(events.first?.data["case"]?["caseId"] == "in place")
    #expect(LogVerifier.verify(path: log).status == .whole)
  }

  @Test("with --live the agent is run even where there is a recording, on the clock of the caller")
  func live() async throws {
    let folder = try TemporaryFolder()
    let files = RunFiles(output: folder.path("runs"))
    let evalCase = try Self.evalCase(
      "live", recording: Fixture.run("tool-failure"), agent: Self.support)
    let recorded = try await Self.runner(.init(files: files)).run([evalCase])
    #expect(recorded.exitCode == 1 && folder.listing.isEmpty)
    let live = try await Self.runner(.init(isLive: true, files: files)).run([evalCase])
    #expect(live.exitCode == 0)
    let log = try #require(live.cases.first?.trials.first?.log)
    #expect(try Fixture.events(log).first?.t == 7_000_000)
  }

  @Test("a log that is there already is an error of the case, and the log stays")
  func existing() async throws {
    let folder = try TemporaryFolder()
    try folder.write("one.jsonl.gz", "mine")
    let files = RunFiles(output: folder.path("one.jsonl.gz"))
    let results = try await Self.runner(.init(files: files))
      .run([try Self.evalCase("a", agent: Self.support)])
    #expect(results.exitCode == 2)
    #expect(results.cases[0].error?.contains("one.jsonl.gz") == true)
    #expect(folder.text("one.jsonl.gz") == "mine")
  }

  @Test("a wish to end is heard between cases: what was judged stays, the rest says why not")
  func cancellation() async throws {
    let cancellation = Cancellation()
    let cases = try (0..<5).map {
      try Self.evalCase("case-\($0)", recording: Fixture.run("refund-drafted"))
    }
    let results = try await Self.runner(.init(jobs: 1), cancellation: cancellation).run(cases) {
      if $0.caseId == "case-1" { cancellation.cancel(signal: "SIGTERM") }
    }
    #expect(results.cases.map(\.caseId) == cases.map(\.caseId))
    #expect(
      results.cases.map(\.outcome) == [.pass, .pass, .inconclusive, .inconclusive, .inconclusive])
    #expect(results.cases[2].notRun == "called off before it began (SIGTERM)")
    #expect(results.exitCode == 3)
  }

  @Test("a run that is made while the wish to end comes is closed as cancelled and judged as such")
  func cancelledRun() async throws {
    let folder = try TemporaryFolder()
    let cancellation = Cancellation()
    let evalCase = try Self.evalCase(
      "a", agent: Self.support, expected: ["stopReason": "cancelled"])
    let results = try await Self.runner(
      .init(isLive: true, files: RunFiles(output: folder.path("runs"))), cancellation: cancellation,
      onBoundary: { _ in cancellation.cancel(signal: "SIGINT") }
    ).run([evalCase])
    #expect(results.cases.map(\.outcome) == [.pass])
    #expect(folder.listing.allSatisfy { !$0.hasSuffix(".open") })
  }
}

@Suite("Results and exit codes")
struct ResultsTests {
  private static func result(_ outcome: CaseOutcome) -> CaseResult {
    var result = CaseResult(caseId: outcome.rawValue, position: "case.yaml:1")
    let outcomes: [Outcome] =
      switch outcome {
      case .pass: [.pass, .notExercised]
      case .fail: [.pass, .unverifiable, .fail]
      case .inconclusive: [.notExercised]
      case .error: []
      }
    if outcome == .error {
      result.error = "no"
    } else {
      result.trials = [
        TrialResult(
          runId: "r", log: "l", judgedFrom: "body",
          judgement: Judgement(
            outcomes: outcomes.map {
              ExpectationOutcome(expectation: "x", outcome: $0, message: "")
            })
        )
      ]
    }
    return result
  }

  @Test("1 outranks 2 outranks 3 outranks 0, in any order and number", arguments: 0..<81)
  func exitCodes(number: Int) {
    let all = CaseOutcome.allCases
    // Every row of at most four outcomes.
    let digits = [number % 3, number / 3 % 3, number / 9 % 3, number / 27 % 3]
    let present = zip(all, digits).flatMap { Array(repeating: $0, count: $1) }
    for order in [present, present.reversed()] {
      let results = EvalResults(cases: order.map(Self.result), skipped: [])
      let expected: Int32 =
        present.contains(.fail)
        ? 1
        : present.contains(.error) || present.isEmpty ? 2 : present.contains(.inconclusive) ? 3 : 0
      #expect(results.exitCode == expected)
      for outcome in all {
        #expect(results.count(outcome) == present.count { $0 == outcome })
        #expect(
          results.json["summary"]?[outcome.rawValue]?.intValue == present.count { $0 == outcome })
      }
      #expect(results.json["cases"]?.arrayValue?.count == present.count)
    }
  }
}
