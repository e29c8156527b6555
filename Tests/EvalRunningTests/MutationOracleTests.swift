import AgentTrace
import EvalLoading
import EvalRunning
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@Suite("Changed runs of the fixtures")
struct MutationOracleTests {
  /// Changes to one run, fewer by default.
  private static let limit = TestRun.count(20, long: 100_000)

  @Test("what is folded once for many cases and changes is what each gives by itself")
  func cases() async throws {
    let cases = CaseLoader.load([Project.path("EvalCases")]).cases
    var byLog: [(log: String, cases: [EvalCase])] = []
    for evalCase in cases {
      guard let log = evalCase.recording else { continue }
      if let place = byLog.firstIndex(where: { $0.log == log }) {
        byLog[place].cases.append(evalCase)
      } else {
        byLog.append((log, [evalCase]))
      }
    }
    #expect(byLog.count > 30)
    let all = byLog
    try await apart {
      for (log, cases) in all { try Self.check(log, cases.map { ($0.caseId, $0.expected) }) }
    }
  }

  @Test("and so it is for every word that looks at something of its own, on every run")
  func words() async throws {
    let expected: [JSONValue] = [
      ["toolsNotCalled": ["no_such_tool"]], ["maxSteps": 1_000], ["budget": ["calls": 1_000]],
      ["budget": ["tokens": 1_000_000]], ["state": ["/totals/steps": ["$any": true]]],
      ["noRepeatedSideEffect": true], ["maxRetries": 100], ["memory": ["notWritten": ["no_key"]]],
      ["context": ["neverContains": "no such text"]], ["context": [["maxTokens": 1_000_000]]],
      ["policy": ["notGiven": [["verdict": "deny", "tool": "no_such_tool"]]]],
    ]
    let all = try expected.enumerated().map { ("c\($0)", try Expectations(parsing: $1)) }
    let judged = try await apart {
      var judged = 0
      for path in Project.files(below: "Fixtures/runs", ending: ".jsonl.gz")
        + Project.files(below: "Fixtures/policy-runs", ending: ".jsonl.gz")
      {
        judged += try Self.check(Project.path(path), all)
      }
      return judged
    }
    #expect(judged > 200)
  }

  @discardableResult
  private static func check(_ log: String, _ cases: [(String, Expectations)]) throws -> Int {
    let mutants = RunMutants(
      log: log, of: try Fixture.events(log),
      judgedBy: cases.map { RunMutants.JudgingCase(caseId: $0.0, expected: $0.1) }, limit: limit)
    let (shared, plain) = (mutants.score(.shared), mutants.score(.plain))
    #expect(
      MutationScore(runs: [shared]).json == MutationScore(runs: [plain]).json, "\(log)")
    return shared.counts.changes
  }
}
