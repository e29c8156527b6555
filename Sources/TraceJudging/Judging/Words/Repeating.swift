import AgentTrace
import TraceMatching

extension WordJudge {
  /// No write with the same canonical input is done twice.
  func noRepeatedSideEffect(_ tools: [Glob]) -> ExpectationOutcome {
    let name = "noRepeatedSideEffect"
    func outcome(
      _ outcome: Outcome, _ calls: [Trajectory.Call], _ message: String
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: calls.flatMap(\.events), message: message,
        expected: "each write done once",
        actual: calls.isEmpty ? nil : calls.map { CallWording.of($0) }.joined(separator: "; "))
    }
    var first: [JSONValue: (call: Trajectory.Call, isSure: Bool)] = [:]
    var unsure: [Trajectory.Call]?
    // Of each tool the last call that may have done something, or one of unknown input.
    var done: [String: Trajectory.Call] = [:]
    var withheld = WithheldInputs()
    // In the order in which they began: calls of one decision run side by side.
    let begun = view.agentsCalls
      .enumerated().sorted { ($0.element.begin, $0.offset) < ($1.element.begin, $1.offset) }
    for call in begun.map(\.element) {
      let isWrite: Trilean
      if tools.isEmpty {
        isWrite = chronicle.sideEffects[call.tool].map { $0 == .write ? .yes : .no } ?? .unknown
      } else {
        let fits = tools.map { view.fits($0, call.tool) }
        isWrite = fits.contains(.yes) ? .yes : fits.contains(.unknown) ? .unknown : .no
      }
      guard isWrite != .no, view.executed(call) != .no else { continue }
      // One of unknown input may be any other of its tool.
      if let other = done[call.tool], call.lacksInput || other.lacksInput {
        unsure = unsure ?? [other, call]
      }
      if call.status != .error, done[call.tool]?.lacksInput != true { done[call.tool] = call }
      let action: JSONValue = [.string(call.tool), call.input?.byValue ?? .null]
      let isSure = isWrite == .yes && view.executed(call) == .yes && !action.hidesSomething
      let start = call.begin
      let isPlaced = call.outline.startedSeq != nil || !view.hidesBehind(call.outline.seq)
      // A call that had failed before did nothing; one that still ran, or of unknown effect, may
      // have done it.
      guard let earlier = first[action],
        earlier.call.status != .error || earlier.call.outline.resultSeq ?? .max > start
      else {
        if let other = withheld.other(perhapsEqualTo: call, begun: start) {
          unsure = unsure ?? [other, call]
        }
        withheld.add(call)
        first[action] = (call, isSure)
        continue
      }
      // What the log does not show may be that the earlier call had failed before.
      let end = earlier.call.outline
      let mayHaveFailed =
        end.resultSeq == nil
        ? view.gaps.contains { $0.first < start && $0.last ?? .max > end.seq }
        : earlier.call.status == .error && !isPlaced
          // One that merely returned may have failed, and be tried again.
          || earlier.call.status == .returned && end.resultSeq ?? .max <= start
      if isSure, earlier.isSure, !mayHaveFailed {
        return outcome(
          .fail, [earlier.call, call],
          "\(CallWording.short(call.tool)) was done twice with the same input.")
      }
      unsure = unsure ?? [earlier.call, call]
      if isSure { first[action] = (call, true) }
    }
    if let unsure {
      return outcome(.unverifiable, unsure, "Whether this write was repeated cannot be seen.")
    }
    if view.mayHideCalls {
      return outcome(
        .unverifiable, [], "Whether a write was repeated cannot be seen: \(view.whyHidden).")
    }
    return outcome(.pass, [], "No write was done twice.")
  }

  /// No caller makes one call so often, and gets one result, without anything new in between.
  func noLoops(_ limit: Int) -> ExpectationOutcome {
    func outcome(
      _ outcome: Outcome, _ calls: [Trajectory.Call], _ message: String
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: "noLoops", outcome: outcome, events: calls.flatMap(\.events),
        message: message, expected: "no call \(limit) times with nothing new learned",
        actual: calls.last.map { CallWording.of($0) })
    }
    if let loop = loop(limit, unsureToo: false) {
      return outcome(
        .fail, loop,
        "\(CallWording.short(loop[0].tool)) was called \(limit) times with one result and nothing new in between."
      )
    }
    if let loop = loop(limit, unsureToo: true) {
      return outcome(.unverifiable, loop, "Whether these calls go in a circle cannot be seen.")
    }
    if view.mayHideCalls {
      return outcome(
        .unverifiable, [], "Whether calls go in a circle cannot be seen: \(view.whyHidden).")
    }
    if let calls = unseenLoop(limit) {
      return outcome(
        .unverifiable, calls,
        "Whether these calls go in a circle cannot be seen: not all of their results were recorded."
      )
    }
    return outcome(.pass, [], "No call was made \(limit) times with nothing new learned.")
  }

  /// Equal calls of one caller that may be a loop, because a result of theirs was not recorded.
  private func unseenLoop(_ limit: Int) -> [Trajectory.Call]? {
    guard view.trajectory.recorded["tools"] != nil else { return nil }
    var made: [JSONValue: [Trajectory.Call]] = [:]
    for call in view.calls where call.outline.resultSeq != nil || view.executed(call) != .no {
      let key: JSONValue = [
        .string(call.caller), .string(call.tool), call.input?.byValue ?? .lost(""),
      ]
      made[key, default: []].append(call)
      if let calls = made[key], calls.count >= limit,
        calls.contains(where: { $0.outline.resultSeq == nil })
      {
        return calls
      }
    }
    return nil
  }

  /// The calls of the first loop.
  ///
  /// Callers are told apart: sub-agents that work side by side do not loop together. A result that
  /// a caller had not seen before, or a person's word, begins anew. The results of one decision are
  /// learned together, and only once all of them are there or another decision follows.
  private func loop(_ limit: Int, unsureToo: Bool) -> [Trajectory.Call]? {
    var walks: [String: LoopWalk] = [:]
    // A call of unknown input may be any other of its tool.
    let vague = unsureToo ? Set(view.calls.filter(\.lacksInput).map(\.tool)) : []
    var (start, before) = (0, 0)
    while start < view.calls.count {
      let first = view.calls[start]
      var end = start
      while end < view.calls.count, view.calls[end].group == first.group { end += 1 }
      let calls = view.calls[start..<end]
      start = end
      guard !first.isInvalid else { continue }
      let isOpen = calls.contains { $0.outline.resultSeq == nil }
      // A hole on the way here, or in this decision, may hide something new. A result that is not seen
      // may stand in any hole behind.
      let last =
        isOpen ? .max : calls.compactMap(\.outline.resultSeq).max() ?? first.outline.seq
      let mayBeNew = view.gaps.contains { $0.first <= last && $0.last ?? .max >= before }
      before = first.outline.seq
      if isOpen, end == view.calls.count, chronicle.answers.last?.seq ?? -1 < first.outline.seq {
        return nil
      }
      var walk = walks[first.caller] ?? LoopWalk(vague: vague)
      let replies = chronicle.replies.count { $0.seq < first.outline.seq }
      if replies > walk.replies {
        walk.replies = replies
        walk.since = [:]
      }
      if mayBeNew, !unsureToo {
        for caller in walks.keys { walks[caller]?.since = [:] }
        walk.since = [:]
        _ = walk.take(calls, .max, unsureToo: false)
        walk.since = [:]
        walks[first.caller] = walk
        continue
      }
      if let loop = walk.take(calls, limit, unsureToo: unsureToo) { return loop }
      walks[first.caller] = walk
    }
    return nil
  }

  /// What one caller has learned so far, and what it has done since it learned something.
  private struct LoopWalk {
    /// The tools of which all calls may be the same.
    let vague: Set<String>
    var seen: Set<JSONValue> = []
    var since: [JSONValue: [Trajectory.Call]] = [:]
    var replies = 0

    /// Takes in the calls of one decision; the calls of a loop that they close.
    mutating func take(
      _ calls: ArraySlice<Trajectory.Call>, _ limit: Int, unsureToo: Bool
    ) -> [Trajectory.Call]? {
      var ended: [(key: JSONValue, call: Trajectory.Call)] = []
      var isNew = false
      for call in calls where call.outline.resultSeq != nil {
        let value = CallView.resultValue(of: call) ?? .lost("")
        var key: JSONValue = [
          .string(call.tool), call.input?.byValue ?? .lost(""),
          .string(call.status?.rawValue ?? ""), value.byValue,
        ]
        if key.hidesSomething || vague.contains(call.tool) {
          // Nobody knows what it told: something new, or nothing at all.
          guard unsureToo else {
            isNew = true
            continue
          }
          key = [.string(call.tool)]
          seen.insert(key)
        }
        if seen.insert(key).inserted { isNew = true }
        ended.append((key, call))
      }
      if isNew { since = [:] }
      for (key, call) in ended {
        since[key, default: []].append(call)
        if let calls = since[key], calls.count >= limit { return calls }
      }
      return nil
    }
  }

  func invalidDecisions(_ limit: Int) -> ExpectationOutcome {
    let invalid = chronicle.invalidDecisions.map(\.seq)
    return Judge.bound(
      "maxInvalidDecisions", invalid.count, limit, "invalid decision",
      mayBeMore: view.mayHideCalls, events: invalid.count > limit ? [invalid[limit]] : [], view)
  }

  /// Where attempts begin beyond the first of their call.
  func retries(of calls: [Trajectory.Call]) -> [Int] {
    calls.flatMap { chronicle.efforts[$0.outline.callId]?.retries ?? [] }.sorted()
  }

  func retries(_ limit: Int) -> ExpectationOutcome {
    let calls = view.agentsCalls
    let retries = retries(of: calls)
    return Judge.bound(
      "maxRetries", retries.count, limit, "retry", plural: "retries",
      mayBeMore: view.mayHideCalls || view.trajectory.recorded["tools"] != nil
        || calls.contains(where: chronicle.lacksAttempts),
      events: retries.count > limit ? [retries[limit]] : [], view)
  }
}

/// Writes whose inputs may be the same without looking so, because something of one was withheld.
private struct WithheldInputs {
  /// By tool, each input once.
  private var calls: [String: [Trajectory.Call]] = [:]
  /// The tools of which some input holds a token.
  private var tools: Set<String> = []

  /// More different inputs than these are not compared with each other.
  private static let limit = 1_000

  mutating func add(_ call: Trajectory.Call) {
    guard let input = call.input, calls[call.tool, default: []].count <= Self.limit else { return }
    calls[call.tool, default: []].append(call)
    if RedactionToken.isIn(input) { tools.insert(call.tool) }
  }

  /// A call that began before, did not fail, and may have had the same input, as far as can be seen.
  func other(perhapsEqualTo call: Trajectory.Call, begun start: Int) -> Trajectory.Call? {
    guard let input = call.input, let earlier = calls[call.tool],
      tools.contains(call.tool) || RedactionToken.isIn(input)
    else { return nil }
    return earlier.first { one in
      guard let other = one.input,
        one.status != .error || one.outline.resultSeq ?? .max > start
      else { return false }
      return earlier.count > Self.limit
        || Withheld.equality(of: other.byValue, input.byValue) == .unknown
    }
  }
}

extension Trajectory.Call {
  /// Whether nothing is left of the input.
  fileprivate var lacksInput: Bool { if case .lost? = input { true } else { false } }
}

extension JSONValue {
  /// Whether part of it is lost or cut, so that equal bytes do not mean equal values.
  var hidesSomething: Bool {
    switch self {
    case .lost, .cut: true
    case .array(let elements): elements.contains(where: \.hidesSomething)
    case .object(let object): object.contains { $0.value.hidesSomething }
    default: false
    }
  }
}

extension Trajectory.Call {
  /// The event with which it begins: its start, or where it is proposed if its start was not recorded.
  fileprivate var begin: Int { outline.startedSeq ?? outline.seq }
}
