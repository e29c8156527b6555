import AgentTrace
public import EvalLoading
import FilePaths
import Glibc
public import TraceJudging
import TraceStorage

/// Changes the recorded runs of cases, and says which changes the cases notice.
public enum MutationSuite {
  /// Bytes of logs that are kept in memory at a time, before they are unpacked; one log at least.
  private static let batchBytes = 8 << 20
  private static let batchRuns = 256

  private struct Run: Sendable {
    var log: String
    var cases: [RunMutants.JudgingCase]
  }

  /// Changes each run in every way there is, and judges what comes of it by all cases that judge this run.
  /// No model is asked, and no tool or program is started.
  ///
  /// - Parameters:
  ///   - runs: each case with a log that it passes on.
  ///   - limit: changes to one run at most.
  ///   - jobs: how many pieces of work are done side by side; the score does not depend on it.
  public static func score(
    _ runs: [(evalCase: EvalCase, log: String)], limit: Int, jobs: Int
  ) -> MutationScore {
    var score = MutationScore(runs: [])
    for batch in batches(of: distinct(runs)) {
      let read = work(batch.count, jobs) { prepare(batch[$0], limit) }
      let pieces = read.indices.flatMap { run in
        (read[run].mutants?.pieces ?? []).map { (run: run, piece: $0) }
      }
      let fates = work(pieces.count, jobs) { index in
        read[pieces[index].run].mutants?.fates(of: pieces[index].piece) ?? []
      }
      var fatesOfRun: [[RunMutants.Fate]] = read.map { _ in [] }
      for (piece, fates) in zip(pieces, fates) { fatesOfRun[piece.run] += fates }
      for (run, fates) in zip(read, fatesOfRun) {
        score.leftOut += run.leftOut
        guard let mutants = run.mutants, !mutants.isEmpty else { continue }
        score.runs.append(mutants.score(fates))
      }
    }
    return score
  }

  /// Does pieces of work side by side; what comes of them has their order.
  private static func work<Made: Sendable>(
    _ count: Int, _ jobs: Int, _ make: @escaping @Sendable (Int) -> Made
  ) -> [Made] {
    let slots = ResultSlots<Made>(count: count)
    let list = WorkList(Array(0..<count))
    JobThreads.run(min(jobs, count)) {
      while let index = list.take() { slots.put(make(index), at: index) {} }
    }
    return slots.results.compactMap { $0 }
  }

  /// Each log with all cases that judge it, in the order of the first of them. One file is one log,
  /// whatever paths lead to it.
  private static func distinct(_ runs: [(evalCase: EvalCase, log: String)]) -> [Run] {
    struct File: Hashable {
      var device, inode: UInt
      var path: [UInt8]
    }
    var places: [File: Int] = [:]
    var found: [Run] = []
    for (evalCase, log) in runs {
      let file =
        fileStatus(log).map { File(device: UInt($0.st_dev), inode: UInt($0.st_ino), path: []) }
        ?? File(device: 0, inode: 0, path: Array(log.utf8))
      let one = RunMutants.JudgingCase(
        caseId: evalCase.caseId, expected: evalCase.expected, tolerances: evalCase.tolerances)
      if let place = places[file] {
        found[place].cases.append(one)
      } else {
        places[file] = found.count
        found.append(Run(log: log, cases: [one]))
      }
    }
    return found
  }

  private static func batches(of runs: [Run]) -> [[Run]] {
    var batches: [[Run]] = []
    var bytes = 0
    for run in runs {
      let size = fileStatus(run.log).map { Int($0.st_size) } ?? 0
      if batches.isEmpty || bytes + size > batchBytes
        || batches[batches.count - 1].count == batchRuns
      {
        batches.append([])
        bytes = 0
      }
      batches[batches.count - 1].append(run)
      bytes += size
    }
    return batches
  }

  private struct Prepared: Sendable {
    var mutants: RunMutants?
    var leftOut: [MutationScore.LeftOut]
  }

  private static func prepare(_ run: Run, _ limit: Int) -> Prepared {
    func none(_ why: String) -> Prepared {
      Prepared(
        leftOut: run.cases.map {
          MutationScore.LeftOut(caseId: $0.caseId, log: run.log, why: why)
        })
    }
    do {
      let events = try read(run.log)
      guard events.count <= RunMutants.eventLimit else {
        return none("the run has more than \(RunMutants.eventLimit) events")
      }
      let mutants = RunMutants(log: run.log, of: events, judgedBy: run.cases, limit: limit)
      return Prepared(mutants: mutants, leftOut: mutants.leftOut)
    } catch {
      return none("\(error)")
    }
  }

  private static func read(_ log: String) throws(LogError) -> [Event] {
    // With the runs of the agents that it called, as it is judged.
    var reader = try RunTreeReader(path: log)
    var events: [Event] = []
    while events.count <= RunMutants.eventLimit, let event = try reader.next()?.event {
      events.append(event)
    }
    return events
  }
}
