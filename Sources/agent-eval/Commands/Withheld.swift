import AgentRuntime
import EvalLoading
import EvalRunning
import LiveBoundary
import TraceReporting

/// What is withheld from what is written to the log of a recorded run.
struct Withheld {
  var secrets: RunSecrets
  var redaction: RedactionSettings

  /// Of what a person says.
  ///
  /// - Parameters:
  ///   - log: of the run that is spoken to.
  ///   - root: the log that was named.
  /// - Throws: where a log does not say all that is withheld, and its file is not below this folder.
  init(to log: String, below root: String) throws {
    try self.init(SaidWithholding(log: log, root: root))
  }

  /// Of what a run goes on with by itself: what those that called it withhold from its log, besides what its own file
  /// says.
  ///
  /// - Throws: as ``init(to:below:)``.
  init(fromAbove log: String) throws {
    guard let above = try SaidWithholding.above(log) else {
      Output.error(
        "note: \(Visible.line(log)): the log of the run that called this one is not beside it, "
          + "so that what that one withholds is not known here.")
      self.init(secrets: RunSecrets(), redaction: RedactionSettings(findsCredentials: false))
      return
    }
    try self.init(above)
  }

  private init(secrets: RunSecrets, redaction: RedactionSettings) {
    (self.secrets, self.redaction) = (secrets, redaction)
  }

  private init(_ withholding: SaidWithholding) throws {
    var withholding = withholding
    for log in withholding.unknown {
      if try WaitingPipeline.isPipeline(log) {
        withholding.take(try PipelineRuns.load(of: log, file: nil).0.redaction)
      } else {
        withholding.take(
          try RecordedAgent.load(of: log, agent: nil, policy: nil, notesPolicy: false).agent
            .redaction)
      }
    }
    redaction = withholding.recorded.settings
    secrets = .inEnvironment(naming: withholding.recorded.variables)
  }
}
