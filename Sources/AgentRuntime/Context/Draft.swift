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

  mutating func addOpening(systemPrompt: String?, goal: JSONValue) {
    if let systemPrompt {
      include("system", "the agent's instructions")
      append([Turn.Part.text("system", systemPrompt)])
    }
    include("goal", "the run's goal")
    append([Turn.Part.text("user", goal.stringValue ?? CanonicalJSON.string(goal, form: .plain))])
  }

  mutating func addTools(_ tools: [ToolRegistration], route: String?) {
    for tool in tools {
      let ref = "tool:\(tool.definition.name)"
      switch (tool.isDisclosed(on: route), tool.routes) {
      case (true, nil): include(ref, "open on every route")
      case (true, _): include(ref, "open on route \(route ?? "")")
      case (false, let routes):
        omit(ref, "only open on \((routes ?? []).joined(separator: ", "))")
      }
    }
  }

  /// Takes in the newest turns that fit; the last one always, or the model would not know where it is.
  /// Only what is taken in, and the first turn that is not, is looked up.
  mutating func addTurns(_ turns: [[Observation]], budget: Int, lookup: EventLookup) {
    var taken: [Turn] = []
    var rest = budget - tokens
    for observations in turns.reversed() {
      let turn = Turn(observations, lookup: lookup)
      let cost = turn.messages.reduce(0) { $0 + TokenEstimate.tokens(in: $1) }
      guard taken.isEmpty || cost <= rest else { break }
      rest -= cost
      taken.append(turn)
    }
    for observation in turns.dropLast(taken.count).joined() {
      omit(observation.id, "older than what fits the token budget")
    }
    for (age, turn) in taken.enumerated().reversed() {
      let reason = age == 0 ? "the latest turn" : "fits the token budget"
      for part in turn.parts { include(part.observation.id, reason) }
      append(turn.messages)
      evidenceRefs += turn.evidenceRefs
      memoryRefs += turn.memoryRefs
    }
  }

  /// The newest observations as a packet lists them.
  mutating func list(_ observations: ArraySlice<Observation>, limit: Int) -> [JSONValue] {
    observations.suffix(max(0, limit)).map {
      ["id": .string($0.id), "summary": .string($0.summary)]
    }
  }

  private mutating func include(_ ref: String, _ reason: String) {
    included.append(ContextItem(ref: ref, reason: reason))
  }

  private mutating func omit(_ ref: String, _ reason: String) {
    omitted.append(ContextItem(ref: ref, reason: reason))
  }

  private mutating func append(_ added: [JSONValue]) {
    messages += added
    tokens += added.reduce(0) { $0 + TokenEstimate.tokens(in: $1) }
  }
}
