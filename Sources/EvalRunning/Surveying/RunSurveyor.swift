import AgentTrace
public import TraceJudging
import TraceStorage

/// Looks at many runs, one after another: at a glance, and for what they have in common.
public struct RunSurveyor: Sendable {
  /// What was seen.
  public private(set) var survey = Survey()
  /// What the runs of each group have in common; only where that was asked for.
  public private(set) var rules: [(group: Survey.Group?, rules: MinedRules)] = []

  /// More groups than this get one set of rules together.
  private static let groupLimit = 500

  /// Looks at runs.
  ///
  /// - Parameters:
  ///   - minesRules: whether rules are looked for, for which every run is read twice.
  ///   - progress: told how many were read.
  /// - Complexity: one run is held in memory at a time; of each its name and the order of its tools stay.
  public init(_ runs: [FoundRun], minesRules: Bool, progress: (Int) -> Void = { _ in }) {
    var mined: [Survey.Group: MinedRules] = [:]
    var all = MinedRules()
    // Of each run that could be read its group.
    var groups: [Int: Survey.Group] = [:]
    for (index, run) in runs.enumerated() {
      progress(index)
      do {
        let profile = try Self.profile(of: run)
        survey.add(profile)
        guard minesRules else { continue }
        let group = profile.group
        groups[index] = group
        mined[group, default: MinedRules()].gather(profile)
        all.gather(profile)
      } catch {
        survey.add(unreadable: run.name, "\(error)")
      }
    }
    guard minesRules, survey.runs > 0 else { return }
    let isOne = mined.count == 1 || mined.count > Self.groupLimit
    if isOne { mined = [:] }
    all.prepare()
    for group in mined.keys { mined[group]?.prepare() }
    for (index, run) in runs.enumerated() {
      guard let group = groups[index], case .success(let log) = run.log else { continue }
      progress(index)
      do {
        let asked = isOne ? all.asked : mined[group]?.asked ?? Expectations()
        let read = try RecordedRun(path: log, for: asked)
        if isOne {
          all.judge(read.trajectory, read.gathered)
        } else {
          mined[group]?.judge(read.trajectory, read.gathered)
        }
      } catch {
        // It could be read a moment ago.
        survey.add(unreadable: run.name, "\(error)")
      }
    }
    rules =
      isOne
      ? [(nil, all)]
      : survey.groupsByRuns.compactMap { entry in mined[entry.group].map { (entry.group, $0) } }
  }

  private static func profile(of run: FoundRun) throws -> RunProfile {
    let log = try run.log.get()
    var profile = RunProfile(name: run.name)
    let read = try RecordedRun(path: log, for: RunProfile.common)
    profile.apply(read.trajectory, read.gathered)
    if read.source == "tree" {
      try apply(tree: log, to: &profile)
      return profile
    }
    var reader = try LogReader(path: log)
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head else { continue }
      switch type {
      case .runStarted:
        if let event = try reader.event(withOnly: ["agent", "source"]) {
          profile.apply(runStarted: event.data)
        }
      case .modelResult:
        if let event = try reader.event(withOnly: ["usage", "cost"]) {
          profile.apply(modelResult: event.data)
        }
      default: break
      }
    }
    return profile
  }

  /// Takes in what a run used with those that it called.
  private static func apply(tree log: String, to profile: inout RunProfile) throws {
    var reader = try RunTreeReader(path: log)
    while let event = try reader.next()?.event {
      switch event.type {
      case .runStarted: profile.apply(runStarted: event.data)
      case .modelResult: profile.apply(modelResult: event.data)
      default: break
      }
    }
  }
}
