import AgentTrace
import EvalLoading
import TraceStorage

/// Which logs of a folder were made for which case.
struct RunCatalogue {
  private var paths: [String: [String]] = [:]

  /// Looks at the first event of every log below a folder.
  ///
  /// A log belongs to the case that its `run_started` names; one that names none (an import, say)
  /// belongs to the case that its file or its folder is named after.
  ///
  /// - Throws: where the folder cannot be read. A log that cannot be is passed over: it is reported
  ///   when a case needs it.
  init(folder: String) throws {
    for path in try LogFiles.all(below: folder) {
      var reader: LogReader
      do { reader = try LogReader(path: path) } catch { continue }
      guard let first = try? reader.next() else { continue }
      if let caseId = first.data["case"]?["caseId"]?.stringValue {
        paths[caseId, default: []].append(path)
        continue
      }
      let parts = path.split(separator: "/")
      let stem = LogFiles.stem(of: String(parts.last ?? ""))
      paths[stem, default: []].append(path)
      if parts.count > 1 { paths[String(parts[parts.count - 2]), default: []].append(path) }
    }
  }

  /// The logs of a case, by path.
  func logs(of caseId: String) -> [String] {
    paths[caseId] ?? paths[RunFiles.fileName(for: caseId)] ?? []
  }
}
