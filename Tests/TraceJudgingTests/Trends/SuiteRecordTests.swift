import AgentTrace
import TestSupport
import Testing

@testable import TraceJudging

/// A record with everything in it.
func sampleRecord() -> SuiteRecord {
  var record = SuiteRecord(startedAt: "2026-03-01T09:00:00.000000Z")
  record.elapsedMicroseconds = 1_500_000
  (record.commit, record.branch, record.program) = ("4f1d2c9", "main", "0.1.0")
  var live = CaseRecord(caseId: "live", outcome: .fail)
  live.trials = [.pass, .fail, .error, .inconclusive]
  (live.isLive, live.isSafety, live.passThreshold) = (true, true, 3)
  live.decisive = .init(expectation: "toolsCalled[0]", message: "never called")
  (live.failedChecks, live.warnedChecks, live.error) = (2, 1, "the model was out of reach")
  var usage = CaseRecord.Usage()
  (usage.runs, usage.steps, usage.toolCalls) = (4, 10, 7)
  (usage.inputTokens, usage.outputTokens) = (900, 90)
  (usage.cost, usage.elapsedMicroseconds) = (0.25, 4_000)
  live.usage = usage
  (live.agent, live.model, live.cluster) = ("clerk", "parrot", "shop")
  (live.subject, live.asked) = ("aa", "bb")
  record.cases = [live, CaseRecord(caseId: "plain", outcome: .pass)]
  record.skipped = ["left-out"]
  return record
}

@Suite("Records of runs of suites")
struct SuiteRecordTests {
  private static let whole = CanonicalJSON.string(sampleRecord().json, form: .plain)

  @Test(
    "what is no record is refused, with the place at fault",
    arguments: [
      (#""schema":"agent-eval/history/1""#, #""schema":"agent-eval/history/2""#, "newer"),
      (#""schema":"agent-eval/history/1""#, #""schema":"agent-eval/results/1""#, "schema: not"),
      (#""schema":"agent-eval/history/1""#, #""schema":1"#, "schema: no text"),
      (#""startedAt":"2026-03-01T09:00:00.000000Z""#, #""startedAt":null"#, "startedAt: no text"),
      (#""outcome":"fail""#, #""outcome":"failed""#, "cases[0].outcome: no outcome"),
      (#""trials":["pass""#, #""trials":["ok""#, "cases[0].trials"),
      (#""trials":[]"#, #""trials":{}"#, "cases[1].trials: no list"),
      (#""steps":10"#, #""steps":-1"#, "cases[0].usage.steps: no whole number"),
      (#""steps":10"#, #""steps":9223372036854775807"#, "cases[0].usage.steps"),
      (#""steps":10"#, #""steps":1e400"#, "cases[0].usage.steps"),
      (#""cost":0.25"#, #""cost":-0.25"#, "cases[0].usage.cost"),
      (#""caseId":"plain""#, #""caseId":["plain"]"#, "cases[1].caseId: no text"),
      (#""expectation":"toolsCalled[0]""#, #""other":1"#, "cases[0].decisive.expectation"),
      (#""skipped":["left-out"]"#, #""skipped":[1]"#, "skipped"),
      (#""commit":"4f1d2c9""#, #""commit":7"#, "commit: no text"),
      (#""elapsedMicroseconds":1500000"#, #""elapsedMicroseconds":"x""#, "elapsedMicroseconds"),
    ])
  func refused(what: String, by: String, says: String) throws {
    #expect(Self.whole.contains(what))
    let changed = Self.whole.replacing(what, with: by, maxReplacements: 1)
    guard let json = try? JSONValue(parsing: changed) else { return }
    do {
      _ = try SuiteRecord(decoding: json)
      Issue.record("\(by) was taken")
    } catch {
      #expect("\(error)".contains(says), "\(error)")
    }
  }

  @Test("a record cut at any byte is refused or no JSON", arguments: [0, 1, 7, 50, 200, 500, -1])
  func cut(at place: Int) throws {
    let bytes = Array(Self.whole.utf8)
    let head = Array(bytes.prefix(place < 0 ? bytes.count - 1 : place))
    #expect((try? JSONValue(parsing: head)).map { (try? SuiteRecord(decoding: $0)) == nil } ?? true)
  }

  @Test("whatever a value in a record is changed to, it is refused or read", arguments: 0..<60)
  func changed(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let values: [JSONValue] = [
      nil, true, 0, -1, 1.5, 9_007_199_254_740_993, "", "pass", "\u{0}\u{1b}[2J", [], [[]], [:],
      ["a": 1], .number(JSONNumber(Int.max)),
    ]
    func change(_ value: JSONValue, _ depth: Int) -> JSONValue {
      guard Int.random(in: 0..<6, using: &generator) > 0 || depth == 0 else {
        return values[Int.random(in: 0..<values.count, using: &generator)]
      }
      return switch value {
      case .array(let elements): .array(elements.map { change($0, depth + 1) })
      case .object(let object):
        .object(JSONObject(object.map { ($0.key, change($0.value, depth + 1)) }))
      default: value
      }
    }
    for _ in 0..<50 {
      let json = change(sampleRecord().json, 0)
      guard let record = try? SuiteRecord(decoding: json) else { continue }
      #expect(try SuiteRecord(decoding: record.json) == record)
      // What is made of it adds up, whatever it says.
      let history = SuiteHistory([
        (SuiteHistory.Run(path: "a", startedAt: record.startedAt), record.cases)
      ])
      for trend in history.trends { #expect(trend.flips <= trend.pairs && trend.points.count == 1) }
    }
  }

  @Test("too many cases or trials are refused")
  func tooMany() {
    func record(_ cases: JSONValue) -> JSONValue {
      ["schema": "agent-eval/history/1", "startedAt": "x", "cases": cases]
    }
    let trials = JSONValue(Array(repeating: "pass", count: SuiteRecord.mostTrials + 1))
    let cases = Array(repeating: JSONValue.null, count: SuiteRecord.mostCases + 1)
    for json in [
      record([["caseId": "a", "outcome": "pass", "trials": trials]]), record(.array(cases)),
    ] {
      #expect(throws: ResultsError.self) { try SuiteRecord(decoding: json) }
    }
  }

  @Test("a record comes back as it was written, and keys that are not known are passed over")
  func roundTrip() throws {
    let record = sampleRecord()
    #expect(try SuiteRecord(decoding: record.json) == record)
    let more = Self.whole.replacing("{\"branch\"", with: "{\"later\":[1],\"branch\"")
    #expect(try SuiteRecord(decoding: try JSONValue(parsing: more)) == record)
  }

  @Test("of results a record keeps what decided, in short, and what the logs say")
  func results() throws {
    var failed = CaseResult(caseId: "a", position: "a.yaml:1")
    let long = String(repeating: "é", count: 1_000)
    for outcome in [Outcome.pass, .fail, .fail] {
      var check = ExpectationOutcome(
        expectation: "toolsCalled[0]", outcome: outcome, message: long)
      if outcome == .fail, failed.trials.isEmpty { check.severity = .warning }
      failed.trials.append(
        TrialResult(
          runId: "r", log: "log\(failed.trials.count)", judgedFrom: "body",
          judgement: Judgement(outcomes: [check])))
    }
    var broken = CaseResult(caseId: "b", position: "a.yaml:9")
    broken.error = "no such file"
    let skipped = SkippedCase(caseId: "c", reason: "later")
    var record = SuiteRecord(startedAt: "2026-03-01T09:00:00.000000Z")
    record.take(
      EvalResults(cases: [failed, broken], skipped: [skipped]), isLive: { $0 == "a" },
      asked: { "asked-\($0)" },
      facts: { log in
        if log == "log2" { return nil }
        var facts = RunFacts()
        (facts.totals.steps, facts.totals.inputTokens) = (.max, 5)
        facts.totals.cost = log == "log0" ? 0.5 : nil
        facts.subject = "s"
        return facts
      })
    let first = record.cases[0]
    #expect(first.outcome == .fail && first.trials == [.pass, .fail, .fail] && first.isLive)
    #expect(first.failedChecks == 2 && first.decisive?.expectation == "toolsCalled[0]")
    #expect((first.decisive?.message.utf8.count ?? 0) <= SuiteRecord.sentenceBytes + 3)
    let usage = try #require(first.usage)
    #expect(usage.runs == 2 && usage.steps == 1 << 53 && usage.inputTokens == 10)
    // One run whose cost nobody knows makes the sum unknown.
    #expect(usage.cost == nil && first.subject == "s" && first.asked == "asked-a")
    #expect(record.cases[1].error == "no such file" && record.cases[1].outcome == .error)
    #expect(record.cases[1].usage == nil && record.skipped == ["c"])
    #expect(try SuiteRecord(decoding: record.json) == record)
  }
}
