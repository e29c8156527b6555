import AgentTrace
import ArgumentParser
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
      headers, a session and its sub-agents. Eval sets, named always: \
      \(CaseImporter.Format.allCases.map(\.rawValue).joined(separator: ", ")). What cannot be imported is reported and the others go on; \
      the exit code is 2 then.
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

  private var caseFormat: CaseImporter.Format? {
    arguments.first.flatMap(CaseImporter.Format.init(rawValue:))
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
    if paths.isEmpty { throw ValidationError("Name the files or folders to import.") }
    guard format == nil, caseFormat == nil, let first = arguments.first, access(first, F_OK) != 0
    else { return }
    let formats =
      ImportFormat.allCases.map(\.rawValue) + CaseImporter.Format.allCases.map(\.rawValue)
    let hint = Spelling.nearest(to: first, among: formats).map { " Did you mean “\($0)”?" } ?? ""
    throw ValidationError(
      "“\(Visible.line(first, width: 80))” is neither a format nor a file.\(hint) "
        + "The formats are \(formats.joined(separator: ", ")).")
  }

  func run() throws {
    if formats { return listFormats() }
    var failures = 0
    var imported = 0
    var table = ImportTable()
    if let caseFormat { return try importCases(caseFormat) }
    try Importer(format: format, output: out ?? "").run(paths: paths) { report in
      if report.isImported { imported += 1 } else { failures += 1 }
      table.take(report)
      tell(report.json, report.line)
    }
    if !json {
      for line in table.lines { Output.error(line) }
      Output.error("\(imported) imported, \(failures) could not be.")
    }
    if failures > 0 || imported == 0 { throw ExitCode(2) }
  }

  private func tell(_ value: JSONValue, _ line: String) {
    if json { Output.json(value) } else { Output.line(Visible.line(line)) }
  }

  private func listFormats() {
    for format in ImportFormat.allCases {
      if json {
        Output.json([
          "format": .string(format.rawValue), "reads": .string(format.summary.reads),
          "tells": .string(format.summary.tells),
        ])
      } else {
        Output.line("\(format.rawValue)\n    \(format.summary.reads)\n    \(format.summary.tells)")
      }
    }
  }

  private func importCases(_ format: CaseImporter.Format) throws {
    var (failures, cases) = (0, 0)
    CaseImporter(format: format, output: out ?? "").run(paths: paths) { report in
      cases += report.count
      if report.error != nil { failures += 1 }
      tell(report.json, report.line)
    }
    if !json {
      Output.error(
        "\(Figures.count(cases, "case")) imported, \(Figures.count(failures, "file")) could not be."
      )
    }
    if failures > 0 || cases == 0 { throw ExitCode(2) }
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

  mutating func take(_ report: ImportReport) {
    sources.insert(report.source)
    var row = rows[report.format?.rawValue ?? "unknown"] ?? Row()
    switch report.outcome {
    case .imported(_, let counts):
      row.runs += 1
      row.calls += counts.toolCalls + counts.userToolCalls
    case .failed(let error):
      row.failures += 1
      row.reason = row.reason ?? "\(error)"
    }
    rows[report.format?.rawValue ?? "unknown"] = row
  }

  /// The table, where there is more than one file to tell of.
  var lines: [String] {
    guard sources.count > 1 else { return [] }
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
