import AgentTrace

/// Trajectories of SWE-agent, `{"trajectory":[{"action","observation","response","thought","state"}],"history","info"}`, and of
/// mini-SWE-agent, `{"trajectory_format","messages","info"}`.
///
/// An action is one call. Where the model called functions it has their names and arguments, and one that the history
/// does not name is not read; else it is a command line, and the call's name is `action`.
enum SweAgent: FormatAdapter {
  static let summary = FormatSummary(
    reads: "trajectories of SWE-agent and mini-SWE-agent",
    tells: "actions, observations; how runs ended")

  private static let quiet: Set<String> = [
    "state", "messages", "query", "extra_info", "info", "execution_time", "extra", "tool_call_ids",
  ]
  /// What a file may hold beside its steps.
  private static let known: Set<String> = [
    "trajectory", "history", "info", "environment", "replay_config", "messages",
    "trajectory_format", "instance_id",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .value(let value) = document else { return false }
    if let steps = value["trajectory"]?.arrayValue {
      return value["info"] != nil || value["environment"] != nil || value["history"] != nil
        || steps.first?["action"] != nil && steps.first?["observation"] != nil
    }
    if value["trajectory_format"]?.stringValue?.hasPrefix("mini-swe-agent") == true { return true }
    // The first of mini-SWE-agent's do not say what they are.
    return value["messages"]?.arrayValue != nil && value["info"]?["exit_status"] != nil
      && value["info"]?["model_stats"] != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    guard case .value(let value) = document, recognizes(document) else {
      throw ImportError(.wrongShape(expected: "an object with `trajectory`"), at: JSONPointer())
    }
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var graph =
          value["trajectory"]?.arrayValue == nil ? try messages(of: value) : try steps(of: value)
        for key in ["environment", "trajectory_format", "instance_id"] {
          graph.labels[key] = value[key]
        }
        graph.labels["exit_status"] = value["info"]?["exit_status"]
        graph.unread += try unread(of: value)
        graph.extra["info"] = value["info"]
        graph.agentName = "swe-agent"
        graph.ending = ending(value["info"]?["exit_status"]?.stringValue)
        return graph
      }
    ]
  }

  /// What the agent says of its exit: several words where it submitted after a limit.
  private static func ending(_ status: String?) -> ParsedEnding? {
    guard let status else { return nil }
    let field = JSONPointer(tokens: ["info", "exit_status"])
    // An exception's name is none of the words within it.
    let word = status.lowercased().replacing("runtime", with: "")
    if word == "submitted" {
      return ParsedEnding(reason: .success, detail: status, field: field)
    }
    if word.replacing("_", with: "").contains("ratelimit") {
      return ParsedEnding(reason: .modelFailure, detail: status, field: field)
    }
    for limit in ["cost", "context", "limit", "timeout", "max", "time"] where word.contains(limit) {
      return ParsedEnding(reason: .budgetExhausted, detail: status, field: field)
    }
    for fault in ["format", "malformed"] where word.contains(fault) {
      return ParsedEnding(reason: .invalidDecision, detail: status, field: field)
    }
    if word.contains("api") || word.contains("model") {
      return ParsedEnding(reason: .modelFailure, detail: status, field: field)
    }
    if word.contains("error") || word.contains("environment") || word.contains("submitted") {
      return ParsedEnding(reason: .toolFailure, detail: status, field: field)
    }
    if word.contains("skipped") || word.contains("exit_command") || word.contains("forfeit") {
      return ParsedEnding(reason: .blocked, detail: status, field: field)
    }
    return nil
  }

  private static func steps(of value: JSONValue) throws(ImportError) -> CallGraph {
    var graph = CallGraph(format: .sweAgent)
    let steps = value["trajectory"]?.arrayValue ?? []
    guard steps.count <= ImportLimits.messageLimit else {
      throw ImportError(.tooManyMessages(limit: ImportLimits.messageLimit))
    }
    graph.items = opening(of: value)
    let calls = functionCalls(of: value)
    let callsFunctions =
      !calls.isEmpty
      || (value["history"]?.arrayValue ?? []).contains {
        $0["role"]?.stringValue == "tool" && $0["is_demo"]?.boolValue != true
      }
    for (index, step) in steps.enumerated() {
      let place = JSONPointer(tokens: ["trajectory", String(index)])
      try read(try MessageFields(step, at: place), calls: calls, callsFunctions, into: &graph)
    }
    return graph
  }

  /// Places beside the steps where calls may stand that were not read.
  ///
  /// - Throws: ``ImportError`` where the history is not as it is known: it alone tells what the calls are called.
  private static func unread(of value: JSONValue) throws(ImportError) -> [JSONPointer] {
    var places = UnknownMember.places(
      in: value.objectValue ?? [:], besides: known, quiet: [], at: JSONPointer())
    let history = JSONPointer(tokens: ["history"])
    guard let list = value["history"], !list.saysNothing else {
      guard let first = places.first, value["trajectory"] != nil else { return places }
      throw ImportError(.wrongShape(expected: "nothing, or the `history`"), at: first)
    }
    guard let elements = list.arrayValue else {
      throw ImportError(.wrongShape(expected: "a list of messages"), at: history)
    }
    let actions = Set(
      (value["trajectory"]?.arrayValue ?? []).compactMap { $0["action"]?.stringValue })
    for (place, element) in elements.placed(at: history)
    where element["is_demo"]?.boolValue != true {
      if let action = element["action"]?.stringValue, !action.isEmpty, !actions.contains(action) {
        places.append(place.appending("action"))
      }
      let calls = element["tool_calls"]
      let hasCalls = calls?.saysNothing == false
      // One action is one call.
      guard element["role"]?.stringValue.flatMap(MessageReader.role) != nil,
        !hasCalls || calls?.arrayValue?.count == 1 && element["action"]?.stringValue != nil
      else {
        throw ImportError(
          .wrongShape(expected: "a message with a role, and its action beside its call"),
          at: place)
      }
      // What a call is called may stand under a word that nobody knows.
      for member in element.objectValue ?? [:]
      where !["content", "tool_calls"].contains(member.key) && member.value.mayHoldCall {
        places.append(place.appending(member.key))
      }
    }
    return places
  }

  /// What the model was told before its first step; demonstrations are no part of the run.
  private static func opening(of value: JSONValue) -> [GraphItem] {
    var messages: [ReadMessage] = []
    for (index, element) in (value["history"]?.arrayValue ?? []).enumerated() {
      let place = JSONPointer(tokens: ["history", String(index)])
      guard let role = element["role"]?.stringValue.flatMap(MessageReader.role) else { continue }
      if role == .assistant, element["is_demo"]?.boolValue != true { break }
      var message = ReadMessage(
        role: element["is_demo"]?.boolValue == true ? .other : role,
        roleName: element["is_demo"]?.boolValue == true ? "demonstration" : "\(role)",
        pointer: place,
        raw: element)
      for part in element["content"]?.arrayValue ?? [element["content"] ?? ""] {
        PartReader.take(part, at: place.appending("content"), into: &message)
      }
      message.unread = []
      if message.role != .tool { messages.append(message) }
    }
    return MessageItems.items(of: messages)
  }

  /// The function calls of the model by their actions, in the order of the history.
  private static func functionCalls(of value: JSONValue) -> [String: JSONValue] {
    var calls: [String: JSONValue] = [:]
    for element in value["history"]?.arrayValue ?? [] {
      guard element["is_demo"]?.boolValue != true, let list = element["tool_calls"]?.arrayValue,
        list.count == 1, let action = element["action"]?.stringValue
      else { continue }
      calls[action] = list[0]
    }
    return calls
  }

  private static func read(
    _ step: MessageFields, calls: [String: JSONValue], _ callsFunctions: Bool,
    into graph: inout CallGraph
  ) throws(ImportError) {
    var message = ReadMessage(
      role: .assistant, roleName: "assistant", pointer: step.pointer,
      raw: .object(step.without(["messages", "query", "observation"])))
    if let text = step["response"] ?? step["thought"], !text.saysNothing { message.add(text: text) }
    let action = step["action"]?.stringValue ?? ""
    if let call = calls[action] {
      MessageReader.read(call: call, at: step.pointer.appending("action"), into: &message)
    } else if action == "submit", callsFunctions {
      // The run ends with this tool of every set of tools, before its history says so.
      message.calls.append(GraphCall(name: action, input: .there([:])))
    } else if !action.isEmpty, callsFunctions {
      // The model called functions, and of this one the history holds no name: it may have been any of them.
      message.unread.append(step.pointer.appending("action"))
    } else if !action.isEmpty {
      message.calls.append(GraphCall(name: "action", input: .there(["command": .string(action)])))
    }
    let known: Set<String> = [
      "action", "observation", "response", "thought", "messages", "query", "history",
    ]
    message.unread += UnknownMember.places(
      in: step.object, besides: known, quiet: quiet, at: step.pointer)
    // A step that says nothing of its action may have had one, under a word that nobody knows.
    if step["action"]?.stringValue == nil {
      message.unread.append(step.pointer.appending("action"))
    }
    graph.items += MessageItems.items(of: [message])
    guard let observation = step["observation"], !message.calls.isEmpty else { return }
    var result = GraphResult(
      data: Told(text: observation), status: .returned, pointer: step.pointer)
    result.tool = message.calls.first?.name
    result.id = message.calls.first?.id
    graph.items.append(.result(result))
  }

  /// A mini-SWE-agent's list: its actions stand beside its messages, as calls in them, or in their texts.
  private static func messages(of value: JSONValue) throws(ImportError) -> CallGraph {
    var graph = CallGraph(format: .sweAgent)
    let texts = MiniActions(of: value)
    var running: GraphCall?
    for (index, element) in (value["messages"]?.arrayValue ?? []).enumerated() {
      let place = JSONPointer(tokens: ["messages", String(index)])
      if element["role"]?.stringValue == "exit" { continue }
      if let call = running, let texts, element["role"]?.stringValue == "user" {
        running = nil
        graph.items.append(.result(texts.result(of: call, in: element, at: place)))
        continue
      }
      running = nil
      guard let read = MessageReader.read(element, at: place) else {
        throw ImportError(.wrongShape(expected: "a message with a role"), at: place)
      }
      for var message in read {
        let actions = element["extra"]?["actions"]?.arrayValue ?? []
        message.unread.removeAll { $0.tokens.last == "extra" }
        if message.role == .assistant, message.calls.isEmpty {
          for action in actions {
            message.calls.append(
              GraphCall(
                name: "action", input: (action["command"] ?? action).objectOrCommand,
                id: action["tool_call_id"]?.stringValue))
          }
          if actions.isEmpty, let text = message.text?.stringValue, text.contains("```") {
            // The action stands in the text alone.
            running = texts?.call(in: text)
            if let running { message.calls.append(running) } else { message.unread.append(place) }
          }
        }
        graph.items += MessageItems.items(of: [message])
      }
    }
    guard !graph.items.isEmpty else { throw ImportError(.noMessages) }
    graph.modelName = graph.firstModel
    return graph
  }
}

extension JSONValue {
  /// A command line as the arguments of a call.
  fileprivate var objectOrCommand: Told {
    if case .string = self { return .there(["command": self]) }
    return .there(self)
  }
}
