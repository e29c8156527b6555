import ArgumentParser
import Glibc
import TraceReporting
import TraceStorage

/// Files that reports are written to.
enum ReportFiles {
  /// A file that cannot be written.
  struct Failure: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String { "the report \(path) cannot be written: \(reason)" }
  }

  /// Replaces a file, so that nobody ever reads half of one; makes the folders on its way. What is
  /// there and no plain file (a pipe, a terminal) is written to as it is.
  static func write(_ bytes: [UInt8], to path: String) throws {
    makeFolders(of: path)
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      return try put(bytes, to: path, flags: O_WRONLY)
    }
    let draft = "\(path).\(getpid()).part"
    do {
      try put(bytes, to: draft, flags: O_WRONLY | O_CREAT | O_TRUNC)
    } catch {
      unlink(draft)
      throw Failure(path: path, reason: error.reason)
    }
    guard rename(draft, path) == 0 else {
      let reason = String(cString: strerror(errno))
      unlink(draft)
      throw Failure(path: path, reason: reason)
    }
  }

  /// Writes at the end of a file.
  static func append(_ bytes: [UInt8], to path: String) throws {
    try put(bytes, to: path, flags: O_WRONLY | O_CREAT | O_APPEND)
  }

  private static func put(
    _ bytes: [UInt8], to path: String, flags: Int32
  ) throws(Failure) {
    let file = open(path, flags | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw Failure(path: path, reason: String(cString: strerror(errno))) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      guard count >= 0 || errno == EINTR else {
        let reason = String(cString: strerror(errno))
        close(file)
        throw Failure(path: path, reason: reason)
      }
      rest = rest.dropFirst(max(0, count))
    }
    guard close(file) == 0 else {
      throw Failure(path: path, reason: String(cString: strerror(errno)))
    }
  }

  private static func makeFolders(of path: String) {
    for index in path.indices where path[index] == "/" && index != path.startIndex {
      // What goes wrong here is told by the file that cannot be opened.
      mkdir(String(path[..<index]), 0o777)
    }
  }
}

extension ReportContext {
  /// Paths are told from where continuous integration has checked the project out, else from here.
  static var here: ReportContext {
    let folder = currentFolder
    let root = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"].compactMap(variable).first ?? folder
    var context = ReportContext(
      root: root, folder: folder, version: AgentEval.configuration.version)
    context.readEvents = { log, tell in
      var reader = try LogReader(path: log)
      while let event = try reader.next() { tell(event) }
    }
    return context
  }

  private static var currentFolder: String {
    guard let path = getcwd(nil, 0) else { return "/" }
    defer { free(path) }
    return String(cString: path)
  }

  private static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee == UInt8(ascii: "/") else { return nil }
    return String(cString: value)
  }
}
