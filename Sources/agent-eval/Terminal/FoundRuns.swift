import AgentTrace
import ArgumentParser
import EvalRunning
import FilePaths
import Glibc
import TraceImporting
import TraceReporting
import TraceStorage

/// The runs of files and folders, whoever wrote them down: run logs as they are, other tools' traces by way of a
/// cache.
enum FoundRuns {
  /// All of them, those of a path in the order of their names, those of a file once, however often it is named. What
  /// cannot be read is one of them.
  ///
  /// - Parameter cache: where imported runs are kept; `nil` for the usual place.
  static func all(of paths: [String], cache: String?) -> [FoundRun] {
    let cache = ImportCache(
      folder: cache ?? ImportCache.defaultFolder, version: AgentEval.configuration.version)
    var runs: [FoundRun] = []
    var files = FileIdentities()
    var folders: [Int: String] = [:]
    for path in paths {
      let found = self.runs(of: path, cache) { Output.progress("reading \($0) runs") }
      // One without a run is none that was judged, whatever the others hold; of a single one the rules tell it.
      if found.isEmpty, paths.count > 1 {
        runs.append(FoundRun(name: trimmed(path), log: .failure(FoundFault("no run is in it"))))
      }
      let before = runs.count
      // Below one path the path says nothing; of several it tells them apart.
      let head = paths.count == 1 ? "" : isFolder(path) ? trimmed(path) + "/" : ""
      runs += files.firstMet(found).map { run in
        var run = run
        run.name = head + run.name
        return run
      }
      if !isFolder(path), let slash = path.lastIndex(of: "/") {
        for index in before..<runs.count { folders[index] = String(path[...slash]) }
      }
    }
    tellApart(&runs, by: folders)
    Output.progress("")
    noteRepeated(files)
    notePassedOver(below: paths)
    return runs
  }

  /// Puts the folders of files before the names of those that are called alike: by a number, one would have the name of
  /// another as soon as they were named in another order or one of them was gone, and be held against its baseline.
  private static func tellApart(_ runs: inout [FoundRun], by folders: [Int: String]) {
    let alike = Dictionary(grouping: runs.indices) { Array(runs[$0].name.utf8) }
    for indices in alike.values where indices.count > 1 {
      for index in indices { runs[index].name = folders[index, default: ""] + runs[index].name }
    }
  }

  /// The run logs of files and folders, each file once, however often it is named.
  ///
  /// - Throws: `FolderError` where a folder cannot be read.
  static func logs(of paths: [String]) throws(FolderError) -> [String] {
    var files = FileIdentities()
    var logs: [String] = []
    for path in paths {
      let found = try LogFiles.all(below: path).map { FoundRun(name: $0, log: .success($0)) }
      logs += files.firstMet(found).map(\.name)
    }
    noteRepeated(files)
    return logs
  }

  private static func noteRepeated(_ files: FileIdentities) {
    guard files.repeated > 0 else { return }
    Output.error(
      "note: \(Figures.count(files.repeated, "run")) named more than once, by a path or a link, counted once"
    )
  }

  /// Names the files of folders that may be traces and were not looked at.
  static func notePassedOver(below paths: [String]) {
    let files = paths.filter(isFolder).flatMap { path in
      SourceFiles.passedOver(below: path).map { "\(trimmed(path))/\($0)" }
    }
    guard !files.isEmpty else { return }
    let named = files.prefix(3).joined(separator: ", ")
    let more = files.count > 3 ? " and \(files.count - 3) more" : ""
    Output.error(
      Visible.line(
        "note: not looked at, since no name of a trace or a log ends so, or a folder is only linked: \(named)\(more); what is named is read"
      ))
  }

  /// Looks at runs at a glance, telling how far it has come.
  ///
  /// - Parameter minesRules: whether what they have in common is looked for.
  static func survey(of runs: [FoundRun], minesRules: Bool) -> RunSurveyor {
    let surveyor = RunSurveyor(runs, minesRules: minesRules) { index in
      if index % 50 == 0 { Output.progress("looking at run \(index + 1) of \(runs.count)") }
    }
    Output.progress("")
    return surveyor
  }

  private static func runs(
    of path: String, _ cache: ImportCache, progress: (Int) -> Void
  ) -> [FoundRun] {
    var runs: [FoundRun] = []
    let isOneFolder = isFolder(path)
    let logs: [String]
    do throws(FolderError) {
      // A file that is no log is a trace; one that is not there is a log that cannot be read.
      logs =
        isOneFolder
        ? LogFiles.withoutParts(try LogFiles.all(below: path).filter(isLog))
        : isLog(path) || access(path, F_OK) != 0 ? [path] : []
    } catch {
      return [FoundRun(name: path, log: .failure(FoundFault("\(error)")))]
    }
    for log in logs {
      runs.append(FoundRun(name: LogFiles.stem(of: name(of: log, below: path)), log: .success(log)))
    }
    if isOneFolder || logs.isEmpty {
      // Files with the names of logs that are none are traces, too; what a writer has open is named as no trace is.
      let others =
        isOneFolder
        ? (try? LogFiles.all(below: path, endings: [LogFormat.suffix + LogFormat.openSuffix]))?
          .filter { !isLog($0) } ?? [] : []
      for source in [path] + others {
        cache.runs(below: source) { run in
          let prefix = source == path ? "" : name(of: source, below: path)
          runs.append(
            FoundRun(
              name: prefix.isEmpty ? run.name : prefix + suffix(of: run.name),
              log: run.log.mapError { FoundFault($0.description) }, source: run.source))
          progress(runs.count)
        }
      }
    }
    return runs.sorted { $0.name.precedesByUTF8($1.name) }
  }

  /// The number of a run behind the name of its source.
  private static func suffix(of name: String) -> String {
    name.lastIndex(of: "#").map { String(name[$0...]) } ?? ""
  }

  private static func name(of path: String, below folder: String) -> String {
    let head = trimmed(folder) + "/"
    if path.hasPrefix(head) { return String(path.dropFirst(head.count)) }
    return path.split(separator: "/").last.map(String.init) ?? path
  }

  private static func trimmed(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  /// Whether a file begins as a log does, or has the name of one and holds nothing yet.
  private static func isLog(_ path: String) -> Bool { LogFiles.looksLikeLog(path) }
}
