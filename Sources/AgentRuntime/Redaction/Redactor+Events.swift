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
    var tools: [String: String] = [:]
    for event in events {
      for call in Self.calls(of: event) { tools[call.callId] = call.name }
    }
    // Once to learn what is to be withheld, and once to withhold it everywhere.
    keepWhatIsSaid(true)
    for event in events { _ = redacted(event, tools) }
    keepWhatIsSaid(true)
    defer { keepWhatIsSaid(false) }
    let redacted = events.map { self.redacted($0, tools) }
    var actions: [String: String] = [:]
    for (before, after) in zip(events, redacted) {
      for (old, new) in zip(Self.calls(of: before), Self.calls(of: after))
      where old.input != new.input {
        actions[old.actionId] = new.actionId
      }
    }
    guard !actions.isEmpty else { return redacted }
    return redacted.map { event in
      guard event.type == .approval || event.type == .policyDecision else { return event }
      var event = event
      event.data = Self.replaced(.object(event.data), actions).objectValue ?? event.data
      return event
    }
  }

  private static func calls(of event: Event) -> [ProposedCall] {
    guard event.type == .decision else { return [] }
    return (try? DecisionPayload(decoding: event.data))?.decision.calls ?? []
  }

  private func redacted(_ event: Event, _ tools: [String: String]) -> Event {
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

  private static func replaced(_ value: JSONValue, _ texts: [String: String]) -> JSONValue {
    switch value {
    case .string(let text): texts[text].map(JSONValue.string) ?? value
    case .array(let elements): .array(elements.map { replaced($0, texts) })
    case .object(let object): .object(object.mapValues { replaced($0, texts) })
    default: value
    }
  }
}
