import AgentTrace
import FilePaths
import Glibc

extension LogFiles {
  /// The logs of a run in some folders, of which the name of the run is known and no more: the one that has its name,
  /// or else all that say in their first event that they are of it.
  ///
  /// - Parameters:
  ///   - runId: the run's identifier.
  ///   - folders: each with its slash, or empty for the one that the process is in; what is below them is not looked at.
  /// - Returns: plain names; none where nothing is found, or a folder cannot be read.
  /// - Complexity: where no log has the name, reads the first event of each log in the folders.
  package static func logs(ofRun runId: String, in folders: [String]) -> [String] {
    for folder in folders {
      if let path = RunTreeReader.log(of: runId, in: folder), isLog(path, ofRun: runId) {
        return [path]
      }
    }
    var found: [String] = []
    for folder in folders {
      for name in names(in: folder) {
        let path = LogFormat.plainName(folder + name)
        guard !found.contains(where: { $0.hasSameUTF8(as: path) }), isLog(path, ofRun: runId)
        else { continue }
        found.append(path)
      }
    }
    return found
  }

  private static func isLog(_ path: String, ofRun runId: String) -> Bool {
    let head =
      (try? LogHead(path: path, withOnly: []))
      ?? (try? LogHead(path: path + LogFormat.openSuffix, withOnly: []))
    return head?.started.runId.hasSameUTF8(as: runId) ?? false
  }

  /// The names in a folder that end like one of some, sorted by UTF-8; none of a folder that cannot be read.
  static func names(in folder: String, endingIn endings: [String] = endings) -> [String] {
    guard let stream = opendir(folder.isEmpty ? "." : folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = entryName(entry)
      if endings.contains(where: name.hasSuffix) { names.append(name) }
    }
    return names.sorted { $0.precedesByUTF8($1) }
  }
}
