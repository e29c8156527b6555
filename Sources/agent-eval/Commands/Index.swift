import ArgumentParser
import TraceIndexing
import TraceReporting

/// Keeps the catalogue of a folder of runs.
struct Index: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Keep a catalogue of the runs in a folder, in DIR/.index.sqlite.",
    discussion: """
      Reads what is new or has changed, and forgets what is gone. Exits with 0, or with 2 where a log \
      could not be read whole; the others are in the index.
      """
        + Example.list([
          "index runs/": "make the catalogue that list and query read"
        ]))

  @Argument(help: "A folder of run logs.", completion: .directory)
  var folder: String

  @Flag(name: .customLong("no-summary"), help: "Read every log whole, not only its summary.")
  var noSummary = false

  @Flag(help: "Print what was done as one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() throws {
    var index = try RunIndex(folder: folder)
    let report = try index.refresh(
      fromSummary: !noSummary, progress: Indexing.progress(quietSeconds: 1))
    Output.progress("")
    Indexing.tell(of: report, in: folder)
    if json {
      Output.json(report.json(folder: folder))
    } else {
      Output.line(Visible.line("\(index.path ?? folder): \(report.line)"))
    }
    if report.faulty + report.faultySuiteRuns > 0 { throw ExitCode(2) }
  }
}
