import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import TraceJudging
import TraceReporting

/// Makes a case of a recorded run.
struct Promote: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract: "Write a case and a scrubbed log from a recorded run, or from several good ones.",
    discussion: """
      A failing run is shortened to the fewest calls with which it still fails in the same way, judged \
      again at each step; the case expects what it broke. What that is, say --cases or --expect, or \
      --good shows it; without them it is what no run should do. Of runs that went well the case \
      expects what they share. Secrets are withheld. Nothing that is there is overwritten. Exits with \
      0 where a case was written, with 2 where none was.
      """
        + Example.list([
          "promote last-failed": "a case of the run that failed",
          "promote latest --expect '{\"toolsNotCalled\": [\"delete_*\"]}'":
            "or of what it should not have done",
        ]))

  @Argument(
    help: "The log of a run that failed, or of one or several that went well.", completion: .file())
  var logs: [String]

  @Option(
    parsing: .singleValue,
    help: "Case files, or folders of them, that hold the case which the run fails.",
    completion: .file())
  var cases: [String] = []

  @Option(name: .customLong("case"), help: "Which of these cases. Default: the one the log names.")
  var failedCase: String?

  @Option(help: "What the run should have met: the “expected” of a case, as JSON.")
  var expect: String?

  @Option(
    parsing: .singleValue, help: "The log of a run that did the same well; may be given again.",
    completion: .file())
  var good: [String] = []

  @Option(help: "The folder of the new case.", completion: .directory)
  var into = "EvalCases"

  @Option(help: "The new case's name. Default: agent, what fails, and the run.")
  var caseId: String?

  @Option(
    help: "The agent file: the case names it, and its redaction rules hold.", completion: .file())
  var agent: String?

  @OptionGroup var redaction: RedactionOptions

  @Flag(help: "Keep the whole run.")
  var whole = false

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    guard logs.count == 1 || (cases.isEmpty && expect == nil && good.isEmpty && !whole) else {
      throw ValidationError(
        "--cases, --expect, --good and --whole go with the log of one run that failed.")
    }
    guard expect == nil || cases.isEmpty else {
      throw ValidationError("--expect does not go with --cases.")
    }
    guard failedCase == nil || !cases.isEmpty else {
      throw ValidationError("--case goes with --cases.")
    }
    guard !into.isEmpty else { throw ValidationError("--into takes a folder.") }
    _ = try redaction.patterns()
  }

  func run() throws {
    let redactor = try redaction.redactor(for: agent)
    let promotion = try promotion().scrubbed(by: redactor)
    let files = PromotedFiles(for: promotion, caseId: caseId, folder: into)
    try files.write(promotion, agent: agent.map { WorkingFolder.path(of: $0, seenFrom: into) })
    if json {
      Output.json(promotion.json(files))
    } else {
      Output.lines(promotion.lines(files).map { Visible.line($0, width: Screen.width) })
    }
  }

  private func promotion() throws -> Promotion {
    guard logs.count == 1, let log = logs.first else { return try .good(logs) }
    let found = try Promotion.failing(
      log, against: expectations(of: log), good: good, isShortened: !whole)
    if let found { return found }
    Output.error(
      "note: nothing is wrong with the run as far as it shows: the case holds what it did.")
    return try .good(logs)
  }

  /// What the run should have met; `nil` where nobody says.
  private func expectations(of log: String) throws -> Expectations? {
    if let expect {
      do {
        return try Expectations(parsing: JSONValue(parsing: expect, options: .init(depthLimit: 64)))
      } catch {
        throw ValidationError(Visible.line("--expect: \(error)", width: 2_000))
      }
    }
    guard !cases.isEmpty else { return nil }
    let loaded = CaseLoader.load(cases, areRunsElsewhere: true)
    Diagnostics.print(loaded.diagnostics)
    if loaded.diagnostics.hasErrors { throw ExitCode(2) }
    let wanted = try failedCase ?? Promotion.caseId(of: log)
    guard let wanted else {
      guard loaded.cases.count == 1, let only = loaded.cases.first else {
        throw ValidationError(
          Visible.line("\(log) names no case: say with --case which of these it fails."))
      }
      return only.expected
    }
    guard let found = loaded.cases.first(where: { $0.caseId.hasSameUTF8(as: wanted) }) else {
      throw ValidationError(
        Visible.line("no case “\(wanted)” in \(cases.joined(separator: ", "))."))
    }
    return found.expected
  }
}

extension Promotion {
  /// What was made, for a person.
  func lines(_ files: PromotedFiles) -> [String] {
    var lines = ["case      \(files.caseFile)", "run       \(files.log)"]
    for failure in failures.prefix(10) {
      lines.append("fails     \(failure.expectation): \(failure.message)")
    }
    if failures.isEmpty {
      lines.append("expects   \(expected)")
    }
    if eventCounts.after < eventCounts.before {
      lines.append(
        "shortened \(Figures.count(callCounts.before, "call")) to \(callCounts.after), "
          + "\(Figures.count(eventCounts.before, "event")) to \(eventCounts.after), "
          + "judged \(Figures.count(judgements, "time"))")
    }
    if isCutShort { lines.append("note      the search took too long: a shorter run may be there") }
    for entry in withheld {
      lines.append("withheld  \(Figures.count(entry.values, "value")) (\(entry.kind))")
    }
    return lines + ["next      agent-eval run \(ShellWord.path(files.caseFile))"]
  }

  /// What was made, as `agent-eval/promotion/1`.
  func json(_ files: PromotedFiles) -> JSONValue {
    func counts(_ counts: (before: Int, after: Int)) -> JSONValue {
      ["before": JSONValue(counts.before), "after": JSONValue(counts.after)]
    }
    return [
      "schema": "agent-eval/promotion/1", "caseId": .string(files.caseId),
      "case": .string(files.caseFile), "log": .string(files.log), "from": .string(log),
      "runId": .string(runId), "expected": expected,
      "failures": .array(failures.map(\.json)), "events": counts(eventCounts),
      "calls": counts(callCounts), "judgements": JSONValue(judgements),
      "isCutShort": .bool(isCutShort),
      "withheld": .object(JSONObject(withheld.map { ($0.kind, JSONValue($0.values)) })),
    ]
  }
}
