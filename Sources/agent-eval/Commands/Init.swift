import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import FilePaths
import Glibc
import TraceJudging
import TraceReporting

/// Starts a project.
struct Init: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a project's first cases and its workflow.",
    discussion: """
      Without options: an example of cases, an agent and its policy, which passes. With --from: rules that your \
      recorded runs meet, for `run --on`. With --ci in a project that has cases: the workflow alone. Nothing that is \
      there is overwritten: where one of the files exists, none is made, and the exit code is 2.
      """
        + Example.list([
          "init weather": "a folder that passes at once: agent-eval run weather/EvalCases",
          "init --from traces/": "rules that hold on all runs in a folder, whoever wrote them down",
          "init --ci gitlab": "a job for the cases of a project that is there",
        ]))

  @Argument(help: "The project's folder; made where it is not there.", completion: .directory)
  var folder = "."

  @Option(
    help: ArgumentHelp(
      "Begin with what these recorded runs have in common: files or folders of logs, and of whatever `import` reads.",
      valueName: "path"), completion: .file())
  var from: [String] = []

  @Option(
    help:
      "The workflow: \(ProjectStart.Service.allCases.map(\.rawValue).joined(separator: ", ")). Default: github."
  )
  var ci: ProjectStart.Service?

  func validate() throws {
    if folder.isEmpty || from.contains("") { throw ValidationError("A path is empty.") }
  }

  func run() async throws {
    if !from.isEmpty { return try beginFromRuns() }
    if let ci, ci != .none, let paths = try casesThatAreThere() {
      let start = try ProjectStart(
        adding: ci, judging: paths, in: place, version: AgentEval.configuration.version)
      try write(start)
      if let file = start.include {
        Output.line("next   add to .gitlab-ci.yml:  include: [{local: \(file)}]")
      }
      return
    }
    let start = ProjectStart(exampleFor: ci ?? .github, version: AgentEval.configuration.version)
    do {
      try write(start)
    } catch let refusal as ProjectStart.Refusal where ProjectStart.isBegun(in: place) {
      throw InitFailure(
        description:
          "\(refusal.reason); --ci github or gitlab makes a workflow for cases that are there")
    }
    for baseline in try await accept() { Output.line(Visible.line("made   \(baseline)")) }
    Output.line("next   agent-eval run \(ShellWord.path(path(ProjectStart.casesFolder)))")
  }

  // MARK: - From recorded runs

  /// Makes rules of what was recorded.
  private func beginFromRuns() throws {
    if let path = from.first(where: { access($0, F_OK) != 0 }) {
      throw InitFailure(description: "nothing was made: there is no “\(path)”")
    }
    let runs = from.compactMap { pathFromProject($0) }
    let isInside = runs.count == from.count
    if !isInside, let ci, ci != .none {
      throw InitFailure(
        description:
          "nothing was made: a workflow cannot reach what lies outside of the project's folder; "
          + "put the runs there, or leave --ci out")
    }
    let service = isInside ? ci ?? .github : .none
    func start(_ rules: String) throws -> ProjectStart {
      try ProjectStart(
        rules: rules, runs: runs, for: service, version: AgentEval.configuration.version)
    }
    // Before many runs are read for nothing.
    try start("").check(in: place)
    let given = from.map { ShellWord.path($0) }.joined(separator: " ")
    let surveyor = FoundRuns.survey(
      of: FoundRuns.all(of: from, cache: nil), minesRules: true)
    let (read, unread) = (surveyor.survey.runs, surveyor.survey.unreadable.count)
    let hint = "agent-eval inspect \(given)"
    guard read > 0 else {
      throw InitFailure(
        description: unread == 0
          ? "nothing was made: there is no run in \(given)"
          : "nothing was made: \(unread == 1 ? "the run" : "none of \(unread) runs") could \(unread == 1 ? "not " : "")be read; \(hint) tells why"
      )
    }
    guard let rules = surveyor.rulesText(of: from.joined(separator: " ")) else {
      throw InitFailure(
        description: "nothing was made: nothing holds on all of these runs; \(hint) tells of them")
    }
    Output.line("read   \(Figures.count(read, "run")); \(hint) tells of them")
    try write(start(rules))
    if let without = surveyor.withoutRules { Output.line(Visible.line("note   \(without)")) }
    Output.line(
      "next   agent-eval run \(ShellWord.path(path(ProjectStart.rulesFile))) --on \(given)")
    if !isInside, ci == nil {
      Output.error(
        "no workflow was made: one cannot reach what lies outside of the project's folder")
    }
    if unread > 0 {
      Output.error(
        "agent-eval: \(unread) of \(read + unread) runs could not be read; \(hint) tells why")
      throw ExitCode(2)
    }
  }

  /// A path as seen from the project's folder; `nil` where it is not below that.
  private func pathFromProject(_ name: String) -> String? {
    guard let root = realpath(folder), let whole = realpath(name) else { return nil }
    if whole == root { return "." }
    let head = root == "/" ? root : root + "/"
    return whole.hasPrefix(head) ? String(whole.dropFirst(head.count)) : nil
  }

  // MARK: - A workflow for what is there

  /// Where the project has cases, from its folder; `nil` where it has none.
  ///
  /// - Throws: Where its settings cannot be read.
  private func casesThatAreThere() throws -> [String]? {
    let file = path(SettingsLoader.fileName)
    if access(file, F_OK) == 0 {
      let loaded = SettingsLoader.load(file)
      guard let settings = loaded.value else {
        throw InitFailure(
          description:
            "nothing was made: “\(file)” has errors; agent-eval check \(ShellWord.path(file)) tells them"
        )
      }
      if let paths = settings.paths, !paths.isEmpty {
        let head = place.isEmpty ? "" : place + "/"
        return paths.map { $0.hasPrefix(head) ? String($0.dropFirst(head.count)) : $0 }
      }
    }
    return ProjectStart.isBegun(in: place) ? [ProjectStart.casesFolder] : nil
  }

  // MARK: - Files

  private func write(_ start: ProjectStart) throws {
    // What is as good where it is there already is not made again.
    let new = start.files.filter { access(path($0.path), F_OK) != 0 }
    try start.write(to: place)
    for file in new { Output.line(Visible.line("made   \(path(file.path))")) }
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

  /// The project's folder; empty for the one that this process works in.
  private var place: String { folder == "." ? "" : folder }

  /// A path of the project as seen from here.
  private func path(_ name: String) -> String { place.isEmpty ? name : "\(place)/\(name)" }
}

/// Why nothing was made.
private struct InitFailure: Error, CustomStringConvertible {
  var description: String
}

extension ProjectStart.Service: ExpressibleByArgument {}
