import AgentTrace
import TraceMatching

/// A run that is held against some expectations.
struct JudgedRun {
  let view: CallView
  /// Empty where none was gathered; then nothing is asked of it.
  let gathered: GatheredFacts
  let expectations: Expectations
  let aids: Judge.Aids
  /// The place of each call by its id.
  let callIndices: [String: Int]
  /// How many rules on contexts were judged; gathering watches for them in this order.
  private(set) var contextsTaken: Int

  private static let nothingGathered = GatheredFacts(for: Expectations())

  init(
    view: CallView, gathered: GatheredFacts?, expectations: Expectations, aids: Judge.Aids,
    contextsTaken: Int
  ) {
    self.contextsTaken = contextsTaken
    self.view = view
    self.gathered = gathered ?? Self.nothingGathered
    self.expectations = expectations
    self.aids = aids
    var indices: [String: Int] = [:]
    if !self.gathered.facts.isEmpty {
      for (index, call) in view.calls.enumerated()
      // What is said by an id is said of the call that a decision holds.
      where !call.outline.isStray || indices[call.outline.callId] == nil {
        indices[call.outline.callId] = index
      }
    }
    callIndices = indices
  }

  /// What is said of the run by all of them, in their order.
  mutating func outcomes() -> [ExpectationOutcome] {
    var outcomes: [ExpectationOutcome] = []
    for one in expectations.all {
      guard gathered.facts.isSuperset(of: one.base.facts) else {
        outcomes.append(
          ExpectationOutcome(
            expectation: one.key, outcome: .unverifiable,
            message: "What this needs of the run was not gathered."))
        continue
      }
      if view.trajectory.isPipeline, let why = Self.pipelinesLack[one.key] {
        outcomes.append(
          ExpectationOutcome(expectation: one.key, outcome: .unverifiable, message: why))
        continue
      }
      let own = one.base.outcomes(in: &self)
      outcomes += view.trajectory.isPipeline ? withoutStrangers(own, of: one.base) : own
    }
    return outcomes
  }

  /// Outcomes of which none passes that speaks of a caller who is no task of the pipeline: whatever is forbidden to such
  /// a one never happens.
  private func withoutStrangers(
    _ outcomes: [ExpectationOutcome], of expectation: any Expectation
  ) -> [ExpectationOutcome] {
    let tasks = view.trajectory.tasks ?? []
    var outcomes = outcomes
    for named in expectation.namedTools {
      guard let caller = named.call?.pattern, !caller.mayName(tasks) else {
        continue
      }
      for index in outcomes.indices
      where outcomes[index].outcome == .pass
        && outcomes[index].expectation.hasSameUTF8(as: named.place)
      {
        outcomes[index].outcome = .unverifiable
        outcomes[index].message =
          "The caller “\(CallWording.short(caller.text))” is no task of the pipeline, or no element of one."
      }
    }
    return outcomes
  }

  /// What speaks of something that a pipeline does not have by itself, by the keys of expectations.
  private static let pipelinesLack = [
    MaxSteps.key: "A pipeline has no steps; its tasks have, and callers speaks of them.",
    ContextExpectation.key:
      "A pipeline shows nothing to a model; its tasks do, and callers speaks of them.",
    EvidenceExpectation.key: "A pipeline cites nothing; its tasks do, and callers speaks of them.",
  ]

  /// What was watched for the next rule on contexts; `nil` where facts were gathered for others.
  mutating func takeContextWatch() -> ContextWatch? {
    defer { contextsTaken += 1 }
    guard gathered.contexts.indices.contains(contextsTaken) else { return nil }
    return gathered.contexts[contextsTaken]
  }

  // MARK: Counting

  func bound(
    _ name: String, _ count: Int, _ limit: Int, _ what: String, plural: String? = nil,
    mayBeMore: Bool, events: [Int]
  ) -> ExpectationOutcome {
    func say(_ count: Int) -> String { Figures.count(count, what, plural: plural) }
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

  /// Judges how often something was seen.
  func count(
    _ name: String, _ times: CallEntry.Times, _ isForbidden: Bool,
    _ found: [(answer: Trilean, events: [Int])], mayBeMore: Bool, _ what: String,
    whyMore: @autoclosure () -> String
  ) -> ExpectationOutcome {
    let certain = found.filter { $0.answer == .yes }
    let possible = found.filter { $0.answer == .unknown }
    let least = certain.count
    let most = mayBeMore ? Int.max : least + possible.count
    let isWithin: Trilean =
      most < times.minimum || least > times.maximum ?? .max
      ? .no : least >= times.minimum && most <= times.maximum ?? .max ? .yes : .unknown
    let isDefault = times.minimum == 1 && times.maximum == nil
    let expected =
      (isForbidden ? "not: " : "") + what + (isDefault ? "" : ", \(times)")
    func outcome(_ outcome: Outcome, _ events: [Int], _ message: String) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: events, message: message,
        expected: CallWording.short(expected), actual: Counting.count(least))
    }
    let said = least == 0 ? "It never happened." : "It happened \(Counting.count(least))."
    switch (isWithin, isForbidden) {
    case (.unknown, _):
      if let first = possible.first {
        return outcome(.unverifiable, first.events, "Whether this is one cannot be seen.")
      }
      return outcome(.unverifiable, [], "How often cannot be seen: \(whyMore()).")
    case (.yes, false):
      return outcome(.pass, certain.prefix(times.minimum).flatMap(\.events), said)
    case (.no, true): return outcome(.pass, [], said)
    case (.yes, true):
      return outcome(.fail, certain.prefix(max(1, times.minimum)).flatMap(\.events), said)
    case (.no, false):
      if let maximum = times.maximum, least > maximum {
        return outcome(.fail, certain[maximum].events, said)
      }
      return outcome(
        .fail, certain.flatMap(\.events) + (view.trajectory.stop.map { [$0.seq] } ?? []), said)
    }
  }

  /// Where attempts begin beyond the first of their call.
  func retries(of calls: [Trajectory.Call]) -> GatheredFacts.Retries {
    gathered.retries(of: calls)
  }
}

extension JSONValue {
  /// Whether part of it is lost or cut, so that equal bytes do not mean equal values.
  var hidesSomething: Bool {
    switch self {
    case .lost, .cut: true
    case .array(let elements): elements.contains(where: \.hidesSomething)
    case .object(let object): object.contains { $0.value.hidesSomething }
    default: false
    }
  }
}
