public import AgentRuntime
import AgentTrace
public import EvalLoading
import TraceStorage

/// What is withheld of what a person says to a run: whatever its file says, and those of the runs above it, as their logs
/// have it. Who approves needs none of these files.
public struct SaidWithholding: Sendable {
  /// What they say.
  public private(set) var recorded = RecordedRedaction()
  /// The logs that do not say it whole, so that their files have to be asked.
  public private(set) var unknown: [String] = []

  /// Reads the logs.
  ///
  /// - Parameters:
  ///   - log: of the run that is spoken to.
  ///   - root: the log that was named for it, whatever its name; that of the run itself, or of one above it.
  /// - Throws: `LogError` where the log cannot be read.
  /// - Complexity: reads each log once.
  public init(log: String, root: String) throws {
    let folder = RunTreeReader.folder(ofLog: log)
    let isRoot = LogFormat.plainName(log).hasSameUTF8(as: LogFormat.plainName(root))
    var next: String? = log
    var read: [String] = []
    while let path = next, read.count < Self.depthLimit, !read.contains(path) {
      read.append(path)
      let parent = try take(path)
      // Whoever names one above has that read, whatever its name.
      next = parent.flatMap {
        isRoot
          ? LogFiles.logs(ofRun: $0, in: [folder]).first : RunTreeReader.log(of: $0, in: folder)
      }
      if let known = next, !Self.isThere(known) { next = nil }
    }
    if !read.contains(where: { LogFormat.plainName($0).hasSameUTF8(as: LogFormat.plainName(root)) })
    {
      _ = try take(root)
    }
  }

  /// Nothing, not even credentials.
  private init() { recorded.settings.findsCredentials = false }

  /// What is withheld from a run's log by those that called it, besides what its own file says.
  ///
  /// - Returns: nothing of a run that nobody called; `nil` where the log of one that leads to it is not in its folder.
  /// - Throws: `LogError` where one of the logs cannot be read.
  /// - Complexity: reads the log of each; where one does not have the name of its run, the first event of each log in
  ///   the folder.
  public static func above(_ log: String) throws -> SaidWithholding? {
    let folder = RunTreeReader.folder(ofLog: log)
    var withholding = SaidWithholding()
    var (next, depth) = (try caller(of: log), 0)
    while let runId = next, depth < depthLimit {
      guard let path = LogFiles.logs(ofRun: runId, in: [folder]).first else { return nil }
      _ = try withholding.take(path)
      (next, depth) = (try caller(of: path), depth + 1)
    }
    return withholding
  }

  /// The run whose call a run is; `nil` where it is none.
  private static func caller(of log: String) throws -> String? {
    var reader = try LogReader(path: log)
    let parent = try reader.next()?.data["parent"]
    return ParentRun.isCall(parent) ? parent?["runId"]?.stringValue : nil
  }

  private static let depthLimit = 64

  private static func isThere(_ path: String) -> Bool {
    (try? WaitingPipeline.isPipeline(path)) != nil
  }

  /// Takes in what a log says; returns the run above it.
  private mutating func take(_ path: String) throws -> String? {
    var reader = try LogReader(path: path)
    var parent: String?
    var own = RecordedRedaction()
    own.settings.findsCredentials = recorded.settings.findsCredentials
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head, type == .runStarted || type == .runResumed,
        let event = try reader.event(withOnly: ["inputs", "parent"])
      else { continue }
      if let runId = event.data["parent"]?["runId"]?.stringValue { parent = runId }
      own.take(inputs: event.data["inputs"]?.objectValue ?? [:])
    }
    recorded.take(own.settings)
    recorded.variables.formUnion(own.variables)
    if !own.isWhole { unknown.append(path) }
    return parent
  }

  /// Takes in what the file of a run says.
  public mutating func take(_ settings: RedactionSettings) { recorded.take(settings) }
}
