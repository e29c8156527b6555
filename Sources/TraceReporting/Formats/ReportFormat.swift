public import AgentTrace
public import TraceJudging

/// What results of cases can be written as. Raw values are the words of `--report`.
public enum ReportFormat: String, Sendable, CaseIterable {
  /// The results as JSON, `agent-eval/results/1`: what all the others are made from.
  case json
  /// JUnit XML, as GitLab, CircleCI, Jenkins and Buildkite read it.
  case junit
  /// A page of Markdown.
  case markdown
  /// Annotations of GitHub Actions.
  case github
  /// A code quality report of GitLab.
  case gitlab
  /// SARIF 2.1.0.
  case sarif
  /// One HTML page that needs nothing else.
  case html
}

/// What a report needs to know beyond the results. Nothing in it changes with the time of day.
public struct ReportContext: Sendable {
  /// Where the project stands; paths below it are told from there. A full path.
  public var root: String
  /// Where paths that are no full ones start. A full path.
  public var folder: String
  /// The version of the program that judged.
  public var version: String
  /// Tells each event of a log, by its path; without it a page has no timelines.
  public var readEvents: (@Sendable (_ log: String, _ tell: (Event) -> Void) throws -> Void)?
  /// How long a recorded run took, in microseconds, by the path of its log; `nil` where that cannot be told.
  public var elapsed: (@Sendable (_ log: String) -> Int?)?

  /// What became of the cases before, for a page that charts it; `nil` where nobody asked for that.
  public var history: SuiteHistory?

  /// No file is touched.
  public init(root: String, folder: String, version: String) {
    self.root = root
    self.folder = folder
    self.version = version
  }
}

extension ReportFormat {
  /// The bytes of a report; the same for the same results.
  public func bytes(of results: EvalResults, in context: ReportContext) -> [UInt8] {
    let told = results.told
    return switch self {
    case .json: JSONReport.bytes(of: results.json)
    case .junit: Array(JUnitReport(context: context).text(of: told).utf8)
    case .markdown:
      Array(MarkdownReport(context: context, whole: results).text(of: told).utf8)
    case .github: Array(GitHubReport(context: context).text(of: told).utf8)
    case .gitlab: JSONReport.bytes(of: GitLabReport(context: context).json(of: told))
    case .html:
      Array(HTMLReport(context: context, whole: results).text(of: told).utf8)
    case .sarif: JSONReport.bytes(of: SARIFReport(context: context).json(of: told))
    }
  }
}

/// Reports that are JSON.
enum JSONReport {
  /// One line, keys in canonical order.
  static func bytes(of value: JSONValue) -> [UInt8] {
    CanonicalJSON.encode(value, form: .plain) + [UInt8(ascii: "\n")]
  }
}
