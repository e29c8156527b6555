import AgentTrace
import FilePaths
import Glibc

/// Another process is writing the log of a run that belongs to the one that is to go on: one above it, which goes on
/// with it by itself, or one below it. Nothing has been written then.
///
/// Two processes that go on with one tree of runs would each think that the other's calls had failed, and make them
/// again.
public struct RunInUse: Error, Hashable, Sendable, CustomStringConvertible {
  /// The log that is to go on, as the caller named it.
  public var path: String
  /// The log that is being written.
  public var log: String
  /// The process that writes it; `nil` where the system does not tell.
  public var holder: Int?
  /// Whether it is that of a run that started this one, rather than of one that this one started.
  public var isAbove: Bool

  /// Which log, who writes it, and what to do.
  public var description: String {
    let who = holder.map { "process \($0)" } ?? "another process"
    return isAbove
      ? "\(path): this run is a part of the one in \(log), which \(who) is going on with now; "
        + "leave it to that, or wait until that has stopped"
      : "\(path): \(who) is writing \(log), the log of a run that is a part of this one; "
        + "wait until it has closed it, then resume again"
  }
}

extension LogFiles {
  /// Makes sure that no other process is writing the log of a run above this one, or below it, in the same folder.
  ///
  /// Whoever goes on with a run asks once it holds that run's own log: of two that belong together, and are gone on with
  /// at the same time, then at least one sees the other.
  ///
  /// - Parameter path: the log that is to go on.
  /// - Throws: ``RunInUse``. What cannot be read is in nobody's way.
  /// - Complexity: reads the names in the folder, and the first event of each log that is being written and of those above
  ///   it.
  package static func checkTreeIsFree(of path: String) throws(RunInUse) {
    let folder = RunTreeReader.folder(ofLog: path)
    let plain = LogFormat.plainName(path)
    guard let own = Place(ofLog: plain) else { return }
    let above = Place.runs(above: own, in: folder)
    for name in leftOpen(in: folder) {
      let log = folder + name.dropLast(LogFormat.openSuffix.utf8.count)
      guard !log.hasSameUTF8(as: plain), let other = Place(ofLog: log) else { continue }
      let isAbove = above.contains { $0.hasSameUTF8(as: other.runId) }
      guard
        isAbove
          || Place.runs(above: other, in: folder).contains(where: { $0.hasSameUTF8(as: own.runId) }),
        case .held(let holder) = Use(ofOpenLog: folder + name)
      else { continue }
      throw RunInUse(path: path, log: log, holder: holder, isAbove: isAbove)
    }
  }

  /// The names of the logs in a folder that were not closed; none of one that cannot be read.
  private static func leftOpen(in folder: String) -> [String] {
    LogFiles.names(in: folder, endingIn: [LogFormat.suffix + LogFormat.openSuffix])
  }
}

/// Whether a process writes a log.
private enum Use {
  case free
  case held(by: Int?)

  /// - Parameter path: the file itself.
  init(ofOpenLog path: String) {
    do throws(LogError) {
      let file = try LogFile.openForReading(path)
      try file.lockForReading()
      file.unlock()
      self = .free
    } catch {
      guard case .inUse(let holder) = error.code else {
        self = .free
        return
      }
      self = .held(by: holder)
    }
  }
}

/// Which run a log is of, and which run started it.
private struct Place {
  var runId: String
  var parent: String?

  /// - Parameter path: the plain name; `nil` where no log is there, or its beginning cannot be read.
  init?(ofLog path: String) {
    let keys: [StaticString] = ["parent"]
    guard
      let head = (try? LogHead(path: path, withOnly: keys))
        ?? (try? LogHead(path: path + LogFormat.openSuffix, withOnly: keys))
    else { return nil }
    runId = head.started.runId
    let started = head.started.data["parent"]
    if ParentRun.isPart(started) { parent = started?["runId"]?.stringValue }
  }

  /// The runs that lead to one, the nearest first: as far as their logs have the names of their runs, and the one above
  /// these, whatever its name.
  static func runs(above place: Place, in folder: String) -> [String] {
    var (runs, next): ([String], String?) = ([], place.parent)
    while let runId = next, runs.count < depthLimit {
      runs.append(runId)
      next = RunTreeReader.log(of: runId, in: folder).flatMap { Place(ofLog: $0)?.parent }
    }
    return runs
  }

  private static let depthLimit = 64
}
