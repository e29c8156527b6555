import AgentTrace
import TraceMatching

extension WordJudge {
  /// The answer read as JSON, alone or in one fenced block.
  func answerJSON(_ matcher: Matcher) -> ExpectationOutcome {
    let answer = view.trajectory.answer
    let asked = CallWording.short(matcher.description)
    func outcome(
      _ outcome: Outcome, _ message: String, _ expected: String? = nil, _ actual: String? = nil
    ) -> ExpectationOutcome {
      let end = view.trajectory.stop.map { [$0.seq] } ?? []
      return ExpectationOutcome(
        expectation: "answerJson", outcome: outcome,
        events: answer.map { [$0.seq] } ?? (outcome == .fail ? end : []), message: message,
        expected: expected ?? asked, actual: actual ?? answer?.value.excerpt ?? "no answer")
    }
    if view.mayHideAnswer {
      return outcome(.unverifiable, "The last answer may not be the one seen: \(view.whyHidden).")
    }
    guard let answer else { return outcome(.fail, "The run gave no answer.") }
    guard case .string(let text) = answer.value else {
      return outcome(.unverifiable, "The answer is not whole in the log.")
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: FencedText.unfenced(text), options: .init(depthLimit: 128))
    } catch {
      return outcome(.fail, "The answer is no JSON: \(error)")
    }
    switch matcher.match(value, from: { view.values(of: $0, before: answer.seq) }) {
    case .match: return outcome(.pass, "The answer matches.")
    case .mismatch(let mismatch):
      let place = mismatch.pointer.tokens.isEmpty ? "" : " at \(mismatch.pointer)"
      return outcome(
        .fail, "The answer does not match\(place).", mismatch.expected, mismatch.actual)
    case .unverifiable(let why):
      return outcome(.unverifiable, "The answer cannot be verified: \(why).")
    }
  }

  /// What the answer cites, and whether it was seen.
  func evidence(_ rule: EvidenceRule) -> [ExpectationOutcome] {
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
    var outcomes: [ExpectationOutcome] = []
    if rule.mustBeObserved {
      let expected = "every observation cited was shown to the model that gave the answer"
      let strange = chronicle.unobserved.filter { !wasReturned($0, before: answer?.seq ?? -1) }
      // Of a result that succeeded and is no evidence, only its place was shown.
      let unseen = chronicle.unshown + chronicle.placed.filter(hasSucceeded)
      if let isHidden {
        outcomes.append(outcome("observed", .unverifiable, [], isHidden, expected))
      } else if refs.isEmpty {
        outcomes.append(outcome("observed", .notExercised, [], "Nothing is cited.", expected))
      } else if strange.isEmpty, chronicle.lacksPacket || view.trajectory.recorded["context"] != nil
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
      let verdict: Outcome = isHidden != nil ? .unverifiable : count >= minimum ? .pass : .fail
      outcomes.append(
        outcome(
          "min", verdict, isHidden == nil ? shown : [], isHidden ?? "\(count) cited.",
          "at least \(minimum) cited"))
    }
    for (index, entry) in rule.cites.enumerated() {
      let cited = view.calls.filter { call in
        refs.contains { $0.hasSameUTF8(as: call.outline.callId) }
      }
      let answers = cited.map { ($0, view.isSuch(entry, $0, .proposed)) }
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

  // MARK: State

  /// What must have been recorded whole for a place of the state to be known.
  private func channels(of place: [String]) -> [String] {
    switch place.first {
    case "runId", "goal", "policyContext", "maxSteps": []
    case "elapsedMicroseconds": ["time"]
    case "stop": ["stop"]
    case "question": view.trajectory.recorded["model"] == "none" ? ["model"] : []
    case "approvals", "approvedActionIds": ["policy"]
    case "breakers": ["tools"]
    case "totals" where place.count > 1 && place[1] != "steps" && place[1] != "toolCalls": ["model"]
    case "steps", "totals": ["model", "tools"]
    case "counters": ["model", "policy", "tools"]
    // All that happened stands in them.
    default: ["model", "policy", "stop", "time", "tools"]
    }
  }

  func state(_ rule: StateRule) -> ExpectationOutcome {
    let name = "state \(rule.pointer)"
    let end = view.trajectory.stop?.seq ?? view.trajectory.lastSeq
    let asked = CallWording.short(rule.matcher.description)
    func outcome(
      _ outcome: Outcome, _ message: String, _ expected: String? = nil, _ actual: String? = nil
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: outcome == .unverifiable ? [] : [end],
        message: message, expected: expected ?? asked, actual: actual)
    }
    if !view.gaps.isEmpty {
      return outcome(.unverifiable, "The final state cannot be seen: \(view.whyHidden).")
    }
    let channels = self.channels(of: rule.pointer.tokens)
    if let channel = channels.first(where: { view.trajectory.recorded[$0] != nil }) {
      return outcome(.unverifiable, "What this rests on was not recorded: \(channel).")
    }
    let value = chronicle.state.encoded[rule.pointer]
    switch rule.matcher.match(value) {
    case .match: return outcome(.pass, "The final state matches.", nil, value?.excerpt ?? "nothing")
    case .mismatch(let mismatch):
      return outcome(
        .fail, "The final state does not match.", mismatch.expected, mismatch.actual)
    case .unverifiable(let why):
      return outcome(.unverifiable, "The final state cannot be verified: \(why).")
    }
  }
}
