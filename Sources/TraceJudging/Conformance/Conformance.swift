public import AgentTrace

/// The edge cases of the language, each with the outcome that it must have.
public enum Conformance {
  /// One edge case.
  public struct Check: Sendable {
    /// The word of the language that it is about.
    public var rule: String
    /// The case, as a sentence.
    public var title: String
    /// The evaluator, and its version, that was seen to answer otherwise; `nil` for our own.
    public var peer: String?
    /// What is expected of the run, where it is judged by expectations.
    public var expected: JSONValue?
    /// The run that is judged, where there is one.
    public var events: [Event] = []
    /// Whether its log ends without its end.
    public var isTorn = false
    /// What a model is taken to have said of each statement, vote by vote.
    public var votes: [Outcome] = []
    /// The outcome that it must have.
    public var wanted: String
    /// The outcome that it has.
    public var actual: String
    /// What the judge says, in its words.
    public var messages: [String]

    /// Whether the outcome is the wanted one.
    public var isRight: Bool { wanted == actual }

    /// The wire form, one line of `agent-eval conformance --json`.
    public var json: JSONValue {
      .object(
        JSONObject(
          [
            ("rule", .string(rule)), ("case", .string(title)),
            ("peer", peer.map(JSONValue.string) ?? .null), ("wanted", .string(wanted)),
            ("actual", .string(actual)), ("right", .bool(isRight)),
            ("messages", JSONValue(messages)),
          ] + (expected.map { [("expected", $0)] } ?? [])))
    }
  }
}

/// Collects edge cases and judges them.
package struct ConformanceBook {
  package private(set) var checks: [Conformance.Check] = []
  /// The word that the next cases are about.
  package var rule = ""
  /// Who errs on the next cases.
  package var peer: String?

  /// Those of each expectation, of what several of them share, and those on which others err.
  package static var ofExpectations: ConformanceBook {
    var book = ConformanceBook()
    for kind in Expectations.kinds {
      book.rule = kind.key
      kind.addConformance(to: &book)
    }
    book.addArguments()
    book.addOrigins()
    book.addUnreadCalls()
    book.addStrays()
    book.addPeers()
    return book
  }

  /// Adds a case that is judged by expectations.
  package mutating func add(
    _ title: String, _ expected: JSONValue, on run: ConformanceRun, graded votes: [Outcome] = [],
    is wanted: Outcome
  ) {
    var check = Conformance.Check(
      rule: rule, title: title, peer: peer, expected: expected, events: run.events,
      isTorn: run.isTorn, votes: votes, wanted: wanted.rawValue, actual: "", messages: [])
    do {
      let judgement = run.judge(try Expectations(parsing: expected), graded: votes)
      check.actual = Self.sum(judgement.outcomes).rawValue
      check.messages = judgement.outcomes.map { "\($0.expectation): \($0.message)" }
    } catch {
      check.actual = "error"
      check.messages = ["\(error)"]
    }
    checks.append(check)
  }

  /// Adds a case that is judged by one expectation, the one that the cases are about.
  mutating func check(
    _ title: String, _ value: JSONValue, on run: ConformanceRun, graded votes: [Outcome] = [],
    is wanted: Outcome
  ) {
    add(title, .object(JSONObject([(rule, value)])), on: run, graded: votes, is: wanted)
  }

  /// Adds a case whose expectations are a mistake.
  package mutating func add(_ title: String, mistaken expected: JSONValue) {
    var check = Conformance.Check(
      rule: rule, title: title, peer: peer, expected: expected, wanted: "error", actual: "accepted",
      messages: [])
    do { _ = try Expectations(parsing: expected) } catch {
      check.actual = "error"
      check.messages = error.problems.map(\.description)
    }
    checks.append(check)
  }

  /// Adds a case that something else than expectations decides.
  package mutating func add(_ title: String, wanted: String, actual: String, _ message: String) {
    checks.append(
      Conformance.Check(
        rule: rule, title: title, peer: peer, expected: nil, wanted: wanted, actual: actual,
        messages: [message]))
  }

  /// What several outcomes say together.
  private static func sum(_ outcomes: [ExpectationOutcome]) -> Outcome {
    for outcome in [Outcome.fail, .unverifiable, .pass]
    where outcomes.contains(where: { $0.outcome == outcome }) {
      return outcome
    }
    return .notExercised
  }
}
