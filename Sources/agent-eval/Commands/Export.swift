import AgentTrace
import ArgumentParser
import Glibc
import TraceExporting
import TraceMatching
import TraceReporting
import TraceStorage

/// Writes run logs in the forms of other tools.
struct Export: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write runs in the forms of other tools.",
    discussion: """
      Formats: \(ExportFormat.allCases.map(\.rawValue).joined(separator: ", ")); `export --formats` says \
      what each is. Where a form cannot say all of a run, the run's own log goes along under a key of our own, \
      and `import` has it back. What cannot be exported is reported and the others go on; the exit code is 2 \
      then.
      """
        + Example.list([
          "export otlp latest -o trace.pb": "the newest run for OpenTelemetry",
          "export --formats": "what can be written",
        ]))

  @Argument(help: "The format.", completion: .list(ExportFormat.allCases.map(\.rawValue)))
  var format: String?

  @Argument(help: "Run logs, or folders of them.", completion: .file())
  var logs: [String] = []

  @Option(
    name: .shortAndLong,
    help: """
      A file for all of them, or a folder (one that is there, or a path that ends in /) for a file each. \
      Without it they go to standard output.
      """, completion: .file())
  var output: String?

  @Option(help: "Results of these runs (run --json), whose outcomes go along.", completion: .file())
  var results: String?

  @Option(
    help: """
      Which table csv and ndjson print: \(ExportTable.allCases.map(\.rawValue).joined(separator: ", ")). \
      Into a folder all are written.
      """, completion: .list(ExportTable.allCases.map(\.rawValue)))
  var table: String?

  @Flag(help: "Leave out the log that goes along: what the format cannot say is lost.")
  var plain = false

  @Flag(help: "List the formats, and export nothing.")
  var formats = false

  @Flag(help: "Print a line of JSON for each log, of what became of it. Needs --output.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    if formats { return }
    try output.map(OutputOption.check)
    guard let name = format else {
      throw ValidationError("Missing expected argument: the format")
    }
    guard let format = ExportFormat(rawValue: name) else {
      let names = ExportFormat.allCases.map(\.rawValue)
      let hint = Spelling.nearest(to: name, among: names).map { " Did you mean “\($0)”?" } ?? ""
      throw ValidationError(
        "“\(Visible.line(name, width: 80))” is no format.\(hint) The formats are "
          + "\(names.joined(separator: ", ")).")
    }
    if logs.isEmpty { throw ValidationError("Name the logs to export.") }
    if let table {
      guard ExportTable(rawValue: table) != nil else {
        throw ValidationError(
          "--table takes \(ExportTable.allCases.map(\.rawValue).joined(separator: ", ")).")
      }
      guard format.isTable else { throw ValidationError("--table goes with csv and ndjson.") }
    }
    if json, output == nil { throw ValidationError("--json needs --output.") }
    if format.isBinary, output == nil, isatty(STDOUT_FILENO) == 1 {
      throw ValidationError("\(name) is no text; give --output.")
    }
    if format.isBinary || format == .csv, output == nil, !Output.takesBytes {
      throw ValidationError(
        "In a step of GitHub Actions what is printed may be its log, where \(name) could hold workflow commands; "
          + "give --output.")
    }
  }

  func run() throws {
    if formats { return listFormats() }
    guard let format = format.flatMap(ExportFormat.init(rawValue:)) else { return }
    var exporter = Exporter(
      format: format, output: output, version: AgentEval.configuration.version)
    exporter.isPlain = plain
    exporter.table = table.flatMap(ExportTable.init(rawValue:)) ?? .runs
    if let results {
      exporter.results = try RunResults(
        decoding: try JSONValue(parsing: try InputFiles.all(of: results)))
    }
    let logs = try foundLogs()
    if exporter.writesFolder, format.isTable, table != nil {
      throw ValidationError("Into a folder all tables are written; leave --table out.")
    }
    if !format.holdsMany, logs.count > 1, !exporter.writesFolder {
      throw ValidationError(
        "A file of \(format.rawValue) holds one run, and here are \(logs.count): give --output a folder."
      )
    }
    var (failed, exported) = (0, 0)
    try exporter.run(
      logs: logs, taking: { Self.print($0, format) },
      report: { report in
        if report.error == nil { exported += 1 } else { failed += 1 }
        tell(report)
      })
    if !json, output != nil {
      Output.error("\(exported) exported, \(failed) could not be.")
    }
    if failed > 0 || exported == 0 { throw ExitCode(2) }
  }

  private static func print(_ bytes: [UInt8], _ format: ExportFormat) {
    if format == .csv, isatty(STDOUT_FILENO) == 1 {
      let lines = Visible.lines(String(decoding: bytes, as: UTF8.self))
      return Output.bytes(Array(lines.joined(separator: "\n").utf8))
    }
    if format.isBinary || format == .csv { return Output.raw(bytes) }
    Output.bytes(bytes, as: .json)
  }

  /// The logs that the arguments name, those of folders in the order of their paths.
  private func foundLogs() throws -> [String] {
    var all: [String] = []
    for path in logs {
      let found = try LogFiles.all(below: path)
      guard !found.isEmpty else {
        Output.error("agent-eval: no logs below \(Visible.line(path))")
        throw ExitCode(2)
      }
      all += found
    }
    return all
  }

  private func tell(_ report: ExportReport) {
    if json { return Output.json(report.json) }
    if let error = report.error.map({ "\($0)" }) {
      // What the reader of a log says names it already.
      let isNamed = error.hasPrefix("\(report.log): ")
      Output.error(Visible.line(isNamed ? error : "\(report.log): \(error)"))
    }
    if let note = report.note { Output.error(Visible.line("note: \(report.log): \(note)")) }
  }

  private func listFormats() {
    for format in ExportFormat.allCases {
      if json {
        Output.json([
          "format": .string(format.rawValue), "writes": .string(format.summary),
          "ending": .string(format.ending),
        ])
      } else {
        Output.line("\(format.rawValue)\n    \(format.summary)")
      }
    }
  }
}
