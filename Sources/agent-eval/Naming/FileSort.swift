import AgentTrace
import EvalLoading
import FilePaths
import Glibc
import TraceImporting
import TraceStorage

/// What a file that a command line names turns out to be.
enum FileSort: Hashable, CaseIterable {
  case log
  /// A run log whose text was taken out of it.
  case unpackedLog
  case cases
  case agent
  case policy
  case pipeline
  /// Defaults and sets of expectations.
  case shared
  /// What another tool wrote down of runs.
  case trace
  /// What `run --json` prints.
  case results
  case folder

  /// The sort of a file, by what stands in it; `nil` where nothing tells, or nothing is there.
  ///
  /// Reads it whole where it is no log; files beyond ``limitBytes`` are not looked at.
  init?(of path: String) {
    guard let status = fileStatus(path) else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: self = .folder
    case S_IFREG where LogFiles.looksLikeLog(path): self = .log
    case S_IFREG where Int(status.st_size) <= Self.limitBytes:
      guard let sort = Self.written(path) else { return nil }
      self = sort
    default: return nil
    }
  }

  private static let limitBytes = 64 << 20

  private static func written(_ path: String) -> FileSort? {
    let isYAML = path.hasSuffix(".yaml") || path.hasSuffix(".yml")
    guard isYAML else {
      if let value = try? JSONValue(parsing: InputFiles.all(of: path, limitBytes: limitBytes)) {
        if value["schema"]?.stringValue?.hasPrefix("agent-eval/results/") == true {
          return .results
        }
        if FileKind(of: value) == .case { return .cases }
      }
      if SourceFiles.isUnpackedLog(path) { return .unpackedLog }
      // Traces have keys of agents, too: what they are is looked at first.
      if ImportFormat.guess(path: path) != nil { return .trace }
      return FileKind(path: path).map(FileSort.init)
    }
    return FileKind(path: path).map(FileSort.init)
  }

  private init(_ kind: FileKind) {
    self =
      switch kind {
      case .case: .cases
      case .agent: .agent
      case .policy: .policy
      case .pipeline: .pipeline
      case .shared: .shared
      }
  }

  /// What it is called, with its article.
  var noun: String {
    switch self {
    case .log: "a run log"
    case .unpackedLog: "a run log that was unpacked"
    case .cases: "a case file"
    case .agent: "an agent file"
    case .policy: "a policy file"
    case .pipeline: "a pipeline file"
    case .shared: "a file that cases share"
    case .trace: "a trace of another tool"
    case .results: "the results of a run of cases"
    case .folder: "a folder"
    }
  }

  /// The command lines that take it, the one that is most likely meant first.
  func commands(_ path: String) -> [String] {
    switch self {
    case .log: ["show \(path)", "replay \(path)", "run CASES --on \(path)"]
    case .unpackedLog: []
    case .cases: ["run \(path)", "check \(path)"]
    case .agent: ["record \(path) GOAL", "check \(path)"]
    case .policy: ["policy check \(path)", "policy backtest LOGS --policy \(path)"]
    case .pipeline: ["record \(path)", "check \(path) --graph text"]
    case .shared: ["check \(path)"]
    case .trace: ["import \(path) --out FOLDER", "inspect \(path)"]
    case .results: ["compare \(path) LATER"]
    case .folder: ["list \(path)", "run \(path)", "inspect \(path)"]
    }
  }
}
