public import AgentRuntime
public import AgentTrace
public import TraceStorage

/// Makes the boundary that an agent runs on; passed in by whoever may reach the outside world.
public typealias BoundaryMaker = @Sendable (AgentDefinition, RunConditions) -> any Boundary

/// What a run is made under besides its agent.
public struct RunConditions: Sendable {
  /// Where the run's times come from.
  public var clock: any RunClock
  /// Where its identifier comes from.
  public var identifiers: any RunIDs
  /// What ends it early.
  public var cancellation: Cancellation
  /// What runs the agents that it calls; where there is none, a call of one fails.
  public var children: (any ChildRunner)?
  /// What is withheld from its log beside what the agent and the environment say.
  public var secrets = RunSecrets()

  /// The conditions as given; nothing is started.
  public init(
    clock: any RunClock, identifiers: any RunIDs, cancellation: Cancellation = Cancellation(),
    children: (any ChildRunner)? = nil
  ) {
    self.clock = clock
    self.identifiers = identifiers
    self.cancellation = cancellation
    self.children = children
  }
}

/// One agent run, recorded from its first event to its stop.
public struct AgentRecording: Sendable {
  /// The log's path.
  public var log: String
  /// The state after the last event; why the run stopped is in there.
  public var state: AgentState
  /// The digest of the log's last seal.
  public var sealDigest: Digest

  /// Whether the run ended with an answer.
  public var isSuccess: Bool { state.stop?.reason == StopReason.success.rawValue }
}

extension AgentRecording {
  /// What is recorded, and where.
  public struct Request: Sendable {
    /// What the agent is to do.
    public var goal: JSONValue
    /// Where the log goes.
    public var files: RunFiles
    /// What the run's identifier is made from, for the record; `nil` where it is random.
    public var seed: Int?
    /// The case that the run is for; `nil` outside of one.
    public var caseId: String?
    /// Which trial of the case, from 1; `nil` where it is run once.
    public var trial: Int?
    /// Words to find the run by later.
    public var tags: [String] = []
    /// What the run was started with, where that is something else than the goal.
    public var input: JSONValue?
    /// The run that this one came from; `nil` for one that stands by itself.
    public var parent: ParentRun?
    /// The pipeline that the run belongs to, and its task there; `nil` outside of one.
    public var pipeline: (id: String, task: String)?
    /// How the log is written.
    public var logOptions: LogWriter.Options

    /// No file is touched. Trial, tags, input and parent can be set afterwards.
    public init(
      goal: JSONValue, files: RunFiles, seed: Int? = nil, caseId: String? = nil,
      logOptions: LogWriter.Options = .init()
    ) {
      self.goal = goal
      self.files = files
      self.seed = seed
      self.caseId = caseId
      self.logOptions = logOptions
    }
  }

  /// Runs an agent and writes its log.
  ///
  /// - Parameters:
  ///   - willRecord: Told the log's path before it is there.
  ///   - report: Told what no log holds, as it happens, from any task.
  ///   - observe: Called with each event once it is kept.
  /// - Throws: `PromptFault` where the agent's instructions name what the run does not have: there is no log then;
  ///   `LogError` where the log cannot be written: the run has stopped then, and what was acknowledged is readable. How badly the run itself went is in the state.
  public init(
    of agent: AgentDefinition, _ request: Request, on boundary: any Boundary,
    willRecord: (String) -> Void = { _ in },
    report: @escaping @Sendable (RunProgress) -> Void = { _ in },
    observe: @escaping (Event) -> Void = { _ in }
  ) async throws {
    let runtime = try Runtime(agent: agent, boundary: boundary, report: report)
    var start = Runtime.Start(
      goal: request.goal, runId: boundary.makeRunID(), seed: request.seed)
    start.caseId = request.caseId
    start.trial = request.trial
    start.tags = request.tags
    start.input = request.input
    start.parent = request.parent
    start.pipeline = request.pipeline
    try runtime.check(start)
    let path = request.files.path(of: request.caseId ?? agent.name, runId: start.runId)
    willRecord(path)
    let writer = try LogWriter(creating: path, options: request.logOptions)
    state = try await runtime.run(start, into: writer, observe: observe)
    let closed = try writer.close()
    log = closed.path
    sealDigest = closed.sealDigest
  }
}
