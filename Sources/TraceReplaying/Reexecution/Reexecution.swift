public import AgentRuntime
import AgentTrace
import TraceStorage

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
  /// What the log says of its run, in digests of states and in what events say of earlier ones, is held
  /// against its events besides; see `LogReader.contradiction`.
  ///
  /// - Throws: `CancellationError` where its task was cancelled,
  ///   `LogError` where the log cannot be read, or is damaged or contradicts itself before the first
  ///   difference,
  ///   ``RecordingError`` where no run can be made from it, `ToolRegistry.RegistryError` where the
  ///   agent's tools cannot be used.
  /// - Complexity: linear in the log; memory as ``RecordedSteps``.
  public init(of path: String, with agent: AgentDefinition) async throws {
    let steps = try RecordedSteps(path: path, provesStates: true)
    let started = steps.started
    let files = RecordedFiles(started: started, agent: agent)
    var agent = agent
    if files.isAgentSame {
      agent.policyContext = started.policyContext
      agent.limits = started.limits
    }
    agent.leaveOut(asForkedFrom: started.parent)
    agent.takeOver(personOf: started)
    var session = Session(agent: agent, steps: steps)
    while try await session.makeAgain(), try session.takeBreak() {}
    let difference = session.difference
    self.path = path
    runId = steps.runId
    agentName = started.agentName
    made = session.made
    ending = steps.ending ?? .stop
    divergence = difference.map {
      Divergence(
        $0,
        Explanation(
          difference: $0, started: started, agent: agent.redacted(by: session.redactor),
          files: files))
    }
  }
}

extension AgentDefinition {
  /// Takes the person over that a run was given from elsewhere than the agent file, as its log has them:
  /// their model only answers from it.
  mutating func takeOver(personOf started: RunStarted) {
    guard started.origins["human"] != nil else { return }
    human = human ?? ScriptedPerson()
    human?.model = SimulatedPerson(recorded: started.models)
  }
}

/// A run made again, session by session: each goes on from what the log says was before it, as it did
/// when it was lived.
private struct Session {
  let agent: AgentDefinition
  let steps: RecordedSteps
  /// Of the last session: each had a key of its own, if nobody gave one.
  private(set) var redactor: Redactor
  /// How many recorded events were made again.
  private(set) var made = 0
  private(set) var difference: ComparingSink.Difference?
  /// What the run was when this session began; `nil` for the first.
  private var past: PastReader?
  /// Whether this session is what a fork made of a call that its parent left open.
  private var isFork = false

  init(agent: AgentDefinition, steps: RecordedSteps) {
    self.agent = agent
    self.steps = steps
    redactor = Redactor(agent.redaction, values: .recorded)
  }

  /// Makes the events of this session; says whether they are as recorded.
  mutating func makeAgain() async throws -> Bool {
    let boundary = ReplayingBoundary(steps, after: past?.past, person: agent.human?.model)
    redactor = Redactor(agent.redaction, values: .recorded)
    let runtime = try Runtime(agent: agent, boundary: boundary, redactor: redactor)
    let sink = ComparingSink(boundary, redactor)
    defer { made = sink.made }
    do {
      if let past = past?.past {
        _ = try await runtime.goOn(from: past, continuation, into: sink, observe: boundary.follow)
      } else {
        _ = try await runtime.run(
          boundary.start, continuation, into: sink, observe: boundary.follow)
      }
      difference = try sink.rest()
    } catch ComparingSink.Interruption.diverged(let found) {
      difference = found
    } catch ComparingSink.Interruption.endOfRecording {
      if let failure = boundary.failure { throw failure }
    }
    // The run hears of its task's cancelling, as one that was recorded did not: no difference of theirs.
    try Task.checkCancellation()
    try prove(through: sink.made)
    return difference == nil
  }

  /// What was made again as it was recorded, and yet is not what the log itself says its events come to,
  /// was changed behind the runtime's back: no run is faithful to it.
  private func prove(through made: Int) throws {
    if let found = steps.contradiction, found.seq < made { throw found.error }
  }

  /// A fork asks again about what its parent did later, which is known from its log alone.
  private var continuation: Continuation {
    guard steps.started.parent?.relation == "fork" else { return Continuation() }
    let steps = steps
    guard isFork else {
      return Continuation(asksAgain: { call, _ in
        steps.current?.reasonAskedAgain(ofCall: call.callId)
      })
    }
    return Continuation(
      unfinished: { call, _ in
        steps.current?.wasHeldAgain(call.callId) ?? false ? .askAgain : .runAgain
      },
      asksAgain: { call, _ in
        guard let step = steps.current else { return nil }
        let isHeld = step.wasHeldAgain(call.callId)
        return step.reasonAskedAgain(ofCall: call.callId) ?? (isHeld ? "as it was asked" : nil)
      })
  }

  /// Takes over what stands behind the session, which nobody makes: what people said meanwhile, and
  /// that the run went on. Says whether it did.
  mutating func takeBreak() throws -> Bool {
    guard let found = try steps.openNextSession() else {
      difference = steps.stray.map { ComparingSink.Difference(recorded: $0, made: made) }
      return false
    }
    made += found.events.count
    try prove(through: made)
    guard found.goesOn else { return false }
    isFork = found.isFork
    var reader = try past ?? PastReader(path: steps.path, agent: agent)
    try reader.read(through: made - 1)
    past = reader
    return true
  }
}

/// Folds the events of a log into what a run was, as far as it is asked to.
private struct PastReader {
  private(set) var past: RunPast
  private var reader: LogReader
  private let path: String

  init(path: String, agent: AgentDefinition) throws {
    past = RunPast(for: agent)
    reader = try LogReader(path: path)
    self.path = path
  }

  mutating func read(through seq: Int) throws {
    while past.nextSeq <= seq, let event = try reader.next() {
      do { try past.take(event) } catch {
        throw RecordingError(
          code: .unreadable(seq: event.seq, type: event.type.rawValue, error), path: path)
      }
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
