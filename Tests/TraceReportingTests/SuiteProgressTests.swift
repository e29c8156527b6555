import Testing
import TraceJudging
import TraceReporting

@Suite("How far a suite is")
struct SuiteProgressTests {
  /// The line after some outcomes.
  private static func line(_ outcomes: [CaseOutcome], of total: Int, after seconds: Double)
    -> String
  {
    var progress = SuiteProgress(total: total)
    for outcome in outcomes { progress.take(outcome) }
    return progress.line(after: seconds)
  }

  @Test(
    "is told with its count, what did not pass, the rate and the time left",
    arguments: [
      ([], 40, 0, "0 of 40"), ([], 40, 12, "0 of 40"),
      ([.pass], 40, 2, "1 of 40, 30 a minute, about 78 s left"),
      ([.pass, .fail], 4, 1, "2 of 4, 1 failed, 2.0 a second, about 1 s left"),
      (
        [.fail, .error, .inconclusive], 3, 3,
        "3 of 3, 1 failed, 1 not judged, 1 inconclusive, 1.0 a second"
      ),
      ([.pass], 1_000_000, 3600, "1 of 1000000, 1.0 an hour, about 277778 h left"),
      ([.pass], 2, 0, "1 of 2"), ([.pass], 2, 1e-9, "1 of 2, 1000000000 a second, about 1 s left"),
      ([.pass], 2, 600, "1 of 2, 6.0 an hour, about 10 min left"),
    ] as [([CaseOutcome], Int, Double, String)])
  func lines(_ row: (outcomes: [CaseOutcome], total: Int, seconds: Double, says: String)) {
    #expect(Self.line(row.outcomes, of: row.total, after: row.seconds) == row.says)
  }

  @Test("no time and no count makes it fail")
  func extremes() {
    for seconds in [0, -1, .infinity, .nan, 1e300, .leastNonzeroMagnitude] as [Double] {
      #expect(Self.line([.pass, .fail], of: 5, after: seconds).hasPrefix("2 of 5, 1 failed"))
    }
  }
}
