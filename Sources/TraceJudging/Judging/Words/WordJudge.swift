import AgentTrace
import TraceMatching

/// What a program said of a run.
public struct ProgramAnswer: Sendable, Hashable {
  /// Its word.
  public var outcome: Outcome
  /// Why, in its words.
  public var message: String
  /// The events that show it.
  public var events: [Int]

  /// Nothing is checked.
  public init(outcome: Outcome, message: String, events: [Int] = []) {
    self.outcome = outcome
    self.message = message
    self.events = events
  }
}

/// Judges the words beyond the four lists of calls, the stop and the answer.
struct WordJudge {
  let view: CallView
  /// Empty where none was gathered; then nothing is asked of it.
  let chronicle: Chronicle
  let expectations: Expectations
  let aids: Judge.Aids
  /// The place of each call by its id.
  let callIndices: [String: Int]
  /// How many rules on contexts were judged; a chronicle watches for them in this order.
  private(set) var contextsTaken: Int

  init(
    view: CallView, chronicle: Chronicle?, expectations: Expectations, aids: Judge.Aids,
    contextsTaken: Int
  ) {
    self.contextsTaken = contextsTaken
    self.view = view
    self.chronicle = chronicle ?? Chronicle(for: Expectations())
    self.expectations = expectations
    self.aids = aids
    var indices: [String: Int] = [:]
    if !self.chronicle.facts.isEmpty {
      for (index, call) in view.calls.enumerated() { indices[call.outline.callId] = index }
    }
    callIndices = indices
  }

  mutating func outcomes(_ word: Word) -> [ExpectationOutcome] {
    guard chronicle.facts.isSuperset(of: word.facts) else {
      return [
        ExpectationOutcome(
          expectation: word.name, outcome: .unverifiable,
          message: "What this needs of the run was not gathered.")
      ]
    }
    switch word {
    case .noExtraCalls: return [noExtraCalls()]
    case .eachCall(let entries):
      return entries.enumerated().map { eachCall($1, "eachCall[\($0)]") }
    case .time(let rules):
      return rules.enumerated().map { TimeJudge(self, $1, "time[\($0)]").outcome() }
    case .budget(let budget): return self.budget(budget)
    case .noRepeatedSideEffect(let tools): return [noRepeatedSideEffect(tools)]
    case .noLoops(let times): return [noLoops(times)]
    case .maxInvalidDecisions(let limit): return [invalidDecisions(limit)]
    case .maxRetries(let limit): return [retries(limit)]
    case .answerJSON(let matcher): return [answerJSON(matcher)]
    case .evidence(let rule): return evidence(rule)
    case .state(let rules): return rules.map(state)
    case .policy(let lists): return lists.map(counted)
    case .noApprovalBypass: return [noApprovalBypass()]
    case .context(let rules):
      return rules.indices.flatMap { index -> [ExpectationOutcome] in
        defer { contextsTaken += 1 }
        // A chronicle made for other expectations watched for other things.
        guard chronicle.contexts.indices.contains(contextsTaken) else { return [] }
        return context(
          chronicle.contexts[contextsTaken], rules.count == 1 ? "context" : "context[\(index)]")
      }
    case .memory(let rules): return rules.map(memory)
    case .exec(let programs):
      return programs.enumerated().map { program($1, "exec[\($0)]") }
    case .judge(let rules): return rules.flatMap(judged)
    }
  }

  // MARK: Calls

  /// Every executed call is one that `toolsCalled` speaks of, each entry without `times` taking one.
  private func noExtraCalls() -> ExpectationOutcome {
    let entries = expectations.toolsCalled ?? []
    func outcome(_ outcome: Outcome, _ call: Int?, _ message: String) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: "extra", outcome: outcome, events: call.map { view.calls[$0].events } ?? [],
        message: message, expected: "no executed call but those of toolsCalled",
        actual: call.map { CallWording.of(view.calls[$0]) })
    }
    let candidates = entries.map { entry in
      Dictionary(
        uniqueKeysWithValues: view.candidates(for: entry, .executed, unknownCounts: true)
          .map { ($0.index, $0.answer) })
    }
    var (sure, possible) = (BipartiteMatching(), BipartiteMatching())
    var unsure: Int?
    // Places of an entry: one, or as many calls as it may have.
    var places: [[Int]] = []
    var count = 0
    for entry in entries {
      let most = min(
        entry.times.map { $0.maximum ?? view.calls.count } ?? 1, view.calls.count)
      places.append(Array(count..<(count + max(0, most))))
      count += max(0, most)
    }
    // An entry that may have every call leaves no call without a place.
    let unlimited = Set(entries.indices.filter { places[$0].count >= view.calls.count })
    for (index, call) in view.calls.enumerated() {
      guard
        entries.isEmpty
          ? !call.caller.hasSameUTF8(as: CallEntry.simulatedUser)
          : entries.contains(where: { $0.speaks(of: call.caller) })
      else { continue }
      let executed = view.executed(call)
      guard executed != .no else { continue }
      func free(_ fits: (Int) -> Bool) -> [Int]? {
        var found: [Int] = []
        for entry in entries.indices where fits(entry) {
          if unlimited.contains(entry) { return nil }
          found += places[entry]
        }
        return found
      }
      if executed == .yes, let free = free({ candidates[$0][index] ?? .no != .no }),
        !possible.augment(free)
      {
        return outcome(.fail, index, "A call was executed beyond those expected.")
      }
      // One that was perhaps not executed needs a place all the same to be sure that none is beyond them.
      let isSure: (Int) -> Bool = { entry in
        executed == .yes
          ? candidates[entry][index] == .yes
          : view.isSuch(entries[entry], call, .proposed) == .yes
      }
      if let free = free(isSure), !sure.augment(free) { unsure = unsure ?? index }
    }
    if let unsure {
      return outcome(
        .unverifiable, unsure, "Whether a call is one of those expected cannot be seen.")
    }
    if view.mayHideCalls {
      return outcome(
        .unverifiable, nil, "Whether there were no other calls cannot be seen: \(view.whyHidden).")
    }
    return outcome(.pass, nil, "No other call was executed.")
  }

  /// Each executed call of a tool is as the entry says.
  private func eachCall(_ entry: CallEntry, _ name: String) -> ExpectationOutcome {
    var (first, unsure): (Trajectory.Call?, Trajectory.Call?)
    let expected = "each call: \(entry)"
    for call in view.calls where entry.tool.matches(call.tool) && entry.speaks(of: call.caller) {
      let executed = view.executed(call)
      guard executed != .no else { continue }
      var fits = Trilean.yes
      if let input = entry.input { fits = .both(fits, view.input(input, entry, call)) }
      fits = .both(fits, view.status(entry, call))
      if let result = entry.result { fits = .both(fits, view.result(result, call)) }
      if executed == .yes, fits == .no {
        return ExpectationOutcome(
          expectation: name, outcome: .fail, events: call.events,
          message: "A call of \(CallWording.short(call.tool)) is not as each must be. "
            + Self.difference(entry, call, view),
          expected: expected, actual: CallWording.of(call))
      }
      if executed == .yes { first = first ?? call }
      if executed == .unknown || fits == .unknown { unsure = unsure ?? call }
    }
    if let unsure {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable, events: unsure.events,
        message: "Whether a call is as each must be cannot be seen.", expected: expected,
        actual: CallWording.of(unsure))
    }
    if view.mayHideCalls {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable,
        message: "Whether every call is so cannot be seen: \(view.whyHidden).", expected: expected)
    }
    guard let first else {
      return ExpectationOutcome(
        expectation: name, outcome: .notExercised,
        message: "\(CallWording.short(entry.tool.text)) was never called.", expected: expected)
    }
    return ExpectationOutcome(
      expectation: name, outcome: .pass, events: first.events, message: "Every call is so.",
      expected: expected, actual: CallWording.of(first))
  }

  private static func difference(
    _ entry: CallEntry, _ call: Trajectory.Call, _ view: CallView
  ) -> String {
    if let input = entry.input,
      case .mismatch(let mismatch) = input.match(
        entry.arguments.map { $0.seen(call.input) } ?? call.input,
        from: { view.values(of: $0, before: call.outline.seq) })
    {
      return "Its input differs, \(mismatch)."
    }
    if let result = entry.result,
      case .mismatch(let mismatch) = result.match(CallView.resultValue(of: call))
    {
      return "Its result differs, \(mismatch)."
    }
    return "It ended as \(CallWording.fate(of: call))."
  }

  // MARK: Programs

  private func program(_ program: ProgramCheck, _ name: String) -> ExpectationOutcome {
    let expected = CallWording.short(program.command.joined(separator: " "))
    guard let answer = aids.programs[program] else {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable,
        message: "Programs are started only with --exec.", expected: expected)
    }
    return ExpectationOutcome(
      expectation: name, outcome: answer.outcome, events: answer.events,
      message: CallWording.short(answer.message), expected: expected)
  }
}

extension Word {
  /// The key that it stands under.
  var name: String {
    switch self {
    case .noExtraCalls: "extra"
    case .eachCall: "eachCall"
    case .time: "time"
    case .budget: "budget"
    case .noRepeatedSideEffect: "noRepeatedSideEffect"
    case .noLoops: "noLoops"
    case .maxInvalidDecisions: "maxInvalidDecisions"
    case .maxRetries: "maxRetries"
    case .answerJSON: "answerJson"
    case .evidence: "evidence"
    case .state: "state"
    case .policy: "policy"
    case .noApprovalBypass: "noApprovalBypass"
    case .context: "context"
    case .memory: "memory"
    case .exec: "exec"
    case .judge: "judge"
    }
  }
}
