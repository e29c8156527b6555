import AgentTrace

/// A part of a run that its source speaks of and does not hold: nobody knows which calls were made there.
struct MissingPart: Hashable {
  /// Where the source speaks of it.
  var pointer: JSONPointer
  /// What is not there, in words for whoever reads why checks are unverifiable.
  var what: String

  /// How many bytes of what is not there are named.
  private static let nameLimitBytes = 200

  init(_ pointer: JSONPointer, _ what: String) {
    self.pointer = pointer
    self.what = what.prefix(utf8Bytes: Self.nameLimitBytes)
  }

  /// What a model was told before a response that goes on from another one, which its provider keeps.
  static func response(_ id: String, at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "the response \(id), from which this one goes on, is not in the source")
  }

  /// What was said in a conversation that a provider keeps.
  static func conversation(_ id: String, at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "what was said in the conversation \(id) before is not in the source")
  }

  /// What a session holds from which another one was made.
  static func session(_ id: String, at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "the session \(id), from which this one goes on, is not in the source")
  }

  /// What a session's first line goes on from.
  static func line(_ id: String, at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "the line \(id), from which the session goes on, is not in the source")
  }

  /// What a model was asked, where only what it answered is there.
  static func request(at pointer: JSONPointer) -> MissingPart {
    MissingPart(
      pointer, "the request, and what was said and called before it, is not in the source")
  }

  /// What a model answered, where only what it was asked is there.
  static func answer(at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "what came of the request is not in the source")
  }

  /// What a sub-agent did.
  static func subAgent(_ name: String, at pointer: JSONPointer) -> MissingPart {
    let agent = name.isEmpty ? "a sub-agent" : "the sub-agent \(name)"
    return MissingPart(pointer, "what \(agent) did is not in the source")
  }

  /// What was done in attempts that failed, and after which a run was begun anew.
  static func attempts(at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "what earlier attempts that failed did is not in the source")
  }

  /// What was said before it was summed up, as contexts are where they grow too long.
  static func summedUp(at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "a summary stands for what happened before, which is not in the source")
  }

  /// Steps between two that have numbers, or before the first.
  static func steps(_ range: ClosedRange<Int>, at pointer: JSONPointer) -> MissingPart {
    let words =
      range.count == 1
      ? "step \(range.lowerBound) is" : "steps \(range.lowerBound) to \(range.upperBound) are"
    return MissingPart(pointer, "\(words) not in the source")
  }

  /// What a run goes on with.
  static func continuation(at pointer: JSONPointer) -> MissingPart {
    MissingPart(pointer, "what it goes on with is not in the source")
  }

  /// The model's call that asked for what the first call of a run was shown the results of.
  static func beginningOfTurn(at pointer: JSONPointer) -> MissingPart {
    MissingPart(
      pointer, "the run begins in the middle of a turn; the calls before are not in the source")
  }

  /// The calls that the client of a model made itself before it gave back a reply.
  static func callsOfClient(at pointer: JSONPointer) -> MissingPart {
    MissingPart(
      pointer, "whether the model's client called functions by itself is not in the source")
  }
}

extension CallGraph {
  /// Notes that what a sub-agent did is not there, where a tool of one of some names, which begins one, is called.
  mutating func noteSubAgent(behindAnyOf names: Set<String>) {
    for case .reply(let reply) in items
    where reply.calls.contains(where: { names.contains($0.name) }) {
      guard let place = reply.pointers.first else { continue }
      return missing.append(.subAgent("", at: place))
    }
  }

  /// Notes the agents that are called as tools, as far as their names or what they are given show it: what they did
  /// inside stands elsewhere.
  ///
  /// - Parameters:
  ///   - speakers: the agents whose own messages stand in the list.
  ///   - takeRequests: whether an agent is told by being given a request and nothing else, as ADK's are.
  mutating func noteAgentsThatAreTools(besides speakers: [String], takeRequests: Bool = false) {
    var known = Set(speakers.map(ToolWord.plain))
    for case .reply(let reply) in items {
      guard let place = reply.pointers.first else { continue }
      for call in reply.calls {
        guard let agent = call.agentThatIsTool ?? (takeRequests ? call.toolOfRequest : nil),
          known.insert(ToolWord.plain(agent)).inserted
        else { continue }
        missing.append(.subAgent(agent, at: place))
      }
    }
  }

  /// Notes a summary of what happened before, unless some of that stands there: then the source keeps what it sums up.
  mutating func noteSummary(at pointer: JSONPointer) {
    let isKept = items.contains { if case .reply = $0 { true } else { false } }
    let part = MissingPart.summedUp(at: pointer)
    // One place is enough.
    if !isKept, !missing.contains(where: { $0.what == part.what }) { missing.append(part) }
  }

  /// Notes the responses from which replies go on and that no reply of the run is.
  mutating func noteEarlierResponses() {
    let told = Set(
      items.compactMap { item -> String? in
        if case .reply(let reply) = item { reply.responseId } else { nil }
      })
    var noted: Set<String> = []
    for case .reply(let reply) in items {
      guard let id = reply.goesOnFrom, !told.contains(id), noted.insert(id).inserted,
        let pointer = reply.pointers.first
      else { continue }
      missing.append(.response(id, at: pointer))
    }
  }
}

extension ReadMessage {
  /// Whether it only says that another message is taken out of the list.
  var isRemoval: Bool { roleName == "remove" && role == .other && raw["type"] == "remove" }
}

extension [ReadMessage] {
  /// Where messages are taken out of the list that do not stand there: nobody knows what they said.
  var removalsOfOthers: [JSONPointer] {
    guard contains(where: \.isRemoval) else { return [] }
    let ids = Set(compactMap { $0.isRemoval ? nil : $0.raw["id"]?.stringValue })
    return compactMap { message in
      guard message.isRemoval, !ids.contains(message.raw["id"]?.stringValue ?? "") else {
        return nil
      }
      return message.pointer
    }
  }

  /// The first of them, where it is a summary of what no message before it says.
  var summaryOfMissing: MissingPart? {
    guard let index = firstIndex(where: \.sumsUp),
      !self[..<index].contains(where: { $0.role == .assistant })
    else { return nil }
    return .summedUp(at: self[index].pointer)
  }

  /// Where one of them says in a text what calls gave back, and no result stands before it.
  var callsSummedUp: [JSONPointer] {
    var hasResults = false
    var places: [JSONPointer] = []
    for message in self {
      if message.sumsUpCalls {
        if !hasResults { places.append(message.pointer) }
        hasResults = false
      } else if !message.results.isEmpty {
        hasResults = true
      }
    }
    return places
  }
}

extension GraphCall {
  /// The agent that a call begins or hands over to, by the words that frameworks have for that; `nil` for any other tool.
  fileprivate var agentThatIsTool: String? {
    let word = ToolWord.plain(name)
    for prefix in ["transfer_to_", "transfer_back_to_", "handoff_to_", "hand_off_to_", "handoff_"]
    where word.hasPrefix(prefix) {
      let agent = String(word.dropFirst(prefix.count))
      if agent == "agent" { return input.value?["agent_name"]?.stringValue ?? agent }
      // A person is no agent.
      return ["human", "human_agent", "user"].contains(agent) ? nil : agent
    }
    // deepagents' tool, and its kind.
    if word == "task" {
      return (input.value?["subagent_type"] ?? input.value?["agent"])?.stringValue
    }
    let isNamedSo =
      word.hasPrefix("delegate") || word == "agent" || word.hasSuffix("_agent")
      || word.hasSuffix("_subagent")
    return isNamedSo && !word.hasSuffix("user_agent") ? word : nil
  }

  /// The tool, where it is given a request and nothing else.
  fileprivate var toolOfRequest: String? {
    guard let given = input.value?.objectValue, given.count == 1,
      given["request"]?.stringValue != nil
    else { return nil }
    return name
  }
}
