/// What the words about time mean, written down as plainly as it can be: by looking at every pair.
/// Knows nothing of the judge.
enum PlainTimeOracle {
  /// A call: its tool, whether it ran, and which decision it belongs to. The n-th decision is step
  /// n, from 1; calls of one decision have no order among themselves.
  struct Call {
    var tool: String
    var ran = true
    var group: Int

    var step: Int { group + 1 }
  }

  /// A rule on calls that ran.
  struct Rule {
    var claim: String
    var tool: String
    var relation: String?
    var other: String = ""
    var within: Int?
  }

  /// `pass`, `fail` or `not_exercised`.
  static func outcome(_ rule: Rule, _ all: [Call]) -> String {
    let calls = all.filter(\.ran)
    // “only a” speaks against every call that is not a.
    let bad = calls.filter { rule.claim == "only" ? $0.tool != rule.tool : $0.tool == rule.tool }
    let others = calls.filter { $0.tool == rule.other }
    func near(_ earlier: Call, _ later: Call) -> Bool {
      earlier.group < later.group && (rule.within.map { later.step - earlier.step <= $0 } ?? true)
    }
    func said(_ holds: Bool) -> String { holds ? "pass" : "fail" }
    switch (rule.claim, rule.relation) {
    case ("eventually", _):
      return said(
        calls.contains { call in
          call.tool == rule.tool && (rule.within.map { call.step <= $0 } ?? true)
        })
    case ("expect", "before"):
      if others.isEmpty { return "not_exercised" }
      return said(others.allSatisfy { other in bad.contains { near($0, other) } })
    case ("expect", _):
      if others.isEmpty { return "not_exercised" }
      return said(others.allSatisfy { other in bad.contains { near(other, $0) } })
    case (_, nil): return said(bad.isEmpty)
    case (_, "after"):
      for other in others where bad.contains(where: { near(other, $0) }) { return "fail" }
      return others.isEmpty ? "not_exercised" : "pass"
    default:
      for call in bad where !others.contains(where: { $0.group < call.group }) { return "fail" }
      if others.isEmpty { return rule.relation == "until" ? "fail" : "not_exercised" }
      return "pass"
    }
  }
}
