import FilePaths
import Glibc
import TraceStorage

/// Where an export's bytes go: a file that is there only when it is whole, or whoever takes them.
final class ExportFile {
  private let path: String?
  private let draft: String
  private var descriptor: Int32 = -1
  private let take: ([UInt8]) -> Void

  /// Opens a draft beside the file; what has the file's name is looked at in ``finish()``.
  ///
  /// - Throws: ``ExportError`` where the draft cannot be made.
  init(path: String) throws(ExportError) {
    self.path = path
    draft = "\(path).\(getpid()).part"
    take = { _ in }
    WholeFile.makeFolders(for: path)
    // Left by a process of the same number that was killed.
    unlink(draft)
    descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw Self.failure(path) }
  }

  /// Hands bytes to whoever takes them.
  init(taking take: @escaping ([UInt8]) -> Void) {
    path = nil
    draft = ""
    self.take = take
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(draft)
  }

  /// Writes the next bytes.
  func write(_ bytes: [UInt8]) throws(ExportError) {
    guard let path else { return take(bytes) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.failure(path) }
      rest = rest.dropFirst(count)
    }
  }

  /// Gives the file its name. One that is there and holds the same stays; any other is never written over.
  ///
  /// - Throws: ``ExportError``; then what was there is there still.
  func finish() throws(ExportError) {
    guard let path, descriptor >= 0 else { return }
    let closed = close(descriptor) == 0
    descriptor = -1
    defer { unlink(draft) }
    guard closed else { throw Self.failure(path) }
    if link(draft, path) == 0 { return }
    let reason = errno
    guard reason == EEXIST else { throw Self.failure(path, reason) }
    guard Self.hasSameBytes(draft, path) else { throw ExportError(.exists(path)) }
  }

  private static func hasSameBytes(_ left: String, _ right: String) -> Bool {
    guard let first = fileStatus(left), let second = fileStatus(right),
      first.st_size == second.st_size,
      let one = try? WholeFile.read(left, limitBytes: 4 << 30),
      let other = try? WholeFile.read(right, limitBytes: 4 << 30)
    else { return false }
    return one == other
  }

  private static func failure(_ path: String, _ number: Int32 = errno) -> ExportError {
    ExportError(.unwritable(path, String(cString: strerror(number))))
  }
}
