import AgentRuntime
import AgentTrace
import EvalRunning
import FilePaths
import LiveBoundary
import TraceStorage

/// Agents that are commands, run behind the recording proxy.
enum CommandRuns {
  /// - Parameter durability: what a log survives.
  static func runner(durability: LogWriter.Durability = .process) -> CommandRunner {
    { agent, request in
      #if Live
        let runId = RandomRunIDs().next()
        var start = Runtime.Start(goal: .string(request.input), runId: runId)
        start.caseId = request.caseId
        start.trial = request.trial
        start.tags = request.tags
        let path = request.files.path(of: request.caseId ?? agent.name, runId: runId)
        try LogPlace.check(path)
        let ending = try await CommandAgentRun(agent, person: request.person).run(
          start, input: request.input, until: request.cancellation
        ) {
          try ObservedLog(
            LogWriter(creating: path, options: .init(durability: durability)),
            stays: { request.willRecord(path) }, observe: request.observe)
        }
        return CommandRecording(
          log: ending.log, isSuccess: ending.stop == .success, errors: ending.errors)
      #else
        throw LiveBuildMissing()
      #endif
    }
  }
}

#if Live
  /// Where the log of a command is to be.
  enum LogPlace {
    /// Makes the log and takes it away again. The proxy makes it once there is something to record, and by then the
    /// command has done what nothing would tell of.
    ///
    /// - Throws: `LogError` where the log could not be made: its folder cannot be written to, a log of its name is
    ///   there.
    static func check(_ path: String) throws(LogError) {
      _ = try LogWriter(creating: path)
      unlink(path + LogFormat.openSuffix)
    }
  }

  /// A log that somebody looks at while it is written.
  final class ObservedLog: ClosableSink {
    private let writer: LogWriter
    private let stays: @Sendable () -> Void
    private let observe: @Sendable (Event) -> Void
    /// What may be taken back; `nil` once all of it stays.
    private var unsettled: [Event]? = []

    /// - Parameter stays: is told once nothing of it may be taken back any more.
    init(
      _ writer: LogWriter, stays: @escaping @Sendable () -> Void,
      observe: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
      self.writer = writer
      self.stays = stays
      self.observe = observe
    }

    func append(_ event: Event, isEffectAhead: Bool) throws {
      try writer.append(event, isEffectAhead: isEffectAhead)
      if unsettled?.append(event) == nil { observe(event) }
    }

    func settle() {
      for event in unsettled ?? [] { observe(event) }
      unsettled = nil
      stays()
    }

    func takeBack() { writer.discard() }

    func closeLog() throws -> String { try writer.close().path }
  }
#else
  /// Every verb hands over to the other build before it comes to this.
  private struct LiveBuildMissing: Error, CustomStringConvertible {
    var description: String { "this build has no HTTP stack, which the proxy of commands needs" }
  }
#endif
