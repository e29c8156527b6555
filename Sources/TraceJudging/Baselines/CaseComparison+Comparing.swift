import AgentTrace

extension CaseComparison {
  /// Compares a case that was judged with what was accepted of it.
  ///
  /// Of several accepted runs, each run is held against the one that it is most like: the accepted
  /// runs together say which ways there are. The case is as bad as its worst run.
  ///
  /// Why: Docs/decisions/0006-comparing-is-judging.md
  ///
  /// - Parameters:
  ///   - current: What was judged now, with its runs in the order in which they were found.
  ///   - accepted: The baseline.
  ///   - tolerance: How much more a run may use than an accepted one, in per cent.
  /// - Complexity: O(runs · accepted runs) comparisons, each O(calls · accepted calls) where they
  ///   differ.
  public init(of current: AcceptedCase, with accepted: AcceptedCase, tolerance: Tolerance) {
    let asked =
      accepted.holdsOutcomesAlone ? nil : AskedComparison(accepted.asked, current.asked)
    var ofAsked = asked?.differences ?? []
    if accepted.format > 1, !accepted.holdsOutcomesAlone {
      ofAsked += current.setting.differences(from: accepted.setting)
    }
    if let skip = current.skip {
      self = Self.skipped(skip, accepted, ofAsked)
      return
    }
    guard !accepted.runs.isEmpty else {
      self.init(kind: .new, differences: ofAsked)
      return
    }
    let runs = accepted.format > 1 ? current.runs : current.runs.map(\.asInFirstFormat)
    let candidates = runs.enumerated().map { index, run -> (Int, RunComparison?) in
      let comparisons = accepted.runs.map {
        RunComparison(
          of: run, with: $0, tolerance, names: asked?.names, outcomes: accepted.holdsOutcomesAlone,
          input: accepted.setting[.input])
      }
      return (index, comparisons.min { $0.rank < $1.rank })
    }
    let worst = candidates.max { ($0.1?.rank ?? .none) < ($1.1?.rank ?? .none) }
    guard case (let index, let comparison?)? = worst else {
      self.init(
        kind: .notCompared, differences: ofAsked, reason: "no run of it was judged", isFault: true)
      return
    }
    let differences = comparison.differences + ofAsked
    var kind = Self.kind(of: differences)
    if kind != .regressed, comparison.reason != nil { kind = .notCompared }
    self.init(
      kind: kind, differences: differences, untold: comparison.untold,
      run: current.runs.count > 1 && kind != .same ? index + 1 : nil,
      reason: kind == .notCompared ? comparison.reason : nil)
  }

  /// A case that is left out: as it was accepted only where it was left out then.
  private static func skipped(
    _ skip: CaseSkip, _ accepted: AcceptedCase, _ ofAsked: [Difference]
  ) -> CaseComparison {
    func words(_ skip: CaseSkip) -> String {
      skip.reason + (skip.until.map { " (until \($0))" } ?? "")
    }
    var differences = ofAsked
    if let before = accepted.skip {
      if before != skip {
        // A later end is a longer time in which nobody looks.
        let isLonger = (before.until ?? "9").precedesByUTF8(skip.until ?? "9")
        differences.insert(
          Difference(
            kind: .skip, effect: isLonger ? .regression : .neutral, place: "skip",
            accepted: words(before), actual: words(skip)), at: 0)
      }
    } else if !accepted.holdsOutcomesAlone || !accepted.runs.isEmpty {
      differences.insert(
        Difference(
          kind: .skip, effect: .regression, place: "skip", accepted: "judged",
          actual: "left out: \(words(skip))"), at: 0)
    }
    return CaseComparison(kind: kind(of: differences), differences: differences)
  }

  static func kind(of differences: [Difference]) -> Kind {
    if differences.contains(where: { $0.effect == .regression }) { return .regressed }
    if differences.contains(where: { $0.effect == .improvement }) { return .fixed }
    return differences.contains(where: \.isOfRun) ? .changed : .same
  }
}

/// One run beside one accepted run.
private struct RunComparison {
  /// How far the run is from the accepted one: first what it means, then how much differs.
  struct Rank: Comparable {
    var badness: Int
    var count: Int

    static let none = Rank(badness: -1, count: 0)

    static func < (left: Rank, right: Rank) -> Bool {
      (left.badness, left.count) < (right.badness, right.count)
    }
  }

  private(set) var differences: [Difference] = []
  private(set) var untold = 0
  /// Why the two cannot be compared.
  private(set) var reason: String?

  var rank: Rank {
    let badness =
      switch CaseComparison.kind(of: differences) {
      case .regressed: 4
      case _ where reason != nil: 3
      case .fixed: 2
      case .changed: 1
      default: 0
      }
    return Rank(badness: badness, count: differences.count + untold)
  }

  init(
    of run: AcceptedRun, with accepted: AcceptedRun, _ tolerance: Tolerance,
    names: [ByteText: String]?, outcomes: Bool, input: String?
  ) {
    let isBetter = AcceptedCase.badness(run.outcome) < AcceptedCase.badness(accepted.outcome)
    if run.isIncomplete, !accepted.isIncomplete, !outcomes {
      reason = "events of the run are missing from its log"
    } else if !outcomes {
      let path = PathComparison(accepted, run, isBetter: isBetter)
      differences = path.differences
      untold = path.untold
    }
    compareChecks(run, accepted, names)
    compareOutcome(run, accepted)
    // What a run used that did less than it should is no measure for one that does it.
    if reason == nil, !outcomes, !isBetter { compareUsage(run, accepted, tolerance) }
    guard !outcomes else { return }
    compareGoal(run, accepted, input)
    let setting = SettingComparison(accepted.setting, run.setting)
    differences += setting.differences
    reason = reason ?? setting.reason
    for below in run.below {
      // A run that was not made, then or now, is told by the calls.
      guard let before = accepted.below.first(where: { $0.caller.hasSameUTF8(as: below.caller) })
      else { continue }
      let setting = SettingComparison(before.setting, below.setting, of: below.caller)
      differences += setting.differences
      reason = reason ?? setting.reason
    }
  }

  /// What the run was to do beside what the accepted one was, which the input that was accepted says where its own text
  /// does not.
  private mutating func compareGoal(_ run: AcceptedRun, _ accepted: AcceptedRun, _ input: String?) {
    guard let new = run.goal, let old = accepted.goal ?? input, !new.hasSameUTF8(as: old) else {
      return
    }
    // A case says in full what its log withholds, and what a pipeline is given with spaces of its own.
    if accepted.goal == nil, new.contains("«redacted:") || Self.isSameJSON(new, old) { return }
    differences.append(
      Difference(
        kind: .input, effect: .regression, place: Difference.goalPlace, accepted: old, actual: new))
  }

  /// Whether two texts, each as a baseline holds it, are the same value of JSON.
  private static func isSameJSON(_ one: String, _ other: String) -> Bool {
    func value(_ text: String) -> JSONValue? {
      (try? JSONValue(parsing: text))?.stringValue.flatMap { try? JSONValue(parsing: $0) }
    }
    guard let one = value(one) else { return false }
    return one == value(other)
  }

  // MARK: What the judge said

  private mutating func compareChecks(
    _ run: AcceptedRun, _ accepted: AcceptedRun, _ names: [ByteText: String]?
  ) {
    var now: [ByteText: [AcceptedRun.Check]] = [:]
    for check in run.checks.reversed() { now[ByteText(check.name), default: []].append(check) }
    for old in accepted.checks {
      let name = Self.name(old.name, names)
      guard let new = now[ByteText(name)]?.popLast() else { continue }
      compare(old, new)
    }
    // What nobody was told of before, and fails.
    for check in run.checks {
      guard let new = now[ByteText(check.name)]?.popLast(), new.outcome == .fail,
        new.severity == .error
      else { continue }
      differences.append(
        Difference(
          kind: .check, effect: .regression, place: new.name, accepted: nil,
          actual: new.outcome.rawValue))
    }
  }

  /// The name that an accepted expectation has now. The judge tells of some that were asked as one
  /// in parts: `context[1].offers[0]` moves with `context[1]`.
  private static func name(_ name: String, _ names: [ByteText: String]?) -> String {
    guard let names else { return name }
    var head = name[...]
    while true {
      if let now = names[ByteText(String(head))] { return now + name[head.endIndex...] }
      guard let end = head.lastIndex(where: { $0 == "." || $0 == "[" }), end > head.startIndex
      else { return name }
      head = head[..<end]
    }
  }

  private mutating func compare(_ old: AcceptedRun.Check, _ new: AcceptedRun.Check) {
    guard old.outcome != new.outcome else { return }
    let isError = new.severity == .error
    var effect = Difference.Effect.neutral
    switch (old.outcome, new.outcome) {
    case (_, .fail) where isError: effect = .regression
    case (.pass, .notExercised) where isError: effect = .regression
    case (.pass, .unverifiable) where isError:
      reason = reason ?? "\(new.name) passed and cannot be verified now"
    case (.fail, .pass): effect = .improvement
    default: break
    }
    differences.append(
      Difference(
        kind: .check, effect: effect, place: new.name, accepted: old.outcome.rawValue,
        actual: new.outcome.rawValue))
  }

  /// The word on the run, where nothing else tells why it is another.
  private mutating func compareOutcome(_ run: AcceptedRun, _ accepted: AcceptedRun) {
    let (old, new) = (AcceptedCase.badness(accepted.outcome), AcceptedCase.badness(run.outcome))
    guard old != new else { return }
    let effect: Difference.Effect = new > old ? .regression : .improvement
    if reason != nil, effect == .regression { return }
    let isTold = differences.contains { $0.kind == .check && $0.effect == effect }
    guard !isTold else { return }
    differences.append(
      Difference(
        kind: .outcome, effect: effect, place: "outcome", accepted: accepted.outcome.rawValue,
        actual: run.outcome.rawValue))
  }

  // MARK: What was used

  private mutating func compareUsage(
    _ run: AcceptedRun, _ accepted: AcceptedRun, _ tolerance: Tolerance
  ) {
    grow(.steps, .steps, Double(accepted.steps), Double(run.steps), tolerance)
    if let old = accepted.tokens, let new = run.tokens {
      grow(.tokens, .tokens, Double(old), Double(new), tolerance)
    }
    if let old = accepted.cost, let new = run.cost { grow(.cost, .cost, old, new, tolerance) }
  }

  private mutating func grow(
    _ measure: Tolerance.Measure, _ kind: Difference.Kind, _ old: Double, _ new: Double,
    _ tolerance: Tolerance
  ) {
    guard new > tolerance.limit(measure, of: old) else { return }
    differences.append(
      Difference(
        kind: kind, effect: .regression, place: measure.rawValue,
        accepted: AcceptedText.amount(old), actual: AcceptedText.amount(new)))
  }
}
