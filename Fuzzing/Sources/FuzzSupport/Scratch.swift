import Glibc

/// A folder of this process for the files that an input becomes, in memory where the machine has a
/// file system for that.
public struct Scratch: Sendable {
  /// Without a slash at the end.
  public let path: String

  /// Makes the folder, below `AGENT_EVAL_FUZZ_SCRATCH` where that is set.
  public init() {
    let parent =
      getenv("AGENT_EVAL_FUZZ_SCRATCH").map { String(cString: $0) }
      ?? (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")
    path = "\(parent)/agent-eval-fuzz-\(getpid())"
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { violated("no folder at \(path)") }
  }

  /// Where a file of that name stands.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file anew.
  public func write(_ bytes: [UInt8], to name: String) {
    let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { violated("cannot write \(file(name))") }
    defer { close(descriptor) }
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written)
      }
      guard count > 0 else { violated("cannot write \(file(name))") }
      written += count
    }
  }

  /// The bytes of a file; `nil` where it is not there.
  public func read(_ name: String) -> [UInt8]? { Self.bytes(ofFile: file(name)) }

  /// The bytes of any file; `nil` where it is not there.
  public static func bytes(ofFile path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return bytes }
      bytes += piece[..<count]
    }
  }

  /// The files below a folder of it, as paths below that, sorted.
  public func files(below folder: String = "") -> [String] {
    var found: [String] = []
    for name in names(in: folder) {
      let below = folder.isEmpty ? name : "\(folder)/\(name)"
      found += isFolder(below) ? files(below: below) : [below]
    }
    return found.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
  }

  /// Removes everything in it.
  public func clear() { clear("") }

  private func clear(_ folder: String) {
    for name in names(in: folder) {
      let below = folder.isEmpty ? name : "\(folder)/\(name)"
      if isFolder(below) {
        clear(below)
        rmdir(file(below))
      } else {
        unlink(file(below))
      }
    }
  }

  private func isFolder(_ name: String) -> Bool {
    var status = stat()
    return lstat(file(name), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private func names(in folder: String) -> [String] {
    guard let stream = opendir(file(folder)) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { raw in
        String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
