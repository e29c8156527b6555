import AgentTrace
import TraceMatching

/// What the model is shown and says, what an answer rests on, who approves, what is remembered, and how long
/// it all takes.
extension MutantMaker {
  /// Of one sort, at most.
  private static let fewLimit = 8

  // MARK: Decisions

  /// The model's last decision is preceded by one that cannot be used.
  func invalidDecisions() -> [Mutant] {
    guard let place = decisions.last(where: { events[$0].data["kind"] != "invalid" }),
      place > 0
    else { return [] }
    let turn = self.turn(before: place)
    // Before what that decision was made from.
    let previous = decisions.last { $0 < place } ?? -1
    let first =
      events.indices.first {
        $0 > previous && $0 < place && events[$0].step == events[place].step
          && [.contextBuilt, .modelResult].contains(events[$0].type)
      } ?? place
    let count = decisions.count { events[$0].data["kind"] == "invalid" }
    var mutant = make(.invalidDecision, at: place, "a decision before is of no use") {
      [
        ["maxInvalidDecisions": JSONValue(count)],
        ["budget": ["modelCalls": JSONValue(events.count { $0.type == .modelResult })]],
      ]
    }
    let data = DecisionPayload(.invalid(reason: "neither an answer nor a call", calls: [])).encoded
    let invalid = Event(
      seq: 0, step: 0, type: .decision, runId: events[place].runId, t: 0, data: data)
    let step = events[place].step
    mutant.inserted[first] = (turn + [invalid]).map { event in
      var event = at(event, like: first - 1)
      event.step = step
      return event
    }
    return [mutant]
  }

  // MARK: Evidence

  /// Whether a decision is the run's answer, and none that an agent gave to the one that called it.
  func isAnswer(_ decision: JSONObject) -> Bool {
    decision["kind"] == "answer"
      && (decision["caller"] == nil || decision["ofAgent"] == true)
  }

  /// The answer cites less than it did, or what nobody has seen.
  func otherEvidence() -> [Mutant] {
    guard let place = decisions.last(where: { isAnswer(events[$0].data) }) else {
      return []
    }
    let refs = (events[place].data["evidenceRefs"]?.arrayValue ?? []).compactMap(\.stringValue)
    guard !refs.isEmpty else { return [] }
    func mutant(_ refs: [String], _ words: String, _ remedies: [JSONValue]) -> Mutant {
      var mutant = make(.evidence, at: place, words) { remedies }
      set("evidenceRefs", JSONValue(refs), at: place, in: &mutant)
      if let stop = events.lastIndex(where: { $0.type == .stop && $0.data["evidenceRefs"] != nil })
      {
        set("evidenceRefs", JSONValue(refs), at: stop, in: &mutant)
      }
      return mutant
    }
    let count = JSONValue(Set(refs).count)
    let fewer = refs.indices.prefix(Self.fewLimit).map { index in
      var rest = refs
      let gone = rest.remove(at: index)
      let call = calls.last { $0.id.hasSameUTF8(as: gone) }
      let cited = call.map { [["evidence": ["cites": [entry($0)]]] as JSONValue] } ?? []
      return mutant(
        rest, "the answer does not cite \(call?.name ?? gone)",
        cited + [["evidence": ["min": count]]])
    }
    return fewer + [
      mutant(
        refs + ["0.0.0"], "the answer cites what nobody has seen",
        [["evidence": ["observed": true]]])
    ]
  }

  // MARK: People

  /// Somebody else approves, or refuses.
  func otherApprovers() -> [Mutant] {
    events.indices.filter { events[$0].type == .approval }.prefix(Self.fewLimit).compactMap {
      place in
      guard let by = events[place].data["by"]?.stringValue else { return nil }
      let other = by == "somebody-else" ? "another" : "somebody-else"
      let callId = events[place].data["callId"]?.stringValue ?? ""
      let call = calls.last { $0.id.hasSameUTF8(as: callId) }
      let word = events[place].data["granted"] == true ? "granted" : "denied"
      var mutant = make(
        .approver, at: place, "\(other) has the word on \(call?.name ?? callId), not \(by)",
        tools: call.map { [$0.name] } ?? []
      ) {
        var moment: JSONObject = [
          "approval": .string(word), "by": .string(Glob.escaping(by)),
        ]
        if let call { moment["tool"] = .string(Glob.escaping(call.name)) }
        let count = events.count {
          $0.type == .approval && $0.data["by"] == .string(by)
            && ($0.data["granted"] == true) == (word == "granted")
        }
        var all: JSONObject = ["approval": .string(word), "by": .string(Glob.escaping(by))]
        all["times"] = JSONValue(count)
        return [
          ["policy": ["approvals": [.object(moment)]]], ["policy": ["approvals": [.object(all)]]],
        ]
      }
      set("by", .string(other), at: place, in: &mutant)
      return mutant
    }
  }

  // MARK: Notes

  /// Notes are not kept, say something else, or are more than there were; where the run has a memory.
  func otherNotes() -> [Mutant] {
    let read = events.indices.filter { events[$0].type == .memoryRead }
    let written = events.indices.filter { events[$0].type == .memoryWritten }
    guard !read.isEmpty || !written.isEmpty else { return [] }
    return written.prefix(Self.fewLimit).compactMap(notKept)
      + read.prefix(Self.fewLimit).compactMap(otherwiseRead) + moreNotes()
  }

  private func note(_ place: Int) -> (entry: JSONObject, count: Int, name: String)? {
    guard let note = try? MemoryNote(decoding: events[place].data) else { return nil }
    let count = events.count {
      $0.type == events[place].type && $0.data["scope"] == .string(note.scope)
        && $0.data["key"] == .string(note.key)
    }
    return (
      [
        "scope": .string(Glob.escaping(note.scope)), "key": .string(Glob.escaping(note.key)),
      ], count, note.key
    )
  }

  private func notKept(_ place: Int) -> Mutant? {
    guard let note = note(place) else { return nil }
    var mutant = make(.memory, at: place, "the note \(note.name) is not kept") {
      var counted = note.entry
      counted["times"] = JSONValue(note.count)
      return [
        ["memory": ["written": [.object(note.entry)]]],
        ["memory": ["written": [.object(counted)]]],
      ]
    }
    mutant.removed = [place]
    return mutant
  }

  private func otherwiseRead(_ place: Int) -> Mutant? {
    guard let note = note(place), let value = events[place].data["value"] else { return nil }
    let other: JSONValue = value == "otherwise" ? "other" : "otherwise"
    var mutant = make(.memory, at: place, "the note \(note.name) says \(other)") {
      var valued = note.entry
      valued["value"] = ["$literal": value]
      var counted = valued
      counted["times"] = JSONValue(
        events.count { $0.type == .memoryRead && $0.data["value"] == value })
      return [
        ["memory": ["read": [.object(valued)]]], ["memory": ["read": [.object(counted)]]],
      ]
    }
    set("value", other, at: place, in: &mutant)
    // A tool that recalls it returns it, too.
    if let callId = events[place].data["callId"],
      let result = events.indices.first(where: {
        $0 > place && events[$0].type == .toolResult && events[$0].data["callId"] == callId
      }), events[result].data["data"]?["value"] == value,
      var data = events[result].data["data"]?.objectValue
    {
      data["value"] = other
      set("data", .object(data), at: result, in: &mutant)
    }
    return mutant
  }

  private func moreNotes() -> [Mutant] {
    let name = "another-note"
    let data: JSONObject = ["scope": "actor", "key": .string(name), "value": "a note"]
    var mutants: [Mutant] = []
    if let call = calls.first(where: { $0.status == .ok && $0.isExecuted }),
      let place = call.events.last(where: { events[$0].type == .toolResult })
    {
      var mutant = make(.memory, at: place, "\(call.name) keeps another note", tools: [call.name]) {
        [["memory": ["notWritten": [.string(name)]]]]
      }
      var data = data
      data["callId"] = .string(call.id)
      mutant.inserted[place] = [
        at(
          Event(
            seq: 0, step: 0, type: .memoryWritten, runId: events[place].runId, t: 0, data: data),
          like: place - 1)
      ]
      mutants.append(mutant)
    }
    if events.count > 1, events[0].type == .runStarted {
      var mutant = make(.memory, at: 0, "another note is read") {
        [["memory": ["notRead": [.string(name)]]]]
      }
      mutant.inserted[1] = [
        at(
          Event(seq: 0, step: 0, type: .memoryRead, runId: events[0].runId, t: 0, data: data),
          like: 0)
      ]
      mutants.append(mutant)
    }
    return mutants
  }

  // MARK: Time

  /// Everything takes up to a hundred times as long, as far as the run may.
  func slower() -> [Mutant] {
    let total = events.map(\.t).max() ?? 0
    guard total > 0, total < 1 << 50 else { return [] }
    let limit = events.first { $0.type == .runStarted }?.data["limits"]?["timeoutSeconds"]?
      .doubleValue
    let most = limit.map { $0 * 900_000 / Double(total) } ?? 100
    let factor = Int(min(100, max(0, most)))
    guard factor > 1 else { return [] }
    var mutant = make(.slow, at: 0, "everything takes \(factor) times as long") {
      [["budget": ["seconds": JSONValue(Double(total) * 1.5 / 1e6)]]] + toolTimes()
    }
    for index in events.indices {
      var event = events[index]
      event.t = max(0, event.t) * factor
      if let took = event.data["elapsedMicroseconds"]?.intValue, took > 0, took < 1 << 50 {
        event.data["elapsedMicroseconds"] = JSONValue(took * factor)
      }
      if event != events[index] { mutant.replaced[index] = event }
    }
    return [mutant]
  }

  /// What the calls of each tool take together and half as much again.
  private func toolTimes() -> [JSONValue] {
    var names: [String] = []
    for call in calls
    where call.isExecuted && !names.contains(where: { $0.hasSameUTF8(as: call.name) }) {
      names.append(call.name)
    }
    return names.prefix(Self.fewLimit).compactMap { name in
      let took = calls.filter { $0.name.hasSameUTF8(as: name) }.flatMap(\.events).reduce(0.0) {
        $0 + (events[$1].data["elapsedMicroseconds"]?.doubleValue ?? 0)
      }
      guard took > 0 else { return nil }
      return [
        "budget": [
          "tools": .object([Glob.escaping(name): ["seconds": JSONValue(took * 1.5 / 1e6)]])
        ]
      ]
    }
  }
}
