import ArgumentParser
import FilePaths
import Glibc
import Synchronization
import TraceIndexing
import TraceJudging
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
    WholeFile.makeFolders(for: path)
    do {
      if let status = fileStatus(path), !status.isFile {
        try WholeFile.write(bytes, into: path)
      } else {
        try WholeFile.replace(path, with: bytes)
      }
    } catch {
      throw Failure(path: path, reason: "\(error)")
    }
  }

  /// Writes at the end of a file.
  static func append(_ bytes: [UInt8], to path: String) throws(Failure) {
    do {
      try WholeFile.append(bytes, to: path)
    } catch {
      throw Failure(path: path, reason: "\(error)")
    }
  }
}

extension ReportContext {
  /// Paths are told from where continuous integration has checked the project out, else from here.
  static var here: ReportContext {
    let folder = WorkingFolder.path
    let root = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"].compactMap(variable).first ?? folder
    var context = ReportContext(
      root: root, folder: folder, version: AgentEval.configuration.version)
    context.readEvents = { log, tell in
      var reader = try LogReader(path: log)
      while let event = try reader.next() { tell(event) }
    }
    let known = Mutex<[String: Int?]>([:])
    context.elapsed = { log in
      if let time = known.withLock({ $0[log] }) { return time }
      let time = RunFacts(log: log)?.elapsedMicroseconds
      known.withLock { $0[log] = .some(time) }
      return time
    }
    return context
  }

  private static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee == UInt8(ascii: "/") else { return nil }
    return String(cString: value)
  }
}
