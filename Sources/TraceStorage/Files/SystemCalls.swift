import CZlib
import FilePaths
import Glibc

/// The system calls that a log is written with. Tests put others in their place that fail when told
/// to; a writer of the product never sees any but these.
struct SystemCalls: Sendable {
  typealias Path = String

  var open: @Sendable (Path, _ flags: Int32) -> Int32 = { FilePaths.open($0, $1, 0o644) }
  var close: @Sendable (Int32) -> Int32 = { Glibc.close($0) }
  var access: @Sendable (Path) -> Int32 = { FilePaths.access($0, F_OK) }
  var makeFolder: @Sendable (Path) -> Int32 = { FilePaths.mkdir($0, 0o755) }
  var lock: @Sendable (Int32, _ operation: Int32) -> Int32 = { flock($0, $1) }
  var status: @Sendable (Int32, UnsafeMutablePointer<stat>) -> Int32 = { fstat($0, $1) }
  var statusOfPath: @Sendable (Path, UnsafeMutablePointer<stat>) -> Int32 = {
    FilePaths.stat($0, $1)
  }
  var read: @Sendable (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int = {
    pread($0, $1, $2, $3)
  }
  var write: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { Glibc.write($0, $1, $2) }
  var seek: @Sendable (Int32, off_t) -> off_t = { lseek($0, $1, SEEK_SET) }
  var truncate: @Sendable (Int32, off_t) -> Int32 = { ftruncate($0, $1) }
  var syncData: @Sendable (Int32) -> Int32 = { fdatasync($0) }
  var sync: @Sendable (Int32) -> Int32 = { fsync($0) }
  /// Never replaces a file (RENAME_NOREPLACE).
  var rename: @Sendable (Path, Path) -> Int32 = { old, new in
    old.withPath { old in new.withPath { renameat2(AT_FDCWD, old, AT_FDCWD, $0, 1) } }
  }
  var remove: @Sendable (Path) -> Int32 = { FilePaths.unlink($0) }

  static let real = SystemCalls()
}
