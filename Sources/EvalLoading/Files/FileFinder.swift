import AgentTrace
import FilePaths
import Glibc

/// Finds the files that arguments lead to.
///
/// A folder is searched for `*.yaml`, `*.yml`, `*.json` and `*.jsonl`, at any depth. Names that begin
/// with a dot and folders that are symbolic links are passed over. Paths come sorted by UTF-8 bytes;
/// a file that two arguments lead to comes once.
struct FileFinder {
  /// A file, and whether an argument names it itself.
  struct Found: Sendable {
    var path: String
    var isNamed: Bool
  }

  /// How deep folders are searched.
  private static let depthLimit = 64

  private(set) var files: [Found] = []
  private(set) var diagnostics: [Diagnostic] = []
  private var seen: Set<FileBytes.Identity> = []

  /// Follows each argument, in their order.
  init(_ paths: [String]) {
    for path in paths { follow(path) }
  }

  private mutating func follow(_ path: String) {
    guard !path.isEmpty, !path.utf8.contains(0), let status = fileStatus(path) else {
      diagnostics.append(FileBytes.cannotBeOpened(path, path.isEmpty ? ENOENT : errno))
      return
    }
    if status.isFolder {
      var found: [(path: String, identity: FileBytes.Identity)] = []
      search(path, depth: 0, into: &found)
      found.sort { $0.path.precedesByUTF8($1.path) }
      for file in found where seen.insert(file.identity).inserted {
        files.append(Found(path: file.path, isNamed: false))
      }
    } else if SourceDocument.Format(path: path) == nil {
      diagnostics.append(
        Diagnostic(
          .error, path: path, message: "not a file of cases by its name",
          hint: "the names of such files end in .yaml, .yml, .json or .jsonl"))
    } else if seen.insert(FileBytes.Identity(status)).inserted {
      files.append(Found(path: path, isNamed: true))
    }
  }

  private mutating func search(
    _ folder: String, depth: Int, into found: inout [(path: String, identity: FileBytes.Identity)]
  ) {
    guard depth < Self.depthLimit else {
      diagnostics.append(
        Diagnostic(.warning, path: folder, message: "not searched: too many folders deep"))
      return
    }
    guard let names = entryNames(in: folder) else {
      diagnostics.append(
        Diagnostic(.error, path: folder, message: "cannot be read: \(FileBytes.reason(errno))"))
      return
    }
    for name in names where name.utf8.first != UInt8(ascii: ".") {
      let path = folder.utf8.last == UInt8(ascii: "/") ? folder + name : folder + "/" + name
      guard let link = linkStatus(path) else { continue }
      var status = link
      if link.isLink, stat(path, &status) != 0 {
        if SourceDocument.Format(path: path) != nil {
          diagnostics.append(
            Diagnostic(.error, path: path, message: "a symbolic link that leads nowhere"))
        }
        continue
      }
      switch status.st_mode & S_IFMT {
      case S_IFDIR where link.isLink:
        diagnostics.append(
          Diagnostic(
            .warning, path: path, message: "not searched: a symbolic link to a folder",
            hint: "name the folder itself"))
      case S_IFDIR: search(path, depth: depth + 1, into: &found)
      case _ where SourceDocument.Format(path: path) == nil: break
      case S_IFREG: found.append((path, FileBytes.Identity(status)))
      default: diagnostics.append(Diagnostic(.error, path: path, message: "no regular file"))
      }
    }
  }
}
