public import AgentTrace

/// The changes to one recorded run, and the cases that judge each of them.
///
/// Changes are judged in pieces, each by itself, so that cores can share them; the score is the same
/// whatever the pieces and their order.
public struct RunMutants: Sendable {
  /// A case, as far as changed runs are judged by it.
  public struct JudgingCase: Sendable {
    /// The case's name.
    public var caseId: String
    /// What it expects. What programs and models judge is passed over: they are not started for mutants.
    public var expected: Expectations
    /// What it lets pass on purpose.
    public var tolerances: [ToleratedChange]

    /// Without tolerances, it lets no change pass on purpose.
    public init(caseId: String, expected: Expectations, tolerances: [ToleratedChange] = []) {
      self.caseId = caseId
      self.expected = expected
      self.tolerances = tolerances
    }
  }

  /// What became of one change.
  public struct Fate: Sendable, Hashable {
    /// The places of the cases that notice it, ascending.
    var noticedBy: [Int]
    /// What would notice it; looked for only where nothing else explains that it passes.
    var remedy: JSONValue?
  }

  /// How changed runs are judged.
  package enum Way: Sendable {
    /// What comes before the first change is folded once for many of them.
    case shared
    /// Each is made whole and judged from its first event: what the other way is tested against.
    case plain
  }

  /// The most events of a run that is changed: it is kept in memory.
  public static let eventLimit = 100_000
  /// Changes that are judged together.
  private static let pieceLength = 64

  private let log: String
  private let events: [Event]
  private let cases: [JudgingCase]
  /// Cases that take no part, and why.
  public let leftOut: [MutationScore.LeftOut]
  private let mutants: [Mutant]
  /// The mutants by where they begin to differ from the run, the earliest first.
  private let order: [Int]
  private let plan: FoldPlan
  private let original: Trajectory

  /// Changes a run in every way there is.
  ///
  /// - Parameters:
  ///   - log: what the score calls the run: the path of its log.
  ///   - events: the run, as it was recorded.
  ///   - cases: those that judge each change; one that asks only programs or models takes no part.
  ///   - limit: changes at most; spread evenly over all of them where there are more.
  /// - Complexity: O(events) for each case.
  public init(log: String, of events: [Event], judgedBy cases: [JudgingCase], limit: Int) {
    self.log = log
    var kept: [JudgingCase] = []
    var leftOut: [MutationScore.LeftOut] = []
    // Numbered as changed runs are.
    var numbered = events
    for seq in numbered.indices { numbered[seq].seq = seq }
    for var one in cases {
      one.expected = one.expected.withoutOutsiders
      let why: String?
      if one.expected.isEmpty {
        why = "programs or models judge all of it"
      } else {
        let outcome = RunFold(of: numbered, for: one.expected).outcome(one.expected)
        why = outcome == .pass ? nil : "the run as it was recorded is “\(outcome.rawValue)”"
      }
      if let why {
        leftOut.append(MutationScore.LeftOut(caseId: one.caseId, log: log, why: why))
      } else {
        kept.append(one)
      }
    }
    self.cases = kept
    self.leftOut = leftOut
    self.events = numbered
    original = Trajectory(of: numbered)
    plan = FoldPlan(kept.map(\.expected), numbered)
    guard !kept.isEmpty else {
      (mutants, order) = ([], [])
      return
    }
    let all = MutantMaker(events).mutants()
    // Every n-th, so that a long run's end is looked at as well as its beginning.
    let chosen =
      all.count <= limit ? all : (0..<max(0, limit)).map { all[$0 * all.count / limit] }
    mutants = chosen
    let firsts = chosen.map { $0.places.first ?? 0 }
    order = chosen.indices.sorted { (firsts[$0], $0) < (firsts[$1], $1) }
  }

  /// Whether no case takes part.
  public var isEmpty: Bool { cases.isEmpty }

  /// The pieces in which the changes are judged, in order.
  public var pieces: [Range<Int>] {
    stride(from: 0, to: order.count, by: Self.pieceLength).map {
      $0..<min($0 + Self.pieceLength, order.count)
    }
  }

  /// Judges one piece.
  ///
  /// - Complexity: changes × (events behind the change + what the cases' expectations take).
  public func fates(of piece: Range<Int>) -> [Fate] { fates(of: piece, .shared) }

  package func fates(of piece: Range<Int>, _ way: Way) -> [Fate] {
    var base = plan.start
    var folded = 0
    var remedies = Remedies(events: events, original: original)
    return order[piece].map { index in
      let mutant = mutants[index]
      let fold: Folds
      switch way {
      case .shared:
        let places = mutant.places
        while folded < places.first ?? 0 {
          base.apply(events[folded], plan.wants[folded])
          folded += 1
        }
        fold = base.changed(by: mutant, at: places, of: events, plan)
      case .plain:
        let changed = mutant.events(of: events)
        fold = Folds(
          trajectory: Trajectory(of: changed),
          gathered: cases.map { RunFold(of: changed, for: $0.expected).gathered })
      }
      let noticedBy = cases.indices.filter { place in
        let gathered = fold.gathered[way == .plain ? place : plan.factsOfCase[place]]
        let expected = cases[place].expected
        return Judge.judge(
          fold.trajectory, gathered.facts.isEmpty ? nil : gathered, against: expected,
          warns: false
        ).outcome != .pass
      }
      guard noticedBy.isEmpty, tolerance(of: mutant.mutation) == nil else {
        return Fate(noticedBy: noticedBy)
      }
      return Fate(noticedBy: [], remedy: remedies.first(for: mutant, fold.trajectory))
    }
  }

  private func tolerance(of mutation: RunMutation) -> (place: Int, tolerance: ToleratedChange)? {
    for (place, one) in cases.enumerated() {
      if let found = one.tolerances.first(where: { $0.covers(mutation) }) { return (place, found) }
    }
    return nil
  }

  /// Puts together what became of all changes.
  ///
  /// - Parameter fates: those of all pieces, in order.
  public func score(_ fates: [Fate]) -> MutationScore.RunScore {
    var score = MutationScore.RunScore(log: log)
    score.cases = cases.map { MutationScore.CaseShare(caseId: $0.caseId) }
    var needed = cases.map { $0.tolerances.map { _ in false } }
    var fateOf: [Int: Fate] = [:]
    for (index, fate) in zip(order, fates) { fateOf[index] = fate }
    for (index, mutant) in mutants.enumerated() {
      guard let fate = fateOf[index] else { continue }
      let mutation = mutant.mutation
      var counts = score.kinds[mutation.kind] ?? MutationScore.Counts()
      counts.changes += 1
      for place in fate.noticedBy { score.cases[place].noticed[mutation.kind, default: 0] += 1 }
      if !fate.noticedBy.isEmpty {
        counts.noticed += 1
      } else if let (place, tolerance) = tolerance(of: mutation) {
        counts.tolerated += 1
        score.tolerated.append(
          MutationScore.Tolerated(
            mutation: mutation, caseId: cases[place].caseId, why: tolerance.why))
        for (place, one) in cases.enumerated() {
          for (number, tolerance) in one.tolerances.enumerated() where tolerance.covers(mutation) {
            needed[place][number] = true
          }
        }
      } else {
        score.survivors.append(MutationScore.Survivor(mutation: mutation, remedy: fate.remedy))
      }
      score.kinds[mutation.kind] = counts
    }
    for (place, one) in cases.enumerated() {
      score.cases[place].reasons = zip(one.tolerances, needed[place]).map { ($0.why, $1) }
    }
    return score
  }

  /// All of it, one piece after the other.
  public var score: MutationScore.RunScore { score(pieces.flatMap { fates(of: $0) }) }

  package func score(_ way: Way) -> MutationScore.RunScore {
    score(pieces.flatMap { fates(of: $0, way) })
  }
}

/// One run, folded for one set of expectations.
private struct RunFold {
  var trajectory = Trajectory()
  var gathered: GatheredFacts

  init(of events: [Event], for expected: Expectations) {
    gathered = GatheredFacts(for: expected)
    let facts = gathered.facts
    let types = facts.isEmpty ? Trajectory.types : facts.eventTypes
    for event in events {
      guard types?.contains(event.type) ?? true else {
        trajectory.passOver(event.seq)
        gathered.passOver(event.seq, step: event.step, t: event.t)
        continue
      }
      trajectory.apply(event)
      if !facts.isEmpty { gathered.apply(event) }
    }
  }

  func outcome(_ expected: Expectations) -> CaseOutcome {
    Judge.judge(trajectory, gathered.facts.isEmpty ? nil : gathered, against: expected).outcome
  }
}

/// Which events each fold of a run takes in.
private struct FoldPlan: Sendable {
  /// Nothing has happened.
  var start: Folds
  /// Which of the facts gathered each case is judged by. Cases that look at the same things share one.
  var factsOfCase: [Int] = []
  /// The types that each of them takes in; `nil` for all.
  var types: [Set<EventType>?] = []
  /// For each event who takes it in: the trajectory, then those who gather facts.
  var wants: [[Bool]] = []

  init(_ expectations: [Expectations], _ events: [Event]) {
    start = Folds(trajectory: Trajectory(), gathered: [])
    var shared: [Int: Int] = [:]
    for expected in expectations {
      let gathered = GatheredFacts(for: expected)
      let facts = gathered.facts
      // Rules on contexts are watched for one by one: such facts are its case's own.
      if !facts.contains(.contexts), let known = shared[facts.rawValue] {
        factsOfCase.append(known)
        continue
      }
      if !facts.contains(.contexts) { shared[facts.rawValue] = types.count }
      factsOfCase.append(types.count)
      types.append(facts.eventTypes)
      start.gathered.append(gathered)
    }
    var known: [EventType: [Bool]] = [:]
    wants = events.map { event in
      if let wants = known[event.type] { return wants }
      let wants = self.wants(event.type)
      known[event.type] = wants
      return wants
    }
  }

  func wants(_ type: EventType) -> [Bool] {
    [Trajectory.types.contains(type)] + types.map { $0?.contains(type) ?? true }
  }
}

/// What the cases of a run look at, folded as far as it goes.
private struct Folds: Sendable {
  var trajectory: Trajectory
  var gathered: [GatheredFacts]

  mutating func apply(_ event: Event, _ wants: [Bool]) {
    if wants[0] { trajectory.apply(event) } else { trajectory.passOver(event.seq) }
    for index in gathered.indices where wants[index + 1] { gathered[index].apply(event) }
  }

  /// These folds of what precedes a change, gone on with to the end of the changed run.
  func changed(
    by mutant: Mutant, at places: [Int], of events: [Event], _ plan: FoldPlan
  ) -> Folds {
    guard let first = places.first else { return self }
    var folds = self
    var (next, shift) = (first, 0)
    func passOn(to end: Int) {
      while next < end {
        let wants = plan.wants[next]
        if wants.contains(true) {
          if shift == 0 {
            folds.apply(events[next], wants)
          } else {
            var event = events[next]
            event.seq += shift
            folds.apply(event, wants)
          }
        } else {
          folds.trajectory.passOver(next + shift)
        }
        next += 1
      }
    }
    func take(_ event: Event, as seq: Int) {
      var event = event
      event.seq = seq
      folds.apply(event, plan.wants(event.type))
    }
    for place in places {
      passOn(to: min(place, events.count))
      for event in mutant.inserted[place] ?? [] {
        take(event, as: place + shift)
        shift += 1
      }
      guard place < events.count else { continue }
      if mutant.removed.contains(place) {
        shift -= 1
        next = place + 1
      } else if let event = mutant.replaced[place] {
        take(event, as: place + shift)
        next = place + 1
      }
    }
    passOn(to: events.count)
    return folds
  }
}

/// Looks for expectations that a run meets and a mutant does not.
private struct Remedies {
  let events: [Event]
  /// The run as it was recorded.
  let original: Trajectory
  /// What was tried on the run before: what it expects, where the run meets it.
  private var known: [JSONValue: Expectations?] = [:]
  private var gatheredByFacts: [Int: GatheredFacts] = [:]

  /// What else the run may be expected to be.
  private let others: [JSONValue]

  init(events: [Event], original: Trajectory) {
    self.events = events
    self.original = original
    others = Expectations.kinds.flatMap { $0.suggestions(for: original) }
  }

  mutating func first(for mutant: Mutant, _ trajectory: Trajectory) -> JSONValue? {
    var gatheredByFacts: [Int: GatheredFacts] = [:]
    // What was made for the change comes first, then whatever else can be expected.
    for remedy in mutant.remedies() + others {
      guard let expected = met(remedy) else { continue }
      let facts = expected.facts
      var gathered = gatheredByFacts[facts.rawValue]
      if gathered == nil, !facts.isEmpty {
        gathered = Self.gathered(of: mutant.events(of: events), for: expected)
        gatheredByFacts[facts.rawValue] = gathered
      }
      let judged = Judge.judge(trajectory, gathered, against: expected, warns: false)
      if judged.outcome == .fail { return remedy }
    }
    return nil
  }

  /// What a remedy expects; `nil` where the run as it was recorded does not meet it.
  private mutating func met(_ remedy: JSONValue) -> Expectations? {
    if let known = known[remedy] { return known }
    var found: Expectations?
    if let expected = try? Expectations(parsing: remedy) {
      let facts = expected.facts
      if gatheredByFacts[facts.rawValue] == nil, !facts.isEmpty {
        gatheredByFacts[facts.rawValue] = Self.gathered(of: events, for: expected)
      }
      let gathered = gatheredByFacts[facts.rawValue]
      let judged = Judge.judge(original, gathered, against: expected, warns: false)
      if judged.outcome == .pass { found = expected }
    }
    known[remedy] = .some(found)
    return found
  }

  private static func gathered(of events: [Event], for expected: Expectations) -> GatheredFacts {
    var gathered = GatheredFacts(for: expected)
    let types = gathered.facts.eventTypes
    for event in events {
      if types?.contains(event.type) ?? true {
        gathered.apply(event)
      } else {
        gathered.passOver(event.seq, step: event.step, t: event.t)
      }
    }
    return gathered
  }
}
