import FilePaths
import Glibc

/// What tells whether a file is still the one that was read.
struct FileStamp: Hashable, Sendable {
  /// Bytes.
  var size: Int
  /// Nanoseconds since 1970.
  var modifiedAt: Int
  /// Inode, time of the last change of anything about the file, and its last bytes. The end of a
  /// closed log is a trailer that holds a checksum of the last seal, so that this speaks of every line.
  var fingerprint: String

  /// Nothing is there, or nothing may be looked at.
  static let absent = FileStamp(size: 0, modifiedAt: 0, fingerprint: "")

  /// Bytes at the end that are compared: the link in a log's trailer and what follows it.
  private static let tailBytes = 32

  /// Why a path cannot be read as a log.
  enum Fault: Error, Equatable {
    case system(operation: String, errno: Int32)
    /// A pipe, a device, a folder: opening it might never come back.
    case notAFile

    var phrase: String {
      switch self {
      case .system(let operation, let number):
        "cannot \(operation): \(String(cString: strerror(number)))"
      case .notAFile: "not a file"
      }
    }
  }

  init(size: Int, modifiedAt: Int, fingerprint: String) {
    self.size = size
    self.modifiedAt = modifiedAt
    self.fingerprint = fingerprint
  }

  /// Looks at a file. Links are followed.
  init(path: String) throws(Fault) {
    guard var info = fileStatus(path) else { throw .system(operation: "inspect", errno: errno) }
    guard info.isFile else { throw .notAFile }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system(operation: "open", errno: errno) }
    defer { close(descriptor) }
    // What was opened may be another file than the one that was looked at.
    guard fstat(descriptor, &info) == 0, info.isFile else { throw .notAFile }
    size = Int(info.st_size)
    modifiedAt = Self.nanoseconds(info.st_mtim)
    var tail = [UInt8](repeating: 0, count: Self.tailBytes)
    let start = off_t(max(0, size - Self.tailBytes))
    let count = pread(descriptor, &tail, Self.tailBytes, start)
    guard count >= 0 else { throw .system(operation: "read", errno: errno) }
    fingerprint =
      "\(info.st_ino):\(Self.nanoseconds(info.st_ctim)):" + Self.hex(tail.prefix(count))
  }

  private static func nanoseconds(_ time: timespec) -> Int {
    let (seconds, overflow) = time.tv_sec.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? 0 : seconds &+ time.tv_nsec
  }

  private static func hex(_ bytes: some Collection<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(unsafeUninitializedCapacity: bytes.count * 2) { space in
      for (index, byte) in bytes.enumerated() {
        space[2 * index] = digits[Int(byte >> 4)]
        space[2 * index + 1] = digits[Int(byte & 15)]
      }
      return bytes.count * 2
    }
  }
}
