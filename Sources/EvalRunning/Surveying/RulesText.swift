import AgentTrace
import TraceJudging
import TraceMatching

extension RunSurveyor {
  /// A rules file to begin with: what holds on every run, each with how many runs show it, to be put on runs with
  /// `run --on`; `nil` where nothing does.
  ///
  /// - Parameter origin: what the runs were found in, for whoever finds the file in a year.
  public func rulesText(of origin: String) -> String? {
    let held = rules.filter { !$0.rules.holding.isEmpty }
    guard !held.isEmpty else { return nil }
    var lines = [
      "# What \(Figures.count(survey.runs, "run")) of \(PromotedCase.scalar(.string(origin))) \(survey.runs == 1 ? "shows" : "have in common"). Beside each expectation",
      "# stands how many runs show it; in the others it never arose. Leave out what is chance.",
      "#   agent-eval run THIS-FILE --on RUNS", "cases:",
    ]
    var names = RuleNames()
    for (group, mined) in rules {
      let holding = mined.holding
      if holding.isEmpty {
        lines.append(
          "  # Nothing holds on all \(mined.runs) runs of \(PromotedCase.scalar(.string(Self.title(group))))."
        )
        continue
      }
      lines.append(
        "  - caseId: \(PromotedCase.scalar(.string(names.name(for: Self.title(group)))))")
      if let group { lines.append(filter(group)) }
      lines.append("    expected:")
      lines += Self.expected(holding, of: mined.runs)
      lines += mined.failing.map { Self.comment(on: $0, of: mined.runs) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The runs that no rule of ``rulesText(of:)`` is for, since nothing holds on all of their group, as a sentence
  /// without its end; `nil` where there are none.
  public var withoutRules: String? {
    let groups = rules.filter { $0.rules.holding.isEmpty }
    guard !groups.isEmpty else { return nil }
    let runs = groups.reduce(0) { $0 + $1.rules.runs }
    let named = groups.prefix(3).map { "“\(Self.title($0.group))”" }.joined(separator: ", ")
    let more = groups.count > 3 ? " and \(groups.count - 3) more" : ""
    return
      "no rule is for \(runs) of \(survey.runs) runs (\(named)\(more)): nothing holds on all of "
      + (groups.count == 1 ? "them" : "each of these groups")
  }

  private static func title(_ group: Survey.Group?) -> String {
    guard let group else { return "every-run" }
    let agent = group.agent.isEmpty ? "runs" : group.agent
    let title = group.format.map { "\(agent)-\($0)" } ?? agent
    return group.hasAllCalls ? title : "\(title)-partial"
  }

  private func filter(_ group: Survey.Group) -> String {
    var keys = [
      "agent: \(PromotedCase.scalar(.string(Glob.escaping(group.agent))))",
      "format: \(PromotedCase.scalar(.string(Glob.escaping(group.format ?? ""))))",
    ]
    var other = group
    other.hasAllCalls.toggle()
    if survey.groups[other] != nil {
      keys.append("calls: \(group.hasAllCalls ? "whole" : "partial")")
    }
    return "    where: {\(keys.joined(separator: ", "))}"
  }

  private static func expected(_ rules: [MinedRules.Rule], of runs: Int) -> [String] {
    var lines: [String] = []
    var list = ""
    for rule in rules {
      let note = "  # \(rule.shown) of \(runs)"
      guard rule.isElement else {
        lines.append("      \(rule.key): \(PromotedCase.flow(rule.value))\(note)")
        continue
      }
      if rule.key != list { lines.append("      \(rule.key):") }
      list = rule.key
      lines.append("        - \(PromotedCase.flow(rule.value))\(note)")
    }
    return lines
  }

  /// A line on what does not hold everywhere, so that nobody takes it for looked at and found good.
  private static func comment(on rule: MinedRules.Rule, of runs: Int) -> String {
    var reasons: [String] = []
    if rule.broken > 0 { reasons.append("\(rule.broken) of \(runs) runs break it") }
    if rule.unverifiable > 0 {
      reasons.append("of \(rule.unverifiable) of \(runs) runs nobody can say")
    }
    if reasons.isEmpty { reasons.append("no run shows it") }
    return "      # not \(rule.key): \(PromotedCase.flow(rule.value)) – "
      + reasons.joined(separator: ", ")
  }
}

/// Ids of rules, each once.
private struct RuleNames {
  private var taken: Set<String> = []

  mutating func name(for title: String) -> String {
    var safe = ""
    for scalar in title.unicodeScalars.prefix(120) {
      safe.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7f ? "_" : scalar)
    }
    var name = safe
    var number = 2
    while !taken.insert(name).inserted {
      name = "\(safe)-\(number)"
      number += 1
    }
    return name
  }
}
