import AgentTrace

/// Trajectories in the Agent Trajectory Interchange Format, 1.0 to 1.8, one a file:
/// `{"schema_version":"ATIF-v…","agent":{…},"steps":[…]}`; continuations lie beside their file.
enum Atif: FormatAdapter {
  static let summary = FormatSummary(
    reads: "Agent Trajectory Interchange Format 1.0 to 1.8, with continuations",
    tells: "calls, results and usage; no errors, and no end but in our own exports")

  private static let quiet: Set<String> = [
    "metrics", "extra", "final_metrics", "notes", "agent", "subagent_trajectory_ref",
    "reasoning_details", "continued_trajectory_ref",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value): isTrajectory(value)
    case .lines: false
    case .parts(let parts):
      !parts.isEmpty && parts.allSatisfy { $0.value.map(isTrajectory) ?? false }
    }
  }

  private static func isTrajectory(_ value: JSONValue) -> Bool {
    value["schema_version"]?.stringValue?.hasPrefix("ATIF") == true
      && value["steps"]?.arrayValue != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    let values: [(JSONPointer, JSONValue)]
    switch document {
    case .value(let value): values = [(JSONPointer(), value)]
    case .parts(let parts):
      values = parts.compactMap { part in part.value.map { (part.pointer, $0) } }
    case .lines: values = []
    }
    guard !values.isEmpty, values.allSatisfy({ isTrajectory($0.1) }) else {
      throw ImportError(
        .wrongShape(expected: "an object with `schema_version` ATIF and `steps`"), at: JSONPointer()
      )
    }
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        if values.count == 1, let run = try CarriedRun.find(in: values[0].1, at: ["extra"]) {
          return run
        }
        var graph = CallGraph(format: .atif)
        for (index, (place, value)) in values.enumerated() {
          try read(value, at: place, agent: nil, isContinuation: index > 0, into: &graph)
        }
        graph.missing += AtifSteps.gaps(in: values.map { ($0.1["steps"], $0.0.appending("steps")) })
        // It goes on in a file that is not here.
        if let (place, last) = values.last, let next = last["continued_trajectory_ref"],
          !next.saysNothing
        {
          graph.missing.append(.continuation(at: place.appending("continued_trajectory_ref")))
        }
        let told = Set(values.flatMap { subagents(of: $0.1) })
        for (place, value) in values {
          graph.missing += refs(in: value["steps"], at: place.appending("steps")).filter {
            !$0.names.contains(where: told.contains)
          }.map { .subAgent($0.names.first ?? "", at: $0.pointer) }
        }
        finish(&graph, values[0].1)
        return graph
      }
    ]
  }

  /// What the sub-agents are called that a file tells of.
  private static func subagents(of value: JSONValue) -> [String] {
    (value["subagent_trajectories"]?.arrayValue ?? []).flatMap { child in
      ["trajectory_id", "session_id"].compactMap { child[$0]?.stringValue } + subagents(of: child)
    }
  }

  /// Where steps speak of sub-agents that stand elsewhere, and what those are called.
  private static func refs(
    in steps: JSONValue?, at pointer: JSONPointer
  ) -> [(pointer: JSONPointer, names: [String])] {
    (steps?.arrayValue ?? []).enumerated().flatMap { index, step in
      (step["observation"]?["results"]?.arrayValue ?? []).enumerated().compactMap {
        number, result in
        guard let ref = result["subagent_trajectory_ref"], !ref.saysNothing else { return nil }
        let names = (ref.arrayValue ?? [ref]).flatMap { ref in
          ["trajectory_id", "session_id"].compactMap { ref[$0]?.stringValue }
        }
        let place = ["\(index)", "observation", "results", "\(number)", "subagent_trajectory_ref"]
        return (JSONPointer(tokens: pointer.tokens + place), names)
      }
    }
  }

  /// Those that were published when this was written: 1.0 to 1.8.
  private static func isKnown(version: String) -> Bool {
    let numbers = version.split(separator: "v").last?.split(separator: ".") ?? []
    return numbers.count >= 2 && numbers[0] == "1" && (0...8).contains(Int(numbers[1]) ?? -1)
  }

  private static func finish(_ graph: inout CallGraph, _ value: JSONValue) {
    let agent = value["agent"]
    graph.agentName = agent?["name"]?.stringValue
    graph.modelName = agent?["model_name"]?.stringValue ?? graph.firstModel
    for key in ["schema_version", "session_id", "trajectory_id"] { graph.labels[key] = value[key] }
    for key in ["final_metrics", "notes", "extra"] { graph.extra[key] = value[key] }
    graph.extra["agent"] = agent
    CarriedRun.take(
      value["extra"]?["agent_eval"], at: JSONPointer(tokens: ["extra", "agent_eval"]),
      into: &graph)
    // The list's end is no end of the run: only our own exports say how it ended.
    guard let own = value["extra"]?["agent_eval"]?["stop"]?.stringValue,
      let reason = StopReason(rawValue: own)
    else { return }
    graph.ending = ParsedEnding(
      reason: reason, detail: "", field: JSONPointer(tokens: ["extra", "agent_eval", "stop"]))
  }

  private static func read(
    _ value: JSONValue, at pointer: JSONPointer, agent: String?, isContinuation: Bool,
    into graph: inout CallGraph
  ) throws(ImportError) {
    let steps = value["steps"]?.arrayValue ?? []
    guard graph.items.count + steps.count <= GraphEvents.itemLimit else {
      throw ImportError(.tooManyMessages(limit: GraphEvents.itemLimit))
    }
    for (place, step) in steps.placed(at: pointer.appending("steps")) {
      let fields = try MessageFields(step, at: place)
      // Steps that were taken over from before are told there.
      if fields["is_copied_context"]?.boolValue == true, isContinuation { continue }
      try read(step: fields, agent: agent, into: &graph)
    }
    if let version = value["schema_version"]?.stringValue, !isKnown(version: version) {
      graph.unread.append(pointer.appending("schema_version"))
    }
    if let total = value["final_metrics"]?["total_steps"]?.intValue, total > steps.count,
      !isContinuation, value["continued_trajectory_ref"] == nil
    {
      graph.missing.append(
        .counted(steps.count, of: total, at: pointer.appending("final_metrics")))
    }
    // Definitions of tools, below `agent`, are no calls.
    graph.unread += UnknownMember.places(
      in: value.objectValue ?? [:],
      besides: ["steps", "schema_version", "subagent_trajectories", "agent"], quiet: quiet,
      at: pointer)
    for (index, child) in (value["subagent_trajectories"]?.arrayValue ?? []).enumerated() {
      let place = pointer.appending("subagent_trajectories").appending(String(index))
      guard isTrajectory(child) else {
        graph.unread.append(place)
        continue
      }
      let name =
        (child["trajectory_id"] ?? child["session_id"] ?? child["agent"]?["name"])?.stringValue
        ?? "subagent-\(index)"
      graph.missing += AtifSteps.gaps(in: [(child["steps"], place.appending("steps"))])
      try read(child, at: place, agent: name, isContinuation: false, into: &graph)
    }
  }

  private static let known: Set<String> = [
    "step_id", "source", "message", "tool_calls", "observation", "timestamp", "reasoning_content",
    "model_name",
  ]

  private static func read(
    step: MessageFields, agent: String?, into graph: inout CallGraph
  ) throws(ImportError) {
    guard let source = step["source"]?.stringValue else {
      throw ImportError(.wrongShape(expected: "a step with a source"), at: step.pointer)
    }
    let role: ReadMessage.Role =
      switch source {
      case "agent": .assistant
      case "user": .user
      case "system": .system
      default: .other
      }
    var message = ReadMessage(
      role: role, roleName: source, pointer: step.pointer, raw: .object(step.object))
    if role == .other { message.unread.append(step.pointer.appending("source")) }
    readText(of: step, into: &message)
    message.time = step["timestamp"]?.stringValue.flatMap(Timestamp.init)
    message.model = step["model_name"]?.stringValue
    message.usage = ReadUsage(step["metrics"])
    if let cost = step["metrics"]?["cost_usd"]?.doubleValue { message.usage.cost = cost }
    if let reasoning = step["reasoning_content"], !reasoning.saysNothing {
      message.parts.append(["type": "reasoning", "text": reasoning])
    }
    for (place, value) in try step.elements("tool_calls") {
      let call = try MessageFields(value, at: place)
      message.add(
        CallReader.call(
          name: call["function_name"]?.stringValue, input: call.object["arguments"],
          id: call["tool_call_id"]?.stringValue), at: place)
    }
    if step["llm_call_count"]?.intValue == 0 { message.isModelCall = false }
    message.unread += UnknownMember.places(
      in: step.object, besides: known, quiet: quiet, at: step.pointer)
    let isReply = role == .assistant
    // Something was done: what, stands in the text alone.
    let results = step["observation"]?["results"]?.arrayValue ?? []
    if isReply, message.calls.isEmpty, message.text != nil,
      results.contains(where: { $0["source_call_id"]?.stringValue == nil })
    {
      message.unread.append(step.pointer.appending("observation"))
    }
    // A step of an agent may hold nothing but what its calls gave back.
    if isReply, message.text == nil, message.calls.isEmpty, message.parts.isEmpty,
      step["observation"] != nil
    {
      graph.unread += message.unread
    } else {
      graph.items += MessageItems.items(of: [message], agent: agent).map { item in
        // Our own exports say why no reply came, or why one was no decision.
        guard case .reply(var reply) = item, let own = step["extra"]?["agent_eval"] else {
          return item
        }
        reply.error = own["error"]?.stringValue ?? reply.error
        reply.take(own)
        return .reply(reply)
      }
    }
    try readObservation(of: step, calls: message.calls, agent: agent, into: &graph)
  }

  private static func readText(of step: MessageFields, into message: inout ReadMessage) {
    guard let text = step["message"], !text.saysNothing else { return }
    if let parts = text.arrayValue {
      PartReader.take(parts, below: step.pointer.appending("message"), into: &message)
    } else {
      message.add(text: text)
    }
  }

  private static func readObservation(
    of step: MessageFields, calls: [GraphCall], agent: String?, into graph: inout CallGraph
  ) throws(ImportError) {
    guard let observation = step["observation"] else { return }
    let place = step.pointer.appending("observation").appending("results")
    for (index, value) in (observation["results"]?.arrayValue ?? []).enumerated() {
      let at = place.appending(String(index))
      let fields = try MessageFields(value, at: at)
      let id = fields["source_call_id"]?.stringValue
      let content = fields.object["content"]
      let ours = fields["extra"]?["agent_eval"]
      let own = ours?["status"]?.stringValue
      if calls.isEmpty, id == nil, own == nil {
        // What an agent saw that called nothing is what it was told.
        graph.items.append(
          .message(
            GraphMessage(
              role: .other, roleName: "observation", text: content,
              parts: content.map { [$0] } ?? [], agent: agent, pointer: at)))
        continue
      }
      let status: GraphResult.Status =
        switch own {
        case "ok": .ok
        case "error": .error
        case "refused": .refused
        default: .returned
        }
      var result = GraphResult(
        // What came back to no call of a step our own exports name beside it.
        id: id ?? ours?["call"]?.stringValue, tool: ours?["tool"]?.stringValue,
        data: content.map { Told(text: $0) } ?? .absent, status: status,
        pointer: at)
      result.agent = agent
      result.isEffectUnknown = own == "error" && ours?["effect"] == "unknown"
      result.extra = fields.without(["source_call_id", "content"])
      if id == nil, calls.count == 1 { result.tool = calls[0].name }
      if ours?["json"] == true { result.data = OwnMarks.data(in: result.data) }
      graph.items.append(.result(result))
    }
  }
}

/// The numbers of a trajectory's steps, which the format counts from 1 without a gap.
private enum AtifSteps {
  /// The steps that are not there: before the first, or between two.
  ///
  /// - Parameter lists: the steps of a trajectory and of its continuations, which go on counting or begin anew.
  static func gaps(in lists: [(steps: JSONValue?, pointer: JSONPointer)]) -> [MissingPart] {
    var gaps: [MissingPart] = []
    var last = 0
    for (steps, pointer) in lists {
      for (index, step) in (steps?.arrayValue ?? []).enumerated() {
        guard let number = step["step_id"]?.intValue, (0...1 << 53).contains(number) else {
          continue
        }
        if index == 0, number <= 1 { last = number - 1 }
        if number - 1 > last {
          let place = pointer.appending(String(index)).appending("step_id")
          gaps.append(.steps((last + 1)...(number - 1), at: place))
        }
        last = max(last, number)
      }
    }
    return gaps
  }
}
