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

    /// Nothing is checked.
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
  /// What became of each case, those that need a look first, then by their names.
  public let trends: [CaseTrend]
  private let places: [[UInt8]: Int]

  /// - Parameter runs: with the records of their cases, in any order. Of two records of one case in one
  ///   run the first counts.
  /// - Complexity: O(*n* log *n*) in the records.
  public init(_ runs: [(run: Run, cases: [CaseRecord])]) {
    let sorted = runs.sorted { $0.run.precedes($1.run) }
    self.runs = sorted.map(\.run)
    var points: [[UInt8]: [CaseTrend.Point]] = [:]
    for (index, entry) in sorted.enumerated() {
      for record in entry.cases {
        let key = Array(record.caseId.utf8)
        if points[key]?.last?.index == index { continue }
        points[key, default: []].append(
          CaseTrend.Point(run: entry.run, index: index, record: record))
      }
    }
    let trends = points.values.compactMap { CaseTrend($0, runCount: sorted.count) }
    self.trends = trends.sorted { first, second in
      first.rank != second.rank
        ? first.rank < second.rank : first.caseId.precedesByUTF8(second.caseId)
    }
    var places: [[UInt8]: Int] = [:]
    for (place, trend) in self.trends.enumerated() { places[Array(trend.caseId.utf8)] = place }
    self.places = places
  }

  /// What became of a case; `nil` where no run has it.
  public func trend(of caseId: String) -> CaseTrend? {
    places[Array(caseId.utf8)].map { trends[$0] }
  }
}
