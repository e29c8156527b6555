import AgentTrace
public import TraceJudging

/// Results of cases for a terminal: a line a case, the evidence of what failed, a summary.
public struct ResultsReport {
  private let painter: Painter
  private let width: Int
  /// Characters of any text from a trace at most.
  private static let longest = 2_000

  /// - Parameter width: characters of a line that columns are laid out for, no less than 60; what does
  ///   not fit stands below each other in lines of ``longest`` characters at most.
  public init(painter: Painter, width: Int = 120) {
    self.painter = painter
    self.width = max(60, width)
  }

  /// What is told of one case: one line where it passed, its evidence where it did not.
  public func lines(for result: CaseResult) -> [String] {
    var lines = [headline(result)]
    if let error = result.error {
      lines += Visible.lines(error).map { "       " + Visible.line($0, width: Self.longest) }
    }
    for trial in result.trials {
      let told = trial.judgement.outcomes.filter { $0.outcome != .pass }
      lines += told.flatMap(self.lines(for:))
      lines += trial.judgement.warnings.map {
        "       " + painter.paint("warning", .warning) + ": "
          + Visible.line($0, width: Self.longest)
      }
      if trial.outcome != .pass { lines += more(trial, evidence: told.flatMap(\.events).min()) }
    }
    return lines
  }

  /// The last lines: how many cases had which outcome.
  public func summary(of results: EvalResults) -> [String] {
    let counts: [(CaseOutcome, String, Painter.Role)] = [
      (.pass, "passed", .good), (.fail, "failed", .bad), (.error, "could not be judged", .bad),
      (.inconclusive, "inconclusive", .warning),
    ]
    var parts: [String] = []
    for (outcome, words, role) in counts where outcome == .pass || results.count(outcome) > 0 {
      parts.append(painter.paint("\(results.count(outcome)) \(words)", role))
    }
    if !results.skipped.isEmpty { parts.append("\(results.skipped.count) skipped") }
    var lines = results.skipped.map {
      painter.paint("skip", .faint) + "   " + Visible.line("\($0.caseId): \($0.reason)")
    }
    lines.append("")
    lines.append(
      painter.paint(Figures.count(results.cases.count, "case"), .heading) + ": "
        + parts.joined(separator: ", "))
    return lines
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
    let pad = String(repeating: " ", count: 7 - word.count)
    return painter.paint(word, role) + pad + Visible.line(result.caseId, width: width - 30)
      + painter.paint(checks, .faint)
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
      "       " + Visible.line(outcome.expectation) + " " + painter.paint(word, role) + ": "
        + Visible.line(outcome.message, width: Self.longest)
    ]
    lines += sideBySide(outcome.expected, outcome.actual)
    if !outcome.events.isEmpty {
      let shown = outcome.events.prefix(20).map(String.init).joined(separator: " ")
      let rest = outcome.events.count > 20 ? " …" : ""
      lines.append(painter.paint("         events    \(shown)\(rest)", .faint))
    }
    return lines
  }

  /// Expected and actual beside each other where both are short, below each other where not.
  private func sideBySide(_ expected: String?, _ actual: String?) -> [String] {
    let indent = "         "
    let column = (width - indent.count - 3) / 2
    let left = expected.map(Visible.lines) ?? []
    let right = actual.map(Visible.lines) ?? []
    guard !left.isEmpty || !right.isEmpty else { return [] }
    guard (left + right).allSatisfy({ $0.count <= column }), !left.isEmpty, !right.isEmpty else {
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

  private func labelled(_ label: String, _ text: [String]) -> [String] {
    text.enumerated().map { index, line in
      let lead = Self.padded(index == 0 ? label : "", 10)
      return "         " + painter.paint(lead, .faint) + Visible.line(line, width: Self.longest)
    }
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// The commands that show more of a run.
  private func more(_ trial: TrialResult, evidence seq: Int?) -> [String] {
    let log = ShellWord.quote(trial.log)
    var commands = ["agent-eval show \(log)"]
    if let seq { commands.append("agent-eval replay \(log) --event \(seq)") }
    return commands.enumerated().map { index, command in
      "         " + painter.paint(Self.padded(index == 0 ? "more" : "", 10), .faint) + command
    }
  }
}

/// A text as one word of a POSIX shell, to be copied from a terminal.
enum ShellWord {
  static func quote(_ text: String) -> String {
    let visible = Visible.line(text)
    let isPlain = visible.unicodeScalars.allSatisfy { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "/", "=", ":", "@", "+": true
      default: false
      }
    }
    guard !isPlain || visible.isEmpty else { return visible }
    return "'" + visible.replacing("'", with: "'\\''") + "'"
  }
}
