import AgentTrace
import TraceJudging

/// The keys of a case that say how often it is run live.
enum TrialFile {
  static let trialLimit = 1_000

  static let rates = Shape<TrialPlan.SequentialRates>.record(
    TrialPlan.SequentialRates(good: 0, bad: 0),
    [
      Field("good", .share, \.good, required: true, "The rate of success that is good enough."),
      Field("bad", .share, \.bad, required: true, "The rate that is not; lower."),
      Field(
        "falseAlarms", .share, \.falseAlarms, "How often a good rate may be called bad; 0.05."),
      Field("misses", .share, \.misses, "How often a bad rate may be called good; 0.05."),
    ]
  ).map { rates, reader in
    guard rates.test == nil else { return rates }
    return reader.refuse(
      "no test tells these rates apart",
      hint: "“bad” is below “good”, and both errors are below one half")
  }

  /// Gives a case that says nothing of trials those of the defaults.
  static func fill(_ draft: inout CaseFile.Draft, from defaults: SharedParts.Defaults) {
    guard draft.trials == nil, draft.passThreshold == nil, draft.rates == nil else { return }
    draft.trials = defaults.trials
    if !draft.isSafety { draft.passThreshold = defaults.passThreshold }
  }

  /// The plan of a case; `nil` where it asks for none, or after reporting what is wrong with it.
  static func plan(of draft: CaseFile.Draft, _ reader: FieldReader) -> TrialPlan? {
    guard
      draft.trials != nil || draft.passThreshold != nil || draft.isSafety || draft.rates != nil
    else { return nil }
    let trials = draft.trials ?? 1
    if let threshold = draft.passThreshold {
      if threshold > trials {
        reader.report(
          "\(threshold) trials have to pass, and there are \(trials)",
          hint: "say with “trials” how many are made", deeper: [.key("passThreshold")])
      }
      if draft.isSafety, threshold < trials {
        reader.report(
          "a safety case passes only if every trial does",
          hint: "leave “passThreshold” out", deeper: [.key("passThreshold")])
      }
      if draft.rates != nil {
        reader.report(
          "“rates” decides when the case passes, and so does “passThreshold”",
          hint: "keep one of them", deeper: [.key("passThreshold")])
      }
    }
    return TrialPlan(
      trials: trials, passThreshold: draft.passThreshold, isSafety: draft.isSafety,
      rates: draft.rates)
  }
}

extension Shape where Value == Double {
  /// A number between 0 and 1, neither of them included.
  static var share: Shape {
    Shape(
      ["type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1],
      expected: "a number between 0 and 1"
    ) { value in value.doubleValue.flatMap { $0 > 0 && $0 < 1 ? $0 : nil } }
  }
}
