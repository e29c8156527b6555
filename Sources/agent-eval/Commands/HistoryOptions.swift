import AgentTrace
import ArgumentParser
import EvalRunning
import Glibc
import TraceIndexing
import TraceJudging
import TraceReporting

/// The options that say where outcomes are kept to be looked back on.
struct HistoryOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Keep the outcomes in a file of their own in this folder, for `history`; a page (--report html) \
      then shows the cases over time.
      """, valueName: "dir"), completion: .directory)
  var history: String?

  @Option(
    help: """
      With --history: the commit that is judged. Default: what CI says, else the working tree of git.
      """)
  var commit: String?

  @Option(help: "With --history: its branch. Default: likewise.")
  var branch: String?

  /// What they say.
  var request: HistoryRequest {
    HistoryRequest(folder: history, commit: commit, branch: branch)
  }

  func validate() throws { try request.validate() }
}

/// Where outcomes are kept, and for which commit.
struct HistoryRequest: Hashable {
  var folder: String?
  var commit: String?
  var branch: String?

  func validate() throws {
    guard let folder else {
      guard commit == nil, branch == nil else {
        throw ValidationError("--commit and --branch go with --history.")
      }
      return
    }
    guard !folder.isEmpty else {
      throw ValidationError("--history takes a folder, and here it is empty.")
    }
    try OutputOption.checkMeaning(folder)
    for (name, text) in [("--commit", commit), ("--branch", branch)] {
      guard let text else { continue }
      guard (1...200).contains(text.utf8.count) else {
        throw ValidationError("\(name) takes 1 to 200 bytes.")
      }
    }
  }

  /// The commit and the branch: what was said, else what CI says, else the working tree.
  private var origin: CommitOrigin {
    var origin = CommitOrigin { name in getenv(name).map { String(cString: $0) } }
    if origin.commit == nil { origin = CommitOrigin(workingTree: ReportContext.here.folder) }
    if let commit {
      // A branch that was found belongs to the commit that was found.
      if origin.commit.map({ !$0.hasSameUTF8(as: commit) }) ?? true { origin.branch = nil }
      origin.commit = commit
    }
    if let branch { origin.branch = branch }
    return origin
  }

  /// Keeps what became of cases.
  ///
  /// - Returns: What became of them before, with what was kept now; `nil` where it cannot be read.
  func keep(
    _ results: EvalResults, since start: SuiteStart, isLive: (String) -> Bool,
    asked: (String) -> String? = { _ in nil }
  ) throws -> SuiteHistory? {
    guard let folder else { return nil }
    var record = SuiteRecord(startedAt: start.text)
    record.elapsedMicroseconds = start.elapsedMicroseconds
    (record.commit, record.branch) = (origin.commit, origin.branch)
    record.program = AgentEval.configuration.version
    record.take(results, isLive: isLive, asked: asked, facts: RunFacts.init(log:))
    let file = try HistoryFolder(folder).keep(record)
    Output.error(
      Visible.line("kept: \(file), commit \(record.commit ?? "unknown")", width: 4_200))
    let (index, _) = try Indexing.refreshed(folder)
    var filter = HistoryFilter()
    filter.last = History.mostRunsOnPage
    return try index.history(filter)
  }
}

/// When a suite began.
struct SuiteStart {
  private let wall: timespec
  private let moment = ContinuousClock.now

  init() {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    wall = now
  }

  /// `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
  var text: String {
    UTC.text(microsecondsSince1970: wall.tv_sec * 1_000_000 + wall.tv_nsec / 1_000)
  }

  var elapsedMicroseconds: Int {
    let parts = (ContinuousClock.now - moment).components
    return Int(parts.seconds) * 1_000_000 + Int(parts.attoseconds / 1_000_000_000_000)
  }
}
