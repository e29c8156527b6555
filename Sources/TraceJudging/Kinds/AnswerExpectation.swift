import AgentTrace
import TraceMatching

/// What the run's last answer is.
struct AnswerExpectation: EndExpectation {
  var matcher: Matcher

  static let key = "answer"
  static let summary = ExpectationSummary(
    takes: "a [matcher](matchers.md)",
    holds: "the last answer matches; a plain text is the whole answer")

  static var schema: JSONValue {
    ["description": "What the last answer is.", "$ref": "#/$defs/textMatcher"]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    guard case .string(let text)? = run.answer?.value else { return [] }
    return [[key: ["$literal": .string(text)]]]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.textMatcher(value, at: pointer, allowsOrigins: true).map(Self.init(matcher:))
  }

  var needs: TrajectoryNeeds {
    matcher.usesOrigins ? [.body, .answer, .results] : [.body, .answer]
  }
  var facts: Facts { [] }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    MatcherProof.shows(change.now, within: change.was, isText: true)
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { [outcome(run.view)] }

  private func outcome(_ view: CallView) -> ExpectationOutcome {
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
    case (.match, nil) where !Self.asksForAbsence(matcher.source):
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

  static func addConformance(to book: inout ConformanceBook) {
    func said(_ text: String) -> Run { Run { run in run.end(text) } }
    book.check("a plain text is the whole answer", "done", on: said("done"), is: .pass)
    book.check("a part of it is not", "done", on: said("all done"), is: .fail)
    book.check("unless it says so", ["$contains": "done"], on: said("all done"), is: .pass)
    let silent = Run { $0.stop(.blocked) }
    book.check("no answer at all", ["$contains": "done"], on: silent, is: .fail)
    book.check("no answer, as asked", ["$absent": true], on: silent, is: .pass)
    book.check(
      "what an answer must not say, and there is none", ["$not": ["$contains": "x"]], on: silent,
      is: .notExercised)
  }
}
