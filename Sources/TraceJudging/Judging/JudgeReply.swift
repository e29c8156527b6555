public import AgentTrace
import TraceMatching

/// What a model said of each statement of a rubric.
public struct JudgeReply: Sendable, Hashable {
  /// Its word on one statement.
  public struct Grade: Sendable, Hashable {
    /// `pass`, `fail` or `unverifiable`.
    public var outcome: Outcome
    /// Why, in its words.
    public var reason: String
  }

  /// The grade of each statement, in the order in which they were asked.
  public var grades: [Grade]

  /// The most bytes of a reply that are looked at.
  public static let limitBytes = 256 << 10
  /// The most bytes of a reason.
  public static let reasonLimitBytes = 8 << 10

  /// Why a text is no such reply: told to the model when it is asked again.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// In words, without what the reply said beyond its keys.
    public var description: String
  }

  /// There have to be as many grades as there are statements.
  public init(grades: [Grade]) { self.grades = grades }

  /// Reads a reply: one JSON object, alone or in one fence of backticks, with exactly the names of the
  /// statements as keys, each with `outcome` and `reason` and nothing else.
  ///
  /// - Throws: ``Fault`` for anything else. Nothing is guessed: a grade that was not given as asked is
  ///   none.
  public init(parsing text: String, names: [String]) throws(Fault) {
    guard text.utf8.count <= Self.limitBytes else {
      throw Fault(description: "the reply has more than \(Self.limitBytes) bytes")
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: FencedText.unfenced(text), options: .init(depthLimit: 16))
    } catch {
      throw Fault(description: "the reply is no JSON: \(error)")
    }
    guard let object = value.objectValue else {
      throw Fault(description: "the reply is \(value.typeName), not an object")
    }
    for key in object.keys where !names.contains(where: { $0.hasSameUTF8(as: key) }) {
      throw Fault(
        description: "there is no statement “\(key.prefix(utf8Bytes: 80))”; "
          + "the keys are \(names.joined(separator: ", "))")
    }
    grades = []
    for name in names {
      guard let member = object[name] else {
        throw Fault(description: "nothing is said of the statement “\(name)”")
      }
      grades.append(try Self.grade(member, name))
    }
  }

  /// The JSON Schema of a reply, as providers take it that can be held to one: a reason before the outcome
  /// that follows from it.
  public static func schema(names: [String]) -> JSONValue {
    let outcomes: [Outcome] = [.pass, .fail, .unverifiable]
    let grade: JSONValue = [
      "type": "object", "additionalProperties": false, "required": ["reason", "outcome"],
      "properties": [
        "reason": ["type": "string"],
        "outcome": ["type": "string", "enum": JSONValue(outcomes.map(\.rawValue))],
      ],
    ]
    return [
      "type": "object", "additionalProperties": false, "required": JSONValue(names),
      "properties": .object(JSONObject(names.map { ($0, grade) })),
    ]
  }

  private static func grade(_ value: JSONValue, _ name: String) throws(Fault) -> Grade {
    guard let object = value.objectValue else {
      throw Fault(
        description: "“\(name)” should be {\"reason\", \"outcome\"}, not \(value.typeName)")
    }
    if let other = object.keys.first(where: { $0 != "outcome" && $0 != "reason" }) {
      throw Fault(
        description: "“\(name)” has a key “\(other.prefix(utf8Bytes: 80))”; "
          + "it takes reason and outcome")
    }
    guard let outcome = object["outcome"]?.stringValue.flatMap(Outcome.init(rawValue:)),
      outcome != .notExercised
    else {
      throw Fault(
        description: "the outcome of “\(name)” should be pass, fail or unverifiable")
    }
    guard let reason = object["reason"]?.stringValue,
      !reason.unicodeScalars.allSatisfy(\.properties.isWhitespace)
    else { throw Fault(description: "“\(name)” has no reason") }
    guard reason.utf8.count <= reasonLimitBytes else {
      throw Fault(description: "the reason of “\(name)” has more than \(reasonLimitBytes) bytes")
    }
    return Grade(outcome: outcome, reason: reason)
  }
}

/// One judgement of a model, with the place where it is kept.
public struct JudgeVote: Sendable, Hashable {
  /// What it said.
  public var reply: JudgeReply
  /// Where it is kept.
  public var source: JudgementSource

  /// The reply is not looked up at its source.
  public init(reply: JudgeReply, source: JudgementSource) {
    self.reply = reply
    self.source = source
  }
}

/// Where a judgement is kept.
public struct JudgementSource: Sendable, Hashable {
  /// The path of its log.
  public var log: String
  /// The number of the event there that holds the reply's decision.
  public var seq: Int

  /// The log is not opened.
  public init(log: String, seq: Int) {
    self.log = log
    self.seq = seq
  }

  /// The wire form.
  public var json: JSONValue { ["log": .string(log), "seq": JSONValue(seq)] }
}

/// What models said of a run by a rubric.
public enum JudgedRubric: Sendable, Hashable {
  /// Every vote that was asked for.
  case votes([JudgeVote])
  /// There is none, and how to come by it.
  case missing(String)
}
