import AgentTrace

/// The text that an accepted case is kept as: one fact a line, the same bytes on every machine.
/// Docs/baselines.md specifies it.
public enum AcceptedText {
  /// The version of the format that is written.
  public static let currentFormat = 2
  /// What the first line says before the version.
  static let formatName = "agent-eval/accepted/"
  /// The first line: the format and its version.
  static func firstLine(_ format: Int = currentFormat) -> String { "\(formatName)\(format)" }
  /// How large the text of one case may be.
  public static let limitBytes = 4 << 20
  /// How long one of its lines may be.
  static let lineLimitBytes = 64 << 10
  /// How many runs one case may hold.
  public static let runLimit = 100

  /// Why a case cannot be written down.
  public struct TooLarge: Error, Hashable, CustomStringConvertible {
    /// In words, with the limit.
    public var description: String
  }

  /// The text of a case.
  ///
  /// - Throws: ``TooLarge`` where it goes beyond a limit of the format.
  public static func bytes(of accepted: AcceptedCase) throws(TooLarge) -> [UInt8] {
    guard accepted.runs.count <= runLimit else {
      throw TooLarge(
        description: "\(accepted.runs.count) runs; a baseline holds \(runLimit) at most")
    }
    let lines = self.lines(of: accepted)
    if lines.contains(where: { $0.utf8.count > lineLimitBytes }) {
      throw TooLarge(description: "a line of its baseline would be longer than 64 KiB")
    }
    let text = Array((lines.joined(separator: "\n") + "\n").utf8)
    guard text.count <= limitBytes else {
      throw TooLarge(description: "its baseline would be larger than 4 MiB")
    }
    return text
  }

  /// The lines of a case, whatever their size.
  static func lines(of accepted: AcceptedCase) -> [String] {
    var lines = [firstLine(accepted.format), "case \(word(accepted.caseId))"]
    if let skip = accepted.skip {
      lines.append("skip \(quoted(skip.reason))" + (skip.until.map { " until \(word($0))" } ?? ""))
    }
    for key in CaseSetting.Key.allCases {
      if let value = accepted.setting[key] { lines.append("\(key.rawValue) \(value)") }
    }
    if !accepted.asked.isEmpty { lines.append("") }
    lines += accepted.asked.map(line(of:))
    for run in accepted.runs { lines += [""] + self.lines(of: run, accepted.format) }
    return lines
  }

  private static func line(of asked: AskedExpectation) -> String {
    var line = "expect "
    if asked.severity == .warning { line += "warning " }
    if !asked.part.isEmpty { line += "in \(word(asked.part)) " }
    return line + "\(word(asked.name)) \(asked.text)"
  }

  /// The lines of a run; runs of a case are sorted by them.
  static func lines(of run: AcceptedRun, _ format: Int = currentFormat) -> [String] {
    var lines = ["run \(run.outcome.rawValue)"]
    for key in RunSetting.Key.allCases {
      if let value = run.setting[key] { lines.append("  \(key.rawValue) \(value)") }
    }
    if let goal = run.goal { lines.append("  goal \(goal)") }
    for below in run.below {
      for key in RunSetting.Key.allCases {
        guard let value = below.setting[key] else { continue }
        lines.append("  below \(word(below.caller)) \(key.rawValue) \(value)")
      }
    }
    for decision in run.decisions {
      for (index, call) in decision.enumerated() {
        lines += self.lines(of: call, isFirst: index == 0, format)
      }
    }
    if let stop = run.stop {
      lines.append("  stop \(word(stop.reason))" + (stop.detail.map { " \(word($0))" } ?? ""))
    }
    if run.isIncomplete { lines.append("  incomplete") }
    if run.invalidDecisions > 0 { lines.append("  invalid \(run.invalidDecisions)") }
    switch run.answer {
    case .unknown: break
    case .none: lines.append("  answer none")
    case .given(let text): lines.append("  answer \(text)")
    }
    lines += run.cites.map { "  cites \(word($0))" }
    lines += run.checks.map { "  check \(word($0.name)) \($0.outcome.rawValue)" }
    lines.append("  steps \(run.steps)")
    if let tokens = run.tokens { lines.append("  tokens \(tokens)") }
    if let cost = run.cost { lines.append("  cost \(JSONValue(cost))") }
    return lines
  }

  private static func lines(of call: AcceptedCall, isFirst: Bool, _ format: Int) -> [String] {
    var lines = ["  \(isFirst ? "call" : "also") \(word(call.tool))"]
    if !call.caller.hasSameUTF8(as: "agent") { lines.append("    by \(word(call.caller))") }
    if call.isInvalid { lines.append("    invalid") }
    lines += call.arguments.map { "    input \(word($0.pointer)) \($0.value)" }
    if format == 1 {
      if call.wasAsked { lines.append("    asked") }
      if let verdict = call.verdict { lines.append("    verdict \(verdict)") }
    } else {
      lines += call.gateAnswers.map { "    \(line(of: $0))" }
    }
    if call.attempts > 1 { lines.append("    attempts \(call.attempts)") }
    if let status = call.status { lines.append("    status \(status)") }
    if call.isCited { lines.append("    cited") }
    return lines
  }

  /// What policy or a person said of a call.
  static func line(of answer: AcceptedCall.GateAnswer) -> String {
    switch answer {
    case .verdict(let word): return "verdict \(word)"
    case .approval(let grant):
      let scope =
        switch grant.calls {
        case nil: " input"
        case 1?: ""
        case let count?: " calls \(count)"
        }
      return "approval \(grant.isGranted ? "granted" : "denied") \(word(grant.by))\(scope)"
    }
  }
}

// MARK: - Words and values

extension AcceptedText {
  /// A text as one word: bare where it has only letters, digits and common signs, else a JSON string.
  static func word(_ text: String) -> String {
    let isBare = !text.isEmpty && text.utf8.allSatisfy(isBare)
    return isBare ? text : quoted(text)
  }

  /// Whether a byte may stand in a bare word.
  static func isBare(_ byte: UInt8) -> Bool {
    (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte)
      || "_-./:*[]~@#".utf8.contains(byte)
  }

  /// A text as a JSON string.
  static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = []
    CanonicalJSON.appendString(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self).escapingHiddenScalars
  }

  /// Bytes of a name that stand in a baseline; a longer one is cut and carries its digest.
  private static let nameLimitBytes = 200
  /// Bytes of a value's canonical form that stand in a baseline.
  private static let valueLimitBytes = 160
  /// Bytes of the canonical form of what is expected.
  private static let expectationLimitBytes = 16 << 10
  /// Bytes of a long value that a person sees.
  private static let headBytes = 40

  /// A name as a baseline holds it.
  static func name(for name: String) -> String {
    let text = withoutTokens(name)
    guard text.utf8.count > nameLimitBytes else { return text }
    return text.prefix(utf8Bytes: nameLimitBytes - 50) + "#"
      + Digest(of: Array(text.utf8)).hex.prefix(32)
  }

  /// A value as a baseline holds it: canonical JSON, or, of a long one, the first 32 digits of the
  /// SHA-256 of that, its length and its beginning.
  static func value(_ value: JSONValue) -> String {
    let text = canonical(value).escapingHiddenScalars
    guard text.utf8.count > valueLimitBytes else { return text }
    return digest(of: text)
  }

  /// What is expected as a baseline holds it: as it was asked, unless that is very long.
  static func expectation(_ value: JSONValue) -> String {
    let text = CanonicalJSON.string(value, form: .plain).escapingHiddenScalars
    guard text.utf8.count > expectationLimitBytes else { return text }
    return digest(of: text)
  }

  private static func digest(of text: String) -> String {
    let head = text.prefix(utf8Bytes: headBytes)
    return "sha256:\(Digest(of: Array(text.utf8)).hex.prefix(32)) \(text.utf8.count) bytes "
      + quoted(head)
  }

  /// Canonical JSON in which a whole number has no fraction and no exponent, and a value that was
  /// withheld has the same name in each run.
  private static func canonical(_ value: JSONValue) -> String {
    var value = value
    switch value {
    case .number(let number): value = .number(plain(number))
    case .string(let text): value = .string(withoutTokens(text))
    case .array, .object: return withoutTokens(CanonicalJSON.string(value))
    default: break
    }
    return CanonicalJSON.string(value)
  }

  /// A count or a cost in the shortest way.
  static func amount(_ amount: Double) -> String { value(JSONValue(amount)) }

  private static func plain(_ number: JSONNumber) -> JSONNumber {
    let double = number.doubleValue
    guard number.intValue == nil, double.magnitude < 9e15, double == double.rounded() else {
      return number
    }
    return JSONNumber(Int(double))
  }

  /// A text in which each token `«redacted:KIND:HEX»` stands without its digits, which may be others in
  /// each run.
  private static func withoutTokens(_ text: String) -> String {
    guard text.utf8.contains(0xc2), text.contains("«redacted:") else { return text }
    return text.replacing(/«redacted:([^:»]{1,80}):[0-9a-f]{1,128}»/) {
      "«redacted:\($0.output.1)»"
    }
  }
}
