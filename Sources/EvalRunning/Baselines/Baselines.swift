import AgentTrace
public import EvalLoading
import FilePaths
import Glibc
public import TraceJudging
import TraceStorage

/// What was accepted of a set of cases, wherever that is kept.
public struct Baselines: Sendable {
  /// Where one case's baseline is found.
  private enum Source {
    /// Beside the case files.
    case beside
    /// By the bytes of the case id: a file, or why none of several can be taken.
    case files([[UInt8]: Result<String, BaselineError>])
    /// In results that were saved.
    case results([[UInt8]: AcceptedCase], whole: EvalResults)
  }

  /// What was asked for: `accepted`, or a path.
  public let name: String
  private let source: Source
  private let files: [String]
  /// Baselines that are there and cannot be read.
  private let unreadable: [BaselineError]

  private init(
    name: String, source: Source, files: [String] = [], unreadable: [BaselineError] = []
  ) {
    self.name = name
    self.source = source
    self.files = files
    self.unreadable = unreadable
  }

  /// The baselines beside the case files: `accepted/<case>.txt`.
  public init() { self.init(name: BaselineFiles.folderName, source: .beside) }

  /// Finds the baselines that a word leads to: `accepted` for those beside the case files, else a
  /// folder that holds some, or a file with the results of an earlier run, as `run --json` prints them.
  ///
  /// - Throws: ``BaselineError`` where there is nothing to compare with.
  public init(_ word: String) throws(BaselineError) {
    guard !word.hasSameUTF8(as: BaselineFiles.folderName) else {
      self.init()
      return
    }
    guard isFolder(word) else {
      self = try Baselines(resultsIn: word)
      return
    }
    let files = try BaselineFiles.all(below: word)
    guard !files.isEmpty else {
      throw BaselineError(
        path: word, message: "holds no baselines; those are made by `agent-eval accept`")
    }
    var found: [[UInt8]: Result<String, BaselineError>] = [:]
    var unreadable: [BaselineError] = []
    for path in files {
      do throws(BaselineError) {
        guard let accepted = try BaselineFiles.read(path) else { continue }
        let key = Array(accepted.caseId.utf8)
        if case .success(let first)? = found[key] {
          found[key] = .failure(
            BaselineError(path: path, line: 2, message: "the same case stands in \(first)"))
        } else {
          found[key] = .success(path)
        }
      } catch {
        unreadable.append(error)
      }
    }
    self.init(name: word, source: .files(found), files: files, unreadable: unreadable)
  }

  /// Bytes of saved results at most.
  private static let resultsLimitBytes = 256 << 20

  /// Results hold what the judge said and nothing of what the agent did.
  private init(resultsIn path: String) throws(BaselineError) {
    guard let bytes = try BaselineFiles.bytes(of: path, limit: Self.resultsLimitBytes) else {
      throw BaselineError(
        path: path,
        message: "no such file or folder; `--against accepted` takes the folders beside the cases")
    }
    let results: EvalResults
    do {
      results = try EvalResults(decoding: try JSONValue(parsing: bytes))
    } catch {
      throw BaselineError(path: path, message: "no results of `agent-eval run --json`: \(error)")
    }
    if let lack = results.lack { throw BaselineError(path: path, message: lack) }
    var found: [[UInt8]: AcceptedCase] = [:]
    for result in results.cases { found[Array(result.caseId.utf8)] = AcceptedCase(of: result) }
    for skipped in results.skipped {
      var accepted = AcceptedCase(caseId: skipped.caseId, skip: .init(reason: skipped.reason))
      accepted.holdsOutcomesAlone = true
      found[Array(skipped.caseId.utf8)] = accepted
    }
    self.init(name: path, source: .results(found, whole: results))
  }

  /// The baseline of a case; `nil` where there is none.
  ///
  /// - Throws: ``BaselineError`` where there is one that cannot be used.
  func accepted(of evalCase: EvalCase) throws(BaselineError) -> (
    accepted: AcceptedCase, path: String
  )? {
    switch source {
    case .beside:
      let path = BaselineFiles.path(of: evalCase)
      return try BaselineFiles.read(path, for: evalCase.caseId).map { ($0, path) }
    case .files(let found):
      guard let path = try found[Array(evalCase.caseId.utf8)]?.get() else {
        // It may be one of those that nobody can read; by its name it would be.
        let name = "/" + BaselineFiles.fileName(for: evalCase.caseId)
        if let error = unreadable.first(where: { $0.path.hasSuffix(name) }) { throw error }
        return nil
      }
      return try BaselineFiles.read(path, for: evalCase.caseId).map { ($0, path) }
    case .results(let found, _):
      return found[Array(evalCase.caseId.utf8)].map { ($0, name) }
    }
  }
}

// MARK: - Comparing

extension Baselines {
  /// What a comparison of a whole set of cases is asked for.
  public struct Request: Sendable {
    /// How much more a run may use.
    public var tolerance: Tolerance
    /// Whether a case without baseline fails.
    public var needsBaselines: Bool
    /// The files and folders that were named as cases.
    public var paths: [String]
    /// Whether the results are of a part of the suite, which says nothing of it as a whole.
    public var isPart = false
    /// Whether what has changed counts as worse, whatever the cases say.
    public var isStrict = false

    /// Without more, a case without baseline does not fail.
    public init(paths: [String], tolerance: Tolerance = Tolerance(), needsBaselines: Bool = false) {
      self.paths = paths
      self.tolerance = tolerance
      self.needsBaselines = needsBaselines
    }
  }

  /// Compares results with what was accepted.
  ///
  /// - Parameters:
  ///   - results: What ``EvalRunner`` made with ``EvalRunner/Options/outlinesRuns``.
  ///   - judged: The cases that they are of.
  ///   - loaded: All cases of the paths; `nil` where only some were chosen, and nobody asks for cases
  ///     that are gone.
  public func compare(
    _ results: inout EvalResults, of judged: [EvalCase], among loaded: [EvalCase]?,
    _ request: Request
  ) {
    var cases: [[UInt8]: EvalCase] = [:]
    for evalCase in judged { cases[Array(evalCase.caseId.utf8)] = evalCase }
    var settings = CaseSettings()
    for index in results.cases.indices {
      guard let evalCase = cases[Array(results.cases[index].caseId.utf8)] else { continue }
      results.cases[index].comparison = compare(
        results.cases[index].accepted(of: evalCase, &settings), evalCase, request,
        error: results.cases[index].error)
    }
    for index in results.skipped.indices {
      guard let evalCase = cases[Array(results.skipped[index].caseId.utf8)], !evalCase.isOfNoRule
      else { continue }
      results.skipped[index].comparison = compare(
        evalCase.acceptedAsSkipped(&settings), evalCase, request, error: nil)
    }
    let orphans = loaded.map { self.orphans(among: $0, paths: request.paths) } ?? Orphans()
    results.comparison = SuiteComparison(
      against: name, tolerance: request.tolerance, needsBaselines: request.needsBaselines,
      gone: orphans.gone, unusable: orphans.unusable.map(\.description))
    results.comparison?.isStrict = request.isStrict
    if case .results(_, let before) = source { weigh(&results, before, request) }
  }

  /// Where trials are held against trials, a case is worse only if it is so by more than chance.
  private func weigh(
    _ results: inout EvalResults, _ before: EvalResults, _ request: Request
  ) {
    let statistics = SuiteStatistics(before: before, now: results)
    guard statistics.isLive else { return }
    var pairs: [[UInt8]: SuiteStatistics.Pair] = [:]
    for pair in statistics.pairs { pairs[Array(pair.caseId.utf8)] = pair }
    for index in results.cases.indices {
      let result = results.cases[index]
      guard let pair = pairs[Array(result.caseId.utf8)], var comparison = result.comparison,
        comparison.kind != .notCompared
      else { continue }
      let isOther = pair.before != pair.now || pair.outcomeBefore != pair.outcomeNow
      if pair.isWorse {
        comparison.kind = .regressed
      } else if comparison.kind == .regressed {
        comparison.kind = .same
        comparison.differences = []
      }
      if isOther { comparison.reason = pair.words }
      results.cases[index].comparison = comparison
    }
    if statistics.isSuiteWorse, !request.isPart {
      results.comparison?.worsened = statistics.worsening
    }
  }

  private func compare(
    _ current: AcceptedCase, _ evalCase: EvalCase, _ request: Request, error: String?
  ) -> CaseComparison {
    do throws(BaselineError) {
      guard let found = try accepted(of: evalCase) else {
        return CaseComparison(
          kind: .new,
          reason: request.needsBaselines
            ? "nothing was accepted of it yet; agent-eval accept writes it down, to be committed beside the case"
            : nil,
          isFault: request.needsBaselines)
      }
      if error != nil {
        return CaseComparison(
          kind: .notCompared, reason: "the case could not be judged", isFault: true,
          path: found.path)
      }
      var comparison = CaseComparison(
        of: current, with: found.accepted, tolerance: request.tolerance)
      comparison.path = found.path
      if request.isStrict || evalCase.isStrict { comparison.beStrict() }
      return comparison
    } catch {
      return CaseComparison(
        kind: .notCompared, reason: error.description, isFault: true, path: error.path)
    }
  }

  // MARK: Orphans

  /// Baselines whose case is gone.
  private struct Orphans {
    /// Those that say of which case they were.
    var gone: [GoneCase] = []
    /// Those that cannot be read, and are of none of the cases.
    var unusable: [BaselineError] = []
  }

  /// Finds baselines of which there is no case any more.
  ///
  /// Where a file was named, the cases of the other files in its folder are looked at as well.
  ///
  /// - Parameters:
  ///   - loaded: All cases of the paths.
  ///   - paths: The files and folders that were named.
  private func orphans(among loaded: [EvalCase], paths: [String]) -> Orphans {
    var orphans = Orphans()
    if case .results(let found, _) = source {
      let ids = Set(loaded.map { Array($0.caseId.utf8) })
      // What was left out then was not judged then either: with it nothing is lost.
      orphans.gone = found.filter { $0.value.skip == nil && !ids.contains($0.key) }.keys
        .sorted { $0.lexicographicallyPrecedes($1) }
        .map { GoneCase(caseId: String(decoding: $0, as: UTF8.self), path: name) }
      return orphans
    }
    var files = self.files
    var cases = loaded
    var seen = PathSet()
    for path in paths {
      let isFolder = FilePaths.isFolder(path)
      let folder = isFolder ? path : RunFiles.folder(ofLog: path)
      if case .beside = source {
        let found =
          isFolder
          ? (try? BaselineFiles.all(below: folder)) ?? []
          : BaselineFiles.files(in: BaselineFiles.folder(besideFile: path)).map {
            "\(BaselineFiles.folder(besideFile: path))/\($0)"
          }
        files += found.filter { seen.insert(Self.plain($0)) }
      }
      if !isFolder { cases += CaseLoader.load([folder], areRunsElsewhere: true).cases }
    }
    let expected = PathSet(cases.map { Self.plain(BaselineFiles.path(of: $0)) })
    let ids = Set(cases.map { Array($0.caseId.utf8) })
    for path in files {
      if case .beside = source {
        // In `accepted` a file has the name of its case, and what is wrong with it is told there.
        guard !expected.contains(Self.plain(path)) else { continue }
        guard
          path.hasSuffix("/" + BaselineFiles.folderName + "/" + Self.last(path))
            || path.hasPrefix(BaselineFiles.folderName + "/")
        else { continue }
      }
      do throws(BaselineError) {
        guard let accepted = try BaselineFiles.read(path) else { continue }
        if case .files = source, ids.contains(Array(accepted.caseId.utf8)) { continue }
        orphans.gone.append(GoneCase(caseId: accepted.caseId, path: path))
      } catch {
        let isOfCase = cases.contains {
          path.hasSuffix("/" + BaselineFiles.fileName(for: $0.caseId))
        }
        if case .files = source, isOfCase { continue }
        orphans.unusable.append(error)
      }
    }
    return orphans
  }

  private static func last(_ path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.index(after: $0)...]) }
      ?? path
  }

  /// A path without what changes nothing, so that two that lead to one place are the same.
  private static func plain(_ path: String) -> String {
    realpath(path) ?? path
  }
}

// MARK: - What would be accepted

extension AcceptedCase {
  /// What saved results tell of a case. One that could not be judged then has no runs, so that it counts
  /// as new.
  fileprivate init(of result: CaseResult) {
    self.init(caseId: result.caseId)
    holdsOutcomesAlone = true
    runs =
      result.error != nil
      ? []
      : result.trials.map { trial in
        var run = AcceptedRun(outcome: trial.outcome)
        run.checks = trial.judgement.outcomes.map(AcceptedRun.Check.init)
        return run
      }
  }
}

extension CaseResult {
  /// What a baseline would hold of this result. Runs stand in the order in which they were judged.
  ///
  /// - Parameter settings: what was read of agents already.
  public func accepted(of evalCase: EvalCase, _ settings: inout CaseSettings) -> AcceptedCase {
    var accepted = AcceptedCase(
      caseId: evalCase.caseId, asked: evalCase.expected.asked, runs: trials.compactMap(\.outline))
    accepted.setting = settings.setting(of: evalCase)
    return accepted
  }
}

extension EvalCase {
  /// What a baseline would hold of this case where it is left out.
  ///
  /// - Parameter settings: what was read of agents already.
  public func acceptedAsSkipped(_ settings: inout CaseSettings) -> AcceptedCase {
    var accepted = AcceptedCase(caseId: caseId, skip: skip, asked: expected.asked)
    accepted.setting = settings.setting(of: self)
    return accepted
  }
}
