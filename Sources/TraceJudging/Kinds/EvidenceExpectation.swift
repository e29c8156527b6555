import AgentTrace
import TraceMatching

/// What the answer rests on.
struct EvidenceExpectation: EndExpectation {
  var rule: EvidenceRule

  static let key = "evidence"
  static let summary = ExpectationSummary(
    takes: "a mapping", holds: "what the answer cites was seen")

  static var schema: JSONValue {
    let call: JSONValue = [
      "anyOf": [ExpectationSchema.glob, ExpectationSchema.ref("proposedMoment")]
    ]
    return ExpectationSchema.mapping(
      "What the answer rests on.",
      [
        (
          "observed",
          ["description": "Every observation cited was made before the answer.", "const": true]
        ),
        ("min", ["description": "So many are cited, at least.", "type": "integer", "minimum": 1]),
        ("cites", ExpectationSchema.list("Calls whose results are cited.", call)),
      ])
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    [[key: ["observed": true]], [key: ["min": 1]]]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.evidence(value, at: pointer).map(Self.init(rule:))
  }

  var needs: TrajectoryNeeds { .all }
  var facts: Facts { rule.mustBeObserved ? .state : .timeline }
  var namedTools: [NamedTool] { NamedTool.all(rule.cites, "\(Self.key).cites") }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.members(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    switch change.list {
    case "\(key).min": return change.isNumberRaised
    case "\(key).cites":
      guard let own = CallAsk(change.now), let its = CallAsk(change.was) else { return false }
      return own.isWithin(its)
    default: return change.now == true || change.was == false
    }
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { run.evidence(rule) }

  static func addConformance(to book: inout ConformanceBook) {
    func cited(
      _ refs: [String], shown: [String]? = ["1.1.0"], placed: [String] = [],
      _ fate: Run.Fate = .ok()
    ) -> Run {
      Run { run in
        run.decide(Call("lookup", [:], fate))
        if let shown { run.see(included: shown + placed, evidence: shown) }
        run.answer("it is", evidence: refs)
        run.stop()
      }
    }
    book.check(
      "an observation that was made", ["observed": true, "cites": ["lookup"], "min": 1],
      on: cited(["1.1.0"]), is: .pass)
    book.check(
      "one that was never made", ["observed": true], on: cited(["1.1.0", "7.1.0"]), is: .fail)
    book.check("nothing is cited", ["observed": true], on: cited([]), is: .notExercised)
    book.check(
      "one that was made, and left out of the context", ["observed": true],
      on: cited(["1.1.0"], shown: []), is: .fail)
    book.check(
      "one of which the context has the place alone", ["observed": true],
      on: cited(["1.1.0"], shown: [], placed: ["1.1.0"]), is: .fail)
    book.check(
      "one that failed, and is shown as it is", ["observed": true],
      on: cited(["1.1.0"], shown: [], placed: ["1.1.0"], .error()), is: .pass)
    book.check(
      "the context is not in the log", ["observed": true], on: cited(["1.1.0"], shown: nil),
      is: .unverifiable)
    book.check("too little is cited", ["min": 1], on: cited([]), is: .fail)
    book.check(
      "another tool's result is not cited", ["cites": ["search"]], on: cited(["1.1.0"]), is: .fail)
    let imported = Run(recorded: ["context": "partial"]) { $0.end() }
    book.check(
      "an import has none that could be looked for", ["observed": true], on: imported,
      is: .unverifiable)
    book.check("an import has no citations", ["min": 1], on: imported, is: .unverifiable)
    book.check("nor whose results they are", ["cites": ["lookup"]], on: imported, is: .unverifiable)
  }
}

/// What an answer rests on.
public struct EvidenceRule: Sendable, Hashable {
  /// Whether each observation that the answer cites was really made before it.
  public var mustBeObserved: Bool
  /// At least so many are cited; `nil` for any number.
  public var minimum: Int?
  /// For each, the result of such a call is cited.
  public var cites: [CallEntry]
}

extension ExpectationReader {
  mutating func evidence(_ value: JSONValue, at pointer: JSONPointer) -> EvidenceRule? {
    let keys = ["observed", "min", "cites"]
    guard let object = mapping(value, at: pointer, keys: keys, "a mapping") else { return nil }
    var rule = EvidenceRule(mustBeObserved: false, cites: [])
    if let value = object["observed"] {
      if value.boolValue != true { report(pointer.appending("observed"), "takes true") }
      rule.mustBeObserved = true
    }
    rule.minimum = object["min"].flatMap { count($0, at: pointer.appending("min")) }
    if rule.minimum == 0 {
      report(pointer.appending("min"), "no fewer than 0 can be cited, so that this expects nothing")
    }
    if let value = object["cites"] {
      rule.cites =
        list(value, at: pointer.appending("cites")) {
          $0.callEntry($1, at: $2, isExecuted: false)
        } ?? []
    }
    if object.isEmpty { report(pointer, "nothing is expected of the evidence") }
    return rule
  }
}

extension JudgedRun {
  /// What the answer cites, and whether it was seen.
  fileprivate func evidence(_ rule: EvidenceRule) -> [ExpectationOutcome] {
    let answer = view.trajectory.answer
    let refs = answer?.evidenceRefs ?? []
    func outcome(
      _ part: String, _ outcome: Outcome, _ events: [Int], _ message: String,
      _ expected: String
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: "evidence.\(part)", outcome: outcome, events: events, message: message,
        expected: expected, actual: "cited: \(refs.isEmpty ? "nothing" : Self.list(refs))")
    }
    let shown = answer.map { [$0.seq] } ?? view.trajectory.stop.map { [$0.seq] } ?? []
    let isHidden =
      view.mayHideAnswer ? "The last answer may not be the one seen: \(view.whyHidden)." : nil
    // Imports and proxies have no citations: what an answer there rests on, its source may have known.
    let isUntold = answer != nil && view.trajectory.recorded["context"] != nil
    let untold = "What the answer rests on was not recorded: context."
    var outcomes: [ExpectationOutcome] = []
    if rule.mustBeObserved {
      let expected = "every observation cited was shown to the model that gave the answer"
      let strange = gathered.unobserved.filter { !wasReturned($0, before: answer?.seq ?? -1) }
      // Of a result that succeeded and is no evidence, only its place was shown.
      let unseen = gathered.unshown + gathered.placed.filter(hasSucceeded)
      if let isHidden {
        outcomes.append(outcome("observed", .unverifiable, [], isHidden, expected))
      } else if refs.isEmpty, isUntold {
        outcomes.append(outcome("observed", .unverifiable, [], untold, expected))
      } else if refs.isEmpty {
        outcomes.append(outcome("observed", .notExercised, [], "Nothing is cited.", expected))
      } else if strange.isEmpty, gathered.lacksPacket || view.trajectory.recorded["context"] != nil
      {
        outcomes.append(
          outcome(
            "observed", .unverifiable, shown,
            "What the model was shown before the answer is not in the log.", expected))
      } else if strange.isEmpty, unseen.isEmpty {
        outcomes.append(outcome("observed", .pass, shown, "All of it was shown.", expected))
      } else if strange.isEmpty {
        outcomes.append(
          outcome(
            "observed", .fail, shown,
            "\(Self.list(unseen)) was not shown to the model before the answer.", expected))
      } else if !view.gaps.isEmpty || view.trajectory.recorded["tools"] == "none" || view.lacksCalls
      {
        outcomes.append(
          outcome(
            "observed", .unverifiable, shown,
            "Whether \(Self.list(strange)) was observed cannot be seen.", expected))
      } else {
        outcomes.append(
          outcome(
            "observed", .fail, shown, "\(Self.list(strange)) was never observed.", expected))
      }
    }
    if let minimum = rule.minimum {
      let count = Set(refs).count
      let lacking: Outcome = isUntold ? .unverifiable : .fail
      let verdict: Outcome = isHidden != nil ? .unverifiable : count >= minimum ? .pass : lacking
      outcomes.append(
        outcome(
          "min", verdict, verdict == .unverifiable ? [] : shown,
          isHidden ?? (verdict == .unverifiable ? untold : "\(count) cited."),
          "at least \(minimum) cited"))
    }
    for (index, entry) in rule.cites.enumerated() {
      let cited = view.calls.filter { call in
        refs.contains { $0.hasSameUTF8(as: call.outline.callId) }
      }
      let answers = cited.map { call in
        (call, Trilean.both(view.isSuch(entry, call, .proposed), view.hasReturned(call)))
      }
      let part = "cites[\(index)]"
      let expected = "a result of \(entry) is cited"
      if let isHidden {
        outcomes.append(outcome(part, .unverifiable, [], isHidden, expected))
      } else if let (call, _) = answers.first(where: { $0.1 == .yes }) {
        outcomes.append(
          outcome(
            part, .pass, shown + (call.outline.resultSeq.map { [$0] } ?? []), "It is cited.",
            expected))
      } else if let (call, _) = answers.first(where: { $0.1 == .unknown }) {
        outcomes.append(
          outcome(
            part, .unverifiable, call.events, "Whether it is cited cannot be seen.", expected))
      } else if isUntold {
        outcomes.append(outcome(part, .unverifiable, [], untold, expected))
      } else {
        outcomes.append(outcome(part, .fail, shown, "It is not cited.", expected))
      }
    }
    return outcomes
  }

  private func wasReturned(_ ref: String, before seq: Int) -> Bool {
    view.calls.contains { call in
      call.outline.callId.hasSameUTF8(as: ref) && call.outline.resultSeq.map { $0 < seq } ?? false
    }
  }

  private func hasSucceeded(_ ref: String) -> Bool {
    view.calls.contains { $0.outline.callId.hasSameUTF8(as: ref) && $0.outline.status == .ok }
  }

  private static func list(_ refs: [String]) -> String {
    CallWording.short(refs.prefix(10).joined(separator: ", "))
  }
}
