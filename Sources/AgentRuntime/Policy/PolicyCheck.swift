public import AgentTrace
import TraceMatching

/// What can be said of a policy without a run: rules that never decide, rules of which order alone
/// decides, globs that fit nothing, and what each tool may get.
///
/// Only what is certain is told: a rule that is not named as unreachable may be so all the same.
public struct PolicyCheck: Sendable {
  /// A rule that decides about no call, because earlier ones decide about all that it fits.
  public struct Unreachable: Sendable, Hashable {
    /// Its place among the rules.
    public var index: Int
    /// Its id.
    public var rule: String
    /// The earlier rules; empty where the rule fits no tool of the agent.
    public var coveredBy: [String]

    /// What to say of it.
    public var message: String {
      if coveredBy.isEmpty { return "the rule “\(rule)” fits no tool of the agent" }
      let names = coveredBy.prefix(5).map { "“\($0)”" }.joined(separator: ", ")
      return "the rule “\(rule)” never decides: \(names)\(coveredBy.count > 5 ? ", …" : "") "
        + "\(coveredBy.count == 1 ? "stands" : "stand") before it and "
        + "\(coveredBy.count == 1 ? "decides" : "decide") about all that it fits"
    }
  }

  /// Two rules that fit the same call, of which one allows it and the other does not, and which each fit
  /// others by themselves: which comes first is all that decides.
  public struct Contradiction: Sendable, Hashable {
    /// The place of the later rule.
    public var index: Int
    /// The rule that comes first, and decides.
    public var first: String
    /// What it says.
    public var firstVerdict: VerdictStatus
    /// The rule that comes later.
    public var second: String
    /// What it would say.
    public var secondVerdict: VerdictStatus
    /// A call that both fit, and the moment at which they do.
    public var example: JSONObject

    /// Whether the order errs on the safe side: the stricter rule decides.
    public var isStricterFirst: Bool { firstVerdict.strictness > secondVerdict.strictness }
  }

  /// A glob of a rule that fits no tool of the agent.
  public struct UnusedGlob: Sendable, Hashable {
    /// The id of the rule.
    public var rule: String
    /// The glob as it is written.
    public var glob: String
    /// The nearest tool that there is; `nil` where none is near.
    public var nearest: String?
  }

  /// What one tool may get.
  public struct ToolRow: Sendable {
    /// The tool.
    public var tool: ToolDefinition
    /// The rules that may decide, in order.
    public var rules: [RuleRow]
    /// What a call gets that none of them fits; `nil` where one of them fits every call.
    public var otherwise: VerdictStatus?
  }

  /// A rule that may decide about a tool.
  public struct RuleRow: Sendable, Hashable {
    /// Its id.
    public var rule: String
    /// What it says; where it asks an authorizer, what a call gets that this one gives no answer for.
    public var verdict: VerdictStatus
    /// Whom it asks; `nil` where it says so itself.
    public var authorizer: String?
    /// What must hold, in words; empty where it fits every call of the tool.
    public var conditions: [String]
  }

  /// How many rules are looked at; of later ones nothing is said.
  public static let ruleLimit = 1_000
  /// How many questions are asked at most to find contradictions.
  public static let questionLimit = 500_000
  /// How many contradictions are told at most.
  public static let contradictionLimit = 100

  /// Rules that never decide.
  public let unreachable: [Unreachable]
  /// Globs that fit nothing; empty without tools.
  public let unusedGlobs: [UnusedGlob]
  /// What each tool gets; empty without tools.
  public let tools: [ToolRow]

  private let rules: [Policy.Rule]
  private let definitions: [ToolDefinition]?

  /// Looks at a policy.
  ///
  /// - Parameters:
  ///   - policy: the rules, of which the first ``ruleLimit`` are looked at.
  ///   - definitions: the agent's tools; `nil` where the policy is to be looked at by itself.
  /// - Complexity: quadratic in the rules, at most ``ruleLimit``.
  public init(_ policy: Policy, tools definitions: [ToolDefinition]?) {
    let rules = Array(policy.rules.prefix(Self.ruleLimit))
    self.rules = rules
    self.definitions = definitions
    unreachable = Self.unreachable(rules, definitions)
    unusedGlobs = Self.unusedGlobs(rules, definitions)
    tools = (definitions ?? []).map { Self.row(of: $0, rules) }
  }

  // MARK: Reach

  private static func unreachable(
    _ rules: [Policy.Rule], _ tools: [ToolDefinition]?
  ) -> [Unreachable] {
    var found: [Unreachable] = []
    for (index, rule) in rules.enumerated() {
      guard let kinds = RuleReach(rule).kinds(among: tools) else { continue }
      var coveredBy: [Int] = []
      let isCovered = kinds.allSatisfy { kind in
        guard
          let earlier = rules[..<index].firstIndex(where: { RuleReach($0).covers(kind, of: rule) })
        else { return false }
        if !coveredBy.contains(earlier) { coveredBy.append(earlier) }
        return true
      }
      if isCovered {
        found.append(
          Unreachable(
            index: index, rule: rule.id, coveredBy: coveredBy.sorted().map { rules[$0].id }))
      }
    }
    return found
  }

  private static func unusedGlobs(
    _ rules: [Policy.Rule], _ tools: [ToolDefinition]?
  ) -> [UnusedGlob] {
    guard let names = tools?.map(\.name) else { return [] }
    var found: [UnusedGlob] = []
    for rule in rules {
      for glob in (rule.tools ?? []) + rule.pastCalls.map(\.tool)
      where !names.contains(where: { glob.matches($0) }) {
        let unused = UnusedGlob(
          rule: rule.id, glob: glob.text, nearest: Spelling.nearest(to: glob.text, among: names))
        if !found.contains(unused) { found.append(unused) }
      }
    }
    return found
  }

  private static func row(of tool: ToolDefinition, _ rules: [Policy.Rule]) -> ToolRow {
    var rows: [RuleRow] = []
    for rule in rules where RuleReach(rule).mayFit(tool) {
      let conditions = rule.conditionsInWords
      rows.append(
        RuleRow(
          rule: rule.id, verdict: rule.verdict, authorizer: rule.authorizer, conditions: conditions)
      )
      if conditions.isEmpty { return ToolRow(tool: tool, rules: rows, otherwise: nil) }
    }
    return ToolRow(tool: tool, rules: rows, otherwise: tool.sideEffect.verdictWithoutRule)
  }

  // MARK: Order

  /// Pairs of rules of which order alone decides, each with a call that shows it.
  ///
  /// Told is a pair only where three calls were found: one that both rules fit, and for each rule one
  /// that it fits alone. So an exception that stands before its rule is none.
  ///
  /// - Complexity: quadratic in the rules, with some thousand questions at most for each pair and
  ///   ``questionLimit`` in all; pairs that come later are passed over then.
  public func contradictions() -> [Contradiction] {
    let silent = Set(unreachable.map(\.index))
    var found: [Contradiction] = []
    var questionsLeft = Self.questionLimit
    for second in rules.indices where !silent.contains(second) {
      for first in rules[..<second].indices
      where !silent.contains(first)
        // What an authorizer says nobody knows beforehand.
        && rules[first].authorizer == nil && rules[second].authorizer == nil
        && (rules[first].verdict == .allow) != (rules[second].verdict == .allow)
      {
        var witness = PolicyWitness(rules[first], rules[second], tools: definitions)
        let example = questionsLeft > 0 ? witness.example() : nil
        questionsLeft -= witness.tries
        guard let example else { continue }
        found.append(
          Contradiction(
            index: second, first: rules[first].id, firstVerdict: rules[first].verdict,
            second: rules[second].id, secondVerdict: rules[second].verdict, example: example))
        if found.count == Self.contradictionLimit { return found }
      }
    }
    return found
  }
}

/// Which calls a rule fits, as far as that can be told without one.
struct RuleReach {
  let rule: Policy.Rule

  init(_ rule: Policy.Rule) { self.rule = rule }

  /// Calls that are alike in what can be told apart without values.
  struct Kind {
    /// A tool of the agent; `nil` where none are known.
    var tool: ToolDefinition?
    var sideEffect: SideEffect
    var toolGlob: Glob?
    var sensitivity: Glob?
    var actor: Glob?
    var tenant: Glob?
    var route: Glob?
  }

  /// How many kinds of calls of one rule are told apart.
  static let kindLimit = 4_096

  /// Whether the tool alone does not keep the rule from fitting.
  func mayFit(_ tool: ToolDefinition) -> Bool {
    (rule.sideEffects?.contains(tool.sideEffect) ?? true)
      && (rule.tools.map { $0.contains { $0.matches(tool.name) } } ?? true)
      && (rule.sensitivities.map { globs in
        tool.sensitivity.map { text in globs.contains { $0.matches(text) } } ?? false
      } ?? true)
  }

  /// The kinds of calls that the rule may fit; `nil` where there are too many to be told apart.
  func kinds(among tools: [ToolDefinition]?) -> [Kind]? {
    func each(_ globs: [Glob]?) -> [Glob?] { globs.map { $0.map(Optional.some) } ?? [nil] }
    var kinds: [Kind]
    if let tools {
      kinds = tools.filter(mayFit).map { Kind(tool: $0, sideEffect: $0.sideEffect) }
    } else {
      kinds = (rule.sideEffects ?? SideEffect.allCases).flatMap { effect in
        each(rule.tools).flatMap { tool in
          each(rule.sensitivities).map {
            Kind(sideEffect: effect, toolGlob: tool, sensitivity: $0)
          }
        }
      }
    }
    for (globs, part) in [
      (rule.actors, \Kind.actor), (rule.tenants, \Kind.tenant), (rule.routes, \Kind.route),
    ] {
      guard kinds.count <= Self.kindLimit / max(1, globs?.count ?? 1) else { return nil }
      kinds = kinds.flatMap { kind in
        each(globs).map {
          var kind = kind
          kind[keyPath: part] = $0
          return kind
        }
      }
    }
    return kinds
  }

  /// Whether this rule, standing earlier, decides about every call of a kind that the other one fits.
  ///
  /// Its conditions are among those of the other one. Where a condition cannot be known, a rule that is
  /// less strict is passed over, so that it then covers nothing.
  func covers(_ kind: Kind, of other: Policy.Rule) -> Bool {
    if let tool = kind.tool {
      guard mayFit(tool) else { return false }
    } else {
      guard rule.sideEffects?.contains(kind.sideEffect) ?? true,
        Self.covers(rule.tools, kind.toolGlob), Self.covers(rule.sensitivities, kind.sensitivity)
      else { return false }
    }
    guard Self.covers(rule.actors, kind.actor), Self.covers(rule.tenants, kind.tenant),
      Self.covers(rule.routes, kind.route), rule.approved == nil || rule.approved == other.approved
    else { return false }
    guard rule.hasOpenConditions else { return true }
    return rule.verdict.strictness >= other.verdict.strictness
      && (rule.attributes == nil || rule.attributes == other.attributes)
      && (rule.input == nil || rule.input == other.input)
      && rule.remaining.allSatisfy(other.remaining.contains)
      && rule.calls.allSatisfy(other.calls.contains)
      && rule.proposals.allSatisfy(other.proposals.contains)
      && rule.after.allSatisfy(other.after.contains)
      && rule.notAfter.allSatisfy(other.notAfter.contains)
  }

  /// Whether every text that the inner glob fits is fitted by one of the outer ones, for certain.
  private static func covers(_ outer: [Glob]?, _ inner: Glob?) -> Bool {
    guard let outer else { return true }
    guard let inner else { return false }
    return outer.contains { glob in
      if glob == inner { return true }
      if let literal = inner.literal { return glob.matches(literal) }
      guard glob.text.utf8.last == UInt8(ascii: "*") else { return false }
      let prefix = String(glob.text.unicodeScalars.dropLast())
      return Glob.isLiteral(prefix) && inner.plainStart.utf8.starts(with: prefix.utf8)
    }
  }
}

extension Glob {
  /// What stands before the first character that has a meaning.
  var plainStart: String {
    var start = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      guard Glob.isLiteral(String(scalar)) else { break }
      start.append(scalar)
    }
    return String(start)
  }
}

extension Policy.Rule {
  /// Whether it has a condition that may turn out not to be known.
  var hasOpenConditions: Bool {
    attributes != nil || input != nil || !remaining.isEmpty || !pastCalls.isEmpty
  }

  /// What must hold besides the tool, in words.
  var conditionsInWords: [String] {
    func oneOf(_ globs: [Glob]?, _ noun: String) -> [String] {
      globs.map { ["\(noun) \($0.map(\.text).joined(separator: " or "))"] } ?? []
    }
    var words = oneOf(actors, "actor") + oneOf(tenants, "tenant") + oneOf(routes, "route")
    if let attributes { words.append("attributes \(attributes)") }
    if let input { words.append("input \(input)") }
    if let approved { words.append(approved ? "approved" : "not approved") }
    words += remaining.map { "\($0.resource.rawValue) left \($0.amount)" }
    words += calls.map { "called \($0.inWords)" }
    words += proposals.map { "proposed \($0.inWords)" }
    words += after.map { "after \($0.callInWords)" }
    words += notAfter.map { "not after \($0.callInWords)" }
    return words
  }
}

extension Policy.PastCalls {
  /// The call alone.
  var callInWords: String {
    var words = [tool.text]
    if let statuses { words.append(statuses.map(\.rawValue).joined(separator: " or ")) }
    if let input { words.append("with \(input)") }
    if let result { words.append("giving \(result)") }
    return words.joined(separator: " ")
  }

  /// The call, how often and when.
  var inWords: String {
    let number =
      switch (times.lowerBound, times.upperBound) {
      case (1, .max): ""
      case (let least, .max): ", \(least) times or more"
      case (0, let most): ", \(most) times at most"
      case (let least, let most):
        least == most ? ", \(least) times" : ", \(least) to \(most) times"
      }
    let window = withinSeconds.map { " in the last \(JSONValue($0)) seconds" } ?? ""
    return callInWords + number + window
  }
}

// MARK: - For programs

extension PolicyCheck {
  /// What a program may read: `agent-eval schema policy-check` describes it.
  public func json(_ contradictions: [Contradiction]) -> JSONObject {
    [
      "schema": "agent-eval/policy-check/1", "rules": JSONValue(rules.count),
      "unreachable": .array(
        unreachable.map { ["rule": .string($0.rule), "coveredBy": JSONValue($0.coveredBy)] }),
      "contradictions": .array(
        contradictions.map {
          [
            "first": .string($0.first), "firstVerdict": .string($0.firstVerdict.rawValue),
            "second": .string($0.second), "secondVerdict": .string($0.secondVerdict.rawValue),
            "isStricterFirst": .bool($0.isStricterFirst), "example": .object($0.example),
          ]
        }),
      "unusedGlobs": .array(
        unusedGlobs.map {
          var object: JSONObject = ["rule": .string($0.rule), "glob": .string($0.glob)]
          object["nearest"] = $0.nearest.map(JSONValue.string)
          return .object(object)
        }),
      "tools": .array(
        tools.map { row in
          var object: JSONObject = [
            "tool": .string(row.tool.name), "sideEffect": .string(row.tool.sideEffect.rawValue),
            "rules": .array(
              row.rules.map { rule in
                var object: JSONObject = [
                  "rule": .string(rule.rule), "verdict": .string(rule.verdict.rawValue),
                  "conditions": JSONValue(rule.conditions),
                ]
                object["authorizer"] = rule.authorizer.map(JSONValue.string)
                return .object(object)
              }),
          ]
          object["otherwise"] = row.otherwise.map { .string($0.rawValue) }
          return .object(object)
        }),
    ]
  }
}
