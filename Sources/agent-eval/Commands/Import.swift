import AgentTrace
import ArgumentParser
import Glibc
import TraceImporting
import TraceMatching
import TraceReporting

/// Turns other tools' traces into run logs.
struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Turn other tools' traces into run logs, and their eval sets into case files.",
    discussion: """
      Formats: \(ImportFormat.allCases.map(\.rawValue).joined(separator: ", ")). Left out, the \
      format of each file is guessed. Eval sets, named always: \
      \(CaseImporter.Format.allCases.map(\.rawValue).joined(separator: ", ")). What cannot be imported is reported and the others go on; \
      the exit code is 2 then.
      """)

  @Argument(help: "The format, if it is not to be guessed, then files or folders.")
  var arguments: [String]

  @Option(help: "The folder for the logs, or the case files.")
  var out: String

  @Flag(help: "Print a line of JSON for each run.")
  var json = false

  private var format: ImportFormat? { arguments.first.flatMap(ImportFormat.init(rawValue:)) }

  private var caseFormat: CaseImporter.Format? {
    arguments.first.flatMap(CaseImporter.Format.init(rawValue:))
  }

  private var paths: [String] {
    format == nil && caseFormat == nil ? arguments : Array(arguments.dropFirst())
  }

  func validate() throws {
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
    var failures = 0
    var imported = 0
    if let caseFormat { return try importCases(caseFormat) }
    try Importer(format: format, output: out).run(paths: paths) { report in
      if report.isImported { imported += 1 } else { failures += 1 }
      if json {
        Output.json(report.json)
      } else {
        Output.line(Visible.line(report.line))
      }
    }
    if !json { Output.error("\(imported) imported, \(failures) could not be.") }
    if failures > 0 || imported == 0 { throw ExitCode(2) }
  }

  private func importCases(_ format: CaseImporter.Format) throws {
    var (failures, cases) = (0, 0)
    CaseImporter(format: format, output: out).run(paths: paths) { report in
      cases += report.count
      if report.error != nil { failures += 1 }
      if json {
        Output.json(report.json)
      } else {
        Output.line(Visible.line(report.line))
      }
    }
    if !json { Output.error("\(cases) cases imported, \(failures) files could not be.") }
    if failures > 0 || cases == 0 { throw ExitCode(2) }
  }
}
