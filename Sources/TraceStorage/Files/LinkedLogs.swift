import AgentTrace
import FilePaths
import Glibc

extension LogFiles {
  /// The name of the log that a name leads to: a log goes from one name to another while its run goes on, and that has
  /// to be the file's own, not that of a symbolic link to it.
  ///
  /// - Parameter path: either name of a log; that of a link to the one that is not there now counts for the other.
  /// - Returns: the plain name that the last link names; `path` itself where it is none.
  public static func followingLinks(_ path: String) -> String {
    var (found, count) = (path, 0)
    while count < linkLimit {
      let plain = LogFormat.plainName(found)
      guard let target = target(of: plain) ?? target(of: plain + LogFormat.openSuffix) else {
        break
      }
      let isAbsolute = target.utf8.first == UInt8(ascii: "/")
      found = LogFormat.plainName(
        isAbsolute ? target : RunTreeReader.folder(ofLog: plain) + target)
      count += 1
    }
    return found
  }

  /// As many as the system follows.
  private static let linkLimit = 40

  private static func target(of path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let size = bytes.count
    let count = path.withPath { readlink($0, &bytes, size) }
    guard count > 0 else { return nil }
    return String(pathBytes: bytes.prefix(count).map(UInt8.init(bitPattern:)))
  }
}
