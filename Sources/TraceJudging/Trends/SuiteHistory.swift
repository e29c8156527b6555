import AgentTrace

/// Runs of suites in the order of their time, and what became of each case over them.
public struct SuiteHistory: Sendable {
  /// One run of a suite.
  public struct Run: Sendable, Hashable {
    /// The file of its record, relative to the folder of the history.
    public var path: String
    /// When it began, in UTC.
    public var startedAt: String
    /// How long it took.
    public var elapsedMicroseconds = 0
    /// The commit that was judged; `nil` where nobody knows.
    public var commit: String?
    /// The branch of that commit; `nil` where nobody knows.
    public var branch: String?
    /// How many cases passed.
    public var pass = 0
    /// How many failed.
    public var fail = 0
    /// How many are inconclusive.
    public var inconclusive = 0
    /// How many could not be judged.
    public var error = 0
    /// How many were left out.
    public var skipped = 0

    /// A run of which no case is counted yet.
    public init(path: String, startedAt: String) {
      self.path = path
      self.startedAt = startedAt
    }

    /// Cases that were judged, or should have been.
    public var cases: Int { pass + fail + inconclusive + error }

    /// By time, then by commit, then by the name of the file: clocks may say the same twice.
    public func precedes(_ other: Run) -> Bool {
      for (mine, its) in [
        (startedAt, other.startedAt), (commit ?? "", other.commit ?? ""), (path, other.path),
      ] where !mine.hasSameUTF8(as: its) {
        return mine.precedesByUTF8(its)
      }
      return false
    }
  }

  /// The runs, oldest first.
  public let runs: [Run]
  /// What became of each case on each branch, what needs a look first, then by names of cases, then of
  /// branches.
  public let trends: [CaseTrend]
  private let places: [[UInt8]: [Int]]

  /// Runs on one branch, or on one that nobody knows.
  private struct Place: Hashable {
    var branch: [UInt8]?
    var caseId: [UInt8]
  }

  /// - Parameter runs: with the records of their cases, in any order. Of two records of one case in one
  ///   run the first counts.
  /// - Complexity: O(*n* log *n*) in the records.
  public init(_ runs: [(run: Run, cases: [CaseRecord])]) {
    let sorted = runs.sorted { $0.run.precedes($1.run) }
    self.runs = sorted.map(\.run)
    var points: [Place: [CaseTrend.Point]] = [:]
    var newestRuns: [[UInt8]?: Int] = [:]
    for (index, entry) in sorted.enumerated() {
      let branch = entry.run.branch.map { Array($0.utf8) }
      newestRuns[branch] = index
      for record in entry.cases {
        let place = Place(branch: branch, caseId: Array(record.caseId.utf8))
        if points[place]?.last?.index == index { continue }
        points[place, default: []].append(
          CaseTrend.Point(run: entry.run, index: index, record: record))
      }
    }
    let trends = points.compactMap { place, points in
      CaseTrend(points, newestRun: newestRuns[place.branch] ?? 0)
    }
    self.trends = trends.sorted(by: Self.stands)
    var places: [[UInt8]: [Int]] = [:]
    for (place, trend) in self.trends.enumerated() {
      places[Array(trend.caseId.utf8), default: []].append(place)
    }
    self.places = places
  }

  private static func stands(_ first: CaseTrend, before second: CaseTrend) -> Bool {
    if first.rank != second.rank { return first.rank < second.rank }
    if !first.caseId.hasSameUTF8(as: second.caseId) {
      return first.caseId.precedesByUTF8(second.caseId)
    }
    switch (first.branch, second.branch) {
    case (let first?, let second?): return first.precedesByUTF8(second)
    case (let first, let second): return first == nil && second != nil
    }
  }

  /// What became of a case on each branch, the one where it was judged last first; empty where no run
  /// has it.
  public func trends(of caseId: String) -> [CaseTrend] {
    (places[Array(caseId.utf8)] ?? []).map { trends[$0] }.sorted {
      $0.newest.index > $1.newest.index
    }
  }

  /// What became of a case on the branch where it was judged last; `nil` where no run has it.
  public func trend(of caseId: String) -> CaseTrend? { trends(of: caseId).first }
}
