import AgentTrace
import FilePaths
import Glibc

/// The folder that logs are written below, and the names they get there.
///
/// Names come from the data's own paths, so nothing of them may lead out of the folder: `..` is never
/// a name, and links below the folder are not followed.
package struct OutputFolder {
  let path: String

  /// Nothing is made yet.
  package init(path: String) { self.path = path }

  /// The path of the log of a run of a source.
  func log(of group: SourceGroup, index: Int?) -> String {
    log(ofFile: group.name, index: index, keepingEnding: group.keepsEnding)
  }

  /// The path of a run's log below this folder: that of its file without its ending, and for a file of
  /// many runs the run's number below that.
  func log(ofFile relativePath: String, index: Int?, keepingEnding: Bool = false) -> String {
    var components = relativePath.split(separator: "/").map(String.init)
      .filter { $0 != "." && $0 != ".." }
    let name = components.popLast() ?? "run"
    components.append(keepingEnding ? name : Self.withoutEnding(name))
    if let index { components.append(String(index)) }
    return SourceFiles.joined(path, components.joined(separator: "/") + ".jsonl.gz")
  }

  /// The case file made from a source: its path below the folder, `.cases.jsonl` behind its name.
  package func caseFile(ofFile relativePath: String) -> String {
    let log = log(ofFile: relativePath, index: nil)
    return log.dropLast(".jsonl.gz".count) + ".cases.jsonl"
  }

  /// A file's name without its last ending; as it is where nothing, or a name with a meaning of its
  /// own, would be left.
  private static func withoutEnding(_ name: String) -> String {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return name }
    let stem = String(name[..<dot])
    return ["", ".", ".."].contains(stem) ? name : stem
  }

  /// Makes the folders that a log of ``log(ofFile:index:)`` stands in.
  ///
  /// - Throws: ``ImportError`` where one cannot be made, or stands there as a link or a file.
  package func makeFolders(for log: String) throws(ImportError) {
    try make(path, mayBeLink: true, for: log)
    var folder = path
    let below = log.dropFirst(SourceFiles.joined(path, "").count)
    for component in below.split(separator: "/").dropLast() {
      folder = SourceFiles.joined(folder, String(component))
      try make(folder, mayBeLink: false, for: log)
    }
  }

  private func make(_ folder: String, mayBeLink: Bool, for log: String) throws(ImportError) {
    if mayBeLink { try makeParents(of: folder, for: log) }
    if mkdir(folder, 0o777) == 0 { return }
    let reason = SourceFiles.systemError()
    guard let status = mayBeLink ? fileStatus(folder) : linkStatus(folder) else {
      throw ImportError(.unwritable(log: log, reason))
    }
    guard status.isFolder else {
      throw ImportError(.unwritable(log: log, "\(folder) is there and is no folder"))
    }
  }

  private func makeParents(of folder: String, for log: String) throws(ImportError) {
    var parent = folder.hasPrefix("/") ? "/" : ""
    for component in folder.split(separator: "/").dropLast() {
      parent += component + "/"
      guard mkdir(parent, 0o777) == 0 || errno == EEXIST || errno == EISDIR || errno == EROFS
      else {
        throw ImportError(.unwritable(log: log, SourceFiles.systemError()))
      }
    }
  }
}
