import AgentTrace
import TraceMatching

/// The answer is JSON, and this is what it says.
struct AnswerJSON: EndExpectation {
  var matcher: Matcher

  static let key = "answerJson"
  static let summary = ExpectationSummary(
    takes: "a matcher", holds: "the last answer, read as JSON, matches")

  static var schema: JSONValue {
    ExpectationSchema.described("What the last answer says, read as JSON.", "matcher")
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    guard case .string(let text)? = run.answer?.value,
      let value = try? JSONValue(parsing: FencedText.unfenced(text))
    else { return [] }
    return [[key: ["$exact": value]]]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.matcher(value, at: pointer, allowsOrigins: true).map(Self.init(matcher:))
  }

  var needs: TrajectoryNeeds { .all }
  var facts: Facts { .timeline }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    MatcherProof.shows(change.now, within: change.was)
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { [outcome(run.view)] }

  /// The answer read as JSON, alone or in one fenced block.
  private func outcome(_ view: CallView) -> ExpectationOutcome {
    let answer = view.trajectory.answer
    let asked = CallWording.short(matcher.description)
    func outcome(
      _ outcome: Outcome, _ message: String, _ expected: String? = nil, _ actual: String? = nil
    ) -> ExpectationOutcome {
      let end = view.trajectory.stop.map { [$0.seq] } ?? []
      return ExpectationOutcome(
        expectation: Self.key, outcome: outcome,
        events: answer.map { [$0.seq] } ?? (outcome == .fail ? end : []), message: message,
        expected: expected ?? asked, actual: actual ?? answer?.value.excerpt ?? "no answer")
    }
    if view.mayHideAnswer {
      return outcome(.unverifiable, "The last answer may not be the one seen: \(view.whyHidden).")
    }
    guard let answer else { return outcome(.fail, "The run gave no answer.") }
    guard case .string(let text) = answer.value else {
      return outcome(.unverifiable, "The answer is not whole in the log.")
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: FencedText.unfenced(text), options: .init(depthLimit: 128))
    } catch {
      return outcome(.fail, "The answer is no JSON: \(error)")
    }
    switch matcher.match(value, from: { view.values(of: $0, before: answer.seq) }) {
    case .match: return outcome(.pass, "The answer matches.")
    case .mismatch(let mismatch):
      let place = mismatch.pointer.tokens.isEmpty ? "" : " at \(mismatch.pointer)"
      return outcome(
        .fail, "The answer does not match\(place).", mismatch.expected, mismatch.actual)
    case .unverifiable(let why):
      return outcome(.unverifiable, "The answer cannot be verified: \(why).")
    }
  }

  static func addConformance(to book: inout ConformanceBook) {
    func said(_ text: String) -> Run {
      Run { run in run.end(text) }
    }
    book.check("JSON", ["ok": true], on: said("{\"ok\": true, \"n\": 1}"), is: .pass)
    book.check(
      "JSON in a fence", ["ok": true], on: said("```json\n{\"ok\": true}\n```\n"), is: .pass)
    book.check("another value", ["ok": true], on: said("{\"ok\": false}"), is: .fail)
    book.check("no JSON", ["ok": true], on: said("ok is true"), is: .fail)
    book.check("no answer", ["$any": true], on: Run { $0.stop(.blocked) }, is: .fail)
  }
}
