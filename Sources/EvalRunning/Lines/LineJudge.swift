import AgentTrace
public import EvalLoading
import FilePaths
import Glibc
public import TraceJudging

/// Judges logs that are named line by line, for engines that pipe lines through a program.
///
/// A line is the path of a log; or an object `{"log": PATH, "caseId": ID}`; or a whole case with its
/// recording, as a line of a case file. Each line has one outcome, whatever it holds.
public struct LineJudge: Sendable {
  private let runner: EvalRunner
  private let cases: [EvalCase]
  private let choosesByCaseId: Bool
  private let name: String
  private let finder: CaseFinder

  /// - Parameters:
  ///   - cases: What logs are judged by; their own recordings are not looked at.
  ///   - choosesByCaseId: Whether a log is judged by the case that it was made for alone, instead of
  ///     by every one.
  ///   - name: What the input is called where a line of it is a case.
  public init(_ runner: EvalRunner, cases: [EvalCase], choosesByCaseId: Bool, name: String) {
    self.runner = runner
    self.cases = cases
    self.choosesByCaseId = choosesByCaseId
    self.name = name
    finder = CaseFinder(cases)
  }

  /// The outcome of one line; what is wrong with it is an outcome too.
  public func judge(_ line: InputLine) async -> LineOutcome {
    do {
      let (log, cases) = try request(of: line)
      try Self.checkKind(of: log)
      return LineOutcome(line, await runner.judge(cases, onLog: log))
    } catch {
      return LineOutcome(line, error: "\(error)")
    }
  }

  /// What a line asks for: a log, and what it is judged by.
  private func request(of line: InputLine) throws -> (log: String, cases: [EvalCase]) {
    guard !line.isCut else { throw CaseError(reason: "the line is too long to be read") }
    guard !line.bytes.isEmpty else { throw CaseError(reason: "the line is empty") }
    // A path need not be UTF-8; JSON is.
    let text = String(pathBytes: line.bytes)
    guard text.utf8.first == UInt8(ascii: "{") else {
      return (text, try cases(for: text, caseId: nil))
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: line.bytes)
    } catch {
      throw CaseError(
        reason: "the line begins like an object and is not valid JSON: \(error.code.phrase)")
    }
    guard let log = value["log"] else { return try wholeCase(line) }
    let others = value.objectValue?.keys.filter { $0 != "log" && $0 != "caseId" } ?? []
    if let other = others.first {
      throw CaseError(reason: "an object with “log” has only “caseId” beside it, not “\(other)”")
    }
    guard let path = log.stringValue, !path.isEmpty else {
      throw CaseError(reason: "“log” is not the path of a log")
    }
    guard let caseId = value["caseId"] else { return (path, try cases(for: path, caseId: nil)) }
    guard let id = caseId.stringValue else { throw CaseError(reason: "“caseId” is not a text") }
    return (path, try cases(for: path, caseId: id))
  }

  private func cases(for log: String, caseId: String?) throws -> [EvalCase] {
    guard !cases.isEmpty else {
      throw CaseError(reason: "nothing says what is expected of this log; name files of cases")
    }
    if let caseId {
      guard let found = finder.evalCase(named: caseId) else {
        throw CaseError(reason: "none of the cases is “\(caseId)”")
      }
      return [found]
    }
    guard choosesByCaseId else { return cases }
    guard let found = finder.evalCase(for: log) else {
      throw CaseError(
        reason: "the log names none of the cases that were given, nor do its file and its folder")
    }
    return [found]
  }

  private func wholeCase(_ line: InputLine) throws -> (log: String, cases: [EvalCase]) {
    let loaded = CaseLoader.load(line: line.bytes, number: line.number, path: name)
    guard !loaded.diagnostics.hasErrors, let found = loaded.cases.first else {
      throw CaseError(reason: loaded.diagnostics.map(\.description).joined(separator: "\n"))
    }
    guard loaded.cases.count == 1, let recording = found.recording else {
      throw CaseError(reason: "the line is no case with a recording; add “recording”")
    }
    return (recording, [found])
  }

  /// A pipe would wait for a writer, and a device may never end.
  private static func checkKind(of path: String) throws {
    guard !path.utf8.contains(0) else { throw CaseError(reason: "a path cannot hold a zero byte") }
    for name in [path, path + ".open"] {
      if let status = fileStatus(name), !status.isFile {
        throw CaseError(reason: "\(name) is no regular file")
      }
    }
  }
}

/// What became of one line.
public struct LineOutcome: Sendable {
  private let line: InputLine
  private let results: EvalResults?
  private let error: String?

  fileprivate init(_ line: InputLine, _ results: EvalResults) {
    self.line = line
    self.results = results
    error = results.cases.isEmpty ? "every case for this log is skipped" : nil
  }

  fileprivate init(_ line: InputLine, error: String) {
    self.line = line
    results = nil
    self.error = error
  }

  /// What all cases say together: any that failed is `fail`, else any that could not be judged is
  /// `error`, else any inconclusive one is that.
  public var outcome: CaseOutcome {
    guard let results, error == nil else { return .error }
    let order: [CaseOutcome] = [.fail, .error, .inconclusive]
    return order.first { results.count($0) > 0 } ?? .pass
  }

  /// One line of JSON, without its end; Docs/continuous-integration.md lists its keys.
  public var encoded: [UInt8] {
    var object: JSONObject = [
      "cases": .array(results?.cases.map(\.json) ?? []),
      "input": .string(String(decoding: line.bytes, as: UTF8.self)),
      "line": JSONValue(line.number), "outcome": .string(outcome.rawValue),
    ]
    if let error { object["error"] = .string(error) }
    return CanonicalJSON.encode(.object(object), form: .plain)
  }
}

/// Finds the case that a log was made for.
struct CaseFinder: Sendable {
  private var byName: [[UInt8]: EvalCase] = [:]

  init(_ cases: [EvalCase]) {
    for evalCase in cases {
      byName[Array(RunFiles.fileName(for: evalCase.caseId).utf8)] = evalCase
    }
    // The name itself goes before the name of a file that is made of another.
    for evalCase in cases { byName[Array(evalCase.caseId.utf8)] = evalCase }
  }

  func evalCase(named caseId: String) -> EvalCase? {
    byName[Array(caseId.utf8)].flatMap { $0.caseId.hasSameUTF8(as: caseId) ? $0 : nil }
  }

  /// The case that the first event of a log names; without one, that which its file or its folder is
  /// named after.
  func evalCase(for log: String) -> EvalCase? {
    RunCatalogue.names(of: log).lazy.compactMap { byName[Array($0.utf8)] }.first
  }
}
