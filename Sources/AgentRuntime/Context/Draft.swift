import AgentTrace

/// A context packet in the making: what is taken in, what is left out, and why.
struct Draft {
  private(set) var messages: [JSONValue] = []
  private(set) var included: [ContextItem] = []
  private(set) var omitted: [ContextItem] = []
  private(set) var evidenceRefs: [String] = []
  private(set) var memoryRefs: [String] = []
  /// Estimated tokens of the messages so far.
  private(set) var tokens = 0
  private let settings: ContextSettings
  /// What is left out because the settings say so.
  private var dropped: [String] = []

  init(leavingOut settings: ContextSettings) { self.settings = settings }

  mutating func addOpening(systemPrompt: String?, goal: JSONValue) {
    if let systemPrompt, take("system", "the agent's instructions") {
      append([Turn.Part.text("system", systemPrompt)])
    }
    guard take("goal", "the run's goal") else { return }
    append([Turn.Part.text("user", goal.stringValue ?? CanonicalJSON.string(goal, form: .plain))])
  }

  mutating func addTools(_ tools: [ToolRegistration], route: String?) {
    for tool in tools {
      switch (tool.isDisclosed(on: route), tool.routes) {
      case (true, nil): _ = take(tool.ref, "open on every route")
      case (true, _): _ = take(tool.ref, "open on route \(route ?? "")")
      case (false, let routes):
        omit(tool.ref, "only open on \((routes ?? []).joined(separator: ", "))")
      }
    }
  }

  /// Takes in the newest turns that fit; the last one always, or the model would not know where it is.
  /// Only what is taken in, and the first turn that is not, is looked up.
  mutating func addTurns(_ turns: [[Observation]], budget: Int, lookup: EventLookup) {
    // A decision takes everything that came of it along: no result stands without its call.
    var kept: [[Observation]] = []
    for turn in turns {
      if let first = turn.first, first.kind == .model,
        let reason = settings.reasonToLeaveOut(first.id)
      {
        for observation in turn { drop(observation.id, reason) }
      } else {
        kept.append(turn)
      }
    }
    let turns = kept
    var taken: [Turn] = []
    var rest = budget - tokens
    for observations in turns.reversed() {
      let turn = Turn(observations, leavingOut: settings, lookup: lookup)
      let cost = turn.messages.reduce(0) { $0 + TokenEstimate.tokens(in: $1) }
      guard taken.isEmpty || cost <= rest else { break }
      rest -= cost
      taken.append(turn)
    }
    for observation in turns.dropLast(taken.count).joined() {
      if let reason = settings.reasonToLeaveOut(observation.id) {
        drop(observation.id, reason)
      } else {
        omit(observation.id, "older than what fits the token budget")
      }
    }
    for (age, turn) in taken.enumerated().reversed() {
      let reason = age == 0 ? "the latest turn" : "fits the token budget"
      for part in turn.parts { _ = take(part.observation.id, reason) }
      append(turn.messages)
      evidenceRefs += turn.evidenceRefs
      memoryRefs += turn.memoryRefs
    }
  }

  /// The newest observations as a packet lists them.
  mutating func list(_ observations: ArraySlice<Observation>, limit: Int) -> [JSONValue] {
    observations.suffix(max(0, limit)).filter { isShown($0.id) }.map {
      ["id": .string($0.id), "summary": .string($0.summary)]
    }
  }

  /// Whether an observation may be listed: what is older than the prompt reaches may, what is to be
  /// left out with its whole turn may not.
  private func isShown(_ ref: String) -> Bool {
    settings.leftOut.isEmpty || !dropped.contains { $0.hasSameUTF8(as: ref) }
  }

  /// Takes an item in, unless it is to be left out; says whether.
  private mutating func take(_ ref: String, _ reason: String) -> Bool {
    if let reason = settings.reasonToLeaveOut(ref) {
      drop(ref, reason)
      return false
    }
    included.append(ContextItem(ref: ref, reason: reason))
    return true
  }

  private mutating func drop(_ ref: String, _ reason: String) {
    dropped.append(ref)
    omit(ref, reason)
  }

  private mutating func omit(_ ref: String, _ reason: String) {
    omitted.append(ContextItem(ref: ref, reason: reason))
  }

  private mutating func append(_ added: [JSONValue]) {
    messages += added
    tokens += added.reduce(0) { $0 + TokenEstimate.tokens(in: $1) }
  }
}
