import FilePaths
import Glibc

/// Reads the bytes of files that anybody may have made: never blocks on a pipe, never takes in more
/// than it was told to.
enum FileBytes {
  /// Which file it is, whatever path leads to it.
  struct Identity: Hashable, Sendable {
    private var device: UInt
    private var inode: UInt

    init(_ status: stat) {
      device = UInt(status.st_dev)
      inode = UInt(status.st_ino)
    }
  }

  /// A regular file that is open for reading; closes itself.
  struct Handle: ~Copyable {
    fileprivate let descriptor: Int32
    /// Bytes in the file when it was opened.
    let size: Int

    deinit { Glibc.close(descriptor) }

    /// Reads up to `count` bytes; nothing at the end.
    func read(_ count: Int, path: String) throws(Diagnostic) -> [UInt8] {
      var failure: Int32 = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        while true {
          let got = Glibc.read(descriptor, buffer.baseAddress, count)
          if got >= 0 {
            initialized = got
            return
          }
          if errno == EINTR { continue }
          failure = errno
          return
        }
      }
      guard failure == 0 else {
        throw Diagnostic(.error, path: path, message: "cannot be read: \(reason(failure))")
      }
      return chunk
    }
  }

  /// Opens a regular file.
  static func open(_ path: String) throws(Diagnostic) -> Handle {
    guard !path.utf8.contains(0) else {
      throw Diagnostic(.error, path: path, message: "a path cannot hold a zero byte")
    }
    // Without O_NONBLOCK a named pipe would wait here for a writer.
    let descriptor = FilePaths.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw cannotBeOpened(path, errno)
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      let isFolder = status.st_mode & S_IFMT == S_IFDIR
      Glibc.close(descriptor)
      throw Diagnostic(
        .error, path: path,
        message: isFolder ? "a folder, where a file is needed" : "no regular file")
    }
    return Handle(descriptor: descriptor, size: Int(status.st_size))
  }

  /// All bytes of a file of at most `limit` bytes.
  static func all(of path: String, limit: Int) throws(Diagnostic) -> [UInt8] {
    let handle = try open(path)
    var bytes: [UInt8] = []
    while true {
      let chunk = try handle.read(min(1 << 18, limit + 1 - bytes.count), path: path)
      if chunk.isEmpty { return bytes }
      bytes.append(contentsOf: chunk)
      guard bytes.count <= limit else {
        throw Diagnostic(
          .error, path: path, message: "larger than \(limit) bytes",
          hint: "many cases go into JSONL, which has no limit")
      }
    }
  }

  /// Says why there is nothing to read, and of a path that leads nowhere what was probably meant.
  static func cannotBeOpened(_ path: String, _ number: Int32) -> Diagnostic {
    let meant = number == ENOENT ? NearestPath.to(path) : nil
    return Diagnostic(
      .error, path: path, message: "cannot be opened: \(reason(number))",
      hint: meant.map { "did you mean “\($0)”?" })
  }

  /// What the system says about an error number, without the locale.
  static func reason(_ number: Int32) -> String {
    switch number {
    case ENOENT: "no such file"
    case EACCES, EPERM: "no permission"
    case ELOOP: "too many symbolic links"
    case ENOTDIR: "a part of its path is no folder"
    case EISDIR: "it is a folder"
    case ENAMETOOLONG: "its name is too long"
    default: "system error \(number)"
    }
  }
}
