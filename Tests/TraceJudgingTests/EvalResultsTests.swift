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
    func maybe() -> String? { random.next(below: 2) == 0 ? nil : text() }
    func comparison() -> CaseComparison? {
      guard random.next(below: 2) == 0 else { return nil }
      let differences = (0..<random.next(below: 3)).map { _ in
        Difference(
          kind: Difference.Kind.allCases[random.next(below: Difference.Kind.allCases.count)],
          effect: Difference.Effect.allCases[random.next(below: 3)], place: text(),
          accepted: maybe(), actual: maybe(),
          step: random.next(below: 2) == 0 ? nil : 1 + random.next(below: 9),
          events: (0..<random.next(below: 3)).map { $0 })
      }
      var comparison = CaseComparison(
        kind: CaseComparison.Kind.allCases[random.next(below: 6)], differences: differences,
        untold: random.next(below: 3), run: random.next(below: 2) == 0 ? nil : 2, reason: maybe(),
        isFault: random.next(below: 2) == 0, path: maybe())
      if random.next(below: 2) == 0 { comparison.beStrict() }
      return comparison
    }
    // No two have one name.
    let cases = (0..<random.next(below: 5)).map { index in
      var result = CaseResult(caseId: "\(text())\(index)", position: text())
      result.comparison = comparison()
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
    let skipped = (0..<random.next(below: 3)).map { index in
      var skipped = SkippedCase(caseId: "\(text())\(index)", reason: text())
      skipped.comparison = comparison()
      return skipped
    }
    let shard = ResultsShard(
      index: 1, count: 1 + random.next(below: 9), suite: text(), suiteCases: random.next(below: 90),
      places: (0..<cases.count).map { _ in random.next(below: 3_000_000_000) },
      skippedPlaces: [1], program: text(), isWhole: random.next(below: 2) == 0)
    var results = EvalResults(
      cases: cases, skipped: skipped, shard: random.next(below: 2) == 0 ? nil : shard)
    guard random.next(below: 2) == 0 else { return results }
    var tolerance = Tolerance()
    tolerance[.cost] = Double(random.next(below: 50)) / 4
    results.comparison = SuiteComparison(
      against: text(), tolerance: tolerance, needsBaselines: random.next(below: 2) == 0,
      gone: (0..<random.next(below: 3)).map { _ in GoneCase(caseId: text(), path: text()) },
      unusable: (0..<random.next(below: 3)).map { _ in text() })
    results.comparison?.isStrict = random.next(below: 2) == 0
    return results
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

  @Test("What was written is read again, whatever it holds", arguments: 0..<200 as Range<UInt64>)
  func roundTrip(seed: UInt64) throws {
    let results = Self.results(seed)
    let read = try EvalResults(decoding: try JSONValue(parsing: results.encoded))
    #expect(read.encoded == results.encoded)
    #expect(read.shard == results.shard)
    #expect(read.comparison == results.comparison)
    #expect(read.cases.map(\.comparison) == results.cases.map(\.comparison))
    #expect(read.exitCode == results.exitCode)
  }

  /// What is wrong with a text that should be results.
  private static func fault(_ text: String) -> String? {
    do {
      _ = try EvalResults(decoding: try JSONValue(parsing: text))
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "What is no results is refused, and says where",
    arguments: [
      ("[]", "schema: missing"), (#"{"schema": 1}"#, "schema: no text"),
      (#"{"schema": "agent-eval/results/2"}"#, "schema: not agent-eval/results/1"),
      (#"{"schema": "agent-eval/results/1"}"#, "cases: missing"),
      (#"{"schema": "agent-eval/results/1", "cases": {}}"#, "cases: no list"),
      (#"{"schema": "agent-eval/results/1", "cases": [3]}"#, "cases[0].caseId: missing"),
    ])
  func mistakes(text: String, fault: String) { #expect(Self.fault(text) == fault) }

  @Test(
    "What does not agree with itself is refused",
    arguments: [
      (#""outcome":"fail""#, #""outcome":"pass""#, "outcome"),
      (#""fail":1"#, #""fail":0"#, "summary.fail: not the number of cases with this outcome"),
      (#""events":[3]"#, #""events":[-3]"#, "events[0]: no whole number from 0"),
      (#""events":[3]"#, #""events":[3e99]"#, "events[0]: no whole number from 0"),
      (#""outcome":"fail","runId""#, #""outcome":"failed","runId""#, "trials[0].outcome"),
    ])
  func disagreement(text: String, replacement: String, place: String) {
    var result = CaseResult(caseId: "c", position: "c.yaml:1")
    result.trials = [
      TrialResult(
        runId: "r", log: "l", judgedFrom: "body",
        judgement: Judgement(outcomes: [
          ExpectationOutcome(expectation: "e", outcome: .fail, events: [3], message: "m")
        ]))
    ]
    let sound = String(
      decoding: EvalResults(cases: [result], skipped: []).encoded, as: UTF8.self)
    #expect(Self.fault(sound) == nil)
    let altered = sound.replacing(text, with: replacement)
    #expect(altered != sound && Self.fault(altered)?.contains(place) == true, "\(altered)")
  }
}
