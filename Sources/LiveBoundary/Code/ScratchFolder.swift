import Glibc

/// A folder of its own for one program, taken away afterwards whatever the program left in it.
final class ScratchFolder: Sendable {
  let path: String
  private let descriptor: Int32

  /// `nil` where none can be made.
  init?() {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var name = Array("\(parent)/agent-eval-code-XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { return nil }
    path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  }

  deinit {
    close(descriptor)
    FolderRemoval.remove(path)
  }

  /// What a program left here; only while this folder is.
  var home: HomeFolder { HomeFolder(descriptor: descriptor) }

  /// Writes a new file; says whether it could.
  func write(_ bytes: [UInt8], to name: String) -> Bool {
    let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}

/// The folder in which a program could write, as it left it.
struct HomeFolder {
  private let folder: Int32

  /// - Parameter descriptor: stays its owner's, who keeps it open.
  init(descriptor: Int32) { folder = descriptor }

  /// The beginning of a file; `nil` where there is none of that name. Links are not followed, and what
  /// is no file is not waited for.
  func read(_ name: String, limitBytes: Int) -> Head? {
    let file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    var head = Head(limitBytes: limitBytes)
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while !head.isCut {
      let count = buffer.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      buffer.withUnsafeBytes { head.append(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
    }
    if head.isCut { head.setCount(Int(status.st_size)) }
    return head
  }
}

/// Takes a folder away with all that is in it, however deep it nests: folders are first moved up to the
/// top, so that neither the stack nor the length of a path is a limit.
private enum FolderRemoval {
  static func remove(_ path: String) {
    let top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard top >= 0 else { return }
    defer {
      close(top)
      rmdir(path)
    }
    var number = 0
    var pending = names(in: top).compactMap { takeAway($0, from: top) ? nil : $0 }
    while let name = pending.popLast() {
      fchmodat(top, name, 0o700, 0)
      let folder = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard folder >= 0 else { continue }
      for inner in names(in: folder) where !takeAway(inner, from: folder) {
        number += 1
        let moved = Array("\(number).moved-up".utf8CString)
        // A folder may only be moved by whoever may write in it.
        fchmodat(folder, inner, 0o700, 0)
        if renameat(folder, inner, top, moved) == 0 { pending.append(moved) }
      }
      close(folder)
      unlinkat(top, name, AT_REMOVEDIR)
    }
  }

  private static func takeAway(_ name: [CChar], from folder: Int32) -> Bool {
    unlinkat(folder, name, 0) == 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0
  }

  /// As the system has them: they need not be UTF-8.
  private static func names(in folder: Int32) -> [[CChar]] {
    let copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else { return [] }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while let item = readdir(stream) {
      let name = withUnsafePointer(to: &item.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) {
          Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
        }
      }
      let dot = CChar(bitPattern: UInt8(ascii: "."))
      if name != [dot, 0], name != [dot, dot, 0] { names.append(name) }
    }
    return names
  }
}
