public import Glibc

// The calls of the system that take a path, for paths as text. They stand in the way of those of the C library, which
// would take a text as it is: a file that imports this module cannot mean the others by accident.

/// As `open(2)`.
public func open(_ path: String, _ flags: Int32) -> Int32 {
  path.withPath { Glibc.open($0, flags) }
}

/// As `open(2)` of a file that may be made.
public func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
  path.withPath { Glibc.open($0, flags, mode) }
}

/// As `stat(2)`.
public func stat(_ path: String, _ status: UnsafeMutablePointer<Glibc.stat>) -> Int32 {
  path.withPath { fstatat(AT_FDCWD, $0, status, 0) }
}

/// As `lstat(2)`.
public func lstat(_ path: String, _ status: UnsafeMutablePointer<Glibc.stat>) -> Int32 {
  path.withPath { fstatat(AT_FDCWD, $0, status, AT_SYMLINK_NOFOLLOW) }
}

/// What a path leads to; `nil` where nothing is to be seen there, which `errno` tells of then.
public func fileStatus(_ path: String) -> Glibc.stat? {
  var status = Glibc.stat()
  return stat(path, &status) == 0 ? status : nil
}

/// What stands at a path itself, be it a link; `nil` as of ``fileStatus(_:)``.
public func linkStatus(_ path: String) -> Glibc.stat? {
  var status = Glibc.stat()
  return lstat(path, &status) == 0 ? status : nil
}

/// Whether a path leads to a folder.
public func isFolder(_ path: String) -> Bool { fileStatus(path)?.isFolder ?? false }

/// Whether two paths lead to one file that is there.
public func isSameFile(_ path: String, _ other: String) -> Bool {
  guard let one = fileStatus(path), let two = fileStatus(other) else { return false }
  return one.st_dev == two.st_dev && one.st_ino == two.st_ino
}

extension Glibc.stat {
  /// Whether it is a folder's.
  public var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
  /// Whether it is a plain file's.
  public var isFile: Bool { st_mode & S_IFMT == S_IFREG }
  /// Whether it is a link's.
  public var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}

/// As `opendir(3)`.
public func opendir(_ path: String) -> OpaquePointer? { path.withPath { Glibc.opendir($0) } }

/// As `access(2)`.
public func access(_ path: String, _ mode: Int32) -> Int32 {
  path.withPath { Glibc.access($0, mode) }
}

/// As `rename(2)`.
public func rename(_ old: String, _ new: String) -> Int32 {
  old.withPath { old in new.withPath { Glibc.rename(old, $0) } }
}

/// As `link(2)`.
public func link(_ old: String, _ new: String) -> Int32 {
  old.withPath { old in new.withPath { Glibc.link(old, $0) } }
}

/// As `unlink(2)`.
@discardableResult
public func unlink(_ path: String) -> Int32 { path.withPath { Glibc.unlink($0) } }

/// As `mkdir(2)`.
@discardableResult
public func mkdir(_ path: String, _ mode: mode_t) -> Int32 {
  path.withPath { Glibc.mkdir($0, mode) }
}

/// As `rmdir(2)`.
@discardableResult
public func rmdir(_ path: String) -> Int32 { path.withPath { Glibc.rmdir($0) } }

/// As `realpath(3)`; `nil` where there is no such path.
public func realpath(_ path: String) -> String? {
  guard let real = path.withPath({ Glibc.realpath($0, nil) }) else { return nil }
  defer { free(real) }
  return String(path: real)
}

/// The name of an entry of a folder, as `readdir(3)` gives it.
public func entryName(_ entry: UnsafePointer<dirent>) -> String {
  withUnsafeBytes(of: entry.pointee.d_name) { String(pathBytes: $0.prefix { $0 != 0 }) }
}

/// The names of what is in a folder, `.` and `..` among them, in no order; `nil` where it cannot be read, which
/// `errno` tells of then.
public func entryNames(in folder: String) -> [String]? {
  guard let stream = opendir(folder) else { return nil }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) { names.append(entryName(entry)) }
  return names
}

/// The folder that this process works in; `nil` where it is gone.
public func workingFolder() -> String? {
  guard let path = getcwd(nil, 0) else { return nil }
  defer { free(path) }
  return String(path: path)
}
