import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import TraceMatching
import TraceReporting

/// Which cases `run` judges.
extension RunRequest {
  /// The cases of the arguments; what is wrong with them is printed.
  func loadCases(areRunsElsewhere: Bool) throws -> CaseLoader.Result {
    var loaded = CaseLoader.load(paths, areRunsElsewhere: areRunsElsewhere || !on.isEmpty)
    if loaded.diagnostics.hasErrors || loaded.cases.isEmpty {
      // A file of another sort is told in one line, with what takes it.
      for path in paths {
        try NamedFiles.refuse(path, verb: "run", unless: [.cases, .shared, .folder])
      }
    }
    Diagnostics.print(loaded.diagnostics)
    guard !on.isEmpty, !loaded.diagnostics.hasErrors, !loaded.cases.isEmpty else { return loaded }
    loaded.cases = try RuleSuite.cases(
      of: loaded.cases, on: FoundRuns.all(of: on, cache: importCache))
    return loaded
  }

  /// The cases to judge; exits with 2 where a file has a mistake or none is left.
  func chosen(_ loaded: CaseLoader.Result) throws -> CaseLoader.Result {
    var loaded = loaded
    if loaded.diagnostics.hasErrors { throw ExitCode(2) }
    guard !loaded.cases.isEmpty else { throw none("no cases in \(paths.joined(separator: ", "))") }
    if on.isEmpty, let odd = loaded.cases.first(where: { $0.filter != nil }) {
      throw none(
        "the case “\(odd.caseId)” (\(odd.path):\(odd.position.line)) has a “where”, which chooses among the "
          + "runs that --on names")
    }
    if lastFailed { try keepLastFailed(of: &loaded) }
    guard let filter else { return loaded }
    let glob = try Glob(filter)
    let all = loaded.cases
    loaded.cases.removeAll { evalCase in
      // A run that nobody can read may be one of those.
      if evalCase.fault != nil, evalCase.rule == nil { return false }
      return !glob.matches(evalCase.caseId) && !(evalCase.rule.map(glob.matches) ?? false)
        && !evalCase.tags.contains { $0.hasSameUTF8(as: filter) }
    }
    guard !loaded.cases.isEmpty else {
      let ids = all.flatMap { [$0.caseId, $0.rule].compactMap(\.self) }
      // Elsewhere a part of a name is enough.
      let nearest =
        Spelling.nearest(to: filter, among: ids + all.flatMap(\.tags))
        ?? (ids.contains { $0.contains(filter) } ? "*\(filter)*" : nil)
      throw none(
        "none of \(Figures.count(all.count, "case")) has an id or a tag like “\(filter)”"
          + (nearest.map { "; did you mean “\($0)”?" } ?? ""))
    }
    return loaded
  }

  /// Leaves the cases that did not pass in the last run here; all where each did, which is told.
  private func keepLastFailed(of loaded: inout CaseLoader.Result) throws {
    guard let last = try LastRun.read() else {
      return Output.error("note: no case was judged here yet: every case is judged.")
    }
    guard !last.failed.isEmpty else {
      return Output.error("note: each case passed in the last run here: every case is judged.")
    }
    let failed = Set(last.failed.map { Array($0.caseId.utf8) })
    let kept = loaded.cases.filter { failed.contains(Array($0.caseId.utf8)) }
    guard !kept.isEmpty else {
      throw none(
        "none of the \(Figures.count(last.failed.count, "case")) that did not pass in the last run here is in "
          + paths.joined(separator: ", "))
    }
    loaded.cases = kept
  }

  private func none(_ message: String) -> ExitCode {
    Output.error(Visible.line("agent-eval: \(message)\(message.hasSuffix("?") ? "" : ".")"))
    return ExitCode(2)
  }
}
