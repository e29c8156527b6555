import AgentTrace
import TraceStorage

/// Which logs of a folder were made for which case.
public struct RunCatalogue: Sendable {
  /// Paths by the UTF-8 bytes of a name: texts that only look alike are not the same case.
  private var paths: [[UInt8]: [String]] = [:]
  /// The logs whose beginning cannot be read, and why.
  private var unreadable: [(path: String, reason: String)] = []

  /// What a log's first event says of its case.
  public enum Answer: Sendable, Hashable {
    /// It was made for this case.
    case caseId(String)
    /// It names no case.
    case noCase
    /// It is a call of another run, or a task of a pipeline, and no run of a case whatever its folder is called.
    case part
  }

  /// Says what is known of a log, by its path, without reading it; `nil` where nothing is.
  public typealias Known = @Sendable (_ path: String) -> Answer?

  /// Looks at the first event of every log below a folder.
  ///
  /// A log belongs to the case that its `run_started` names; one that names none (an import, say) belongs
  /// to the case that its file or its folder is named after. One that cannot be read may belong to any.
  ///
  /// - Throws: where the folder cannot be read. What is wrong with a log is said when it is judged.
  init(folder: String, known: Known = { _ in nil }) throws {
    for path in try LogFiles.all(below: folder) {
      do {
        switch try known(path) ?? Self.look(at: path) {
        case .caseId(let caseId):
          add(path, under: caseId)
          continue
        case .part: continue
        case .noCase: break
        }
      } catch {
        unreadable.append((path, "\(error)"))
      }
      for name in Self.fileNames(of: path) { add(path, under: name) }
    }
  }

  /// The names that a log's case may have: the one that its first event says, else those of its file
  /// and of its folder.
  static func names(of path: String) -> [String] {
    if case .caseId(let caseId)? = try? look(at: path) { return [caseId] }
    return fileNames(of: path)
  }

  private static func fileNames(of path: String) -> [String] {
    let parts = path.split(separator: "/")
    let stem = LogFiles.stem(of: String(parts.last ?? ""))
    guard parts.count > 1 else { return [stem] }
    let folder = String(parts[parts.count - 2])
    return folder.hasSameUTF8(as: stem) ? [stem] : [stem, folder]
  }

  /// A log that is being written may hold nothing yet.
  private static func look(at path: String) throws(LogError) -> Answer {
    var reader = try LogReader(path: path)
    guard let first = try reader.next() else { return .noCase }
    if let caseId = first.data["case"]?["caseId"]?.stringValue { return .caseId(caseId) }
    return ParentRun.isPart(first.data["parent"]) ? .part : .noCase
  }

  private mutating func add(_ path: String, under name: String) {
    paths[Array(name.utf8), default: []].append(path)
  }

  /// The logs of a case, by path.
  ///
  /// - Throws: where a log of the folder cannot be read: it may be a run of this case, and one that fails.
  func logs(of caseId: String) throws -> [String] {
    let own = paths[Array(caseId.utf8)] ?? []
    if let first = unreadable.first(where: { own.contains($0.path) }) ?? unreadable.first {
      let others = unreadable.count - 1
      throw CaseError(
        reason: "\(first.reason); it may be a run of this case"
          + (others == 0 ? "" : ", as may \(others) more that cannot be read"))
    }
    return paths[Array(caseId.utf8)] ?? paths[Array(RunFiles.fileName(for: caseId).utf8)] ?? []
  }
}
