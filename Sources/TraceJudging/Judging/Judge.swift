public import AgentTrace
import TraceMatching

/// Holds a run against what a case expects of it. Pure: the same trajectory and expectations give the
/// same judgement, byte for byte.
///
/// Where the log shows that an expectation is met or broken, it passes or fails, whatever else is
/// missing; where the answer may lie in what is missing, it is unverifiable. (Docs/expectations.md.)
public enum Judge {
  /// What a judge cannot find out by itself.
  public struct Aids: Sendable {
    /// What the runs used that this one started; `nil` where nobody looked for them.
    public var subRuns: [RunTotals]?
    /// What a program says of the run; `nil` where programs may not be started.
    public var programs: [ProgramCheck: ProgramAnswer]

    /// What models say of the run, by the rubrics that were looked up.
    public var judged: [JudgeRule: JudgedRubric] = [:]

    /// Nothing is known but the run.
    public init(subRuns: [RunTotals]? = nil, programs: [ProgramCheck: ProgramAnswer] = [:]) {
      self.subRuns = subRuns
      self.programs = programs
    }
  }

  /// Judges a run.
  ///
  /// - Parameters:
  ///   - chronicle: What the run holds beyond its calls, gathered for these expectations; only
  ///     where ``Expectations/facts`` ask for something.
  ///   - aids: What others found out.
  ///   - warns: Whether slips in the expectations are looked for.
  /// - Complexity: O(entries · calls) matches, and as many steps again for each augmenting path; the
  ///   matches are bounded one by one (see `Matcher`).
  public static func judge(
    _ trajectory: Trajectory, _ chronicle: Chronicle? = nil, against expectations: Expectations,
    aids: Aids = Aids(), warns: Bool = true
  ) -> Judgement {
    let view = CallView(trajectory)
    var contexts = 0
    var outcomes = Self.outcomes(view, chronicle, expectations, aids, &contexts)
    for part in expectations.parts {
      for var outcome in Self.outcomes(view, chronicle, part.expectations, aids, &contexts) {
        if !part.name.isEmpty { outcome.expectation = "\(part.name).\(outcome.expectation)" }
        outcome.severity = part.severity
        outcomes.append(outcome)
      }
    }
    return Judgement(
      outcomes: outcomes, warnings: warns ? ToolWarnings(trajectory).all(of: expectations) : [])
  }

  /// - Parameter contexts: how many rules on contexts were judged before.
  private static func outcomes(
    _ view: CallView, _ chronicle: Chronicle?, _ expectations: Expectations, _ aids: Aids,
    _ contexts: inout Int
  ) -> [ExpectationOutcome] {
    var outcomes: [ExpectationOutcome] = []
    if let reasons = expectations.stopReasons { outcomes.append(stop(reasons, view)) }
    outcomes += positive(expectations, view)
    if let entries = expectations.toolsNotCalled {
      outcomes += negative(entries, "toolsNotCalled", .executed, view)
    }
    if let entries = expectations.toolsProposed {
      outcomes += proposed(entries, expectations, view)
    }
    if let entries = expectations.toolsNotProposed {
      outcomes += negative(entries, "toolsNotProposed", .proposed, view)
    }
    if let limit = expectations.maxSteps { outcomes.append(steps(limit, view)) }
    if let limit = expectations.maxToolCalls { outcomes.append(toolCalls(limit, view)) }
    if let matcher = expectations.answer { outcomes.append(answer(matcher, view)) }
    if !expectations.words.isEmpty {
      var judge = WordJudge(
        view: view, chronicle: chronicle, expectations: expectations, aids: aids,
        contextsTaken: contexts)
      for word in expectations.words { outcomes += judge.outcomes(word) }
      contexts = judge.contextsTaken
    }
    return outcomes
  }

  // MARK: Lists

  private static func positive(
    _ expectations: Expectations, _ view: CallView
  ) -> [ExpectationOutcome] {
    guard let entries = expectations.toolsCalled else { return [] }
    let name = "toolsCalled"
    switch expectations.order {
    case .any: return AnyOrder(entries, name, .executed, view).outcomes()
    case .inOrder: return [InOrder(entries, name, .executed, view).outcome()]
    case .exact: return [ExactOrder(entries, name, view).outcome()]
    }
  }

  private static func proposed(
    _ entries: [CallEntry], _ expectations: Expectations, _ view: CallView
  ) -> [ExpectationOutcome] {
    let name = "toolsProposed"
    guard expectations.order != .any else {
      return AnyOrder(entries, name, .proposed, view).outcomes()
    }
    var outcomes = [InOrder(entries, name, .proposed, view).outcome()]
    // `exact` speaks of executed calls. Where `toolsCalled` says what those are, that is judged there.
    if expectations.order == .exact, expectations.toolsCalled == nil {
      outcomes.append(noOther(entries, name, view))
    }
    return outcomes
  }

  /// No call was executed that is none of the proposed ones.
  private static func noOther(
    _ entries: [CallEntry], _ name: String, _ view: CallView
  ) -> ExpectationOutcome {
    var known: [Int: Trilean] = [:]
    for entry in entries {
      for (index, answer) in view.candidates(for: entry, .proposed) {
        known[index] = known[index] == .yes ? .yes : answer
      }
    }
    var unknown: Trajectory.Call?
    for (index, call) in view.calls.enumerated()
    where entries.contains(where: { $0.speaks(of: call.caller) }) {
      let executed = view.executed(call)
      if executed == .yes, known[index] == nil {
        return ExpectationOutcome(
          expectation: name, outcome: .fail, events: call.events,
          message: "A call was executed that is none of the proposed ones expected.",
          expected: "no other executed call", actual: CallWording.of(call))
      }
      if executed != .no, known[index] != .yes { unknown = unknown ?? call }
    }
    if let unknown {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable, events: unknown.events,
        message: "Whether a call is one of the proposed ones cannot be seen.",
        expected: "no other executed call", actual: CallWording.of(unknown))
    }
    if view.mayHideCalls {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable,
        message: "Whether no other call was executed cannot be seen: \(view.whyHidden).")
    }
    return ExpectationOutcome(
      expectation: name, outcome: .pass, message: "No other call was executed.")
  }

  private static func negative(
    _ entries: [CallEntry], _ name: String, _ scope: CallView.Scope, _ view: CallView
  ) -> [ExpectationOutcome] {
    entries.enumerated().map { index, entry in
      Counting(entry, "\(name)[\(index)]", scope, view, isForbidden: true).outcome()
    }
  }

  // MARK: Single values

  private static func stop(_ reasons: [StopReason], _ view: CallView) -> ExpectationOutcome {
    var expected = ""
    for reason in reasons { expected += (expected.isEmpty ? "" : " or ") + reason.rawValue }
    func outcome(
      _ outcome: Outcome, _ events: [Int], _ message: String, _ actual: String?
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: "stopReason", outcome: outcome, events: events, message: message,
        expected: expected, actual: actual)
    }
    let trajectory = view.trajectory
    guard let stop = trajectory.stop else {
      if trajectory.recorded["stop"] != nil {
        return outcome(.unverifiable, [], "Why the run ended was not recorded.", nil)
      }
      return outcome(
        .unverifiable, [],
        view.gaps.isEmpty
          ? "The log has no stop: the run was never closed."
          : "Why the run ended cannot be seen: \(view.whyHidden).", nil)
    }
    let actual = stop.reason.rawValue + (stop.detail.map { " (\(CallWording.short($0)))" } ?? "")
    if !stop.isFinal, view.hidesBehind(stop.seq) {
      return outcome(
        .unverifiable, [stop.seq], "The run may have gone on: \(view.whyHidden).", actual)
    }
    return reasons.contains(stop.reason)
      ? outcome(.pass, [stop.seq], "The run stopped as \(actual).", actual)
      : outcome(.fail, [stop.seq], "The run stopped as \(actual), not as \(expected).", actual)
  }

  private static func steps(_ limit: Int, _ view: CallView) -> ExpectationOutcome {
    let steps = view.trajectory.steps
    let beyond = view.calls.first { $0.step > limit }?.outline.seq
    return bound(
      "maxSteps", steps, limit, "step", mayBeMore: view.mayHideCalls,
      events: (beyond ?? view.trajectory.stop?.seq).map { [$0] } ?? [], view)
  }

  private static func toolCalls(_ limit: Int, _ view: CallView) -> ExpectationOutcome {
    let calls = view.agentsCalls
    let executed = calls.filter { view.executed($0) == .yes }
    let mayBeMore = view.mayHideCalls || calls.contains { view.executed($0) == .unknown }
    let beyond = executed.count > limit ? executed[limit].events : []
    return bound(
      "maxToolCalls", executed.count, limit, "executed call", mayBeMore: mayBeMore,
      events: beyond, view)
  }

  static func bound(
    _ name: String, _ count: Int, _ limit: Int, _ what: String, plural: String? = nil,
    mayBeMore: Bool, events: [Int], _ view: CallView
  ) -> ExpectationOutcome {
    func say(_ count: Int) -> String { "\(count) \(count == 1 ? what : plural ?? what + "s")" }
    let (expected, actual) = ("at most \(say(limit))", say(count))
    if count > limit {
      return ExpectationOutcome(
        expectation: name, outcome: .fail, events: events,
        message: "The run took \(actual), \(count - limit) more than allowed.",
        expected: expected, actual: actual)
    }
    if mayBeMore {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable,
        message: "There may have been more than \(actual): \(view.whyHidden).",
        expected: expected, actual: "at least \(actual)")
    }
    return ExpectationOutcome(
      expectation: name, outcome: .pass, message: "The run took \(actual).", expected: expected,
      actual: actual)
  }

  private static func answer(_ matcher: Matcher, _ view: CallView) -> ExpectationOutcome {
    func outcome(
      _ outcome: Outcome, _ events: [Int], _ message: String, _ expected: String,
      _ actual: String?
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: "answer", outcome: outcome, events: events, message: message,
        expected: expected, actual: actual)
    }
    let asked = CallWording.short(matcher.description)
    let answer = view.trajectory.answer
    if view.mayHideAnswer {
      return outcome(
        .unverifiable, [], "The last answer may not be the one seen: \(view.whyHidden).", asked,
        answer?.value.excerpt)
    }
    let origins: Origins = { view.values(of: $0, before: answer?.seq ?? .max) }
    switch (matcher.match(answer?.value, from: origins), answer) {
    case (.match, nil) where !asksForAbsence(matcher.source):
      return outcome(
        .notExercised, [], "The run gave no answer that could be held against this.", asked,
        "no answer")
    case (.match, let answer):
      return outcome(
        .pass, answer.map { [$0.seq] } ?? [],
        answer == nil ? "The run gave no answer." : "The answer matches.", asked,
        answer?.value.excerpt ?? "no answer")
    case (.mismatch, nil):
      return outcome(
        .fail, view.trajectory.stop.map { [$0.seq] } ?? [], "The run gave no answer.", asked,
        "no answer")
    case (.mismatch(let mismatch), let answer?):
      return outcome(
        .fail, [answer.seq], "The answer does not match.", mismatch.expected, mismatch.actual)
    case (.unverifiable(let why), let answer):
      return outcome(
        .unverifiable, answer.map { [$0.seq] } ?? [],
        "The answer cannot be verified: \(why).", asked, answer?.value.excerpt)
    }
  }

  /// Whether a matcher says in so many words that nothing may be there, rather than what must not be.
  private static func asksForAbsence(_ matcher: JSONValue) -> Bool {
    guard let object = matcher.objectValue else { return false }
    if object["$absent"]?.boolValue == true { return true }
    return ["$anyOf", "$oneOf", "$allOf"].contains { name in
      object[name]?.arrayValue?.contains(where: asksForAbsence) ?? false
    }
  }
}
