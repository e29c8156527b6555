import AgentTrace
import FilePaths
import Glibc
import TraceMatching

/// A `recording` that stands for many: a path in which `*`, `?` and `[` mean what they mean in globs, each within one
/// name, and `**` stands for any folders.
struct RecordingGlob {
  /// One file that is like it.
  struct Match: Hashable {
    var path: String
    /// The file below the folder that no pattern stands in, without its ending.
    var name: String
  }

  /// Whether a path is one: it has a pattern in it, and no file has that very name.
  static func isOne(_ path: String) -> Bool {
    guard path.utf8.contains(where: { [0x2a, 0x3f, 0x5b].contains($0) }) else { return false }
    return !isThere(path) && !isThere(path + ".open")
  }

  private let folder: String
  private let parts: [Part]
  private static let depthLimit = 64
  /// The most files that one stands for.
  static let limit = 1_000_000

  private enum Part {
    case anyFolders
    case name(Glob)
  }

  /// - Throws: `PatternError` where a part of it is no glob.
  init(_ path: String) throws(PatternError) {
    var names = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    var fixed: [String] = []
    while let first = names.first, names.count > 1,
      !first.utf8.contains(where: { [0x2a, 0x3f, 0x5b].contains($0) })
    {
      fixed.append(first)
      names.removeFirst()
    }
    folder = fixed == [""] ? "/" : fixed.joined(separator: "/")
    var parts: [Part] = []
    for name in names where !name.isEmpty {
      // Several in a row mean the same as one.
      if name == "**", case .anyFolders? = parts.last { continue }
      parts.append(name == "**" ? .anyFolders : .name(try Glob(name)))
    }
    self.parts = parts
  }

  /// The files that are like it, by their paths' UTF-8. Links to folders are not followed, and names that begin with
  /// a dot are passed over.
  ///
  /// - Parameter notSearched: told of each folder in which more may be that is like it, and why nobody looked there.
  func matches(
    notSearched: (_ severity: Diagnostic.Severity, _ folder: String, _ reason: String) -> Void = {
      _, _, _ in
    }
  ) -> [Match] {
    var found: [String] = []
    collect(below: folder.isEmpty ? "." : folder, "", parts[...], 0, &found, notSearched)
    return Set(found).sorted { $0.precedesByUTF8($1) }.map { name in
      Match(
        path: folder.isEmpty ? name : folder == "/" ? "/\(name)" : "\(folder)/\(name)",
        name: Self.withoutEnding(name))
    }
  }

  private static func withoutEnding(_ name: String) -> String {
    for ending in [".jsonl.gz.open", ".jsonl.gz"] where name.hasSuffix(ending) {
      return String(name.dropLast(ending.count))
    }
    return name
  }

  private func collect(
    below path: String, _ prefix: String, _ parts: ArraySlice<Part>, _ depth: Int,
    _ found: inout [String], _ notSearched: (Diagnostic.Severity, String, String) -> Void
  ) {
    guard let part = parts.first else { return }
    guard depth < Self.depthLimit, found.count < Self.limit else {
      return notSearched(
        .error, path, depth < Self.depthLimit ? "too many files" : "too many folders deep")
    }
    let rest = parts.dropFirst()
    if case .anyFolders = part { collect(below: path, prefix, rest, depth, &found, notSearched) }
    guard let entries = Self.entries(of: path) else {
      // What is not there holds nothing: that no file is like it is told of the whole.
      if errno != ENOENT { notSearched(.error, path, FileBytes.reason(errno)) }
      return
    }
    for (name, isFolder) in entries {
      let (inner, place) = ("\(path)/\(name)", prefix + name)
      switch part {
      case .anyFolders:
        if isFolder {
          collect(below: inner, place + "/", parts, depth + 1, &found, notSearched)
        } else if FilePaths.isFolder(inner) {
          notSearched(.warning, inner, Self.linked)
        } else if rest.isEmpty {
          found.append(place)
        }
      case .name(let glob):
        // A log that is being written stands for the one that it will be.
        let plain = name.hasSuffix(".gz.open") ? String(name.dropLast(5)) : name
        guard glob.matches(name) || glob.matches(plain) else { continue }
        if isFolder {
          collect(below: inner, place + "/", rest, depth + 1, &found, notSearched)
        } else if rest.isEmpty {
          found.append(prefix + plain)
        } else if FilePaths.isFolder(inner) {
          notSearched(.warning, inner, Self.linked)
        }
      }
    }
  }

  private static let linked = "a symbolic link to a folder"

  /// What is in a folder; `nil` where it cannot be read.
  private static func entries(of folder: String) -> [(name: String, isFolder: Bool)]? {
    guard let names = entryNames(in: folder) else { return nil }
    var entries: [(name: String, isFolder: Bool)] = []
    for name in names where !name.hasPrefix(".") {
      guard let status = linkStatus("\(folder)/\(name)") else { continue }
      entries.append((name, status.isFolder))
    }
    return entries
  }

  private static func isThere(_ path: String) -> Bool {
    fileStatus(path)?.isFile ?? false
  }
}

extension EvalCase {
  /// The case on one of many runs: with the run's name behind its id.
  public func on(run name: String, recording: String?) -> EvalCase {
    var one = self
    one.caseId = Self.caseId(caseId, on: name)
    one.rule = caseId
    one.recording = recording
    one.filter = nil
    return one
  }

  /// An id that may name a case, whatever the run is called: a name that is too long, or holds control
  /// characters, is cut and carries a piece of its digest.
  private static func caseId(_ rule: String, on name: String) -> String {
    let whole = "\(rule)/\(name)"
    guard !isUsable(caseId: whole) else { return whole }
    var safe = ""
    for scalar in whole.unicodeScalars.prefix(180) {
      safe.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7f ? "_" : scalar)
    }
    return "\(safe)-\(Digest(of: Array(whole.utf8)).hex.prefix(16))"
  }

  /// The cases with one for each run that a recording with a pattern stands for.
  ///
  /// - Parameter report: told of each recording that stands for none, and of folders that nobody looked into for one.
  static func expandingRecordings(
    of cases: [EvalCase], report: (Diagnostic) -> Void
  ) -> [EvalCase] {
    guard cases.contains(where: { $0.recording.map(RecordingGlob.isOne) ?? false }) else {
      return cases
    }
    return cases.flatMap { evalCase -> [EvalCase] in
      guard let recording = evalCase.recording, RecordingGlob.isOne(recording) else {
        return [evalCase]
      }
      let glob = try? RecordingGlob(recording)
      let matches =
        glob?.matches { severity, folder, reason in
          report(
            Diagnostic(
              severity, path: evalCase.path, line: evalCase.position.line,
              message: "\(folder.quotedPath), where the recording \(recording.quotedPath) leads, "
                + "is not searched: \(reason)"))
        } ?? []
      if matches.isEmpty {
        report(
          Diagnostic(
            .error, path: evalCase.path, line: evalCase.position.line,
            message: "the recording \(recording.quotedPath) stands for no file",
            hint: "`*` stands for a part of a name, `**` for any folders"))
      }
      return matches.map { evalCase.on(run: $0.name, recording: $0.path) }
    }
  }
}
