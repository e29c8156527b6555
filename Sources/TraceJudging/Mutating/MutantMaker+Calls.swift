import AgentTrace
import TraceMatching

/// Calls that run though they did not, are tried again, or are made by another or in a circle.
///
/// Each of these is a run that could have been recorded: whoever changes a verdict changes what follows
/// from it.
extension MutantMaker {
  // MARK: What was not done is done

  /// A call that was refused, or only proposed, is let through and goes well.
  func letThrough(_ call: Call) -> Mutant? {
    guard !call.isExecuted, !call.isInvalid, isKnown(call.name) else { return nil }
    if call.status == .refused,
      let place = call.events.last(where: { events[$0].type == .toolResult })
    {
      var mutant = make(
        .refusedRuns, at: place, "\(call.name) is called, which was refused", tools: [call.name]
      ) { remedies(running: [call]) }
      mutant.inserted[place] = allow(call, in: &mutant, at: place) + [started(call, like: place)]
      mutant.replaced[place] = wentWell(events[place])
      endWell(behind: call, in: &mutant)
      return mutant
    }
    // Of a call that a torn log ends with nobody knows what became of it.
    guard call.status == nil, let last = call.events.last, let stop = stop(behind: last) else {
      return nil
    }
    var mutant = make(
      .proposedRuns, at: call.decision, "\(call.name) is called, which was only proposed",
      tools: [call.name]
    ) { remedies(running: [call]) }
    let allowed = allow(call, in: &mutant, at: stop)
    mutant.inserted[stop] = allowed + [started(call, like: stop - 1), result(call, like: stop - 1)]
    endWell(behind: call, in: &mutant)
    return mutant
  }

  /// Decisions that could not be used: their calls run.
  func invalidCallsThatRun() -> [Mutant] {
    decisions.compactMap { place in
      let held = calls.filter { $0.decision == place && $0.isInvalid }
      guard !held.isEmpty, held.allSatisfy({ isKnown($0.name) }), place + 1 < events.count else {
        return nil
      }
      let names = held.map(\.name)
      var mutant = make(
        .proposedRuns, at: place,
        "\(names.joined(separator: ", ")) is called, though the decision was invalid", tools: names
      ) { remedies(running: held) }
      var decision = events[place]
      decision.data["kind"] = "tool"
      decision.data["reason"] = nil
      mutant.replaced[place] = decision
      mutant.inserted[place + 1] =
        held.map { verdict(on: $0, like: place) } + held.map { started($0, like: place) }
        + held.map { result($0, like: place) }
      if let next = decisions.first(where: { $0 > place }) {
        // What was asked anew in the same step is asked in the next one.
        if events[next].step == events[place].step { shiftSteps(from: place + 1, by: 1, &mutant) }
      } else if let last = held.last {
        endWell(behind: last, in: &mutant)
      }
      return mutant
    }
  }

  private func remedies(running held: [Call]) -> [JSONValue] {
    let first = held[0]
    let name = JSONValue.string(Glob.escaping(first.name))
    return [
      ["toolsNotCalled": [name]],
      called(first, ["times": JSONValue(executed(first.name))]),
      called(first, ["input": exactly(first.input), "times": JSONValue(like(first))]),
      ["maxToolCalls": JSONValue(calls.count { $0.isExecuted })],
      ["policy": ["given": [["verdict": ["deny", "approval_required"], "tool": name]]]],
    ]
  }

  /// Whether the run had the tool, as far as it says which it had.
  private func isKnown(_ name: String) -> Bool {
    toolNames.isEmpty || toolNames.contains { $0.hasSameUTF8(as: name) }
  }

  /// Policy lets a call through, and nobody is asked; what has to be put in where it said nothing.
  private func allow(_ call: Call, in mutant: inout Mutant, at place: Int) -> [Event] {
    let verdicts = call.events.filter { events[$0].type == .policyDecision }
    guard let first = verdicts.first else { return [verdict(on: call, like: max(0, place - 1))] }
    // What it let through was refused for another reason.
    if verdicts.last.map({ events[$0].data["status"] == "allow" }) ?? false { return [] }
    var event = events[first]
    event.data["status"] = "allow"
    event.data["reason"] = "no rule stands against it"
    event.data["ruleId"] = nil
    mutant.replaced[first] = event
    mutant.removed.formUnion(verdicts.dropFirst())
    mutant.removed.formUnion(call.events.filter { events[$0].type == .approval })
    return []
  }

  /// The stop that a place leads to with no decision in between.
  private func stop(behind place: Int) -> Int? {
    events.indices.first { $0 > place && [.stop, .decision].contains(events[$0].type) }
      .flatMap { events[$0].type == .stop ? $0 : nil }
  }

  /// Where the run ended because a call did not run, it goes on to an answer.
  private func endWell(behind call: Call, in mutant: inout Mutant) {
    let last = call.events.last ?? call.decision
    guard let place = stop(behind: last),
      ["approval_required", "policy_denied", "invalid_decision"]
        .contains(events[place].data["reason"]?.stringValue)
    else { return }
    // It still waits for another call of the decision.
    guard
      !calls.contains(where: {
        $0.decision == call.decision && $0.index != call.index && $0.status == nil
          && !$0.isExecuted && !$0.isInvalid
      })
    else { return }
    let text = "It is done."
    let turn = self.turn(before: place).map { at($0, like: place - 1, stepsOn: 1) }
    let decision = at(
      Event(
        seq: 0, step: 0, type: .decision, runId: events[place].runId, t: 0,
        data: DecisionPayload(.answer(text: text, evidenceRefs: [])).encoded),
      like: place - 1, stepsOn: 1)
    mutant.inserted[place, default: []] += turn + [decision]
    var stop = events[place]
    stop.step = events[place - 1].step + 1
    for key in ["detail", "evidenceRefs", "stateDigest", "stateFormat"] { stop.data[key] = nil }
    stop.data["reason"] = "success"
    stop.data["detail"] = "final_answer"
    stop.data["answer"] = .string(text)
    stop.data["final"] = true
    mutant.replaced[place] = stop
  }

  // MARK: Once more

  /// The first call of each tool takes another attempt.
  func retries() -> [Mutant] {
    var seen: Set<[UInt8]> = []
    return calls.compactMap { call in
      guard call.isExecuted, let end = call.events.last(where: { events[$0].type == .toolResult }),
        let start = call.events.last(where: { events[$0].type == .toolStarted }), start < end,
        seen.insert(Array(call.name.utf8)).inserted
      else { return nil }
      let before = call.events.count { events[$0].type == .toolStarted }
      var mutant = make(.retry, at: end, "\(call.name) is tried once more", tools: [call.name]) {
        let all = retryCount(of: calls)
        let own = retryCount(of: calls.filter { $0.name.hasSameUTF8(as: call.name) })
        return [
          ["maxRetries": JSONValue(all)],
          [
            "budget": [
              "tools": .object([Glob.escaping(call.name): ["retries": JSONValue(own)]])
            ]
          ],
        ]
      }
      var again = at(events[start], like: end - 1)
      again.data["attempt"] = JSONValue(before + 1)
      mutant.inserted[end] = [again]
      if let told = events[end].data["attempts"]?.intValue {
        set("attempts", JSONValue(max(told, before) + 1), at: end, in: &mutant)
      }
      return mutant
    }
  }

  /// Attempts beyond each call's first.
  private func retryCount(of calls: [Call]) -> Int {
    calls.reduce(0) { sum, call in
      let started = call.events.count { events[$0].type == .toolStarted }
      let told = call.events.compactMap { events[$0].data["attempts"]?.intValue }.max() ?? 0
      return sum + max(0, max(started, min(told, Expectations.timesLimit)) - 1)
    }
  }

  /// The last calls are made again and again, each time as a step of its own, with the same results.
  func loops() -> [Mutant] {
    guard let place = calls.last(where: \.isExecuted)?.decision else { return [] }
    let held = calls.filter { $0.decision == place }
    let step = events[place].step
    let last = held.flatMap(\.events).max() ?? place
    guard held.allSatisfy({ $0.isExecuted && $0.status != nil }),
      decisions.count(where: { events[$0].step == step }) == 1,
      let first = events.firstIndex(where: { $0.step == step && $0.type != .runStarted }),
      first <= place, last + 1 < events.count,
      events[first...last].allSatisfy({ $0.step == step })
    else { return [] }
    let times = min(3, room(for: held.count))
    guard times > 1 else { return [] }
    var mutant = make(
      .loop, at: place, "\(held.map(\.name).joined(separator: ", ")) is called \(times) times more",
      tools: held.map(\.name)
    ) {
      [
        ["noLoops": JSONValue(times + 1)], ["maxSteps": JSONValue(stepCount)],
        ["maxToolCalls": JSONValue(calls.count { $0.isExecuted })],
        called(held[0], ["times": JSONValue(executed(held[0].name))]),
      ]
    }
    mutant.inserted[last + 1] = (1...times).flatMap { round in
      events[first...last].map { again($0, round: round, behind: last) }
    }
    shiftSteps(from: last + 1, by: times, &mutant)
    return [mutant]
  }

  /// How often so many calls can be made in a step of their own before a limit of the run is reached.
  private func room(for count: Int) -> Int {
    let limits = events.first { $0.type == .runStarted }?.data["limits"]
    let steps = limits?["maxSteps"]?.intValue.map { $0 - (events.last?.step ?? 0) } ?? .max
    let calls = limits?["maxToolCalls"]?.intValue.map {
      ($0 - self.calls.count { $0.isExecuted }) / max(1, count)
    }
    return min(steps, calls ?? .max)
  }

  private var stepCount: Int { Set(decisions.map { events[$0].step }).count }

  private func again(_ event: Event, round: Int, behind last: Int) -> Event {
    var copy = at(event, like: last, stepsOn: round)
    let mark = "+\(round)"
    if let id = event.data["callId"]?.stringValue { copy.data["callId"] = .string(id + mark) }
    if event.type == .decision, let list = event.data["calls"]?.arrayValue {
      copy.data["calls"] = .array(
        list.map { call in
          guard var object = call.objectValue, let id = call["callId"]?.stringValue else {
            return call
          }
          object["callId"] = .string(id + mark)
          return .object(object)
        })
    }
    return copy
  }

  // MARK: By another

  /// The first call of each tool is made by another caller of the run.
  func otherCallers() -> [Mutant] {
    @Sendable func caller(_ place: Int) -> String {
      events[place].data["caller"]?.stringValue ?? "agent"
    }
    var all: [String] = []
    for place in decisions where !all.contains(where: { $0.hasSameUTF8(as: caller(place)) }) {
      all.append(caller(place))
    }
    guard all.count > 1 else { return [] }
    var seen: Set<[UInt8]> = []
    return calls.compactMap { call in
      guard call.isExecuted, callsByDecision[call.decision] == 1,
        seen.insert(Array(call.name.utf8)).inserted,
        let other = all.first(where: { !$0.hasSameUTF8(as: caller(call.decision)) })
      else { return nil }
      let own = caller(call.decision)
      var mutant = make(
        .caller, at: call.decision, "\(call.name) is called by \(other), not by \(own)",
        tools: [call.name]
      ) {
        let name = JSONValue.string(Glob.escaping(own))
        let count = calls.count {
          $0.isExecuted && $0.name.hasSameUTF8(as: call.name)
            && caller($0.decision).hasSameUTF8(as: own)
        }
        return [
          called(call, ["caller": name]),
          called(call, ["caller": name, "times": JSONValue(count)]),
        ]
      }
      // Who makes it is said by all that says so of one of the other's.
      let said = decisions.first { caller($0).hasSameUTF8(as: other) }.map { events[$0].data }
      mutant.replaced[call.decision] = events[call.decision]
      for key in ["caller", "ofAgent", SimulatedUser.key] {
        mutant.replaced[call.decision]?.data[key] = said?[key]
      }
      return mutant
    }
  }
}

// MARK: - Events that are made up

extension MutantMaker {
  /// An event as if it came right behind another.
  func at(_ event: Event, like place: Int, stepsOn steps: Int = 0) -> Event {
    var event = event
    let neighbour = events[max(0, place)]
    event.step = neighbour.step + steps
    (event.t, event.time) = (neighbour.t, neighbour.time)
    return event
  }

  /// What the model is shown and replies, as it last was before a place.
  func turn(before place: Int) -> [Event] {
    let reply = events.indices.last {
      $0 < place && events[$0].type == .modelResult
        && events[$0].data["purpose"]?.stringValue ?? "decide" == "decide"
    }
    guard let reply else { return [] }
    let context = events.indices.last { $0 < reply && events[$0].type == .contextBuilt }
    return [context, reply].compactMap { $0.map { events[$0] } }
  }

  /// Everything from a place on belongs to later steps.
  func shiftSteps(from place: Int, by count: Int, _ mutant: inout Mutant) {
    for index in events.indices where index >= place && !mutant.removed.contains(index) {
      var event = mutant.replaced[index] ?? events[index]
      event.step += count
      mutant.replaced[index] = event
    }
  }

  private func event(_ type: EventType, _ data: JSONObject, like place: Int) -> Event {
    at(
      Event(seq: 0, step: 0, type: type, runId: events[place].runId, t: 0, data: data), like: place)
  }

  private func verdict(on call: Call, like place: Int) -> Event {
    event(
      .policyDecision,
      [
        "callId": .string(call.id), "tool": .string(call.name), "status": "allow",
        "reason": "no rule stands against it",
      ], like: place)
  }

  private func started(_ call: Call, like place: Int) -> Event {
    event(
      .toolStarted,
      [
        "callId": .string(call.id), "tool": .string(call.name), "attempt": 1,
        "idempotencyKey": .string("\(events[place].runId)/\(call.id)"),
      ], like: place)
  }

  private func result(_ call: Call, like place: Int) -> Event {
    event(
      .toolResult,
      [
        "callId": .string(call.id), "tool": .string(call.name), "status": "ok", "attempts": 1,
        "data": [:],
      ], like: place)
  }

  private func wentWell(_ result: Event) -> Event {
    var event = result
    event.data["status"] = "ok"
    event.data["reason"] = nil
    event.data["attempts"] = 1
    event.data["data"] = [:]
    return event
  }
}
