import AgentTrace
import TraceJudging

/// The keys of a case. Docs/eval-case-format.md explains each.
enum CaseFile {
  /// What a case's keys are read into.
  struct Draft: Sendable {
    var caseId = ""
    var input = ""
    var pipelineInput: JSONValue?
    var recording: String?
    var filter: RunFilter?
    var agent: CaseAgent?
    var pipeline: String?
    var human: WrittenPerson?
    var conditions = CaseConditions()
    var isStrict: Bool?
    var judgements: String?
    var trials: Int?
    var passThreshold: Int?
    var isSafety = false
    var cluster: String?
    var rates: TrialPlan.SequentialRates?
    var tolerances: [ToleratedChange] = []
    var tags: [String] = []
    var skip: CaseSkip?
    var include: [SetReference] = []
    var expected: Expectations?
  }

  /// The keys of a case.
  ///
  /// - Parameters:
  ///   - isRoot: whether it is the whole root of its file.
  ///   - mayLackExpected: whether it includes sets, so that it may expect nothing by itself.
  static func fields(isRoot: Bool, mayLackExpected: Bool) -> [Field<Draft>] {
    switch (isRoot, mayLackExpected) {
    case (true, false): rootFields
    case (false, false): fields
    case (true, true): [.schemaOfFile] + fieldsWithSets
    case (false, true): fieldsWithSets
    }
  }

  static let fields: [Field<Draft>] = otherFields + [expectedField(isRequired: true)]
  private static let rootFields: [Field<Draft>] = [.schemaOfFile] + fields
  private static let fieldsWithSets = otherFields + [expectedField(isRequired: false)]

  private static func expectedField(isRequired: Bool) -> Field<Draft> {
    Field(
      "expected", expected, required: isRequired,
      "What must be seen to have happened; at least one expectation."
    ) { $0.expected = $1 }
  }

  // What nearly every case has is put in its place by closures: key paths take several times as long.
  private static let otherFields: [Field<Draft>] =
    ownFields + CaseConditionsFile.fields(\.conditions)

  private static let ownFields: [Field<Draft>] = [
    Field("caseId", caseId, required: true, "The case's name; no other case may bear it.") {
      $0.caseId = $1
    },
    Field(
      "input", input,
      "What the agent is asked to do, or what the pipeline is given; may be empty where there is a recording."
    ) { draft, value in
      if let text = value.stringValue {
        draft.input = text
      } else {
        draft.pipelineInput = value
        draft.input = CanonicalJSON.string(value)
      }
    },
    Field(
      "recording", .path(to: .recording),
      "The recorded run that is judged; a path from this file's folder, or one with globs for many runs."
    ) { $0.recording = $1 },
    Field(
      "where", RunFilterFile.shape, required: false,
      "Which of the runs that are given with run --on are judged."
    ) { $0.filter = $1 },
    Field(
      "agent", CaseAgent.shape, \.agent,
      "What is run for this case: the path of an agent file, from this file's folder, or a command."
    ),
    Field(
      "pipeline", .path(to: .pipeline), \.pipeline,
      "The pipeline that is run for this case in place of an agent: a path from this file's folder."
    ),
    Field(
      "human", HumanFile.writtenShape, \.human,
      "A person written down, in place of the agent's own."),
    Field(
      "judgements", .path, \.judgements,
      "The folder in which judgements of models are kept; a path from this file's folder."),
    Field(
      "trials", .count(1...TrialFile.trialLimit), \.trials,
      "How often the case is run live; once where it is left out. Recorded runs are judged as they are."
    ),
    Field(
      "passThreshold", .count(1...TrialFile.trialLimit), \.passThreshold,
      "How many of the trials have to pass; all where it is left out."),
    Field(
      "safety", .flag, \.isSafety,
      "Whether one failed trial fails the case, whatever the others did."),
    Field(
      "rates", TrialFile.rates, \.rates,
      "Two rates of success; trials are made until they tell which of them it is."),
    Field(
      "strict", .flag, \.isStrict,
      "Whether what has changed since it was accepted fails, also where nothing is worse."),
    Field(
      "cluster", .name, \.cluster,
      "What the case shares with others, so that together they are one piece of evidence."),
    Field(
      "tolerates", .list(of: ToleranceFile.shape, atLeast: 1), \.tolerances,
      "Changes to its run that the case lets pass on purpose, and why; for agent-eval mutate."),
    Field("tags", .list(of: .name), \.tags, "Words to pick cases by."),
    Field("skip", skip, \.skip, "Why the case is left out: a text, or reason and until."),
    Field("notes", .any, required: false, "Anything to remember; nothing is judged by it.") {
      _, _ in
    },
    Field(
      "include", .oneOrMore(of: SetReference.shape), \.include,
      "Named sets of expectations that the case has as well."),
  ]

  private static let input = Shape<JSONValue>(["type": ["string", "object", "array"]]) {
    value, reader in
    switch value {
    case .string, .object, .array: return value
    default:
      return reader.refuseKind(of: value, expected: "a text, or what a pipeline is given")
    }
  }

  private static let caseId = Shape<String>([
    "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\\u0000-\\u001f\\u007f]*$",
  ]) { value, reader in
    guard let text = Shape<String>.name.read(value, reader) else { return nil }
    if EvalCase.isUsable(caseId: text) { return text }
    return reader.refuse("should be at most 200 characters, none of them a control character")
  }

  private static let expected = Shape<Expectations>(["$ref": "#/$defs/expected"]) { value, reader in
    expectations(in: value, reader)
  }

  /// Reads expectations; `nil` after reporting what is wrong with them.
  static func expectations(in value: JSONValue, _ reader: FieldReader) -> Expectations? {
    if let known = reader.known.expectations(in: value) { return known }
    do throws(ExpectationErrors) {
      var expectations = try Expectations(parsing: value)
      expectations.startPrograms(in: reader.folder.path)
      if !expectations.judges.isEmpty {
        let before = reader.errorCount
        JudgeFile.check(expected: value, reader)
        guard reader.errorCount == before else { return nil }
      }
      reader.known.add(expectations, for: value)
      return expectations
    } catch {
      reader.report(error, in: value)
      return nil
    }
  }

  private static let detailedSkip = Shape<CaseSkip>.record(
    CaseSkip(reason: ""),
    [
      Field("reason", .name, \.reason, required: true, "Why the case is left out."),
      Field(
        "until", .day, \.until, "The last day on which it is left out, for example 2026-12-31."),
    ])

  static let skip = Shape<CaseSkip>([
    "anyOf": [Shape<String>.name.schema(), detailedSkip.schema()],
    "not": ["type": "string", "pattern": "^([nN]|[nN][oO]|[oO][fF][fF]|[fF][aA][lL][sS][eE])$"],
  ]) { value, reader in
    switch value {
    case .object: return detailedSkip.read(value, reader)
    case .string(let text) where ["no", "n", "off", "false"].contains(text.lowercased()):
      return reader.refuse("\(text.quoted) is no reason", hint: "leave “skip” out, or say why")
    case .string(let text) where !text.isEmpty: return CaseSkip(reason: text)
    default:
      return reader.refuseKind(
        of: value, expected: "a reason, or a mapping with “reason” and “until”")
    }
  }
}

extension Shape where Value == String {
  /// A day of the calendar, `2026-12-31`.
  static var day: Shape {
    .text(
      ["type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"],
      expected: "a day such as 2026-12-31"
    ) { isDay($0) }
  }

  private static func isDay(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else {
      return false
    }
    let digits = bytes.indices.filter { $0 != 4 && $0 != 7 }.map { bytes[$0] }
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
    let number = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    return CalendarDay(year: number / 10_000, month: number / 100 % 100, day: number % 100) != nil
  }
}
