import AgentTrace
import FilePaths
import Glibc
import TraceStorage

/// The first files of a project that uses agent-eval: a case, an agent, its policy and a workflow.
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

  /// All files, in the order in which somebody new would read them.
  public let files: [File]
  /// Where the baselines of the cases go, which are made by judging them.
  static let baselinesFolder = "\(casesFolder)/\(BaselineFiles.folderName)"

  /// - Parameter version: That of this program: a workflow asks for the same.
  public init(for service: Service, version: String) {
    var files = [
      File(path: "\(Self.casesFolder)/refunds.yaml", text: StartingFiles.cases),
      File(path: "agents/support.yaml", text: StartingFiles.agent),
      File(path: "policies/support.yaml", text: StartingFiles.policy),
    ]
    switch service {
    case .github:
      files.append(
        File(
          path: ".github/workflows/evals.yml", text: StartingFiles.gitHubWorkflow(version: version))
      )
    case .gitlab:
      files.append(
        File(path: ".gitlab-ci.yml", text: StartingFiles.gitLabPipeline(version: version)))
    case .none: break
    }
    // Runs that are recorded on the way are nobody's to commit; the folder says so itself.
    files.append(File(path: ".agent-eval/.gitignore", text: "*\n", mayBeThere: true))
    self.files = files
  }

  /// Makes all files in a folder, and the folders on their way; all of them or none.
  ///
  /// - Parameter folder: The project's folder; empty for the one that this process works in.
  /// - Throws: ``Refusal`` where one is there already, whatever it holds, or cannot be made.
  public func write(to folder: String) throws(Refusal) {
    let paths = files.filter { !$0.mayBeThere }.map(\.path) + [Self.baselinesFolder]
    let taken = paths.map { Self.path($0, folder) }.filter(Self.isThere)
    guard taken.isEmpty else {
      throw Refusal(
        reason: "nothing was made: \(taken.joined(separator: ", ")) "
          + (taken.count == 1 ? "is there already" : "are there already"))
    }
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
    var status = stat()
    return lstat(path, &status) == 0
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
