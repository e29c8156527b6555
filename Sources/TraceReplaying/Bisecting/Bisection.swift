public import AgentRuntime
public import AgentTrace
import TraceStorage

/// Finds the step of a bad run whose exchange turns its outcome, by putting its beginning before the
/// rest of a good one.
///
/// The run that is tried for a step `k` has the events of the bad run up to the end of step `k`, and
/// goes on with the answers of the good run from step `k + 1` on: replies by their place (step, try and
/// attempt), results and approvals by call. Policy, limits and guards rule anew. Tried for 0 it is the
/// good run again, tried for the bad run's last step it is the bad one. Where such a run asks something
/// that the good one was never asked, it has no outcome of its own and counts as turned.
public struct Bisection: Sendable {
  /// How the good run came out.
  public var goodOutcome: String
  /// How the bad run came out.
  public var badOutcome: String
  /// The last step of the bad run.
  public var steps: Int
  /// The step that turns the outcome: with the bad run's exchanges before it alone, it is the good one.
  public var step: Int
  /// What was tried, in order: at most ⌈log2 steps⌉ + 1.
  public var probes: [Probe]

  /// One run that was tried.
  public struct Probe: Sendable, Hashable {
    /// How many steps of the bad run it begins with.
    public var step: Int
    /// How it came out; `nil` where the good run could not answer it.
    public var outcome: String?
  }
}

/// Says how a run came out, from its events.
public protocol OutcomeFold {
  /// Takes in the next event.
  mutating func apply(_ event: Event)
  /// The outcome in a word; two runs are the same where the words are.
  func outcome() -> String
}

/// The outcome of a run by its stop: the reason alone.
public struct StopOutcome: OutcomeFold, Sendable {
  private var reason: String?

  /// No stop was seen.
  public init() {}

  public mutating func apply(_ event: Event) {
    if event.type == .stop { reason = event.data["reason"]?.stringValue }
    if event.type == .runResumed { reason = nil }
  }

  public func outcome() -> String { reason ?? "no stop" }
}

/// Why there is no turning step to find.
public struct BisectionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    /// Both runs came out the same.
    case sameOutcome(String)
    /// The bad run has no step.
    case noStep
    /// With this agent, the good run's answers do not give its outcome again.
    case notReproduced(expected: String, found: String?)
  }

  /// What is wrong.
  public var code: Code
  /// The logs, as the caller named them.
  public var good: String
  /// The log of the bad run.
  public var bad: String

  /// The logs are named for messages alone.
  public init(code: Code, good: String, bad: String) {
    self.code = code
    self.good = good
    self.bad = bad
  }

  public var description: String {
    switch code {
    case .sameOutcome(let outcome):
      "\(good) and \(bad) both came out as \(outcome): nothing turned. "
        + "With --case they are told apart by what a case expects."
    case .noStep: "\(bad): the run has no step that could have turned its outcome."
    case .notReproduced(let expected, let found):
      "\(good): the run came out as \(expected), and made again by this agent as "
        + "\(found ?? "nothing, for it asks what was never answered"). "
        + "Give the agent file, and the policy, that it was recorded with."
    }
  }
}

extension Bisection {
  /// Tries runs until the turning step is found.
  ///
  /// - Parameters:
  ///   - good: the log of the good run, whose answers each tried run goes on with.
  ///   - bad: the log of the bad run, whose first steps each tried run begins with.
  ///   - agent: the agent that both were made by; whom it acts for is taken from the bad run.
  ///   - makeOutcome: makes what says how a run came out.
  /// - Throws: ``BisectionError``, ``RecordingError``, ``ForkError``, `LogError`.
  /// - Complexity: a probe reads the bad run up to its step and the good run from there.
  public init(
    good: String, bad: String, agent: AgentDefinition, makeOutcome: () -> any OutcomeFold
  ) async throws {
    goodOutcome = try Self.outcome(of: good, makeOutcome())
    badOutcome = try Self.outcome(of: bad, makeOutcome())
    func error(_ code: BisectionError.Code) -> BisectionError {
      BisectionError(code: code, good: good, bad: bad)
    }
    if goodOutcome.hasSameUTF8(as: badOutcome) { throw error(.sameOutcome(goodOutcome)) }
    let started = try RecordedSteps(path: bad).started
    steps = try Self.lastStep(of: bad)
    guard steps > 0 else { throw error(.noStep) }
    var agent = agent
    agent.policyContext = started.policyContext
    step = steps
    probes = []

    let first = try await Self.probe(0, good: good, bad: good, agent, makeOutcome())
    probes.append(Probe(step: 0, outcome: first))
    guard let first, first.hasSameUTF8(as: goodOutcome) else {
      throw error(.notReproduced(expected: goodOutcome, found: first))
    }
    var unturned = 0
    while unturned + 1 < step {
      let middle = (unturned + step) / 2
      let outcome = try await Self.probe(middle, good: good, bad: bad, agent, makeOutcome())
      probes.append(Probe(step: middle, outcome: outcome))
      if let outcome, outcome.hasSameUTF8(as: goodOutcome) {
        unturned = middle
      } else {
        step = middle
      }
    }
  }

  private static func outcome(of path: String, _ fold: any OutcomeFold) throws -> String {
    var fold = fold
    var reader = try LogReader(path: path)
    while let event = try reader.next() { fold.apply(event) }
    return fold.outcome()
  }

  private static func lastStep(of path: String) throws -> Int {
    var reader = try LogReader(path: path)
    var last = 0
    while case .event(_, let step, _)? = try reader.advance() { last = max(last, step) }
    return last
  }

  /// The outcome of one run that is tried; `nil` where the good run could not answer it.
  private static func probe(
    _ step: Int, good: String, bad: String, _ agent: AgentDefinition, _ fold: any OutcomeFold
  ) async throws -> String? {
    let sink = FoldingSink(fold)
    var past = RunPast(for: agent)
    var reader = try LogReader(path: bad)
    while let event = try reader.next(), event.step <= step, event.type != .stop {
      do { try past.take(event) } catch {
        throw ForkError(
          code: .unreadable(seq: event.seq, type: event.type.rawValue, error), path: bad)
      }
      sink.fold.apply(event)
    }
    let boundary = try GraftBoundary(path: good, after: past)
    sink.boundary = boundary
    do {
      let redactor = try Redactor(recalling: bad, of: agent, values: .recorded)
      _ = try await Runtime(agent: agent, boundary: boundary, redactor: redactor).goOn(
        from: past, Continuation(unfinished: { _, _ in .runAgain }), into: sink)
    } catch is FoldingSink.Unanswered {
      return nil
    }
    if let failure = boundary.failure { throw failure }
    try Task.checkCancellation()
    return sink.fold.outcome()
  }
}

/// Folds the events of a run, as long as they follow from what is recorded.
private final class FoldingSink: EventSink {
  struct Unanswered: Error {}

  var fold: any OutcomeFold
  var boundary: GraftBoundary?

  init(_ fold: any OutcomeFold) { self.fold = fold }

  func append(_ event: Event, isEffectAhead: Bool) throws {
    if let boundary, boundary.isUnanswered { throw Unanswered() }
    fold.apply(event)
    boundary?.follow(event)
  }
}
