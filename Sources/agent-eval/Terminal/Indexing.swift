import AgentTrace
import ArgumentParser
import FilePaths
import Glibc
import TraceIndexing
import TraceReporting

/// An index that is made or refreshed on the way to something else.
enum Indexing {
  /// The index of a folder as its logs are now. Where the folder cannot be written to, it is made in
  /// memory, and lost.
  ///
  /// - Parameters:
  ///   - folder: The folder of the logs.
  ///   - maker: The command that makes the folder, for who looks for one that is not there yet.
  /// - Throws: Exit code 2 where there is no such folder, which is told; ``IndexError``.
  static func refreshed(
    _ folder: String, madeBy maker: String? = nil
  ) throws -> (RunIndex, RunIndex.Report) {
    guard access(folder, F_OK) == 0 || errno != ENOENT else {
      let maker = maker ?? (folder == RunLogs.folder ? "agent-eval record" : nil)
      Output.error(
        Visible.line(
          "agent-eval: \(folder): there is no such folder"
            + (maker.map { "; \($0) makes it" } ?? ""),
          width: 2_000))
      throw ExitCode(2)
    }
    do {
      var index = try RunIndex(folder: folder)
      // Refreshing may put another file in the index's place, so that it is given out afterwards.
      let report = try refresh(&index)
      return (index, report)
    } catch let error as IndexError where error.code != .busy {
      Output.error(Visible.line("note: \(error); indexing in memory."))
      var index = try RunIndex(inMemoryFor: folder)
      let report = try refresh(&index)
      return (index, report)
    }
  }

  private static func refresh(_ index: inout RunIndex) throws -> RunIndex.Report {
    let report = try index.refresh(progress: progress(quietSeconds: 1))
    Output.progress("")
    tell(of: report, in: index.folder)
    return report
  }

  /// Says on a terminal how far indexing is, once it takes long.
  static func progress(quietSeconds: Double) -> (Int, Int) -> Void {
    let start = ContinuousClock.now
    var last = start + .seconds(quietSeconds) - .milliseconds(100)
    return { done, total in
      guard ContinuousClock.now - last > .milliseconds(100) else { return }
      last = .now
      Output.progress("indexing: \(done) of \(Figures.count(total, "log"))")
    }
  }

  /// Says on standard error what a reader of the results must know.
  static func tell(of report: RunIndex.Report, in folder: String) {
    if let reason = report.replaced {
      Output.error(
        Visible.line(
          "note: \(folder)/.index.sqlite was made anew: \(reason). The file that was there is "
            + "\(folder)/.index.sqlite.replaced."))
    }
    if report.faultySuiteRuns > 0 {
      Output.error(
        Visible.line(
          "agent-eval: \(Figures.count(report.faultySuiteRuns, "file")) of the history in \(folder) "
            + "could not be read: agent-eval query \(ShellWord.path(folder)) "
            + "\"SELECT fault FROM suiteRuns WHERE fault IS NOT NULL\""))
    }
    if report.faulty > 0 {
      Output.error(
        Visible.line(
          "agent-eval: \(Figures.count(report.faulty, "log")) in \(folder) could not be read whole: "
            + "agent-eval query \(ShellWord.path(folder)) \"SELECT path, error FROM runs WHERE error IS NOT NULL\""
        )
      )
    }
  }
}

extension RunIndex.Report {
  /// The report in words.
  var line: String {
    "\(Figures.count(logs, "log")), \(read) read, \(removed) removed"
      + (faulty == 0 ? "" : ", \(faulty) not whole")
      + (suiteRuns + suiteRunsRemoved == 0
        ? ""
        : "; \(Figures.count(suiteRuns, "suite run")), \(suiteRunsRead) read, "
          + "\(suiteRunsRemoved) removed"
          + (faultySuiteRuns == 0 ? "" : ", \(faultySuiteRuns) not readable"))
  }

  func json(folder: String) -> JSONValue {
    [
      "folder": .string(folder), "logs": JSONValue(logs), "read": JSONValue(read),
      "removed": JSONValue(removed), "faulty": JSONValue(faulty),
      "suiteRuns": JSONValue(suiteRuns), "suiteRunsRead": JSONValue(suiteRunsRead),
      "suiteRunsRemoved": JSONValue(suiteRunsRemoved),
      "faultySuiteRuns": JSONValue(faultySuiteRuns),
      "replaced": replaced.map(JSONValue.string) ?? .null,
    ]
  }
}

/// A time in UTC as runs are compared by it.
struct SinceTime {
  /// `YYYY-MM-DDTHH:MM:SS`, or the beginning of that.
  var text: String

  /// Reads a date, a time, or so many minutes, hours, days or weeks before now.
  init?(since text: String) {
    let units: [Character: Int] = ["m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    if let unit = text.last.flatMap({ units[$0] }) {
      guard let count = Int(text.dropLast()), (0...10_000_000).contains(count) else { return nil }
      let moment = UTC.text(microsecondsSince1970: max(0, time(nil) - count * unit) * 1_000_000)
      self.text = String(moment.prefix(19))
      return
    }
    let form = Array("dddd-dd-ddTdd:dd:dd".utf8)
    let bytes = Array(text.hasSuffix("Z") ? text.dropLast().utf8 : text[...].utf8)
    guard [10, 16, 19].contains(bytes.count) else { return nil }
    for (byte, expected) in zip(bytes, form) {
      let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      guard expected == UInt8(ascii: "d") ? isDigit : byte == expected else { return nil }
    }
    let numbers = text.prefix(10).split(separator: "-").compactMap { Int($0) }
    guard numbers.count == 3, (1...12).contains(numbers[1]), (1...31).contains(numbers[2]) else {
      return nil
    }
    self.text = String(decoding: bytes, as: UTF8.self)
  }
}
