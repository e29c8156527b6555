public import AgentTrace

/// What models say of the run.
struct JudgeExpectation: EndExpectation {
  var rules: [JudgeRule]

  static let key = "judge"
  static let summary = ExpectationSummary(
    takes: "a mapping or a list of them", holds: "a model says that statements hold")

  static var schema: JSONValue {
    [
      "description": "What models say of the run by a rubric.",
      "anyOf": [
        ExpectationSchema.ref("judgeRule"),
        [
          "type": "array", "minItems": 1, "maxItems": ExpectationSchema.limit,
          "items": ExpectationSchema.ref("judgeRule"),
        ],
      ],
    ]
  }
  static var schemaParts: JSONObject { ["judgeRule": .object(ruleSchema)] }

  static func suggestions(for run: Trajectory) -> [JSONValue] { [] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.judgeRules(value, at: pointer).map(Self.init(rules:))
  }

  var needs: TrajectoryNeeds { [.all, .outsiders] }
  var facts: Facts { .timeline }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] {
    // Statement by statement, each with what else the rubric says.
    (value.arrayValue ?? [value]).flatMap { rule -> [AskedPart] in
      guard var shared = rule.objectValue, let rubric = shared["rubric"] else {
        return AskedPart.whole(key, rule)
      }
      shared["rubric"] = nil
      let statements = rubric.objectValue ?? [JudgeRule.onlyName: rubric]
      return statements.map { statement in
        var own = shared
        own["statement"] = statement.value
        return AskedPart(name: "\(key).\(statement.key)", value: .object(own))
      }
    }
  }
  /// What a model makes of a run nobody knows.
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { false }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { rules.flatMap(run.judged) }

  private static var ruleSchema: JSONObject {
    let text: JSONValue = ["type": "string", "minLength": 1, "pattern": "\\S"]
    var schema = ExpectationSchema.record([
      (
        "rubric",
        [
          "description": "What must hold: a statement, or statements by name.",
          "anyOf": [
            text,
            [
              "type": "object", "minProperties": 1,
              "maxProperties": JSONValue(JudgeRule.statementLimit),
              "propertyNames": ["pattern": "^[A-Za-z0-9_-]{1,64}$"], "additionalProperties": text,
            ],
          ],
        ]
      ),
      ("model", ExpectationSchema.described("Which model judges.", "judgeModel")),
      (
        "shown",
        [
          "description": "What of the run the model is shown; answer without it.",
          "type": "string", "enum": JSONValue(JudgeRule.Shown.allCases.map(\.rawValue)),
        ]
      ),
      (
        "instructions",
        [
          "description": "What else the model is told.", "type": "string", "minLength": 1,
          "pattern": "\\S",
        ]
      ),
      (
        "votes",
        [
          "description": "How often it is asked; once without it.", "type": "integer",
          "minimum": 1, "maximum": JSONValue(JudgeRule.voteLimit),
        ]
      ),
      (
        "threshold",
        [
          "description": "The share of votes that a statement needs; without it more than half.",
          "type": "number", "exclusiveMinimum": 0, "maximum": 1,
        ]
      ),
    ])
    schema["required"] = ["rubric", "model"]
    return schema
  }

  static func addConformance(to book: inout ConformanceBook) {
    func asked(_ more: JSONObject = [:]) -> JSONValue {
      var rubric: JSONObject = ["model": "grader.yaml", "rubric": "The answer is polite."]
      for member in more { rubric[member.key] = member.value }
      return ["judge": .object(rubric)]
    }
    let run = Run("a")
    book.add("no judgement is kept", asked(), on: run, is: .unverifiable)
    for (title, votes, more, wanted) in [
      ("the statement holds", [.pass], [:], .pass),
      ("it does not", [.fail], [:], .fail),
      ("the model cannot tell", [.unverifiable], [:], .unverifiable),
      ("two of three votes", [.pass, .fail, .pass], ["votes": 3], .pass),
      ("half of the votes", [.pass, .fail], ["votes": 2], .fail),
      ("two of three are too few", [.pass, .fail, .pass], ["votes": 3, "threshold": 0.9], .fail),
      (
        "an open vote could still carry it", [.pass, .unverifiable, .pass],
        ["votes": 3, "threshold": 0.9], .unverifiable
      ),
    ] as [(String, [Outcome], JSONObject, Outcome)] {
      book.add(title, asked(more), on: run, graded: votes, is: wanted)
    }
    book.add(
      "no answer to judge", asked(), on: Run { $0.stop(.blocked) }, graded: [.pass], is: .fail)
    book.add("a torn log", asked(), on: Run(torn: "a"), graded: [.pass], is: .unverifiable)
  }
}

/// A rubric by which a model judges a run.
public struct JudgeRule: Sendable, Hashable {
  /// One thing that the model says holds or does not.
  public struct Statement: Sendable, Hashable {
    /// What its outcome is named by; no two of a mapping share one.
    public var name: String
    /// The statement, in words.
    public var text: String
  }

  /// What of a run the model is shown.
  public enum Shown: String, Sendable, Hashable, CaseIterable {
    /// What the agent was asked, and its last answer.
    case answer
    /// Its executed and proposed calls as well, without their results.
    case calls
    /// Calls and their results.
    case results
    /// All of that in the order it happened, with verdicts, people's words, and the stop.
    case whole
  }

  /// What is to hold; at least one, in the order they were written.
  public var statements: [Statement]
  /// Which model judges: the path of an agent file, or what `model` holds in one.
  public var model: JSONValue
  /// What it is shown.
  public var shown: Shown = .answer
  /// What else it is told, before it judges; `nil` for nothing.
  public var instructions: String?
  /// How often it is asked.
  public var votes = 1
  /// Which share of the votes a statement needs to hold; `nil` for more than half.
  public var threshold: Double?
  /// The folder that a path in ``model`` starts from; `nil` where the file that names it is not known.
  public var folder: String?

  /// Every key of a rubric.
  public static let keyNames = [
    "rubric", "model", "shown", "instructions", "votes", "threshold",
  ]
  /// How many statements one rubric may have.
  public static let statementLimit = 100
  /// How many bytes a statement, or the instructions, may have.
  public static let textLimitBytes = 16 << 10
  /// How often a model may be asked the same.
  public static let voteLimit = 25
  /// The name of the only statement of a rubric that is one text.
  static let onlyName = "rubric"

  /// How many votes a statement needs to hold.
  var votesNeeded: Int {
    guard let threshold else { return votes / 2 + 1 }
    // A little less, because 0.6 of 5 is 3 and not 4.
    return max(1, Int((threshold * Double(votes) - 1e-9).rounded(.up)))
  }
}

extension ExpectationReader {
  /// One rubric or several, whose statements all have names of their own.
  mutating func judgeRules(_ value: JSONValue, at pointer: JSONPointer) -> [JudgeRule]? {
    guard let rules = oneOrMore(value, at: pointer, { $0.judgeRule($1, at: $2) }) else {
      return nil
    }
    var names: [String] = []
    for statement in rules.flatMap(\.statements) {
      if names.contains(where: { $0.hasSameUTF8(as: statement.name) }) {
        return refuse(
          pointer, "two statements are named “\(statement.name)”",
          hint: "give each a name of its own")
      }
      names.append(statement.name)
    }
    return rules
  }

  private mutating func judgeRule(_ value: JSONValue, at pointer: JSONPointer) -> JudgeRule? {
    guard
      let object = mapping(
        value, at: pointer, keys: JudgeRule.keyNames, "a mapping with a rubric and a model")
    else { return nil }
    let statements = object["rubric"].flatMap {
      self.statements($0, at: pointer.appending("rubric"))
    }
    if object["rubric"] == nil {
      report(
        pointer, "needs `rubric`: a statement, or a mapping from names to statements")
    }
    var rule = JudgeRule(statements: statements ?? [], model: object["model"] ?? .null)
    switch rule.model {
    case .string(let path) where !path.isEmpty && !path.utf8.contains(0): break
    case .object: break
    default:
      report(
        object["model"] == nil ? pointer : pointer.appending("model"),
        "needs `model`: the path of an agent file, or a mapping as `model` in one")
    }
    if let value = object["shown"] {
      let place = pointer.appending("shown")
      rule.shown =
        word(value, at: place, JudgeRule.Shown.self, "what a judge may be shown") ?? .answer
    }
    if let value = object["instructions"] {
      rule.instructions = judgeText(value, at: pointer.appending("instructions"))
    }
    if let value = object["votes"] {
      if let votes = value.intValue, (1...JudgeRule.voteLimit).contains(votes) {
        rule.votes = votes
      } else {
        report(
          pointer.appending("votes"), "must be a whole number from 1 to \(JudgeRule.voteLimit)")
      }
    }
    if let value = object["threshold"] {
      if let share = value.doubleValue, share > 0, share <= 1 {
        rule.threshold = share
      } else {
        report(
          pointer.appending("threshold"), "must be a share of the votes: more than 0, at most 1")
      }
    }
    return statements == nil ? nil : rule
  }

  private mutating func statements(
    _ value: JSONValue, at pointer: JSONPointer
  ) -> [JudgeRule.Statement]? {
    guard let object = value.objectValue else {
      return judgeText(value, at: pointer).map { [.init(name: JudgeRule.onlyName, text: $0)] }
    }
    guard !object.isEmpty else { return refuse(pointer, "an empty mapping expects nothing") }
    guard object.count <= JudgeRule.statementLimit else {
      return refuse(pointer, "more than \(JudgeRule.statementLimit) statements")
    }
    var statements: [JudgeRule.Statement] = []
    for member in object {
      let place = pointer.appending(member.key)
      guard Self.isName(member.key) else {
        report(
          place, isKey: true,
          "the name of a statement is 1 to 64 letters, digits, “_” and “-”")
        continue
      }
      if let text = judgeText(member.value, at: place) {
        statements.append(.init(name: member.key, text: text))
      }
    }
    return statements
  }

  private mutating func judgeText(_ value: JSONValue, at pointer: JSONPointer) -> String? {
    guard let text = value.stringValue,
      !text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
    else { return refuse(pointer, "must be a text that says something") }
    guard text.utf8.count <= JudgeRule.textLimitBytes else {
      return refuse(pointer, "more than \(JudgeRule.textLimitBytes) bytes")
    }
    return text
  }

  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (0x61...0x7a).contains($0 | 0x20) || (0x30...0x39).contains($0) || "_-".utf8.contains($0)
      }
  }
}

extension JudgedRun {
  /// What a model says of each statement of a rubric.
  fileprivate func judged(_ rule: JudgeRule) -> [ExpectationOutcome] {
    func outcomes(
      _ outcome: Outcome, _ message: String, _ events: [Int] = []
    ) -> [ExpectationOutcome] {
      rule.statements.map {
        ExpectationOutcome(
          expectation: "judge.\($0.name)", outcome: outcome, events: events, message: message,
          expected: CallWording.short($0.text))
      }
    }
    switch rule.subject(in: view.trajectory, gathered) {
    case .settled(let outcome, let events, let message): return outcomes(outcome, message, events)
    case .question(let question):
      switch aids.judged[rule] {
      case nil:
        return outcomes(.unverifiable, "Judgements of models are looked at only by `run`.")
      case .missing(let why)?: return outcomes(.unverifiable, why)
      case .votes(let votes)?:
        return rule.statements.indices.map { Self.count(votes, $0, rule, question) }
      }
    }
  }

  /// The outcome of one statement by the votes on it. One that the open votes could still carry is
  /// unverifiable.
  private static func count(
    _ votes: [JudgeVote], _ index: Int, _ rule: JudgeRule, _ question: JudgeQuestion
  ) -> ExpectationOutcome {
    let grades = votes.compactMap { vote in
      vote.reply.grades.indices.contains(index) ? vote.reply.grades[index] : nil
    }
    func count(_ outcome: Outcome) -> Int { grades.count { $0.outcome == outcome } }
    let (passes, open) = (count(.pass), count(.unverifiable))
    let needed = rule.votesNeeded
    let outcome: Outcome =
      passes >= needed ? .pass : passes + open < needed ? .fail : .unverifiable
    let reason = (grades.first { $0.outcome == outcome } ?? grades.first)?.reason ?? ""
    let statement = rule.statements[index]
    var told = CallWording.short(reason)
    var actual = outcome.rawValue
    if votes.count > 1 {
      actual = "\(passes) of \(votes.count) votes pass"
      if open > 0 { actual += ", \(open) unverifiable" }
      told = "\(actual), \(needed) needed. \(told)"
    }
    var result = ExpectationOutcome(
      expectation: "judge.\(statement.name)", outcome: outcome, events: question.events,
      message: told, expected: CallWording.short(statement.text), actual: actual)
    result.judgements = votes.map(\.source)
    return result
  }
}
