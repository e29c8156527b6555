public import AgentTrace

extension Redactor {
  /// A recorded run with everything withheld that a run of today would withhold, for one that was
  /// recorded elsewhere, or before its rules were written.
  ///
  /// What shows as a credential only late in the run is withheld in all of it. Approvals name the calls as
  /// they stand now; digests of requests and of memory stay those of what was recorded.
  ///
  /// - Complexity: looks through each text twice, however often it is said.
  public func redacted(_ events: [Event]) -> [Event] { withheld(events).events }

  /// The same, and the tokens that stand in the data of these events then.
  package func withheld(_ events: [Event]) -> (events: [Event], tokens: Set<RedactionToken>) {
    var run = RunRedaction(by: self)
    for event in events { run.learn(event) }
    defer { run.end() }
    let events = events.map { run.redacted($0) }
    return (events, run.tokens)
  }

  fileprivate static func calls(of event: Event) -> [ProposedCall] {
    guard event.type == .decision else { return [] }
    return (try? DecisionPayload(decoding: event.data))?.decision.calls ?? []
  }

  fileprivate func redacted(
    _ event: Event, _ tools: [String: String], _ lists: inout WithheldLists,
    _ tokens: inout RunRedaction.Tokens
  ) -> Event {
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
      event.data = redacted(packet: data, tool, &lists, &tokens)
    default: break
    }
    if event.type != .contextBuilt {
      tokens.note(.object(event.data), isRecorded: true)
      event.data = redacted(.object(data)).objectValue ?? [:]
      tokens.note(.object(event.data), isRecorded: false)
    }
    event.extra = redacted(.object(event.extra)).objectValue ?? [:]
    return event
  }

  /// The data of a packet. What its lists take over from the packet before was looked through then.
  private func redacted(
    packet data: JSONObject, _ tool: (JSONValue?) -> String, _ lists: inout WithheldLists,
    _ tokens: inout RunRedaction.Tokens
  ) -> JSONObject {
    var rest = data
    var parts: [(pointer: JSONPointer, items: [JSONValue])] = []
    for (list, pointer) in ContextPacket.listPointers.enumerated() {
      guard let items = JSONValue.object(data)[pointer]?.arrayValue, isOfItsItems(items, pointer)
      else {
        lists.forget(list: list)
        continue
      }
      let isMessages = pointer == ContextPacket.messagesPointer
      let withheld = lists.withheld(items, list: list) { item in
        isMessages && !settings.places.isEmpty ? tools(of: item, tool) : []
      } look: { item in
        tokens.note(item, isRecorded: true)
        let withheld = redacted(isMessages ? redacted(message: item, tool) : item)
        tokens.note(withheld, isRecorded: false)
        return withheld
      }
      parts.append((pointer, withheld))
      rest.replace(at: pointer.tokens[...], with: [])
    }
    tokens.note(.object(rest), isRecorded: true)
    rest["goal"] = rest["goal"].map { redacted($0, .goal) }
    let messages = ContextPacket.messagesPointer
    if let items = JSONValue.object(rest)[messages]?.arrayValue {
      let items = items.map { redacted(message: $0, tool) }
      rest.replace(at: messages.tokens[...], with: .array(items))
    }
    var result = redacted(rest)
    tokens.note(.object(result), isRecorded: false)
    for (pointer, items) in parts {
      result.replace(at: pointer.tokens[...], with: .array(items))
    }
    return result
  }

  /// Whether what is withheld in a list is what is withheld in each of its items. What a text in a list is may hang on the
  /// one before it; and a list cannot be put back where its key is withheld.
  private func isOfItsItems(_ items: [JSONValue], _ pointer: JSONPointer) -> Bool {
    !items.contains { $0.stringValue != nil }
      && pointer.tokens.allSatisfy { redacted($0).hasSameUTF8(as: $0) }
  }

  /// The tools whose rules hold for what a message tells.
  private func tools(of message: JSONValue, _ tool: (JSONValue?) -> String) -> [String] {
    (message["content"]?.arrayValue ?? []).map { $0["name"]?.stringValue ?? tool($0["callId"]) }
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

extension JSONObject {
  /// Puts a value in the place of the one that is there.
  fileprivate mutating func replace(at path: ArraySlice<String>, with value: JSONValue) {
    guard let first = path.first, let there = self[first] else { return }
    guard path.count > 1 else {
      self[first] = value
      return
    }
    guard var inner = there.objectValue else { return }
    inner.replace(at: path.dropFirst(), with: value)
    self[first] = .object(inner)
  }
}

/// A recorded run that is redacted event by event: all of it is learned from, and then all of it is withheld.
///
/// What it keeps is what texts say, up to a bound, the lists of the last packet, and the names of calls: a run need not
/// fit into memory.
public struct RunRedaction {
  /// The tokens that stand in the events.
  struct Tokens {
    var recorded: Set<RedactionToken> = []
    var now: Set<RedactionToken> = []

    mutating func note(_ value: JSONValue, isRecorded: Bool) {
      RedactionToken.forEach(in: value) { token in
        if isRecorded { recorded.insert(token) } else { now.insert(token) }
      }
    }
  }

  private let redactor: Redactor
  /// Names of tools by call.
  private var tools: [String: String] = [:]
  /// Action ids as they stand now, by those that were recorded.
  private var actions: [String: String] = [:]
  private var isLearning = true
  private var lists = WithheldLists()
  private var found = Tokens()

  /// Begins with a run of which nothing is known.
  public init(by redactor: Redactor) {
    self.redactor = redactor
    redactor.keepWhatIsSaid(true)
  }

  /// Takes in what an event says; every event of the run first comes here, in order.
  public mutating func learn(_ event: Event) {
    note(event)
    _ = redactor.redacted(event, tools, &lists, &found)
  }

  /// An event as it may stand in the run; every event comes here once more, in order.
  public mutating func redacted(_ event: Event) -> Event {
    if isLearning {
      // What was learned late is withheld early as well.
      redactor.keepWhatIsSaid(true)
      lists = WithheldLists()
      found = Tokens()
      isLearning = false
    }
    note(event)
    var redacted = redactor.redacted(event, tools, &lists, &found)
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

  /// The tokens in the data of the events that ``redacted(_:)`` gave.
  package var tokens: Set<RedactionToken> { found.now }

  /// Those of ``tokens`` that did not stand in these events before.
  package var newTokens: Set<RedactionToken> { found.now.subtracting(found.recorded) }

  /// How many values there are of each kind, in the order of the kinds.
  package static func byKind(_ tokens: Set<RedactionToken>) -> [(kind: String, values: Int)] {
    let kinds = Dictionary(grouping: tokens, by: \.kind)
    return kinds.keys.sorted { $0.precedesByUTF8($1) }
      .map { (kind: $0, values: kinds[$0]?.count ?? 0) }
  }

  /// How many items of contexts were looked through for the events that ``redacted(_:)`` gave: each new one once.
  package var looks: Int { lists.looks }

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
