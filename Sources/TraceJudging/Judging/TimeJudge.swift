import AgentTrace
import TraceMatching

/// Judges one rule about time.
///
/// What a log does not show may hold any number of any moments, so each question has three answers.
struct TimeJudge {
  private let judge: JudgedRun
  private let rule: TimeRule
  private let name: String
  /// What the rule speaks of, or speaks against.
  private let moments: Occurrences
  /// What they are before, after, until.
  private let others: Occurrences
  private let hiddenMoments: [Hidden]
  private let hiddenOthers: [Hidden]

  init(_ judge: JudgedRun, _ rule: TimeRule, _ name: String) {
    self.judge = judge
    self.rule = rule
    self.name = name
    // A call of unknown effect may have run: that breaks a rule against it, and meets none for it.
    let isAgainst = rule.claim == .never || rule.claim == .only
    moments = Occurrences(
      judge.occurrences(of: rule.moments, unknownCounts: isAgainst, others: rule.claim == .only))
    others = Occurrences(judge.occurrences(of: rule.others, unknownCounts: rule.claim == .expect))
    hiddenMoments = judge.hidden(rule.moments)
    hiddenOthers = rule.others.isEmpty ? [] : judge.hidden(rule.others)
  }

  func outcome() -> ExpectationOutcome {
    switch (rule.claim, rule.relation) {
    case (.eventually, _): eventually()
    case (.expect, .before): expect(isBefore: true)
    case (.expect, _): expect(isBefore: false)
    case (_, nil): never()
    case (_, .after): neverAfter()
    case (_, .before): neverBefore(isStrong: false)
    case (_, .until): neverBefore(isStrong: true)
    }
  }

  // MARK: Wording

  private func outcome(
    _ outcome: Outcome, _ events: [Int], _ message: String, _ actual: String? = nil
  ) -> ExpectationOutcome {
    ExpectationOutcome(
      expectation: name, outcome: outcome, events: events, message: message,
      expected: CallWording.short(rule.description), actual: actual)
  }

  private func hiddenOutcome(_ occurrence: Occurrence? = nil) -> ExpectationOutcome {
    if let occurrence {
      return outcome(
        .unverifiable, occurrence.events, "Whether this is such a moment cannot be seen.",
        text(occurrence))
    }
    let isKnown = !judge.view.gaps.isEmpty || judge.view.lacksCalls
    let why = isKnown ? judge.view.whyHidden : "that channel was not recorded"
    return outcome(.unverifiable, [], "This cannot be seen: \(why).")
  }

  private func text(_ occurrence: Occurrence) -> String {
    guard let call = occurrence.call else {
      return "event \(occurrence.seq)"
    }
    return CallWording.of(judge.view.calls[call])
  }

  /// The end of what can be seen.
  private var end: [Int] { judge.view.trajectory.stop.map { [$0.seq] } ?? [] }

  private func certain(_ occurrences: Occurrences) -> Occurrence? {
    occurrences.all.first { $0.answer == .yes }
  }

  // MARK: Without another moment

  private func eventually() -> ExpectationOutcome {
    func isInTime(_ step: Int) -> Bool { rule.within.map { step <= $0 } ?? true }
    if let found = moments.all.first(where: {
      $0.answer == .yes && isInTime($0.steps.upperBound)
    }) {
      return outcome(.pass, found.events, "It happened at event \(found.seq).", text(found))
    }
    if let found = moments.all.first(where: { isInTime($0.steps.lowerBound) }) {
      return hiddenOutcome(found)
    }
    if hiddenMoments.contains(where: { isInTime(judge.gathered.step(before: $0.first)) }) {
      return hiddenOutcome()
    }
    if let late = certain(moments) {
      return outcome(
        .fail, late.events, "It happened at event \(late.seq), in step \(late.steps.upperBound).",
        text(late))
    }
    return outcome(.fail, end, "It never happened.")
  }

  private func never() -> ExpectationOutcome {
    if let found = certain(moments) {
      return outcome(.fail, found.events, "It happened at event \(found.seq).", text(found))
    }
    if let found = moments.all.first { return hiddenOutcome(found) }
    if !hiddenMoments.isEmpty { return hiddenOutcome() }
    return outcome(.pass, [], "It never happened.")
  }

  // MARK: never … after …

  private func neverAfter() -> ExpectationOutcome {
    var possible: Occurrence?
    for moment in moments.all {
      if let other = neighbour(of: moment, in: others, isBefore: true, certainly: true) {
        if moment.answer == .yes {
          return outcome(
            .fail, other.events + moment.events,
            "Event \(moment.seq) came after event \(other.seq).", text(moment))
        }
        possible = possible ?? moment
      } else if neighbour(of: moment, in: others, isBefore: true, certainly: false) != nil
        || mayHide(hiddenOthers, before: moment)
      {
        possible = possible ?? moment
      }
    }
    if let possible { return hiddenOutcome(possible) }
    for hole in hiddenMoments {
      let mayFollow = others.all.contains { other in
        (hole.last.map { $0 > other.span.lowerBound } ?? true)
          && isNear(judge.gathered.step(before: hole.first), after: other.steps.upperBound)
      }
      // One event that is hidden is not both.
      let mayFollowHidden = hiddenOthers.contains { other in
        hole.last.map { $0 > other.first } ?? true
      }
      if mayFollow || mayFollowHidden { return hiddenOutcome() }
    }
    return exercised("It never happened after that.")
  }

  /// The outcome where nothing is wrong: whether the condition arose decides.
  private func exercised(_ message: String) -> ExpectationOutcome {
    if let other = certain(others) { return outcome(.pass, other.events, message) }
    if let other = others.all.first { return hiddenOutcome(other) }
    if !hiddenOthers.isEmpty { return hiddenOutcome() }
    return outcome(.notExercised, [], "The moment that this speaks of never came.")
  }

  // MARK: never … before …, never … until …

  private func neverBefore(isStrong: Bool) -> ExpectationOutcome {
    var possible: Occurrence?
    for moment in moments.all
    where neighbour(of: moment, in: others, isBefore: true, certainly: true) == nil {
      let mayBeFine =
        neighbour(of: moment, in: others, isBefore: true, certainly: false) != nil
        || mayHide(hiddenOthers, before: moment)
      if moment.answer == .yes, !mayBeFine {
        return outcome(
          .fail, moment.events, "Event \(moment.seq) came with nothing of that before it.",
          text(moment))
      }
      possible = possible ?? moment
    }
    // It never comes, whatever else is hidden.
    if isStrong, others.all.isEmpty, hiddenOthers.isEmpty {
      return outcome(.fail, end, "The moment until which this holds never came.")
    }
    if let possible { return hiddenOutcome(possible) }
    let first = others.all.lazy.filter { $0.answer == .yes }.map(\.span.upperBound).min()
    if hiddenMoments.contains(where: { hole in first.map { $0 >= hole.first } ?? true }) {
      return hiddenOutcome()
    }
    if isStrong, first == nil {
      return others.all.first.map(hiddenOutcome) ?? hiddenOutcome()
    }
    return exercised("It never happened before that.")
  }

  // MARK: expect … before …, expect … after …

  private func expect(isBefore: Bool) -> ExpectationOutcome {
    var (possible, witness): (Occurrence?, [Int]?)
    for other in others.all {
      if let moment = neighbour(of: other, in: moments, isBefore: isBefore, certainly: true) {
        if other.answer == .yes { witness = witness ?? moment.events + other.events }
        continue
      }
      let mayBeThere =
        neighbour(of: other, in: moments, isBefore: isBefore, certainly: false) != nil
        || (isBefore ? mayHide(hiddenMoments, before: other) : mayHide(hiddenMoments, after: other))
      if other.answer == .yes, !mayBeThere {
        return outcome(
          .fail, other.events + (isBefore ? [] : end),
          "Event \(other.seq) has nothing of that \(isBefore ? "before" : "after") it"
            + (rule.within.map { " within \(Figures.count($0, "step"))" } ?? "") + ".",
          text(other))
      }
      possible = possible ?? other
    }
    if let possible { return hiddenOutcome(possible) }
    // A hidden other is fine only where a moment is sure to stand on the right side of it, and near enough
    // wherever in the hole it is.
    for hole in hiddenOthers {
      let isCovered = moments.all.contains { moment in
        guard moment.answer == .yes else { return false }
        guard isBefore else {
          return hole.last.map { moment.span.lowerBound > $0 } ?? false
            && isNear(moment.steps.upperBound, after: judge.gathered.step(before: hole.first))
        }
        guard moment.span.upperBound < hole.first else { return false }
        guard rule.within != nil else { return true }
        // What is hidden stands at most in the step that is seen next.
        return hole.last.map { last in
          let step = judge.gathered.step(after: last) ?? judge.gathered.step(before: .max)
          return isNear(step, after: moment.steps.lowerBound)
        } ?? false
      }
      if !isCovered { return hiddenOutcome() }
    }
    if let witness { return outcome(.pass, witness, "It did.") }
    return exercised("It did.")
  }

  // MARK: Neighbours

  /// A place of a list that stands before or after another, near enough: for certain, or perhaps.
  private func neighbour(
    of occurrence: Occurrence, in list: Occurrences, isBefore: Bool, certainly: Bool
  ) -> Occurrence? {
    func suits(_ candidate: Occurrence) -> Bool {
      guard !certainly || candidate.answer == .yes else { return false }
      let (left, right) = isBefore ? (candidate, occurrence) : (occurrence, candidate)
      let answer = Trilean.both(judge.isBefore(left, right), isNear(right, after: left))
      return certainly ? answer == .yes : answer != .no
    }
    if let found = list.unplaced.first(where: suits) { return found }
    // The others are sorted: look from the nearest outwards.
    let placed = list.placed
    guard isBefore else {
      let split = placed.partitionPoint { $0.span.lowerBound < occurrence.span.lowerBound }
      return placed[split...].first(where: suits)
    }
    var index = placed.partitionPoint { $0.span.lowerBound < occurrence.span.upperBound }
    while index > 0 {
      index -= 1
      if isNear(occurrence, after: placed[index]) == .no { return nil }
      if suits(placed[index]) { return placed[index] }
    }
    return nil
  }

  /// Whether one place lies near enough behind another.
  private func isNear(_ occurrence: Occurrence, after earlier: Occurrence) -> Trilean {
    if isNear(occurrence.steps.upperBound, after: earlier.steps.lowerBound) { return .yes }
    return isNear(occurrence.steps.lowerBound, after: earlier.steps.upperBound) ? .unknown : .no
  }

  private func isNear(_ step: Int, after earlier: Int) -> Bool {
    rule.within.map { step - earlier <= $0 } ?? true
  }

  private func mayHide(_ holes: [Hidden], before occurrence: Occurrence) -> Bool {
    holes.contains { hole in
      guard hole.first < occurrence.span.upperBound else { return false }
      guard rule.within != nil else { return true }
      // What is hidden stands at most in the step that is seen next.
      let own = occurrence.steps.upperBound
      let last = hole.last.map { judge.gathered.step(after: $0) ?? own } ?? own
      return isNear(occurrence.steps.lowerBound, after: last)
    }
  }

  private func mayHide(_ holes: [Hidden], after occurrence: Occurrence) -> Bool {
    holes.contains { hole in
      guard hole.last.map({ $0 > occurrence.span.lowerBound }) ?? true else { return false }
      // Where no place is known, what is hidden may stand at the first.
      let first = max(hole.first, occurrence.span.lowerBound + 1)
      return isNear(judge.gathered.step(before: first), after: occurrence.steps.upperBound)
    }
  }
}

/// Places, those that are known apart: they are sorted.
private struct Occurrences {
  /// In the order of the log.
  let all: [Occurrence]
  let placed: [Occurrence]
  let unplaced: [Occurrence]

  init(_ all: [Occurrence]) {
    self.all = all
    placed = all.allSatisfy(\.isPlaced) ? all : all.filter(\.isPlaced)
    unplaced = placed.count == all.count ? [] : all.filter { !$0.isPlaced }
  }
}
