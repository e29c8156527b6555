import AgentTrace
import EvalRunning
import FilePaths
import Glibc

/// Files that were met, whatever they were called: a link, another way to the same file, a folder and a file in it.
struct FileIdentities {
  private struct Identity: Hashable {
    var device: UInt
    var inode: UInt
  }

  /// What each was called when it was met first.
  private var names: [Identity: String] = [:]
  /// How many runs were left out since their file had been met.
  private(set) var repeated = 0

  /// The runs of a place whose files were not met before, each by one name: its own rather than that of a link to it.
  mutating func firstMet(_ runs: [FoundRun]) -> [FoundRun] {
    let before = names
    let files = runs.map { run in (run.source ?? (try? run.log.get())).flatMap(Self.file) }
    for case let file? in files where before[file.identity] == nil {
      guard names[file.identity] == nil || !file.isLink else { continue }
      if names[file.identity].map(Self.isLink) ?? true { names[file.identity] = file.path }
    }
    // A file of many runs has them all by its one name.
    let kept = zip(runs, files).filter { _, file in
      guard let file else { return true }
      return before[file.identity] == nil
        && names[file.identity, default: file.path].hasSameUTF8(as: file.path)
    }
    repeated += runs.count - kept.count
    return kept.map(\.0)
  }

  private static func file(_ path: String) -> (path: String, identity: Identity, isLink: Bool)? {
    guard let status = fileStatus(path) else { return nil }
    let identity = Identity(device: UInt(status.st_dev), inode: UInt(status.st_ino))
    return (path, identity, isLink(path))
  }

  private static func isLink(_ path: String) -> Bool {
    linkStatus(path).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false
  }
}
