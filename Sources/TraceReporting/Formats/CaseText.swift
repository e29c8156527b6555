import TraceJudging

/// What a report tells of one case, in lines that no terminal, page or parser acts on.
///
/// All formats tell the same: what the judge said that was not a pass, with its evidence, and the
/// commands that show more. They differ in how they frame and escape it.
struct CaseText {
  /// Outcomes of one trial, and trials of one case, that are told in full.
  static let mostOutcomes = 50
  static let mostTrials = 20

  var result: CaseResult
  var place: SourcePlace
  /// Checks in all trials, and how many of them passed.
  var checks: Int
  var passed: Int

  init(of result: CaseResult, in context: ReportContext) {
    self.result = result
    place = SourcePlace(result.position, in: context)
    checks = result.trials.reduce(0) { $0 + $1.judgement.outcomes.count }
    passed = result.trials.reduce(0) { sum, trial in
      sum + trial.judgement.outcomes.count { $0.outcome == .pass }
    }
  }

  /// The case's name on one line.
  var name: String { Visible.line(result.caseId, width: 500) }

  /// What happened in one line: the first thing to know, and how much more there is.
  var headline: String {
    if let comparison = result.comparison, comparison.kind != .new || comparison.isFault {
      return headline(of: comparison)
    }
    if let error = result.error {
      return Visible.lines(Self.cut(error, 2_000)).first { !$0.isEmpty } ?? "could not be judged"
    }
    let decisive = result.trials.flatMap(\.judgement.outcomes).filter(decides)
    guard let first = decisive.first else {
      return result.trials.isEmpty ? "nothing was judged" : "nothing was exercised"
    }
    let more = decisive.count > 1 ? " (and \(decisive.count - 1) more)" : ""
    return "\(Visible.line(first.expectation, width: 200)): "
      + Visible.line(first.message, width: 1_000) + more
  }

  /// The first thing to know of a comparison.
  private func headline(of comparison: CaseComparison) -> String {
    if let reason = comparison.reason { return Visible.line(reason, width: 1_000) }
    let regressions = comparison.differences.filter { $0.effect == .regression }
    guard let first = regressions.first ?? comparison.differences.first else {
      return result.words
    }
    let more = regressions.count > 1 ? " (and \(regressions.count - 1) more)" : ""
    return Visible.line(first.sentence, width: 1_000) + more
  }

  /// Whether an expectation's outcome is why the case is what it is.
  private func decides(_ outcome: ExpectationOutcome) -> Bool {
    switch result.outcome {
    case .fail: outcome.outcome == .fail && outcome.severity == .error
    case .inconclusive: outcome.outcome == .unverifiable && outcome.severity == .error
    case .pass: outcome.outcome == .fail
    case .error: false
    }
  }

  /// Everything in lines, without the name of the case; empty where all passed.
  func lines() -> [String] {
    let report = ResultsReport(painter: Painter(isColoured: false), width: 120)
    return report.evidence(of: result, mostOutcomes: Self.mostOutcomes, mostTrials: Self.mostTrials)
  }

  /// The first so many scalars, with a word on what is left out.
  static func cut(_ text: String, _ count: Int) -> String {
    let scalars = text.unicodeScalars
    guard
      let end = scalars.index(
        scalars.startIndex, offsetBy: count, limitedBy: scalars.endIndex), end < scalars.endIndex
    else { return text }
    return String(scalars[..<end]) + "…"
  }
}

extension CaseOutcome {
  /// The outcome as people read it.
  var words: String {
    switch self {
    case .pass: "passed"
    case .fail: "failed"
    case .inconclusive: "inconclusive"
    case .error: "could not be judged"
    }
  }

  /// What is told first: what failed, what could not be judged, what is open, what passed.
  var rank: Int {
    switch self {
    case .fail: 0
    case .error: 1
    case .inconclusive: 2
    case .pass: 3
    }
  }
}

extension CaseResult {
  /// What became of it as people read it.
  var words: String {
    guard let comparison else { return outcome.words }
    let said = outcome == .pass || isComparedAlone ? "" : ", \(outcome.words)"
    return switch comparison.kind {
    case .regressed: "regressed" + said
    case .notCompared: "not compared" + said
    case .new: isComparedAlone ? "new" : "new, \(outcome.words)"
    case .fixed: "fixed" + said
    case .changed: "changed" + said
    case .same: outcome == .pass ? "passed as accepted" : "\(outcome.words) as accepted"
    }
  }

  /// Whether the comparison is all there is to tell of it: its case is gone or left out, say.
  var isComparedAlone: Bool {
    comparison != nil && trials.isEmpty && error == nil && notRun == nil
  }

  /// Whether it was compared, and something is not as it was accepted.
  var differs: Bool { comparison.map { !$0.differences.isEmpty } ?? false }
}

extension EvalResults {
  /// Whether a case fails though it has only changed.
  var hasStrictChanges: Bool {
    let comparisons = cases.compactMap(\.comparison) + skipped.compactMap(\.comparison)
    return comparisons.contains { $0.kind == .changed && $0.isRed }
  }

  /// The results with what only a comparison shows as cases of their own: baselines whose case is gone,
  /// those that nobody can read, and cases that are left out now.
  var told: EvalResults {
    guard let suite = comparison else { return self }
    func lone(_ caseId: String, _ position: String, _ comparison: CaseComparison) -> CaseResult {
      var result = CaseResult(caseId: caseId, position: position)
      result.comparison = comparison
      return result
    }
    var told = self
    for skipped in skipped {
      guard let comparison = skipped.comparison, comparison.kind != .same else { continue }
      // New and left out is nothing that fails, unless it needs a baseline.
      if comparison.kind == .new, !comparison.isFault { continue }
      told.cases.append(lone(skipped.caseId, comparison.path.map { "\($0):1" } ?? "", comparison))
    }
    for gone in suite.gone {
      told.cases.append(
        lone(
          gone.caseId, "\(gone.path):1",
          CaseComparison(
            kind: .regressed, reason: "the case is gone; its baseline is there", path: gone.path)))
    }
    if let worsened = suite.worsened {
      told.cases.append(
        lone("(suite)", "", CaseComparison(kind: .regressed, reason: worsened)))
    }
    for unusable in suite.unusable {
      told.cases.append(
        lone("(unknown)", "", CaseComparison(kind: .notCompared, reason: unusable, isFault: true)))
    }
    return told
  }

  /// The cases, those that failed first; in their own order otherwise.
  var worstFirst: [CaseResult] {
    (0...3).flatMap { rank in cases.filter { $0.standing.rank == rank } }
  }

  /// `3 cases: 1 passed, 2 failed`.
  var sentence: String {
    ResultsReport(painter: Painter(isColoured: false)).tally(of: self)
  }
}
