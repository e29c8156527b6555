public import AgentRuntime
public import AgentTrace
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
  /// What was not made again but taken as the log has it: parts that other files made.
  public let takenOver: [TakenOver]
  /// The first difference; `nil` where every recorded event was made again, and none more.
  public let divergence: Divergence?

  /// Whether every recorded event was made again, and none more.
  public var isFaithful: Bool { divergence == nil }
}

extension Reexecution {
  /// A part of a run that was taken as the log has it, because it was made with other files.
  public struct TakenOver: Sendable, Hashable {
    /// Its first event and its last one.
    public var events: ClosedRange<Int>
    /// Of the agent file that made it; `nil` where that is not known.
    public var agentDigest: String?
    /// Of the policy file that made it; `nil` where there was none.
    public var policyDigest: String?
  }

  /// Puts inputs of one of the agents, told by its place, back to what they were; `nil` where that cannot
  /// be done.
  public typealias Restoring =
    @Sendable (_ agent: Int, _ changes: [ChangedInput]) ->
    AgentDefinition?

  /// Makes a run again with one agent; see `init(of:with:goal:restoring:)-([AgentDefinition],_,_,_)`.
  public init(
    of path: String, with agent: AgentDefinition, goal: JSONValue? = nil,
    restoring: Restoring? = nil
  ) async throws {
    try await self.init(of: path, with: [agent], goal: goal, restoring: restoring)
  }

  /// Makes a run again.
  ///
  /// Each part of a run that was forked or resumed with other files is made again with the agent among
  /// those given whose files are, byte for byte, those that made it. One that none of them made is made
  /// with the last of them, or taken as the log has it (``takenOver``) where other files went on behind it.
  /// What the log says came from elsewhere than the agent file, whom the run acts for and what it may use,
  /// is taken from the log, unless the agent says that it was said anew (`AgentDefinition.origins`).
  ///
  /// What the log says of its run, in digests of states and in what events say of earlier ones, is held
  /// against its events besides; see `LogReader.contradiction`.
  ///
  /// - Parameters:
  ///   - path: The log; where only `….open` is there, that is read.
  ///   - agents: Those that may have made a part of the run; the last makes what none of them made.
  ///   - goal: What the run's case asks for today; `nil` to take the goal from the log, or from an agent
  ///     file that has one.
  ///   - restoring: Where it is given, what explains a difference is found by putting what has
  ///     changed back, one thing at a time, until the first difference is another or none.
  /// - Throws: `CancellationError` where its task was cancelled,
  ///   `LogError` where the log cannot be read, or is damaged or contradicts itself before the first
  ///   difference,
  ///   ``RecordingError`` where no run can be made from it, `ToolRegistry.RegistryError` where the
  ///   agent's tools cannot be used.
  /// - Complexity: linear in the log, which is read twice; for an explanation as often again as inputs
  ///   have changed, up to `InputProbe.limit` times. Memory as ``RecordedSteps``.
  public init(
    of path: String, with agents: [AgentDefinition], goal: JSONValue? = nil,
    restoring: Restoring? = nil
  ) async throws {
    let steps = try RecordedSteps(path: path, provesStates: true)
    var session = Session(agents: agents, goal: goal, steps: steps)
    try await session.makeAll()
    self.path = path
    runId = steps.runId
    agentName = steps.started.agentName
    made = session.made
    ending = steps.ending ?? .stop
    takenOver = session.takenOver
    var divergence = session.divergence
    if divergence != nil, let restoring {
      divergence = try await InputProbe(
        path: path, agents: agents, goal: goal, restoring: restoring
      ).explained(session)
    }
    self.divergence = divergence
  }
}

/// Finds which of the inputs that have changed makes a difference.
struct InputProbe {
  let path: String
  let agents: [AgentDefinition]
  let goal: JSONValue?
  let restoring: Reexecution.Restoring

  /// How often a run is made again for an explanation.
  static let limit = 64

  /// The difference of a session with what explains it.
  fileprivate func explained(_ session: Session) async throws -> Divergence? {
    guard var found = session.divergence, let agent = session.agent else { return nil }
    found.changes = ChangedInput.all(
      between: session.part, of: session.steps.started, and: agent, session.redactor)
    if let goal, goal != session.steps.started.goal {
      found.changes.insert(
        ChangedInput(
          path: ChangedInput.caseInput, recorded: session.steps.started.goal, now: goal), at: 0)
    }
    guard !found.changes.isEmpty else {
      // Every input is as it was: only how the files are written differs, but for files of prompts, of which a log
      // holds the digests alone.
      if found.cause != .tool,
        !(found.cause == .context && RecordedFiles(session.part, agent).areSame),
        !session.part.inputs.isEmpty, !agent.source.isEmpty
      {
        (found.cause, found.input) = (.code, nil)
      }
      return found
    }
    guard let change = try await cause(among: found.changes, of: found, session.agentIndex) else {
      return found
    }
    // What is said of the event itself says more, where it speaks of the same.
    let input = change.input
    let isSame =
      found.cause == change.cause && found.input?.kind == input.kind
      && found.input?.name.hasSameUTF8(as: input.name) == true
    if !isSame { (found.cause, found.input) = (change.cause, input) }
    return found
  }

  /// The change without which the first difference is another one; where none is so by itself, the last of
  /// those that have to be put back together.
  private func cause(
    among changes: [ChangedInput], of found: Divergence, _ index: Int
  ) async throws -> ChangedInput? {
    // First what the type of the event speaks for.
    let likely =
      changes.filter { $0.cause == found.cause } + changes.filter { $0.cause != found.cause }
    let tried = likely.prefix(Self.limit / 2)
    for change in tried where try await moves(found, restoring: [change], of: index) {
      return change
    }
    for count in tried.indices.dropFirst().map({ $0 + 1 })
    where try await moves(found, restoring: Array(tried.prefix(count)), of: index) {
      return tried[count - 1]
    }
    return nil
  }

  private func moves(
    _ found: Divergence, restoring changes: [ChangedInput], of index: Int
  ) async throws -> Bool {
    let inAgent = changes.filter { $0.path != ChangedInput.caseInput }
    var agents = agents
    if !inAgent.isEmpty {
      guard let restored = restoring(index, inAgent) else { return false }
      agents[index] = restored
    }
    let goal = inAgent.count == changes.count ? goal : nil
    var session = Session(agents: agents, goal: goal, steps: try RecordedSteps(path: path))
    // An agent whose tools do not go together is none.
    do { try await session.makeAll() } catch is ToolRegistry.RegistryError { return false }
    guard let now = session.divergence else { return true }
    return now.seq != found.seq || now.recorded != found.recorded || now.now != found.now
      || now.fields != found.fields || now.fieldCount != found.fieldCount
  }
}

/// A run made again, session by session: each goes on from what the log says was before it, as it did
/// when it was lived.
private struct Session {
  let agents: [AgentDefinition]
  /// What the run's case asks for today; `nil` where none was given.
  let goal: JSONValue?
  let steps: RecordedSteps
  let parts: RecordedParts
  /// What makes this session, and its place among the agents.
  private(set) var agent: AgentDefinition?
  private(set) var agentIndex = 0
  /// The part of the run that this session belongs to.
  private(set) var part: RecordedParts.Part
  /// Of the last session: each had a key of its own, if nobody gave one.
  private(set) var redactor: Redactor
  /// How many recorded events were made again, or taken over.
  private(set) var made = 0
  private(set) var takenOver: [Reexecution.TakenOver] = []
  private(set) var difference: ComparingSink.Difference?
  /// What the run was when this session began, and which agent it was read for; `nil` for the first.
  private var past: (reader: PastReader, agent: Int)?
  private let untold = UntoldReasons()
  /// Whether this session is what a fork made behind what it shares with its parent.
  private var isFork = false

  init(agents: [AgentDefinition], goal: JSONValue?, steps: RecordedSteps) {
    self.agents = agents
    self.goal = goal
    self.steps = steps
    parts = RecordedParts(of: steps)
    part = parts.part(at: 0)
    redactor = Redactor(RedactionSettings(), values: .recorded)
  }

  /// Makes everything, up to the first difference.
  mutating func makeAll() async throws {
    while try await makeAgain(), try takeBreak() {}
  }

  /// The first difference, with what its event alone tells of its cause; `nil` where there is none.
  var divergence: Divergence? {
    guard let difference, let agent = agent ?? agents.last else { return nil }
    return Divergence(
      difference,
      Explanation(
        difference: difference, started: steps.started, part: part,
        agent: agent.redacted(by: redactor)))
  }

  /// Makes the events of this session, or takes them over; says whether they are as recorded.
  mutating func makeAgain() async throws -> Bool {
    let start = steps.sessionStart
    part = parts.part(at: start)
    guard let index = parts.agent(for: part, of: agents) else {
      made = try steps.skipSession()
      try prove(through: made)
      guard made > start else { return true }
      takenOver.append(
        .init(
          events: start...(made - 1), agentDigest: part.agentDigest,
          policyDigest: part.policyDigest))
      return true
    }
    let agent = agents[index].making(part, of: steps.started)
    (self.agent, agentIndex) = (agent, index)
    if start > 0 {
      var reader =
        try past.flatMap { $0.agent == index ? $0.reader : nil }
        ?? PastReader(path: steps.path, agent: agent)
      try reader.read(through: start - 1)
      past = (reader, index)
    }
    return try await make(with: agent)
  }

  private mutating func make(with agent: AgentDefinition) async throws -> Bool {
    let past = past?.reader.past
    let boundary = ReplayingBoundary(
      steps, after: past, person: agent.human?.model, parallelCalls: agent.parallelCalls)
    redactor = Redactor(agent.redaction, values: .recorded)
    let runtime = try Runtime(agent: agent, boundary: boundary, redactor: redactor)
    let sink = ComparingSink(boundary, redactor, models: part.models, untold: untold)
    defer { made = sink.made }
    do {
      if let past {
        _ = try await runtime.goOn(from: past, continuation, into: sink, observe: boundary.follow)
      } else {
        _ = try await runtime.run(
          start(boundary, agent), continuation, into: sink, observe: boundary.follow)
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

  /// What the run is started with: with what its case asks for today, where that is given; where its goal was
  /// that of the agent file, with the goal of the file of today.
  private func start(_ boundary: ReplayingBoundary, _ agent: AgentDefinition) -> Runtime.Start {
    var start = boundary.start
    if let goal {
      start.goal = goal
      return start
    }
    if let then = part.inputs["goal"], then == steps.started.goal,
      let goal = agent.goal, !agent.source.isEmpty
    {
      start.goal = .string(goal)
    }
    return start
  }

  /// A fork asks again about what its parent did later, which is known from its log alone.
  private var continuation: Continuation {
    guard steps.started.parent?.relation == "fork" else { return Continuation() }
    let (steps, untold, isFork) = (steps, untold, isFork)
    // A part that goes on behind the fork still asks about what it finds open, as the fork did.
    guard isFork || lastShared.map({ made > $0 }) ?? false else {
      return Continuation(asksAgain: { call, _ in
        steps.current?.reasonAskedAgain(ofCall: call.callId)
      })
    }
    let usual = Continuation()
    return Continuation(
      unfinished: { call, tool in
        guard isFork else { return usual.unfinished(call, tool) }
        return steps.current?.wasHeldAgain(call.callId) ?? false ? .askAgain : .runAgain
      },
      asksAgain: { call, _ in
        guard let step = steps.current else { return nil }
        if let reason = step.reasonAskedAgain(ofCall: call.callId) { return reason }
        guard step.wasHeldAgain(call.callId) else { return nil }
        untold.note(step: step.step)
        return "as it was asked"
      })
  }

  private var lastShared: Int? { steps.started.parent.flatMap(RecordedSteps.lastShared) }

  /// Takes over what stands behind the session, which nobody makes: what people said meanwhile, and
  /// that the run went on. Says whether it did.
  mutating func takeBreak() throws -> Bool {
    guard let found = try steps.openNextSession() else {
      difference = steps.stray.map { ComparingSink.Difference(recorded: $0, made: made) }
      return false
    }
    made += found.events.count
    try prove(through: made)
    // What people said while the parent stood still may be the last that both share.
    isFork = found.isFork || found.events.contains { $0.seq == lastShared }
    return found.goesOn
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
