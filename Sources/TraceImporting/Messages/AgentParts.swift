import AgentTrace

/// goose's parts of messages: `{"type":"toolRequest","id","toolCall":{"status","value":{"name","arguments"}}}` and
/// `{"type":"toolResponse","id","toolResult":{"status","value"|"error"}}`.
enum GooseParts {
  /// Takes a call; one that goose could not make out is a call all the same, with its problem. `false` for another shape.
  static func takeCall(
    _ object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) -> Bool {
    guard let asked = object["toolCall"], asked.objectValue != nil else { return false }
    let value = asked["value"] ?? asked
    var call = CallReader.call(
      name: value["name"]?.stringValue, input: value["arguments"],
      id: object["id"]?.stringValue)
    if asked["status"] == "error" {
      call.problem = asked["error"]?.stringValue ?? "a call that its client could not read"
    }
    message.add(call, at: pointer)
    return true
  }

  /// Takes what a tool gave back. `false` for another shape.
  static func takeResult(
    _ object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) -> Bool {
    guard let outcome = object["toolResult"], outcome.objectValue != nil else { return false }
    let value = outcome["value"]
    var status = GraphResult.Status.returned
    switch outcome["status"]?.stringValue {
    case "success": status = value?["isError"]?.boolValue == true ? .error : .ok
    case "error": status = .error
    default: message.unread.append(pointer)
    }
    let data = value?["content"] ?? value ?? outcome["error"]
    message.results.append(
      GraphResult(
        id: object["id"]?.stringValue, data: data.map { Told(text: $0) } ?? .absent,
        status: status, pointer: pointer))
    return true
  }
}

/// What Continue keeps beside a reply of its calls: `[{"toolCallId","status","toolCall"}]`.
enum ContinueStates {
  /// What became of each call that is over, by its id; `nil` where a state is none that is known.
  static func outcomes(in value: JSONValue) -> [String: GraphResult.Status]? {
    guard let states = value.arrayValue else { return nil }
    var outcomes: [String: GraphResult.Status] = [:]
    for state in states {
      guard let id = state["toolCallId"]?.stringValue else { return nil }
      switch state["status"]?.stringValue {
      case "done": outcomes[id] = .ok
      case "errored": outcomes[id] = .error
      case "canceled": outcomes[id] = .refused
      case "generating", "generated", "calling": break
      default: return nil
      }
    }
    return outcomes
  }
}

extension CallGraph {
  /// Tells results that say nothing of it themselves what became of their calls.
  mutating func tell(_ outcomes: [String: GraphResult.Status]) {
    guard !outcomes.isEmpty else { return }
    for index in items.indices {
      guard case .result(var result) = items[index], result.status == .returned,
        let status = result.id.flatMap({ outcomes[$0] })
      else { continue }
      result.status = status
      items[index] = .result(result)
    }
  }
}

/// Amp's results, `{"type":"tool_result","toolUseID","run":{"status","result"|"error"|"reason"}}`.
enum AmpParts {
  /// Takes what became of a call, where that is known by now. `false` for another shape.
  static func takeResult(
    _ object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) -> Bool {
    guard let run = object["run"], let word = run["status"]?.stringValue else { return false }
    let data = run["result"] ?? run["error"] ?? run["reason"]
    var result = GraphResult(
      id: (object["toolUseID"] ?? object["tool_use_id"])?.stringValue,
      data: data.map { Told(text: $0) } ?? .there(.string(word)), status: .returned,
      pointer: pointer)
    switch word {
    case "done": result.status = .ok
    case "error": result.status = .error
    case "rejected-by-user": result.status = .refused
    case let word where word.hasPrefix("cancel"):
      result.status = .error
      result.isEffectUnknown = true
    // It waits or runs.
    case "blocked-on-user", "in-progress", "queued":
      message.parts.append(.object(object))
      return true
    default: message.unread.append(pointer)
    }
    message.results.append(result)
    return true
  }
}

/// pydantic-ai's parts that are neither plain texts nor calls: what was said aloud, what is wrong with an answer, and what
/// holds from there on.
enum PydanticParts {
  /// Parts of instructions, of a model's settings, and of which tools there are.
  static let settings: Set<String> = [
    "capability-load-delta", "instruction-baseline", "instruction-delta", "model-settings-delta",
    "tool-availability-delta",
  ]

  /// Takes what was said aloud, as it was written down, or what is wrong with an answer, as a text or a list of faults.
  static func take(
    _ type: String, _ object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    let said = object[type == "speech" ? "transcript" : "content"]
    var known = ["type", "part_kind", "content", "retry", "transcript", "speaker", "timestamps"]
    if let said, said.isText {
      message.add(text: said)
    } else {
      message.parts.append(.object(object))
      known.removeAll { said?.mayHoldCall == true && $0 == "content" }
    }
    known += ["interrupted_at_ms", "timestamp", "id", "provider_name"]
    if object["interrupted_at_ms"]?.saysNothing == false { message.isUnfinished = true }
    message.unread += UnknownMember.places(
      in: object, besides: known, quiet: ["audio", "provider_details"], at: pointer)
  }
}
