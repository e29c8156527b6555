public import AgentTrace
import FilePaths
import Glibc
import TraceStorage

/// A run as it is exported.
struct ExportedRun {
  /// The path of its log.
  var path: String
  var story: RunStory
  /// The bytes of its log, where they are to go along.
  var log: [UInt8]?
}

/// What became of one log.
public struct ExportReport: Sendable, Hashable {
  /// The log's path.
  public var log: String
  /// The files that it went into; none where it went to whoever takes bytes.
  public var files: [String] = []
  /// What a reader should know of it, such as why nothing of our own goes along.
  public var note: String?
  /// Why it was not exported.
  public var error: ExportError?

  /// The report as `export --json` prints it.
  public var json: JSONValue {
    var object: JSONObject = ["log": .string(log), "files": JSONValue(files)]
    object["note"] = note.map(JSONValue.string)
    object["error"] = error.map { .string("\($0)") }
    return .object(object)
  }
}

/// Writes run logs in the forms of other tools.
///
/// The order of things: a log → what happened in it (`RunStory`) → the format's values (`Formats/`) → a file
/// (`RunWriter`). Formats that hold runs carry the log itself under our own key, from which `import` has it back.
public struct Exporter: Sendable {
  /// The form.
  public var format: ExportFormat
  /// A file, or a folder (one that is there, or a path that ends in `/`); `nil` for whoever takes bytes.
  public var output: String?
  /// Which table, where the form is one and the output no folder.
  public var table = ExportTable.runs
  /// Whether nothing stands under our own key.
  public var isPlain = false
  /// Outcomes of the runs, where they are known.
  public var results = RunResults()
  /// The program's version, as files say it.
  public var version: String

  /// Nothing is read or written before ``run(logs:taking:report:)``.
  public init(format: ExportFormat, output: String?, version: String) {
    self.format = format
    self.output = output
    self.version = version
  }

  /// Whether the output is a folder.
  public var writesFolder: Bool {
    guard let output else { return false }
    var status = stat()
    return output.hasSuffix("/")
      || stat(output, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Exports logs in their order. What cannot be exported is reported in its place, and the others go on; a
  /// file that lacks a log for that reason is written all the same.
  ///
  /// - Parameters:
  ///   - logs: paths of logs.
  ///   - take: gets the bytes, in pieces, where there is no output.
  ///   - report: told of each log once its file is written.
  /// - Throws: ``ExportError`` where the one file of all cannot be written.
  public func run(
    logs: [String], taking take: @escaping ([UInt8]) -> Void = { _ in },
    report: (ExportReport) -> Void
  ) throws(ExportError) {
    guard writesFolder, let output else {
      let file = try output.map { path throws(ExportError) in try ExportFile(path: path) }
      var known = RunIdentities()
      return try export(
        logs, to: file ?? ExportFile(taking: take), named: output, among: &known, report: report)
    }
    let folder = output.hasSuffix("/") ? output : output + "/"
    if format.isTable { return try exportTables(logs, into: folder, report: report) }
    var names = FileNames()
    var known = RunIdentities()
    for log in logs {
      let path = folder + names.name(for: log) + format.ending
      var told = ExportReport(log: log)
      do throws(ExportError) {
        try export([log], to: try ExportFile(path: path), named: path, among: &known) { told = $0 }
      } catch {
        told.files = []
        told.error = error
      }
      report(told)
    }
  }

  /// How long a request with several spans may be: servers refuse what is too long, many above 4 MiB or above 20.
  static let requestBytes = 4 << 20

  /// What a server of traces lacks of a run that is over: requests of OTLP with the spans that it was not sent, or that
  /// turned out otherwise. The log goes along on these.
  ///
  /// - Parameters:
  ///   - log: the path of the run's log.
  ///   - sent: what the server has.
  ///   - places: where the runs stand that are calls of others.
  /// - Returns: each an `ExportTraceServiceRequest` in protocol buffers of 4 MiB at most, unless one span is longer. The
  ///   root stands in the last of them, at its end: whoever has it has the run.
  /// - Throws: ``ExportError`` where the log cannot be read.
  public func rest(
    of log: String, behind sent: SpanFeed.Sent, at places: RunPlaces = RunPlaces()
  ) throws(ExportError) -> [[UInt8]] {
    let (run, _) = try read(log)
    var spans = SpanExport.spans(
      of: run.story, at: places.place(of: run.story.runId), results: results[run.story.runId])
    let left = spans.indices.filter { $0 == 0 || !sent.holds(spans[$0]) }
    if let bytes = run.log { SpanExport.carry(bytes, on: &spans, at: left) }
    var requests: [[UInt8]] = []
    var (together, length): ([ExportSpan], Int) = ([], 0)
    for index in left.dropFirst() + [0] {
      let bytes = spans[index].message.encoded.count
      if !together.isEmpty, length + bytes > Self.requestBytes {
        requests.append(OtlpExport.message(together, of: run.story, version: version))
        (together, length) = ([], 0)
      }
      together.append(spans[index])
      length += bytes
    }
    return requests + [OtlpExport.message(together, of: run.story, version: version)]
  }

  private func export(
    _ logs: [String], to file: ExportFile, named path: String?, among known: inout RunIdentities,
    report: (ExportReport) -> Void
  ) throws(ExportError) {
    var writer = RunWriter(format, table: table, version: version, to: file)
    var reports: [ExportReport] = []
    let places = format.hasSpans ? RunPlaces(of: logs) : RunPlaces()
    for log in logs {
      var told = ExportReport(log: log)
      do throws(ExportError) {
        var (run, note) = try read(log)
        run.story.identity = known.identity(of: run.story.runId)
        told.note = note
        told.files = path.map { [$0] } ?? []
        let place = places.place(of: run.story.identity)
        if try !writer.put(run, at: place, results: results[run.story.runId]) {
          told.note = "it nests too deep for its log to go along"
        }
      } catch {
        guard case .log = error.code else { throw error }
        told.error = error
      }
      reports.append(told)
    }
    // A file without a run is none.
    guard reports.contains(where: { $0.error == nil }) else { return reports.forEach(report) }
    try writer.finish()
    reports.forEach(report)
  }

  private func exportTables(
    _ logs: [String], into folder: String, report: (ExportReport) -> Void
  ) throws(ExportError) {
    var writers: [RunWriter] = []
    var paths: [String] = []
    for table in ExportTable.allCases where table != .outcomes || !results.isEmpty {
      let path = folder + table.rawValue + format.ending
      paths.append(path)
      writers.append(
        RunWriter(format, table: table, version: version, to: try ExportFile(path: path)))
    }
    var reports: [ExportReport] = []
    for log in logs {
      var told = ExportReport(log: log)
      do throws(ExportError) {
        let (run, note) = try read(log)
        told.note = note
        for index in writers.indices {
          _ = try writers[index].put(run, results: results[run.story.runId])
        }
        told.files = paths
      } catch {
        guard case .log = error.code else { throw error }
        told.error = error
      }
      reports.append(told)
    }
    guard reports.contains(where: { $0.error == nil }) else { return reports.forEach(report) }
    for index in writers.indices { try writers[index].finish() }
    reports.forEach(report)
  }

  /// Reads a log, with its bytes where they go along, and what is to be said of it.
  private func read(_ path: String) throws(ExportError) -> (ExportedRun, note: String?) {
    var run: ExportedRun
    var ending: LogReader.Ending?
    var readPath = path
    do throws(LogError) {
      run = ExportedRun(
        path: path,
        story: try RunStory(
          path: path, showsContexts: format.hasSpans, ended: &ending, at: &readPath))
    } catch {
      throw ExportError(.log("\(error)"))
    }
    guard run.story.eventCount > 0 else { throw ExportError(.log("\(ExportError(.empty))")) }
    guard ending == .closed else {
      run.story.isPartial = true
      return (
        run, "it is not closed: what it holds so far is exported, and its log does not go along"
      )
    }
    guard format.carriesLogs, !isPlain else { return (run, nil) }
    do throws(WholeFile.Failure) {
      run.log = try WholeFile.read(readPath, limitBytes: CarriedLog.limitBytes)
    } catch {
      return (run, "its log does not go along: \(error)")
    }
    return (run, nil)
  }
}

/// What the runs that are exported together are named after, so that no two are taken for one.
struct RunIdentities {
  private var counts: [String: Int] = [:]

  mutating func identity(of runId: String) -> String {
    let count = (counts[runId] ?? 0) + 1
    counts[runId] = count
    return count == 1 ? runId : "\(runId)#\(count)"
  }
}

/// Names of files that are made of logs' names: they never leave their folder, and no two are one.
struct FileNames {
  private var taken: Set<String> = []

  mutating func name(for log: String) -> String {
    let last = String(log.split(separator: "/").last ?? "")
    let stem = LogFiles.stem(of: last)
    var safe = ""
    for scalar in stem.unicodeScalars.prefix(100) {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": safe.unicodeScalars.append(scalar)
      default: safe.append("_")
      }
    }
    if safe.isEmpty || safe.hasPrefix(".") || safe.hasPrefix("-") { safe = "_" + safe.dropFirst() }
    var name = safe
    var number = 2
    while !taken.insert(name).inserted {
      name = "\(safe)-\(number)"
      number += 1
    }
    return name
  }
}
