import AgentTrace
import TraceJudging

/// Results as a code quality report of GitLab: a JSON array with an object for each finding.
///
/// The format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
struct GitLabReport {
  let context: ReportContext

  func json(of results: EvalResults) -> JSONValue {
    .array(
      results.worstFirst.flatMap { result in
        let place = SourcePlace(result.position, in: context)
        return Finding.all(in: result).map { json(of: $0, in: result, at: place) }
      })
  }

  private func json(
    of finding: Finding, in result: CaseResult, at place: SourcePlace
  ) -> JSONValue {
    let name = Visible.line(result.caseId, width: 200)
    let check =
      finding.expectation.isEmpty || finding.rule == Finding.advice
      ? "" : Visible.line(finding.expectation, width: 200) + ": "
    return [
      "description": .string("\(name): \(check)\(finding.text(ofTrials: result.trials.count))"),
      "check_name": .string(finding.rule),
      "fingerprint": .string(finding.fingerprint(of: result.caseId)),
      "severity": .string(severity(of: finding)),
      "location": [
        "path": .string(Visible.line(place.path)), "lines": ["begin": JSONValue(place.line)],
      ],
    ]
  }

  /// One of `info`, `minor`, `major`, `critical` and `blocker`.
  private func severity(of finding: Finding) -> String {
    switch finding.level {
    case .error: finding.rule == Finding.unjudged ? "critical" : "major"
    case .warning: finding.rule == Finding.advice ? "info" : "minor"
    }
  }
}
