import AgentTrace
import ArgumentParser
import EvalRunning
import FilePaths
import TraceReporting
import TraceStorage

/// Checks logs for damage and alteration.
struct Verify: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check that logs are whole and unaltered.",
    discussion: """
      The runs of agents that a run called are checked with it. Exits with 0 where every log is whole (the torn end of an unfinished one is a note), with 1 \
      where one is damaged or altered, with 2 where one cannot be read.
      """
        + Example.list([
          "verify runs/": "whether every log is whole and unaltered"
        ]))

  @Argument(help: "Run logs, or folders of them.", completion: .file())
  var logs: [String]

  @Option(help: "The digest that the log's last seal must have: shows that nothing was cut off.")
  var expectDigest: String?

  @Flag(help: "Print a line of JSON for each log.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    guard let expectDigest else { return }
    guard Digest(hex: expectDigest) != nil else {
      throw ValidationError("--expect-digest takes 64 lower-case hexadecimal digits.")
    }
    guard logs.count == 1 else { throw ValidationError("--expect-digest goes with one log.") }
  }

  func run() throws {
    var worst: Int32 = 0
    let paths = logs.flatMap { path in
      do throws(FolderError) {
        return try LogFiles.all(below: path)
      } catch {
        // A log that is missing is the verifier's to report, like any other that cannot be read.
        guard isFolder(path) else { return [path] }
        Output.error(Visible.line("agent-eval: \(error)"))
        worst = 2
        return []
      }
    }
    guard !paths.isEmpty else {
      if worst != 0 { throw ExitCode(worst) }
      Output.error(
        "agent-eval: no logs below \(logs.map { Visible.line($0) }.joined(separator: ", "))")
      throw ExitCode(2)
    }
    guard expectDigest == nil || paths.count == 1 else {
      throw ValidationError("--expect-digest goes with one log, and here are \(paths.count).")
    }
    var known = PathSet()
    for path in paths where !known.contains(path) {
      let reports = LogVerifier.verifyTree(
        path: path, expectedDigest: expectDigest.flatMap(Digest.init(hex:)), knowing: &known)
      for var report in reports {
        report.checkTaskRuns()
        if json {
          Output.json(report.json)
        } else {
          Output.lines(report.lines.map { Visible.line($0) })
        }
        worst = Self.worse(worst, report.exitCode)
      }
    }
    if worst != 0 { throw ExitCode(worst) }
  }

  /// Damage outranks what cannot be read.
  private static func worse(_ left: Int32, _ right: Int32) -> Int32 {
    [1, 2].first { left == $0 || right == $0 } ?? 0
  }
}
