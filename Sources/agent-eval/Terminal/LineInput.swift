import EvalRunning
import FilePaths
import Glibc

/// Lines of a file or of standard input, as they come.
struct LineInput: ~Copyable {
  /// The input cannot be read on.
  struct Failure: Error, CustomStringConvertible {
    var name: String
    var reason: String
    var description: String { "\(name) cannot be read: \(reason)" }
  }

  /// What it is called in messages.
  let name: String
  private let descriptor: Int32
  private var lines = InputLines()
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)
  private var hasEnded = false

  /// - Parameter path: `-` for standard input.
  init(path: String) throws {
    let isStandard = path == "-"
    name = isStandard ? "standard input" : path
    descriptor = isStandard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(name: name, reason: String(cString: strerror(errno)))
    }
  }

  deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

  /// The lines that are there by now: at least one, or none at the end of the input. Waits for more
  /// where there is none.
  ///
  /// - Parameter isCalledOff: Asked a few times a second; the input ends where it says so.
  mutating func next(isCalledOff: () -> Bool) throws -> [InputLine] {
    while !hasEnded {
      var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = poll(&input, 1, 100)
      if isCalledOff() { return [] }
      if ready == 0 || (ready < 0 && errno == EINTR) { continue }
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        throw Failure(name: name, reason: String(cString: strerror(errno)))
      }
      hasEnded = count == 0
      var found = lines.take(buffer[..<count])
      if hasEnded, let last = lines.finish() { found.append(last) }
      if !found.isEmpty { return found }
    }
    return []
  }
}
