import AgentTrace

/// One request of a chat of VS Code, and what was done for it.
///
/// The rounds in the metadata of its result are what Copilot's model answered, with the ids, names and arguments of its
/// calls. The parts of its response show what a person saw: a part for each tool that VS Code was asked to run, mostly under
/// an id of its own and by another name, with what became of it, and those of sub-agents. A part is the call of a round
/// that has its id, else one of the same tool; what is left of either is a call as well.
struct VSCodeRequest {
  /// What was said and done, in its order.
  private var messages: [ReadMessage] = []
  private(set) var unread: [JSONPointer] = []
  private let request: ObjectJournal.Placed
  private let result: JSONValue
  private var parts: [VSCodePart] = []
  /// By which messages parts of the response were told, in the order of both.
  private var places: [(part: Int, message: Int)] = []
  /// Messages of which no round told, each behind one that did.
  private var late: [(behind: Int, message: ReadMessage)] = []

  /// What a request may hold, whatever stands there.
  private static let known: Set<String> = [
    "requestId", "message", "response", "result", "agent", "slashCommand", "variableData",
    "timestamp", "modelId", "modeInfo", "editedFileEvents", "responseId", "responseMarkdownInfo",
    "followups", "modelState", "vote", "voteDownReason", "usedContext", "contentReferences",
    "codeCitations", "timeSpentWaiting", "confirmation", "isHidden", "isCanceled", "attempt",
    "shouldBeRemovedOnSend", "shouldBeBlocked", "contentReferencesMessages", "usage",
    "responseTimestamp",
  ]

  /// - Parameters:
  ///   - request: as it is at the end.
  ///   - before: as it was before something of it was overwritten or taken away.
  init(_ request: ObjectJournal.Placed, before: [ObjectJournal.Placed]) {
    self.request = request
    result = request.value["result"] ?? .null
    for member in request.value.objectValue ?? [:]
    where !Self.known.contains(member.key)
      && !UnknownMember.isHarmless(member.key, member.value, quiet: [])
    {
      unread.append(request.pointer([member.key]))
    }
    noteOthers()
    takeQuestion()
    parts = VSCodePart.all(of: request)
    var rounds = Self.rounds(of: request)
    takeBack(from: before, into: &rounds)
    for part in parts where part.isCall { unread += part.unread }
    takeRounds(rounds)
    takeParts(afterRounds: !rounds.isEmpty)
    let sorted = late.enumerated().sorted {
      ($0.element.behind, $0.offset) < ($1.element.behind, $1.offset)
    }
    for (_, entry) in sorted.reversed() { messages.insert(entry.message, at: entry.behind + 1) }
    takeResultsLeft()
  }

  /// The same as a graph has it.
  var items: [GraphItem] {
    messages.flatMap { MessageItems.items(of: [$0], agent: $0.author) }
  }

  // MARK: What there is

  /// Marks what stands in a known place and is nothing that is read there, and what may be calls beside it.
  private mutating func noteOthers() {
    let metadata = result["metadata"]
    let isResponse = request.value["response"].map { $0.saysNothing || $0.arrayValue != nil }
    if isResponse == false { unread.append(request.pointer(["response"])) }
    for member in result.objectValue ?? [:]
    where !["metadata", "errorDetails", "timings"].contains(member.key) && member.value.mayHoldCall
    {
      unread.append(request.pointer(["result", member.key]))
    }
    if !result.saysNothing, result.objectValue == nil { unread.append(request.pointer(["result"])) }
    for member in metadata?.objectValue ?? [:] where !member.value.saysNothing {
      let isRead =
        switch member.key {
        case "toolCallRounds": member.value.arrayValue != nil
        case "toolCallResults": member.value.objectValue != nil
        default: !member.value.mayHoldCall
        }
      if !isRead { unread.append(request.pointer(["result", "metadata", member.key])) }
    }
  }

  private static func rounds(of request: ObjectJournal.Placed) -> [ObjectJournal.Placed] {
    request["result"]?["metadata"]?.elements("toolCallRounds") ?? []
  }

  /// Adds the calls of earlier states that the last one does not have.
  private mutating func takeBack(
    from before: [ObjectJournal.Placed], into rounds: inout [ObjectJournal.Placed]
  ) {
    var shown = Set(parts.compactMap(\.id))
    var asked = Set(rounds.flatMap(Self.ids))
    for state in before.reversed() {
      for part in VSCodePart.all(of: state) where part.isCall {
        if let id = part.id {
          if shown.insert(id).inserted { parts.append(part) }
        } else if !parts.contains(where: part.isSame) {
          // It may be one of those that are there, as it was before.
          unread.append(part.placed.pointer())
        }
      }
      let lost = Self.rounds(of: state).filter { round in
        let ids = Self.ids(round)
        if !ids.isEmpty, asked.isDisjoint(with: ids) { return true }
        let count = round.value["toolCalls"]?.arrayValue?.count ?? 0
        // Which of its calls are gone is not to be told.
        if ids.count < count || !asked.isSuperset(of: ids) { unread.append(round.pointer()) }
        return false
      }
      asked.formUnion(lost.flatMap(Self.ids))
      rounds = lost + rounds
    }
    for state in before { takeResults(of: state) }
    takeResults(of: request)
  }

  private static func ids(_ round: ObjectJournal.Placed) -> [String] {
    (round.value["toolCalls"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
  }

  /// What tools gave back, by the ids of their calls.
  private var results: [String: (JSONPointer, JSONValue)] = [:]

  private mutating func takeResults(of state: ObjectJournal.Placed) {
    guard let told = state["result"]?["metadata"]?["toolCallResults"] else { return }
    for member in told.value.objectValue ?? [:] {
      results[member.key] = (told.pointer([member.key]), member.value)
    }
  }

  private mutating func takeQuestion() {
    guard let said = request.value["message"] else { return }
    var message = ReadMessage(
      role: .user, roleName: "user", pointer: request.pointer(["message"]), raw: said)
    message.add(text: said["text"] ?? said)
    message.time = request.value["timestamp"]?.sessionTime
    messages.append(message)
  }

  private func message(at pointer: JSONPointer, _ raw: JSONValue) -> ReadMessage {
    var message = ReadMessage(
      role: .assistant, roleName: "assistant", pointer: pointer, raw: raw)
    let model = raw["modelId"] ?? result["metadata"]?["resolvedModel"] ?? request.value["modelId"]
    message.model = model?.stringValue
    return message
  }

  // MARK: Rounds

  private mutating func takeRounds(_ rounds: [ObjectJournal.Placed]) {
    let calls = rounds.flatMap { round in
      (round.value["toolCalls"]?.arrayValue ?? []).map {
        (id: $0["id"]?.stringValue, name: $0["name"]?.stringValue ?? "")
      }
    }
    let (fates, placesOfCalls) = pair(calls)
    var number = 0
    for round in rounds {
      var message = message(at: round.pointer(), round.value)
      if let text = round.value["response"], text != "" { message.add(text: text) }
      if let thought = round.value["thinking"], !thought.saysNothing {
        message.parts.append(["type": "thinking", "thinking": thought["text"] ?? thought])
      }
      message.usage = ReadUsage(round.value["usage"])
      message.time = round.value["timestamp"]?.sessionTime
      message.unread += UnknownMember.places(
        in: round.value.objectValue ?? [:],
        besides: ["response", "toolCalls", "thinking", "usage"],
        quiet: ["compaction", "statefulMarker", "phase"], at: round.pointer())
      if round.value["toolCalls"]?.arrayValue == nil, round.value["toolCalls"] != nil {
        message.unread.append(round.pointer(["toolCalls"]))
      }
      for call in round.elements("toolCalls") {
        MessageReader.read(call: call.value, at: call.pointer(), into: &message)
        let read = message.calls.last
        if let result = outcome(
          id: call.value["id"]?.stringValue, name: read?.name, by: fates[number],
          at: call.pointer())
        {
          message.results.append(result)
        }
        if let part = placesOfCalls[number] { places.append((part, messages.count)) }
        number += 1
      }
      messages.append(message)
    }
  }

  /// The part of each call of the rounds, taken out of those that are left.
  private mutating func pair(
    _ calls: [(id: String?, name: String)]
  ) -> (fates: [VSCodePart?], places: [Int?]) {
    var found: [VSCodePart?] = calls.map { call in
      guard let id = call.id,
        let index = parts.firstIndex(where: { $0.isCall && $0.isOf(id: id) })
      else { return nil }
      return parts.remove(at: index)
    }
    var places = found.map { $0?.index }
    var open: [String: [Int]] = [:]
    for index in calls.indices where found[index] == nil {
      open[VSCodePart.plain(calls[index].name), default: []].append(index)
    }
    for (name, indices) in open {
      let same = parts.indices.filter {
        parts[$0].isCall && !parts[$0].isOfSubAgent && VSCodePart.plain(parts[$0].tool) == name
      }
      // Where there are not as many, nobody knows which is which: then none tells what became of a call.
      let isSure = same.count == indices.count
      for (index, place) in zip(indices, same) {
        found[index] = isSure ? parts[place] : nil
        places[index] = parts[place].index
        parts[place].isTold = true
      }
    }
    parts.removeAll(where: \.isTold)
    return (found, places)
  }

  /// What became of a call, where anything says so.
  private mutating func outcome(
    id: String?, name: String?, by part: VSCodePart?, at pointer: JSONPointer
  ) -> GraphResult? {
    let told = id.flatMap { results.removeValue(forKey: $0) }
    guard told != nil || part?.saysHowItEnded == true else { return nil }
    var result = GraphResult(
      id: id, tool: name, data: .absent, status: .returned,
      pointer: told?.0 ?? part?.placed.pointer() ?? pointer)
    if let content = told?.1 {
      result.data = Self.text(of: content)
    } else if let data = part?.data {
      result.data = data
    }
    result.input = part?.input
    Self.words.tell(&result, isFramed: part?.isSkipped == true)
    part?.tell(&result, hasResult: told != nil)
    return result
  }

  /// The sentences of VS Code and Copilot in the place of results.
  private static let words = FateWord(
    kept: [("The user chose to skip the tool call, they want to proceed without running it", "")],
    brokenOff: [("The user cancelled the tool call.", "")])

  /// What a tool gave back: its texts, where it is nothing else.
  private static func text(of result: JSONValue) -> Told {
    guard let parts = result["content"]?.arrayValue else { return Told(text: result) }
    let texts = parts.compactMap { $0["value"]?.stringValue }
    guard texts.count == parts.count else { return .there(.array(parts)) }
    let text = texts.joined(separator: "\n")
    return text == VSCodePart.notShared ? .redacted : Told(text: .string(text))
  }

  // MARK: Parts

  /// Takes the parts that no round told: of a request without rounds all of them.
  private mutating func takeParts(afterRounds: Bool) {
    var open: ReadMessage?
    var openPart = 0
    // What stands before the last call of a round, the rounds say.
    let last = afterRounds ? lastToldPart : -1
    for part in parts {
      if part.isCall {
        if open?.results.isEmpty == false || afterRounds || part.isOfSubAgent {
          finish(&open, of: openPart)
        }
        var message = open ?? self.message(at: part.placed.pointer(), part.placed.value)
        if open == nil { openPart = part.index }
        if afterRounds || part.isOfSubAgent { message.isModelCall = false }
        if part.isOfSubAgent { message.author = agent(of: part) }
        add(part, to: &message)
        open = message
        if afterRounds || part.isOfSubAgent { finish(&open, of: openPart) }
      } else if let text = part.text {
        guard part.index > last, !text.isEmpty else { continue }
        if open?.calls.isEmpty == false { finish(&open, of: openPart) }
        if open == nil { openPart = part.index }
        var message = open ?? self.message(at: part.placed.pointer(), part.placed.value)
        message.texts.append(.string(text))
        open = message
      } else if !part.isSilent {
        unread.append(part.placed.pointer())
      }
    }
    finish(&open, of: openPart)
  }

  /// Whether the rounds end with an answer.
  private var isAnswered: Bool { messages.last?.isAssistantText ?? false }

  /// How far the response is told by the rounds: to the last call of them; all of it where the last of them is an answer.
  private var lastToldPart: Int {
    isAnswered ? Int.max : places.map(\.part).max() ?? -1
  }

  /// The agent that makes a call that is not the run's own.
  private func agent(of part: VSCodePart) -> String {
    let beginning = request.elements("response").lazy.map { VSCodePart(of: $0, index: 0) }
      .first { $0.isCall && $0.id != nil && $0.id == part.subAgent }
    return beginning?.agentName ?? "subagent"
  }

  /// Hands on what was told by parts from a place of the response on.
  private mutating func finish(_ open: inout ReadMessage?, of part: Int) {
    guard var message = open else { return }
    // A text comes in pieces, with what it refers to between them.
    let text = message.texts.compactMap(\.stringValue).joined()
    message.texts = []
    if !text.isEmpty { message.add(text: .string(text)) }
    open = nil
    guard !message.isEmpty else { return }
    if text.isEmpty { message.isModelCall = false }
    if message.calls.isEmpty { return late.append((messages.count - 1, message)) }
    // Behind the round before it, and before the answer.
    let before = places.filter { $0.part < part }.map(\.message).max()
    let end = messages.count - (isAnswered ? 2 : 1)
    late.append((places.isEmpty ? end : before ?? 0, message))
  }

  private mutating func add(_ part: VSCodePart, to message: inout ReadMessage) {
    message.add(
      GraphCall(
        name: part.name, input: part.told, id: part.id,
        problem: part.name.isEmpty ? "a call without a name" : nil,
        pointer: part.placed.pointer()), at: part.placed.pointer())
    if let result = outcome(
      id: part.id, name: part.name, by: part, at: part.placed.pointer())
    {
      message.results.append(result)
    }
  }

  /// Tells what came back of calls that nothing else tells of.
  private mutating func takeResultsLeft() {
    for (id, (pointer, value)) in results.sorted(by: { $0.key.precedesByUTF8($1.key) }) {
      var message = ReadMessage(role: .tool, roleName: "tool", pointer: pointer, raw: value)
      message.results = [
        GraphResult(
          id: id, data: Self.text(of: value), status: .returned, pointer: pointer,
          unread: [pointer])
      ]
      // Before the answer, if there is one.
      messages.insert(message, at: messages.count - (isAnswered ? 1 : 0))
    }
    results = [:]
  }

  // MARK: How it ended

  /// How a session ends whose last request this is.
  func ending(of graph: CallGraph) -> ParsedEnding? {
    let error = result["errorDetails"]
    let place = request.pointer(["result", "errorDetails"])
    if error?["responseIsFiltered"]?.boolValue == true {
      return ParsedEnding(reason: .blocked, detail: StopDetail.contentFilter, field: place)
    }
    let state = request.value["modelState"]?["value"]?.intValue
    if state == State.cancelled || request.value["isCanceled"]?.boolValue == true {
      let key = state == nil ? "isCanceled" : "modelState"
      return ParsedEnding(
        reason: .cancelled, detail: StopDetail.error, field: request.pointer([key]))
    }
    let metadata = request.pointer(["result", "metadata", "maxToolCallsExceeded"])
    if result["metadata"]?["maxToolCallsExceeded"]?.boolValue == true {
      return ParsedEnding(
        reason: .budgetExhausted, detail: StopDetail.maxToolCalls, field: metadata)
    }
    if error?.saysError == true || state == State.failed {
      return ParsedEnding(reason: .modelFailure, detail: StopDetail.error, field: place)
    }
    // Older versions say nothing but that there is a result.
    let isOver = state.map { $0 == State.complete } ?? !result.saysNothing
    return isOver ? graph.endingByForm : graph.endingByRefusal
  }

  /// The states of a response (`ResponseModelState`).
  private enum State {
    static let complete = 1
    static let cancelled = 2
    static let failed = 3
  }
}
