public import AgentTrace

extension Redactor {
  /// A recorded run with everything withheld that a run of today would withhold, for one that was
  /// recorded elsewhere, or before its rules were written.
  ///
  /// What shows as a credential only late in the run is withheld in all of it. Approvals name the calls as
  /// they stand now; digests of requests and of memory stay those of what was recorded.
  ///
  /// - Complexity: looks through each text twice, however often it is said.
  public func redacted(_ events: [Event]) -> [Event] {
    var run = RunRedaction(by: self)
    for event in events { run.learn(event) }
    defer { run.end() }
    return events.map { run.redacted($0) }
  }

  fileprivate static func calls(of event: Event) -> [ProposedCall] {
    guard event.type == .decision else { return [] }
    return (try? DecisionPayload(decoding: event.data))?.decision.calls ?? []
  }

  fileprivate func redacted(_ event: Event, _ tools: [String: String]) -> Event {
    var event = event
    var data = event.data
    func tool(_ value: JSONValue?) -> String { value?.stringValue.flatMap { tools[$0] } ?? "" }
    switch event.type {
    case .runStarted:
      for key in ["goal", "input"] { data[key] = data[key].map { redacted($0, .goal) } }
    case .decision:
      data["calls"] = data["calls"]?.arrayValue.map { calls in
        .array(
          calls.map { call in
            guard case .object(var call) = call else { return call }
            let name = call["name"]?.stringValue ?? ""
            call["input"] = call["input"].map { redacted($0, .input, of: name) }
            return .object(call)
          })
      }
    case .toolResult:
      data["data"] = data["data"].map { redacted($0, .result, of: tool(data["callId"])) }
    case .modelResult:
      data["reply"] = data["reply"].map { redacted(reply: $0) }
    case .contextBuilt:
      data["goal"] = data["goal"].map { redacted($0, .goal) }
      if case .object(var prompt)? = data["prompt"], let messages = prompt["messages"]?.arrayValue {
        prompt["messages"] = .array(messages.map { redacted(message: $0, tool) })
        data["prompt"] = .object(prompt)
      }
    default: break
    }
    event.data = redacted(.object(data)).objectValue ?? [:]
    event.extra = redacted(.object(event.extra)).objectValue ?? [:]
    return event
  }

  private func redacted(message: JSONValue, _ tool: (JSONValue?) -> String) -> JSONValue {
    guard case .object(var object) = message, let items = object["content"]?.arrayValue else {
      return message
    }
    object["content"] = .array(
      items.map { item in
        guard case .object(var item) = item else { return item }
        let name = item["name"]?.stringValue ?? tool(item["callId"])
        item["input"] = item["input"].map { redacted($0, .input, of: name) }
        item["data"] = item["data"].map { redacted($0, .result, of: name) }
        return .object(item)
      })
    return .object(object)
  }

  fileprivate static func replaced(_ value: JSONValue, _ texts: [String: String]) -> JSONValue {
    switch value {
    case .string(let text): texts[text].map(JSONValue.string) ?? value
    case .array(let elements): .array(elements.map { replaced($0, texts) })
    case .object(let object): .object(object.mapValues { replaced($0, texts) })
    default: value
    }
  }
}

/// A recorded run that is redacted event by event: all of it is learned from, and then all of it is withheld.
///
/// What it keeps is what texts say, up to a bound, and the names of calls: a run need not fit into memory.
public struct RunRedaction {
  private let redactor: Redactor
  /// Names of tools by call.
  private var tools: [String: String] = [:]
  /// Action ids as they stand now, by those that were recorded.
  private var actions: [String: String] = [:]
  private var isLearning = true

  /// Begins with a run of which nothing is known.
  public init(by redactor: Redactor) {
    self.redactor = redactor
    redactor.keepWhatIsSaid(true)
  }

  /// Takes in what an event says; every event of the run first comes here, in order.
  public mutating func learn(_ event: Event) {
    note(event)
    _ = redactor.redacted(event, tools)
  }

  /// An event as it may stand in the run; every event comes here once more, in order.
  public mutating func redacted(_ event: Event) -> Event {
    if isLearning {
      // What was learned late is withheld early as well.
      redactor.keepWhatIsSaid(true)
      isLearning = false
    }
    note(event)
    var redacted = redactor.redacted(event, tools)
    for (old, new) in zip(Redactor.calls(of: event), Redactor.calls(of: redacted))
    where old.input != new.input {
      actions[old.actionId] = new.actionId
      if let older = old.olderActionId { actions[older] = new.actionId }
    }
    if !actions.isEmpty, event.type == .approval || event.type == .policyDecision {
      redacted.data =
        Redactor.replaced(.object(redacted.data), actions).objectValue ?? redacted.data
    }
    return redacted
  }

  private mutating func note(_ event: Event) {
    let calls = Redactor.calls(of: event)
    for call in calls { tools[call.callId] = call.name }
    var names = calls.map(\.name)
    if event.type == .runStarted || event.type == .toolsListed {
      names += (event.data["tools"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
    }
    redactor.keep(toolNames: names)
  }

  /// Forgets what texts said.
  public func end() { redactor.keepWhatIsSaid(false) }
}
