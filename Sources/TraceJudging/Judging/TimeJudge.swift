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
  private let moments: [Instant]
  /// What they are before, after, until.
  private let others: [Instant]
  private let hiddenMoments: [Hidden]
  private let hiddenOthers: [Hidden]

  init(_ judge: JudgedRun, _ rule: TimeRule, _ name: String) {
    self.judge = judge
    self.rule = rule
    self.name = name
    // A call of unknown effect may have run: that breaks a rule against it, and meets none for it.
    let isAgainst = rule.claim == .never || rule.claim == .only
    let found = judge.instants(
      of: rule.moments, unknownCounts: isAgainst, others: rule.claim == .only)
    moments = rule.relation == nil ? found : found.map(\.doubtedUnlessPlaced)
    others = judge.instants(of: rule.others, unknownCounts: rule.claim == .expect)
      .map(\.doubtedUnlessPlaced)
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

  private func hiddenOutcome(_ instant: Instant? = nil) -> ExpectationOutcome {
    if let instant {
      return outcome(
        .unverifiable, instant.events, "Whether this is such a moment cannot be seen.",
        text(instant))
    }
    let isKnown = !judge.view.gaps.isEmpty || judge.view.lacksCalls
    let why = isKnown ? judge.view.whyHidden : "that channel was not recorded"
    return outcome(.unverifiable, [], "This cannot be seen: \(why).")
  }

  private func text(_ instant: Instant) -> String {
    guard let call = instant.call else {
      return "event \(instant.seq)"
    }
    return CallWording.of(judge.view.calls[call])
  }

  /// The end of what can be seen.
  private var end: [Int] { judge.view.trajectory.stop.map { [$0.seq] } ?? [] }

  private func certain(_ instants: [Instant]) -> Instant? {
    instants.first { $0.answer == .yes }
  }

  // MARK: Without another moment

  private func eventually() -> ExpectationOutcome {
    func isInTime(_ step: Int) -> Bool { rule.within.map { step <= $0 } ?? true }
    if let found = moments.first(where: { $0.answer == .yes && isInTime($0.step) }) {
      return outcome(.pass, found.events, "It happened at event \(found.seq).", text(found))
    }
    if let found = moments.first(where: { isInTime($0.step) && $0.answer == .unknown }) {
      return hiddenOutcome(found)
    }
    if hiddenMoments.contains(where: { isInTime(judge.chronicle.step(before: $0.first)) }) {
      return hiddenOutcome()
    }
    if let late = certain(moments) {
      return outcome(
        .fail, late.events, "It happened at event \(late.seq), in step \(late.step).", text(late))
    }
    return outcome(.fail, end, "It never happened.")
  }

  private func never() -> ExpectationOutcome {
    if let found = certain(moments) {
      return outcome(.fail, found.events, "It happened at event \(found.seq).", text(found))
    }
    if let found = moments.first { return hiddenOutcome(found) }
    if !hiddenMoments.isEmpty { return hiddenOutcome() }
    return outcome(.pass, [], "It never happened.")
  }

  // MARK: never … after …

  private func neverAfter() -> ExpectationOutcome {
    var possible: Instant?
    for moment in moments {
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
      let mayFollow = others.contains { other in
        (hole.last.map { $0 > other.seq } ?? true)
          && isNear(judge.chronicle.step(before: hole.first), after: other.step)
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
    if let other = others.first { return hiddenOutcome(other) }
    if !hiddenOthers.isEmpty { return hiddenOutcome() }
    return outcome(.notExercised, [], "The moment that this speaks of never came.")
  }

  // MARK: never … before …, never … until …

  private func neverBefore(isStrong: Bool) -> ExpectationOutcome {
    var possible: Instant?
    for moment in moments
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
    if isStrong, others.isEmpty, hiddenOthers.isEmpty {
      return outcome(.fail, end, "The moment until which this holds never came.")
    }
    if let possible { return hiddenOutcome(possible) }
    let first = certain(others)
    if hiddenMoments.contains(where: { hole in first.map { $0.seq >= hole.first } ?? true }) {
      return hiddenOutcome()
    }
    if isStrong, first == nil {
      return others.first.map(hiddenOutcome) ?? hiddenOutcome()
    }
    return exercised("It never happened before that.")
  }

  // MARK: expect … before …, expect … after …

  private func expect(isBefore: Bool) -> ExpectationOutcome {
    var (possible, witness): (Instant?, [Int]?)
    for other in others {
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
            + (rule.within.map { " within \($0) step\($0 == 1 ? "" : "s")" } ?? "") + ".",
          text(other))
      }
      possible = possible ?? other
    }
    if let possible { return hiddenOutcome(possible) }
    // A hidden other is fine only where a moment is sure to stand on the right side of it, and near enough
    // wherever in the hole it is.
    for hole in hiddenOthers {
      let isCovered = moments.contains { moment in
        guard moment.answer == .yes else { return false }
        guard isBefore else {
          return hole.last.map { moment.seq > $0 } ?? false
            && isNear(moment.step, after: judge.chronicle.step(before: hole.first))
        }
        guard moment.seq < hole.first else { return false }
        guard rule.within != nil else { return true }
        // What is hidden stands at most in the step that is seen next.
        return hole.last.flatMap { judge.chronicle.step(after: $0) }
          .map { isNear($0, after: moment.step) } ?? false
      }
      if !isCovered { return hiddenOutcome() }
    }
    if let witness { return outcome(.pass, witness, "It did.") }
    return exercised("It did.")
  }

  // MARK: Neighbours

  /// A place of a list that stands before or after another, near enough.
  private func neighbour(
    of instant: Instant, in list: [Instant], isBefore: Bool, certainly: Bool
  ) -> Instant? {
    func suits(_ candidate: Instant) -> Bool {
      guard !certainly || candidate.answer == .yes else { return false }
      let (left, right) = isBefore ? (candidate, instant) : (instant, candidate)
      return judge.isBefore(left, right) && isNear(right.step, after: left.step)
    }
    // Lists are sorted by event number: look from the nearest outwards.
    let split = list.partitionPoint { $0.seq < instant.seq }
    if isBefore {
      var index = split
      while index > 0 {
        index -= 1
        if rule.within != nil, !isNear(instant.step, after: list[index].step) { return nil }
        if suits(list[index]) { return list[index] }
      }
      return nil
    }
    return list[split...].first(where: suits)
  }

  private func isNear(_ step: Int, after earlier: Int) -> Bool {
    rule.within.map { step - earlier <= $0 } ?? true
  }

  private func mayHide(_ holes: [Hidden], before instant: Instant) -> Bool {
    holes.contains { hole in
      guard hole.first < instant.seq else { return false }
      guard rule.within != nil else { return true }
      // What is hidden stands at most in the step that is seen next.
      let last = hole.last.map { judge.chronicle.step(after: $0) ?? instant.step } ?? instant.step
      return isNear(instant.step, after: last)
    }
  }

  private func mayHide(_ holes: [Hidden], after instant: Instant) -> Bool {
    holes.contains { hole in
      guard hole.last.map({ $0 > instant.seq }) ?? true else { return false }
      return isNear(
        judge.chronicle.step(before: max(hole.first, instant.seq + 1)), after: instant.step)
    }
  }
}

extension Instant {
  /// The same, and where its place is not known, not for certain.
  fileprivate var doubtedUnlessPlaced: Instant {
    var copy = self
    if !isPlaced { copy.answer = .unknown }
    return copy
  }
}
