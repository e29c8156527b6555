import AgentTrace
import TestSupport
import Testing
import TraceJudging
import TraceReporting

@Suite("Results for a terminal")
struct ResultsReportTests {
  private static func result(
    _ caseId: String, outcomes: [ExpectationOutcome] = [], warnings: [String] = [],
    log: String = "runs/one.jsonl.gz", error: String? = nil
  ) -> CaseResult {
    var result = CaseResult(caseId: caseId, position: "case.yaml:1")
    if !outcomes.isEmpty {
      result.trials = [
        TrialResult(
          runId: "r", log: log, judgedFrom: "body",
          judgement: Judgement(outcomes: outcomes, warnings: warnings))
      ]
    }
    result.error = error
    return result
  }

  @Test(
    "whatever a case, a log or a message is called, it does nothing to a terminal",
    arguments: TimelineTests.hostile)
  func hostileTexts(text: String) {
    let report = ResultsReport(painter: plain, width: 80)
    let outcomes = [Outcome.fail, .unverifiable, .notExercised, .pass].map {
      ExpectationOutcome(
        expectation: text, outcome: $0, events: [1, 2], message: text, expected: text, actual: text)
    }
    let results = [
      Self.result(text, outcomes: outcomes, warnings: [text], log: text),
      Self.result(text, error: text),
    ]
    let lines =
      results.flatMap { report.lines(for: $0) }
      + report.summary(
        of: EvalResults(cases: results, skipped: [SkippedCase(caseId: text, reason: text)]))
    for line in lines {
      #expect(
        line.unicodeScalars.allSatisfy {
          $0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value)
            && !(0x2028...0x202e).contains($0.value)
        }, "\(line.debugDescription.prefix(200))")
    }
  }

  @Test("a case that passed is one line, whatever it checked")
  func passed() {
    let report = ResultsReport(painter: plain)
    for count in 1...3 {
      let outcomes = (0..<count).map {
        ExpectationOutcome(
          expectation: "toolsCalled[\($0)]", outcome: .pass, events: [3], message: "It was.")
      }
      let lines = report.lines(for: Self.result("some-case", outcomes: outcomes))
      #expect(lines == ["pass   some-case  \(count) of \(count) check\(count == 1 ? "" : "s")"])
    }
  }

  @Test("short texts stand side by side, long ones below each other, and all of both is told")
  func sideBySide() {
    let report = ResultsReport(painter: plain, width: 80)
    for (expected, actual) in [
      ("a", "b"), ("a\nb\nc", "b"), ("a", "b\nc"), (String(repeating: "long ", count: 30), "b"),
      ("a", String(repeating: "long ", count: 30)), ("", ""),
    ] {
      let outcome = ExpectationOutcome(
        expectation: "answer", outcome: .fail, events: [], message: "No.", expected: expected,
        actual: actual)
      let lines = report.lines(for: Self.result("c", outcomes: [outcome]))
      let text = lines.joined(separator: "\n")
      #expect(text.contains("expected") && text.contains("actual"))
      for piece in (expected + "\n" + actual).split(separator: "\n") {
        #expect(text.contains(piece))
      }
      #expect(text.contains(" │ ") == (expected.count < 30 && actual.count < 30))
    }
  }

  @Test(
    "on a narrow terminal two columns run over no edge: they stand below each other",
    arguments: 20...60)
  func narrow(width: Int) {
    let outcome = ExpectationOutcome(
      expectation: "answer", outcome: .fail, events: [], message: "No.",
      expected: "at most 4 steps", actual: "100 steps")
    let lines = ResultsReport(painter: plain, width: width)
      .lines(for: Self.result("c", outcomes: [outcome]))
    let beside = lines.filter { $0.contains(" │ ") }
    #expect(beside.allSatisfy { $0.count <= width }, "\(beside)")
    #expect(beside.isEmpty == (width < 36))
  }

  @Test("what failed names the commands that show more, which can be pasted into a shell")
  func more() async throws {
    let folder = try TemporaryFolder()
    for log in [
      "runs/plain.jsonl.gz", "it's/a log.jsonl.gz", "$(touch made).jsonl.gz", "a;b.jsonl.gz",
    ] {
      let outcome = ExpectationOutcome(
        expectation: "stopReason", outcome: .fail, events: [9, 4], message: "No.")
      let lines = ResultsReport(painter: plain)
        .lines(for: Self.result("c", outcomes: [outcome], log: log))
      #expect(lines.count { $0.contains("agent-eval ") } == 2)
      for line in lines where line.contains("agent-eval ") {
        let start = try #require(line.firstRange(of: "agent-eval ")).lowerBound
        let script = "agent-eval() { printf '%s\\n' \"$@\"; }; " + line[start...]
        let echoed = try await Command(
          program: "/bin/bash", arguments: ["-c", script], folder: folder.path
        ).run()
        #expect(echoed.lines[1] == log)
        if echoed.lines[0] == "replay" { #expect(echoed.lines.suffix(2) == ["--event", "4"]) }
      }
    }
    #expect(folder.listing == [])
  }

  @Test("the summary counts every outcome, and names none that did not occur")
  func summary() {
    let pass = ExpectationOutcome(expectation: "x", outcome: .pass, message: "")
    let fail = ExpectationOutcome(expectation: "x", outcome: .fail, message: "")
    let open = ExpectationOutcome(expectation: "x", outcome: .unverifiable, message: "")
    let all = [
      Self.result("a", outcomes: [pass]), Self.result("b", outcomes: [fail]),
      Self.result("c", outcomes: [open]), Self.result("d", error: "no"),
    ]
    let report = ResultsReport(painter: plain)
    func last(_ cases: [CaseResult], _ skipped: [SkippedCase] = []) -> String? {
      report.summary(of: EvalResults(cases: cases, skipped: skipped)).last
    }
    #expect(
      last(all, [SkippedCase(caseId: "e", reason: "later")])
        == "4 cases: 1 passed, 1 failed, 1 could not be judged, 1 inconclusive, 1 skipped")
    #expect(last([all[0]]) == "1 case: 1 passed")
    #expect(last([all[1], all[1]]) == "2 cases: 0 passed, 2 failed")
    #expect(last([]) == "0 cases: 0 passed")
  }
}
