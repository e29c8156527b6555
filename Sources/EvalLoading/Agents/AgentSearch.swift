import AgentTrace
import FilePaths
import Glibc

/// The agent files below a folder, to find the one that a run was recorded with.
///
/// Looks at `*.yaml`, `*.yml` and `*.json`, the folders nearest first. Names that begin with a dot and
/// folders that are symbolic links are passed over, as is what cannot be read or is no agent.
public struct AgentSearch: Sendable {
  /// How deep folders are searched.
  public static let depthLimit = 12
  /// How many files are looked at.
  public static let fileLimit = 5_000
  /// The most bytes of a file that may be an agent.
  public static let fileLimitBytes = 4 << 20

  /// An agent file.
  private struct Candidate: Sendable {
    var path: String
    var name: String
    var digest: String
  }

  private let folder: String
  private let candidates: [Candidate]
  /// Whether files were left that were not looked at.
  private let isCutShort: Bool

  /// Looks through a folder once.
  ///
  /// - Parameters:
  ///   - folder: where to begin; the current folder where it is left out.
  ///   - pipelines: whether pipeline files are looked for, not agents.
  /// - Complexity: reads and parses each file that may be an agent's.
  public init(below folder: String = ".", pipelines: Bool = false) {
    self.folder = folder
    let (files, isCutShort) = Self.files(below: folder)
    self.isCutShort = isCutShort
    candidates = files.compactMap { Self.candidate($0, pipelines: pipelines) }
  }

  /// The path of the agent file of a name: the one with the digest, where there is one; else the only
  /// one of that name.
  ///
  /// - Throws: ``AgentSearchError`` where there is none, or several of which none has the digest.
  public func path(ofAgent name: String, digest: String?) throws(AgentSearchError) -> String {
    if let digest, let exact = candidates.first(where: { $0.digest.hasSameUTF8(as: digest) }) {
      return exact.path
    }
    let named = candidates.filter { $0.name.hasSameUTF8(as: name) }
    guard named.count <= 1 else {
      throw AgentSearchError(
        name: name, folder: folder, found: named.map(\.path), isCutShort: isCutShort)
    }
    guard let only = named.first else {
      throw AgentSearchError(name: name, folder: folder, found: [], isCutShort: isCutShort)
    }
    return only.path
  }

  // MARK: Looking

  private static func candidate(_ path: String, pipelines: Bool) -> Candidate? {
    guard let bytes = try? FileBytes.all(of: path, limit: fileLimitBytes) else { return nil }
    let document = SourceDocument(bytes, path: path)
    guard document.roots.count == 1, case .object(let root) = document.roots[0].value,
      FileKind(of: document.roots[0].value) == (pipelines ? .pipeline : .agent),
      let name = root[pipelines ? "pipeline" : "name"]?.stringValue
    else { return nil }
    return Candidate(path: path, name: name, digest: document.digest)
  }

  private static func files(below folder: String) -> (files: [String], isCutShort: Bool) {
    var files: [String] = []
    var folders = [(path: folder, depth: 0)]
    var next = 0
    while next < folders.count {
      let (path, depth) = folders[next]
      next += 1
      let names = (entryNames(in: path) ?? []).filter { $0.utf8.first != UInt8(ascii: ".") }
      for name in names.sorted(by: { $0.precedesByUTF8($1) }) {
        let entry = path == "." ? name : path + (path.hasSuffix("/") ? "" : "/") + name
        guard let link = linkStatus(entry) else { continue }
        switch link.st_mode & S_IFMT {
        case S_IFDIR where depth < depthLimit && folders.count < fileLimit:
          folders.append((entry, depth + 1))
        case S_IFREG, S_IFLNK:
          guard [.yaml, .json].contains(SourceDocument.Format(path: entry)) else { continue }
          guard files.count < fileLimit else { return (files, true) }
          files.append(entry)
        default: break
        }
      }
    }
    return (files, false)
  }
}

/// Why no agent file was found for a run.
public struct AgentSearchError: Error, Hashable, Sendable {
  /// The name that the file should have.
  public var name: String
  /// Where it was looked for.
  public var folder: String
  /// The files that have the name; empty where there is none.
  public var found: [String]
  /// Whether there were more files than were looked at.
  public var isCutShort: Bool
}

extension AgentSearchError: CustomStringConvertible {
  public var description: String {
    let place = folder == "." ? "the current folder" : folder
    let limit =
      isCutShort ? " (only the first \(AgentSearch.fileLimit) files were looked at)" : ""
    guard found.isEmpty else {
      let paths = found.prefix(10).joined(separator: ", ") + (found.count > 10 ? ", …" : "")
      return "several agent files below \(place) have the name “\(name)”, and none is the recorded "
        + "one byte for byte: \(paths). Say which with --agent."
    }
    return "no agent file below \(place) has the name “\(name)”\(limit). Give it with --agent."
  }
}
