public import AgentRuntime
public import AgentTrace
import TraceStorage

/// Asks a policy about calls that were recorded.
public struct PolicyBacktester: Sendable {
  private let gate: PolicyGate
  /// What the policy knows of calls before the first event.
  private let history: PolicyHistory
  /// The events that a pass looks into; the rest is folded into the state alone.
  private let types: Set<EventType>
  private let tools: [String: ToolDefinition]
  private let exampleLimit: Int

  /// A pass through one log that has seen nothing yet.
  func pass(log: String) -> BacktestPass {
    BacktestPass(gate: gate, history: history, tools: tools, log: log, exampleLimit: exampleLimit)
  }

  /// - Parameters:
  ///   - policy: what is asked.
  ///   - tools: definitions that stand in for those of the logs, by name.
  ///   - examples: changes to each verdict that are kept as examples.
  public init(policy: Policy, tools: [ToolDefinition] = [], examples: Int = 5) {
    gate = PolicyGate(policy)
    history = PolicyHistory(for: policy)
    types = policy.looksBack ? BacktestPass.types.union(PolicyHistory.types) : BacktestPass.types
    self.tools = Dictionary(tools.map { ($0.name, $0) }) { first, _ in first }
    exampleLimit = max(0, examples)
  }

  /// A log that could not be read.
  public struct Failure: Sendable {
    /// The log, as the caller named it.
    public var log: String
    /// Why, in words.
    public var message: String
  }

  /// Backtests many logs; what is found stands in the order of the paths.
  ///
  /// - Parameters:
  ///   - paths: the logs; one that cannot be read is told of as a failure.
  ///   - jobs: how many logs are read at the same time.
  ///   - progress: told how many logs are done.
  /// - Complexity: memory for what was found and, for each job, one log's reader and state.
  public func run(
    _ paths: [String], jobs: Int = 1, progress: (Int) -> Void = { _ in }
  ) async -> (found: PolicyBacktest, failures: [Failure]) {
    var found = PolicyBacktest()
    var failures: [Failure] = []
    // What came before the logs in front of it were done.
    var waiting: [Int: Result<PolicyBacktest, Problem>] = [:]
    var done = 0
    await withTaskGroup(of: (Int, Result<PolicyBacktest, Problem>).self) { group in
      var next = 0
      func start() {
        guard next < paths.count else { return }
        let (index, path) = (next, paths[next])
        next += 1
        group.addTask { (index, Self.attempt { try run(path) }) }
      }
      for _ in 0..<max(1, min(jobs, paths.count)) { start() }
      for await (index, result) in group {
        waiting[index] = result
        while let result = waiting.removeValue(forKey: done) {
          switch result {
          case .success(let one): found.merge(one, examples: exampleLimit)
          case .failure(let problem):
            failures.append(Failure(log: paths[done], message: problem.message))
          }
          done += 1
          progress(done)
        }
        start()
      }
    }
    return (found, failures)
  }

  private struct Problem: Error { var message: String }

  private static func attempt(
    _ work: () throws -> PolicyBacktest
  ) -> Result<PolicyBacktest, Problem> {
    do { return .success(try work()) } catch { return .failure(Problem(message: "\(error)")) }
  }

  /// Backtests one log, as far as it is whole.
  ///
  /// - Throws: `LogError` where it is damaged or cannot be read.
  public func run(_ path: String) throws -> PolicyBacktest {
    var reader = try LogReader(path: path)
    var pass = pass(log: path)
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head else { continue }
      if types.contains(type), case .event(let event) = try reader.line() {
        pass.take(event)
      }
      try reader.fold(into: &pass.state)
    }
    return pass.finished()
  }

  /// Backtests the events of one log.
  public func run(on events: some Sequence<Event>, log: String) -> PolicyBacktest {
    var pass = pass(log: log)
    for event in events {
      pass.take(event)
      pass.state.apply(event)
    }
    return pass.finished()
  }
}

/// One way through a log.
struct BacktestPass {
  /// The events that it looks into where no rule looks back.
  static let types: Set<EventType> = [.runStarted, .toolsListed, .decision, .policyDecision]

  let gate: PolicyGate
  /// Definitions that stand in for those of the log.
  let givenTools: [String: ToolDefinition]
  let log: String
  let exampleLimit: Int

  /// The state before the event that comes next.
  var state = AgentState()
  private var history: PolicyHistory
  private var found = PolicyBacktest()
  private var tools: [String: ToolDefinition] = [:]
  private var context = PolicyContext()
  private var simulatedUser = SimulatedUser()
  private var limits = Limits()
  private var isFork = false
  /// The calls of the last decision that reaches policy, by their ids.
  private var proposed: [String: Proposal] = [:]
  private var order: [String] = []

  private struct Proposal {
    var call: ProposedCall
    /// What the policy says where nobody asked it; `nil` once a verdict was found.
    var unasked: VerdictStatus?
  }

  init(
    gate: PolicyGate, history: PolicyHistory, tools: [String: ToolDefinition], log: String,
    exampleLimit: Int
  ) {
    self.gate = gate
    self.history = history
    givenTools = tools
    self.log = log
    self.exampleLimit = exampleLimit
    found.logs = 1
  }

  mutating func take(_ event: Event) {
    switch event.type {
    case .runStarted: start(event)
    case .toolsListed:
      if let listed = try? ToolsListed(decoding: event.data) { define(listed.tools) }
    case .decision:
      history.take(event)
      return propose(event)
    case .policyDecision: compare(event)
    default: break
    }
    // A verdict is asked for again at the moment before it was given.
    history.take(event)
  }

  mutating func finished() -> PolicyBacktest {
    settle()
    return found
  }

  private mutating func start(_ event: Event) {
    // Key by key: an import may hold only some, and one that is wrong says nothing about the others.
    let data = event.data
    simulatedUser.take(runStarted: data)
    isFork = data["parent"]?["relation"] == "fork"
    context = (try? PolicyContext(decoding: data["policyContext"]?.objectValue ?? [:])) ?? context
    limits = (try? Limits(decoding: data["limits"]?.objectValue ?? [:])) ?? limits
    define(
      (data["tools"]?.arrayValue ?? []).compactMap { tool in
        tool.objectValue.flatMap { try? ToolDefinition(decoding: $0) }
      })
  }

  private mutating func define(_ definitions: [ToolDefinition]) {
    for tool in definitions { tools[tool.name] = tool }
  }

  private mutating func propose(_ event: Event) {
    settle()
    guard let payload = try? DecisionPayload(decoding: event.data),
      // What a simulated user calls is no matter of the agent's policy.
      !simulatedUser.made(event), case .tool(let calls) = payload.decision
    else { return }
    // Where nobody asked, each call counts as it would have been ruled on.
    let recorded = history
    defer { history = recorded }
    for call in calls {
      let status = call.isUnclear ? nil : ruleCheck(on: call, at: event.time, nil)?.status
      if let status { history.assume(status, of: call.callId) }
      proposed[call.callId] = Proposal(call: call, unasked: status)
      order.append(call.callId)
      if call.isUnclear { found.unclear += 1 }
    }
  }

  /// Nobody is asked any more about the calls of the last decision.
  private mutating func settle() {
    for callId in order {
      if let status = proposed[callId]?.unasked { found.unjudged[status, default: 0] += 1 }
    }
    proposed = [:]
    order = []
  }

  private mutating func compare(_ event: Event) {
    guard let old = try? Verdict(decoding: event.data) else {
      found.unclear += 1
      found.undecided += 1
      return
    }
    let given = whatPolicySaid(in: old)
    guard let proposal = proposed[old.callId] else {
      found.unclear += 1
      if given != .allow { found.undecided += 1 }
      return
    }
    guard !proposal.call.isUnclear else {
      if given != .allow { found.undecided += 1 }
      return
    }
    proposed[old.callId]?.unasked = nil
    found.verdicts += 1
    guard let new = ruleCheck(on: proposal.call, at: event.time, old.authorization) else {
      found.unanswered += 1
      if given != .allow { found.undecided += 1 }
      return
    }
    if given != old.status, old.status == .deny { found.guarded += 1 }
    if given != old.status, old.status == .approvalRequired { found.askedByFork += 1 }
    compare(old, given, new, of: proposal.call, event)
  }

  /// A guard is asked only about what policy has allowed, and a fork asks again only about that.
  private func whatPolicySaid(in verdict: Verdict) -> VerdictStatus {
    switch verdict.status {
    case .deny where verdict.ruleId?.hasPrefix(Policy.guardPrefix) == true: .allow
    case .approvalRequired where isFork && AskedByFork.isReason(verdict.reason): .allow
    default: verdict.status
    }
  }

  private mutating func compare(
    _ old: Verdict, _ from: VerdictStatus, _ new: Verdict, of call: ProposedCall, _ event: Event
  ) {
    guard from != new.status else {
      if from == old.status, old.ruleId != new.ruleId { found.byOtherRule += 1 }
      return
    }
    let kind = PolicyBacktest.Kind(
      tool: call.name, from: from, oldRule: old.ruleId, to: new.status, newRule: new.ruleId)
    found.add(kind)
    found.add(
      PolicyBacktest.Change(
        log: log, seq: event.seq, step: event.step, callId: old.callId, kind: kind),
      limit: exampleLimit)
  }

  /// What the policy says of a call at this moment: the one at which its verdict was recorded.
  ///
  /// - Parameters:
  ///   - time: the event's, by which approvals run out.
  ///   - recorded: what an authorizer said then.
  /// - Returns: `nil` where an authorizer is to be asked something that it was not asked then.
  private mutating func ruleCheck(
    on call: ProposedCall, at time: String?, _ recorded: Authorization?
  ) -> Verdict? {
    let known = givenTools[call.name] ?? tools[call.name]
    if known == nil { found.add(undefinedTool: call.name) }
    let moment = PolicyGate.KnownState(
      run: context, limits: limits, state: state, history: history, time: time)
    let tool = known ?? ToolDefinition(name: call.name)
    if let request = gate.authorizationRequest(on: call, tool: tool, at: moment) {
      guard let recorded, recorded.authorizer.hasSameUTF8(as: request.authorizer),
        recorded.requestDigest.hasSameUTF8(as: request.digest)
      else { return nil }
    }
    return gate.ruleCheck(on: call, tool: tool, at: moment, authorization: recorded).verdict
  }
}

extension ProposedCall {
  /// Whether a part of the input is lost or cut, so that nobody knows which action it was.
  fileprivate var isUnclear: Bool { input.isLostInPart }
}

extension JSONValue {
  /// Nests as deep as a value does, which a log bounds.
  fileprivate var isLostInPart: Bool {
    switch self {
    case .lost, .cut: true
    case .array(let elements): elements.contains(where: \.isLostInPart)
    case .object(let object): object.contains { $0.value.isLostInPart }
    default: false
    }
  }
}
