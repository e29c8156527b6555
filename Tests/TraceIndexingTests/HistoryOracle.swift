import AgentTrace
import TestSupport
import TraceJudging

/// What Docs/history.md says of a case on a branch, worked out once more, plainly, from the records.
struct HistoryOracle {
  /// What is said of one case on one branch.
  struct Told: Hashable, CustomStringConvertible {
    var caseId: String
    var branch: String?
    var state: String
    var flips: Int
    var pairs: Int
    var isInNewestRun: Bool
    /// The times of the runs.
    var failsSince: String?
    var lastPassed: String?
    /// A word for each run that has it, oldest first.
    var words: [String]

    var description: String {
      "\(caseId) on \(branch ?? "–"): \(state), \(flips) of \(pairs), newest \(isInNewestRun), "
        + "since \(failsSince ?? "–"), passed \(lastPassed ?? "–"), \(words)"
    }
  }

  private struct Seen {
    var run: SuiteRecord
    var record: CaseRecord
    var isDecided: Bool { record.outcome == .pass || record.outcome == .fail }
  }

  /// In any order of the runs, whose times all differ.
  static func told(of runs: [SuiteRecord]) -> Set<Told> {
    let sorted = runs.sorted { $0.startedAt < $1.startedAt }
    var told: Set<Told> = []
    for branch in Set(sorted.map(\.branch)) {
      let ofBranch = sorted.filter { $0.branch == branch }
      for caseId in Set(ofBranch.flatMap(\.cases).map(\.caseId)) {
        let seen = ofBranch.compactMap { run in
          run.cases.first { $0.caseId == caseId }.map { Seen(run: run, record: $0) }
        }
        told.insert(one(caseId, branch, seen, newest: ofBranch[ofBranch.count - 1]))
      }
    }
    return told
  }

  private static func one(
    _ caseId: String, _ branch: String?, _ seen: [Seen], newest: SuiteRecord
  ) -> Told {
    let last = seen[seen.count - 1]
    var told = Told(
      caseId: caseId, branch: branch, state: "unknown", flips: 0, pairs: 0,
      isInNewestRun: last.run.startedAt == newest.startedAt, words: words(seen))
    let decided = seen.filter(\.isDecided)
    told.lastPassed = decided.last { $0.record.outcome == .pass }?.run.startedAt
    told.failsSince =
      decided.first { $0.run.startedAt > told.lastPassed ?? "" }?.run.startedAt
    guard last.record.isLive else {
      if let end = decided.last {
        told.state = end.record.outcome == .pass ? "stable-pass" : "stable-fail"
      }
      return told
    }
    // Only runs with the agent and the case of the newest one, whatever stood between them.
    let current = seen.filter { areOne($0.record, last.record) }
    var all: [Character] = []
    var pools: [(commit: String?, trials: [Character])] = []
    for one in current {
      let trials = one.record.trials.compactMap { outcome -> Character? in
        outcome == .pass ? "p" : outcome == .fail ? "f" : nil
      }
      all += trials
      if let commit = one.run.commit, let place = pools.firstIndex(where: { $0.commit == commit }) {
        pools[place].trials += trials
      } else {
        pools.append((one.run.commit, trials))
      }
    }
    var isFlaky = false
    for pool in pools {
      for index in pool.trials.indices.dropFirst() {
        told.pairs += 1
        if pool.trials[index] != pool.trials[index - 1] { told.flips += 1 }
      }
      if pool.trials.contains("p"), pool.trials.contains("f") { isFlaky = true }
    }
    if isFlaky {
      told.state = "flaky"
    } else if all.count > 1, all[all.count - 1] == all[all.count - 2] {
      told.state = all[all.count - 1] == "p" ? "stable-pass" : "stable-fail"
    }
    return told
  }

  private static func words(_ seen: [Seen]) -> [String] {
    var before: Seen?
    var words: [String] = []
    for one in seen {
      var word = ""
      if one.isDecided {
        if let before, before.record.outcome != one.record.outcome {
          let isOneCommit = one.run.commit != nil && one.run.commit == before.run.commit
          if isOneCommit, !one.record.isLive {
            word = "change"
          } else if isOneCommit, areOne(one.record, before.record) {
            word = "flake"
          } else {
            word = one.record.outcome == .pass ? "fix" : "regression"
          }
        }
        before = one
      }
      words.append(word)
    }
    return words
  }

  private static func areOne(_ first: CaseRecord, _ second: CaseRecord) -> Bool {
    first.isLive == second.isLive && first.subject == second.subject
      && first.asked == second.asked
  }
}

extension HistoryOracle {
  /// Records of runs of one suite, in any order: several branches, commits, prompts and questions in turn.
  static func history(_ generator: inout Seeded) -> [SuiteRecord] {
    let count = Int.random(in: 1...30, using: &generator)
    let branches: [String?] = ["main", "topic", "e\u{301}", nil]
    let live = Int.random(in: 0...2, using: &generator)
    return (0..<count).map { number in
      let second = number < 10 ? "0\(number)" : "\(number)"
      var record = SuiteRecord(startedAt: "2026-03-01T09:00:\(second).000000Z")
      record.branch =
        branches[
          min(Int.random(in: 0...5, using: &generator), Int.random(in: 0...3, using: &generator))]
      let commit = Int.random(in: 0...5, using: &generator)
      record.commit = commit == 0 ? nil : "c\(min(commit, 3))"
      for caseId in ["a", "b", "c"] where Int.random(in: 0..<8, using: &generator) > 0 {
        record.cases.append(one(caseId, live: live, &generator))
      }
      return record
    }.shuffled(using: &generator)
  }

  private static func one(_ caseId: String, live: Int, _ generator: inout Seeded) -> CaseRecord {
    let common: [CaseOutcome] = [.pass, .pass, .pass, .fail, .inconclusive, .error]
    let steady = Bool.random(using: &generator)
    let first = common[Int.random(in: 0..<common.count, using: &generator)]
    let trials = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
      steady ? first : common[Int.random(in: 0..<common.count, using: &generator)]
    }
    let worst =
      [CaseOutcome.error, .fail, .inconclusive].first { trials.contains($0) } ?? .pass
    var record = CaseRecord(caseId: caseId, outcome: worst)
    record.trials = trials
    record.isLive = live == 0 ? false : live == 1 || Int.random(in: 0..<6, using: &generator) > 0
    record.subject = ["s", "s", "s", "other", nil][Int.random(in: 0..<5, using: &generator)]
    record.asked = ["q", "q", "q", "q", "other"][Int.random(in: 0..<5, using: &generator)]
    return record
  }
}
