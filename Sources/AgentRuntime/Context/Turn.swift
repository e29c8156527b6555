import AgentTrace

/// A decision with what came of it: the unit in which history is kept or left out.
struct Turn {
  struct Part {
    var observation: Observation
    /// The event that carries the data; `nil` where it is lost.
    var event: Event?
    /// The reply that a decision was read from.
    var reply: Event?
    /// Whether the model is not to see what it says.
    let isLeftOut: Bool
    /// Whether the model is told the ids of results, to cite them.
    let isCited: Bool
    /// The call with which a model asked a person: of the question, and of what the person said to it. `nil` where
    /// it asked in another way.
    private(set) var asking: AskingCall?
    /// Whether the model sees the beginning of the result alone: the whole turn is more than a packet can hold.
    fileprivate(set) var isCut = false

    init(
      observation: Observation, settings: ContextSettings, lookup: EventLookup
    ) {
      self.observation = observation
      isLeftOut = settings.reasonToLeaveOut(observation.id) != nil
      isCited = settings.citesResults
      event = lookup(observation.seq)
      if event?.type == .decision, let seq = event?.data["modelResult"]?.intValue {
        reply = lookup(seq)
      }
      asking = AskingCall(event, reply, lookup: lookup)
    }
  }

  let parts: [Part]
  /// The messages that show the whole turn to the model.
  let messages: [JSONValue]
  /// Those that show it without what its tools returned; `nil` where it is shown whole.
  private var shortMessages: [JSONValue]?

  /// The messages that show the turn.
  var shownMessages: [JSONValue] { shortMessages ?? messages }

  /// Whether it is shown without what its tools returned.
  var lacksOutput: Bool { shortMessages != nil }

  /// Shows it without what its tools returned; calls and failures stay.
  mutating func dropOutput() {
    guard parts.contains(where: \.hasOutput) else { return }
    shortMessages = parts.compactMap { $0.hasOutput ? $0.shortMessage : $0.message }
  }

  /// An observation of the turn, and whether it is the result of a call with more than a marker in its
  /// place would take.
  struct Shown {
    var observation: Observation
    var hasOutput: Bool
    var id: String { observation.id }
  }

  /// Its observations, in order.
  let shown: [Shown]
  private let citable: [Shown]
  /// What an answer may cite where the turn is shown whole.
  private let citableIds: [String]
  /// Notes that were read, as `scope/key`.
  let memoryRefs: [String]

  /// Looks up what was observed.
  init(
    _ observations: ArraySlice<Observation>, leavingOut settings: ContextSettings,
    lookup: EventLookup
  ) {
    var parts = observations.map { Part(observation: $0, settings: settings, lookup: lookup) }
    var messages = parts.compactMap(\.message)
    if LineRoom.mayLack(messages) {
      Self.cutResults(of: &parts)
      messages = parts.compactMap(\.message)
    }
    self.parts = parts
    self.messages = messages
    shown = parts.map { Shown(observation: $0.observation, hasOutput: $0.hasOutput) }
    citable = Self.citable(of: parts)
    citableIds = citable.map(\.id)
    memoryRefs = Self.memoryRefs(of: parts)
  }

  /// Ids of results that an answer may cite.
  var evidenceRefs: [String] {
    lacksOutput ? citable.filter { !$0.hasOutput }.map(\.id) : citableIds
  }

  /// Cuts results where the turn is more than the line of a packet takes, which shows the latest turn whatever the
  /// token budget is: those that came first, as later ones are referred to.
  private static func cutResults(of parts: inout [Part]) {
    var room = LineRoom()
    for part in parts where part.event?.type != .toolResult {
      if let message = part.message { room.add(message) }
    }
    for index in parts.indices.reversed() where parts[index].event?.type == .toolResult {
      guard let message = parts[index].message, !room.takes(result: message) else {
        continue
      }
      parts[index].isCut = true
    }
  }

  /// What an answer may cite of the whole turn.
  private static func citable(of parts: [Part]) -> [Shown] {
    parts.filter {
      !$0.isLeftOut && !$0.isCut && $0.event?.type == .toolResult
        && $0.event?.data["status"] == "ok"
        && $0.event?.data["executedBy"] == nil
    }
    .map { Shown(observation: $0.observation, hasOutput: $0.hasOutput) }
  }

  private static func memoryRefs(of parts: [Part]) -> [String] {
    parts.compactMap { part in
      guard !part.isLeftOut, part.event?.type == .memoryRead, let data = part.event?.data,
        let note = try? MemoryNote(decoding: data)
      else { return nil }
      return "\(note.scope)/\(note.key)"
    }
  }
}

extension Turn.Part {
  /// How the model is shown this; `nil` for what is told in another way.
  var message: JSONValue? {
    // A call must have its result, so that of a result the place stays.
    if isLeftOut {
      return event?.type == .toolResult && event?.data["executedBy"] == nil ? placeOfResult : nil
    }
    guard let event else {
      return Self.text("user", "[\(observation.id) is no longer in the log] \(observation.summary)")
    }
    switch event.type {
    case .decision: return message(ofDecision: event)
    // The provider knows what its own tools returned.
    case .toolResult where event.data["executedBy"] != nil: return nil
    case .toolResult: return message(ofResult: event)
    case .humanReplied:
      if let asking { return asking.result(event.data["text"] ?? .null) }
      return Self.message("user", [["type": "text", "text": event.data["text"] ?? .null]])
    case .memoryRead:
      guard let note = try? MemoryNote(decoding: event.data) else { return nil }
      let value = note.value.map { $0.stringValue ?? CanonicalJSON.string($0, form: .plain) }
      let age = note.age(at: event.time).map { " (kept \($0))" } ?? ""
      return Self.text("system", "Memory \(note.scope)/\(note.key)\(age): \(value ?? "nothing")")
    default: return nil  // A refused result tells of its verdict; a resume is no news to a model.
    }
  }

  /// Whether it is the result of a call, with more than a marker in its place would take.
  var hasOutput: Bool {
    guard !isLeftOut, let event, event.type == .toolResult, event.data["status"] == "ok",
      event.data["executedBy"] == nil
    else { return false }
    return outputBytes > 64
  }

  private var outputBytes: Int {
    CanonicalJSON.encode(event?.data["data"] ?? .null, form: .plain).count
  }

  /// The result with a marker in the place of what the tool returned.
  var shortMessage: JSONValue {
    Self.message(
      "tool",
      [
        [
          "type": "tool_result", "callId": event?.data["callId"] ?? .null,
          "data": .string("[output of \(outputBytes) bytes left out]"),
        ]
      ])
  }

  private var placeOfResult: JSONValue {
    Self.message(
      "tool",
      [["type": "tool_result", "callId": .string(observation.id), "data": "[left out]"]])
  }

  private func message(ofDecision event: Event) -> JSONValue? {
    guard let payload = try? DecisionPayload(decoding: event.data), !payload.isTold else {
      return nil
    }
    switch payload.decision {
    case .answer(let text, _): return Self.text("assistant", text)
    case .askHuman(let question):
      guard let asking else { return Self.text("assistant", question) }
      return Self.message("assistant", besideCalls([asking.call]))
    case .stop: return nil
    case .invalid(let reason, _):
      return Self.text("user", "The last reply was no valid decision: \(reason). Reply again.")
    case .tool(let calls):
      return Self.message(
        "assistant",
        besideCalls(
          calls.map {
            [
              "type": "tool_call", "callId": .string($0.callId), "name": .string($0.name),
              "input": $0.input,
            ]
          }))
    }
  }

  /// Calls with what the model thought and said beside them, which the decision does not hold. A provider
  /// takes back what its model thought only as it was: unchanged, and in its place.
  private func besideCalls(_ calls: [JSONValue]) -> [JSONValue] {
    guard let reply = reply?.data["reply"] else { return calls }
    let blocks = (reply["reasoning"]?.arrayValue ?? []).filter { $0.objectValue != nil }
    let reasoning: [JSONValue] = blocks.map { ["type": "reasoning", "block": $0] }
    if !reasoning.isEmpty,
      let ordered = Self.ordered(reply["parts"]?.arrayValue ?? [], reasoning, calls)
    {
      return ordered
    }
    guard let text = reply["text"], text != "", !text.isNull else { return reasoning + calls }
    return reasoning + [["type": "text", "text": text]] + calls
  }

  /// The parts in the order in which they came; `nil` where it does not name each of them once, in turn.
  private static func ordered(
    _ order: [JSONValue], _ reasoning: [JSONValue], _ calls: [JSONValue]
  ) -> [JSONValue]? {
    var parts: [JSONValue] = []
    var (thought, called) = (0, 0)
    for entry in order {
      if let text = entry["text"]?.stringValue {
        parts.append(["type": "text", "text": .string(text)])
      } else if entry["reasoning"]?.intValue == thought, thought < reasoning.count {
        parts.append(reasoning[thought])
        thought += 1
      } else if entry["call"]?.intValue == called, called < calls.count {
        parts.append(calls[called])
        called += 1
      } else {
        return nil
      }
    }
    return thought == reasoning.count && called == calls.count ? parts : nil
  }

  private func message(ofResult event: Event) -> JSONValue {
    var part: JSONObject = ["type": "tool_result", "callId": event.data["callId"] ?? .null]
    if event.data["status"] == "ok" || event.data["status"] == "returned" {
      part["data"] = event.data["data"] ?? .null
      if isCited, !isCut, event.data["status"] == "ok" { part["cite"] = true }
    } else {
      // Said only where something went wrong: a result without it is `ok`.
      part["status"] = event.data["status"]
      part["data"] = event.data["reason"] ?? .null
    }
    if isCut { part["data"] = part["data"]?.cut(toBytes: LineRoom.leastBytes) }
    return Self.message("tool", [.object(part)])
  }

  fileprivate static func message(_ role: String, _ content: [JSONValue]) -> JSONValue {
    ["role": .string(role), "content": .array(content)]
  }

  static func text(_ role: String, _ text: String) -> JSONValue {
    message(role, [["type": "text", "text": .string(text)]])
  }
}

/// A call with which a model asked a person (``DecisionTool/askHuman``): it is shown again as it was made, and what
/// the person said as what came of it.
struct AskingCall {
  private let id: String
  /// The call as a message shows it.
  let call: JSONValue

  /// The call of a question, or of a person's words; `nil` for any other event, and where the model asked without
  /// one.
  ///
  /// - Parameter reply: the reply that the event was read from, if it is a decision.
  init?(_ event: Event?, _ reply: Event?, lookup: EventLookup) {
    switch event?.type {
    case .decision?: self.init(question: event, reply)
    case .humanReplied?:
      guard let decision = event?.data["replyTo"]?.intValue.flatMap(lookup) else { return nil }
      self.init(question: decision, decision.data["modelResult"]?.intValue.flatMap(lookup))
    default: return nil
    }
  }

  private init?(question event: Event?, _ reply: Event?) {
    guard let event, event.type == .decision, event.data["kind"] == "ask_human",
      let made = reply?.data["reply"]?["calls"]?.arrayValue, made.count == 1,
      let name = made[0]["name"]?.stringValue
    else { return nil }
    id = "\(event.seq).ask"
    call = [
      "type": "tool_call", "callId": .string(id), "name": .string(name),
      "input": ReplyArguments.input(of: made[0]).0,
    ]
  }

  /// What a person said, as what came of the call.
  func result(_ words: JSONValue) -> JSONValue {
    Turn.Part.message(
      "tool",
      [["type": "tool_result", "callId": .string(id), "data": words, "from": "person"]])
  }
}
