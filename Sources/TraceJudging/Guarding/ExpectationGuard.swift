public import AgentTrace
import TraceMatching

/// Holds a run against expectations while it goes on, with the judge that holds its log against them
/// afterwards.
///
/// It takes only expectations that can be broken by what has happened and never mended by what comes:
/// so a run that the guard finds broken is one that the judge fails, and the other way round.
public struct ExpectationGuard: Sendable {
  /// What the run is held against.
  public let expectations: Expectations
  private var trajectory = Trajectory()
  private var chronicle: Chronicle
  private var step = 0
  private var time = 0

  /// Nothing has happened yet.
  ///
  /// - Throws: ``ExpectationErrors`` with every expectation that only the end of a run can decide.
  public init(_ expectations: Expectations) throws(ExpectationErrors) {
    let problems = expectations.undecidable
    guard problems.isEmpty else { throw ExpectationErrors(problems: problems) }
    self.expectations = expectations
    chronicle = Chronicle(for: expectations)
  }

  /// Takes in the next event.
  public mutating func apply(_ event: Event) {
    trajectory.apply(event)
    chronicle.apply(event)
    step = event.step
    time = event.t
  }

  /// The first expectation that what has happened so far breaks; `nil` where all hold.
  ///
  /// - Complexity: as judging what has happened so far.
  public func breach() -> ExpectationOutcome? {
    Judge.judge(trajectory, chronicle, against: expectations).outcomes
      .first { $0.outcome == .fail }
  }

  /// The first expectation that would be broken if these calls, which a decision has proposed, began
  /// now.
  public func breach(ifStarted callIds: [String]) -> ExpectationOutcome? {
    var copy = self
    for callId in callIds {
      guard let call = trajectory.calls.last(where: { $0.outline.callId.hasSameUTF8(as: callId) })
      else { continue }
      copy.add(
        .toolStarted,
        ToolStartedPayload(callId: callId, tool: call.tool, attempt: 1, idempotencyKey: "").encoded,
        step: call.step)
    }
    return copy.breach()
  }

  /// The first expectation that another decision would break, whatever it is.
  public func breach(ifDecidingIn step: Int) -> ExpectationOutcome? {
    var copy = self
    copy.add(.decision, DecisionPayload(.tool([])).encoded, step: step)
    return copy.breach()
  }

  /// Takes in something that has not happened.
  private mutating func add(_ type: EventType, _ data: JSONObject, step: Int) {
    apply(
      Event(
        seq: trajectory.lastSeq + 1, step: step, type: type, runId: trajectory.runId, t: time,
        data: data))
  }
}

extension Expectations {
  /// Whether they can be given to a guard.
  public var isDecidableEarly: Bool { undecidable.isEmpty }

  /// What only the end of a run decides.
  var undecidable: [ExpectationProblem] {
    var found: [ExpectationProblem] = []
    func refuse(_ keys: [String], _ why: String) {
      found.append(
        ExpectationProblem(
          pointer: JSONPointer(tokens: keys), isKey: keys.count == 1,
          message: "a guard cannot decide this: \(why)"))
    }
    let end = "it is known only at the end of a run"
    if stopReasons != nil { refuse(["stopReason"], end) }
    if toolsCalled != nil { refuse(["toolsCalled"], end) }
    if toolsProposed != nil { refuse(["toolsProposed"], end) }
    if answer != nil { refuse(["answer"], end) }
    for (name, list) in [
      ("toolsNotCalled", toolsNotCalled), ("toolsNotProposed", toolsNotProposed),
    ] {
      for (index, entry) in (list ?? []).enumerated() {
        let why =
          name == "toolsNotProposed" && entry.result != nil ? "its result may still come" : nil
        if let why = why ?? entry.fluidity { refuse([name, String(index)], why) }
      }
    }
    for word in words { word.refuse(refuse, end) }
    for (index, part) in parts.enumerated() {
      if part.severity == .warning { refuse([String(index), "severity"], "a guard does not warn") }
      for var problem in part.expectations.undecidable {
        problem.pointer.tokens.insert(String(index), at: 0)
        found.append(problem)
      }
    }
    return found
  }
}

extension CallEntry {
  /// Why what the entry says of a call, or of their number, may change; `nil` where it cannot.
  fileprivate var fluidity: String? {
    if times?.maximum != nil { return "one more call would mend it" }
    return hasPassingStatus ? "a call is “unknown” only while it runs, or for ever" : nil
  }

  fileprivate var hasPassingStatus: Bool { statuses?.contains(.unknown) ?? false }
}

extension Word {
  /// Names what of the word only the end of a run decides.
  fileprivate func refuse(_ refuse: ([String], String) -> Void, _ end: String) {
    switch self {
    case .noRepeatedSideEffect, .noLoops, .maxInvalidDecisions, .maxRetries, .noApprovalBypass:
      break
    case .eachCall(let entries):
      for (index, entry) in entries.enumerated() where entry.hasPassingStatus {
        refuse([name, String(index)], "a call is “unknown” only while it runs, or for ever")
      }
    case .time(let rules):
      for (index, rule) in rules.enumerated() {
        if let why = rule.fluidity { refuse([name, String(index)], why) }
      }
    case .budget(let budget):
      if budget.includesSubRuns { refuse([name, "subRuns"], "other runs are not seen from here") }
    case .policy(let lists):
      for rule in lists {
        if !rule.isForbidden || rule.times.maximum != nil {
          refuse([name], "\(rule.name) may come to hold, or no longer to, later on")
        }
      }
    case .memory(let rules):
      for rule in rules where !rule.isForbidden || rule.times.maximum != nil {
        refuse([name], "\(rule.name) may come to hold, or no longer to, later on")
      }
    case .context(let rules):
      for rule in rules
      where !rule.offers.isEmpty || !rule.contains.isEmpty || !rule.evidence.isEmpty
        || !rule.omits.isEmpty
      {
        refuse([name], "a later context may be as asked")
      }
    case .noExtraCalls, .answerJSON, .evidence, .state, .exec, .judge: refuse([name], end)
    }
  }
}

extension TimeRule {
  /// Why a broken rule may be mended by what comes; `nil` where it cannot.
  fileprivate var fluidity: String? {
    switch (claim, relation) {
    case (.eventually, _), (.expect, .after): "what is awaited may still come"
    case (_, .until): "what it holds until may still come"
    default:
      (moments + others).contains { $0.hasPassingStatus }
        ? "what becomes of such a call may be known only later" : nil
    }
  }
}

extension Moment {
  fileprivate var hasPassingStatus: Bool {
    switch self {
    case .called(let entry), .returned(let entry): entry.hasPassingStatus
    // What becomes of a proposal is known only later.
    case .proposed(let entry): entry.statuses != nil || entry.result != nil
    default: false
    }
  }
}
