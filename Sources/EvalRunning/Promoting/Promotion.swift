public import AgentRuntime
public import AgentTrace
public import TraceJudging
import TraceStorage

/// A case and a log to be made from recorded runs.
public struct Promotion: Sendable {
  /// How many events of a run are looked at at most: they are kept in memory.
  public static let eventLimit = 100_000

  /// The `expected` of the case.
  public private(set) var expected: JSONValue
  /// How the run breaks it; empty for one that meets it.
  public private(set) var failures: [ExpectationOutcome]
  /// The run of the case: of a failing one, what is left of it.
  public private(set) var events: [Event]
  /// The path of the log that it was recorded in.
  public let log: String
  /// The identifier of the run that it was recorded as.
  public let runId: String
  /// Events of that run, and of this one.
  public private(set) var eventCounts: (before: Int, after: Int)
  /// Calls that are proposed in that run, and in this one.
  public private(set) var callCounts: (before: Int, after: Int)
  /// How often a shorter run was judged.
  public private(set) var judgements = 0
  /// Whether a still shorter one was not looked for any more.
  public private(set) var isCutShort = false
  /// Values that are withheld, each counted once, by their kind.
  public private(set) var withheld: [(kind: String, values: Int)] = []
  /// How many runs the case was made from.
  public let runs: Int
  /// All that was recorded: what shows as a credential only in a part that was left out is one all the same.
  private var recorded: [[Event]]

  // MARK: Making

  /// From one run that fails.
  ///
  /// - Parameters:
  ///   - expectations: What it should have met; `nil` to take what the good runs share, or else what no run
  ///     should do (``CommonFailures``).
  ///   - good: Logs of runs that went well.
  ///   - isShortened: Whether the run is shortened as far as it still fails in the same way.
  /// - Returns: `nil` where nothing is wrong with the run and nothing was expected of it.
  /// - Throws: ``PromotionError``.
  public static func failing(
    _ log: String, against expectations: Expectations?, good: [String], isShortened: Bool
  ) throws(PromotionError) -> Promotion? {
    let events = try read(log)
    // Half of a pipeline is none that could have been recorded.
    let isShortened = isShortened && !(events.first?.beginsPipeline ?? false)
    if let expectations {
      guard let short = ShortRun(of: events, breaking: expectations, isShortened: isShortened)
      else {
        throw PromotionError(
          log, "the run meets all that is expected of it, as far as its log shows")
      }
      return Promotion(short, of: events, log)
    }
    if !good.isEmpty {
      var runs: [[Event]] = []
      for path in good { runs.append(try read(path)) }
      if let shared = SharedExpectations(of: runs).json.flatMap({ try? Expectations(parsing: $0) }),
        let short = ShortRun(of: events, breaking: shared, isShortened: isShortened)
      {
        return Promotion(short, of: events, log)
      }
    }
    guard let common = CommonFailures.broken(by: events),
      let short = ShortRun(of: events, breaking: common, isShortened: isShortened)
    else {
      guard good.isEmpty else {
        throw PromotionError(
          log, "the run does nothing that the good runs do not do: say with --expect what is wrong")
      }
      return nil
    }
    return Promotion(short, of: events, log)
  }

  /// From runs that went well: the case expects what they share, and its run is the first of them.
  ///
  /// - Throws: ``PromotionError``.
  public static func good(_ logs: [String]) throws(PromotionError) -> Promotion {
    var runs: [[Event]] = []
    for log in logs { runs.append(try read(log)) }
    guard let first = runs.first, let log = logs.first else {
      throw PromotionError("promote", "no log was given")
    }
    guard let expected = SharedExpectations(of: runs).json else {
      throw PromotionError(
        log,
        runs.count == 1
          ? "the run shows nothing that a case could expect of it: say with --expect what it should have met"
          : "the \(runs.count) runs share nothing that a case could expect: promote fewer of them")
    }
    var promotion = Promotion(expected: expected, first, log, runs: runs.count)
    // What the runs share may be a secret that shows as one in another of them.
    promotion.recorded = runs
    return promotion
  }

  private init(expected: JSONValue, _ events: [Event], _ log: String, runs: Int) {
    self.expected = expected
    self.events = events
    recorded = [events]
    self.log = log
    self.runs = runs
    failures = []
    runId = events.first?.runId ?? ""
    let calls = events.reduce(0) { count, event in
      event.type == .decision && event.data["kind"] == "tool"
        ? count + (event.data["calls"]?.arrayValue?.count ?? 0) : count
    }
    callCounts = (calls, calls)
    eventCounts = (events.count, events.count)
  }

  private init(_ short: ShortRun, of events: [Event], _ log: String) {
    self.init(expected: short.expected, events, log, runs: 1)
    failures = short.failures
    self.events = short.events
    eventCounts.after = short.events.count
    callCounts = short.calls
    judgements = short.judgements
    isCutShort = short.isCutShort
  }

  // MARK: Reading

  /// The case that a log says it was made for; `nil` for none.
  ///
  /// - Throws: ``PromotionError``.
  public static func caseId(of log: String) throws(PromotionError) -> String? {
    do {
      var reader = try LogReader(path: log)
      return try reader.next()?.data["case"]?["caseId"]?.stringValue
    } catch {
      throw PromotionError(log, "\(error)")
    }
  }

  /// The events of a whole log.
  private static func read(_ log: String) throws(PromotionError) -> [Event] {
    var events: [Event] = []
    do {
      if let row = try PromotedPipeline.row(of: log) { return row }
      var reader = try LogReader(path: log)
      while let event = try reader.next() {
        guard event.seq == events.count else {
          throw PromotionError(
            log,
            "events \(events.count) to \(event.seq - 1) are missing: only a whole run is promoted")
        }
        guard event.type != .toolStarted || event.data["child"] == nil else {
          throw PromotionError(
            log,
            "the run called agents (event \(event.seq)), whose runs would be missing: write a case that names the agent"
          )
        }
        events.append(event)
        guard events.count <= eventLimit else {
          throw PromotionError(log, "the run has more than \(eventLimit) events")
        }
      }
      guard reader.ending == .closed else {
        throw PromotionError(
          log, "the log was never closed: let the run end (resume), or repair the log")
      }
    } catch let error as PromotionError {
      throw error
    } catch {
      throw PromotionError(log, "\(error)")
    }
    guard events.first?.type == .runStarted else {
      throw PromotionError(log, "the log does not begin with run_started")
    }
    return events
  }

  // MARK: Scrubbing

  /// The same with everything withheld that a redactor finds, in the run and in what is expected of it.
  ///
  /// - Throws: ``PromotionError`` where the run would then be judged otherwise.
  public func scrubbed(by redactor: Redactor) throws(PromotionError) -> Promotion {
    var promotion = self
    _ = redactor.redacted(expected)
    for run in recorded { _ = redactor.redacted(run) }
    promotion.recorded = []
    let (events, tokens) = redactor.withheld(events)
    promotion.events = events
    promotion.expected = redactor.redacted(expected)
    promotion.withheld = RunRedaction.byKind(tokens)
    if failures.isEmpty, !Self.meets(promotion.events, promotion.expected),
      let shared = SharedExpectations(of: recorded.map { redactor.redacted($0) }).json
    {
      // A word that shows as a secret only where it stood is found in no answer any more. What the runs share
      // without it is theirs all the same.
      promotion.expected = redactor.redacted(shared)
    }
    guard let expectations = try? Expectations(parsing: promotion.expected) else {
      throw PromotionError(
        log, "a key or a pattern of what is expected would be withheld: expect something else")
    }
    let outcomes = Judge.judge(promotion.events, against: expectations).outcomes
    let failing = outcomes.filter { $0.outcome == .fail && $0.severity == .error }
    guard failing.map(\.expectation) == failures.map(\.expectation),
      failing.map(\.events) == failures.map(\.events),
      !failures.isEmpty || outcomes.allSatisfy({ $0.outcome == .pass })
    else {
      throw PromotionError(
        log,
        "with its secrets withheld the run is judged otherwise: what is expected hangs on one of them"
      )
    }
    promotion.failures = failing
    return promotion
  }

  private static func meets(_ events: [Event], _ expected: JSONValue) -> Bool {
    guard let expectations = try? Expectations(parsing: expected) else { return false }
    return Judge.judge(events, against: expectations).outcomes.allSatisfy { $0.outcome == .pass }
  }

  // MARK: Naming

  /// The events as the run of a case: under an identifier of its own, and saying where it comes from.
  func run(of caseId: String) -> [Event] {
    guard var first = events.first else { return events }
    let name = log.split(separator: "/").last.map(String.init) ?? log
    var events = events
    let identifier = Digest(
      of: [
        "promoted", .string(runId), JSONValue(eventCounts.after), expected,
      ] as JSONValue)
    let newRunId = String(identifier.hex.prefix(32))
    first.data["case"] = ["caseId": .string(caseId)]
    if first.data["source"] == nil {
      first.data["source"] = [
        "format": "agent-eval", "file": .string(name),
        "labels": [
          "runId": .string(runId), "events": JSONValue(eventCounts.before),
          "calls": JSONValue(callCounts.before),
        ],
      ]
    }
    events[0] = first
    for index in events.indices {
      events[index].runId = newRunId
      if events[index].data["runId"] != nil { events[index].data["runId"] = .string(newRunId) }
    }
    return RunRewriting.ended(events)
  }
}
