import Testing
import TraceJudging
import TraceReporting

/// What only a comparison shows is told in reports as cases of their own, and counted as none.
@Suite("Reports of results that were compared")
struct ComparedReportTests {
  private static func text(_ format: ReportFormat, _ results: EvalResults) -> String {
    String(decoding: format.bytes(of: results, in: Sample.context), as: UTF8.self)
  }

  private static func results() -> EvalResults {
    var result = Sample.result("one", [[Sample.outcome(.pass, "fine")]])
    result.comparison = CaseComparison(kind: .same)
    var results = EvalResults(cases: [result], skipped: [])
    results.comparison = SuiteComparison(against: "accepted")
    return results
  }

  @Test("a case that is gone is told, and counted as gone alone")
  func gone() {
    var results = Self.results()
    results.comparison?.gone = [GoneCase(caseId: "two", path: "accepted/two.txt")]
    let sentence = "1 case: 1 passed, against accepted: 0 regressed, 1 same, 1 gone"
    let markdown = Self.text(.markdown, results)
    #expect(markdown.contains("❌ **\(sentence)**"), "\(markdown)")
    #expect(markdown.contains("## ❌ `two`") && !markdown.contains("what the judge says"))
    #expect(!markdown.contains("could not be judged"), "\(markdown)")
    #expect(Self.text(.html, results).contains("<title>agent-eval: \(sentence)</title>"))
  }

  @Test("what stands in no file is told at the root of the project, not by a path of the machine")
  func noFile() {
    var results = Self.results()
    results.comparison?.worsened = "the mean rate changed"
    let context = ReportContext(root: "/srv/shop", folder: "/srv/shop", version: "9.9.9")
    for format in ReportFormat.allCases {
      let text = String(decoding: format.bytes(of: results, in: context), as: UTF8.self)
      #expect(!text.contains("/srv/shop"), "\(format): \(text)")
    }
  }

  @Test("a new case that is left out fails in no report where the run does not fail for it")
  func newAndLeftOut() {
    for isFault in [false, true] {
      var results = Self.results()
      var skipped = SkippedCase(caseId: "later", reason: "not yet")
      skipped.comparison = CaseComparison(
        kind: .new, reason: isFault ? "nothing was accepted of it yet" : nil, isFault: isFault)
      results.skipped = [skipped]
      #expect(results.exitCode == (isFault ? 1 : 0))
      #expect(Self.text(.markdown, results).contains(isFault ? "❌ **1 case" : "✅ **1 case"))
      let junit = Self.text(.junit, results)
      #expect(junit.contains(#"errors="0" skipped="1""#), "\(junit)")
      #expect(junit.contains("<failure") == isFault && !junit.contains("<error"), "\(junit)")
      let findings = Self.text(.gitlab, results)
      #expect((findings == "[]\n") != isFault, "\(findings)")
    }
  }
}
