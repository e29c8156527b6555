import FilePaths
import Glibc

/// How files stood at some moment: when they were changed and how large they were, not what they held.
///
/// Stamps are compared rather than changes listened for, so that files on network drives, files that
/// are replaced and files that are not there yet are all seen alike.
public struct FileStamps: Sendable, Hashable {
  /// What tells one state of a file from another.
  private struct Stamp: Sendable, Hashable {
    var device: UInt
    var inode: UInt
    var size: Int
    var changedSeconds: Int
    var changedNanoseconds: Int

    init?(of path: [UInt8]) {
      guard let status = fileStatus(String(decoding: path, as: UTF8.self)),
        // Of a folder only what is in it counts.
        !status.isFolder
      else { return nil }
      device = UInt(status.st_dev)
      inode = UInt(status.st_ino)
      size = Int(status.st_size)
      changedSeconds = Int(status.st_mtim.tv_sec)
      changedNanoseconds = Int(status.st_mtim.tv_nsec)
    }
  }

  /// Files by path; without a stamp where there is none.
  private var stamps: [[UInt8]: Stamp?] = [:]

  /// Looks at every file of a list now.
  ///
  /// - Complexity: O(*n*) in the files, with a system call for each.
  public init(of list: WatchList) {
    for path in list.paths { stamps[Array(path.utf8)] = .some(Stamp(of: Array(path.utf8))) }
  }

  /// How many files are there.
  public var count: Int { stamps.values.count { $0 != nil } }

  /// The first path, by its bytes, that has changed since; `nil` where none has. A file that was not
  /// looked at then counts as changed if it is there now.
  public func change(since earlier: FileStamps) -> String? {
    let paths = Set(stamps.keys).union(earlier.stamps.keys)
    let changed = paths.filter { path in
      (stamps[path] ?? nil) != (earlier.stamps[path] ?? nil)
    }
    return changed.min { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Goes back to how files stood earlier, as far as that is known.
  public mutating func goBack(to earlier: FileStamps) {
    for (path, stamp) in earlier.stamps where stamps[path] != nil { stamps[path] = stamp }
  }

  /// Takes files of a list that were not there for known ones: those that were made by whoever watches.
  public mutating func expect(_ paths: [String], on list: WatchList) {
    let watched = list.paths
    for path in paths where watched.contains(path) {
      let path = Array(path.utf8)
      if (stamps[path] ?? nil) == nil { stamps[path] = .some(Stamp(of: path)) }
    }
  }
}
