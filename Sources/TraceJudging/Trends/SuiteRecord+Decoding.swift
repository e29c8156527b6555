public import AgentTrace

extension SuiteRecord {
  /// Reads the wire form; keys that are not known are passed over.
  ///
  /// - Throws: ``ResultsError`` at the first thing that is not as it should be; it says so where a newer
  ///   version of the program made it.
  public init(decoding json: JSONValue) throws(ResultsError) {
    let reader = ResultsReader(value: json, place: "")
    let schema = try reader.text("schema")
    guard schema.hasSameUTF8(as: Self.schema) else {
      throw ResultsError(
        place: "schema",
        reason: schema.utf8.starts(with: Self.schemaFamily.utf8)
          ? "\(schema) is newer than this program, which reads \(Self.schema)"
          : "not \(Self.schema)")
    }
    self.init(startedAt: try reader.text("startedAt"))
    elapsedMicroseconds = try reader.countIfThere("elapsedMicroseconds") ?? 0
    commit = try reader.textIfThere("commit")
    branch = try reader.textIfThere("branch")
    program = try reader.textIfThere("program") ?? ""
    let elements = try reader.list("cases", most: Self.mostCases)
    for (index, element) in elements.enumerated() {
      cases.append(try CaseRecord(ResultsReader(value: element, place: "cases[\(index)]")))
    }
    guard json["skipped"] != nil else { return }
    for element in try reader.list("skipped", most: Self.mostCases) {
      guard let caseId = element.stringValue else { throw reader.error("skipped", "no texts") }
      skipped.append(caseId)
    }
  }
}

extension CaseRecord {
  fileprivate init(_ reader: ResultsReader) throws(ResultsError) {
    self.init(caseId: try reader.text("caseId"), outcome: try reader.outcome("outcome"))
    for element in try reader.list("trials", most: SuiteRecord.mostTrials) {
      guard let outcome = element.stringValue.flatMap(CaseOutcome.init(rawValue:)) else {
        throw reader.error("trials", "an element is no outcome of a case")
      }
      trials.append(outcome)
    }
    isLive = reader.value["live"] == true
    isSafety = reader.value["safety"] == true
    passThreshold = try reader.countIfThere("passThreshold")
    if let check = reader.value["decisive"] {
      let check = ResultsReader(value: check, place: "\(reader.place).decisive")
      decisive = Check(
        expectation: try check.text("expectation"), message: try check.text("message"))
    }
    failedChecks = try reader.countIfThere("failedChecks") ?? 0
    warnedChecks = try reader.countIfThere("warnedChecks") ?? 0
    error = try reader.textIfThere("error")
    if let usage = reader.value["usage"] {
      self.usage = try Usage(ResultsReader(value: usage, place: "\(reader.place).usage"))
    }
    agent = try reader.textIfThere("agent")
    model = try reader.textIfThere("model")
    subject = try reader.textIfThere("subject")
    asked = try reader.textIfThere("asked")
    cluster = try reader.textIfThere("cluster")
  }
}

extension CaseRecord.Usage {
  fileprivate init(_ reader: ResultsReader) throws(ResultsError) {
    self.init()
    runs = try reader.countIfThere("runs") ?? 0
    steps = try reader.countIfThere("steps") ?? 0
    toolCalls = try reader.countIfThere("toolCalls") ?? 0
    inputTokens = try reader.countIfThere("inputTokens") ?? 0
    outputTokens = try reader.countIfThere("outputTokens") ?? 0
    elapsedMicroseconds = try reader.countIfThere("elapsedMicroseconds") ?? 0
    guard let cost = reader.value["cost"] else { return }
    guard let amount = cost.doubleValue, amount.isFinite, amount >= 0 else {
      throw reader.error("cost", "no number from 0")
    }
    self.cost = amount
  }
}

extension ResultsReader {
  /// A whole number from 0; anything beyond what times and tokens can be is none.
  fileprivate func countIfThere(_ key: String) throws(ResultsError) -> Int? {
    guard let member = value[key] else { return nil }
    guard let number = member.intValue, (0...(1 << 53)).contains(number) else {
      throw error(key, "no whole number from 0 to 2^53")
    }
    return number
  }

  fileprivate func outcome(_ key: String) throws(ResultsError) -> CaseOutcome {
    guard let outcome = CaseOutcome(rawValue: try text(key)) else {
      throw error(key, "no outcome of a case")
    }
    return outcome
  }

  fileprivate func list(_ key: String, most: Int) throws(ResultsError) -> [JSONValue] {
    guard let member = value[key] else { throw error(key, "missing") }
    guard let elements = member.arrayValue else { throw error(key, "no list") }
    guard elements.count <= most else { throw error(key, "more than \(most) elements") }
    return elements
  }
}
