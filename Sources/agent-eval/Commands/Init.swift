import AgentRuntime
import ArgumentParser
import EvalLoading
import EvalRunning
import TraceReporting

/// Starts a project.
struct Init: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a project's first case, agent, policy and workflow.",
    discussion: """
      What is made passes. Nothing that is there is overwritten: where one of the files exists, none \
      is made, and the exit code is 2.
      """
        + Example.list([
          "init weather": "a folder that passes at once: agent-eval run weather/EvalCases"
        ]))

  @Argument(help: "The project's folder; made where it is not there.")
  var folder = "."

  @Option(
    help: "The workflow: \(ProjectStart.Service.allCases.map(\.rawValue).joined(separator: ", ")).")
  var ci = ProjectStart.Service.github

  func run() async throws {
    let start = ProjectStart(for: ci, version: AgentEval.configuration.version)
    try start.write(to: folder == "." ? "" : folder)
    for file in start.files { Output.line(Visible.line("made   \(path(file.path))")) }
    for baseline in try await accept() { Output.line(Visible.line("made   \(baseline)")) }
    Output.line("next   agent-eval run \(ShellWord.quote(path(ProjectStart.casesFolder)))")
  }

  /// Judges the cases that were made and writes down what they do; returns the paths of that.
  private func accept() async throws -> [String] {
    let judging = try Run.parse([
      "--against=\(BaselineFiles.folderName)", "--out=\(path(RunFiles.defaultFolder))", "--",
      path(ProjectStart.casesFolder),
    ]).request
    let loaded = try judging.chosen(judging.loadCases(areRunsElsewhere: false))
    let results = try await judging.results(of: loaded, Cancellation())
    return try Acceptance(of: results, loaded.cases).items.compactMap { item in
      guard case .new(let bytes) = item.change else { return nil }
      try BaselineFiles.write(bytes, to: item.path)
      return item.path
    }
  }

  /// A path of the project as seen from here.
  private func path(_ name: String) -> String { folder == "." ? name : "\(folder)/\(name)" }
}

extension ProjectStart.Service: ExpressibleByArgument {}
