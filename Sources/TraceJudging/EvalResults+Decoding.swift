public import AgentTrace

/// Why a value is no results of this program.
public struct ResultsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Where in the value, such as `cases[3].outcome`; empty for all of it.
  public var place: String
  /// What is wrong there.
  public var reason: String

  /// An empty place stands for the whole value.
  public init(place: String, reason: String) {
    self.place = place
    self.reason = reason
  }

  public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}

extension EvalResults {
  /// Reads the wire form, `agent-eval/results/1`; keys that are not known are passed over.
  ///
  /// What can be worked out from the rest has to agree with it: the outcomes of runs and cases, and
  /// the summary.
  ///
  /// - Throws: ``ResultsError`` at the first thing that is not as it should be.
  public init(decoding json: JSONValue) throws(ResultsError) {
    let reader = ResultsReader(value: json, place: "")
    let schema = try reader.text("schema")
    guard schema.hasSameUTF8(as: Self.schema) else {
      throw reader.error("schema", "not \(Self.schema)")
    }
    cases = try reader.list("cases").map { element throws(ResultsError) in
      try CaseResult(reading: element)
    }
    skipped = try reader.list("skipped").map { element throws(ResultsError) in
      var skipped = SkippedCase(
        caseId: try element.text("caseId"), reason: try element.text("reason"))
      skipped.comparison = try CaseComparison(ifThereIn: element)
      return skipped
    }
    try Self.checkNames(cases.map(\.caseId), in: "cases")
    try Self.checkNames(skipped.map(\.caseId), in: "skipped")
    comparison = json["comparison"] == nil ? nil : try SuiteComparison(reader.member("comparison"))
    shard = json["shard"] == nil ? nil : try ResultsShard(reading: reader.member("shard"))
    let summary = try reader.member("summary")
    for outcome in CaseOutcome.allCases {
      guard try summary.number(outcome.rawValue) == count(outcome) else {
        throw summary.error(outcome.rawValue, "not the number of cases with this outcome")
      }
    }
  }

  /// Sees to it that no two have one name: whoever pairs by names would see one of them alone.
  private static func checkNames(_ names: [String], in list: String) throws(ResultsError) {
    var seen: Set<ByteText> = []
    for (index, name) in names.enumerated() where !seen.insert(ByteText(name)).inserted {
      throw ResultsError(
        place: "\(list)[\(index)].caseId", reason: "two cases have the name “\(name)”")
    }
  }
}

extension CaseResult {
  fileprivate init(reading reader: ResultsReader) throws(ResultsError) {
    self.init(caseId: try reader.text("caseId"), position: try reader.text("position"))
    error = try reader.textIfThere("error")
    notRun = try reader.textIfThere("notRun")
    trials = try reader.list("trials").map { element throws(ResultsError) in
      try TrialResult(reading: element)
    }
    cluster = try reader.textIfThere("cluster")
    if reader.value["trialPlan"] != nil { plan = try TrialPlan(reader.member("trialPlan")) }
    comparison = try CaseComparison(ifThereIn: reader)
    try reader.check(outcome)
  }
}

extension TrialResult {
  fileprivate init(reading reader: ResultsReader) throws(ResultsError) {
    let outcomes = try reader.list("expectations").map { element throws(ResultsError) in
      try ExpectationOutcome(reading: element)
    }
    let warnings = try reader.list("warnings").map { element throws(ResultsError) in
      try element.text()
    }
    self.init(
      runId: try reader.text("runId"), log: try reader.text("log"),
      judgedFrom: try reader.text("judgedFrom"),
      judgement: Judgement(outcomes: outcomes, warnings: warnings))
    error = try reader.textIfThere("error")
    try reader.check(outcome)
  }
}

extension TrialPlan {
  fileprivate init(_ reader: ResultsReader) throws(ResultsError) {
    self.init(
      trials: try reader.number("trials"), passThreshold: try reader.number("passThreshold"),
      isSafety: reader.value["safety"] == true)
    guard let rates = reader.value["rates"] else { return }
    func number(_ key: String) throws(ResultsError) -> Double {
      guard let number = rates[key]?.doubleValue else { throw reader.error("rates", "no rates") }
      return number
    }
    self.rates = SequentialRates(
      good: try number("good"), bad: try number("bad"), falseAlarms: try number("falseAlarms"),
      misses: try number("misses"))
  }
}

extension ExpectationOutcome {
  fileprivate init(reading reader: ResultsReader) throws(ResultsError) {
    guard let outcome = Outcome(rawValue: try reader.text("outcome")) else {
      throw reader.error("outcome", "no outcome of an expectation")
    }
    self.init(
      expectation: try reader.text("expectation"), outcome: outcome,
      events: try reader.numbers("events"), message: try reader.text("message"),
      expected: try reader.textIfThere("expected"), actual: try reader.textIfThere("actual"))
    if reader.value["judgements"] != nil {
      judgements = try reader.list("judgements").map { element throws(ResultsError) in
        JudgementSource(log: try element.text("log"), seq: try element.number("seq"))
      }
    }
    guard let word = try reader.textIfThere("severity") else { return }
    guard let severity = Severity(rawValue: word) else {
      throw reader.error("severity", "no severity")
    }
    self.severity = severity
  }
}

extension CaseComparison {
  fileprivate init?(ifThereIn reader: ResultsReader) throws(ResultsError) {
    guard reader.value["comparison"] != nil else { return nil }
    let reader = try reader.member("comparison")
    guard let kind = Kind(wire: try reader.text("kind")) else {
      throw reader.error("kind", "no word known here")
    }
    self.init(
      kind: kind,
      differences: try reader.list("differences").map { element throws(ResultsError) in
        try Difference(reading: element)
      }, untold: try reader.numberIfThere("untold") ?? 0, run: try reader.numberIfThere("run"),
      reason: try reader.textIfThere("reason"),
      isFault: reader.value["fault"]?.boolValue ?? false, path: try reader.textIfThere("path"))
    if reader.value["strict"] == true { beStrict() }
  }
}

extension Difference {
  fileprivate init(reading reader: ResultsReader) throws(ResultsError) {
    self.init(
      kind: try reader.word("kind"), effect: try reader.word("effect"),
      place: try reader.text("place"), accepted: try reader.textIfThere("accepted"),
      actual: try reader.textIfThere("actual"), step: try reader.numberIfThere("step"),
      events: try reader.numbers("events"))
  }
}

extension SuiteComparison {
  fileprivate init(_ reader: ResultsReader) throws(ResultsError) {
    self.init(
      against: try reader.text("against"),
      needsBaselines: reader.value["needsBaselines"]?.boolValue ?? false,
      gone: try reader.list("gone").map { element throws(ResultsError) in
        GoneCase(caseId: try element.text("caseId"), path: try element.text("path"))
      },
      unusable: try reader.list("unusable").map { element throws(ResultsError) in
        try element.text()
      })
    worsened = try reader.textIfThere("worsened")
    isStrict = reader.value["strict"] == true
    let percents = try reader.member("tolerance")
    for measure in Tolerance.Measure.allCases {
      guard let percent = percents.value[measure.rawValue]?.doubleValue, percent >= 0 else {
        throw percents.error(measure.rawValue, "no number from 0")
      }
      tolerance[measure] = percent
    }
  }
}

extension ResultsShard {
  fileprivate init(reading reader: ResultsReader) throws(ResultsError) {
    guard let isWhole = reader.value["isWhole"]?.boolValue else {
      throw reader.error("isWhole", "not true or false")
    }
    self.init(
      index: try reader.number("index"), count: try reader.number("of"),
      suite: try reader.text("suite"), suiteCases: try reader.number("suiteCases"),
      places: try reader.numbers("places"), skippedPlaces: try reader.numbers("skippedPlaces"),
      program: try reader.text("program"), isWhole: isWhole)
    isLive = reader.value["live"] == true
  }
}

/// A value within results, and the way that leads to it.
struct ResultsReader {
  var value: JSONValue
  var place: String

  func error(_ key: String, _ reason: String) -> ResultsError {
    ResultsError(place: place.isEmpty ? key : "\(place).\(key)", reason: reason)
  }

  func member(_ key: String) throws(ResultsError) -> ResultsReader {
    guard let member = value[key] else { throw error(key, "missing") }
    return ResultsReader(value: member, place: place.isEmpty ? key : "\(place).\(key)")
  }

  func text() throws(ResultsError) -> String {
    guard let text = value.stringValue else {
      throw ResultsError(place: place, reason: "no text")
    }
    return text
  }

  func text(_ key: String) throws(ResultsError) -> String {
    guard let member = value[key] else { throw error(key, "missing") }
    guard let text = member.stringValue else { throw error(key, "no text") }
    return text
  }

  func textIfThere(_ key: String) throws(ResultsError) -> String? {
    value[key] == nil ? nil : try text(key)
  }

  func number() throws(ResultsError) -> Int {
    guard let number = value.intValue, number >= 0 else {
      throw ResultsError(place: place, reason: "no whole number from 0")
    }
    return number
  }

  func number(_ key: String) throws(ResultsError) -> Int { try member(key).number() }

  func numberIfThere(_ key: String) throws(ResultsError) -> Int? {
    value[key] == nil ? nil : try number(key)
  }

  /// One of the words that a type has on the wire.
  func word<Word: RawRepresentable>(
    _ key: String
  ) throws(ResultsError) -> Word where Word.RawValue == String {
    guard let word = Word(rawValue: try text(key)) else { throw error(key, "no word known here") }
    return word
  }

  func numbers(_ key: String) throws(ResultsError) -> [Int] {
    try list(key).map { element throws(ResultsError) in try element.number() }
  }

  func list(_ key: String) throws(ResultsError) -> [ResultsReader] {
    let member = try member(key)
    guard let elements = member.value.arrayValue else {
      throw ResultsError(place: member.place, reason: "no list")
    }
    return elements.enumerated().map {
      ResultsReader(value: $1, place: "\(member.place)[\($0)]")
    }
  }

  /// Sees to it that the outcome told is the one that the rest makes.
  func check(_ outcome: CaseOutcome) throws(ResultsError) {
    guard try text("outcome").hasSameUTF8(as: outcome.rawValue) else {
      throw error("outcome", "the rest makes it “\(outcome.rawValue)”")
    }
  }
}
