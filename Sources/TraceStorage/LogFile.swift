import CZlib
import Glibc

/// A file descriptor with the calls a log needs. Every call is repeated when a signal interrupts it,
/// and goes on after a short read or write.
final class LogFile {
  let descriptor: Int32
  /// The path it was opened under; renaming changes it.
  private(set) var path: String

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Opens a file. It is not inherited by child processes, so that a tool cannot keep a lock alive.
  static func open(_ path: String, _ flags: Int32) throws(LogError) -> LogFile {
    let descriptor = retrying { Glibc.open(path, flags | O_CLOEXEC, 0o644) }
    guard descriptor >= 0 else { throw Self.failure("open", path) }
    return LogFile(descriptor: descriptor, path: path)
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  // MARK: Reading

  /// Bytes in the file.
  func size() throws(LogError) -> Int { Int(try status().st_size) }

  /// Up to `count` bytes at `offset`; fewer only at the end of the file.
  func read(at offset: Int, count: Int) throws(LogError) -> [UInt8] {
    var result: Result<Int, LogError> = .success(0)
    let bytes = [UInt8](unsafeUninitializedCapacity: max(0, count)) { space, initialized in
      let room = UnsafeMutableBufferPointer(rebasing: space[..<max(0, count)])
      do throws(LogError) {
        initialized = try read(at: offset, into: room)
      } catch {
        result = .failure(error)
      }
    }
    _ = try result.get()
    return bytes
  }

  /// Fills a buffer from `offset` on; returns less than its size only at the end of the file.
  func read(
    at offset: Int, into buffer: UnsafeMutableBufferPointer<UInt8>
  ) throws(LogError) -> Int {
    var count = 0
    while count < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(
        UnsafeMutableBufferPointer(rebasing: buffer[count...]))
      let at = off_t(offset + count)
      let got = Self.retrying { pread(descriptor, rest.baseAddress, rest.count, at) }
      guard got >= 0 else { throw Self.failure("read", path) }
      if got == 0 { break }
      count += got
    }
    return count
  }

  // MARK: Writing

  /// Writes at the current position.
  func write(_ bytes: [UInt8]) throws(LogError) {
    var written = 0
    while written < bytes.count {
      let start = written
      let count = bytes.withUnsafeBytes { buffer in
        let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
        return Self.retrying { Glibc.write(descriptor, rest.baseAddress, rest.count) }
      }
      guard count > 0 else { throw Self.failure("write", path) }
      written += count
    }
  }

  /// Cuts the file to `length` and continues there.
  func truncate(to length: Int) throws(LogError) {
    guard Self.retrying({ ftruncate(descriptor, off_t(length)) }) == 0 else {
      throw Self.failure("truncate", path)
    }
    try seek(to: length)
  }

  func seek(to offset: Int) throws(LogError) {
    guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw Self.failure("seek", path) }
  }

  /// Waits until the bytes and the length of the file survive the machine.
  func syncData() throws(LogError) {
    guard Self.retrying({ fdatasync(descriptor) }) == 0 else {
      throw Self.failure("fdatasync", path)
    }
  }

  func sync() throws(LogError) {
    guard Self.retrying({ fsync(descriptor) }) == 0 else { throw Self.failure("fsync", path) }
  }

  // MARK: Names

  /// Renames the file; an error where the new name is taken.
  func rename(to name: String) throws(LogError) {
    // RENAME_NOREPLACE
    guard Self.retrying({ renameat2(AT_FDCWD, path, AT_FDCWD, name, 1) }) == 0 else {
      if errno == EEXIST { throw LogError(.exists, path: name) }
      throw Self.failure("rename", path)
    }
    path = name
  }

  /// Makes a change of names survive the machine.
  static func syncFolder(of path: String) throws(LogError) {
    let folder = folder(of: path)
    let descriptor = retrying { Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw failure("open", folder) }
    defer { close(descriptor) }
    guard retrying({ fsync(descriptor) }) == 0 else { throw failure("fsync", folder) }
  }

  /// Creates the folder of a file and those above it, where they are missing.
  static func createFolder(of path: String) throws(LogError) {
    let folder = folder(of: path)
    guard !exists(folder) else { return }
    try createFolder(of: folder)
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else { throw failure("create", folder) }
  }

  private static func folder(of path: String) -> String {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast()
    while parts.last?.isEmpty == true { parts.removeLast() }
    if parts.isEmpty { return path.hasPrefix("/") ? "/" : "." }
    return parts.joined(separator: "/")
  }

  // MARK: Locks

  /// Takes the lock that makes this process the one writer, and checks that the path still leads to
  /// this file.
  func lock() throws(LogError) {
    guard Self.retrying({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 else {
      guard errno == EWOULDBLOCK else { throw Self.failure("lock", path) }
      throw LogError(.inUse(holder: try? holder()), path: path)
    }
    var named = stat()
    let own = try status()
    guard fstatat(AT_FDCWD, path, &named, 0) == 0, named.st_ino == own.st_ino,
      named.st_dev == own.st_dev
    else { throw LogError(.inUse(holder: nil), path: path) }
  }

  /// Lets others write.
  func unlock() { _ = flock(descriptor, LOCK_UN) }

  /// The process that holds the lock, as /proc/locks has it (proc(5)).
  private func holder() throws(LogError) -> Int? {
    let own = try status()
    let (major, minor) = (Self.major(own.st_dev), Self.minor(own.st_dev))
    let locks = try LogFile.open("/proc/locks", O_RDONLY).readAll()
    for line in locks.split(separator: UInt8(ascii: "\n")) {
      let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
      guard fields.count >= 6, fields[1] == "FLOCK" else { continue }
      let place = fields[5].split(separator: ":")
      guard place.count == 3, UInt64(place[0], radix: 16) == major,
        UInt64(place[1], radix: 16) == minor, UInt64(place[2]) == UInt64(own.st_ino)
      else { continue }
      return Int(fields[4])
    }
    return nil
  }

  /// The layout of glibc's dev_t (sys/sysmacros.h).
  private static func major(_ device: dev_t) -> UInt64 {
    let device = UInt64(device)
    return device >> 8 & 0xfff | device >> 32 & 0xffff_f000
  }

  private static func minor(_ device: dev_t) -> UInt64 {
    let device = UInt64(device)
    return device & 0xff | device >> 12 & 0xffff_ff00
  }

  /// Everything up to the end; for small files without a size of their own.
  private func readAll() throws(LogError) -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let piece = try read(at: all.count, count: 64 * 1024)
      all += piece
      if piece.isEmpty { return all }
    }
  }

  // MARK: -

  private func status() throws(LogError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure("inspect", path) }
    return status
  }

  private static func failure(_ operation: String, _ path: String) -> LogError {
    let number = errno
    return LogError(
      number == ENOENT ? .notFound : .system(operation: operation, errno: number), path: path)
  }

  /// Repeats a call that a signal interrupted.
  private static func retrying<T: SignedInteger>(_ call: () -> T) -> T {
    while true {
      let result = call()
      if result != -1 || errno != EINTR { return result }
    }
  }
}
