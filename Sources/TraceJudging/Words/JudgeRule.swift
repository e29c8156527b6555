public import AgentTrace

/// A rubric by which a model judges a run.
public struct JudgeRule: Sendable, Hashable {
  /// One thing that the model says holds or does not.
  public struct Statement: Sendable, Hashable {
    /// What its outcome is named by; no two of a mapping share one.
    public var name: String
    /// The statement, in words.
    public var text: String

    /// Nothing is checked.
    public init(name: String, text: String) {
      self.name = name
      self.text = text
    }
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
  public var shown: Shown
  /// What else it is told, before it judges; `nil` for nothing.
  public var instructions: String?
  /// How often it is asked.
  public var votes: Int
  /// Which share of the votes a statement needs to hold; `nil` for more than half.
  public var threshold: Double?
  /// The folder that a path in ``model`` starts from; `nil` where the file that names it is not known.
  public var folder: String?

  /// Nothing is checked.
  public init(
    statements: [Statement], model: JSONValue, shown: Shown = .answer, instructions: String? = nil,
    votes: Int = 1, threshold: Double? = nil, folder: String? = nil
  ) {
    self.statements = statements
    self.model = model
    self.shown = shown
    self.instructions = instructions
    self.votes = votes
    self.threshold = threshold
    self.folder = folder
  }

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
        report(
          pointer, "two statements are named “\(statement.name)”",
          hint: "give each a name of its own")
        return nil
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
    guard !object.isEmpty else {
      report(pointer, "an empty mapping expects nothing")
      return nil
    }
    guard object.count <= JudgeRule.statementLimit else {
      report(pointer, "more than \(JudgeRule.statementLimit) statements")
      return nil
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
    else {
      report(pointer, "must be a text that says something")
      return nil
    }
    guard text.utf8.count <= JudgeRule.textLimitBytes else {
      report(pointer, "more than \(JudgeRule.textLimitBytes) bytes")
      return nil
    }
    return text
  }

  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
