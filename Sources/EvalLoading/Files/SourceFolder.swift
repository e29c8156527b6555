import FilePaths

/// The folder of a file, from which the relative paths in that file start.
struct SourceFolder: Sendable, Hashable {
  /// As it stands in the file's own path; `.` for a bare name.
  let path: String
  /// Whether `..` may be taken off a path by its text alone.
  private let hasNoLinks: Bool
  private let parts: [String]

  /// The folder of a file. Cost: one system call for each part of the path.
  init(ofFile file: String) {
    if let slash = file.utf8.lastIndex(of: UInt8(ascii: "/")) {
      path = slash == file.startIndex ? "/" : String(file[..<slash])
    } else {
      path = "."
    }
    hasNoLinks = !Self.holdsLink(path)
    parts = path == "." ? [] : Self.parts(path)
  }

  /// A relative path as seen from where this process works. `x/../` is shortened where no symbolic
  /// link gives it another meaning.
  func resolve(_ relative: String) -> String {
    guard relative.utf8.first != UInt8(ascii: "/") else { return relative }
    var kept = parts
    var rest = Self.parts(relative)[...]
    while let part = rest.first {
      if part == "." {
        rest = rest.dropFirst()
      } else if part == "..", hasNoLinks, let last = kept.last, last != "..", !last.isEmpty {
        kept.removeLast()
        rest = rest.dropFirst()
      } else {
        break
      }
    }
    return (kept + rest).joined(separator: "/")
  }

  /// The parts of a path; an absolute one begins with an empty part.
  private static func parts(_ path: String) -> [String] {
    let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true)
      .map { String(Substring($0)) }
    return path.utf8.first == UInt8(ascii: "/") ? [""] + parts : parts
  }

  private static func holdsLink(_ path: String) -> Bool {
    var prefix = ""
    for (index, part) in parts(path).enumerated() {
      prefix += index == 0 ? part : "/" + part
      if !prefix.isEmpty, linkStatus(prefix)?.isLink ?? false { return true }
    }
    return false
  }
}
