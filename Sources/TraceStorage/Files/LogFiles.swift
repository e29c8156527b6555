import AgentTrace
import FilePaths
import Glibc

/// Logs in a folder.
public enum LogFiles {
  /// Every log below a folder, sorted by UTF-8; the path itself where it is no folder. Links to
  /// folders are not followed.
  ///
  /// - Throws: ``FolderError`` where a folder cannot be read.
  public static func all(below path: String) throws(FolderError) -> [String] {
    guard try isFolder(path) else { return [path] }
    return try all(below: path, endings: endings)
  }

  /// The endings of the names of logs.
  public static let endings = [LogFormat.suffix, LogFormat.suffix + LogFormat.openSuffix]

  /// Every file below a folder whose name has one of some endings, in letters of either case, sorted by UTF-8. Links to
  /// folders are not followed, and names that begin with a dot are passed over.
  ///
  /// - Throws: ``FolderError`` where a folder cannot be read.
  public static func all(
    below folder: String, endings: [String]
  ) throws(FolderError) -> [String] {
    var found: [String] = []
    var folders = [folder]
    while let folder = folders.popLast() { try look(in: folder, endings, &found, &folders) }
    return found.sorted { $0.precedesByUTF8($1) }
  }

  /// Whether a log of a plain name is there, closed or open, that holds an event. What a writer left that died
  /// before its first event was whole is taken away: it says nothing, and stands in the way of the next writer.
  ///
  /// - Throws: ``LogError`` where the log cannot be read, or another writer holds it.
  package static func holdsEvents(_ path: String) throws(LogError) -> Bool {
    if try LogFile.exists(path, .real) { return true }
    let open = path + LogFormat.openSuffix
    guard try LogFile.exists(open, .real) else { return false }
    let file = try LogFile.open(open, O_RDWR)
    try file.lock()
    var reader = try LogReader(path: path)
    guard try reader.next() == nil else { return true }
    file.remove()
    return false
  }

  /// Whether a file begins as a log does. One with the name of a log that holds nothing, or too little to tell, is one
  /// whose writer died; other files are none.
  public static func looksLikeLog(_ path: String) -> Bool {
    let isNamed = endings.contains(where: path.lowercased().hasSuffix)
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return isNamed }
    defer { close(file) }
    var head = [UInt8](repeating: 0, count: MemberHeader.fixedBytes.count)
    let count = read(file, &head, head.count)
    guard count == head.count else {
      return isNamed && MemberHeader.fixedBytes.starts(with: head.prefix(max(0, count)))
    }
    return head == MemberHeader.fixedBytes
  }

  /// The name of a log without its ending.
  public static func stem(of name: String) -> String {
    for ending in [LogFormat.suffix + LogFormat.openSuffix, LogFormat.suffix]
    where name.lowercased().hasSuffix(ending) {
      return String(name.dropLast(ending.count))
    }
    return name
  }

  private static func isFolder(_ path: String) throws(FolderError) -> Bool {
    var info = stat()
    guard stat(path, &info) == 0 else { throw FolderError(path: path, errno: errno) }
    return info.st_mode & S_IFMT == S_IFDIR
  }

  /// Whether an entry of a folder is one, by its type where the file system tells it.
  private static func isFolder(_ path: String, _ type: Int) -> Bool {
    guard type == Int(DT_UNKNOWN) else { return type == Int(DT_DIR) }
    var info = stat()
    return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
  }

  private static func look(
    in folder: String, _ endings: [String], _ found: inout [String], _ folders: inout [String]
  ) throws(FolderError) {
    guard let stream = opendir(folder) else { throw FolderError(path: folder, errno: errno) }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = entryName(entry)
      guard !name.hasPrefix(".") else { continue }
      let path = "\(folder)/\(name)"
      if isFolder(path, Int(entry.pointee.d_type)) {
        folders.append(path)
      } else if endings.contains(where: name.lowercased().hasSuffix) {
        found.append(path)
      }
    }
  }
}

/// A folder that cannot be read.
public struct FolderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The folder.
  public var path: String
  /// The system's reason.
  public var errno: Int32

  /// `errno` is why, as the system says it.
  public init(path: String, errno: Int32) {
    self.path = path
    self.errno = errno
  }

  public var description: String { "\(path): \(String(cString: strerror(errno)))" }
}
