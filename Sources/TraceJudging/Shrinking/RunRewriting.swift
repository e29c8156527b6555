public import AgentTrace

/// Makes a whole log of what is left of a run.
public enum RunRewriting {
  /// The run with these parts alone: numbers of events that others name are the new ones, packets speak of
  /// what is there, and its last stop has the totals and the digest of the state that it now has.
  ///
  /// What the run would no longer fail in the same way without stays as it was recorded.
  static func events(of run: RunParts, with parts: [Int], _ failure: RunFailure) -> [Event] {
    let (kept, places) = run.run(of: parts)
    var numbers: [Int: Int] = [:]
    for (index, place) in places.enumerated() { numbers[run.events[place].seq] = index }
    let named = kept.map { renamed($0, numbers) }
    let gone = Gone(run, parts, places)
    let attempts = [ended(named.map(gone.taken(out:))), ended(named)]
    return attempts.first { failure.isShown(by: $0, places) } ?? named
  }

  /// An event whose references to others are the new ones; those to what is gone are left out.
  private static func renamed(_ event: Event, _ numbers: [Int: Int]) -> Event {
    var event = event
    for key in ["modelResult", "replyTo"] {
      guard let seq = event.data[key]?.intValue else { continue }
      event.data[key] = numbers[seq].map { JSONValue($0) }
    }
    return event
  }

  /// The events of a run that was changed, with the totals and the digest of the state that each of its stops has
  /// now: also those at which it paused. A stop that does not tell them is left as it is, and so is the digest of an
  /// earlier one that another fold made: nobody compares it.
  public static func ended(_ events: [Event]) -> [Event] {
    var events = events
    guard let last = events.lastIndex(where: { $0.type == .stop }) else { return events }
    var state = AgentState()
    for index in events.indices[...last] {
      if events[index].type == .stop {
        let data = events[index].data
        if data["totals"] != nil { events[index].data["totals"] = .object(state.totals.encoded) }
        let isKnown = index == last || data["stateFormat"] == JSONValue(AgentState.format)
        if data["stateDigest"] != nil, isKnown {
          events[index].data["stateDigest"] = .string(state.digest.hex)
        }
      }
      state.apply(events[index])
    }
    return events
  }
}

/// What of a run is not there any more, as packets name it.
private struct Gone {
  private let callIds: Set<String>
  /// Those calls by the model's own ids, which are all that the packets of an import know.
  private let toldIds: Set<String>
  private let steps: Set<Int>

  init(_ run: RunParts, _ parts: [Int], _ places: [Int]) {
    let isKept = Set(parts)
    var there: Set<Int> = []
    for place in places { there.insert(run.events[place].step) }
    steps = Set(run.events.map(\.step)).subtracting(there)
    let callIds = Set(
      run.parts.indices.compactMap { isKept.contains($0) ? nil : run.parts[$0].callId })
    self.callIds = callIds
    var (gone, left): (Set<String>, Set<String>) = ([], [])
    for event in run.events where event.type == .decision {
      for call in event.data["calls"]?.arrayValue ?? [] {
        guard let told = call["providerCallId"]?.stringValue else { continue }
        if call["callId"]?.stringValue.map(callIds.contains) ?? false {
          gone.insert(told)
        } else {
          left.insert(told)
        }
      }
    }
    toldIds = gone.subtracting(left)
  }

  /// Whether a part of a message speaks of a call that is gone.
  private func isOfGone(_ part: JSONValue) -> Bool {
    part["callId"]?.stringValue.map(callIds.contains)
      ?? part["providerCallId"]?.stringValue.map(toldIds.contains) ?? false
  }

  private func isGone(_ ref: String) -> Bool {
    if callIds.contains(ref) { return true }
    // Observations of our own runs are named `<step>.<kind>.<n>`.
    guard let dot = ref.firstIndex(of: "."), let step = Int(ref[..<dot]) else { return false }
    return steps.contains(step)
  }

  /// A packet without what is gone; any other event as it is.
  func taken(out event: Event) -> Event {
    guard event.type == .contextBuilt else { return event }
    var event = event
    for (list, key) in [
      ("observations", "id"), ("included", "ref"), ("omittedRefs", "ref"),
    ] {
      guard let items = event.data[list]?.arrayValue else { continue }
      event.data[list] = .array(
        items.filter { item in item[key]?.stringValue.map { !isGone($0) } ?? true })
    }
    if let refs = event.data["evidenceRefs"]?.arrayValue {
      event.data["evidenceRefs"] = .array(
        refs.filter { $0.stringValue.map { !isGone($0) } ?? true })
    }
    if case .object(var prompt)? = event.data["prompt"],
      let messages = prompt["messages"]?.arrayValue
    {
      prompt["messages"] = .array(messages.compactMap(taken(outOf:)))
      event.data["prompt"] = .object(prompt)
    }
    return event
  }

  /// A message without the calls and results that are gone; `nil` where nothing else stood there.
  private func taken(outOf message: JSONValue) -> JSONValue? {
    guard case .object(var object) = message, let items = object["content"]?.arrayValue else {
      return message
    }
    let kept = items.filter { !isOfGone($0) }
    guard kept.count < items.count else { return message }
    if kept.isEmpty { return nil }
    object["content"] = .array(kept)
    return .object(object)
  }
}
