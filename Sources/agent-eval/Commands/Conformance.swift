import AgentTrace
import ArgumentParser
import EvalRunning
import TraceJudging
import TraceReporting
import TraceStorage

/// Shows what the language means on its edge cases.
struct ConformanceVerb: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "conformance",
    abstract: "Judge the edge cases of every expectation, and say what the outcome is.",
    discussion: """
      Among them is every input on which a published evaluator was seen to answer wrongly. Exits \
      with 0 where every outcome is the right one, else with 1.
      """
        + Example.list([
          "conformance": "whether every expectation does on its edge cases what it should"
        ]))

  @Option(help: "Only rules whose name contains this text.")
  var rule: String?

  @Flag(help: "Print a line of JSON for each case.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Write them as data that other evaluators can run to this folder, which has to be there: a file for each rule.",
      valueName: "folder"), completion: .directory)
  var write: String?

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() async throws {
    if let write { return try await writeFiles(to: write) }
    let checks = await Conformance.checks().filter { check in
      rule.map { check.rule.contains($0) } ?? true
    }
    guard !checks.isEmpty else {
      throw ValidationError("No rule is named like that.")
    }
    var last = ""
    for check in checks {
      if json {
        Output.json(check.json)
        continue
      }
      if !check.rule.elementsEqual(last) {
        Output.line(check.rule)
        last = check.rule
      }
      let outcome = check.actual + String(repeating: " ", count: max(0, 14 - check.actual.count))
      let peer = check.peer.map { "  (not so: \($0))" } ?? ""
      Output.line("  \(outcome)\(check.title)\(peer)")
      if !check.isRight {
        Output.line("    WRONG: should be \(check.wanted)")
        for message in check.messages { Output.line("    \(Visible.line(message))") }
      }
    }
    let wrong = checks.count { !$0.isRight }
    if !json { Output.error("\(Figures.count(checks.count, "case")), \(wrong) wrong") }
    if wrong > 0 { throw ExitCode(1) }
  }

  /// Writes the edge cases as files.
  private func writeFiles(to folder: String) async throws {
    guard rule == nil, !json else {
      throw ValidationError("--write writes all of them as files; leave --rule and --json out.")
    }
    let files = Conformance.files(of: await Conformance.checks())
    for file in files {
      do {
        try WholeFile.replace("\(folder)/\(file.name)", with: file.bytes)
      } catch {
        Output.error("\(folder)/\(file.name): cannot be written: \(error)")
        throw ExitCode(2)
      }
    }
    Output.line("\(Figures.count(files.count, "file")) written to \(Visible.line(folder))")
  }
}
