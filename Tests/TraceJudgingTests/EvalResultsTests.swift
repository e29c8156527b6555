import AgentTrace
import Testing
import TraceJudging

@Suite("Results as text")
struct EvalResultsTests {
  private static let texts = [
    "", "plain", "\"quoted\" \\ back", "line\nbreak \u{1}\u{1b}[2J", "é 🙂 e\u{301}", "$same",
    String(repeating: "long ", count: 200),
  ]

  /// Results in which every key is there and is missing, with texts of every kind.
  private static func results(_ seed: UInt64) -> EvalResults {
    var random = Numbers(state: seed)
    func text() -> String { texts[random.next(below: texts.count)] }
    func outcome() -> ExpectationOutcome {
      var outcome = ExpectationOutcome(
        expectation: text(), outcome: Outcome.allCases[random.next(below: 4)],
        events: (0..<random.next(below: 4)).map { _ in random.next(below: 3_000_000_000) },
        message: text(), expected: random.next(below: 2) == 0 ? nil : text(),
        actual: random.next(below: 2) == 0 ? nil : text())
      if random.next(below: 2) == 0 { outcome.severity = .warning }
      return outcome
    }
    let cases = (0..<random.next(below: 5)).map { _ in
      var result = CaseResult(caseId: text(), position: text())
      if random.next(below: 3) == 0 { result.error = text() }
      result.trials = (0..<random.next(below: 3)).map { _ in
        TrialResult(
          runId: text(), log: text(), judgedFrom: "body",
          judgement: Judgement(
            outcomes: (0..<random.next(below: 4)).map { _ in outcome() },
            warnings: (0..<random.next(below: 3)).map { _ in text() }))
      }
      return result
    }
    let skipped = (0..<random.next(below: 3)).map { _ in
      SkippedCase(caseId: text(), reason: text())
    }
    return EvalResults(cases: cases, skipped: skipped)
  }

  private struct Numbers {
    var state: UInt64

    mutating func next(below limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
  }

  @Test(
    "The text is the canonical form of the value, byte for byte",
    arguments: 0..<200 as Range<UInt64>)
  func sameBytes(seed: UInt64) {
    let results = Self.results(seed)
    let plain = CanonicalJSON.string(results.json, form: .plain)
    #expect(String(decoding: results.encoded, as: UTF8.self) == plain)
  }
}
