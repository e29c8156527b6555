import AgentTrace
import TraceMatching

/// Rules of a scripted tool, found by what they ask for: hundreds that each wait for an input of their own are not
/// all looked at for each call.
struct ScriptedRules: Sendable {
  private let rules: [ScriptedTool.Rule]
  /// By the place that a rule looks at: by the value that has to stand there, the rules that wait for it.
  private var byValue: [[String]: [JSONValue: [Int]]] = [:]
  /// Those that may fit whatever stands anywhere.
  private var others: [Int] = []

  init(_ rules: [ScriptedTool.Rule]) {
    self.rules = rules
    for (index, rule) in rules.enumerated() {
      if let wanted = rule.condition?.requiredScalar {
        byValue[wanted.path, default: [:]][wanted.value.byValue, default: []].append(index)
      } else {
        others.append(index)
      }
    }
  }

  /// The first rule that fits.
  ///
  /// - Complexity: linear in the rules that wait for what stands there, and in those that wait for nothing in
  ///   particular.
  func first(for view: JSONValue) -> ScriptedTool.Rule? {
    var candidates = others
    for (path, rules) in byValue {
      let value = path.reduce(view as JSONValue?) { $0?[$1] }
      if let value, let found = rules[value.byValue] { candidates += found }
    }
    return candidates.sorted().lazy.map { rules[$0] }.first {
      $0.condition?.match(view).isMatch ?? true
    }
  }
}
