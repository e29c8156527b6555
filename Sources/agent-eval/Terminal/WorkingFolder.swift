import FilePaths
import Glibc

/// The folder that this process works in, and paths as they are seen from it and from others.
enum WorkingFolder {
  /// From the root; `/` where it is gone.
  static var path: String { workingFolder() ?? "/" }

  /// A path of this folder as it is seen from another; an absolute path stays what it is. Symbolic links
  /// are not followed.
  static func path(of file: String, seenFrom folder: String) -> String {
    guard !file.hasPrefix("/") else { return file }
    let (from, to) = (names(folder), names(file))
    let shared = zip(from, to).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: from.count - shared) + to.dropFirst(shared))
      .joined(separator: "/")
  }

  /// The names on the way from the root.
  private static func names(_ path: String) -> [String] {
    let whole = path.hasPrefix("/") ? path : "\(Self.path)/\(path)"
    var names: [String] = []
    for name in whole.split(separator: "/") where name != "." {
      if name == ".." { _ = names.popLast() } else { names.append(String(name)) }
    }
    return names
  }
}
