public import AgentTrace

/// Finds an earlier event of the run by its number; `nil` where it is no longer there.
public typealias EventLookup = (Int) -> Event?

/// Makes the context packet of the next decision.
///
/// Pure: the agent file, the state and the earlier events that the state names are all it looks at,
/// so every recorded packet can be made again from the log, byte for byte. Everything that could have
/// been put before the model stands in `included` or `omittedRefs` with its reason.
public struct ContextAssembler: Sendable {
  private let settings: ContextSettings
  private let systemPrompt: String?
  private let tools: [ToolRegistration]

  /// Takes of an agent its system prompt, its tools and its context settings, and nothing else.
  public init(agent: AgentDefinition) {
    settings = agent.context
    systemPrompt = agent.systemPrompt
    tools = agent.tools
  }

  /// The tools that the model is told of on a route.
  ///
  /// - Parameter seq: the number of the packet's event.
  public func disclosedTools(route: String?, at seq: Int = .max) -> [ToolDefinition] {
    let settings = settings.at(seq)
    return tools.filter { $0.isDisclosed(on: route) && settings.reasonToLeaveOut($0.ref) == nil }
      .map(\.definition)
  }

  /// The packet for the decision that follows `state`.
  ///
  /// - Parameter seq: the number of the packet's own event; only ``ContextSettings/leftOut`` looks at it.
  /// - Complexity: linear in the observations that the state retains and the events they name.
  public func assemble(
    state: AgentState, at seq: Int = .max, lookup: EventLookup
  ) -> ContextPacket {
    let settings = settings.at(seq)
    let route = state.policyContext["route"]?.stringValue
    let disclosed = disclosedTools(route: route, at: seq)
    var draft = Draft(leavingOut: settings)
    draft.addOpening(systemPrompt: systemPrompt, goal: state.goal)
    draft.addTools(tools, route: route)
    draft.addTurns(Self.turns(of: state), budget: budget(beside: disclosed), lookup: lookup)
    let listed = draft.list(state.observations.recent, limit: settings.observationLimit)
    return ContextPacket(
      runId: state.runId, goal: state.goal, stateSummary: Self.summary(of: state),
      observations: listed, toolsDisclosed: disclosed.map(\.name),
      evidenceRefs: draft.evidenceRefs, memoryRefs: draft.memoryRefs, included: draft.included,
      omittedRefs: draft.omitted, messages: draft.messages,
      tokenEstimate: draft.tokens + Self.tokens(of: disclosed), tokenBudget: settings.tokenBudget)
  }

  /// What is left of the budget once the tools are described.
  private func budget(beside disclosed: [ToolDefinition]) -> Int {
    max(0, settings.tokenBudget - Self.tokens(of: disclosed))
  }

  private static func tokens(of tools: [ToolDefinition]) -> Int {
    tools.reduce(0) { $0 + TokenEstimate.tokens(in: .object($1.encoded)) }
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
  /// together, so that no result ever stands without its call.
  private static func turns(of state: AgentState) -> [[Observation]] {
    var turns: [[Observation]] = []
    for observation in state.observations.recent {
      if observation.kind == .model || turns.isEmpty {
        turns.append([observation])
      } else {
        turns[turns.count - 1].append(observation)
      }
    }
    return turns
  }
}

extension ToolRegistration {
  /// What a packet calls the tool.
  var ref: String { "tool:\(definition.name)" }

  /// Whether the model is told of this tool on a route.
  func isDisclosed(on route: String?) -> Bool {
    guard let routes else { return true }
    guard let route else { return false }
    return routes.contains { $0.hasSameUTF8(as: route) }
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

/// How many tokens a value may be for a model: a quarter of the bytes of its canonical form, rounded
/// up. An estimate that errs on the high side for English and needs no vocabulary.
public enum TokenEstimate {
  /// The estimate for a value.
  public static func tokens(in value: JSONValue) -> Int {
    (CanonicalJSON.encode(value, form: .plain).count + 3) / 4
  }
}
