import AgentTrace
public import TraceJudging

extension Difference {
  /// The difference in one sentence; what came from a trace is not made visible yet.
  var sentence: String {
    let (old, new) = (accepted ?? "nothing", actual ?? "nothing")
    switch kind {
    case .callMissing: return "\(place) was not made: \(old)"
    case .callAdded where effect == .regression:
      return "\(place) was not accepted, and no expectation names it: \(new)"
    case .callReplaced where effect == .regression:
      return "\(place): \(old) → \(new), which no expectation names"
    case .callAdded: return "\(place) was not accepted: \(new)"
    case .callReplaced: return "\(place): \(old) → \(new)"
    case .callMoved: return "\(place) moved: \(old) → \(new)"
    case .check where accepted == nil: return "\(place) is new, and fails"
    case .check: return "\(place): \(Self.words(old)) → \(Self.words(new))"
    case .outcome: return "the case: \(Self.words(old)) → \(Self.words(new))"
    case .steps, .tokens, .cost: return "\(place): \(old) → \(new)\(growth)"
    case .skip: return "the case is left out: \(old) → \(new)"
    case .expectationDeleted: return "expectation deleted: \(place) \(old)"
    case .expectationAdded: return "expectation added: \(place) \(new)"
    case .expectationWeakened: return "expectation weakened: \(place) \(old) → \(new)"
    case .expectationStrengthened: return "expectation strengthened: \(place) \(old) → \(new)"
    case .expectationChanged: return "expectation changed: \(place) \(old) → \(new)"
    case .stop: return "stop: \(old) → \(new)"
    case .verdict, .status, .validity, .decision:
      return "\(place) \(kind.rawValue): \(old) → \(new)"
    case .approval, .attempts, .evidence:
      // A place that is none of a call says itself what it is.
      return step == nil && !place.hasPrefix("call ")
        ? "\(place): \(old) → \(new)" : "\(place) \(kind.rawValue): \(old) → \(new)"
    // A digest tells a person nothing but that it is another one.
    case .policy where accepted != nil && actual != nil: return "another \(place)"
    case .argument, .answer, .invalidDecisions, .model, .policy, .limits, .policyContext:
      return "\(place): \(old) → \(new)"
    case .input where place.hasSameUTF8(as: Difference.goalPlace):
      return "the run had another goal: \(old) → \(new)"
    case .input, .human, .conditions, .trials:
      return "the case's \(place) was edited: \(old) → \(new)"
    case .agent, .recording: return "the case names another \(place): \(old) → \(new)"
    case .agentFile: return "the agent's file was edited"
    }
  }

  private static func words(_ outcome: String) -> String { outcome.replacing("_", with: " ") }

  /// By how much something grew, in whole per cent.
  private var growth: String {
    guard let old = accepted.flatMap(Double.init), let new = actual.flatMap(Double.init), old > 0,
      new / old < 1e6
    else { return "" }
    return " (+\(Int((new / old * 100 - 100).rounded()))%)"
  }
}

extension CaseComparison.Kind {
  /// The word at the beginning of a line.
  var word: String {
    switch self {
    case .regressed: "REGRESSED"
    case .notCompared: "NOT COMPARED"
    case .new: "new"
    case .fixed: "fixed"
    case .changed: "changed"
    case .same: "same"
    }
  }

  var role: Painter.Role {
    switch self {
    case .regressed: .bad
    case .notCompared, .new, .changed: .warning
    case .fixed, .same: .good
    }
  }
}

extension CaseComparison {
  /// The word at the beginning of a line: in capitals where it fails.
  var word: String { isRed ? kind.word.uppercased() : kind.word }

  var role: Painter.Role { isRed ? .bad : kind.role }
}

/// What is told of a comparison, in lines for a person.
struct ComparisonLines {
  let painter: Painter
  /// Characters of any text from a trace at most.
  var longest = 2_000
  /// Differences that are told one by one.
  var most = 12

  /// The lines below the name of a case; none where it is as it was accepted.
  func lines(for comparison: CaseComparison) -> [String] {
    var lines: [String] = []
    if let reason = comparison.reason {
      lines.append(Visible.line(reason, width: longest))
    }
    let differences = comparison.differences
    if let run = comparison.run, !differences.isEmpty {
      lines.append(painter.paint("run \(run)", .heading))
    }
    if let first = differences.first(where: \.isOfPath), differences.count > 1 {
      let step = first.step.map { ", step \($0)" } ?? ""
      lines.append(painter.paint("first difference\(step)", .heading))
      lines += self.lines(for: first)
    }
    let rest = self.rest(of: differences)
    let shown = rest.prefix(most)
    if !shown.isEmpty, rest.count < differences.count {
      lines.append(painter.paint("further differences", .heading))
    }
    for difference in shown { lines += self.lines(for: difference) }
    if comparison.isRed, comparison.kind == .changed {
      lines.append(painter.paint("nothing is worse; strict, so that it fails", .faint))
    }
    let untold = rest.count - shown.count + comparison.untold
    if untold > 0 { lines.append("  and \(Figures.count(untold, "difference")) more") }
    return lines
  }

  /// All but the first difference of the path: regressions first, in their order otherwise.
  private func rest(of differences: [Difference]) -> [Difference] {
    var rest = differences
    if rest.count > 1, let first = rest.firstIndex(where: \.isOfPath) { rest.remove(at: first) }
    return rest.filter { $0.effect == .regression } + rest.filter { $0.effect != .regression }
  }

  private func lines(for difference: Difference) -> [String] {
    let (mark, role): (String, Painter.Role) =
      switch difference.effect {
      case .regression: ("✗", .bad)
      case .improvement: ("✓", .good)
      case .neutral: ("·", .faint)
      }
    return [
      "  " + painter.paint(mark, role) + " " + Visible.line(difference.sentence, width: longest)
    ]
  }
}

extension ResultsReport {
  /// What is told of a change that may be accepted, before its text is shown.
  ///
  /// - Parameters:
  ///   - place: how far one is, such as `2 of 5`.
  ///   - outcome: what the judge says of the case; `nil` where it is left out.
  public func lines(
    forChange caseId: String, _ place: String, outcome: CaseOutcome?,
    _ comparison: CaseComparison?, isNew: Bool
  ) -> [String] {
    let known = isNew ? CaseComparison(kind: .new) : comparison
    let word = known.map { painter.paint($0.word, $0.role) + "  " } ?? ""
    let said = outcome.map { "  \($0.words)" } ?? "  left out"
    let head =
      painter.paint("\(place)  ", .faint) + word
      + painter.paint(Visible.line(caseId, width: width - 30), .heading)
      + painter.paint(said, outcome == .fail ? .bad : .faint)
    let lines = comparison.map { ComparisonLines(painter: painter).lines(for: $0) } ?? []
    return [head] + lines.map { "  " + $0 }
  }
}
