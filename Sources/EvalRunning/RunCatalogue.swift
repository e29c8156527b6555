import AgentTrace
import EvalLoading
import TraceStorage

/// Which logs of a folder were made for which case.
struct RunCatalogue {
  /// Paths by the UTF-8 bytes of a name: texts that only look alike are not the same case.
  private var paths: [[UInt8]: [String]] = [:]

  /// Looks at the first event of every log below a folder.
  ///
  /// A log belongs to the case that its `run_started` names; one that names none (an import, say), or
  /// that cannot be read, belongs to the case that its file or its folder is named after.
  ///
  /// - Throws: where the folder cannot be read. What is wrong with a log is said when it is judged.
  init(folder: String) throws {
    for path in try LogFiles.all(below: folder) {
      if let caseId = Self.caseId(of: path) {
        add(path, under: caseId)
        continue
      }
      let parts = path.split(separator: "/")
      let stem = LogFiles.stem(of: String(parts.last ?? ""))
      add(path, under: stem)
      guard parts.count > 1 else { continue }
      let folder = String(parts[parts.count - 2])
      if !folder.hasSameUTF8(as: stem) { add(path, under: folder) }
    }
  }

  /// The case that a log says it was made for.
  private static func caseId(of path: String) -> String? {
    guard var reader = try? LogReader(path: path), let first = try? reader.next() else {
      return nil
    }
    return first.data["case"]?["caseId"]?.stringValue
  }

  private mutating func add(_ path: String, under name: String) {
    paths[Array(name.utf8), default: []].append(path)
  }

  /// The logs of a case, by path.
  func logs(of caseId: String) -> [String] {
    paths[Array(caseId.utf8)] ?? paths[Array(RunFiles.fileName(for: caseId).utf8)] ?? []
  }
}
