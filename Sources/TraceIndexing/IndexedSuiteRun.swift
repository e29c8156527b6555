import AgentTrace
import SQLite
import TraceJudging
import TraceStorage

/// A row of `suiteRuns` with its rows of `outcomes`.
struct IndexedSuiteRun {
  var path: String
  var stamp: FileStamp
  /// `nil` where the file could not be read.
  var record: SuiteRecord?
  /// Why.
  var fault: String?

  /// Reads the file of a record. Whatever is wrong with it is in the row; nothing is thrown.
  ///
  /// - Parameters:
  ///   - path: relative to the folder.
  ///   - fullPath: where the file is.
  static func read(_ path: String, at fullPath: String) -> IndexedSuiteRun {
    var run = IndexedSuiteRun(path: path, stamp: .absent)
    do {
      run.stamp = try FileStamp(path: fullPath)
      let bytes = try WholeFile.read(fullPath, limitBytes: SuiteRecord.limitBytes)
      var record = try SuiteRecord(decoding: try JSONValue(parsing: bytes))
      guard let startedAt = IndexText.instant(record.startedAt) else {
        throw ResultsError(place: "startedAt", reason: "no time in UTC, YYYY-MM-DDTHH:MM:SSZ")
      }
      record.startedAt = startedAt
      run.record = record
    } catch let fault as FileStamp.Fault {
      run.fault = "\(path): \(fault.phrase)"
    } catch {
      run.fault = IndexText.name("\(path): \(error)")
    }
    return run
  }

  /// In the order of the columns of `suiteRuns`.
  var values: [Value] {
    func count(_ outcome: CaseOutcome) -> Value {
      .integer(record?.cases.count { $0.outcome == outcome } ?? 0)
    }
    return [
      .text(path), .init(record?.startedAt), .integer(record?.elapsedMicroseconds ?? 0),
      .init(record?.commit.map(IndexText.name)), .init(record?.branch.map(IndexText.name)),
      .init(record.map { IndexText.name($0.program) }), count(.pass), count(.fail),
      count(.inconclusive), count(.error), .integer(record?.skipped.count ?? 0), .init(fault),
      .integer(stamp.size), .integer(stamp.modifiedAt), .text(stamp.fingerprint),
    ]
  }

  /// In the order of the columns of `outcomes`.
  func values(of record: CaseRecord, _ n: Int) -> [Value] {
    func count(_ outcome: CaseOutcome) -> Value {
      .integer(record.trials.count { $0 == outcome })
    }
    func name(_ text: String?) -> Value { .init(text.map(IndexText.name)) }
    let (check, usage) = (record.decisive, record.usage)
    return [
      .text(path), .integer(n), .text(IndexText.name(record.caseId)),
      .text(record.outcome.rawValue), .integer(record.isLive ? 1 : 0),
      .integer(record.isSafety ? 1 : 0), .init(record.passThreshold), count(.pass), count(.fail),
      count(.inconclusive), count(.error), .text(String(record.trials.map(\.letter))),
      .integer(record.isFlaky ? 1 : 0), name(check?.expectation), name(check?.message),
      .integer(record.failedChecks), .integer(record.warnedChecks), name(record.error),
      .init(usage?.runs), .init(usage?.steps), .init(usage?.toolCalls), .init(usage?.inputTokens),
      .init(usage?.outputTokens), .init(usage?.cost), .init(usage?.elapsedMicroseconds),
      name(record.agent), name(record.model), name(record.subject), name(record.asked),
      name(record.cluster),
    ]
  }
}

extension CaseOutcome {
  /// What stands for it in `outcomes.trials`.
  var letter: Character {
    switch self {
    case .pass: "p"
    case .fail: "f"
    case .inconclusive: "i"
    case .error: "e"
    }
  }

  /// The outcome that a letter stands for.
  init?(letter: Character) {
    guard let outcome = Self.allCases.first(where: { $0.letter == letter }) else { return nil }
    self = outcome
  }
}

extension RunIndex {
  /// Suite runs whose rows go in together.
  private static let batchSuiteRuns = 16

  /// Makes the index say what the records of a folder say.
  func refresh(
    _ files: [String], known: [ExactText: FileStamp], _ report: inout Report
  ) throws {
    report.suiteRuns = files.count
    var seen: Set<ExactText> = []
    var batch: [IndexedSuiteRun] = []
    func put() throws {
      guard !batch.isEmpty else { return }
      try connection.write { connection in
        let writer = try IndexWriter(connection)
        for run in batch { try writer.put(run) }
      }
      batch = []
    }
    for file in files {
      let path = relative(file)
      seen.insert(ExactText(path))
      if let stamp = known[ExactText(path)], stamp == (try? FileStamp(path: file)) { continue }
      batch.append(IndexedSuiteRun.read(path, at: file))
      report.suiteRunsRead += 1
      if batch.count >= Self.batchSuiteRuns { try put() }
    }
    try put()
    report.suiteRunsRemoved = try removeSuiteRuns(known.keys.filter { !seen.contains($0) })
    report.faultySuiteRuns = try count("suiteRuns", where: "fault IS NOT NULL")
  }

  /// Forgets records that are not there; looked at once more, as for logs.
  private func removeSuiteRuns(_ paths: [ExactText]) throws -> Int {
    try forget(paths) { try $0.removeSuiteRun($1) }
  }
}
