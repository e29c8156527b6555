import AgentTrace

/// Why a text is no accepted case.
public struct AcceptedTextError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The line at fault, from 1.
  public var line: Int
  /// What is wrong there, and what to do.
  public var message: String

  public var description: String { "line \(line): \(message)" }
}

extension AcceptedText {
  /// Reads the text of a case.
  ///
  /// Only what ``bytes(of:)`` would have written is taken, byte for byte, so that an accepted case has
  /// one text.
  ///
  /// - Throws: ``AcceptedTextError`` for the first line that is not as it should be.
  public static func parse(_ bytes: [UInt8]) throws(AcceptedTextError) -> AcceptedCase {
    guard bytes.count <= limitBytes else {
      throw AcceptedTextError(line: 1, message: "larger than 4 MiB; accept the case anew")
    }
    var parser = AcceptedParser(bytes)
    let accepted = try parser.parse()
    try checkForm(of: accepted, bytes)
    return accepted
  }

  /// Sees to it that a text says what it says in the one form there is.
  private static func checkForm(
    of accepted: AcceptedCase, _ bytes: [UInt8]
  ) throws(AcceptedTextError) {
    let expected = Array((lines(of: accepted).joined(separator: "\n") + "\n").utf8)
    guard expected != bytes else { return }
    let same = zip(bytes, expected).prefix { $0 == $1 }.count
    let line = bytes[..<same].count { $0 == UInt8(ascii: "\n") } + 1
    throw AcceptedTextError(
      line: line, message: "not in the form in which `agent-eval accept` writes it")
  }
}

/// Reads the lines of an accepted case.
private struct AcceptedParser {
  private let lines: [ArraySlice<UInt8>]
  private var index = 0
  private var accepted = AcceptedCase(caseId: "")

  init(_ bytes: [UInt8]) {
    lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  }

  func error(_ message: String) -> AcceptedTextError {
    AcceptedTextError(line: index + 1, message: message)
  }

  mutating func parse() throws(AcceptedTextError) -> AcceptedCase {
    guard lines.count > 1, lines.last?.isEmpty == true else {
      index = lines.count - 1
      throw error("the text ends in the middle of a line; accept the case anew")
    }
    for number in lines.indices.dropLast() {
      index = number
      try readLine(lines[number])
    }
    if index == 0 { throw error("the text ends behind its first line; accept the case anew") }
    return accepted
  }

  private mutating func readLine(_ line: ArraySlice<UInt8>) throws(AcceptedTextError) {
    if index == 0 { return try readFirst(line) }
    guard line.count <= AcceptedText.lineLimitBytes else { throw error("longer than 64 KiB") }
    guard line.last != UInt8(ascii: "\r") else {
      throw error(
        "ends with a carriage return; keep Git from changing it: `accepted/*.txt -text` in "
          + ".gitattributes")
    }
    guard let text = String(validating: line, as: UTF8.self) else { throw error("no UTF-8") }
    if text.hasPrefix("<<<<<<<") || text.hasPrefix("=======") || text.hasPrefix(">>>>>>>") {
      throw error("a conflict that Git left behind; accept the case anew")
    }
    if text.isEmpty { return }
    let spaces = text.utf8.prefix { $0 == UInt8(ascii: " ") }.count
    var words = LineWords(rest: Substring(text.utf8.dropFirst(spaces)))
    guard let key = words.next(), let level = [0: 0, 2: 1, 4: 2][spaces] else {
      throw error("no fact that a baseline holds")
    }
    let isKnown =
      switch level {
      case 0: try readTop(key, &words)
      case 1: try readRun(key, &words)
      default: try readCall(key, &words)
      }
    guard isKnown else {
      throw error("“\(key.prefix(utf8Bytes: 40).escapingHiddenScalars)” is nothing known here")
    }
    guard words.rest.isEmpty else {
      throw error(
        "“\(String(words.rest).prefix(utf8Bytes: 40).escapingHiddenScalars)” is too much here")
    }
  }

  private mutating func readFirst(_ line: ArraySlice<UInt8>) throws(AcceptedTextError) {
    for format in 1...AcceptedText.currentFormat
    where line.elementsEqual(AcceptedText.firstLine(format).utf8) {
      accepted.format = format
      return
    }
    let name = Array(AcceptedText.formatName.utf8)
    if line.starts(with: name) {
      let version = String(decoding: line.dropFirst(name.count).prefix(20), as: UTF8.self)
      throw error(
        "format version \(version.escapingHiddenScalars); this program reads versions 1 to "
          + "\(AcceptedText.currentFormat)")
    }
    throw error(
      "no accepted case: the first line of one is “\(AcceptedText.firstLine())”")
  }

  private func need<Value>(_ value: Value?, _ what: String) throws(AcceptedTextError) -> Value {
    guard let value else { throw error("\(what) is missing or malformed") }
    return value
  }

  // MARK: The case

  private mutating func readTop(
    _ key: String, _ words: inout LineWords
  ) throws(AcceptedTextError) -> Bool {
    if index == 1, key != "case" { throw error("the second line names the case") }
    switch key {
    case "case" where index == 1: accepted.caseId = try need(words.next(), "the case's name")
    case "skip" where index == 2:
      var skip = CaseSkip(reason: try need(words.next(), "the reason"))
      if !words.rest.isEmpty {
        guard words.next() == "until" else { throw error("“until” and a day, or nothing") }
        skip.until = try need(words.next(), "the day")
      }
      accepted.skip = skip
    case "expect" where accepted.runs.isEmpty: try readExpectation(&words)
    case "run":
      guard accepted.runs.count < AcceptedText.runLimit else {
        throw error("more than \(AcceptedText.runLimit) runs")
      }
      let outcome = CaseOutcome(rawValue: try need(words.next(), "the run's outcome"))
      accepted.runs.append(AcceptedRun(outcome: try need(outcome, "the run's outcome")))
    default:
      guard holdsWholePath, accepted.asked.isEmpty, accepted.runs.isEmpty,
        let fact = CaseSetting.Key(rawValue: key), accepted.setting[fact] == nil
      else { return false }
      accepted.setting[fact] = try value(&words)
    }
    return true
  }

  /// Whether the text is of a version that holds the whole path.
  private var holdsWholePath: Bool { accepted.format > 1 }

  private mutating func readExpectation(_ words: inout LineWords) throws(AcceptedTextError) {
    var asked = AskedExpectation(part: "", name: "", severity: .error, text: "")
    asked.name = try need(words.next(), "what is expected")
    if asked.name == "warning" {
      asked.severity = .warning
      asked.name = try need(words.next(), "what is expected")
    }
    if asked.name == "in" {
      asked.part = try need(words.next(), "the name of the set")
      asked.name = try need(words.next(), "what is expected")
    }
    asked.text = try value(&words)
    accepted.asked.append(asked)
  }

  /// The rest of a line: JSON, or the digest of a long value.
  private func value(_ words: inout LineWords) throws(AcceptedTextError) -> String {
    let text = String(words.rest)
    words.rest = ""
    if text.hasPrefix("sha256:") {
      guard let match = text.wholeMatch(of: /sha256:[0-9a-f]{32} [1-9][0-9]{0,18} bytes (".*")/),
        let head = try? JSONValue(parsing: String(match.output.1)), head.stringValue != nil
      else { throw error("a malformed digest") }
      return text
    }
    let json: JSONValue
    do throws(JSONError) { json = try JSONValue(parsing: text) } catch {
      throw self.error("no JSON: \(error)")
    }
    let form = CanonicalJSON.string(json, form: .plain).escapingHiddenScalars
    guard form.hasSameUTF8(as: text) else { throw error("JSON, but not in its canonical form") }
    return text
  }

  // MARK: Runs

  private mutating func readRun(
    _ key: String, _ words: inout LineWords
  ) throws(AcceptedTextError) -> Bool {
    guard var run = accepted.runs.popLast() else { throw error("a fact of no run") }
    defer { accepted.runs.append(run) }
    switch key {
    case "call": run.decisions.append([AcceptedCall(tool: try need(words.next(), "the tool"))])
    case "also":
      guard var decision = run.decisions.popLast() else { throw error("nothing it goes with") }
      decision.append(AcceptedCall(tool: try need(words.next(), "the tool")))
      run.decisions.append(decision)
    case "stop":
      run.stop = .init(reason: try need(words.next(), "the stop reason"), detail: words.next())
    case "incomplete": run.isIncomplete = true
    case "check":
      let name = try need(words.next(), "the expectation")
      let outcome = Outcome(rawValue: try need(words.next(), "the outcome"))
      run.checks.append(.init(name: name, outcome: try need(outcome, "the outcome")))
    case "steps": run.steps = try count(&words)
    case "tokens": run.tokens = try count(&words)
    case "cost":
      let number = words.next().flatMap(JSONNumber.init(token:))?.doubleValue
      run.cost = try need(number.flatMap { (0..<1e9).contains($0) ? $0 : nil }, "the cost")
    default:
      guard holdsWholePath else { return false }
      return try readWholePath(key, &words, into: &run)
    }
    return true
  }

  /// What only the second version of the format has.
  private func readWholePath(
    _ key: String, _ words: inout LineWords, into run: inout AcceptedRun
  ) throws(AcceptedTextError) -> Bool {
    switch key {
    case "invalid": run.invalidDecisions = try count(&words)
    case "goal" where run.goal == nil: run.goal = try value(&words)
    case "answer" where words.rest == "none":
      words.rest = ""
      run.answer = .none
    case "answer": run.answer = .given(try value(&words))
    case "cites": run.cites.append(try need(words.next(), "what the answer cites"))
    case "below":
      let caller = try need(words.next(), "the caller")
      let word = try need(words.next(), "what its runs were made with")
      let fact = try need(RunSetting.Key(rawValue: word), "what its runs were made with")
      if !(run.below.last?.caller.hasSameUTF8(as: caller) ?? false) {
        run.below.append(.init(caller: caller))
      }
      run.below[run.below.count - 1].setting[fact] = try value(&words)
    default:
      guard let fact = RunSetting.Key(rawValue: key), run.setting[fact] == nil else {
        return false
      }
      run.setting[fact] = try value(&words)
    }
    return true
  }

  private func count(_ words: inout LineWords) throws(AcceptedTextError) -> Int {
    try need(words.next().flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 }, "the number")
  }

  private mutating func readCall(
    _ key: String, _ words: inout LineWords
  ) throws(AcceptedTextError) -> Bool {
    guard var run = accepted.runs.popLast() else { throw error("a fact of no call") }
    defer { accepted.runs.append(run) }
    guard var decision = run.decisions.popLast(), var call = decision.popLast() else {
      throw error("a fact of no call")
    }
    switch key {
    case "by": call.caller = try need(words.next(), "the caller")
    case "invalid": call.isInvalid = true
    case "input":
      guard call.arguments.count < AcceptedCall.argumentLimit else {
        throw error("more than \(AcceptedCall.argumentLimit) parts of one input")
      }
      let pointer = try need(words.next(), "the place in the input")
      call.arguments.append(.init(pointer: pointer, value: try value(&words)))
    case "asked" where !holdsWholePath:
      call.gateAnswers.append(.verdict(VerdictStatus.approvalRequired.rawValue))
    case "verdict":
      let verdict = VerdictStatus(rawValue: try need(words.next(), "the verdict"))
      call.gateAnswers.append(.verdict(try need(verdict, "the verdict").rawValue))
    case "approval" where holdsWholePath: call.gateAnswers.append(.approval(try grant(&words)))
    case "attempts" where holdsWholePath: call.attempts = try count(&words)
    case "cited" where holdsWholePath: call.isCited = true
    case "status":
      let status = CallStatus(rawValue: try need(words.next(), "the status"))
      call.status = try need(status, "the status").rawValue
    default: return false
    }
    decision.append(call)
    run.decisions.append(decision)
    return true
  }

  /// What a person said of a call, behind the word `approval`.
  private func grant(
    _ words: inout LineWords
  ) throws(AcceptedTextError) -> AcceptedCall.Grant {
    let said = try need(words.next(), "the person's word")
    guard said == "granted" || said == "denied" else { throw error("“granted” or “denied”") }
    let by = try need(words.next(), "the person")
    var calls: Int? = 1
    switch words.next() {
    case nil: break
    case "input"?: calls = nil
    case "calls"?: calls = try count(&words)
    default: throw error("“input”, or “calls” and a number, or nothing")
    }
    return AcceptedCall.Grant(isGranted: said == "granted", by: by, calls: calls)
  }
}

/// The words of one line.
private struct LineWords {
  var rest: Substring

  /// The next word, bare or a JSON string, and the space behind it; `nil` where there is none.
  mutating func next() -> String? {
    let utf8 = rest.utf8
    guard let first = utf8.first else { return nil }
    var end = utf8.startIndex
    var word: String?
    if first == UInt8(ascii: "\"") {
      var isEscaped = false
      end = utf8.index(after: end)
      while end < utf8.endIndex, isEscaped || utf8[end] != UInt8(ascii: "\"") {
        isEscaped = !isEscaped && utf8[end] == UInt8(ascii: "\\")
        end = utf8.index(after: end)
      }
      guard end < utf8.endIndex else { return nil }
      end = utf8.index(after: end)
      word = (try? JSONValue(parsing: String(rest[..<end])))?.stringValue
    } else {
      end = utf8.firstIndex { !AcceptedText.isBare($0) } ?? utf8.endIndex
      word = end == utf8.startIndex ? nil : String(rest[..<end])
    }
    guard let word else { return nil }
    if end < utf8.endIndex {
      guard utf8[end] == UInt8(ascii: " ") else { return nil }
      end = utf8.index(after: end)
    }
    rest = rest[end...]
    return word
  }
}
