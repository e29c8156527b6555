import AgentTrace
import ArgumentParser
import FilePaths
import TraceJudging
import TraceReporting

/// The options that say where results go.
struct ResultsOutput: ParsableArguments {
  @Flag(help: "Print the results as one JSON object.")
  var json = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      """
      Write a report, to standard output where no file is named; may be given several times. \
      Formats: \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", ")).
      """, valueName: "format[:file]"), completion: .list(ReportFormat.allCases.map(\.rawValue)))
  var report: [String] = []

  /// What they say.
  var destination: ResultsDestination { ResultsDestination(json: json, report: report) }

  func validate() throws { try destination.validate() }
}

/// Where results go: the terminal, standard output, files.
struct ResultsDestination: Hashable {
  /// Whether they are printed as JSON.
  var json = false
  /// Reports besides, as ``ReportRequest`` reads them.
  var report: [String] = []

  func validate() throws {
    for file in try files() { try OutputOption.checkReplaced(file) }
  }

  /// Refuses a report that would replace what the results come from.
  ///
  /// - Parameters:
  ///   - inputs: what must not be replaced.
  ///   - role: what they are, behind “is”.
  func checkKept(_ inputs: [String], _ role: String) throws {
    for file in try files() where inputs.contains(where: { isSameFile($0, file) }) {
      throw ValidationError(Visible.line("--report: \(file) is \(role); name another file."))
    }
  }

  /// The files that reports go to.
  private func files() throws -> [String] {
    do {
      return try ReportRequest.all(report, takesOutput: json).compactMap(\.file)
    } catch {
      throw ValidationError("--report: \(error).")
    }
  }

  /// Writes every report; returns the exit code to end with.
  ///
  /// - Parameter keep: keeps the results and tells what was before; what it throws is told, and counts
  ///   as a report that is lost.
  /// Files first, so that they are there even where nobody reads the output to its end. A case that
  /// failed outranks a report that is lost.
  func finish(
    _ results: EvalResults, keep: () throws -> SuiteHistory? = { nil }
  ) throws -> Int32 {
    Self.note(results.cases.reduce(Summaries()) { $0.adding($1) })
    var (history, isLost): (SuiteHistory?, Bool) = (nil, false)
    do {
      history = try keep()
    } catch {
      Output.error(Visible.line("agent-eval: \(error)", width: 4_200))
      isLost = true
    }
    isLost = try write(results, history) || isLost
    return isLost && results.exitCode != 1 ? 2 : results.exitCode
  }

  /// How many outcomes there are, and how many of them the ends of logs alone told.
  struct Summaries {
    var outcomes = 0
    var fromSummary = 0

    /// These and those of a case.
    func adding(_ result: CaseResult) -> Summaries {
      Summaries(
        outcomes: outcomes + result.trials.count,
        fromSummary: fromSummary + result.trials.count { $0.judgedFrom == "summary" })
    }
  }

  /// Says where outcomes rest on the ends of logs: what is wrong in the middle of a log goes unseen then.
  static func note(_ summaries: Summaries) {
    guard summaries.fromSummary > 0 else { return }
    Output.error(
      "note: \(summaries.fromSummary) of \(Figures.count(summaries.outcomes, "outcome")) came from the "
        + "summary at the end of a log alone; --no-summary reads the logs whole.")
  }

  /// Writes every report; returns whether one was lost.
  func write(_ results: EvalResults, _ history: SuiteHistory? = nil) throws -> Bool {
    let requests = try ReportRequest.all(report, takesOutput: json)
    var context = ReportContext.here
    context.history = history
    var isLost = false
    for request in requests {
      guard let file = request.file else { continue }
      do {
        try ReportFiles.write(request.format.bytes(of: results, in: context), to: file)
      } catch {
        Output.error(Visible.line("agent-eval: \(error)"))
        isLost = true
      }
    }
    let requested = requests.first { $0.file == nil && $0.format != .github }
    if json {
      Output.jsonLine(results.encoded)
    } else if let requested {
      Output.bytes(requested.format.bytes(of: results, in: context), as: requested.format.form)
    } else {
      let report = ResultsReport(painter: Screen.painter, width: Screen.columns)
      let lines = report.lines(for: results)
      Output.lines(lines)
    }
    if requests.contains(where: { $0.file == nil && $0.format == .github }) {
      isLost =
        !GitHubActions.tell(
          results, in: context, besideResults: !json && requested == nil) || isLost
    }
    return isLost
  }
}

extension ReportFormat {
  /// How its bytes may be written otherwise.
  fileprivate var form: CommandFilter.Form {
    switch self {
    case .json, .gitlab, .sarif: .json
    case .junit, .html: .markup
    case .markdown, .github: .text
    }
  }
}
