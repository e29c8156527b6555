import AgentTrace

/// The actions that a run began and of which nobody knows whether they had their effect, folded from its
/// events.
///
/// An equal call would do twice what may have been done: it is held back, in the run as where another
/// process goes on with it, until a person says what happened.
struct EffectDoubts: Sendable, Hashable {
  /// The calls of the current decision.
  private var calls: [ProposedCall] = []
  /// Tools with their inputs, as ``ProposedCall/actionId`` says them, and how their tools stood then.
  private var actions: [String: DeclaredTools.Standing] = [:]
  /// How the tools of calls of the current decision stood when they were started last, by the calls' ids.
  private var started: [String: DeclaredTools.Standing] = [:]
  private var declared = DeclaredTools()

  /// Whether an equal call was begun before, with an effect that nobody knows.
  func hold(_ call: ProposedCall) -> Bool {
    !actions.isEmpty && actions[call.actionId] != nil
  }

  /// Whether an equal call was begun before, and one more of a tool could have an effect once more: as the
  /// tool is, or as it was then.
  func hold(_ call: ProposedCall, of tool: ToolDefinition) -> Bool {
    guard !actions.isEmpty, let standing = actions[call.actionId] else { return false }
    return tool.agent != nil || !tool.isSafeTwice || !declared.mayBeSafe(standing)
  }

  /// The tool of a call that was started: one that was not safe to call twice then has not become so for
  /// this call, whatever is said of it since.
  func definition(_ tool: ToolDefinition, asStartedBy callId: String) -> ToolDefinition {
    guard let standing = started[callId], !declared.mayBeSafe(standing) else { return tool }
    var tool = tool
    (tool.sideEffect, tool.idempotent) = (.write, false)
    return tool
  }

  mutating func take(_ event: Event) {
    switch event.type {
    case .runStarted, .runResumed, .toolsListed: declared.take(event)
    case .decision:
      calls = (try? DecisionPayload(decoding: event.data))?.decision.calls ?? []
      started = [:]
    case .toolStarted:
      guard let call = call(event.data) else { return }
      started[call.callId] = declared.standing(of: call.name)
    case .toolResult: take(result: event.data)
    case .approval where event.data["granted"] == true:
      // Who lets it run has been told, and says that it has not happened.
      if !actions.isEmpty, let call = call(event.data) { actions[call.actionId] = nil }
    default: break
    }
  }

  private mutating func take(result data: JSONObject) {
    // An agent may answer as if all were well though nobody knows what one of its calls did.
    let isUnknown =
      data["status"] == "error" && data["effect"] == "unknown"
      || data["child"]?["effect"] == "unknown"
    // One that failed by itself says nothing of an equal one that was under way beside it.
    let isDone = data["status"] == "ok" || data["status"] == "returned"
    guard isUnknown || isDone && !actions.isEmpty, let call = call(data) else { return }
    actions[call.actionId] =
      isUnknown ? started[call.callId] ?? declared.standing(of: call.name) : nil
  }

  private func call(_ data: JSONObject) -> ProposedCall? {
    guard let callId = data["callId"]?.stringValue else { return nil }
    return calls.first { $0.callId.hasSameUTF8(as: callId) }
  }
}

/// What a run's events say of its tools: which of them are safe to call twice.
struct DeclaredTools: Sendable, Hashable {
  /// How a tool stood at some event.
  enum Standing: Sendable, Hashable {
    /// The log says whether it was safe to call twice.
    case told(isSafeTwice: Bool)
    /// The agent file alone said so: the one with which the run went on when it had been changed this often.
    case untold(changes: Int)
  }

  /// Whether the tools of the agent file are safe to call twice, by name; empty where the file is another
  /// than the run started with, whose tools the log does not hold.
  private var own: [String: Bool] = [:]
  /// The same of the tools of sources, by source.
  private var listed: [String: [String: Bool]] = [:]
  /// How often another agent file went on.
  private var changes = 0

  mutating func take(_ event: Event) {
    switch event.type {
    case .runStarted:
      own = Self.safety(of: (try? RunStarted(decoding: event.data))?.tools ?? [])
    case .runResumed:
      guard let resumed = try? RunResumed(decoding: event.data), resumed.changesFiles else {
        return
      }
      own = [:]
      changes += 1
    case .toolsListed:
      guard let list = try? ToolsListed(decoding: event.data), list.error == nil else { return }
      listed[list.source] = Self.safety(of: list.tools)
    default: break
    }
  }

  private static func safety(of tools: [ToolDefinition]) -> [String: Bool] {
    // Of several of one name the worst counts.
    Dictionary(tools.map { ($0.name, $0.isSafeTwice) }, uniquingKeysWith: { $0 && $1 })
  }

  func standing(of tool: String) -> Standing {
    let found = ([own] + listed.values).compactMap { $0[tool] }
    return found.isEmpty
      ? .untold(changes: changes) : .told(isSafeTwice: found.allSatisfy { $0 })
  }

  /// Whether a tool that stood like this may have been safe to call twice: by what the log says, or where it
  /// says nothing and the agent file is still the same, by what that says.
  func mayBeSafe(_ standing: Standing) -> Bool {
    switch standing {
    case .told(let isSafeTwice): isSafeTwice
    case .untold(let changes): changes == self.changes
    }
  }
}
