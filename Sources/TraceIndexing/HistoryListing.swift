import SQLite
public import TraceJudging

/// Which runs of suites a history is made of. Each condition that is given must hold.
public struct HistoryFilter: Sendable {
  /// Runs that began at this time or later, as `YYYY-MM-DDTHH:MM:SS`, in UTC.
  public var since: String?
  /// Runs of this branch.
  public var branch: String?
  /// So many of them, the newest; `nil` for all.
  public var last: Int?

  /// Lets every run through.
  public init() {}
}

extension RunIndex {
  /// What became of cases over the runs of suites that a filter lets through, as the index knows them.
  ///
  /// - Throws: ``IndexError`` where the index cannot be read.
  public func history(_ filter: HistoryFilter) throws -> SuiteHistory {
    do {
      return try connection.read { try HistoryReader($0, filter).history() }
    } catch let error as SQLiteError {
      throw IndexError(error, path: path ?? "the index in memory")
    }
  }

  static func suiteRunStamps(_ connection: Connection) throws -> [ExactText: FileStamp] {
    var known: [ExactText: FileStamp] = [:]
    let statement = try Statement(
      connection, "SELECT path, fileSize, modifiedAt, fingerprint FROM suiteRuns",
      to: "read which runs of suites are known")
    try statement.rows([]) { row in
      known[ExactText(row.text(0) ?? "")] = FileStamp(
        size: row.integer(1) ?? 0, modifiedAt: row.integer(2) ?? 0, fingerprint: row.text(3) ?? "")
      return true
    }
    return known
  }
}

private struct HistoryReader {
  private let filter: HistoryFilter
  private let runs: Statement
  private let outcomes: Statement

  init(_ connection: Connection, _ filter: HistoryFilter) throws {
    self.filter = filter
    runs = try Statement(
      connection,
      """
      SELECT path, startedAt, elapsedMicroseconds, commitId, branch, pass, fail, inconclusive, error,
        skipped
      FROM suiteRuns
      WHERE fault IS NULL AND (?1 IS NULL OR startedAt >= ?1) AND (?2 IS NULL OR branch = ?2)
      ORDER BY startedAt DESC, coalesce(commitId, '') DESC, path DESC
      LIMIT ?3
      """, to: "read the runs of suites")
    outcomes = try Statement(
      connection,
      """
      SELECT caseId, outcome, live, safety, passThreshold, trials, expectation, message,
        failedChecks, warnedChecks, fault, runs, steps, toolCalls, inputTokens, outputTokens, cost,
        elapsedMicroseconds, agent, model, subject, asked, cluster
      FROM outcomes WHERE path = ? ORDER BY n
      """, to: "read what became of cases")
  }

  func history() throws -> SuiteHistory {
    var found: [(run: SuiteHistory.Run, cases: [CaseRecord])] = []
    try runs.rows([.init(filter.since), .init(filter.branch), .integer(filter.last ?? -1)]) { row in
      found.append((Self.run(row), []))
      return true
    }
    for index in found.indices {
      try outcomes.rows([.text(found[index].run.path)]) { row in
        if let record = Self.record(row) { found[index].cases.append(record) }
        return true
      }
    }
    return SuiteHistory(found)
  }

  private static func run(_ row: borrowing Row) -> SuiteHistory.Run {
    var run = SuiteHistory.Run(path: row.text(0) ?? "", startedAt: row.text(1) ?? "")
    run.elapsedMicroseconds = row.integer(2) ?? 0
    run.commit = row.text(3)
    run.branch = row.text(4)
    run.pass = row.integer(5) ?? 0
    run.fail = row.integer(6) ?? 0
    run.inconclusive = row.integer(7) ?? 0
    run.error = row.integer(8) ?? 0
    run.skipped = row.integer(9) ?? 0
    return run
  }

  private static func record(_ row: borrowing Row) -> CaseRecord? {
    guard let outcome = row.text(1).flatMap(CaseOutcome.init(rawValue:)) else { return nil }
    var record = CaseRecord(caseId: row.text(0) ?? "", outcome: outcome)
    record.isLive = row.integer(2) == 1
    record.isSafety = row.integer(3) == 1
    record.passThreshold = row.integer(4)
    record.trials = (row.text(5) ?? "").compactMap(CaseOutcome.init(letter:))
    record.decisive = row.text(6).map {
      CaseRecord.Check(expectation: $0, message: row.text(7) ?? "")
    }
    record.failedChecks = row.integer(8) ?? 0
    record.warnedChecks = row.integer(9) ?? 0
    record.error = row.text(10)
    if let runs = row.integer(11) {
      var usage = CaseRecord.Usage()
      usage.runs = runs
      usage.steps = row.integer(12) ?? 0
      usage.toolCalls = row.integer(13) ?? 0
      usage.inputTokens = row.integer(14) ?? 0
      usage.outputTokens = row.integer(15) ?? 0
      usage.cost = row.real(16)
      usage.elapsedMicroseconds = row.integer(17) ?? 0
      record.usage = usage
    }
    record.agent = row.text(18)
    record.model = row.text(19)
    record.subject = row.text(20)
    record.asked = row.text(21)
    record.cluster = row.text(22)
    return record
  }
}
