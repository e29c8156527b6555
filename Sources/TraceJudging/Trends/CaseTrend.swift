public import AgentTrace

/// What became of one case over the runs of its suite on one branch.
///
/// Where a case is judged from recorded runs there is no chance in it: another outcome means that
/// something was changed. Where its agent is run live, both outcomes at one commit, one agent, one model
/// and one case are chance, and the case is flaky.
public struct CaseTrend: Sendable {
  /// What can be said of a case by now. Raw values are the wire format.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// It passes: seen once where it is judged from recordings, in two trials on end where it is live.
    case stablePass = "stable-pass"
    /// It fails, likewise.
    case stableFail = "stable-fail"
    /// It did both, and nothing was changed between.
    case flaky
    /// Too little was seen of it as it is now.
    case unknown
  }

  /// What another outcome than before means. Raw values are the wire format.
  public enum Flip: String, Sendable, Hashable, CaseIterable {
    /// It passed before.
    case regression
    /// It failed before.
    case fix
    /// It was judged from recordings, at the same commit: the recording, the case or the program is
    /// another one.
    case change
    /// It was run live, and nothing was changed.
    case flake
  }

  /// The case in one run of the suite.
  public struct Point: Sendable, Hashable {
    /// The run of the suite.
    public var run: SuiteHistory.Run
    /// Which one of all runs it is, from 0.
    public var index: Int
    /// What became of the case.
    public var record: CaseRecord
    /// What it means that its outcome is another one than the last that was decided; `nil` where it is
    /// the same, decides nothing or is the first.
    public var flip: Flip?
  }

  /// The case's name.
  public let caseId: String
  /// The case in each run that has it, oldest first; never empty.
  public let points: [Point]
  /// The newest of them.
  public let newest: Point
  /// What can be said of it.
  public let state: State
  /// How often a trial came out otherwise than the one before it with nothing changed between, of how
  /// many such pairs there are; both 0 where the case is judged from recordings.
  public let flips: Int
  /// How many pairs of consecutive trials there are with nothing changed between.
  public let pairs: Int
  /// The first run that it failed in since it last passed; `nil` where it passes, or nothing is decided.
  public let firstFailing: Point?
  /// The last run that it passed in; `nil` where there is none.
  public let lastPassing: Point?
  /// Whether the newest run of the suite on its branch has it.
  public let isInNewestRun: Bool

  /// The branch of all its runs; `nil` where that is not known.
  public var branch: String? { newest.run.branch }

  /// Flips by pairs; `nil` without pairs.
  public var flipRate: Double? { pairs == 0 ? nil : Double(flips) / Double(pairs) }

  /// - Parameters:
  ///   - points: in the order of their runs, all of one branch.
  ///   - newestRun: which one of all runs is the newest of the branch, from 0.
  /// - Returns: `nil` without points.
  public init?(_ points: [Point], newestRun: Int) {
    guard let newest = points.last else { return nil }
    caseId = newest.record.caseId
    isInNewestRun = newest.index == newestRun
    self.points = Self.flipped(points)
    self.newest = self.points.last ?? newest
    lastPassing = points.last { $0.record.outcome == .pass }
    var firstFailing: Point?
    for point in self.points.reversed() where point.record.isDecided {
      guard point.record.outcome == .fail else { break }
      firstFailing = point
    }
    self.firstFailing = firstFailing
    // What is known of another agent, or of a case that asked something else, is known of another thing.
    // What was tried between takes nothing away from it.
    let current = points.filter { $0.record.isSameThing(as: newest.record) }
    (flips, pairs) = newest.record.isLive ? Self.flips(in: current) : (0, 0)
    state = Self.state(of: newest.record.isLive ? current : points, flips: flips)
  }

  /// What needs a look comes first.
  var rank: Int {
    switch (newest.record.outcome, state) {
    case (.fail, _): 0
    case (.error, _): 1
    case (_, .stableFail): 2
    case (_, .flaky): 3
    case (.inconclusive, _): 4
    case (_, .unknown): 5
    case (.pass, .stablePass): 6
    }
  }

  // MARK: Counting

  private static func flipped(_ points: [Point]) -> [Point] {
    var points = points
    var before: Point?
    for index in points.indices where points[index].record.isDecided {
      let now = points[index]
      if let before, before.record.outcome != now.record.outcome {
        let isSameCommit = isSameCommit(before.run, now.run)
        if isSameCommit, now.record.isLive, now.record.isSameThing(as: before.record) {
          points[index].flip = .flake
        } else if isSameCommit, !now.record.isLive {
          points[index].flip = .change
        } else {
          points[index].flip = now.record.outcome == .fail ? .regression : .fix
        }
      }
      before = now
    }
    return points
  }

  /// Whether two runs judged one commit: not where that is not known.
  private static func isSameCommit(_ first: SuiteHistory.Run, _ second: SuiteHistory.Run) -> Bool {
    guard let first = first.commit, let second = second.commit else { return false }
    return first.hasSameUTF8(as: second)
  }

  /// Trials with nothing changed between: those of one run, and those of runs at one commit.
  private static func groups(of points: [Point]) -> [[CaseOutcome]] {
    var groups: [[CaseOutcome]] = []
    var places: [[UInt8]: Int] = [:]
    for point in points {
      let decided = point.record.trials.filter { $0 == .pass || $0 == .fail }
      if let commit = point.run.commit, let place = places[Array(commit.utf8)] {
        groups[place] += decided
        continue
      }
      if let commit = point.run.commit { places[Array(commit.utf8)] = groups.count }
      groups.append(decided)
    }
    return groups
  }

  private static func flips(in points: [Point]) -> (flips: Int, pairs: Int) {
    var (flips, pairs) = (0, 0)
    for group in groups(of: points) where group.count > 1 {
      pairs += group.count - 1
      flips += zip(group, group.dropFirst()).count { $0 != $1 }
    }
    return (flips, pairs)
  }

  private static func state(of points: [Point], flips: Int) -> State {
    if flips > 0 { return .flaky }
    let isLive = points.last?.record.isLive ?? false
    // Spelled out: as one expression the compiler looks for its types for seven seconds.
    let outcomes: [CaseOutcome] =
      if isLive { points.flatMap(\.record.trials) } else { points.map(\.record.outcome) }
    let decided = outcomes.filter { (outcome: CaseOutcome) in
      outcome == .pass || outcome == .fail
    }
    guard let last = decided.last else { return .unknown }
    let streak = decided.reversed().prefix { $0 == last }.count
    guard !isLive || streak > 1 else { return .unknown }
    return last == .pass ? .stablePass : .stableFail
  }
}

extension CaseRecord {
  /// Whether it passed or failed.
  var isDecided: Bool { outcome == .pass || outcome == .fail }

  /// Whether agent, model, policy, tools, input and expectations are the same, as far as records say.
  func isSameThing(as other: CaseRecord) -> Bool {
    func isSame(_ first: String?, _ second: String?) -> Bool {
      switch (first, second) {
      case (nil, nil): true
      case (let first?, let second?): first.hasSameUTF8(as: second)
      default: false
      }
    }
    return isLive == other.isLive && isSame(subject, other.subject) && isSame(asked, other.asked)
  }
}

// MARK: Wire form

extension CaseTrend {
  /// The wire form: a line of `agent-eval history --json`.
  public var json: JSONValue {
    var object: JSONObject = [
      "caseId": .string(caseId), "state": .string(state.rawValue),
      "live": .bool(newest.record.isLive),
      "outcomes": JSONValue(points.map(\.record.outcome.rawValue)),
      "flips": JSONValue(flips), "pairs": JSONValue(pairs),
      "inNewestRun": .bool(isInNewestRun), "newest": newest.json,
    ]
    object["branch"] = branch.map(JSONValue.string)
    object["flipRate"] = flipRate.map { JSONValue($0) }
    object["firstFailing"] = firstFailing?.json
    object["lastPassing"] = lastPassing?.json
    return .object(object)
  }
}

extension CaseTrend.Point {
  /// The wire form: a line of `agent-eval history CASE --json`.
  public var json: JSONValue {
    var object = record.json.objectValue ?? [:]
    object["file"] = .string(run.path)
    object["startedAt"] = .string(run.startedAt)
    object["commit"] = run.commit.map(JSONValue.string)
    object["branch"] = run.branch.map(JSONValue.string)
    object["flip"] = flip.map { .string($0.rawValue) }
    if record.isLive, let rate = record.rate.rate {
      object["rate"] = JSONValue(rate)
      object["interval"] = record.rate.interval().json
    }
    return .object(object)
  }
}
