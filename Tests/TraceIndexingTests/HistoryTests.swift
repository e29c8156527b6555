import AgentTrace
import Foundation
import SQLite
import TestSupport
import Testing
import TraceJudging

@testable import TraceIndexing

/// A record of so many cases, some of which fail, as text.
private func record(
  _ time: String, commit: String? = "c0", branch: String? = "main", cases: Int = 3,
  failing: Set<Int> = []
) -> SuiteRecord {
  var record = SuiteRecord(startedAt: time)
  (record.commit, record.branch, record.program) = (commit, branch, "0.1.0")
  record.cases = (0..<cases).map { number in
    var one = CaseRecord(
      caseId: "case-\(number)", outcome: failing.contains(number) ? .fail : .pass)
    one.trials = [.pass, one.outcome, .inconclusive, .error]
    one.isLive = number % 2 == 1
    one.decisive =
      failing.contains(number) ? .init(expectation: "answer", message: "another one") : nil
    var usage = CaseRecord.Usage()
    (usage.runs, usage.steps, usage.cost) = (4, 8, 0.5)
    one.usage = usage
    (one.subject, one.asked, one.cluster) = ("s", "a", "k")
    return one
  }
  record.skipped = ["left-out"]
  return record
}

extension TemporaryFolder {
  fileprivate func keep(_ record: SuiteRecord, as name: String) throws {
    try write("\(name).history.json", CanonicalJSON.string(record.json, form: .plain))
  }
}

private let day = "2026-03-01T09:00:00.000000Z"

@Suite("Runs of suites in an index")
struct HistoryTests {
  @Test(
    "a file that is no record is a row that says why, and the others are read",
    arguments: [
      ("", "byte 0"), ("{", ""), ("[]", "schema"),
      ("{\"schema\":\"agent-eval/history/2\"}", "newer"),
      ("{\"schema\":\"agent-eval/history/1\"}", "startedAt"),
      ("{\"schema\":\"agent-eval/history/1\",\"startedAt\":\"yesterday\",\"cases\":[]}", "no time"),
      (
        "{\"schema\":\"agent-eval/history/1\",\"startedAt\":\"2026-03-01T09:00:00+01:00\",\"cases\":[]}",
        "no time"
      ),
      (String(repeating: "[", count: 100_000), ""), ("\u{0}\u{1b}[2J", ""),
    ])
  func damaged(text: String, says: String) throws {
    let folder = try TemporaryFolder()
    try folder.keep(record(day), as: "a")
    try folder.write("bad.history.json", text)
    let (index, report) = try refreshed(folder)
    #expect(report.suiteRuns == 2 && report.faultySuiteRuns == 1 && report.logs == 0)
    let fault = try index.value("SELECT fault FROM suiteRuns WHERE path = 'bad.history.json'")
    #expect(fault?.stringValue?.hasPrefix("bad.history.json: ") == true)
    #expect(says.isEmpty || fault?.stringValue?.contains(says) == true, "\(fault ?? .null)")
    #expect(try index.history(HistoryFilter()).runs.map(\.path) == ["a.history.json"])
    // Not read again until it changes.
    #expect(try refreshed(folder).report.suiteRunsRead == 0)
    try folder.keep(record("2026-03-02T09:00:00Z"), as: "bad")
    let (mended, second) = try refreshed(folder)
    #expect(second.suiteRunsRead == 1 && second.faultySuiteRuns == 0)
    #expect(try mended.history(HistoryFilter()).runs.count == 2)
  }

  @Test("folders, pipes and files that are too large are told, and nothing waits for them")
  func odd() throws {
    let folder = try TemporaryFolder()
    #expect(mkfifo(folder.path("pipe.history.json"), 0o600) == 0)
    try folder.write("large.history.json", "")
    #expect(truncate(folder.path("large.history.json"), SuiteRecord.limitBytes + 1) == 0)
    try folder.write("folder.history.json/inner.txt", "")
    try folder.link("nowhere.history.json", to: folder.path("gone"))
    try folder.write(".hidden.history.json", "{")
    let (index, report) = try refreshed(folder)
    #expect(report.suiteRuns == 3 && report.faultySuiteRuns == 3)
    let faults = try index.rows("SELECT fault FROM suiteRuns ORDER BY path").map {
      $0[0].stringValue ?? ""
    }
    #expect(faults[0].contains("larger than") && faults[2].contains("not a file"), "\(faults)")
  }

  @Test("long and hostile names are kept apart, whole or cut with a digest")
  func names() throws {
    let folder = try TemporaryFolder()
    let ids = [
      "a\u{0}b", "a", "\u{1b}[31m", "e\u{301}", "\u{e9}", String(repeating: "x", count: 600),
      String(repeating: "x", count: 599) + "y", "'; DROP TABLE outcomes; --",
    ]
    var hostile = record(day, commit: "'\"\u{0}\n")
    hostile.cases = ids.map { CaseRecord(caseId: $0, outcome: .pass) }
    try folder.keep(hostile, as: "a")
    let history = try refreshed(folder).index.history(HistoryFilter())
    #expect(history.trends.count == ids.count)
    #expect(history.runs[0].commit == "'\"\u{0}\n")
    for id in ids where id.utf8.count < 512 { #expect(history.trend(of: id) != nil, "\(id)") }
  }

  @Test("deleted and built again it has the same rows, whatever was read in what order")
  func rebuilt() throws {
    let folder = try TemporaryFolder()
    for number in [3, 1, 4, 0, 2] {
      try folder.keep(
        record("2026-03-0\(number + 1)T09:00:00Z", commit: "c\(number)", failing: [number % 3]),
        as: "run-\(number)")
      try refreshed(folder)
    }
    try writeLog(.everything(), "a.jsonl.gz", in: folder)
    let (index, _) = try refreshed(folder)
    let rows = try index.dump()
    #expect(rows.count { $0.hasPrefix("suiteRuns") } == 5)
    #expect(rows.count { $0.hasPrefix("outcomes") } == 15)
    try FileManager.default.removeItem(atPath: folder.path(".index.sqlite"))
    #expect(try refreshed(folder).index.dump() == rows)
  }

  @Test("what was put in comes out, and a file that is gone is forgotten")
  func comesOut() throws {
    let folder = try TemporaryFolder()
    let whole = record(day, cases: 4, failing: [1])
    try folder.keep(whole, as: "a")
    try folder.keep(record("2026-03-02T09:00:00.5Z", branch: "topic"), as: "b")
    let (index, _) = try refreshed(folder)
    let history = try index.history(HistoryFilter())
    let points = history.trends.flatMap(\.points).filter { $0.run.path == "a.history.json" }
    #expect(
      points.map(\.record).sorted { $0.caseId < $1.caseId } == whole.cases)
    #expect(history.runs[0].fail == 1 && history.runs[0].pass == 3 && history.runs[0].skipped == 1)
    #expect(history.runs[1].startedAt == "2026-03-02T09:00:00.500000Z")
    #expect(
      try index.rows(
        "SELECT trials, pass, fail, inconclusive, error, flaky FROM outcomes WHERE n = 1"
      )
      .first == ["pfie", 1, 1, 1, 1, 1])
    try FileManager.default.removeItem(atPath: folder.path("a.history.json"))
    let (rest, report) = try refreshed(folder)
    #expect(report.suiteRunsRemoved == 1)
    #expect(try rest.value("SELECT count(*) FROM outcomes") == 3)
  }

  @Test("a history takes the newest runs, those since a time and those of a branch")
  func filters() throws {
    let folder = try TemporaryFolder()
    for number in 1...6 {
      try folder.keep(
        record(
          "2026-03-0\(number)T09:00:00Z", commit: number == 6 ? nil : "c\(number)",
          branch: number == 6 ? nil : number % 2 == 0 ? "main" : "topic"), as: "\(7 - number)")
    }
    let (index, _) = try refreshed(folder)
    func days(_ change: (inout HistoryFilter) -> Void) throws -> [String] {
      var filter = HistoryFilter()
      change(&filter)
      return try index.history(filter).runs.map { String($0.startedAt.prefix(10).suffix(1)) }
    }
    #expect(try days { _ in } == ["1", "2", "3", "4", "5", "6"])
    #expect(try days { $0.last = 2 } == ["5", "6"])
    #expect(try days { $0.last = 0 } == [])
    #expect(try days { $0.branch = "main" } == ["2", "4"])
    #expect(try days { $0.since = "2026-03-05" } == ["5", "6"])
    #expect(
      try days {
        $0.branch = "topic"
        $0.last = 1
      } == ["5"])
  }

  @Test("an index of the version before is made anew")
  func olderVersion() throws {
    let folder = try TemporaryFolder()
    try folder.keep(record(day), as: "a")
    let (index, _) = try refreshed(folder)
    try index.connection.execute("PRAGMA user_version = 1", to: "be of another version")
    let (again, report) = try refreshed(folder)
    #expect(report.replaced != nil && report.suiteRunsRead == 1)
    #expect(try again.value("SELECT count(*) FROM outcomes") == 3)
  }
}
