public import AgentTrace

/// What a run is at some event: everything that going on from there needs, folded from its events.
///
/// The loop that lives a run folds its events into the same thing as it appends them, so a run that
/// goes on from its log knows what it would have known without the break.
///
/// Why: Docs/decisions/0008-going-on-from-any-event.md
public struct RunPast: Sendable {
  /// The state after the last event.
  public private(set) var state = AgentState()
  /// Where in its step the run stands.
  public private(set) var progress = StepProgress()
  /// The number of the next event.
  public private(set) var nextSeq = 0
  /// What the guard found at the last decision, before anything came of it.
  private(set) var breachAtDecision: GuardBreach?
  private(set) var record: RunRecord

  /// Nothing has happened yet.
  ///
  /// - Parameter agent: the agent that is to go on. Its guard watches what is taken in here too.
  public init(for agent: AgentDefinition) { record = RunRecord(for: agent) }

  /// Nothing has happened yet, and nobody watches: for looking at a run that is not to go on.
  public init() { record = RunRecord() }

  /// Takes in the next event of the run, in log order.
  ///
  /// - Throws: `PayloadError` where the event's data are not what its type promises.
  /// - Complexity: as living it. Memory is bounded by what the state retains.
  public mutating func take(_ event: Event) throws(PayloadError) {
    try progress.observe(event)
    state.apply(event)
    record.take(event, leaving: state)
    nextSeq = event.seq + 1
    if event.type == .decision { breachAtDecision = record.runGuard?.breach() }
  }

  /// Whether nothing more can come of the run without a resume.
  public var isStopped: Bool { progress.isStopped }
}

/// What a run keeps of its events beside its state.
struct RunRecord: Sendable {
  /// Sees what is recorded; `nil` where nobody watches.
  private(set) var runGuard: (any RunGuard)?
  /// The call on which policy has ruled in the last event; `nil` behind any other event.
  private(set) var justRuled: String?
  /// What policy knows of earlier calls.
  private(set) var policyHistory: PolicyHistory
  /// What the making of contexts needs beside the state.
  private(set) var contextHistory = ContextHistory()
  /// When the last event happened, in UTC: to ask the clock would be to let time go on that stands still. `nil` before
  /// the first, and where a log does not say.
  private(set) var lastTime: String?
  /// Events whose data a later context may show; dropped once the state no longer names them.
  private var events: [Int: Event] = [:]
  private var keptSeqs: [Int] = []
  private var modelCalls: [ModelPurpose: Int] = [:]
  /// How often people spoke, simulated ones too.
  private(set) var words = 0
  /// How often people granted or denied a call.
  private(set) var approvals = 0
  /// How often a model that plays a person was asked in a step, further attempts aside.
  private var personQuestions = (step: 0, count: 0)

  /// The circuit breakers of the agent's tools.
  private(set) var breakers: BreakerRecord

  /// The tool errors in a row of the current decision.
  private(set) var errorRow: ErrorRow

  /// The notes of the run.
  private(set) var notes: RunNotes

  /// What the run may have done, for all that anybody knows.
  private(set) var doubts = EffectDoubts()

  /// What people granted before the run was forked off another.
  private(set) var inheritedGrants = InheritedGrants()

  private let sources: [SourceRegistration]

  init(for agent: AgentDefinition) {
    runGuard = agent.runGuard
    policyHistory = PolicyHistory(for: agent.policy)
    breakers = BreakerRecord(tools: agent.tools)
    errorRow = ErrorRow(limit: agent.failures.maxToolErrors)
    notes = RunNotes(of: agent)
    sources = agent.sources
  }

  /// Of a run that nobody watches or rules on.
  init() {
    policyHistory = PolicyHistory(for: Policy())
    breakers = BreakerRecord(tools: [])
    errorRow = ErrorRow(limit: .max)
    notes = RunNotes()
    sources = []
  }

  /// An earlier event that the state's observations name.
  func event(at seq: Int) -> Event? { events[seq] }

  /// How often a model was called for a purpose, failed tries too.
  func modelCalls(for purpose: ModelPurpose) -> Int { modelCalls[purpose] ?? 0 }

  /// How often a model that plays a person was asked in a step, further attempts aside.
  func personQuestions(in step: Int) -> Int {
    personQuestions.step == step ? personQuestions.count : 0
  }

  /// Takes in an event that was applied to the state.
  mutating func take(_ event: Event, leaving state: AgentState) {
    runGuard?.observe(event)
    justRuled = event.type == .policyDecision ? event.data["callId"]?.stringValue : nil
    lastTime = event.time
    if event.type == .modelResult,
      let purpose = event.data["purpose"]?.stringValue.flatMap(ModelPurpose.init)
    {
      modelCalls[purpose, default: 0] += 1
    }
    policyHistory.take(event)
    breakers.take(event)
    errorRow.take(event, leaving: state)
    countPeople(event)
    contextHistory.take(event)
    if event.type == .toolsListed {
      breakers.know(contextHistory.listed.registrations(of: sources))
    }
    notes.take(event)
    doubts.take(event)
    inheritedGrants.take(event)
    keep(event, state)
  }

  private mutating func countPeople(_ event: Event) {
    switch event.type {
    case .humanReplied: words += 1
    case .approval: approvals += 1
    case .modelResult where event.data["purpose"]?.stringValue == ModelPurpose.human.rawValue:
      guard event.data["attempt"]?.intValue ?? 1 == 1 else { return }
      personQuestions = (event.step, personQuestions(in: event.step) + 1)
    default: break
    }
  }

  private mutating func keep(_ event: Event, _ state: AgentState) {
    switch event.type {
    case .modelResult, .decision, .toolResult, .humanReplied, .memoryRead, .policyDecision,
      .approval,
      .runResumed:
      events[event.seq] = event
      keptSeqs.append(event.seq)
    default: return
    }
    // An observation that fell out of the state is never looked up again. Observations stand in fold
    // order, so a margin keeps those that a slow call let overtake.
    guard keptSeqs.count > 3 * RecentObservations.limit else { return }
    var needed = Set(state.observations.recent.map(\.seq))
      .union(state.pendingCalls.compactMap { $0.result?.observation.seq })
    // A decision is shown with what was said beside its calls, which stands in its reply; the
    // decision of the newest reply is still to come.
    needed.insert(event.seq)
    for seq in needed {
      if let reply = events[seq]?.data["modelResult"]?.intValue { needed.insert(reply) }
    }
    keptSeqs.removeAll { seq in
      guard !needed.contains(seq) else { return false }
      events[seq] = nil
      return true
    }
  }
}
