import ArgumentParser
import EvalLoading
import TraceReporting

/// Validates files.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check case, agent and policy files, and say everything that is wrong at once.")

  @Argument(help: "Files, or folders of them.")
  var paths: [String]

  func run() throws {
    let diagnostics = FileChecker.check(paths)
    for diagnostic in diagnostics { Output.line(Visible.line(diagnostic.description)) }
    let errors = diagnostics.count { $0.severity == .error }
    Output.error(
      diagnostics.isEmpty
        ? "no mistakes"
        : "\(Self.count(errors, "error")), \(Self.count(diagnostics.count - errors, "warning"))")
    if errors > 0 { throw ExitCode(2) }
  }

  private static func count(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }
}
