import AgentTrace
public import TraceJudging

/// Results of cases for a terminal: a line a case, the evidence of what failed, a summary.
public struct ResultsReport {
  let painter: Painter
  let width: Int
  /// Characters of a line, however few: what does not fit beside each other stands below each other.
  private let columns: Int
  /// Characters of any text from a trace at most.
  private static let longest = 2_000

  /// - Parameter width: characters of a line that columns are laid out for, no less than 60; what does
  ///   not fit stands below each other in lines of ``longest`` characters at most.
  public init(painter: Painter, width: Int = 120) {
    self.painter = painter
    self.width = max(60, width)
    columns = width
  }

  /// All results: what failed first, then what could not be judged, what is open and what passed, a
  /// summary last. Cases that passed are counted beyond ``mostPassed``.
  public func lines(for results: EvalResults) -> [String] {
    var lines: [String] = []
    let passed = results.cases.count { $0.standing == .pass && !$0.differs }
    for result in results.worstFirst where result.standing != .pass || result.differs {
      lines += self.lines(for: result) + [""]
    }
    lines += self.lines(forGone: results)
    let quiet = results.cases.lazy.filter { $0.standing == .pass && !$0.differs }
    for result in quiet.prefix(Self.mostPassed) {
      lines += self.lines(for: result)
    }
    if passed > Self.mostPassed {
      lines.append(
        painter.paint("pass   and \(passed - Self.mostPassed) more", .faint))
    }
    if passed == 0, results.skipped.isEmpty, lines.last == "" { lines.removeLast() }
    return lines + summary(of: results)
  }

  /// Cases that are left out though they were judged, baselines without a case, and those that nobody
  /// can read.
  private func lines(forGone results: EvalResults) -> [String] {
    var lines: [String] = []
    for skipped in results.skipped {
      guard let comparison = skipped.comparison, comparison.kind != .same || needsLook(comparison)
      else { continue }
      lines.append(
        word(comparison.word, comparison.role)
          + painter.paint(Visible.line(skipped.caseId, width: width - 30), .heading))
      lines += comparisonLines(comparison).map { Self.indent(true) + $0 } + [""]
    }
    guard let suite = results.comparison else { return lines }
    for gone in suite.gone {
      lines.append(
        word("GONE", .bad) + painter.paint(Visible.line(gone.caseId, width: width - 30), .heading)
          + painter.paint("  " + Visible.line(gone.path, width: 500), .faint))
      lines.append(Self.indent(true) + "its baseline is there, and the case is not")
      lines.append("")
    }
    if let worsened = suite.worsened {
      lines += [word("WORSE", .bad) + Visible.line(worsened, width: Self.longest), ""]
    }
    for unusable in suite.unusable {
      lines.append(word("UNUSABLE", .bad) + Visible.line(unusable, width: Self.longest))
      lines.append("")
    }
    return lines
  }

  private func needsLook(_ comparison: CaseComparison) -> Bool { !comparison.differences.isEmpty }

  private func comparisonLines(_ comparison: CaseComparison) -> [String] {
    ComparisonLines(painter: painter, longest: Self.longest).lines(for: comparison)
  }

  private func word(_ text: String, _ role: Painter.Role) -> String {
    painter.paint(text, role) + String(repeating: " ", count: max(1, 13 - text.count))
  }

  private static func indent(_ isCompared: Bool) -> String {
    String(repeating: " ", count: isCompared ? 13 : 7)
  }

  /// Cases that passed and are named on a terminal.
  private static let mostPassed = 200
  /// Cases that were left out that are told one by one, at most.
  private static let mostSkipped = 100

  /// What is told of one case: one line where it passed, its evidence where it did not.
  public func lines(for result: CaseResult) -> [String] {
    [headline(result)]
      + evidence(of: result, mostOutcomes: .max, mostTrials: .max).map {
        Self.indent(result.comparison != nil) + $0
      }
  }

  /// What is told of a case below its headline.
  ///
  /// - Parameters:
  ///   - mostOutcomes: outcomes of a trial that are told; the others are counted.
  ///   - mostTrials: trials that are told, of those that have something to tell.
  func evidence(of result: CaseResult, mostOutcomes: Int, mostTrials: Int) -> [String] {
    var lines: [String] = []
    if let comparison = result.comparison {
      lines += comparisonLines(comparison)
      // What fails as it was accepted is nobody's business today.
      if comparison.kind == .same || comparison.kind == .changed {
        return lines + (result.outcome == .pass ? untestedLines(of: result, mostOutcomes) : [])
      }
      if !lines.isEmpty, result.outcome != .pass, !result.isComparedAlone {
        lines.append(painter.paint("what the judge says", .heading))
      }
    }
    lines += trialLines(of: result)
    if let error = result.error {
      lines += Self.told(error).map { Visible.line($0, width: Self.longest) }
    }
    if let reason = result.notRun {
      lines.append(
        painter.paint("not run", .warning) + ": " + Visible.line(reason, width: Self.longest))
    }
    var told = 0
    for (index, trial) in result.trials.enumerated() {
      let outcomes = trial.judgement.outcomes.filter { $0.outcome != .pass }
      guard !outcomes.isEmpty || !trial.judgement.warnings.isEmpty || trial.outcome != .pass else {
        continue
      }
      told += 1
      guard told <= mostTrials else { continue }
      if result.trials.count > 1 {
        lines.append(painter.paint("run \(index + 1) of \(result.trials.count)", .heading))
      }
      if let error = trial.error {
        lines.append(
          painter.paint("counts for nothing", .warning) + ": "
            + Visible.line(error, width: Self.longest))
        if trial.isLasting {
          lines.append("no other trial was made: it would come to the same until that is mended")
        }
      }
      lines += outcomes.prefix(mostOutcomes).flatMap(self.lines(for:))
      if outcomes.count > mostOutcomes {
        lines.append("and \(Figures.count(outcomes.count - mostOutcomes, "check")) more")
      }
      lines += trial.judgement.warnings.prefix(mostOutcomes).map {
        painter.paint("warning", .warning) + ": " + Visible.line($0, width: Self.longest)
      }
      if trial.outcome != .pass { lines += more(trial, evidence: outcomes.flatMap(\.events).min()) }
    }
    if told > mostTrials { lines.append("and \(Figures.count(told - mostTrials, "run")) more") }
    return lines
  }

  /// What the trials of a case say together; nothing where it has no plan of them.
  func trialLines(of result: CaseResult) -> [String] {
    guard let statistics = result.statistics, let plan = result.plan else { return [] }
    let rate = statistics.rate
    let needed =
      plan.rates.map { "to tell \(Self.percent($0.good)) from \(Self.percent($0.bad))" }
      ?? "\(plan.isSafety ? plan.trials : plan.passThreshold) of \(plan.trials) needed"
    var line = "\(rate.successes) of \(Figures.count(rate.trials, "trial")) passed, \(needed)"
    let left = (statistics.counts[.error] ?? 0) + (statistics.counts[.inconclusive] ?? 0)
    if left > 0 { line += ", \(left) decided nothing" }
    if let share = rate.rate {
      let interval = rate.interval()
      line +=
        "; rate \(Self.percent(share)), 95 % interval \(Self.percent(interval.low)) to "
        + Self.percent(interval.high)
    }
    var lines = [painter.paint(line, .faint)]
    if statistics.isFlaky {
      lines.append(
        painter.paint("flaky", .warning) + ": the same agent on the same input passed and failed")
    }
    if plan.isSafety, rate.successes < rate.trials {
      lines.append(painter.paint("a safety case: one failure is one too many", .bad))
    }
    if statistics.moreTrials > 0 {
      lines.append("\(Figures.count(statistics.moreTrials, "more trial")) would decide at least")
    }
    return lines
  }

  /// Per cent without places.
  private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

  /// The last lines: how many cases had which outcome.
  public func summary(of results: EvalResults) -> [String] {
    var lines = skipped(in: results)
    lines.append("")
    lines.append(tally(of: results))
    if let shard = results.shard {
      let cut = shard.isWhole ? "" : "; it was called off before its end"
      lines.append(
        painter.paint(
          "shard \(shard.index) of \(shard.count), which have "
            + "\(Figures.count(shard.suiteCases, "case"))\(cut)", .faint))
    }
    return lines
  }

  /// A line for each case that was left out, with why; behind many of them how many more there are.
  public func skipped(in results: EvalResults) -> [String] {
    var lines = results.skipped.prefix(Self.mostSkipped).map {
      painter.paint("skip", .faint) + "   " + Visible.line("\($0.caseId): \($0.reason)")
    }
    if results.skipped.count > Self.mostSkipped {
      lines.append(
        painter.paint("skip   and \(results.skipped.count - Self.mostSkipped) more", .faint))
    }
    return lines
  }

  /// `3 cases: 1 passed, 2 failed`.
  func tally(of results: EvalResults) -> String {
    let counts: [(CaseOutcome, Painter.Role)] = [
      (.pass, .good), (.fail, .bad), (.error, .bad), (.inconclusive, .warning),
    ]
    var parts: [String] = []
    let notRun = results.cases.count { $0.notRun != nil && $0.trials.isEmpty }
    for (outcome, role) in counts {
      let count = results.count(outcome) - (outcome == .inconclusive ? notRun : 0)
      guard outcome == .pass || count > 0 else { continue }
      parts.append(painter.paint("\(count) \(outcome.words)", role))
    }
    if notRun > 0 { parts.append(painter.paint("\(notRun) not run", .warning)) }
    if !results.skipped.isEmpty { parts.append("\(results.skipped.count) skipped") }
    if let suite = results.comparison { parts += compared(results, suite) }
    return painter.paint(Figures.count(results.cases.count, "case"), .heading) + ": "
      + parts.joined(separator: ", ")
  }

  /// How the cases compare, as parts of the last line.
  private func compared(_ results: EvalResults, _ suite: SuiteComparison) -> [String] {
    var parts: [String] = []
    for kind in CaseComparison.Kind.allCases {
      let count = results.count(kind)
      guard count > 0 || kind == .regressed else { continue }
      let isRed = kind == .changed && results.hasStrictChanges
      let role: Painter.Role = count == 0 ? .good : isRed ? .bad : kind.role
      parts.append(painter.paint("\(count) \(kind.word.lowercased())", role))
    }
    if !suite.gone.isEmpty { parts.append(painter.paint("\(suite.gone.count) gone", .bad)) }
    if !suite.unusable.isEmpty {
      parts.append(painter.paint("\(suite.unusable.count) unusable", .bad))
    }
    parts[0] = "against \(Visible.line(suite.against, width: 200)): " + parts[0]
    return parts
  }

  /// What a case that passes did not test, a line each.
  private func untestedLines(of result: CaseResult, _ most: Int) -> [String] {
    let untested = result.trials.flatMap(\.judgement.outcomes).filter {
      $0.outcome == .notExercised
    }
    let told = untested.prefix(most).flatMap { lines(for: $0).prefix(1) }
    let more = untested.count - told.count
    return told + (more > 0 ? ["and \(Figures.count(more, "check")) more"] : [])
  }

  private func headline(_ result: CaseResult) -> String {
    let (word, role): (String, Painter.Role) =
      switch result.outcome {
      case .pass: ("pass", .good)
      case .fail: ("FAIL", .bad)
      case .inconclusive: ("open", .warning)
      case .error: ("ERROR", .bad)
      }
    let outcomes = result.trials.flatMap(\.judgement.outcomes)
    let passed = outcomes.count { $0.outcome == .pass }
    let checks = outcomes.isEmpty ? "" : "  \(passed) of \(Figures.count(outcomes.count, "check"))"
    if let comparison = result.comparison { return headline(result, comparison, checks) }
    let pad = String(repeating: " ", count: 7 - word.count)
    let name = Visible.line(result.caseId, width: width - 30)
    // Where to look, for what needs a look.
    let place = result.outcome == .pass ? "" : "  " + Visible.line(result.position, width: 500)
    return painter.paint(word, role) + pad
      + (place.isEmpty ? name : painter.paint(name, .heading))
      + painter.paint(checks + place, .faint)
  }

  /// The first line of a case that was compared.
  private func headline(
    _ result: CaseResult, _ comparison: CaseComparison, _ checks: String
  ) -> String {
    let name = Visible.line(result.caseId, width: width - 36)
    let needsLook = result.standing != .pass || result.differs
    let place = needsLook ? "  " + Visible.line(result.position, width: 500) : ""
    let outcome =
      result.outcome == .pass
      ? "" : "  \(result.outcome.words)" + (comparison.kind == .same ? " as accepted" : "")
    return word(comparison.word, comparison.role)
      + (needsLook ? painter.paint(name, .heading) : name)
      + painter.paint(outcome, result.standing == .pass ? .warning : .bad)
      + painter.paint(checks + place, .faint)
  }

  private func lines(for outcome: ExpectationOutcome) -> [String] {
    let (word, role): (String, Painter.Role) =
      switch outcome.outcome {
      case .pass: ("passed", .good)
      case .fail where outcome.severity == .warning: ("warns", .warning)
      case .fail: ("failed", .bad)
      case .notExercised: ("not exercised", .warning)
      case .unverifiable: ("unverifiable", .warning)
      }
    var lines = [
      Visible.line(outcome.expectation, width: Self.longest) + " " + painter.paint(word, role)
        + ": "
        + Visible.line(outcome.message, width: Self.longest)
    ]
    lines += sideBySide(outcome.expected, outcome.actual)
    if !outcome.events.isEmpty {
      let shown = outcome.events.prefix(20).map(String.init).joined(separator: " ")
      let rest = outcome.events.count > 20 ? " …" : ""
      lines.append(painter.paint("  events    \(shown)\(rest)", .faint))
    }
    lines += labelled(
      "judged by",
      outcome.judgements.prefix(25).map { "event \($0.seq) of \(ShellWord.quote($0.log))" })
    return lines
  }

  /// Expected and actual beside each other where both are short, below each other where not.
  private func sideBySide(_ expected: String?, _ actual: String?) -> [String] {
    let indent = "  "
    let room = columns - 7 - indent.count - 3
    let left = expected.map(Self.told) ?? []
    let right = actual.map(Self.told) ?? []
    guard !left.isEmpty || !right.isEmpty else { return [] }
    let column = left.reduce("expected".count) { max($0, $1.count) }
    let isNarrow = (right + ["actual"]).allSatisfy { $0.count <= room - column }
    guard isNarrow, column <= room, !left.isEmpty, !right.isEmpty else {
      return labelled("expected", left) + labelled("actual", right)
    }
    let head = indent + Self.padded("expected", column) + " │ actual"
    var lines = [painter.paint(head, .faint)]
    for index in 0..<max(left.count, right.count) {
      let (a, b) = (index < left.count ? left[index] : "", index < right.count ? right[index] : "")
      lines.append(indent + Self.padded(a, column) + painter.paint(" │ ", .faint) + b)
    }
    return lines
  }

  /// The lines of a value, as many as anybody reads.
  private static func told(_ text: String) -> [String] {
    let lines = Visible.lines(CaseText.cut(text, 20_000))
    guard lines.count > 100 else { return lines }
    return lines.prefix(100) + ["… and \(lines.count - 100) more lines"]
  }

  private func labelled(_ label: String, _ text: [String]) -> [String] {
    text.enumerated().map { index, line in
      let lead = Self.padded(index == 0 ? label : "", 10)
      return "  " + painter.paint(lead, .faint) + Visible.line(line, width: Self.longest)
    }
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// The commands that show more of a run.
  private func more(_ trial: TrialResult, evidence seq: Int?) -> [String] {
    // No path of a file is longer.
    guard trial.log.utf8.count <= 4_096 else { return [] }
    let log = ShellWord.path(trial.log)
    // Numbers of a tree are those of all its logs in one row.
    let isTree = trial.judgedFrom == "tree"
    var commands = ["agent-eval show \(log)" + (isTree ? " --tree" : "")]
    if let seq, !isTree { commands.append("agent-eval replay \(log) --event \(seq)") }
    return commands.enumerated().map { index, command in
      "  " + painter.paint(Self.padded(index == 0 ? "more" : "", 10), .faint) + command
    }
  }
}

/// A text as one word of a shell, to be copied from a terminal.
public enum ShellWord {
  /// The word: as it stands where no shell reads anything into it, else between quotes. What would act on the terminal,
  /// and bytes of a path that are no text, stand by their numbers in `$'…'`, which bash, zsh and ksh read.
  public static func quote(_ text: String) -> String {
    if text.unicodeScalars.contains(where: \.isHidden) { return escaped(text) }
    let isPlain = text.unicodeScalars.allSatisfy { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "/", "=", ":", "@", "+": true
      default: false
      }
    }
    guard !isPlain || text.isEmpty else { return text }
    return "'" + text.replacing("'", with: "'\\''") + "'"
  }

  /// The word for a path: one that begins with a hyphen would be read as an option.
  public static func path(_ path: String) -> String {
    quote(path.utf8.first == UInt8(ascii: "-") ? "./" + path : path)
  }

  private static func escaped(_ text: String) -> String {
    var word = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "'", "\\": word += "\\\(scalar)"
      case "\n": word += "\\n"
      case "\t": word += "\\t"
      case "\r": word += "\\r"
      // A byte of a path that is no UTF-8; see FilePaths.
      case "\u{10fe00}"..."\u{10feff}": word += octal(UInt8(truncatingIfNeeded: scalar.value))
      case _ where scalar.isHidden: word += scalar.utf8.map(octal).joined()
      default: word.unicodeScalars.append(scalar)
      }
    }
    return "$'\(word)'"
  }

  /// Three digits, so that what stands behind them is never read as one.
  private static func octal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 8)
    return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
  }
}
