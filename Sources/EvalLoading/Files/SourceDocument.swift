import AgentTrace

/// A value read from a file, and where its parts stand.
struct SourceRoot: Sendable {
  /// How places are found.
  enum Places: Sendable {
    case known(PositionTree)
    /// Found in the bytes when they are asked for.
    case inJSON([UInt8], firstLine: Int)
  }

  var value: JSONValue
  var places: Places

  /// The places of all parts. Cost for JSON: one walk over its bytes.
  var tree: PositionTree { tree(levels: 1024) }

  /// The places of the parts that are at most so deep; for JSON, noting fewer is faster.
  func tree(levels: Int) -> PositionTree {
    switch places {
    case .known(let tree): tree
    case .inJSON(let bytes, let firstLine):
      PositionTree(
        json: bytes, start: TextPosition(line: firstLine, column: 1), levels: levels)
    }
  }
}

/// A YAML or JSON file as JSON values with their places.
struct SourceDocument: Sendable {
  /// What a file is written in, by the ending of its name.
  enum Format: Sendable, Hashable {
    case yaml
    case json
    case jsonLines

    init?(path: String) {
      guard let point = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
      switch String(path[path.index(after: point)...]).lowercased() {
      case "yaml", "yml": self = .yaml
      case "json": self = .json
      case "jsonl": self = .jsonLines
      default: return nil
      }
    }
  }

  var path: String
  /// SHA-256 of the file's bytes.
  var digest: String
  /// One for each YAML document; exactly one for JSON. Empty where nothing could be read.
  var roots: [SourceRoot]
  var diagnostics: [Diagnostic]

  /// Reads a YAML or JSON file; any ending but `.json` is read as YAML.
  init(path: String, limits: SourceLimits = SourceLimits()) {
    do {
      let bytes = try FileBytes.all(of: path, limit: limits.bytes)
      self.init(bytes, path: path, limits: limits)
    } catch {
      self.init(path: path, digest: "", roots: [], diagnostics: [error])
    }
  }

  /// Reads the bytes of a file.
  init(_ bytes: [UInt8], path: String, limits: SourceLimits = SourceLimits()) {
    self.init(path: path, digest: Digest(of: bytes).hex, roots: [], diagnostics: [])
    if Format(path: path) == .json {
      do {
        roots = [try SourceRoot(json: bytes, path: path, limits: limits)]
      } catch {
        diagnostics = [error]
      }
    } else {
      let reader = YAMLReader(bytes, path: path, limits: limits)
      roots = reader.documents.map { SourceRoot(value: $0.value, places: .known($0.tree)) }
      diagnostics = reader.diagnostics
    }
  }

  /// A file in which there is nothing to find.
  init(empty path: String) {
    self.init(path: path, digest: "", roots: [], diagnostics: [])
  }

  private init(path: String, digest: String, roots: [SourceRoot], diagnostics: [Diagnostic]) {
    self.path = path
    self.digest = digest
    self.roots = roots
    self.diagnostics = diagnostics
  }
}

extension SourceRoot {
  /// Reads one JSON value. A byte order mark before it is stepped over.
  init(
    json bytes: [UInt8], path: String, firstLine: Int = 1, limits: SourceLimits
  ) throws(Diagnostic) {
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(3)) : bytes
    do {
      value = try JSONValue(parsing: bytes, options: .init(depthLimit: limits.depth))
    } catch {
      throw Diagnostic(error, in: bytes, path: path, firstLine: firstLine)
    }
    places = .inJSON(bytes, firstLine: firstLine)
  }
}

extension Diagnostic {
  fileprivate init(_ error: JSONError, in bytes: [UInt8], path: String, firstLine: Int) {
    var place = bytes.withUnsafeBufferPointer { TextPosition(ofByte: error.offset, in: $0) }
    place.line += firstLine - 1
    var message = "not valid JSON: \(error.code.phrase)"
    if case .duplicateKey(let key) = error.code {
      // The error tells of the object; its keys were read, so they can be found in it.
      let object = PositionTree(json: bytes[error.offset...], start: place, levels: 1)
      let keys = object.members.filter { $0.name.hasSameUTF8(as: key) }.map(\.key)
      if keys.count > 1 {
        place = keys[1]
        message = "the key \(key.quoted) stands twice, first on line \(keys[0].line)"
      }
    } else if bytes.allSatisfy({ $0 <= 0x20 }) {
      message = "empty, where JSON is needed"
    }
    self.init(
      .error, path: path, line: place.line, column: place.column, message: message,
      hint: Self.hint(onEncodingOf: bytes))
  }

  /// What to do about bytes that are no UTF-8 because they are UTF-16: no other YAML or JSON begins as that does.
  static func hint(onEncodingOf bytes: some Collection<UInt8>) -> String? {
    let start = Array(bytes.prefix(2))
    guard start.count == 2, start.contains(0) || [[0xff, 0xfe], [0xfe, 0xff]].contains(start) else {
      return nil
    }
    return "this looks like UTF-16; save the file as UTF-8"
  }
}
