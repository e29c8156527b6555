import FilePaths
import Glibc

/// Files that are written and read whole: everything but logs.
public enum WholeFile {
  /// Why a file was not written or read.
  public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system refused; its error number.
    case system(Int32)
    /// There is something else than a file: a folder, a pipe.
    case noRegularFile
    /// It holds more than may be read.
    case tooLarge(limitBytes: Int)

    /// The system's error of this moment.
    static var last: Failure { .system(errno) }

    public var description: String {
      switch self {
      case .system(let number): String(cString: strerror(number))
      case .noRegularFile: "no regular file"
      case .tooLarge(let limit): "it is larger than \(limit) bytes"
      }
    }
  }

  // MARK: Writing

  /// Writes a file that was not there: never through a link, never over what came to be meanwhile.
  ///
  /// - Throws: ``Failure``; then nothing is there that was not there before.
  public static func create(_ path: String, holding bytes: [UInt8]) throws(Failure) {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
    let file = open(path, flags | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw unmade(path) }
    do {
      try put(bytes, into: file)
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Writes a file in place of the one that may be there, so that nobody ever reads half of it.
  ///
  /// - Throws: ``Failure``; then what was there is there still.
  public static func replace(_ path: String, with bytes: [UInt8]) throws(Failure) {
    let draft = "\(folder(of: path)).\(getpid()).part"
    // Left by a process of the same number that was killed.
    unlink(draft)
    try create(draft, holding: bytes)
    guard rename(draft, path) == 0 else {
      let failure = Failure.last
      unlink(draft)
      throw failure
    }
  }

  /// Writes at the end of a file, which is made where there is none.
  public static func append(_ bytes: [UInt8], to path: String) throws(Failure) {
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw unmade(path) }
    try put(bytes, into: file)
  }

  /// Writes into what is there as it is: a pipe, a terminal.
  public static func write(_ bytes: [UInt8], into path: String) throws(Failure) {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { throw .last }
    try put(bytes, into: file)
  }

  /// Why a file could not be made. Where its folder is not there, that is why the nearest one that is takes none, if
  /// it says so: that something is missing would be no answer to who is not allowed to make it.
  private static func unmade(_ path: String) -> Failure {
    let failure = Failure.last
    guard failure == .system(ENOENT) else { return failure }
    var nearest = path.utf8.first == UInt8(ascii: "/") ? "/" : "."
    for index in path.indices where path[index] == "/" && index != path.startIndex {
      let folder = String(path[..<index])
      guard access(folder, F_OK) == 0 else { break }
      nearest = folder
    }
    return access(nearest, W_OK | X_OK) == 0 ? failure : .last
  }

  /// Makes the folders on the way to a file that are not there. What goes wrong is told by the file,
  /// which then cannot be opened.
  ///
  /// - Parameters:
  ///   - path: Where the file is to be; what stands before its last `/` are the folders.
  ///   - made: Called with each folder that was not there before.
  public static func makeFolders(for path: String, made: (String) -> Void = { _ in }) {
    for index in path.indices where path[index] == "/" && index != path.startIndex {
      let folder = String(path[..<index])
      if mkdir(folder, 0o777) == 0 { made(folder) }
    }
  }

  /// Writes everything, and closes.
  private static func put(_ bytes: [UInt8], into file: Int32) throws(Failure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let failure = count == 0 ? .system(EIO) : Failure.last
        close(file)
        throw failure
      }
      rest = rest.dropFirst(count)
    }
    guard close(file) == 0 else { throw .last }
  }

  /// The folder of a file with a slash behind it; nothing for the current one.
  private static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(path[...slash])
  }

  // MARK: Reading

  /// The bytes of a regular file; it never waits for the other end of a pipe.
  public static func read(_ path: String, limitBytes: Int) throws(Failure) -> [UInt8] {
    try read(path, limitBytes: limitBytes, O_NONBLOCK)
  }

  /// The bytes of a file, or of a pipe to its end.
  public static func readToEnd(_ path: String, limitBytes: Int) throws(Failure) -> [UInt8] {
    try read(path, limitBytes: limitBytes, 0)
  }

  private static func read(
    _ path: String, limitBytes: Int, _ flags: Int32
  ) throws(Failure) -> [UInt8] {
    // Cut off there, another file would be read.
    guard !path.utf8.contains(0) else { throw .system(ENOENT) }
    let file = open(path, O_RDONLY | O_CLOEXEC | flags)
    guard file >= 0 else { throw .last }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .last }
    guard flags == 0 || status.st_mode & S_IFMT == S_IFREG else { throw .noRegularFile }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(max(0, min(Int(status.st_size), limitBytes)))
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = piece.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
      if count == 0 { return bytes }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .last }
      guard bytes.count + count <= limitBytes else { throw .tooLarge(limitBytes: limitBytes) }
      bytes += piece[..<count]
    }
  }
}
