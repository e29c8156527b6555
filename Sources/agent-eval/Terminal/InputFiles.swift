import Glibc

/// Files that a verb reads whole.
enum InputFiles {
  /// A file that cannot be read.
  struct Failure: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String { "\(path) cannot be read: \(reason)" }
  }

  /// The bytes of a file, or of a pipe to its end.
  ///
  /// - Parameter limitBytes: More than that are refused.
  static func all(of path: String, limitBytes: Int = 1 << 30) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Failure(path: path, reason: String(cString: strerror(errno))) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
      if count == 0 { return bytes }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw Failure(path: path, reason: String(cString: strerror(errno)))
      }
      bytes += buffer[..<count]
      guard bytes.count <= limitBytes else {
        throw Failure(path: path, reason: "it is larger than \(limitBytes) bytes")
      }
    }
  }
}
