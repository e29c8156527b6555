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
    var next: String? = log
    var read: [String] = []
    while let path = next, read.count < Self.depthLimit, !read.contains(path) {
      read.append(path)
      let parent = try take(path)
      next = parent.flatMap { RunTreeReader.log(of: $0, in: folder) }
      // One above that has a name of its own, or is not there, is the root, or nothing that can be asked.
      if let known = next, !Self.isThere(known) { next = nil }
    }
    if !read.contains(where: { LogFormat.plainName($0).hasSameUTF8(as: LogFormat.plainName(root)) })
    {
      _ = try take(root)
    }
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
