import AgentRuntime
import FilePaths
import Glibc
import TraceStorage

/// The wish of another process that a pipeline pauses: a file beside its log, which whoever runs it looks for
/// and takes away. No signal is sent, so it reaches over a shared folder, and no process that happens to
/// have a number again.
public struct PauseRequest: Sendable {
  /// How often it is looked for.
  static let intervalMilliseconds = 100

  private let log: String

  /// - Parameter log: the log of the pipeline.
  public init(log: String) { self.log = LogFormat.plainName(log) }

  private var path: String { log + ".pause" }

  /// Whether a process writes to the log now.
  ///
  /// - Throws: ``PipelineError`` where the log is closed or not there.
  public func isRunning() throws(PipelineError) -> Bool {
    let open = log + ".open"
    let file = FilePaths.open(open, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      throw PipelineError(whyNotOpen)
    }
    defer { close(file) }
    // A lock that can be had is nobody's; it goes with the file.
    return flock(file, LOCK_EX | LOCK_NB) != 0
  }

  private var whyNotOpen: String {
    guard access(log, F_OK) == 0 else { return "there is no log \(log)" }
    guard let isPipeline = try? WaitingPipeline.isPipeline(log) else {
      return "\(log) is no run log, or its very beginning cannot be read"
    }
    return isPipeline
      ? "\(log) is closed: its pipeline does not run"
      : "\(log) is closed, and no pipeline's log: only a pipeline that runs is paused"
  }

  /// Leaves the wish.
  ///
  /// - Throws: ``PipelineError`` where it cannot be written.
  public func make() throws(PipelineError) {
    let file = FilePaths.open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw PipelineError("\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
    close(file)
  }

  /// Whether the log is closed.
  public var isClosed: Bool { access(log, F_OK) == 0 }

  /// Takes the wish back.
  public func withdraw() { unlink(path) }

  /// Looks for the wish until the task is cancelled.
  func watch(_ pausing: Cancellation) -> Task<Void, Never> {
    // What was left for an earlier process is none for this one.
    unlink(path)
    return Task { [path] in
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(Self.intervalMilliseconds))
        if access(path, F_OK) == 0 {
          unlink(path)
          pausing.cancel(signal: "pause")
          return
        }
      }
    }
  }
}
