public import AgentTrace

/// Holds a run against expectations while it goes on, with the judge that holds its log against them
/// afterwards.
///
/// It takes only expectations that can be broken by what has happened and never mended by what comes:
/// so a run that the guard finds broken is one that the judge fails, and the other way round. What agents do that the run
/// calls it does not see: that neither breaks nor meets anything here, where a judge of the whole tree counts it.
public struct ExpectationGuard: Sendable {
  /// What the run is held against.
  public let expectations: Expectations
  private var trajectory = Trajectory()
  private var gathered: GatheredFacts
  private var step = 0
  private var time = 0
  /// Of the run of an agent that the guarded one called: how its events are told.
  private var tree = TreeEvents()
  private var member = TreeEvents.Member.root

  /// Nothing has happened yet.
  ///
  /// - Throws: ``ExpectationErrors`` with every expectation that only the end of a run can decide.
  public init(_ expectations: Expectations) throws(ExpectationErrors) {
    let problems = expectations.undecidable
    guard problems.isEmpty else { throw ExpectationErrors(problems: problems) }
    self.expectations = expectations
    gathered = GatheredFacts(for: expectations)
  }

  /// What is left of the guard for the runs of an agent that this one calls: of what breaks the tree where it breaks
  /// one of its runs, `nil` where that is nothing. Such a guard sees its own run alone.
  ///
  /// - Parameter tool: what the agent is called by.
  public func guarding(callsOf tool: String) -> ExpectationGuard? {
    let expectations = expectations.ofEachRun
    guard !expectations.isEmpty, var child = try? ExpectationGuard(expectations) else { return nil }
    child.member = member.called(by: tool)
    return child
  }

  /// Takes in the next event.
  public mutating func apply(_ event: Event) {
    let event = tree.event(event, of: member, seq: event.seq)
    trajectory.apply(event)
    gathered.apply(event)
    step = event.step
    time = event.t
  }

  /// The first expectation that what has happened so far breaks; `nil` where all hold.
  ///
  /// - Complexity: as judging what has happened so far.
  public func breach() -> ExpectationOutcome? {
    Judge.judge(trajectory, gathered, against: expectations, warns: false).outcomes
      .first { $0.outcome == .fail }
  }

  /// The first expectation that would be broken if these calls, which a decision has proposed, began
  /// now.
  ///
  /// - Parameters:
  ///   - callIds: the calls, in the order in which they would begin.
  ///   - verdict: the word of policy on the last of them, where it has not been taken in yet.
  public func breach(
    ifStarted callIds: [String], by verdict: Verdict? = nil
  ) -> ExpectationOutcome? {
    var copy = self
    if let verdict { copy.add(.policyDecision, verdict.encoded, step: step) }
    for callId in callIds {
      let told = member.told(callId: callId)
      guard let call = trajectory.calls.last(where: { $0.outline.callId.hasSameUTF8(as: told) })
      else { continue }
      // Where nothing asks for attempts they are not counted: then any that had not begun will do.
      let tried = gathered.attempts(at: told)
      let next = tried > 0 ? tried + 1 : call.outline.startedSeq == nil ? 1 : Int.max
      copy.add(
        .toolStarted,
        ToolStartedPayload(
          callId: callId, tool: call.tool, attempt: next, idempotencyKey: ""
        ).encoded, step: call.step)
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
    var found = all.flatMap(\.base.undecided).map { part in
      ExpectationProblem(
        pointer: JSONPointer(tokens: part.place), isKey: part.place.count == 1,
        message: "a guard cannot decide this: \(part.why)")
    }
    for (index, part) in parts.enumerated() {
      if part.severity == .warning {
        found.append(
          ExpectationProblem(
            pointer: JSONPointer(tokens: [String(index), Expectations.severityKey]),
            message: "a guard cannot decide this: a guard does not warn"))
      }
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
  var fluidity: String? {
    if times?.maximum != nil { return "one more call would mend it" }
    return hasPassingStatus ? Self.passingStatus : nil
  }

  /// Whether a call may be as it says now and not later.
  var hasPassingStatus: Bool { statuses?.contains(.unknown) ?? false }

  /// Why such an entry is not decided before the end.
  static let passingStatus = "a call is “unknown” only while it runs, or for ever"
}
