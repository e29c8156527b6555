import FilePaths
import Glibc
import SQLite
import TraceJudging
import TraceStorage

/// A catalogue of the runs in a folder, in `.index.sqlite` there. Derived from the logs: it can be
/// deleted at any time, and built again it has the same rows.
///
/// Several processes may use one index at the same time. Every page of the file has a sum, which is
/// checked when the index is opened: one with a flipped bit is built anew.
public struct RunIndex {
  /// What a refresh found and did.
  public struct Report: Sendable, Hashable {
    /// Logs in the folder.
    public var logs = 0
    /// Logs that are new or had changed, and were read.
    public var read = 0
    /// Logs whose rows went because they are no longer there.
    public var removed = 0
    /// Logs that are damaged or could not be read.
    public var faulty = 0
    /// Records of runs of suites in the folder.
    public var suiteRuns = 0
    /// Those that are new or had changed, and were read.
    public var suiteRunsRead = 0
    /// Those whose rows went because their files are no longer there.
    public var suiteRunsRemoved = 0
    /// Those that could not be read.
    public var faultySuiteRuns = 0
    /// Why a file that stood in the index's place was moved aside; `nil` where none was.
    public var replaced: String?
  }

  /// The folder of the logs.
  public let folder: String
  /// The file of the index; `nil` where it is in memory.
  public let path: String?

  var connection: Connection
  private var replaced: String?
  /// The file that `connection` has open.
  private var identity: IndexFile.FileIdentity?

  /// Opens the index of a folder; makes it where there is none.
  ///
  /// - Throws: `FolderError` where there is no such folder; ``IndexError``.
  public init(folder: String) throws {
    try Self.check(folder)
    let path = "\(folder)/\(IndexFile.name)"
    self.folder = folder
    self.path = path
    let opened = try IndexFile.open(path)
    (connection, replaced) = (opened.connection, opened.replaced)
    identity = IndexFile.FileIdentity(path)
  }

  /// An index of a folder in memory, where nothing can be kept. Every log is read.
  ///
  /// - Throws: `FolderError` where the folder cannot be read; what SQLite throws.
  public init(inMemoryFor folder: String) throws {
    try Self.check(folder)
    self.folder = folder
    path = nil
    connection = try IndexFile.inMemory()
  }

  private static func check(_ folder: String) throws(FolderError) {
    guard let info = fileStatus(folder) else { throw FolderError(path: folder, errno: errno) }
    guard info.isFolder else {
      throw FolderError(path: folder, errno: ENOTDIR)
    }
  }

  // MARK: Refreshing

  /// Runs whose rows go in together.
  private static let batchRuns = 512
  /// Calls after which a batch goes in, so that few are held in memory.
  private static let batchCalls = 100_000

  /// Makes the index say what the logs say: reads the new and the changed, forgets the removed.
  ///
  /// - Parameters:
  ///   - fromSummary: whether the ends of a log suffice where they say everything. Otherwise bodies
  ///     are read, also those of logs whose rows came from a summary.
  ///   - progress: told how many of how many logs are done.
  /// - Throws: `FolderError`, ``IndexError``. A log that cannot be read is a row that says why.
  public mutating func refresh(
    fromSummary: Bool = true, progress: (_ done: Int, _ of: Int) -> Void = { _, _ in }
  ) throws -> Report {
    var roundsLeft = 8
    while true {
      roundsLeft -= 1
      do {
        return try refreshOnce(fromSummary: fromSummary, progress: progress)
      } catch let error as SQLiteError {
        guard let path, roundsLeft > 0,
          IndexFile.isDamage(error, of: path) || IndexFile.hasMoved(error)
            || IndexFile.mayHaveMoved(error)
        else { throw IndexError(error, path: path ?? "the index in memory") }
        // Not closed here: a copy of this index may still have it. It closes with the last of them.
        if IndexFile.mayHaveMoved(error) {
          // Whoever moves it may be at it still.
          usleep(50_000)
        } else if IndexFile.isDamage(error, of: path) {
          try IndexFile.setAside(path, identity)
          replaced = "it was damaged"
        }
        try open(path)
      }
    }
  }

  private mutating func open(_ path: String) throws(IndexError) {
    let opened = try IndexFile.open(path)
    connection = opened.connection
    identity = IndexFile.FileIdentity(path)
    replaced = opened.replaced ?? replaced
  }

  private func refreshOnce(
    fromSummary: Bool, progress: (Int, Int) -> Void
  ) throws -> Report {
    // First the rows, then the folder: a row that another process adds in between is not missed.
    let known = try connection.read(Self.stamps)
    let knownSuiteRuns = try connection.read(Self.suiteRunStamps)
    let files = try LogFiles.all(
      below: folder, endings: LogFiles.endings + [SuiteRecord.fileSuffix])
    let isRecord = { (path: String) in path.hasSuffix(SuiteRecord.fileSuffix) }
    let logs = files.filter { !isRecord($0) }
    var report = Report(logs: logs.count, replaced: replaced)
    var seen: Set<ExactText> = []
    seen.reserveCapacity(logs.count)
    var batch: [IndexedRun] = []
    var calls = 0
    for (index, log) in logs.enumerated() {
      let path = relative(log)
      seen.insert(ExactText(path))
      if let row = known[ExactText(path)], fromSummary || row.readFrom != "summary",
        let stamp = try? FileStamp(path: log), stamp == row.stamp
      {
        continue
      }
      let run = IndexedRun.read(path, at: log, fromSummary: fromSummary)
      calls += run.calls.count
      batch.append(run)
      report.read += 1
      if batch.count >= Self.batchRuns || calls >= Self.batchCalls {
        try put(batch)
        (batch, calls) = ([], 0)
      }
      progress(index + 1, logs.count)
    }
    try put(batch)
    report.removed = try remove(known.keys.filter { !seen.contains($0) })
    try refresh(files.filter(isRecord), known: knownSuiteRuns, &report)
    report.faulty = try count("runs", where: "status IN ('damaged', 'unreadable')")
    return report
  }

  /// How many rows of a table fulfil a condition.
  func count(_ table: String, where condition: String) throws -> Int {
    try connection.read { connection in
      try connection.value(
        "SELECT count(*) FROM \(table) WHERE \(condition)", to: "count \(table)")?.integer ?? 0
    }
  }

  func relative(_ log: String) -> String {
    String(decoding: log.utf8.dropFirst(folder.utf8.count + 1), as: UTF8.self)
  }

  private func put(_ runs: [IndexedRun]) throws {
    guard !runs.isEmpty else { return }
    try connection.write { connection in
      let writer = try IndexWriter(connection)
      for run in runs { try writer.put(run) }
    }
  }

  /// Forgets logs that are not there. Looked at once more while nobody else can write: another
  /// process may have put in one that came back.
  private func remove(_ paths: [ExactText]) throws -> Int {
    try forget(paths) { try $0.remove($1) }
  }

  /// Forgets the files of these paths that are not there, and counts them.
  func forget(
    _ paths: [ExactText], _ remove: (_ writer: IndexWriter, _ path: String) throws -> Void
  ) throws -> Int {
    guard !paths.isEmpty else { return 0 }
    return try connection.write { connection in
      let writer = try IndexWriter(connection)
      var removed = 0
      for path in paths {
        guard linkStatus("\(folder)/\(path.text)") == nil else { continue }
        try remove(writer, path.text)
        removed += 1
      }
      return removed
    }
  }

  // MARK: What is known

  struct Known {
    var stamp: FileStamp
    var readFrom: String
    var caseId: String?
    /// Whether the first event was read.
    var hasStart: Bool
    /// Whether it is a call of another run, or a task of a pipeline.
    var isPart = false
  }

  static func stamps(_ connection: Connection) throws -> [ExactText: Known] {
    var known: [ExactText: Known] = [:]
    let statement = try Statement(
      connection,
      """
      SELECT path, fileSize, modifiedAt, fingerprint, readFrom, caseId, runId IS NOT NULL,
        depth > 0 FROM runs
      """, to: "read which logs are known")
    try statement.rows([]) { row in
      known[ExactText(row.text(0) ?? "")] = Known(
        stamp: FileStamp(
          size: row.integer(1) ?? 0, modifiedAt: row.integer(2) ?? 0,
          fingerprint: row.text(3) ?? ""),
        readFrom: row.text(4) ?? "", caseId: row.text(5), hasStart: row.integer(6) == 1,
        isPart: row.integer(7) == 1)
      return true
    }
    return known
  }
}
