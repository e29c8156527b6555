package import AgentTrace
import FilePaths
import Glibc
import TraceStorage

/// The foreign files that a path names, and their bytes.
package struct SourceFiles {
  /// What names of trace files end in; other files of a folder are passed over.
  static let endings =
    [".json"] + lineEndings + [".traj", ".eval"] + bodyEndings + packedEndings
  /// What those that are packed end in. A run log of ours is called so, too, and is no trace of another tool.
  static let packedEndings = ([".json", ".traj"] + lineEndings).map { $0 + ".gz" }
  /// What names of request bodies end in, beside those that stand by their headers.
  static let bodyEndings = [".pb", ".pb.gz"]
  /// What the file ends in that holds the headers of a body of the same name.
  static let headersEnding = ".headers.json"
  /// What names of files of one value a line end in.
  static let lineEndings = [".jsonl", ".ndjson"]
  /// The most bytes of a file; it is read into memory as a whole.
  static let limitBytes = 256 << 20

  /// A file to read.
  package struct File: Hashable {
    /// The path to open it by.
    package var path: String
    /// Its place below the path that was named: the file's own name where that was a file.
    package var relativePath: String

    /// Nothing is looked at.
    package init(path: String, relativePath: String) {
      self.path = path
      self.relativePath = relativePath
    }
  }

  /// The file itself, or every trace file below a folder, sorted by the UTF-8 of its place. Hidden
  /// files and links to folders are passed over.
  ///
  /// - Parameter endings: what names end in that are taken beside those of traces.
  /// - Throws: ``ImportError`` where nothing can be found or read.
  package static func find(
    _ path: String, also endings: [String] = []
  ) throws(ImportError) -> [File] {
    let found = try look(below: path, also: endings).found
    guard !found.isEmpty else { throw ImportError(.nothingToImport) }
    return found
  }

  /// The files below a folder that nobody reads for a trace, since their names do not say that they are any, though what
  /// they begin with may be one: JSON, or something packed, a run log too; and the links to folders, with a slash behind
  /// their names. Hidden ones are none; nor is anything where the path is a file, or cannot be read.
  ///
  /// - Complexity: reads the first bytes of each file that is no trace by its name.
  package static func passedOver(below path: String) -> [String] {
    guard let others = try? look(below: path).others else { return [] }
    return others.filter { file in
      // A link to a folder.
      if file.relativePath.hasSuffix("/") { return true }
      let head = head(file.path, count: 512)
      if packedHeads.contains(where: { head.dropFirst($0.offset).starts(with: $0.bytes) }) {
        return !file.path.hasSuffix(LogFormat.suffix + LogFormat.openSuffix)
      }
      let text = head.starts(with: [0xef, 0xbb, 0xbf]) ? head.dropFirst(3) : head[...]
      let first = text.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0a && $0 != 0x0d }
      return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }.map(\.relativePath)
  }

  /// What packed files and archives hold at their beginnings: gzip, zip, Zstandard, xz, bzip2 and tar.
  private static let packedHeads: [(offset: Int, bytes: [UInt8])] = [
    (0, [0x1f, 0x8b]), (0, [0x50, 0x4b, 0x03, 0x04]), (0, [0x28, 0xb5, 0x2f, 0xfd]),
    (0, [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]), (0, [0x42, 0x5a, 0x68]),
    (257, [0x75, 0x73, 0x74, 0x61, 0x72]),
  ]

  private static func look(
    below path: String, also endings: [String] = []
  ) throws(ImportError) -> (found: [File], others: [File]) {
    guard let status = fileStatus(path) else { throw ImportError(.unreadable(systemError())) }
    guard status.isFolder else {
      return ([File(path: path, relativePath: lastComponent(of: path))], [])
    }
    var found: [File] = []
    var others: [File] = []
    var folders = [""]
    while let folder = folders.popLast() {
      let names: [String]
      do throws(ImportError) {
        names = try self.names(inFolder: folder.isEmpty ? path : joined(path, folder))
      } catch {
        // Taken for a file it fails again when it is read, in its place among the others.
        guard !folder.isEmpty else { throw error }
        found.append(File(path: joined(path, folder), relativePath: folder))
        continue
      }
      for name in names where !name.hasPrefix(".") {
        let relative = folder.isEmpty ? name : "\(folder)/\(name)"
        let full = joined(path, relative)
        if linkStatus(full)?.isFolder ?? false {
          folders.append(relative)
        } else if isFolder(full) {
          others.append(File(path: full, relativePath: relative + "/"))
        } else if isTrace(name, at: full) || hasHeaders(full)
          || endings.contains(where: name.lowercased().hasSuffix)
        {
          found.append(File(path: full, relativePath: relative))
        } else if !isNamedAsTrace(name) {
          // What is named so and is none is a log of ours.
          others.append(File(path: full, relativePath: relative))
        }
      }
    }
    func sorted(_ files: [File]) -> [File] {
      files.sorted { $0.relativePath.precedesByUTF8($1.relativePath) }
    }
    return (sorted(found), sorted(others))
  }

  /// Whether a file of a folder has the name of a trace, and is no run log of ours.
  private static func isTrace(_ name: String, at path: String) -> Bool {
    isNamedAsTrace(name)
      && (!name.lowercased().hasSuffix(LogFormat.suffix) || !LogFiles.looksLikeLog(path))
  }

  private static func isNamedAsTrace(_ name: String) -> Bool {
    let name = name.lowercased()
    // Databases are of all kinds of programs.
    return endings.contains(where: name.hasSuffix)
      || name.hasPrefix("opencode") && name.hasSuffix(".db")
  }

  /// Whether the headers of a request stand beside what may be its body.
  private static func hasHeaders(_ path: String) -> Bool {
    access(stem(of: path) + headersEnding, F_OK) == 0
  }

  /// Whether a file is the text of a run log of ours, as `zcat` takes it out.
  package static func isUnpackedLog(_ path: String) -> Bool {
    head(path, count: unpackedHead.count) == unpackedHead
  }

  /// How the first line of every run log begins.
  private static let unpackedHead = Array(#"{"seq":0,"step":0,"type":"run_started","#.utf8)

  /// A path without the endings of its name that say how it is packed.
  static func stem(of path: String) -> String {
    var path = path[...]
    for ending in [headersEnding, ".gz", ".pb", ".json", ".bin", ".body"]
    where path.hasSuffix(ending) {
      path = path.dropLast(ending.count)
    }
    return String(path)
  }

  /// The first bytes of a file; none where it cannot be read.
  package static func head(_ path: String, count: Int) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return [] }
    defer { close(file) }
    return [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      filled = max(0, Glibc.read(file, room.baseAddress, count))
    }
  }

  /// All bytes of a file.
  ///
  /// - Throws: ``ImportError`` where it cannot be read, is no file, or is larger than ``limitBytes``.
  package static func read(_ path: String) throws(ImportError) -> [UInt8] {
    do {
      return try WholeFile.read(path, limitBytes: limitBytes)
    } catch {
      switch error {
      case .system: throw ImportError(.unreadable("\(error)"))
      case .noRegularFile: throw ImportError(.unreadable("not a file"))
      case .tooLarge: throw ImportError(.tooLarge(limitBytes: limitBytes))
      }
    }
  }

  /// What stands in a file of JSON; of a file of lines, the array of them.
  ///
  /// - Throws: ``ImportError`` where it, or one of its lines, is no JSON.
  package static func value(of bytes: [UInt8], named name: String) throws(ImportError) -> JSONValue
  {
    switch try SourceDocument(parsing: bytes, name: name) {
    case .value(let value): return value
    case .lines(let lines):
      var values: [JSONValue] = []
      for line in lines { values.append(try line.content.get()) }
      return .array(values)
    case .parts: throw ImportError(.wrongShape(expected: "one JSON value, or one a line"))
    }
  }

  private static func names(inFolder path: String) throws(ImportError) -> [String] {
    guard let names = entryNames(in: path) else { throw ImportError(.unreadable(systemError())) }
    return names
  }

  static func systemError() -> String { String(cString: strerror(errno)) }

  /// A path below a folder.
  package static func joined(_ folder: String, _ relative: String) -> String {
    folder.hasSuffix("/") ? folder + relative : "\(folder)/\(relative)"
  }

  /// A path without the folders before its last part.
  package static func lastComponent(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }
}
