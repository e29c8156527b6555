import AgentTrace
import EvalLoading
import FilePaths
import TraceImporting

/// A file of an eval set, parsed.
struct CaseSource {
  /// The path to open it by.
  var path: String
  /// Its place below the path that was named.
  var name: String
  /// What stands in it; of a file of lines or rows, the array of them.
  var value: JSONValue
  /// The columns of a table, in their order; none of anything else.
  var columns: [String] = []

  /// Reads a file: JSON, JSON Lines, YAML or CSV, by the ending of its name.
  ///
  /// - Throws: ``ImportError`` where it cannot be read, or is none of them.
  init(_ file: SourceFiles.File) throws(ImportError) {
    (path, name) = (file.path, file.relativePath)
    let ending = name.lowercased()
    if ending.hasSuffix(".yaml") || ending.hasSuffix(".yml") {
      let loaded = WrittenValue.load(path)
      guard let value = loaded.value else {
        throw ImportError(.notYAML(loaded.diagnostics.first.map { "\($0)" } ?? "nothing in it"))
      }
      self.value = value
    } else if ending.hasSuffix(".csv") {
      let table = try CommaSeparated(try SourceFiles.read(path))
      (value, columns) = (.array(table.rows), table.columns)
    } else {
      value = try SourceFiles.value(of: try SourceFiles.read(path), named: name)
    }
  }

  /// The file that stands beside this one, or below its folder; `nil` where there is none.
  ///
  /// Names in a file of others do not lead out of its folder.
  ///
  /// - Throws: ``ImportError`` where the name leads elsewhere, or the file cannot be read.
  func beside(_ relative: String) throws(ImportError) -> CaseSource? {
    let parts = relative.split(separator: "/", omittingEmptySubsequences: false)
    guard !relative.hasPrefix("/"), !parts.contains("..") else {
      throw ImportError(.unsupported("files outside its folder (\(relative))"))
    }
    let place = Self.folder(of: path) + relative
    guard let status = fileStatus(place), !status.isFolder else { return nil }
    let folder = Self.folder(of: path)
    guard let real = realpath(place), let root = realpath(folder.isEmpty ? "." : folder),
      real.hasPrefix(root == "/" ? root : root + "/")
    else { throw ImportError(.unsupported("links that lead outside its folder (\(relative))")) }
    return try CaseSource(
      SourceFiles.File(path: place, relativePath: Self.folder(of: name) + relative))
  }

  /// What stands in it as a list: a file of lines may have a single one.
  var rows: JSONValue { value.objectValue == nil ? value : [value] }

  /// The folder of a path with a slash behind it; nothing where the path has none.
  static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(path[...slash])
  }
}
