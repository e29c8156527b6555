import AgentTrace
import TraceMatching

extension WordJudge {
  /// How often a verdict or an approval was given.
  func counted(_ rule: CountedMoments) -> ExpectationOutcome {
    let found = instants(of: [rule.moment], unknownCounts: true)
    return count(
      rule.name, rule.times, rule.isForbidden, found.map { ($0.answer, $0.events) },
      mayBeMore: !hidden([rule.moment]).isEmpty, rule.moment.description,
      whyMore: view.gaps.isEmpty && !view.lacksCalls ? "policy was not recorded" : view.whyHidden)
  }

  /// Judges how often something was seen.
  func count(
    _ name: String, _ times: CallEntry.Times, _ isForbidden: Bool,
    _ found: [(answer: Trilean, events: [Int])], mayBeMore: Bool, _ what: String,
    whyMore: @autoclosure () -> String
  ) -> ExpectationOutcome {
    let certain = found.filter { $0.answer == .yes }
    let possible = found.filter { $0.answer == .unknown }
    let least = certain.count
    let most = mayBeMore ? Int.max : least + possible.count
    let isWithin: Trilean =
      most < times.minimum || least > times.maximum ?? .max
      ? .no : least >= times.minimum && most <= times.maximum ?? .max ? .yes : .unknown
    let isDefault = times.minimum == 1 && times.maximum == nil
    let expected =
      (isForbidden ? "not: " : "") + what + (isDefault ? "" : ", \(times)")
    func outcome(_ outcome: Outcome, _ events: [Int], _ message: String) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: events, message: message,
        expected: CallWording.short(expected), actual: Counting.count(least))
    }
    let said = least == 0 ? "It never happened." : "It happened \(Counting.count(least))."
    switch (isWithin, isForbidden) {
    case (.unknown, _):
      if let first = possible.first {
        return outcome(.unverifiable, first.events, "Whether this is one cannot be seen.")
      }
      return outcome(.unverifiable, [], "How often cannot be seen: \(whyMore()).")
    case (.yes, false):
      return outcome(.pass, certain.prefix(times.minimum).flatMap(\.events), said)
    case (.no, true): return outcome(.pass, [], said)
    case (.yes, true):
      return outcome(.fail, certain.prefix(max(1, times.minimum)).flatMap(\.events), said)
    case (.no, false):
      if let maximum = times.maximum, least > maximum {
        return outcome(.fail, certain[maximum].events, said)
      }
      return outcome(
        .fail, certain.flatMap(\.events) + (view.trajectory.stop.map { [$0.seq] } ?? []), said)
    }
  }

  // MARK: Memory

  func memory(_ rule: MemoryRule) -> ExpectationOutcome {
    let found = chronicle.notes.compactMap { note -> (answer: Trilean, events: [Int])? in
      guard note.isWritten == rule.isWritten, rule.scope?.matches(note.scope) ?? true,
        rule.key?.matches(note.key) ?? true
      else { return nil }
      let answer = rule.value.map { Trilean($0.matches(note.value)) } ?? .yes
      return answer == .no ? nil : (answer, [note.seq])
    }
    var what = "a note"
    if let key = rule.key { what += " “\(CallWording.short(key.text))”" }
    if let scope = rule.scope { what += " of \(CallWording.short(scope.text))" }
    what += rule.isWritten ? " is written" : " is read"
    if let value = rule.value { what += " that says \(CallWording.short(value.description))" }
    // An import has no channel for notes.
    let isImport = !view.trajectory.recorded.isEmpty
    return count(
      rule.name, rule.times, rule.isForbidden, found,
      mayBeMore: !view.gaps.isEmpty || isImport, what,
      whyMore: view.gaps.isEmpty ? "an import does not tell of memory" : view.whyHidden)
  }

  // MARK: Context

  func context(_ watch: ContextWatch, _ name: String) -> [ExpectationOutcome] {
    let rule = watch.rule
    var outcomes: [ExpectationOutcome] = []
    let lacks = view.trajectory.recorded["context"] != nil
    let isHidden = view.gaps.contains { gap in
      guard let steps = rule.steps else { return true }
      let first = chronicle.step(before: gap.first)
      let last = gap.last.flatMap { chronicle.step(after: $0) } ?? .max
      return steps.overlaps(first...max(first, last))
    }
    let mayBeMore = isHidden || lacks
    let why = !isHidden ? "contexts were not recorded whole" : view.whyHidden
    func outcome(
      _ part: String, _ outcome: Outcome, _ events: [Int], _ message: String, _ expected: String,
      _ actual: String? = nil
    ) {
      outcomes.append(
        ExpectationOutcome(
          expectation: "\(name).\(part)", outcome: outcome, events: events, message: message,
          expected: CallWording.short(expected), actual: actual))
    }
    /// Says of what was looked for whether it was seen; `absence` is the word where it surely was not.
    func look(
      _ part: String, _ sighting: ContextWatch.Sighting, _ what: String, presence: Outcome,
      absence: Outcome
    ) {
      if let seq = sighting.certain {
        outcome(part, presence, [seq], "It stands in the context at event \(seq).", what)
      } else if sighting.possible != nil || mayBeMore {
        outcome(
          part, .unverifiable, sighting.possible.map { [$0] } ?? [],
          sighting.possible == nil ? "This cannot be seen: \(why)." : "This cannot be seen.", what)
      } else if watch.count == 0 {
        outcome(part, .notExercised, [], "There was no such context.", what)
      } else {
        // A failure has evidence: the end of the run, before which it should have been there.
        let end = absence == .fail ? view.trajectory.stop.map { [$0.seq] } ?? [] : []
        outcome(part, absence, end, "It stands in none of \(watch.count) contexts.", what)
      }
    }
    func sought(_ part: String, _ sighting: ContextWatch.Sighting, _ what: String) {
      look(part, sighting, what, presence: .pass, absence: .fail)
    }
    func forbidden(_ part: String, _ sighting: ContextWatch.Sighting, _ what: String) {
      look(part, sighting, what, presence: .fail, absence: .pass)
    }
    for (index, glob) in rule.offers.enumerated() {
      sought("offers[\(index)]", watch.offers[index], "a context offers \(glob.text)")
    }
    for (index, glob) in rule.neverOffers.enumerated() {
      forbidden("neverOffers[\(index)]", watch.neverOffers[index], "no context offers \(glob.text)")
    }
    for (index, matcher) in rule.contains.enumerated() {
      sought("contains[\(index)]", watch.contains[index], "a prompt holds \(matcher)")
    }
    for (index, matcher) in rule.neverContains.enumerated() {
      forbidden("neverContains[\(index)]", watch.neverContains[index], "no prompt holds \(matcher)")
    }
    for (index, entry) in rule.evidence.enumerated() {
      var sighting = ContextWatch.Sighting()
      for call in view.calls {
        guard let seq = watch.evidence[call.outline.callId] else { continue }
        sighting.note(view.isSuch(entry, call, .proposed), at: seq)
      }
      sought("evidence[\(index)]", sighting, "a context holds a result of \(entry)")
    }
    if let limit = rule.maximumTokens {
      let expected = "at most \(limit) tokens in each context"
      let most = watch.most.map { "\($0.tokens) tokens" }
      if let found = watch.most, found.tokens > limit {
        outcome(
          "maxTokens", .fail, [found.seq], "A context is estimated at \(found.tokens) tokens.",
          expected, most)
      } else if watch.uncounted != nil || mayBeMore {
        outcome(
          "maxTokens", .unverifiable, watch.uncounted.map { [$0] } ?? [],
          "Not every estimate can be seen.", expected, most)
      } else if let found = watch.most {
        outcome(
          "maxTokens", .pass, [found.seq], "No context is estimated at more.", expected, most)
      } else {
        outcome("maxTokens", .notExercised, [], "There was no such context.", expected)
      }
    }
    for (index, item) in rule.omits.enumerated() {
      sought("omits[\(index)]", watch.omits[index], "a context leaves out \(item)")
    }
    for (index, item) in rule.neverOmits.enumerated() {
      forbidden("neverOmits[\(index)]", watch.neverOmits[index], "no context leaves out \(item)")
    }
    return outcomes
  }
}

extension OmittedItem: CustomStringConvertible {
  /// The reference and the reason.
  public var description: String {
    ref.text + (reason.map { " because \(CallWording.short($0.description))" } ?? "")
  }
}
