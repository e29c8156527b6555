import CZlib
import Glibc

/// A file descriptor with the calls a log needs. Every call is repeated when a signal interrupts it,
/// and goes on after a short read or write.
final class LogFile {
  let descriptor: Int32
  /// The path it was opened under; renaming changes it.
  private(set) var path: String
  private let system: SystemCalls

  private init(descriptor: Int32, path: String, system: SystemCalls) {
    self.descriptor = descriptor
    self.path = path
    self.system = system
  }

  /// Whether this holds a lock, of either kind.
  private var isLocked = false

  deinit {
    // A child that is being started has this descriptor until it becomes another program; the lock
    // would live on in it.
    if isLocked { _ = flock(descriptor, LOCK_UN) }
    // What close(2) could report, `sync()` has reported before: its result says nothing new.
    _ = system.close(descriptor)
  }

  /// Opens a file. It is not inherited by child processes, so that a tool cannot keep a lock alive.
  static func open(
    _ path: String, _ flags: Int32, _ system: SystemCalls = .real
  ) throws(LogError) -> LogFile {
    let descriptor = retrying { system.open(path, flags | O_CLOEXEC) }
    guard descriptor >= 0 else { throw Self.failure("open", path) }
    return LogFile(descriptor: descriptor, path: path, system: system)
  }

  /// Opens a file to be read at any place. Never waits for the other end of a pipe.
  ///
  /// What kind of file it is nobody asks here, which spares each of many small logs a system call: a pipe, a
  /// terminal or a folder says so when it is read, and a device holds no log.
  static func openForReading(_ path: String) throws(LogError) -> LogFile {
    try open(path, O_RDONLY | O_NONBLOCK)
  }

  /// - Throws: ``LogError`` where that cannot be known.
  static func exists(_ path: String, _ system: SystemCalls) throws(LogError) -> Bool {
    if retrying({ system.access(path) }) == 0 { return true }
    guard errno == ENOENT || errno == ENOTDIR else { throw failure("inspect", path) }
    return false
  }

  // MARK: Reading

  /// - Throws: ``LogError`` where it is no regular file.
  func checkKind() throws(LogError) {
    guard try status().st_mode & S_IFMT == S_IFREG else {
      throw LogError(.noRegularFile, path: path)
    }
  }

  /// Bytes in the file.
  func size() throws(LogError) -> Int { Int(try status().st_size) }

  /// Bytes in the file, by going to its end: for files that are only read, and at places. Tells what is no
  /// file to go to any place in.
  func sizeBySeeking() throws(LogError) -> Int {
    let size = Self.retrying { lseek(descriptor, 0, SEEK_END) }
    guard size >= 0 else { throw Self.failure("inspect", path) }
    return Int(size)
  }

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
      let got = Self.retrying { system.read(descriptor, rest.baseAddress, rest.count, at) }
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
        return Self.retrying { system.write(descriptor, rest.baseAddress, rest.count) }
      }
      guard count != 0 else {
        throw LogError(.system(operation: "write", errno: EIO), path: path)
      }
      guard count > 0 else { throw Self.failure("write", path) }
      written += count
    }
  }

  /// Cuts the file to `length` and continues there.
  func truncate(to length: Int) throws(LogError) {
    guard Self.retrying({ system.truncate(descriptor, off_t(length)) }) == 0 else {
      throw Self.failure("truncate", path)
    }
    try seek(to: length)
  }

  func seek(to offset: Int) throws(LogError) {
    guard Self.retrying({ system.seek(descriptor, off_t(offset)) }) >= 0 else {
      throw Self.failure("seek", path)
    }
  }

  /// Waits until the bytes and the length of the file survive the machine.
  func syncData() throws(LogError) {
    guard Self.retrying({ system.syncData(descriptor) }) == 0 else {
      throw Self.failure("fdatasync", path)
    }
  }

  func sync() throws(LogError) {
    guard Self.retrying({ system.sync(descriptor) }) == 0 else {
      throw Self.failure("fsync", path)
    }
  }

  // MARK: Names

  /// Renames the file; an error where the new name is taken.
  func rename(to name: String) throws(LogError) {
    guard Self.retrying({ system.rename(path, name) }) == 0 else {
      if errno == EEXIST { throw LogError(.exists, path: name) }
      throw Self.failure("rename", path)
    }
    path = name
  }

  /// Makes a change of names survive the machine.
  func syncFolder() throws(LogError) {
    try LogFile.open(Self.folder(of: path), O_RDONLY | O_DIRECTORY, system).sync()
  }

  /// Takes the file's name away, where it still leads to this file.
  func remove() {
    if isAt(path) { _ = system.remove(path) }
  }

  /// Creates the folder of a file and those above it, where they are missing.
  static func createFolder(
    of path: String, _ system: SystemCalls = .real
  ) throws(LogError) {
    let folder = folder(of: path)
    guard try !exists(folder, system) else { return }
    try createFolder(of: folder, system)
    guard retrying({ system.makeFolder(folder) }) == 0 || errno == EEXIST else {
      throw failure("create", folder)
    }
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
    try lock(LOCK_EX)
    var named = stat()
    let own = try status()
    guard Self.retrying({ system.statusOfPath(path, &named) }) == 0 || errno == ENOENT else {
      throw Self.failure("inspect", path)
    }
    guard named.st_ino == own.st_ino, named.st_dev == own.st_dev else {
      throw LogError(.inUse(holder: nil), path: path)
    }
  }

  /// Checks that the path still leads to this file: what is written to one that nobody finds is lost.
  func checkPlace() throws(LogError) {
    var named = stat()
    let own = try status()
    guard Self.retrying({ system.statusOfPath(path, &named) }) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw Self.failure("inspect", path) }
      throw LogError(.noLongerAtItsPlace, path: path)
    }
    guard named.st_ino == own.st_ino, named.st_dev == own.st_dev else {
      throw LogError(.noLongerAtItsPlace, path: path)
    }
  }

  /// Keeps writers away while the file is read.
  func lockForReading() throws(LogError) { try lock(LOCK_SH) }

  private func lock(_ kind: Int32) throws(LogError) {
    guard Self.retrying({ system.lock(descriptor, kind | LOCK_NB) }) == 0 else {
      guard errno == EWOULDBLOCK else { throw Self.failure("lock", path) }
      throw LogError(.inUse(holder: try? holder()), path: path)
    }
    isLocked = true
  }

  /// Lets others write.
  func unlock() {
    _ = system.lock(descriptor, LOCK_UN)
    isLocked = false
  }

  /// Whether this is the file that a path leads to.
  func isAt(_ path: String) -> Bool {
    var named = stat()
    guard let own = try? status(), system.statusOfPath(path, &named) == 0 else { return false }
    return named.st_ino == own.st_ino && named.st_dev == own.st_dev
  }

  /// The process that holds the lock, as /proc/locks has it (proc(5)).
  func holder() throws(LogError) -> Int? {
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

  /// What changes when the file does.
  struct Stamp: Equatable {
    var size: Int
    var seconds: Int
    var nanoseconds: Int
  }

  func stamp() throws(LogError) -> Stamp {
    let status = try status()
    return Stamp(
      size: Int(status.st_size), seconds: status.st_mtim.tv_sec,
      nanoseconds: status.st_mtim.tv_nsec)
  }

  private func status() throws(LogError) -> stat {
    var status = stat()
    guard Self.retrying({ system.status(descriptor, &status) }) == 0 else {
      throw Self.failure("inspect", path)
    }
    return status
  }

  private static func failure(_ operation: String, _ path: String) -> LogError {
    let number = errno
    return switch number {
    // A folder that cannot be made is no log that is missing.
    case ENOENT where operation != "create": LogError(.notFound, path: path)
    // No place in it can be gone to.
    case ESPIPE: LogError(.noRegularFile, path: path)
    default: LogError(.system(operation: operation, errno: number), path: path)
    }
  }

  /// Repeats a call that a signal interrupted.
  private static func retrying<T: SignedInteger>(_ call: () -> T) -> T {
    while true {
      let result = call()
      if result != -1 || errno != EINTR { return result }
    }
  }
}
