import AgentTrace
public import TraceJudging

/// Results as annotations of GitHub Actions: workflow commands, a line each.
///
/// GitHub shows at most ten annotations of a kind in a step, so that the last one counts the rest.
/// The format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
struct GitHubReport {
  /// Annotations of one kind, one less than GitHub shows.
  static let most = 9
  let context: ReportContext

  func text(of results: EvalResults) -> String {
    let failed = results.worstFirst.filter { $0.standing == .fail || $0.standing == .error }
    let doubtful = results.worstFirst.filter { result in
      result.standing == .inconclusive
        || (result.standing == .pass && !Finding.all(in: result).isEmpty)
    }
    let changed = results.cases.filter { $0.standing == .pass && $0.comparison?.kind == .changed }
    let lines =
      annotations("error", failed) + annotations("warning", doubtful)
      + annotations("notice", changed)
    return lines.map { $0 + "\n" }.joined()
  }

  private func annotations(_ kind: String, _ cases: [CaseResult]) -> [String] {
    var lines = cases.prefix(Self.most).map { annotation(kind, CaseText(of: $0, in: context)) }
    if cases.count > Self.most {
      lines.append(
        "::\(kind) title=agent-eval::and \(Figures.count(cases.count - Self.most, "case")) more")
    }
    return lines
  }

  private func annotation(_ kind: String, _ caseText: CaseText) -> String {
    let result = caseText.result
    var text = CaseText.cut(caseText.lines().joined(separator: "\n"), 4_000)
    if text.isEmpty { text = caseText.headline }
    let title = Workflow.neutral("\(Visible.line(result.caseId, width: 150)) \(result.words)")
    text = Workflow.neutral(text)
    return
      "::\(kind) file=\(Workflow.property(Workflow.neutral(Visible.line(caseText.place.path))))"
      + ",line=\(caseText.place.line),title=\(Workflow.property(title))::\(Workflow.data(text))"
  }
}

/// Texts in workflow commands; ``CommandFilter`` keeps others from being some.
public enum Workflow {
  /// Bytes that a step may add to its summary; GitHub drops the whole of a longer one.
  public static let summaryLimitBytes = 1 << 20

  /// A text of a trace within a command, which holds none itself.
  static func neutral(_ text: String) -> String {
    var filter = CommandFilter()
    return String(decoding: filter.filtered(Array(text.utf8), as: .text), as: UTF8.self)
  }

  /// What stands behind the second `::`.
  static func data(_ text: String) -> String {
    text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
  }

  /// The value of a property.
  static func property(_ text: String) -> String {
    data(text).replacing(":", with: "%3A").replacing(",", with: "%2C")
  }

  /// Results as Markdown for `$GITHUB_STEP_SUMMARY`, in what room is left there.
  public static func summary(
    of results: EvalResults, in context: ReportContext, limitBytes: Int
  ) -> String {
    let report = MarkdownReport(context: context, limitBytes: limitBytes, whole: results)
    let text = report.text(of: results.told)
    return text.utf8.count <= limitBytes ? text : ""
  }
}
