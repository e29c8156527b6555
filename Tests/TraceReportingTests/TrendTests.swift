import AgentTrace
import Foundation
import FoundationXML
import TestSupport
import Testing
import TraceJudging

@testable import TraceReporting

/// A history of so many runs and cases; `trials` says how a case came out in a run, a letter a trial.
func sampleHistory(
  runs: Int, cases: [String], isLive: Bool = false, commit: (Int) -> String? = { "c\($0)" },
  branch: String? = "main", trials: (Int, Int) -> String = { ($0 + $1) % 5 == 4 ? "f" : "p" },
  message: String = "another one"
) -> SuiteHistory {
  let letters: [Character: CaseOutcome] = ["p": .pass, "f": .fail, "i": .inconclusive, "e": .error]
  return SuiteHistory(
    (0..<runs).map { index in
      let day = index % 28 + 1
      var run = SuiteHistory.Run(
        path: "\(index).history.json",
        startedAt:
          "20\(26 + index / 336)-\(index / 28 % 12 < 9 ? "0" : "")\(index / 28 % 12 + 1)-\(day < 10 ? "0" : "")\(day)T09:00:00.000000Z"
      )
      run.commit = commit(index)
      run.branch = branch
      run.elapsedMicroseconds = 1_000_000
      let records = cases.enumerated().map { number, caseId in
        let outcomes = trials(index, number).compactMap { letters[$0] }
        let worst =
          [CaseOutcome.error, .fail, .inconclusive, .pass].first { outcomes.contains($0) } ?? .error
        var record = CaseRecord(caseId: caseId, outcome: worst)
        record.trials = outcomes
        record.isLive = isLive
        record.subject = "s"
        if worst == .fail {
          record.decisive = .init(expectation: "answer", message: message)
          record.failedChecks = 3
        }
        if worst == .error { record.error = message }
        var usage = CaseRecord.Usage()
        (usage.runs, usage.steps) = (outcomes.count, outcomes.count * (index + 2))
        (usage.cost, usage.elapsedMicroseconds) = (0.5 * Double(outcomes.count), 2_000)
        record.usage = usage
        return record
      }
      run.pass = records.count { $0.outcome == .pass }
      run.fail = records.count { $0.outcome == .fail }
      run.inconclusive = records.count { $0.outcome == .inconclusive }
      run.error = records.count { $0.outcome == .error }
      return (run, records)
    })
}

private func results(_ cases: [String]) -> EvalResults {
  EvalResults(
    cases: cases.map { Sample.result($0, [[Sample.outcome(.fail, "No.")]]) }, skipped: [])
}

private func page(_ history: SuiteHistory?, _ cases: [String]) -> String {
  var context = Sample.context
  context.history = history
  return ReportFormat.html.text(of: results(cases), in: context)
}

@Suite("Sparklines")
struct SparklineTests {
  private static func marks(_ trials: [String], isLive: Bool, isASCII: Bool) -> String {
    let history = sampleHistory(
      runs: trials.count, cases: ["c"], isLive: isLive, trials: { run, _ in trials[run] })
    return Sparkline(painter: Painter(isColoured: false), isASCII: isASCII)
      .outcomes(history.trends[0].points)
  }

  @Test("recorded outcomes have a mark each, live ones the height of their rate")
  func marks() {
    let trials = ["p", "f", "i", "e"]
    #expect(Self.marks(trials, isLive: false, isASCII: false) == "✓✗?!")
    #expect(Self.marks(trials, isLive: false, isASCII: true) == ".F?!")
    let rates = ["ffff", "fffp", "ffpp", "fppp", "pppp", "ii", "ee", "ep"]
    #expect(Self.marks(rates, isLive: true, isASCII: false) == "▁▃▅▆█?!!")
    #expect(Self.marks(rates, isLive: true, isASCII: true) == "_:=+#?!!")
  }

  @Test(
    "values stand between the least and the greatest of them",
    arguments: [
      ([], ""), ([nil], ""), ([3], "▁"), ([3, 3], "▁▁"), ([1, nil, 8], "▁·█"),
      ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"), ([1e308, -1e308], "▁▁"),
    ] as [([Double?], String)])
  func values(values: [Double?], line: String) {
    #expect(
      Sparkline(painter: Painter(isColoured: false), isASCII: false).values(values) == line)
  }
}

@Suite("What became of cases, on a terminal")
struct TrendReportTests {
  @Test("nothing of a record acts on a terminal", arguments: Sample.hostile)
  func hostile(text: String) {
    let history = sampleHistory(
      runs: 3, cases: [text, "plain"], commit: { _ in text }, branch: text,
      trials: { run, _ in run == 1 ? "e" : "f" }, message: text)
    for isASCII in [false, true] {
      let report = TrendReport(painter: Painter(isColoured: false), isASCII: isASCII)
      let ofEach = history.trends.map { report.lines(for: $0) }
      for lines in [report.lines(for: history.trends)] + ofEach {
        for line in lines {
          #expect(Visible.line(line) == line, "\(line.debugDescription)")
        }
      }
    }
  }

  @Test("colours are there where they are asked for, and the layout is the same")
  func colours() {
    let history = sampleHistory(runs: 5, cases: ["a", "b", "c"])
    let plain = TrendReport(painter: Painter(isColoured: false))
    let coloured = TrendReport(painter: Painter(isColoured: true))
    func stripped(_ lines: [String]) -> [String] {
      lines.map { $0.replacing(#/\u{1b}\[[0-9;]*m/#, with: "") }
    }
    #expect(stripped(coloured.lines(for: history.trends)) == plain.lines(for: history.trends))
    #expect(coloured.lines(for: history.trends) != plain.lines(for: history.trends))
    for trend in history.trends {
      #expect(stripped(coloured.lines(for: trend)) == plain.lines(for: trend))
    }
    #expect(plain.lines(for: []).isEmpty)
  }

  @Test("a live case tells how many passed, with Wilson's interval, and since when it fails")
  func live() {
    let history = sampleHistory(
      runs: 3, cases: ["c"], isLive: true,
      trials: { run, _ in ["ppppp", "ppppppppp" + "f", "fff"][run] })
    let lines = TrendReport(painter: Painter(isColoured: false), width: 200)
      .lines(for: history.trends[0])
    #expect(
      lines[0]
        == "c  flaky, 7 % flips (1 of 15), fails since c1 of 2026-01-02, last passed at c0 of 2026-01-01"
    )
    // 9 of 10: 59.6 % to 98.2 %.
    #expect(lines.contains { $0.contains("9 of 10") && $0.contains("60 % to 98 %") }, "\(lines)")
    #expect(lines.contains { $0.contains("answer: another one (and 2 more)") })
    #expect(
      lines.contains("cost     ▁▁▁  0.5") && lines.contains("steps    ▁▅█  2 to 4"), "\(lines)")
  }
}

@Suite("What became of cases, on a page")
struct TrendChartTests {
  /// The pictures of a page, read as XML.
  private static func pictures(_ page: String) throws -> [XMLElement] {
    try page.matches(of: #/<svg[\s\S]*?<\/svg>/#).map { match in
      try #require(try XMLDocument(xmlString: String(match.0), options: []).rootElement())
    }
  }

  @Test("without a history the page is what it was, and other reports are the same with one")
  func without() throws {
    let plain = page(nil, ["a"])
    #expect(!plain.contains("svg") && !plain.contains("history"))
    var context = Sample.context
    context.history = sampleHistory(runs: 2, cases: ["a"])
    for format in ReportFormat.allCases where format != .html {
      #expect(
        format.bytes(of: results(["a"]), in: context)
          == format.bytes(of: results(["a"]), in: Sample.context))
    }
    // A history in which nothing is yet.
    #expect(!page(SuiteHistory([]), ["a"]).contains("<svg"))
  }

  @Test("nothing of a record becomes a tag, an attribute or an address", arguments: Sample.hostile)
  func hostile(text: String) throws {
    let history = sampleHistory(
      runs: 3, cases: [text], commit: { _ in text }, branch: text,
      trials: { run, _ in run == 1 ? "e" : "f" }, message: text)
    let page = page(history, [text])
    let innocent = TrendChartTests.plainPage
    func tags(_ page: String) -> [String] {
      page.matches(of: #/<\/?[a-zA-Z]+/#).map { String($0.0) }
    }
    #expect(tags(page) == tags(innocent))
    #expect(!page.contains(#/\son\w+="/#) || innocent.contains(#/\son\w+="/#))
    for picture in try Self.pictures(page) {
      #expect(picture.attribute(forName: "role")?.stringValue == "img")
      #expect(picture.attribute(forName: "aria-label")?.stringValue?.isEmpty == false)
    }
  }

  private static let plainPage = page(
    sampleHistory(
      runs: 3, cases: ["a"], commit: { _ in "a" }, branch: "a",
      trials: { run, _ in run == 1 ? "e" : "f" }, message: "a"), ["a"])

  @Test("the page's policy allows the style that it has", arguments: [0, 1, 3])
  func policy(runs: Int) throws {
    let page = page(sampleHistory(runs: runs, cases: ["a"]), ["a"])
    let style = try #require(page.firstMatch(of: #/<style>([^<]*)<\/style>/#)).1
    let digest = Data(Digest(of: Array(style.utf8)).bytes).base64EncodedString()
    #expect(page.contains("style-src 'sha256-\(digest)'"))
    #expect(!page.contains("style=\""))
  }

  @Test(
    "each run is a bar whose pieces fill it, none too small to see", arguments: [1, 2, 200, 230])
  func bars(count: Int) throws {
    let cases = (0..<500).map { "case-\($0)" }
    let history = sampleHistory(
      runs: count, cases: cases,
      trials: { run, number in
        number == 0 ? "e" : number == 1 ? "i" : number <= run % 3 + 1 ? "f" : "p"
      })
    let chart = TrendChart(history: history)
    let picture = try #require(try Self.pictures(chart.section()).first)
    let bars = try picture.nodes(forXPath: ".//*[local-name()='g'][*[local-name()='title']]")
    #expect(bars.count == min(count, TrendChart.mostRuns))
    var last = 0.0
    for bar in bars {
      let pieces = try bar.nodes(forXPath: "./*[local-name()='rect']").compactMap {
        $0 as? XMLElement
      }
      let heights = pieces.map { Double($0.attribute(forName: "height")?.stringValue ?? "") ?? 0 }
      #expect(abs(heights.reduce(0, +) - 120) < 0.5 && heights.allSatisfy { $0 >= 2 }, "\(heights)")
      let x = Double(pieces[0].attribute(forName: "x")?.stringValue ?? "") ?? 0
      #expect(x > last && x <= 1_000)
      last = x
    }
    #expect(chart.section().contains("older are not shown") == (count > 200))
    #expect(chart.section().matches(of: #/<tr><td>/#).count == min(count, 200))
  }

  @Test("a strip tells a case's newest runs in shapes and in words; a case without a past has none")
  func strips() throws {
    let history = sampleHistory(
      runs: 60, cases: ["a"], trials: { run, _ in ["p", "f", "i", "e"][run % 4] })
    let chart = TrendChart(history: history)
    let strip = try #require(try Self.pictures(chart.strip(of: "a")).first)
    #expect(
      strip.attribute(forName: "aria-label")?.stringValue
        == "stable-fail; of 40 runs 10 passed, 10 failed, 10 inconclusive, 10 could not be judged")
    let paths = try strip.nodes(forXPath: ".//*[local-name()='path']").compactMap {
      $0 as? XMLElement
    }
    #expect(paths.count == 4)
    for path in paths {
      #expect(path.attribute(forName: "d")?.stringValue?.filter { $0 == "M" }.count == 10)
    }
    #expect(chart.strip(of: "b").isEmpty && chart.sentence(of: "b").isEmpty)
    #expect(chart.sentence(of: "a").contains("fails since c57 of "))
  }
}
