import EvalLoading
import FilePaths
import Glibc
import TraceStorage

/// The first files of a project that uses agent-eval: an example, rules that recorded runs meet, or a workflow alone.
public struct ProjectStart: Sendable {
  /// A system for continuous integration that a workflow is made for. Raw values are words of the
  /// command line.
  public enum Service: String, Sendable, CaseIterable {
    /// GitHub Actions.
    case github
    /// GitLab CI.
    case gitlab
    /// No workflow.
    case none
  }

  /// A file to be made.
  public struct File: Sendable, Hashable {
    /// From the project's folder.
    public var path: String
    /// What it holds.
    public var text: String
    /// Whether one that is there already is as good.
    var mayBeThere = false
  }

  /// Why nothing was made.
  public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// In words for a person, without an end.
    public var reason: String

    public var description: String { reason }
  }

  /// The folder of the cases, from the project's folder.
  public static let casesFolder = "EvalCases"
  /// The file of the rules that recorded runs meet, from the project's folder.
  public static let rulesFile = "\(casesFolder)/rules.yaml"

  /// All files, in the order in which somebody new would read them.
  public let files: [File]
  /// What the project's pipeline for GitLab has to include, where that is not for this program to say; `nil`
  /// otherwise.
  public let include: String?
  /// Folders besides the files' own that must not be there yet.
  private var newFolders: [String] = []

  private static let workFolder = ".agent-eval"
  /// Where the schemas go, for editors.
  private static let schemasFolder = "\(workFolder)/schemas"
  private static let gitHubFile = ".github/workflows/evals.yml"
  private static let gitLabFile = ".gitlab-ci.yml"
  private static let includedFile = ".gitlab/agent-eval.yml"

  /// An example that passes: cases, an agent and its policy.
  ///
  /// - Parameter version: That of this program: a workflow asks for the same.
  public init(exampleFor service: Service, version: String) {
    let judging = StartingFiles.Judging(paths: [Self.casesFolder], isComparing: true)
    let written: [(path: String, text: String, kind: FileSchema)] = [
      ("\(Self.casesFolder)/refunds.yaml", StartingFiles.cases, .case),
      ("agents/support.yaml", StartingFiles.agent, .agent),
      ("policies/support.yaml", StartingFiles.policy, .policy),
    ]
    files =
      written.map { File(path: $0.path, text: Self.schemaLine(of: $0.kind) + $0.text) }
      + Self.workflow(for: service, judging, version: version)
      + Self.besides([.case, .agent, .policy])
    include = nil
    // Where the baselines of the cases go, which are made by judging them.
    newFolders = ["\(Self.casesFolder)/\(BaselineFiles.folderName)"]
  }

  /// Rules that recorded runs meet.
  ///
  /// - Parameters:
  ///   - rules: What the file of the rules holds.
  ///   - runs: Where the runs are, from the project's folder, for a workflow.
  /// - Throws: ``Refusal`` where a workflow cannot name them.
  public init(
    rules: String, runs: [String], for service: Service, version: String
  ) throws(Refusal) {
    let judging = StartingFiles.Judging(paths: [Self.rulesFile], runs: runs)
    if service != .none { try Self.check(judging) }
    files =
      [File(path: Self.rulesFile, text: Self.schemaLine(of: .case) + rules)]
      + Self.workflow(for: service, judging, version: version)
      + Self.besides([.case])
    include = nil
  }

  /// A workflow for a project that has cases already.
  ///
  /// - Parameters:
  ///   - paths: Case files and folders, from the project's folder.
  ///   - folder: The project's folder; empty for the one that this process works in. Where it has a pipeline for
  ///     GitLab, the job is made beside that.
  /// - Throws: ``Refusal`` where a workflow cannot name the paths.
  public init(
    adding service: Service, judging paths: [String], in folder: String, version: String
  ) throws(Refusal) {
    let isComparing = paths.contains { path in
      Self.isThere(Self.path("\(path)/\(BaselineFiles.folderName)", folder))
    }
    let judging = StartingFiles.Judging(paths: paths, isComparing: isComparing)
    try Self.check(judging)
    var made = Self.workflow(for: service, judging, version: version)
    let isBeside = service == .gitlab && Self.isThere(Self.path(Self.gitLabFile, folder))
    if isBeside { made[0].path = Self.includedFile }
    files = made + Self.besides([])
    include = isBeside ? Self.includedFile : nil
  }

  /// Whether a project has cases in a folder.
  public static func isBegun(in folder: String) -> Bool { isThere(path(casesFolder, folder)) }

  private static func workflow(
    for service: Service, _ judging: StartingFiles.Judging, version: String
  ) -> [File] {
    switch service {
    case .github:
      [File(path: gitHubFile, text: StartingFiles.gitHubWorkflow(judging, version: version))]
    case .gitlab:
      [File(path: gitLabFile, text: StartingFiles.gitLabPipeline(judging, version: version))]
    case .none: []
    }
  }

  /// What is as good where it is there already.
  private static func besides(_ kinds: [FileSchema]) -> [File] {
    [File(path: "\(workFolder)/.gitignore", text: StartingFiles.ignored, mayBeThere: true)]
      + kinds.map { kind in
        File(
          path: "\(schemasFolder)/\(kind.rawValue).schema.json", text: kind.text,
          mayBeThere: true)
      }
  }

  /// The line by which an editor finds the schema of a file that stands one folder below the project's.
  private static func schemaLine(of kind: FileSchema) -> String {
    "# yaml-language-server: $schema=../\(schemasFolder)/\(kind.rawValue).schema.json\n"
  }

  /// Refuses what would mean something else to whoever reads the workflow.
  private static func check(_ judging: StartingFiles.Judging) throws(Refusal) {
    for path in judging.paths + judging.runs
    where path.contains("${{") || path.contains("\n") || path.hasPrefix("-") {
      throw Refusal(reason: "nothing was made: a workflow cannot name “\(path)”")
    }
  }

  /// Looks whether all files can be new.
  ///
  /// - Throws: ``Refusal`` where one is there already, whatever it holds.
  public func check(in folder: String) throws(Refusal) {
    let paths = files.filter { !$0.mayBeThere }.map(\.path) + newFolders
    let taken = paths.map { Self.path($0, folder) }.filter(Self.isThere)
    guard taken.isEmpty else {
      throw Refusal(
        reason: "nothing was made: \(taken.joined(separator: ", ")) "
          + (taken.count == 1 ? "is there already" : "are there already"))
    }
  }

  /// Makes all files in a folder, and the folders on their way; all of them or none.
  ///
  /// - Parameter folder: The project's folder; empty for the one that this process works in.
  /// - Throws: ``Refusal`` where one is there already, whatever it holds, or cannot be made.
  public func write(to folder: String) throws(Refusal) {
    try check(in: folder)
    var made: [String] = []
    for file in files {
      let path = Self.path(file.path, folder)
      if file.mayBeThere, Self.isThere(path) { continue }
      do throws(Refusal) {
        try Self.write(file.text, to: path) { made.append($0) }
      } catch {
        // Folders that were not there before hold nothing else.
        for path in made.reversed() where unlink(path) != 0 { rmdir(path) }
        throw error
      }
    }
  }

  private static func path(_ name: String, _ folder: String) -> String {
    folder.isEmpty ? name : "\(folder)/\(name)"
  }

  private static func isThere(_ path: String) -> Bool {
    linkStatus(path) != nil
  }

  private static func write(
    _ text: String, to path: String, _ note: (String) -> Void
  ) throws(Refusal) {
    WholeFile.makeFolders(for: path, made: note)
    do {
      try WholeFile.create(path, holding: Array(text.utf8))
    } catch {
      throw Refusal(reason: "nothing was made: \(path) cannot be written: \(error)")
    }
    note(path)
  }
}
