public import AgentTrace

/// The judge's word on one expectation. Raw values are the wire format.
public enum Outcome: String, Sendable, Hashable, CaseIterable {
  /// What is expected was seen to have happened.
  case pass
  /// Something else was seen to have happened.
  case fail
  /// The condition that the expectation speaks of never arose.
  case notExercised = "not_exercised"
  /// The answer lies where the log has nothing to show.
  case unverifiable
}

/// The judge's word on a case, or on one trial of it. Raw values are the wire format.
public enum CaseOutcome: String, Sendable, Hashable, CaseIterable {
  /// Something passed, and nothing else was said but that it was not exercised.
  case pass
  /// An expectation failed.
  case fail
  /// Nothing failed, but something could not be verified, or nothing was exercised.
  case inconclusive
  /// The case could not be judged at all.
  case error

  /// What the outcomes of a case's expectations say together: any fail is `fail`; else any
  /// unverifiable one, or none that was exercised, is `inconclusive`; else `pass`.
  public init(of outcomes: some Sequence<Outcome>) {
    var (hasPass, hasUnverifiable) = (false, false)
    for outcome in outcomes {
      switch outcome {
      case .fail:
        self = .fail
        return
      case .pass: hasPass = true
      case .unverifiable: hasUnverifiable = true
      case .notExercised: break
      }
    }
    self = hasPass && !hasUnverifiable ? .pass : .inconclusive
  }
}

/// What it means for a case that an expectation is not met. Raw values are the wire format.
public enum Severity: String, Sendable, Hashable, CaseIterable {
  /// The case fails.
  case error
  /// It is told, and decides nothing.
  case warning
}

/// What the judge says of one expectation, with the evidence.
public struct ExpectationOutcome: Sendable, Hashable {
  /// Which expectation: its place below `expected` in the case, such as `stopReason` or
  /// `toolsCalled[1]`.
  public var expectation: String
  /// The word on it.
  public var outcome: Outcome
  /// The numbers of the fewest events that show it, each once, oldest first.
  public var events: [Int]
  /// One sentence for a person.
  public var message: String
  /// What was asked, where that can stand beside ``actual``.
  public var expected: String?
  /// What was there instead.
  public var actual: String?
  /// What it means if it is not met.
  public var severity = Severity.error
  /// The judgements of models that it rests on.
  public var judgements: [JudgementSource] = []

  /// Sorts the events and leaves out what stands twice.
  public init(
    expectation: String, outcome: Outcome, events: [Int] = [], message: String,
    expected: String? = nil, actual: String? = nil
  ) {
    self.expectation = expectation
    self.outcome = outcome
    let isSorted = events.indices.dropFirst().allSatisfy { events[$0 - 1] < events[$0] }
    self.events = isSorted ? events : Set(events).sorted()
    self.message = message
    self.expected = expected
    self.actual = actual
  }

  /// The wire form: an element of `expectations` in results.
  public var json: JSONValue {
    var object: JSONObject = [
      "expectation": .string(expectation), "outcome": .string(outcome.rawValue),
      "events": .array(events.map { JSONValue($0) }), "message": .string(message),
    ]
    object["expected"] = expected.map(JSONValue.string)
    object["actual"] = actual.map(JSONValue.string)
    if !judgements.isEmpty { object["judgements"] = .array(judgements.map(\.json)) }
    if severity != .error { object["severity"] = .string(severity.rawValue) }
    return .object(object)
  }
}

/// All that the judge says of one run.
public struct Judgement: Sendable, Hashable {
  /// One for each expectation, in the order of ``Expectations/keyNames`` and of their lists.
  public var outcomes: [ExpectationOutcome]
  /// What does not decide the outcome but looks like a mistake in the case.
  public var warnings: [String]

  /// Without outcomes, nothing was expected.
  public init(outcomes: [ExpectationOutcome], warnings: [String] = []) {
    self.outcomes = outcomes
    self.warnings = warnings
  }

  /// The outcome of the whole. An expectation that only warns counts as met, unless it was not
  /// exercised or cannot be verified; then it counts for nothing.
  public var outcome: CaseOutcome {
    // By index: copying an outcome costs more than looking at it.
    CaseOutcome(
      of: outcomes.indices.lazy.map { index in
        let outcome = outcomes[index].outcome
        guard outcomes[index].severity == .warning else { return outcome }
        return outcome == .pass || outcome == .fail ? .pass : .notExercised
      })
  }
}

extension Judgement {
  /// Leaves open what a judgement of the same run with another order of things that had none says otherwise.
  public mutating func leaveOpen(whereOtherwise other: Judgement) {
    var left = other.outcomes[...]
    for index in outcomes.indices {
      let name = outcomes[index].expectation
      guard let place = left.firstIndex(where: { $0.expectation.hasSameUTF8(as: name) }) else {
        leaveOpen(index)
        continue
      }
      let found = left.remove(at: place).outcome
      if found != outcomes[index].outcome { leaveOpen(index) }
    }
  }

  /// Says other numbers of the events that show its outcomes: those of another log that tells the same.
  public mutating func renumber(_ number: (Int) -> Int) {
    for index in outcomes.indices where !outcomes[index].events.isEmpty {
      outcomes[index].events = Set(outcomes[index].events.map(number)).sorted()
    }
  }

  /// Whether anything is said for sure of something that hangs on an order.
  package func isDecided(_ ordered: OrderedExpectation) -> Bool {
    outcomes.contains { ordered.says($0) && $0.outcome != .unverifiable }
  }

  /// Leaves open what hangs on an order that nobody knows.
  package mutating func leaveOpen(_ ordered: OrderedExpectation) {
    for index in outcomes.indices where ordered.says(outcomes[index]) { leaveOpen(index) }
  }

  /// Leaves open what hangs on an order that nobody knows, but for what is so whatever that was, because it is said of
  /// runs by themselves that have one.
  ///
  /// - Parameter other: of the same expectations, in which nothing is said of the other runs; see
  ///   ``GatheredFacts/leaveOpen(runs:)``.
  package mutating func leaveOpen(_ ordered: OrderedExpectation, butFor other: Judgement) {
    guard ordered.isOfCaller, other.outcomes.count == outcomes.count else {
      return leaveOpen(ordered)
    }
    for index in outcomes.indices where ordered.says(outcomes[index]) {
      if other.outcomes[index].outcome == .unverifiable {
        leaveOpen(index)
      } else {
        outcomes[index] = other.outcomes[index]
      }
    }
  }

  /// Leaves open what hangs on an order, and comes out otherwise in another.
  ///
  /// - Parameter other: of the same expectations.
  package mutating func leaveOpen(
    _ ordered: OrderedExpectation, whereOtherwise other: Judgement
  ) {
    guard other.outcomes.count == outcomes.count else { return leaveOpen(ordered) }
    for index in outcomes.indices
    where ordered.says(outcomes[index]) && outcomes[index].outcome != other.outcomes[index].outcome
    {
      leaveOpen(index)
    }
  }

  private mutating func leaveOpen(_ index: Int) {
    guard outcomes[index].outcome != .unverifiable else { return }
    let word = outcomes[index].outcome.rawValue.replacing("_", with: " ")
    outcomes[index].message =
      "It hangs on the order of runs that went side by side, which nobody knows; by the order of their starts: \(word). "
      + outcomes[index].message
    outcomes[index].outcome = .unverifiable
  }
}
