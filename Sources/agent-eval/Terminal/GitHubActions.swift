import FilePaths
import Glibc
import TraceJudging
import TraceReporting

/// What GitHub Actions offers a step that runs there.
enum GitHubActions {
  /// Whether this is such a step, by the variable that is always set there.
  static let isHere = variable("GITHUB_ACTIONS") == "true"

  /// Prints annotations, and adds to the step's summary where there is one; returns whether all of
  /// it could be written.
  ///
  /// - Parameter besideResults: whether standard output is for people. Else annotations go to
  ///   standard error, where GitHub finds them as well.
  static func tell(
    _ results: EvalResults, in context: ReportContext, besideResults: Bool
  ) -> Bool {
    let annotations = ReportFormat.github.bytes(of: results, in: context)
    Output.commands(annotations, isDiagnostic: !besideResults)
    guard let path = variable("GITHUB_STEP_SUMMARY"), !path.isEmpty else { return true }
    let size = fileStatus(path).map { Int($0.st_size) } ?? 0
    let summary = Workflow.summary(
      of: results, in: context, limitBytes: Workflow.summaryLimitBytes - size)
    do {
      try ReportFiles.append(Array(summary.utf8), to: path)
      return true
    } catch {
      Output.error(Visible.line("agent-eval: \(error)"))
      return false
    }
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
