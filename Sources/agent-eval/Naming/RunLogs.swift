import AgentTrace
import ArgumentParser
import EvalRunning
import FilePaths
import Glibc
import TraceIndexing
import TraceMatching
import TraceReporting
import TraceStorage

/// What stands on a command line in the place of a log.
///
/// - `latest`: the run whose log was written last; runs that other runs called are passed over.
/// - `last-failed`: the first case that failed in the last `agent-eval run` of this folder, else the first that was
///   inconclusive.
/// - the beginning of a run's identifier, of at least ``leastCharacters``.
///
/// All are looked for below the folder that new runs go to. A file of the name goes first.
enum RunLogs {
  /// Why there is no log to take.
  struct Unknown: Error, CustomStringConvertible {
    var description: String
  }

  static let latest = "latest"
  static let lastFailed = "last-failed"
  /// Characters that an identifier's beginning has at least.
  private static let leastCharacters = 4
  /// Candidates that are named where a beginning is that of several.
  private static let mostNamed = 10

  /// The path that is meant; what is no word for a log stays as it is. Says on standard error which log was
  /// taken where the text is not its path.
  static func path(of text: String) throws -> String {
    guard !text.isEmpty else {
      throw Unknown(
        description: "the name of a log is empty; a variable of the shell may not be set")
    }
    guard !text.utf8.contains(UInt8(ascii: "/")), !isThere(text) else { return text }
    let found: String
    switch text {
    case latest: found = try newest()
    case lastFailed: found = try firstFailed()
    default:
      guard mayBeIdentifier(text), let run = try run(beginning: text) else {
        if let word = Spelling.nearest(to: text, among: [latest, lastFailed]) {
          throw Unknown(description: "there is no log “\(text)”; did you mean “\(word)”?")
        }
        // Nobody means a file by it.
        guard LogFiles.stem(of: text) == text else { return text }
        throw Unknown(description: "\(text): there is no such log, \(whyNoIdentifier(text))")
      }
      found = run
    }
    Output.error(Visible.line("log    \(found)"))
    return found
  }

  /// The arguments with `last-failed` in the place of an option `--last-failed`, for verbs that take a log.
  static func spellingOut(_ arguments: [String]) -> [String] {
    guard arguments.contains("--last-failed"), let verb = arguments.first, verb != "run",
      AgentEval.verbs.contains(where: { $0._verb == verb && $0 is any NamesFiles.Type })
    else { return arguments }
    let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
    return arguments[..<end].map { $0 == "--last-failed" ? lastFailed : $0 } + arguments[end...]
  }

  /// The folder that is searched.
  static var folder: String { Settings.here.out ?? RunFiles.defaultFolder }

  /// The folders that hold logs below the one that new runs go to, and below that of the setting `runs`: where runs
  /// may be of which only an identifier is known. Each with its slash.
  static var knownFolders: [String] {
    var found: [String] = []
    for top in [folder, Settings.here.runs].compactMap({ $0 }) where FileSort(of: top) == .folder {
      for log in (try? LogFiles.all(below: top)) ?? [] {
        let folder = RunFiles.folder(ofLog: log) + "/"
        if !found.contains(where: { $0.hasSameUTF8(as: folder) }) { found.append(folder) }
      }
    }
    return found
  }

  private static func isThere(_ path: String) -> Bool {
    access(path, F_OK) == 0 || access(path + LogFormat.openSuffix, F_OK) == 0
  }

  private static func whyNoIdentifier(_ text: String) -> String {
    if text.utf8.count < leastCharacters {
      return "and the beginning of a run's identifier has \(leastCharacters) characters or more"
    }
    return access(folder, F_OK) == 0
      ? "and no run below \(folder) has an identifier that begins so; agent-eval list tells them"
      : "and no folder \(folder), where a run's identifier is looked for"
  }

  private static func mayBeIdentifier(_ text: String) -> Bool {
    text.utf8.count >= leastCharacters && LogFiles.stem(of: text) == text
      && access(folder, F_OK) == 0
  }

  /// The run whose log was written last. What a run says of when it was counts only among those written at once: a
  /// scripted one lives on a clock of its own, and an imported one long ago. Of copies of one run, scrubbed or repaired,
  /// the log that is named after it.
  private static func newest() throws -> String {
    var found: (path: String, id: String)?
    var filter = RunFilter()
    (filter.showsChildren, filter.order) = (false, .written)
    try index().list(filter) { run in
      guard let path = run["path"].stringValue else { return true }
      let id = run["runId"].stringValue ?? ""
      let isNamed = LogFiles.stem(of: path.split(separator: "/").last.map(String.init) ?? path)
        .hasSameUTF8(as: id)
      guard let copy = found else {
        found = (path, id)
        return !isNamed
      }
      guard isNamed, copy.id.hasSameUTF8(as: id) else { return true }
      found = (path, id)
      return false
    }
    guard let found = found?.path else {
      throw Unknown(description: "there is no run below \(folder), so that none is the latest")
    }
    return "\(folder)/\(found)"
  }

  private static func firstFailed() throws -> String {
    guard let last = try LastRun.read() else {
      throw Unknown(
        description:
          "no case was judged here yet: last-failed is the first that failed in the last agent-eval run "
          + "(\(LastRun.path))")
    }
    // What failed says more than what nobody could decide.
    let inOrder = last.failed.filter { !$0.isOpen } + last.failed.filter(\.isOpen)
    guard let log = inOrder.lazy.compactMap(\.log).first else {
      throw Unknown(
        description: last.failed.isEmpty
          ? "each case passed in the last agent-eval run here"
          : "no case that did not pass in the last agent-eval run has a log: \(inOrder[0].caseId) has none"
      )
    }
    return log
  }

  private static func run(beginning text: String) throws -> String? {
    var found: [(id: String, name: String, path: String)] = []
    try index().list(RunFilter()) { run in
      guard let path = run["path"].stringValue else { return true }
      let id = run["runId"].stringValue ?? ""
      let name = LogFiles.stem(of: path.split(separator: "/").last.map(String.init) ?? path)
      if id.hasPrefix(text) || name.hasPrefix(text) { found.append((id, name, path)) }
      return true
    }
    guard found.count > 1 else { return found.first.map { "\(folder)/\($0.path)" } }
    // Of copies of one run, scrubbed or repaired, the log that is named after it.
    if found.allSatisfy({ $0.id.hasSameUTF8(as: found[0].id) }) {
      let named = found.filter { $0.name.hasSameUTF8(as: $0.id) }
      if named.count == 1 { return "\(folder)/\(named[0].path)" }
    }
    let named = found.prefix(mostNamed).map { "  \($0.id)  \(folder)/\($0.path)" }
    let more = found.count > mostNamed ? "\n  and \(found.count - mostNamed) more" : ""
    throw Unknown(
      description:
        "“\(text)” is the beginning of \(found.count) runs; say more of it, or the path\n"
        + named.joined(separator: "\n") + more)
  }

  private static func index() throws -> RunIndex {
    guard access(folder, F_OK) == 0 else {
      throw Unknown(
        description:
          "there is no folder \(folder), where runs are looked for: agent-eval record makes one, and “out” in "
          + ".agent-eval.yaml names another")
    }
    return try Indexing.refreshed(folder).0
  }
}

extension ArgumentHelp {
  /// Help of an argument in the place of a log.
  static func log(_ what: String) -> ArgumentHelp {
    "\(what): its path, latest, last-failed, or the beginning of its identifier."
  }
}
