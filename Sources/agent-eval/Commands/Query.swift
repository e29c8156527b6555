import AgentTrace
import ArgumentParser
import Glibc
import TraceIndexing
import TraceReporting

/// Puts SQL to the catalogue of a folder.
struct Query: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Put a SELECT to the index of a folder of runs.",
    discussion: """
      Tables: runs, calls, tags, suiteRuns, outcomes; SELECT sql FROM sqlite_schema shows their columns (with --json). Refreshes the index first; \
      the statement itself can only read. Exits with 0, or with 2 where the statement is wrong, or \
      took too long, or has more rows than --limit, or where a log could not be read whole.
      """
        + Example.list([
          "query runs/ 'SELECT agent, count(*) FROM runs GROUP BY agent'":
            "how many runs each agent has"
        ]))

  @Argument(help: "A folder of run logs.", completion: .directory)
  var folder: String

  @Argument(help: "One SELECT statement.")
  var statement: String

  @Option(help: "The most rows to print.")
  var limit = 10_000

  @Option(help: "The most seconds the statement may take.")
  var timeout = 10.0

  @Flag(help: "Print a line of JSON for each row.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit takes 0 or more.") }
    guard timeout > 0, timeout <= 86_400 else {
      throw ValidationError("--timeout takes more than 0 and at most 86400 seconds.")
    }
  }

  func run() throws {
    let (index, report) = try Indexing.refreshed(folder)
    var names: [String] = []
    var table = TextTable(headings: [])
    let watch = endLater()
    defer { watch.cancel() }
    let ending = try index.run(
      RunQuery(statement, limitRows: limit, limitSeconds: timeout),
      columns: {
        names = $0
        table = TextTable(headings: $0)
      },
      row: { values in
        if json {
          Output.json(.object(JSONObject(Array(zip(Self.distinct(names), values)))))
        } else {
          table.append(values.map(Self.cell))
        }
      })
    Paging.begin()
    Output.lines(table.lines(painter: Screen.painter, width: Screen.width))
    if ending == .cut {
      Output.error("agent-eval: there are more rows; give a larger --limit than \(limit).")
    }
    if ending == .cut || report.faulty + report.faultySuiteRuns > 0 { throw ExitCode(2) }
  }

  /// Ends the program where the statement goes on beyond its time: SQLite asks whether it may go on between
  /// its steps, not within a function, of which one call may take as long as it likes.
  private func endLater() -> Task<Void, any Error> {
    let (seconds, folder) = (timeout, folder)
    return Task.detached {
      try await Task.sleep(for: .seconds(seconds + Self.graceSeconds))
      let error = IndexError(.tookTooLong(seconds: seconds), path: folder)
      Output.error("agent-eval: \(error)")
      _exit(2)
    }
  }

  /// So long a statement has to end by itself.
  private static let graceSeconds = 1.0

  /// Two columns of one name would be one key of an object.
  private static func distinct(_ names: [String]) -> [String] {
    var distinct: [String] = []
    for name in names {
      var (candidate, number) = (name, 2)
      while distinct.contains(candidate) {
        candidate = "\(name):\(number)"
        number += 1
      }
      distinct.append(candidate)
    }
    return distinct
  }

  private static func cell(_ value: JSONValue) -> String {
    value.stringValue ?? (value.isNull ? "" : value.description)
  }
}
