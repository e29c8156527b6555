import AgentTrace

/// The runs of a tree that are held against expectations of their own, gathered event by event.
struct RunsBelow: Sendable {
  /// One of them.
  struct Held: Sendable {
    /// Which of the rules it is held against.
    var rule: Int
    /// Who it is.
    var caller: String
    /// `nil` for the root, which is judged as it is.
    var below: RunBelow?
    var trajectory = Trajectory()
    /// `nil` where its rule asks nothing beyond a trajectory.
    var gathered: GatheredFacts?
  }

  let rules: [CallerRule]
  /// The runs of which nobody knows what hangs on an order.
  var openRuns: Set<String> = []
  private(set) var held: [Held] = []
  /// Of those, the root; it hears of everything.
  private var roots: [Int] = []
  /// The others that hear of the events of a run: itself, and whoever it is below.
  private var hearers: [String: [Int]] = [:]

  init(_ rules: [CallerRule]) { self.rules = rules }

  /// What is missing of the row, of whichever log: any run of the tree may lack it.
  private var gaps: [Trajectory.Gap] = []
  private var lastSeq = -1

  /// Takes in the next event of the row.
  mutating func apply(_ event: Event) {
    if event.seq > lastSeq + 1 { gaps.append(.init(first: lastSeq + 1, last: event.seq - 1)) }
    lastSeq = max(lastSeq, event.seq)
    if let below = RunBelow(beginningWith: event) {
      if hearers[event.runId] == nil {
        hearers[event.runId] =
          (hearers[below.parentRunId] ?? []) + begin(below.caller, below)
      }
    } else if event.type == .runStarted, hearers[event.runId] == nil {
      hearers[event.runId] = []
      if !event.beginsPipeline { roots += begin("agent", nil) }
    }
    for index in roots { held[index].apply(event) }
    // What nobody knows of the tree nobody knows of any of its runs.
    for index in RunBelow.isToldToAll(event) ? Array(held.indices) : hearers[event.runId] ?? []
    where held[index].below != nil {
      held[index].apply(event)
    }
  }

  /// What is said of one of them.
  ///
  /// - Parameter root: the whole tree, which the root is judged as.
  func outcomes(of one: Held, root: Trajectory) -> [ExpectationOutcome] {
    one.outcomes(against: rules[one.rule].expectations, root: root, missing: gaps)
  }

  private mutating func begin(_ caller: String, _ below: RunBelow?) -> [Int] {
    let first = held.count
    for (index, rule) in rules.enumerated() where rule.caller.matches(caller) {
      let facts = rule.expectations.facts
      held.append(
        Held(
          rule: index, caller: caller, below: below,
          gathered: facts.isEmpty ? nil : GatheredFacts(for: rule.expectations)))
    }
    return Array(first..<held.count)
  }
}

extension RunsBelow.Held {
  fileprivate mutating func apply(_ event: Event) {
    var own = event
    if below != nil {
      guard let told = below?.event(event) else { return }
      own = told
      trajectory.skip(to: event.seq - 1)
      trajectory.apply(own)
    }
    gathered?.apply(own)
  }

  fileprivate func outcomes(
    against expectations: Expectations, root: Trajectory, missing gaps: [Trajectory.Gap]
  ) -> [ExpectationOutcome] {
    guard below != nil else {
      return Judge.judge(root, gathered, against: expectations, warns: false).outcomes
    }
    var trajectory = trajectory
    for gap in gaps { trajectory.miss(gap) }
    // What waits has stopped too; what has no stop was cut off.
    if trajectory.stop == nil, trajectory.recorded["stop"] == nil { trajectory.markTorn() }
    return Judge.judge(trajectory, gathered, against: expectations, warns: false).outcomes
  }
}

/// Judges the runs of one caller.
struct CallerJudge {
  let run: JudgedRun
  let rule: CallerRule

  func outcomes() -> [ExpectationOutcome] {
    let below = run.gathered.runsBelow
    let number = below.rules.firstIndex(of: rule)
    let runs = below.held.filter { $0.rule == number }
    let why = whyNobodyKnows(runs.map(\.caller))
    guard !runs.isEmpty else {
      if let why { return [said(.unverifiable, why)] }
      let end = run.view.trajectory.stop.map { [$0.seq] } ?? []
      return [said(.fail, "No run of “\(CallWording.short(rule.caller.text))” began.", end)]
    }
    var found: [ExpectationOutcome] = []
    for (index, one) in runs.enumerated() {
      let runId = one.below?.runId ?? run.view.trajectory.runId
      let ordered = below.openRuns.contains(runId) ? rule.expectations.ordered : []
      for var outcome in below.outcomes(of: one, root: run.view.trajectory) {
        if ordered.contains(where: { $0.says(outcome) }) { outcome.outcome = .unverifiable }
        add(outcome, of: index, among: runs.count, to: &found)
      }
    }
    if let why {
      // What one of them breaks is broken, whatever the others did.
      return found.filter { $0.outcome == .fail } + [said(.unverifiable, why)]
    }
    if let why = whyThereMayBeMore {
      for index in found.indices where found[index].outcome != .fail {
        found[index].outcome = .unverifiable
        found[index].message = "There may have been other such runs: \(why)."
      }
    }
    return found
  }

  /// Keeps of what is said of several runs the worst.
  private func add(
    _ outcome: ExpectationOutcome, of index: Int, among count: Int,
    to found: inout [ExpectationOutcome]
  ) {
    var outcome = outcome
    outcome.expectation = "\(rule.name).\(outcome.expectation)"
    if count > 1 {
      outcome.message = "In run \(index + 1) of \(count): \(outcome.message)"
    }
    guard
      let place = found.firstIndex(where: { $0.expectation.hasSameUTF8(as: outcome.expectation) })
    else {
      found.append(outcome)
      return
    }
    if outcome.outcome.gravity > found[place].outcome.gravity { found[place] = outcome }
  }

  /// Why it cannot be said what became of those that are named; `nil` where it can.
  private func whyNobodyKnows(_ known: [String]) -> String? {
    let told = Set(known.map(ByteText.init))
    var seen: Set<ByteText> = []
    let stranger = run.view.calls.lazy.map(\.caller).first { caller in
      let name = ByteText(caller)
      return seen.insert(name).inserted && !told.contains(name) && rule.caller.matches(caller)
    }
    if let stranger {
      return
        "“\(CallWording.short(stranger))” speaks in this log, but has no run of its own in it: its stop and answer are not told apart."
    }
    guard known.isEmpty, let why = whyThereMayBeMore else { return nil }
    return "Whether a run of “\(CallWording.short(rule.caller.text))” began cannot be seen: \(why)."
  }

  private var whyThereMayBeMore: String? {
    let view = run.view
    return view.mayHideCalls ? view.whyHidden : nil
  }

  private func said(
    _ outcome: Outcome, _ message: String, _ events: [Int] = []
  ) -> ExpectationOutcome {
    ExpectationOutcome(
      expectation: rule.name, outcome: outcome, events: events, message: message,
      expected: CallWording.short("a run of \(rule.caller.text)"))
  }
}

extension Outcome {
  /// How much worse it is that one of several is so.
  fileprivate var gravity: Int {
    switch self {
    case .notExercised: 0
    case .pass: 1
    case .unverifiable: 2
    case .fail: 3
    }
  }
}
