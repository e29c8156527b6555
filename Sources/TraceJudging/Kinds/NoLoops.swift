import AgentTrace
import TraceMatching

/// No call is made so often without anything new having been learned.
struct NoLoops: Expectation {
  /// How often is too often.
  var limit: Int

  static let key = "noLoops"
  static let summary = ExpectationSummary(
    takes: "`true` (3) or a number", holds: "no call is made so often with nothing new learned")

  static var schema: JSONValue {
    [
      "description": "No call is made so often with nothing new learned; true is 3.",
      "anyOf": [
        ["const": true],
        ["type": "integer", "minimum": 2, "maximum": JSONValue(Expectations.timesLimit)],
      ],
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] { [[key: 2], [key: 3]] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    if value.boolValue == true { return Self(limit: 3) }
    guard let count = value.intValue, (2...Expectations.timesLimit).contains(count) else {
      return reader.refuse(pointer, "takes true (3 times), or a whole number from 2")
    }
    return Self(limit: count)
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { true }
  var facts: Facts { .timeline }
  /// What has happened breaks it for good.
  var undecided: [UndecidedPart] { [] }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isNumberLowered }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { [outcome(run)] }

  /// No caller makes one call so often, and gets one result, without anything new in between.
  private func outcome(_ run: JudgedRun) -> ExpectationOutcome {
    let view = run.view
    func outcome(
      _ outcome: Outcome, _ calls: [Trajectory.Call], _ message: String
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: Self.key, outcome: outcome, events: calls.flatMap(\.events),
        message: message, expected: "no call \(limit) times with nothing new learned",
        actual: calls.last.map { CallWording.of($0) })
    }
    if let loop = loop(run, unsureToo: false) {
      return outcome(
        .fail, loop,
        "\(CallWording.short(loop[0].tool)) was called \(limit) times with one result and nothing new in between."
      )
    }
    if let loop = loop(run, unsureToo: true) {
      return outcome(.unverifiable, loop, "Whether these calls go in a circle cannot be seen.")
    }
    if view.mayHideCalls {
      return outcome(
        .unverifiable, [], "Whether calls go in a circle cannot be seen: \(view.whyHidden).")
    }
    if let calls = unseenLoop(view) {
      return outcome(
        .unverifiable, calls,
        "Whether these calls go in a circle cannot be seen: not all of their results were recorded."
      )
    }
    return outcome(.pass, [], "No call was made \(limit) times with nothing new learned.")
  }

  /// Equal calls of one caller that may be a loop, because a result of theirs was not recorded. Those of the last decision
  /// may have none yet.
  private func unseenLoop(_ view: CallView) -> [Trajectory.Call]? {
    let areHidden = view.trajectory.recorded["tools"] != nil
    let last = view.calls.last?.group
    var made: [JSONValue: [Trajectory.Call]] = [:]
    for call in view.calls where call.outline.resultSeq != nil || view.executed(call) != .no {
      let key: JSONValue = [
        .string(call.caller), .string(call.tool), call.input?.byValue ?? .lost(""),
      ]
      made[key, default: []].append(call)
      if let calls = made[key], calls.count >= limit,
        calls.contains(where: {
          $0.outline.resultSeq == nil && (areHidden || $0.group != last)
        })
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
  private func loop(_ run: JudgedRun, unsureToo: Bool) -> [Trajectory.Call]? {
    let (view, gathered) = (run.view, run.gathered)
    var walks: [String: LoopWalk] = [:]
    var (start, before) = (0, 0)
    while start < view.calls.count {
      let first = view.calls[start]
      var end = start
      while end < view.calls.count, view.calls[end].group == first.group { end += 1 }
      let calls = view.calls[start..<end]
      start = end
      guard !first.isInvalid else { continue }
      let isOpen = calls.contains { $0.outline.resultSeq == nil }
      // A hole on the way here, or in this decision, may hide something new, and so may a call that went unread, or
      // one whose result was not recorded. A result that is not seen may stand in any hole behind.
      let last =
        isOpen ? .max : calls.compactMap(\.outline.resultSeq).max() ?? first.outline.seq
      let mayBeNew =
        view.lacksCalls || view.gaps.contains { $0.first <= last && $0.last ?? .max >= before }
        || view.trajectory.recorded["tools"] != nil
          && calls.contains { $0.outline.resultSeq == nil && view.executed($0) != .no }
      before = first.outline.seq
      if isOpen, end == view.calls.count, gathered.answers.last?.seq ?? -1 < first.outline.seq {
        return nil
      }
      var walk = walks[first.caller] ?? LoopWalk()
      let replies = gathered.replies.count { $0.seq < first.outline.seq }
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
    var seen: Set<JSONValue> = []
    var since: [JSONValue: [Trajectory.Call]] = [:]
    var replies = 0
    /// Of what was seen, that of which a part is hidden: it may be the same as others.
    private var inPart: [JSONValue] = []

    /// Takes in the calls of one decision; the calls of a loop that they close.
    ///
    /// - Parameter unsureToo: whether calls count as the same that perhaps are, and tell nothing new where perhaps
    ///   they do not.
    mutating func take(
      _ calls: ArraySlice<Trajectory.Call>, _ limit: Int, unsureToo: Bool
    ) -> [Trajectory.Call]? {
      var ended: [(key: JSONValue, call: Trajectory.Call)] = []
      var isNew = false
      for call in calls where call.outline.resultSeq != nil {
        let value = CallView.resultValue(of: call) ?? .lost("")
        let key: JSONValue = [
          .string(call.tool), call.input?.byValue ?? .lost(""),
          .string(call.status?.rawValue ?? ""), value.byValue,
        ]
        if key.hidesSomething {
          guard unsureToo else {
            isNew = true
            continue
          }
          if seen.insert(key).inserted { inPart.append(key) }
        } else if !seen.contains(key), !inPart.contains(where: { mayBe($0, key) }) {
          seen.insert(key)
          isNew = true
        }
        ended.append((key, call))
      }
      if isNew { since = [:] }
      for (key, call) in ended {
        since[key, default: []].append(call)
        let same = perhapsAlike(key)
        if same.count >= limit { return same }
      }
      return nil
    }

    /// The most calls that may all be the same as one, itself among them.
    private func perhapsAlike(_ key: JSONValue) -> [Trajectory.Call] {
      guard !inPart.isEmpty else { return since[key] ?? [] }
      func those(like key: JSONValue) -> [Trajectory.Call] {
        let others = inPart.filter { $0 == key || mayBe($0, key) }.flatMap { since[$0] ?? [] }
        return (key.hidesSomething ? others : (since[key] ?? []) + others)
          .sorted { $0.outline.seq < $1.outline.seq }
      }
      var most = those(like: key)
      guard key.hidesSomething else { return most }
      // What is seen whole is not the same as anything else that is.
      for other in since.keys where !other.hidesSomething && mayBe(key, other) {
        let calls = those(like: other)
        let isEarlier = calls.first?.outline.seq ?? 0 < most.first?.outline.seq ?? 0
        if calls.count > most.count || calls.count == most.count && isEarlier { most = calls }
      }
      return most
    }

    /// More than these are not compared with each other.
    private static let comparedLimit = 1_000

    /// Whether calls were perhaps the same before something of them was hidden.
    private func mayBe(_ one: JSONValue, _ other: JSONValue) -> Bool {
      inPart.count > Self.comparedLimit || Withheld.equality(of: one, other) != .no
    }
  }

  static func addConformance(to book: inout ConformanceBook) {
    func token(_ text: String) -> JSONValue {
      JSONNumber(token: text).map(JSONValue.number) ?? .null
    }
    func polls(_ results: [JSONValue]) -> Run {
      Run { run in
        for result in results { run.decide(Call("poll", [:], .ok(result))) }
        run.end()
      }
    }
    book.check("the same three times", 3, on: polls(["wait", "wait", "wait"]), is: .fail)
    book.check(
      "the same three times, written in three ways", 3,
      on: polls([token("1"), token("1.0"), token("10e-1")]), is: .fail)
    book.check("the same twice", 3, on: polls(["wait", "wait", "done"]), is: .pass)
    book.check("each time something new", 3, on: polls([1, 2, 3, 4]), is: .pass)
    book.check(
      "the same twice, and one of which a part is lost", 3,
      on: polls(["wait", ["n": .lost("2/n")], "wait"]), is: .pass)
    book.check(
      "three that may all be the same", 3, on: polls([["n": 1], ["n": .lost("2/n")], ["n": 1]]),
      is: .unverifiable)
    book.check(
      "one that may be the same as two, which are not", 3,
      on: polls([["n": 1], ["n": .lost("2/n")], ["n": 2]]), is: .pass)
    book.check(
      "something new in between", 3,
      on: Run(Call("poll"), Call("poll"), Call("look", [:], .ok("news")), Call("poll")), is: .pass)
    book.check(
      "in a circle of two", 3,
      on: Run { run in
        for _ in 0..<4 {
          run.decide(Call("a"))
          run.decide(Call("b"))
        }
        run.end()
      }, is: .fail)
    book.check(
      "sub-agents side by side do not loop together", 3,
      on: Run { run in
        for caller in ["one", "two", "three"] { run.decide(Call("poll"), by: caller) }
        run.end()
      }, is: .pass)
    book.check(
      "insisting on a refused call", 3,
      on: Run { run in
        for _ in 0..<3 { run.decide(Call("rm", [:], .refused)) }
        run.end()
      }, is: .fail)
  }
}
