import FilePaths
import Glibc

/// Says everything that is wrong with case, agent and policy files, and with those that they name.
public enum FileChecker {
  /// Checks files and folders of them. What a file is for is told by its keys.
  ///
  /// - Parameters:
  ///   - paths: the files, and the folders whose files are looked at with all below them.
  ///   - limits: how large a file may be, and what it may make of itself.
  ///   - isLog: whether a file that is there begins as a run log does; without it nobody looks.
  /// - Returns: Errors and warnings, sorted by file and line; nothing where all is well. A file in a
  ///   folder that is none of the three is a warning, a file that an argument names itself an error.
  public static func check(
    _ paths: [String], limits: SourceLimits = SourceLimits(),
    isLog: @escaping (String) -> Bool = { _ in true }
  ) -> [Diagnostic] {
    let finder = FileFinder(paths)
    let agents = AgentChecks()
    var batch = CaseBatch(areRunsElsewhere: true, limits: limits)
    batch.diagnostics = finder.diagnostics
    if finder.files.isEmpty, finder.diagnostics.isEmpty {
      batch.diagnostics.append(
        Diagnostic(
          .error, path: paths.joined(separator: ", "), message: "nothing to check",
          hint: "cases, agents and policies stand in .yaml, .yml, .json and .jsonl files"))
    }
    batch.follow = { reference in
      switch reference.kind {
      case .agent: agents.fault(of: reference.file)
      case .pipeline: agents.fault(ofPipeline: reference.file)
      case .recording: recordingFault(reference.file, isLog)
      }
    }
    for file in finder.files {
      guard let document = batch.load(file.path) else { continue }
      switch document.roots.lazy.compactMap({ FileKind(of: $0.value) }).first {
      case .agent: agents.add(AgentLoader.load(document), path: file.path)
      case .shared:
        batch.check(shared: file.path)
        batch.diagnostics += SharedPartsFinder.unused(document)
      case .pipeline: agents.add(PipelineLoader.load(document), path: file.path)
      case .policy: batch.diagnostics += PolicyLoader.read(document).diagnostics
      default:
        batch.diagnostics.append(
          Diagnostic(
            file.isNamed ? .error : .warning, path: file.path,
            message: "neither a case, an agent, a policy nor a pipeline file",
            hint:
              "cases have “caseId”, agents “model” or “command”, policies “rules”, pipelines “pipeline”"
          ))
      }
    }
    return distinct(
      (batch.diagnostics + batch.sharedDiagnostics + agents.diagnostics).sorted())
  }

  /// What is wrong with a recording: here only whether it is there and begins as a log does. An unfinished one stands
  /// beside its name with `.open` behind it.
  private static func recordingFault(_ path: String, _ isLog: (String) -> Bool) -> String? {
    if RecordingGlob.isOne(path) {
      guard let glob = try? RecordingGlob(path) else {
        return "\(path.quotedPath) is no usable glob"
      }
      return glob.matches().isEmpty ? "the recording \(path.quotedPath) stands for no file" : nil
    }
    for name in [path, path + ".open"] {
      guard let status = fileStatus(name) else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFREG where isLog(name): return nil
      case S_IFREG:
        return
          "the recording \(path.quotedPath) is no run log; agent-eval import makes one of another tool's trace"
      case S_IFDIR:
        return
          "the recording \(path.quotedPath) is a folder; a glob such as \(path)/*.jsonl.gz names what is in it"
      default: return nil
      }
    }
    return "the recording \(path.quotedPath) is not there"
  }

  /// Sorted diagnostics, each once: a policy is met through each agent that names it.
  private static func distinct(_ sorted: [Diagnostic]) -> [Diagnostic] {
    var kept: [Diagnostic] = []
    for diagnostic in sorted where kept.last != diagnostic { kept.append(diagnostic) }
    return kept
  }

  /// The agent files that were met, each read once.
  private final class AgentChecks {
    private(set) var diagnostics: [Diagnostic] = []
    private var hasErrors: [String: Bool] = [:]

    func add(_ loaded: Loaded<some Sendable>, path: String) {
      diagnostics += loaded.diagnostics
      hasErrors[path] = loaded.diagnostics.hasErrors
    }

    /// What a case that names this agent is told.
    func fault(of path: String) -> String? {
      if hasErrors[path] == nil { add(AgentLoader.load(path), path: path) }
      return hasErrors[path] == true ? "the agent file \(path.quotedPath) has errors" : nil
    }

    /// What a case that names this pipeline is told.
    func fault(ofPipeline path: String) -> String? {
      if hasErrors[path] == nil { add(PipelineLoader.load(path), path: path) }
      return hasErrors[path] == true ? "the pipeline file \(path.quotedPath) has errors" : nil
    }
  }
}
