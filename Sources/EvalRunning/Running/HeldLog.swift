import AgentPipelines
import TraceStorage

/// What is done where another process holds the log of a run that is to go on.
enum HeldLog {
  /// Whoever looks whether a log is free, or writes to it what a person says, holds it for a moment.
  private static let (tries, intervalMilliseconds) = (40, 50)

  /// Does something with a log, and waits a little where another process holds it.
  ///
  /// - Parameter body: begins with taking the log; done anew where it could not.
  /// - Throws: as the body; `LogError` with `inUse` where the log is not free after 2 s.
  static func onceFree<Value>(_ body: () async throws -> Value) async throws -> Value {
    for _ in 0..<tries {
      do { return try await body() } catch let error as LogError where error.isInUse {
        try await Task.sleep(for: .milliseconds(intervalMilliseconds))
      }
    }
    return try await body()
  }
}

extension LogError {
  /// Whether a writer holds the log.
  var isInUse: Bool { if case .inUse = code { true } else { false } }
}

extension TaskOutcome {
  /// The attempt is the run that another process goes on with: it is no failure of it, and another attempt would do
  /// everything twice.
  ///
  /// - Throws: the error itself where it says anything else.
  static func held(_ error: LogError) throws -> TaskOutcome {
    guard error.isInUse else { throw error }
    return .waiting(
      Waiting(
        question: "its run is gone on with elsewhere; resume the pipeline afterwards: \(error)"))
  }
}
