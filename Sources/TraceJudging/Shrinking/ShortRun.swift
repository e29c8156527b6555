public import AgentTrace

/// A failing run, shortened as far as it still fails in the same way.
public struct ShortRun: Sendable {
  /// What the run breaks, as the `expected` of a case: that and as little else as may be.
  public private(set) var expected: JSONValue
  /// What of it the run does not meet: the judge's words on the shortened run.
  public private(set) var failures: [ExpectationOutcome]
  /// The shortened run.
  public private(set) var events: [Event]
  /// How many calls are proposed, in the run as it was recorded and in the shortened one.
  public private(set) var calls: (before: Int, after: Int)
  /// How often a shorter run was judged.
  public private(set) var judgements = 0
  /// Whether the search was given up before nothing more could be left out.
  public private(set) var isCutShort = false

  /// How many events are judged in all before the search is given up.
  private static let eventLimit = 20_000_000

  /// Shortens a run by delta debugging: steps first, then single calls and turns of the model; each
  /// shorter run is judged again. What remains is as it was recorded, except that decisions no longer hold
  /// calls that were left out, packets no longer speak of them, and events are numbered anew.
  ///
  /// - Parameters:
  ///   - events: the whole run, numbered from 0 without gaps.
  ///   - expectations: what it may break; programs and models are not asked.
  ///   - isShortened: whether anything is left out at all.
  /// - Returns: `nil` where the run breaks none of them.
  public init?(
    of events: [Event], breaking expectations: Expectations, isShortened: Bool = true
  ) {
    guard let expected = BrokenExpectations.json(of: expectations, events),
      let parsed = try? Expectations(parsing: expected),
      let failure = RunFailure(of: events, against: parsed)
    else { return nil }
    self.expected = expected
    let run = RunParts(events)
    let all = Array(run.parts.indices)
    calls = (run.calls(among: all), run.calls(among: all))
    self.events = events
    failures = RunFailure.failing(events, parsed)
    guard isShortened else { return }
    var search = Search(run: run, failure: failure, eventLimit: Self.eventLimit)
    let left = search.parts()
    judgements = search.judgements
    isCutShort = search.isOver
    calls.after = run.calls(among: left)
    self.events = RunRewriting.events(of: run, with: left, failure)
    failures = RunFailure.failing(self.events, parsed)
  }
}

/// The search for the fewest parts with which a run fails in the same way.
private struct Search {
  let run: RunParts
  let failure: RunFailure
  let eventLimit: Int
  private let anchors: Set<Int>
  private(set) var judgements = 0
  private var judgedEvents = 0
  /// Parts that were found not to suffice: by steps and by parts, and once more at the end, the same is asked again.
  private var failed: Set<[Int]> = []

  var isOver: Bool { judgedEvents > eventLimit }

  init(run: RunParts, failure: RunFailure, eventLimit: Int) {
    self.run = run
    self.failure = failure
    self.eventLimit = eventLimit
    var anchors: Set<Int> = []
    // The last turn says how the run ended, and its stop rests on it.
    if let last = run.parts.indices.last, run.parts[last].isTurn { anchors.insert(last) }
    if let stop = run.lastStop, failure.shows(at: stop) {
      anchors.formUnion(StopCause.parts(of: run))
    }
    self.anchors = anchors
  }

  mutating func parts() -> [Int] {
    var left = Array(run.parts.indices)
    // Whole steps, then what is left of them one by one, until neither gives way.
    while true {
      let before = left.count
      for isByStep in [true, false] { left = least(of: left, isByStep: isByStep) }
      if left.count == before || isOver { return left }
    }
  }

  private mutating func least(of parts: [Int], isByStep: Bool) -> [Int] {
    let free = parts.filter { !anchors.contains($0) }
    var groups: [[Int]] = []
    for part in free {
      if isByStep, let last = groups.last?.last, run.parts[last].step == run.parts[part].step {
        groups[groups.count - 1].append(part)
      } else {
        groups.append([part])
      }
    }
    let kept = parts.filter(anchors.contains)
    let left = DeltaDebugging.least(of: groups) { groups in
      suffices((groups.flatMap { $0 } + kept).sorted())
    }
    return (left.flatMap { $0 } + kept).sorted()
  }

  private mutating func suffices(_ parts: [Int]) -> Bool {
    // What is not asked any more is taken to be needed.
    guard !isOver, !failed.contains(parts) else { return false }
    let (events, places) = run.run(of: parts)
    judgements += 1
    judgedEvents += events.count
    if failure.isShown(by: events, places) { return true }
    failed.insert(parts)
    return false
  }
}
