import AgentTrace
public import EvalLoading
public import TraceJudging

/// What accepting some results would change.
public struct Acceptance: Sendable {
  /// What becomes of one case.
  public enum Change: Sendable {
    /// Its baseline is as it would be written.
    case none
    /// It has no baseline yet.
    case new(bytes: [UInt8])
    /// Its baseline would change; the old one may be no baseline at all.
    case changed(old: [UInt8], bytes: [UInt8])
    /// It cannot be accepted.
    case impossible(reason: String)
  }

  /// One case.
  public struct Item: Sendable {
    /// The case's name.
    public var caseId: String
    /// The path of its baseline.
    public var path: String
    /// What the judge says of it now; `nil` where it is left out.
    public var outcome: CaseOutcome?
    /// The case beside its baseline.
    public var comparison: CaseComparison?
    /// What becomes of it.
    public var change: Change
  }

  /// One for each case, in the order of the cases; none for a run that no case is for.
  public let items: [Item]

  /// Looks at the baselines that are there, and writes nothing.
  ///
  /// - Parameters:
  ///   - results: What ``EvalRunner`` made with ``EvalRunner/Options/outlinesRuns``, compared with the
  ///     baselines beside the cases.
  ///   - cases: The cases that they are of.
  public init(of results: EvalResults, _ cases: [EvalCase]) {
    var judged: [[UInt8]: CaseResult] = [:]
    for result in results.cases { judged[Array(result.caseId.utf8)] = result }
    var skipped: [[UInt8]: CaseComparison] = [:]
    for result in results.skipped { skipped[Array(result.caseId.utf8)] = result.comparison }
    var settings = CaseSettings()
    items = cases.lazy.filter { !$0.isOfNoRule }.map { evalCase in
      let key = Array(evalCase.caseId.utf8)
      return Self.item(evalCase, judged[key], judged[key]?.comparison ?? skipped[key], &settings)
    }
  }

  private static func item(
    _ evalCase: EvalCase, _ result: CaseResult?, _ comparison: CaseComparison?,
    _ settings: inout CaseSettings
  ) -> Item {
    let path = BaselineFiles.path(of: evalCase)
    var item = Item(
      caseId: evalCase.caseId, path: path, outcome: result?.outcome, comparison: comparison,
      change: .none)
    if let error = result?.error ?? (result?.outcome == .error ? "nothing was judged" : nil) {
      item.change = .impossible(reason: error)
      return item
    }
    do {
      let old = try BaselineFiles.bytes(of: path, limit: AcceptedText.limitBytes)
      let before = old.flatMap { try? AcceptedText.parse($0) }
      var accepted =
        result?.accepted(of: evalCase, &settings) ?? evalCase.acceptedAsSkipped(&settings)
      // A case that is left out keeps what was accepted of it, to go on from there one day.
      if let before, result == nil, before.caseId.hasSameUTF8(as: evalCase.caseId) {
        accepted.runs = before.runs
        accepted.format = before.format
        if before.format == 1 { accepted.setting = CaseSetting() }
      }
      let bytes = try AcceptedText.bytes(of: accepted.sorted)
      if let old {
        item.change = old == bytes ? .none : .changed(old: old, bytes: bytes)
      } else {
        item.change = .new(bytes: bytes)
      }
    } catch {
      item.change = .impossible(reason: "\(error)")
    }
    return item
  }
}
