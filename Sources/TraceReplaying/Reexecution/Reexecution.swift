public import AgentRuntime
import AgentTrace

/// A recorded run made again: by the real loop, with an agent and a policy of today, on the recorded
/// answers. No model is asked and no tool is started.
///
/// Compared are type, step and data of each event, without times, latencies, what models used, and
/// digests; calls and results of one decision by their call ids, in whatever order. A run that failed
/// and fails again in the same way is faithful.
public struct Reexecution: Sendable {
  /// The log, as the caller named it.
  public let path: String
  /// The recorded run's identifier.
  public let runId: String
  /// The name of the recorded run's agent.
  public let agentName: String
  /// How many recorded events were made again.
  public let made: Int
  /// How the recording ends, as far as it was read.
  public let ending: RecordingEnd
  /// The first difference; `nil` where every recorded event was made again, and none more.
  public let divergence: Divergence?

  /// Whether every recorded event was made again, and none more.
  public var isFaithful: Bool { divergence == nil }
}

extension Reexecution {
  /// Makes a run again.
  ///
  /// Where the agent file is byte for byte the recorded one, whom the run acts for and what it may use
  /// are taken from the log: they were said on the command line then.
  ///
  /// - Throws: `LogError` where the log cannot be read or is damaged before the first difference,
  ///   ``RecordingError`` where no run can be made from it, `ToolRegistry.RegistryError` where the
  ///   agent's tools cannot be used.
  /// - Complexity: linear in the log; memory as ``RecordedSteps``.
  public init(of path: String, with agent: AgentDefinition) async throws {
    let boundary = try ReplayingBoundary(path: path)
    let started = boundary.steps.started
    let files = RecordedFiles(started: started, agent: agent)
    var agent = agent
    if files.isAgentSame {
      agent.policyContext = started.policyContext
      agent.limits = started.limits
    }
    agent.leaveOut(asForkedFrom: started.parent)
    let redactor = try Redactor(recalling: path, of: agent, values: .recorded)
    let sink = ComparingSink(boundary)
    var difference: ComparingSink.Difference?
    var ending: RecordingEnd?
    do {
      _ = try await Runtime(agent: agent, boundary: boundary, redactor: redactor).run(
        boundary.start, into: sink, observe: boundary.follow)
      difference = try sink.rest()
      if difference == nil, let more = try boundary.steps.eventBehindStop() {
        if more.type == .runResumed {
          ending = .resumed(more.seq)
        } else {
          difference = ComparingSink.Difference(recorded: more, made: sink.made)
        }
      }
    } catch ComparingSink.Interruption.diverged(let found) {
      difference = found
    } catch ComparingSink.Interruption.endOfRecording {
      if let failure = boundary.failure { throw failure }
    }
    self.path = path
    runId = boundary.steps.runId
    agentName = started.agentName
    made = sink.made
    self.ending = ending ?? boundary.steps.ending ?? .stop
    agent = agent.redacted(by: redactor)
    divergence = difference.map {
      Divergence($0, Explanation(difference: $0, started: started, agent: agent, files: files))
    }
  }
}

extension Divergence {
  init(_ difference: ComparingSink.Difference, _ explanation: Explanation) {
    step = (difference.recorded ?? difference.now)?.step ?? difference.asked?.step ?? 0
    seq = difference.recorded?.seq ?? difference.made
    cause = explanation.cause
    input = explanation.input
    recorded = difference.recorded.map(Happening.init)
    now = difference.now.map(Happening.init) ?? difference.asked.map(Happening.init)
    if let recorded = difference.recorded, let now = difference.now {
      let differing = DifferingFields(recorded: recorded, now: now)
      fields = differing.fields
      fieldCount = differing.count
    } else {
      fields = []
      fieldCount = 0
    }
  }
}

/// Whether agent file and policy are, byte for byte, those that a run was recorded with.
struct RecordedFiles {
  var isAgentSame: Bool
  var isPolicySame: Bool

  init(started: RunStarted, agent: AgentDefinition) {
    isAgentSame = Self.areSame(started.agentDigest, agent.digest)
    switch (started.policyDigest, agent.policy.digest) {
    case (nil, nil): isPolicySame = isAgentSame  // It stands in the agent file.
    case (let recorded, let now): isPolicySame = Self.areSame(recorded, now)
    }
  }

  /// What has no digest is not known to be the same.
  private static func areSame(_ recorded: String?, _ now: String?) -> Bool {
    guard let recorded, let now else { return false }
    return recorded.hasSameUTF8(as: now)
  }
}
