import AgentTrace
import EvalLoading
import TraceStorage

/// Which logs of a folder were made for which case.
public struct RunCatalogue: Sendable {
  private var paths: [String: [String]] = [:]

  /// What a log's first event says of its case.
  public enum Answer: Sendable, Hashable {
    /// It was made for this case.
    case caseId(String)
    /// It names no case.
    case noCase
  }

  /// Says what is known of a log, by its path, without reading it; `nil` where nothing is.
  public typealias Known = @Sendable (_ path: String) -> Answer?

  /// Looks at the first event of every log below a folder.
  ///
  /// A log belongs to the case that its `run_started` names; one that names none (an import, say)
  /// belongs to the case that its file or its folder is named after.
  ///
  /// - Throws: where the folder cannot be read. A log that cannot be is passed over: it is reported
  ///   when a case needs it.
  init(folder: String, known: Known = { _ in nil }) throws {
    for path in try LogFiles.all(below: folder) {
      guard let answer = known(path) ?? Self.look(at: path) else { continue }
      if case .caseId(let caseId) = answer {
        paths[caseId, default: []].append(path)
        continue
      }
      let parts = path.split(separator: "/")
      let stem = LogFiles.stem(of: String(parts.last ?? ""))
      paths[stem, default: []].append(path)
      if parts.count > 1 { paths[String(parts[parts.count - 2]), default: []].append(path) }
    }
  }

  private static func look(at path: String) -> Answer? {
    guard var reader = try? LogReader(path: path), let first = try? reader.next() else {
      return nil
    }
    return first.data["case"]?["caseId"]?.stringValue.map(Answer.caseId) ?? .noCase
  }

  /// The logs of a case, by path.
  func logs(of caseId: String) -> [String] {
    paths[caseId] ?? paths[RunFiles.fileName(for: caseId)] ?? []
  }
}
