public import AgentTrace
public import TraceJudging

/// What a judge said of a run, as it goes along with it.
struct RunResult {
  var caseId: String
  var outcome: CaseOutcome
  var expectations: [ExpectationOutcome]
}

/// The outcomes of many runs, by the runs' identifiers.
public struct RunResults: Sendable {
  private var byRun: [String: [RunResult]] = [:]

  /// No outcomes.
  public init() {}

  /// Those of a results file.
  ///
  /// - Throws: `ResultsError` where it is none, or does not agree with itself.
  public init(decoding json: JSONValue) throws(ResultsError) {
    for result in try EvalResults(decoding: json).cases {
      for trial in result.trials {
        byRun[trial.runId, default: []].append(
          RunResult(
            caseId: result.caseId, outcome: trial.outcome, expectations: trial.judgement.outcomes))
      }
    }
  }

  /// Whether there are none.
  public var isEmpty: Bool { byRun.isEmpty }

  subscript(runId: String) -> [RunResult] { byRun[runId] ?? [] }
}

extension RunResult {
  /// Each outcome as an event `gen_ai.evaluation.result`, with a score only where it is a yes or a no.
  func events(at nanoseconds: UInt64) -> [ExportSpan.Event] {
    expectations.map { expectation in
      var attributes: [(key: String, value: JSONValue)] = [
        ("gen_ai.evaluation.name", .string("\(caseId)/\(expectation.expectation)")),
        ("gen_ai.evaluation.score.label", .string(expectation.outcome.rawValue)),
        ("gen_ai.evaluation.explanation", .string(expectation.message)),
      ]
      switch expectation.outcome {
      case .pass: attributes.append(("gen_ai.evaluation.score.value", ExportSpan.fraction(1)))
      case .fail: attributes.append(("gen_ai.evaluation.score.value", ExportSpan.fraction(0)))
      case .notExercised, .unverifiable: break
      }
      return ExportSpan.Event(
        name: "gen_ai.evaluation.result", nanoseconds: nanoseconds, attributes: attributes)
    }
  }
}
