public import AgentTrace

/// Finds an earlier event of the run by its number; `nil` where it is no longer there.
public typealias EventLookup = (Int) -> Event?

/// Makes the context packet of the next decision.
///
/// Pure: the agent file, the state, the fold of ``ContextHistory`` and the earlier events that the state
/// names are all it looks at, so every recorded packet can be made again from the log, byte for byte.
/// Everything that could have been put before the model stands in `included` or `omittedRefs` with its
/// reason. The order of a prompt is: instructions, goal, plan, summary, then what was seen, oldest first (notes
/// that were read stand where they were read), and at the end what the model said when it looked back.
public struct ContextAssembler: Sendable {
  private let settings: ContextSettings
  private let estimate: TokenEstimate
  private let agent: AgentDefinition

  /// Takes of an agent its instructions, examples, plans and looks back, its tools and their sources, its context settings and the family of its model,
  /// and nothing else.
  public init(agent: AgentDefinition) {
    var settings = agent.context
    settings.citesResults = agent.cites
    self.settings = settings
    estimate =
      agent.context.tokenEstimate
      ?? TokenEstimate(provider: agent.model.provider, model: agent.model.name)
    self.agent = agent
  }

  /// The tools of the agent file, then those that its sources have offered.
  private func tools(_ history: ContextHistory) -> [ToolRegistration] {
    agent.tools + history.listed.registrations(of: agent.sources)
  }

  /// The tools that the model may be told of on a route; those with rules of their own among them,
  /// whether or not these show them.
  ///
  /// - Parameters:
  ///   - route: where the run acts, as its policy context says; `nil` where it says nothing.
  ///   - history: every event before the packet, taken in.
  ///   - seq: the number of the packet's event.
  public func disclosedTools(
    route: String?, _ history: ContextHistory = ContextHistory(), at seq: Int = .max
  ) -> [ToolDefinition] {
    let settings = settings.at(seq)
    return tools(history).filter {
      $0.isOpen(on: route) && settings.reasonToLeaveOut($0.ref) == nil
    }
    .map(\.definition)
  }

  /// The tools that a packet discloses.
  func tools(of packet: ContextPacket, _ history: ContextHistory) -> [ToolDefinition] {
    tools(history).map(\.definition).filter { tool in
      packet.toolsDisclosed.contains { $0.hasSameUTF8(as: tool.name) }
    }
  }

  /// The packet for the decision that follows `state`.
  ///
  /// - Parameters:
  ///   - state: what the run is right before the decision.
  ///   - history: every event before the packet, taken in.
  ///   - seq: the number of the packet's own event; only ``ContextSettings/leftOut`` looks at it.
  ///   - lookup: finds the earlier events that the state names, by their numbers.
  /// - Complexity: linear in the observations that the state retains and the events they name.
  public func assemble(
    state: AgentState, history: ContextHistory = ContextHistory(), at seq: Int = .max,
    lookup: EventLookup
  ) -> ContextPacket {
    var cache = TurnCache()
    return assemble(state: state, history: history, at: seq, &cache, lookup: lookup)
  }

  /// The same, with the turns that the last packet showed at hand.
  ///
  /// - Complexity: linear in what is new, and a few operations for each observation that the state
  ///   retains.
  func assemble(
    state: AgentState, history: ContextHistory, at seq: Int, _ cache: inout TurnCache,
    lookup: EventLookup
  ) -> ContextPacket {
    var (draft, disclosed, budget) = opening(state, history, at: seq)
    let settings = settings.at(seq)
    var observed = state.observations.recent
    cache.forget(before: observed.first?.seq ?? 0)
    if settings.strategy == .summarize, let summary = history.summary {
      let latest = Self.turns(of: observed).last ?? []
      let told = observed.covered(through: summary.through)
      if draft.addSummary(
        summary, told: told, beside: latest, budget: budget, &cache, lookup: lookup)
      {
        observed = observed.dropFirst(told.count)
      }
    }
    draft.addTurns(
      Self.turns(of: observed), budget: budget, dropsOutput: settings.strategy == .dropToolOutput,
      &cache, lookup: lookup)
    draft.addReflection()
    let listed = draft.list(
      state.observations.recent, limit: settings.observationLimit, &cache)
    return ContextPacket(
      runId: state.runId, goal: state.goal, stateSummary: Self.summary(of: state),
      observations: listed, toolsDisclosed: disclosed.map(\.name),
      evidenceRefs: draft.evidenceRefs, memoryRefs: draft.memoryRefs, included: draft.included,
      omittedRefs: draft.omitted, messages: draft.messages,
      tokenEstimate: draft.tokens + tokens(of: disclosed), tokenBudget: settings.tokenBudget)
  }

  /// What stands before everything that was seen, the tools that are disclosed, and the budget beside
  /// these.
  private func opening(
    _ state: AgentState, _ history: ContextHistory, at seq: Int
  ) -> (draft: Draft, disclosed: [ToolDefinition], budget: Int) {
    let settings = settings.at(seq)
    let view = DisclosureView(state: state, history: history)
    let disclosures = tools(history).map { ($0, $0.disclosure(in: view)) }
    let disclosed = disclosures.filter {
      $0.1.isShown && settings.reasonToLeaveOut($0.0.ref) == nil
    }.map(\.0.definition)
    var draft = Draft(leavingOut: settings, estimate: estimate)
    draft.addInstructions(of: agent, agent.promptValues(state, history), view)
    draft.addExamples(agent.examples)
    draft.addGoal(state.goal)
    if let settings = agent.plan, let plan = history.thoughts(for: .plan).latest {
      draft.addPlan(plan, settings)
    }
    if let settings = agent.reflect, let words = history.thoughts(for: .reflect).latest {
      draft.reserve(reflection: words, settings)
    }
    for (tool, disclosure) in disclosures {
      draft.addTool(tool.ref, isShown: disclosure.isShown, disclosure.reason)
    }
    // What is left of the budget once the tools are described.
    return (draft, disclosed, max(0, settings.tokenBudget - tokens(of: disclosed)))
  }

  /// A template as the run fills it.
  func filled(
    _ template: PromptTemplate, _ state: AgentState, _ history: ContextHistory
  ) -> String {
    agent.promptValues(state, history).filled(template).text
  }

  private func tokens(of tools: [ToolDefinition]) -> Int {
    tools.reduce(0) { $0 + estimate.tokens(in: .object($1.encoded)) }
  }

  private static func summary(of state: AgentState) -> JSONObject {
    var summary: JSONObject = [
      "step": JSONValue(state.steps + 1), "toolCalls": JSONValue(state.totals.toolCalls),
      "denials": JSONValue(state.counters.denials),
    ]
    summary["remainingSteps"] = state.maxSteps.map { JSONValue(max(0, max(0, $0) - state.steps)) }
    summary["route"] = state.policyContext["route"]
    return summary
  }

  /// The observations as turns: a decision and everything up to the next one, kept or left out
  /// together, so that no result ever stands without its call. They are slices: none is copied.
  private static func turns(of observations: ArraySlice<Observation>) -> [ArraySlice<Observation>] {
    var turns: [ArraySlice<Observation>] = []
    var start = observations.startIndex
    for index in observations.indices.dropFirst() where observations[index].kind == .model {
      turns.append(observations[start..<index])
      start = index
    }
    if start < observations.endIndex { turns.append(observations[start...]) }
    return turns
  }
}

// MARK: - Summaries

extension ContextAssembler {
  /// What a model is asked for when the prompt has no room for everything that was seen.
  struct SummaryTask {
    /// The messages of the request.
    var messages: [JSONValue]
    /// The id of the last observation that the summary is to tell of.
    var through: String
  }

  /// The summary that is due before the next packet; `nil` where none is.
  ///
  /// It is due where what was seen since the last one does not fit the budget. Told is then everything
  /// but the newest turns that take up half of what is left, so that the next one is not due at once.
  func summaryDue(
    state: AgentState, history: ContextHistory, at seq: Int, _ cache: inout TurnCache,
    lookup: EventLookup
  ) -> SummaryTask? {
    let settings = settings.at(seq)
    guard settings.strategy == .summarize else { return nil }
    var (draft, _, budget) = opening(state, history, at: seq)
    var observed = state.observations.recent
    if let summary = history.summary {
      observed = observed.dropFirst(observed.covered(through: summary.through).count)
      draft.addText(of: summary)
    }
    let turns = Self.turns(of: observed)
    let room = max(0, budget - draft.tokens)
    var (tokens, kept, isOver) = (0, 0, false)
    for observations in turns.reversed() {
      let cost = cache.shown(observations, leavingOut: settings, estimate, lookup: lookup).tokens
      guard cost <= room - min(room, tokens) else {
        isOver = kept > 0
        break
      }
      tokens += cost
      if kept == 0 || tokens <= room / 2 { kept += 1 }
    }
    let told = turns.dropLast(max(1, kept))
    guard isOver, let through = told.last?.last?.id else { return nil }
    return SummaryTask(
      messages: messages(toTell: Array(told), after: history.summary, settings, &cache, lookup),
      through: through)
  }

  /// The request: what is to be told, the newest of it where not all fits the budget.
  private func messages(
    toTell turns: [ArraySlice<Observation>], after summary: ContextHistory.Summary?,
    _ settings: ContextSettings, _ cache: inout TurnCache, _ lookup: EventLookup
  ) -> [JSONValue] {
    var opening = [Turn.Part.text("system", Self.instructions)]
    if let summary {
      opening.append(Draft.message(of: summary, limitBytes: limitBytes(ofSummary: settings)))
    }
    let closing = Turn.Part.text("user", Self.request)
    var rest =
      settings.tokenBudget
      - (opening + [closing]).reduce(0) { $0 + estimate.tokens(in: $1) }
    var told: [[JSONValue]] = []
    for observations in turns.reversed() {
      let shown = cache.shown(observations, leavingOut: settings, estimate, lookup: lookup)
      guard told.isEmpty || shown.tokens <= rest else { break }
      rest -= min(rest, shown.tokens)
      told.append(shown.turn.messages)
    }
    return opening + told.reversed().joined() + [closing]
  }

  private func limitBytes(ofSummary settings: ContextSettings) -> Int {
    estimate.bytes(inTokens: settings.tokenBudget / 4)
  }

  private static let instructions =
    "You shorten the record of an agent's work, so that it can go on without the whole of it."
  private static let request =
    "Summarise what came before: what was asked, what was found out (with names, numbers and ids as they "
    + "stand), what was done, what failed, and what is still open. Write only the summary."
}

extension ArraySlice<Observation> {
  /// The observations up to the last one of an id; none where there is no such.
  fileprivate func covered(through id: String) -> ArraySlice<Observation> {
    guard let last = lastIndex(where: { $0.id.hasSameUTF8(as: id) }) else { return prefix(0) }
    return self[startIndex...last]
  }
}

extension ContextSettings {
  /// The settings for a packet whose event has this number.
  func at(_ seq: Int) -> ContextSettings {
    guard !leftOut.isEmpty else { return self }
    var settings = self
    settings.leftOut.removeAll { $0.behind >= seq }
    return settings
  }

  /// Why an item is left out of every packet; `nil` where it is not.
  func reasonToLeaveOut(_ ref: String) -> String? {
    leftOut.first { $0.ref.hasSameUTF8(as: ref) }?.reason
  }
}
