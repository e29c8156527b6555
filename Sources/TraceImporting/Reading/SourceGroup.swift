import AgentTrace
import TraceStorage

/// Files that are read together: mostly one; the bodies of requests of a folder, a session and those of its
/// sub-agents, a trajectory and its continuations, the traces and logs of one exporter, requests of a batch and what came of
/// them.
struct SourceGroup {
  private enum Kind {
    case single
    /// Bodies of requests, with their headers where those stand beside them.
    case bodies
    /// Files that hold pieces of the same runs.
    case pieces
  }

  private var kind: Kind
  /// What their logs are named after: a path below the one that was named.
  var name: String
  /// Whether the ending of that name is told too, because another source has the same without it.
  var keepsEnding = false
  /// The path that reports name.
  private(set) var path: String
  /// None where another source took them in.
  private(set) var files: [SourceFiles.File]

  /// Puts files together that belong together, in the order of their first ones.
  static func groups(of files: [SourceFiles.File], below path: String) -> [SourceGroup] {
    let stems = Set(
      files.map(\.path).filter { $0.hasSuffix(SourceFiles.headersEnding) }.map(SourceFiles.stem))
    let names = Set(files.map(\.relativePath))
    let stored = StoredSessions(names)
    var groups: [SourceGroup] = []
    var byKey: [[UInt8]: Int] = [:]
    for file in files {
      // Headers are read with their body.
      if file.path.hasSuffix(SourceFiles.headersEnding), files.count > 1 { continue }
      // Where a project lies says nothing of its sessions.
      if stored.isOfProject(file.relativePath) { continue }
      let (key, kind) =
        stored.session(of: file.relativePath).map { ($0, .pieces) }
        ?? key(of: file, stems, among: names)
      if let place = byKey[Array(key.utf8)] {
        groups[place].files.append(file)
        groups[place].kind = kind
        groups[place].name = key
        groups[place].path = SourceFiles.joined(path, folder(of: key))
        continue
      }
      byKey[Array(key.utf8)] = groups.count
      groups.append(
        SourceGroup(
          kind: kind == .pieces ? .single : kind,
          // A file that is named by itself may stand among others that are: each has a log of its own.
          name: kind == .bodies && !file.path.hasSameUTF8(as: path) ? key : file.relativePath,
          path: file.path, files: [file]))
    }
    // What others go on from is read before them.
    for index in groups.indices where groups[index].files.count > 1 {
      let first = groups[index].name
      groups[index].files.sort { left, right in
        let (isFirst, isOther) = (
          left.relativePath.hasSameUTF8(as: first), right.relativePath.hasSameUTF8(as: first)
        )
        if isFirst != isOther { return isFirst }
        return left.relativePath.precedesByNumbers(right.relativePath)
      }
    }
    return groups
  }

  /// By what files belong together: the place of their log.
  private static func key(
    of file: SourceFiles.File, _ stems: Set<String>, among names: Set<String>
  ) -> (String, Kind) {
    let relative = file.relativePath
    let folder = folder(of: relative)
    let place = { (name: String) in folder.isEmpty ? name : "\(folder)/\(name)" }
    if stems.contains(SourceFiles.stem(of: file.path))
      || SourceFiles.bodyEndings.contains(where: relative.hasSuffix)
    {
      return (place("requests"), .bodies)
    }
    let parts = relative.split(separator: "/")
    if let below = parts.dropLast().lastIndex(of: "subagents"), below > 0,
      [".jsonl", ".jsonl.gz", ".meta.json"].contains(where: relative.hasSuffix)
    {
      // Each of a session's files may be packed, and those of a workflow have a folder of their own.
      let session = parts[..<below].joined(separator: "/") + ".jsonl"
      let packed = session + ".gz"
      return (!names.contains(session) && names.contains(packed) ? packed : session, .pieces)
    }
    if let continued = continuation(of: relative) { return (continued, .pieces) }
    if relative.hasSuffix(".jsonl") || relative.hasSuffix(".json") {
      let head = String(decoding: SourceFiles.head(file.path, count: 512), as: UTF8.self)
      if ["\"resourceSpans\"", "\"resourceLogs\"", "\"resourceMetrics\""].contains(
        where: head.contains)
      {
        return (place("otlp"), .pieces)
      }
    }
    return (relative, .pieces)
  }

  /// The file that one named `NAME.cont-1.json` goes on from.
  private static func continuation(of name: String) -> String? {
    guard name.hasSuffix(".json"), let dot = name.dropLast(5).lastIndex(of: ".") else { return nil }
    let word = name[name.index(after: dot)...].dropLast(5)
    guard word.hasPrefix("cont-"), !word.dropFirst(5).isEmpty,
      word.dropFirst(5).utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return name[..<dot] + ".json"
  }

  /// Where opencode keeps what is said of a session beside its messages.
  static let besideFolders: Set<Substring> = ["session_diff", "todo"]

  /// The sessions among some files that opencode keeps as a file for each message and part.
  private struct StoredSessions {
    /// By the folder that the parts of a message stand in.
    private var byParts: [String: String] = [:]
    /// The places of their logs.
    private var places: Set<String> = []
    /// The folders in which what is known of their projects stands.
    private var projects: Set<String> = []

    init(_ names: Set<String>) {
      for name in names {
        let parts = name.split(separator: "/")
        guard parts.count >= 3, parts[parts.count - 3] == "message", name.hasSuffix(".json"),
          parts[parts.count - 2].hasPrefix("ses_")
        else { continue }
        let root = parts.dropLast(3).map { $0 + "/" }.joined()
        let place = root + parts[parts.count - 2] + ".json"
        byParts["\(root)part/\(parts[parts.count - 1].dropLast(5))"] = place
        places.insert(place)
        projects.insert(root + "project")
      }
    }

    /// Whether a file says of a project beside sessions what it is called and where it lies.
    func isOfProject(_ name: String) -> Bool {
      name.hasSuffix(".json") && projects.contains(folder(of: name))
    }

    /// The session that a file belongs to; `nil` for one of none.
    func session(of name: String) -> String? {
      guard !places.isEmpty, name.hasSuffix(".json") else { return nil }
      if let session = byParts[folder(of: name)] { return session }
      let parts = name.split(separator: "/")
      guard parts.count >= 2, let file = parts.last else { return nil }
      let above = parts.count >= 3 ? parts[parts.count - 3] : ""
      let isBeside = besideFolders.contains(parts[parts.count - 2])
      guard isBeside || above == "message" || above == "session" else { return nil }
      let session = !isBeside && above == "message" ? parts[parts.count - 2] : file.dropLast(5)
      let root = parts.dropLast(isBeside ? 2 : 3).map { $0 + "/" }.joined()
      let place = root + session + ".json"
      return places.contains(place) ? place : nil
    }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  /// Takes in the files of another source that is one with this, and leaves none of them there.
  mutating func absorb(_ other: inout SourceGroup) {
    let names = Set(files.map { Array($0.relativePath.utf8) })
    files += other.files.map { file in
      var file = file
      // What stands in it is addressed by its name.
      if names.contains(Array(file.relativePath.utf8)) { file.relativePath = file.path }
      return file
    }
    kind = .pieces
    other.files = []
  }

  // MARK: Reading

  /// The most bytes of all files of a group.
  static let limitBytes = 512 << 20

  /// The files, parsed.
  ///
  /// - Throws: ``ImportError`` where one of them cannot be read.
  func document(takingIn digest: inout DigestBuilder) throws(ImportError) -> SourceDocument {
    var parts: [SourceDocument.Part] = []
    var total = 0
    for file in files {
      let bytes = try SourceFiles.read(file.path)
      total += bytes.count
      guard total <= Self.limitBytes else {
        throw ImportError(.tooLarge(limitBytes: Self.limitBytes))
      }
      digest.update(bytes)
      let content: SourceDocument
      if kind == .bodies {
        content = try RequestBody(of: file).document(bytes)
      } else if OpenCodeDatabase.isOne(bytes) {
        content = try OpenCodeDatabase.document(file.path)
      } else if Zip.isOne(bytes) {
        content = try Self.members(of: try Zip(bytes))
      } else {
        content = try Self.textOrRequest(bytes, of: file)
      }
      if kind == .single { return content }
      parts.append(SourceDocument.Part(name: file.relativePath, content: content))
    }
    return .parts(parts)
  }

  /// What a file says whose name tells nothing: JSON, or a request in its binary form.
  ///
  /// - Throws: ``ImportError`` where it is neither: what keeps it from being JSON.
  private static func textOrRequest(
    _ bytes: [UInt8], of file: SourceFiles.File
  ) throws(ImportError) -> SourceDocument {
    do {
      return try SourceDocument(parsing: bytes, name: file.relativePath)
    } catch {
      let request = RequestBody(path: "", contentType: "application/x-protobuf")
      guard OtlpWire.mayBegin(bytes), let document = try? request.document(bytes) else {
        throw error
      }
      return document
    }
  }

  /// The members of an archive that are JSON.
  private static func members(of zip: Zip) throws(ImportError) -> SourceDocument {
    var parts: [SourceDocument.Part] = []
    var total = 0
    for member in zip.members where member.name.hasSuffix(".json") {
      total += max(0, member.count)
      guard total <= 2 << 30 else { throw ImportError(.tooLarge(limitBytes: 2 << 30)) }
      let bytes = Self.replacingNumbersThatAreNone(try zip.read(member))
      parts.append(
        SourceDocument.Part(
          name: member.name, content: try SourceDocument(parsing: bytes, name: member.name)))
    }
    return .parts(parts)
  }
}

extension SourceGroup {
  /// JSON as Python writes it, with `null` for NaN and infinities, which JSON has not.
  private static func replacingNumbersThatAreNone(_ bytes: [UInt8]) -> [UInt8] {
    let words: [[UInt8]] = [Array("NaN".utf8), Array("-Infinity".utf8), Array("Infinity".utf8)]
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var (index, isInText) = (0, false)
    while index < bytes.count {
      let byte = bytes[index]
      if isInText, byte == UInt8(ascii: "\\"), index + 1 < bytes.count {
        output += bytes[index...(index + 1)]
        index += 2
        continue
      }
      if byte == UInt8(ascii: "\"") { isInText.toggle() }
      if !isInText,
        byte == UInt8(ascii: "N") || byte == UInt8(ascii: "I") || byte == UInt8(ascii: "-"),
        let word = words.first(where: { bytes[index...].starts(with: $0) })
      {
        output += Array("null".utf8)
        index += word.count
        continue
      }
      output.append(byte)
      index += 1
    }
    return output
  }
}

extension String {
  /// Whether it comes first where names differ in their length before they differ in their bytes, so that a second piece
  /// precedes a tenth.
  fileprivate func precedesByNumbers(_ other: String) -> Bool {
    utf8.count != other.utf8.count ? utf8.count < other.utf8.count : precedesByUTF8(other)
  }
}
