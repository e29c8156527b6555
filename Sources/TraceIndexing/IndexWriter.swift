import AgentTrace
import SQLite
import TraceJudging

/// Puts rows into an index; used within one transaction.
struct IndexWriter {
  private let insertRun: Statement
  private let insertCall: Statement
  private let insertTag: Statement
  private let deletions: [Statement]
  private let lookup: Statement
  private let insertSuiteRun: Statement
  private let insertOutcome: Statement
  private let suiteRunDeletions: [Statement]

  init(_ connection: Connection) throws {
    func statement(_ sql: String, to purpose: String) throws -> Statement {
      try Statement(connection, sql, to: purpose)
    }
    func insertion(_ table: String, _ columns: Int) throws -> Statement {
      let marks = Array(repeating: "?", count: columns).joined(separator: ",")
      return try statement("INSERT INTO \(table) VALUES (\(marks))", to: "add to \(table)")
    }
    func deletion(_ table: String) throws -> Statement {
      try statement("DELETE FROM \(table) WHERE path = ?", to: "remove from \(table)")
    }
    insertRun = try insertion("runs", IndexSchema.runColumns.count)
    insertCall = try insertion("calls", 10)
    insertTag = try statement("INSERT OR IGNORE INTO tags VALUES (?,?)", to: "add to tags")
    deletions = try ["runs", "calls", "tags"].map(deletion)
    lookup = try statement("SELECT 1 FROM runs WHERE path = ?", to: "look for a run")
    insertSuiteRun = try insertion("suiteRuns", 15)
    insertOutcome = try insertion("outcomes", 30)
    suiteRunDeletions = try ["suiteRuns", "outcomes"].map(deletion)
  }

  /// Removes what is known of a run of a suite.
  func removeSuiteRun(_ path: String) throws {
    for deletion in suiteRunDeletions { try deletion.run([.text(path)]) }
  }

  /// Puts in a run of a suite in place of what was known of its file.
  func put(_ suite: IndexedSuiteRun) throws {
    try removeSuiteRun(suite.path)
    try insertSuiteRun.run(suite.values)
    for (n, record) in (suite.record?.cases ?? []).enumerated() {
      try insertOutcome.run(suite.values(of: record, n))
    }
  }

  /// Removes what is known of a log.
  func remove(_ path: String) throws {
    for deletion in deletions { try deletion.run([.text(path)]) }
  }

  /// Puts in a run in place of what was known of its log.
  func put(_ run: IndexedRun) throws {
    // Mostly nothing is known of it, and one look costs less than three deletions.
    var isKnown = false
    try lookup.rows([.text(run.path)]) { _ in
      isKnown = true
      return false
    }
    if isKnown { try remove(run.path) }
    try insertRun.run(values(of: run))
    for (n, call) in run.calls.calls.enumerated() {
      try insertCall.run([
        .text(run.path), .integer(n), .text(call.callId), .text(run.calls.name(call.caller)),
        .integer(call.isOfUser ? 1 : 0),
        .text(run.calls.name(call.tool)), .init(call.status?.rawValue),
        .init(call.verdict?.rawValue), .integer(call.seq),
        call.resultSeq < 0 ? .null : .integer(call.resultSeq),
      ])
    }
    for tag in run.start.tags { try insertTag.run([.text(run.path), .text(tag)]) }
  }

  /// In the order of ``IndexSchema/runColumns``.
  private func values(of run: IndexedRun) -> [Value] {
    let (start, ending, totals) = (run.start, run.ending, run.totals)
    return [
      .text(run.path), .init(start.runId), .init(start.caseId), .init(start.trial),
      .init(start.agent), .init(start.agentVersion), .init(start.model), .init(start.models),
      .init(start.actorId), .init(start.tenantId), .init(start.route), .init(start.parentRunId),
      .init(start.parentRelation), .integer(start.depth),
      .text(start.origin), .init(start.goal), .init(ending?.reason), .init(ending?.detail),
      .init(ending.map { $0.isFinal ? 1 : 0 }), .init(ending?.answer), .integer(totals.steps),
      .integer(totals.toolCalls), .integer(totals.modelCalls), .integer(totals.inputTokens),
      .integer(totals.outputTokens), .init(totals.cost.map(Figures.money)),
      .integer(run.calls.count(.allow)),
      .integer(run.calls.count(.deny)), .integer(run.calls.count(.approvalRequired)),
      .integer(run.calls.unlisted), .init(start.startedAt), .integer(run.elapsedMicroseconds),
      .integer(run.events), .init(run.sealDigest), .text(run.status.rawValue), .init(run.error),
      .text(run.readFrom.rawValue), .integer(run.stamp.size), .integer(run.stamp.modifiedAt),
      .text(run.stamp.fingerprint),
    ]
  }
}
