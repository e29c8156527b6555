import AgentTrace
import ArgumentParser
import EvalImporting
import FilePaths
import Glibc
import TraceImporting
import TraceMatching
import TraceReporting

/// Turns other tools' traces into run logs.
struct Import: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Turn other tools' traces into run logs, and their eval sets into case files.",
    discussion: """
      Formats: \(ImportFormat.allCases.map(\.rawValue).joined(separator: ", ")). Left out, the \
      format of each file is told by what stands in it; `import --formats` says what each can tell. \
      Files of a folder that belong together are read together: the bodies of requests with their \
      headers, a session and its sub-agents. Eval sets, which become case files: \
      \(CaseFormat.allCases.map(\.rawValue).joined(separator: ", ")). What cannot be imported is reported \
      and the others go on; the exit code is 2 then.
      """
        + Example.list([
          "import . --out imported": "logs of whatever is in this folder",
          "import --formats": "what can be read",
        ]))

  @Argument(
    help: "The format, if it is not to be guessed, then files or folders.", completion: .file())
  var arguments: [String] = []

  @Option(
    name: .shortAndLong, help: "The folder for the logs, or the case files.", completion: .directory
  )
  var out: String?

  @Flag(help: "List the formats, and what each can tell, and import nothing.")
  var formats = false

  @Flag(help: "Print a line of JSON for each run.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  private var format: ImportFormat? { arguments.first.flatMap(ImportFormat.init(rawValue:)) }

  private var caseFormat: CaseFormat? {
    arguments.first.flatMap(CaseFormat.init(rawValue:))
  }

  /// Whether eval sets are imported.
  var namesCaseFormat: Bool { caseFormat != nil }

  private var paths: [String] {
    format == nil && caseFormat == nil ? arguments : Array(arguments.dropFirst())
  }

  func validate() throws {
    if formats { return }
    guard let out else { throw ValidationError("Missing expected argument '--out <out>'") }
    try OutputOption.check(out)
    if paths.isEmpty {
      throw ValidationError("Name the files or folders to import." + Self.folderHint(arguments))
    }
    guard format == nil, caseFormat == nil, let first = arguments.first, !Self.isPath(first)
    else { return }
    let formats =
      ImportFormat.allCases.map(\.rawValue) + CaseFormat.allCases.map(\.rawValue)
    let hint = Spelling.nearest(to: first, among: formats).map { " Did you mean “\($0)”?" } ?? ""
    throw ValidationError(
      "“\(Visible.line(first, width: 80))” is neither a format nor a file.\(hint) "
        + "The formats are \(formats.joined(separator: ", ")).")
  }

  /// Whether a word is meant as a path: something is there, or no format could be called so. That nothing is there
  /// the importer tells.
  private static func isPath(_ word: String) -> Bool {
    var status = stat()
    return word.contains("/") || word.contains(".") || lstat(word, &status) == 0
  }

  /// What to say to somebody whose file or folder has the name of a format.
  private static func folderHint(_ arguments: [String]) -> String {
    guard let name = arguments.first, fileStatus(name) != nil else { return "" }
    return " “\(name)” is a format; what is there under this name is ./\(name)."
  }

  func run() throws {
    if formats { return listFormats() }
    var table = ImportTable()
    if caseFormat != nil {
      importer.run(paths: paths) { tell($0, &table) }
    } else {
      try importTraces(&table)
    }
    FoundRuns.notePassedOver(below: paths)
    if !json {
      for line in table.lines { Output.error(line) }
      Output.error(table.sum)
    }
    if table.failures > 0 || table.isEmpty { throw ExitCode(2) }
  }

  private var importer: CaseImporter { CaseImporter(format: caseFormat, output: out ?? "") }

  /// Imports traces, and without a format also the eval sets among them.
  private func importTraces(_ table: inout ImportTable) throws {
    let candidates = format == nil ? paths.map(CaseImporter.candidates(below:)) : []
    try Importer(format: format, output: out ?? "").run(paths: paths) { report in
      if format == nil, case .failed(let error) = report.outcome, report.format == nil {
        // A folder in which nothing stands but what may be an eval set is no empty one.
        if error.code == .nothingToImport,
          zip(paths, candidates).contains(where: { $0 == report.source && !$1.isEmpty })
        {
          return
        }
        switch importer.importIfEvalSet(report.source, below: paths) {
        case .noEvalSet: break
        case .readWithAnother: return
        case .imported(let told): return tell(told, &table)
        }
      }
      table.take(report)
      tell(report.json, report.line)
    }
    for file in candidates.joined() {
      switch importer.importIfEvalSet(file, below: paths) {
      case .imported(let told): tell(told, &table)
      case .readWithAnother: continue
      case .noEvalSet:
        tell(CaseImporter.Report(source: file, error: ImportError(.unknownFormat)), &table)
      }
    }
  }

  private func tell(_ report: CaseImporter.Report, _ table: inout ImportTable) {
    table.take(report)
    tell(report.json, report.line)
  }

  private func tell(_ value: JSONValue, _ line: String) {
    if json { Output.json(value) } else { Output.line(Visible.line(line)) }
  }

  private func listFormats() {
    let all =
      ImportFormat.allCases.map { ($0.rawValue, $0.summary) }
      + CaseFormat.allCases.map { ($0.rawValue, $0.summary) }
    for (name, summary) in all {
      if json {
        Output.json([
          "format": .string(name), "reads": .string(summary.reads), "tells": .string(summary.tells),
        ])
      } else {
        Output.line("\(name)\n    \(summary.reads)\n    \(summary.tells)")
      }
    }
  }
}

/// What an import of many files came to, by their formats.
private struct ImportTable {
  private struct Row {
    var runs = 0
    var calls = 0
    var failures = 0
    var reason: String?
  }

  private var rows: [String: Row] = [:]
  private var sources: Set<String> = []
  private var imported = 0
  private var cases = 0
  private(set) var failures = 0

  /// Whether nothing at all came of it.
  var isEmpty: Bool { imported == 0 && cases == 0 }

  /// What it came to, in a line.
  var sum: String {
    let made = Figures.count(cases, "case")
    let done =
      cases == 0
      ? "\(imported)" : imported == 0 ? made : "\(Figures.count(imported, "run")) and \(made)"
    return "\(done) imported, \(failures) could not be."
  }

  mutating func take(_ report: ImportReport) {
    sources.insert(report.source)
    let name = report.format?.rawValue ?? "unknown"
    switch report.outcome {
    case .imported(_, let counts):
      imported += 1
      rows[name, default: Row()].runs += 1
      rows[name, default: Row()].calls += counts.toolCalls + counts.userToolCalls
    case .failed(let error): fail(name, error)
    }
  }

  mutating func take(_ report: CaseImporter.Report) {
    sources.insert(report.source)
    cases += report.count
    if let error = report.error { fail(report.format?.rawValue ?? "unknown", error) }
  }

  private mutating func fail(_ name: String, _ error: ImportError) {
    failures += 1
    rows[name, default: Row()].failures += 1
    rows[name, default: Row()].reason = rows[name]?.reason ?? "\(error)"
  }

  /// The table, where there is more than one file to tell of.
  var lines: [String] {
    guard sources.count > 1, !rows.isEmpty else { return [] }
    func padded(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(1, width - text.count))
    }
    let head = padded("format", 18) + padded("runs", 8) + padded("calls", 8) + "could not be"
    return [head]
      + rows.sorted { $0.key < $1.key }.map { name, row in
        let reason = row.reason.map { ": " + Visible.line($0, width: 100) } ?? ""
        return padded(name, 18) + padded(String(row.runs), 8) + padded(String(row.calls), 8)
          + String(row.failures) + (row.failures > 0 ? reason : "")
      }
  }
}
