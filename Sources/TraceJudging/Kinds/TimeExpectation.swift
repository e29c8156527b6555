import AgentTrace
import TraceMatching

/// What comes before, after, until, within.
struct TimeExpectation: Expectation {
  var rules: [TimeRule]

  static let key = "time"
  static let summary = ExpectationSummary(
    takes: "a list of rules",
    holds: "things come before, after, until and within so many steps of each other")

  static var schema: JSONValue {
    ExpectationSchema.list(
      "What comes before, after, until something else.", ExpectationSchema.ref("timeRule"))
  }
  static var schemaParts: JSONObject {
    [
      "moment": .object(ExpectationSchema.moment),
      "moments": ExpectationSchema.oneOrMore("moment"), "timeRule": .object(ruleSchema),
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    var seen: Set<String> = []
    return run.calls.filter { $0.isExecuted && seen.insert($0.tool).inserted }.prefix(10)
      .map { [key: [["eventually": .string(Glob.escaping($0.tool))]]] }
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.list(value, at: pointer) { $0.timeRule($1, at: $2) }.map(Self.init(rules:))
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { ofEachRun != nil }
  /// Its rules that are broken for a tree where one of its runs breaks them: what must not be, and stands in one run
  /// in an order that no other run changes. Steps are each run's own.
  var ofEachRun: Self? {
    let own = rules.filter { rule in
      (rule.claim == .never || rule.claim == .only) && rule.within == nil
        && rule.relation != .until
    }
    return own.isEmpty ? nil : TimeExpectation(rules: own)
  }
  var facts: Facts { .timeline }
  var undecided: [UndecidedPart] {
    rules.enumerated().compactMap { index, rule in
      rule.fluidity.map { UndecidedPart(place: [Self.key, String(index)], why: $0) }
    }
  }
  var namedTools: [NamedTool] {
    rules.enumerated().flatMap { index, rule in
      (rule.moments + rule.others).compactMap(\.call).map {
        NamedTool(list: Self.key, index: index, tool: $0.tool, call: $0)
      }
    }
  }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.elements(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    TimeProof.shows(change.now, atLeast: change.was)
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    rules.enumerated().map { index, rule in
      let name = "\(Self.key)[\(index)]"
      if rule.within != nil, run.view.trajectory.isPipeline {
        return ExpectationOutcome(
          expectation: name, outcome: .unverifiable, message: "A pipeline has no steps to count.")
      }
      return TimeJudge(run, rule, name).outcome()
    }
  }

  private static var ruleSchema: JSONObject {
    func moments(_ text: String) -> JSONValue { ExpectationSchema.described(text, "moments") }
    var schema = ExpectationSchema.record([
      ("eventually", moments("One of these happens.")),
      ("never", moments("None of these happens.")),
      ("only", moments("Of their sort, nothing but these happens.")),
      ("expect", moments("One of these happens, before or after the other.")),
      ("before", moments("What it stands before.")),
      ("after", moments("What it stands behind.")),
      ("until", moments("What it holds until, and what must come.")),
      ("within", ExpectationSchema.count("In at most so many steps.")),
    ])
    func form(_ claims: [String], _ relations: [String], within: Bool, alone: Bool) -> JSONValue {
      var keys = claims + relations
      if within { keys.append("within") }
      func one(of names: [String]) -> JSONValue {
        ["oneOf": .array(names.map { ["required": [.string($0)]] })]
      }
      var all: [JSONValue] = [one(of: claims)]
      if !relations.isEmpty, !alone { all.append(one(of: relations)) }
      return ["propertyNames": ["enum": JSONValue(keys)], "allOf": .array(all)]
    }
    schema["anyOf"] = [
      form(["eventually"], [], within: true, alone: true),
      form(["never", "only"], [], within: false, alone: true),
      form(["never", "only"], ["before", "until"], within: false, alone: false),
      form(["never", "only"], ["after"], within: true, alone: false),
      form(["expect"], ["before", "after"], within: true, alone: false),
    ]
    return schema
  }

  static func addConformance(to book: inout ConformanceBook) {
    func time(_ rule: JSONValue) -> JSONValue { ["time": [rule]] }
    func check(_ title: String, _ rule: JSONValue, on run: Run = Run("a", "b"), is outcome: Outcome)
    {
      book.add(title, time(rule), on: run, is: outcome)
    }
    book.rule = "time: eventually"
    check("it happens", ["eventually": "b"], is: .pass)
    check("it does not", ["eventually": "c"], is: .fail)
    check("too late", ["eventually": "b", "within": 1], is: .fail)
    check("any of several", ["eventually": ["c", "b"]], is: .pass)
    let torn = Run(torn: "a", "b")
    check("it may stand behind the tear", ["eventually": "c"], on: torn, is: .unverifiable)
    check(
      "behind the tear it would be too late", ["eventually": "c", "within": 1], on: torn, is: .fail)

    book.rule = "time: expect before"
    check("it stood before", ["expect": "a", "before": "b"], is: .pass)
    check("it came after", ["expect": "b", "before": "a"], is: .fail)
    check("what it should precede never came", ["expect": "a", "before": "c"], is: .notExercised)
    check(
      "too long before", ["expect": "a", "before": "b", "within": 1], on: Run("a", "c", "b"),
      is: .fail)
    let together = Run { run in
      run.decide(Call("a"), Call("b"))
      run.end()
    }
    check("one decision is no before", ["expect": "a", "before": "b"], on: together, is: .fail)
    let approved = Run(Call("refund", ["id": "1"]).ruled(.approvalRequired, granted: true))
    check(
      "an approval before the call that it lets through",
      ["expect": ["approval": "granted", "by": "ana"], "before": "refund"], on: approved, is: .pass)
    check(
      "nobody approved", ["expect": ["approval": "granted"], "before": "refund"], on: Run("refund"),
      is: .fail)
    book.add(
      "a channel that was not recorded",
      time(["expect": ["approval": "granted"], "before": "refund"]),
      on: Run(recorded: ["policy": "none"]) { run in
        run.decide(Call("refund"))
        run.end()
      }, is: .unverifiable)

    book.rule = "time: expect after"
    check("it came after", ["expect": "b", "after": "a"], is: .pass)
    check("each time anew", ["expect": "b", "after": "a"], on: Run("a", "b", "a"), is: .fail)
    check("in time", ["expect": "b", "after": "a", "within": 1], is: .pass)
    check(
      "not in time", ["expect": "b", "after": "a", "within": 1], on: Run("a", "c", "b"), is: .fail)
    check(
      "a result comes after its call", ["expect": ["returned": "a"], "after": "a", "within": 0],
      is: .pass)
    check(
      "a failed call and another try",
      ["expect": "a", "after": ["returned": ["tool": "a", "status": "error"]]],
      on: Run(Call("a", [:], .error()), Call("a")), is: .pass)
    check(
      "it may come behind the tear", ["expect": "c", "after": "b"], on: torn, is: .unverifiable)
    check("the condition never arose", ["expect": "b", "after": "c"], is: .notExercised)

    book.rule = "time: never"
    check("it never does", ["never": "c"], is: .pass)
    check("it does", ["never": "b"], is: .fail)
    book.rule = "time: never after"
    // One decision that is not seen may hold both, and then they have no order.
    let strays = Run(tools: ["a", "b"]) { run in
      run.startStray("a", callId: "first")
      run.startStray("b", callId: "second")
      run.end()
    }
    check(
      "after that, or in one decision that is not seen", ["never": "b", "after": "a"], on: strays,
      is: .unverifiable)
    book.rule = "time: expect after"
    check(
      "after that, or in one decision that is not seen", ["expect": "b", "after": "a"], on: strays,
      is: .unverifiable)
    book.rule = "time: never after"
    check("it does, after", ["never": "b", "after": "a"], is: .fail)
    check("it does, but before", ["never": "a", "after": "b"], is: .pass)
    check("the condition never arose", ["never": "a", "after": "c"], is: .notExercised)
    check(
      "long after", ["never": "b", "after": "a", "within": 1], on: Run("a", "c", "b"), is: .pass)
    let denied = Run(Call("rm", [:], .refused).ruled(.deny, by: "no-rm"), Call("a"))
    check(
      "after a denial", ["never": "a", "after": ["verdict": "deny", "rule": "no-*"]], on: denied,
      is: .fail)
    check("after the stop", ["never": "*", "after": ["stop": true]], is: .pass)
    book.rule = "time: never before"
    check("it does, before", ["never": "a", "before": "b"], is: .fail)
    check(
      "it does, and what it should wait for never comes", ["never": "a", "before": "c"], is: .fail)
    check("neither comes", ["never": "c", "before": "d"], is: .notExercised)
    check("it waits", ["never": "b", "before": "a"], is: .pass)
    book.rule = "time: never until"
    check("it waits, and that comes", ["never": "b", "until": "a"], is: .pass)
    check("it waits for ever", ["never": "c", "until": "d"], is: .fail)
    book.add(
      "a reply is what it waits for",
      time(["never": "b", "until": ["reply": ["$contains": "yes"]]]),
      on: Run { run in
        run.decide(Call("a"))
        run.hear("yes, do")
        run.decide(Call("b"))
        run.end()
      }, is: .pass)
    book.rule = "time: only"
    check(
      "only these until then", ["only": ["a", "b"], "until": "c"], on: Run("a", "b", "c", "d"),
      is: .fail)
    check(
      "only these before then, that one among them", ["only": ["a", "b", "c"], "before": "d"],
      on: Run("a", "b", "d", "e"), is: .fail)
    check("only these after", ["only": "b", "after": "a"], is: .pass)
    check("only these at all", ["only": ["a", "b"]], is: .pass)
    check("others too", ["only": "a"], is: .fail)
    book.rule = "time"
    book.add("an “eventually” with an “after”", mistaken: time(["eventually": "a", "after": "b"]))
    book.add("an “expect” alone", mistaken: time(["expect": "a"]))
    book.add("a slip in a word", mistaken: time(["nevr": "a"]))
  }
}

/// What must, or must not, happen before, after or until something else.
public struct TimeRule: Sendable, Hashable {
  /// What is said of the moments.
  public enum Claim: String, Sendable, Hashable, CaseIterable {
    /// One of them happens, at some time.
    case eventually
    /// None of them happens.
    case never
    /// Of their sort, none but them happens.
    case only
    /// Where the other happens, one of them does too.
    case expect
  }

  /// How the moments stand to the others.
  public enum Relation: String, Sendable, Hashable, CaseIterable {
    case before, after, until
  }

  /// What is said.
  public var claim: Claim
  /// Of what: any of these.
  public var moments: [Moment]
  /// How they stand to ``others``; `nil` for the whole run.
  public var relation: Relation?
  /// To what: any of these. Empty exactly where there is no relation.
  public var others: [Moment]
  /// In at most so many steps.
  public var within: Int?

  /// See Docs/expectations.md for the forms that mean something.
  public init(
    _ claim: Claim, _ moments: [Moment], _ relation: Relation? = nil, _ others: [Moment] = [],
    within: Int? = nil
  ) {
    self.claim = claim
    self.moments = moments
    self.relation = relation
    self.others = others
    self.within = within
  }

  static let keyNames =
    Claim.allCases.map(\.rawValue) + Relation.allCases.map(\.rawValue) + ["within"]
}

extension TimeRule: CustomStringConvertible {
  /// The rule in words.
  public var description: String {
    func list(_ moments: [Moment]) -> String {
      moments.map(\.description).joined(separator: " or ")
    }
    var text =
      switch claim {
      case .eventually: "at some time \(list(moments))"
      case .never: "never \(list(moments))"
      case .only: "only \(list(moments))"
      case .expect: "\(list(moments))"
      }
    if let relation { text += " \(relation.rawValue) \(list(others))" }
    if let within { text += " within \(Figures.count(within, "step"))" }
    return text
  }
}

extension ExpectationReader {
  /// One rule about time.
  mutating func timeRule(_ value: JSONValue, at pointer: JSONPointer) -> TimeRule? {
    let what = "a mapping with one of eventually, never, only, expect"
    guard let object = mapping(value, at: pointer, keys: TimeRule.keyNames, what) else {
      return nil
    }
    let claims = TimeRule.Claim.allCases.filter { object[$0.rawValue] != nil }
    guard let claim = claims.first, claims.count == 1, let operand = object[claim.rawValue] else {
      return refuse(pointer, claims.isEmpty ? "must be \(what)" : "says two things at once")
    }
    let relations = TimeRule.Relation.allCases.filter { object[$0.rawValue] != nil }
    guard relations.count <= 1 else { return refuse(pointer, "takes one of before, after, until") }
    let moments = oneOrMore(operand, at: pointer.appending(claim.rawValue)) {
      $0.moment($1, at: $2)
    }
    var others: [Moment]? = []
    if let relation = relations.first, let value = object[relation.rawValue] {
      others = oneOrMore(value, at: pointer.appending(relation.rawValue)) { $0.moment($1, at: $2) }
    }
    let within = object["within"].flatMap { count($0, at: pointer.appending("within")) }
    guard let moments, let others else { return nil }
    let rule = TimeRule(claim, moments, relations.first, others, within: within)
    if let fault = rule.fault { return refuse(pointer, fault) }
    return rule
  }
}

extension TimeRule {
  /// Why the rule says nothing; `nil` where it does.
  fileprivate var fault: String? {
    if claim == .only, relation != .until, moments.allSatisfy(\.isAny) {
      return "nothing can break this: “only” allows whatever there is of that sort"
    }
    return switch (claim, relation) {
    case (.eventually, .some): "“eventually” stands alone or with “within”; see “expect”"
    case (.expect, nil): "“expect” needs “before” or “after”; see “eventually”"
    case (.expect, .until): "“until” goes with “never” or “only”"
    case (.never, nil) where within != nil, (.only, nil) where within != nil:
      "“within” needs “after” here"
    case (.never, .before), (.never, .until), (.only, .before), (.only, .until):
      within != nil ? "“within” goes with “after”, “expect” and “eventually”" : nil
    default: nil
    }
  }
}

extension TimeRule {
  /// Why a broken rule may be mended by what comes; `nil` where it cannot.
  fileprivate var fluidity: String? {
    switch (claim, relation) {
    case (.eventually, _), (.expect, .after): "what is awaited may still come"
    case (_, .until): "what it holds until may still come"
    default:
      (moments + others).contains { $0.hasPassingStatus }
        ? "what becomes of such a call may be known only later" : nil
    }
  }
}
