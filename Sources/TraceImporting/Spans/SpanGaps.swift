import AgentTrace

extension [TraceSpan] {
  /// The spans that are called as a tool is that some span of theirs offers, and that no convention calls a tool's: what
  /// a program traced itself, or wrote in a word that says nothing.
  var namedAsTools: [CallSightings.Sighting] {
    let offered = Set(flatMap(\.offeredTools).map(ToolWord.plain))
    guard !offered.isEmpty else { return [] }
    return filter {
      [.step, .other, .unknown].contains($0.kind) && offered.contains(ToolWord.plain($0.name))
    }.map {
      CallSightings.Sighting(
        call: CallSightings.Call(name: $0.name, input: nil), pointer: $0.pointer)
    }
  }
}

extension TraceSpan {
  /// The attributes that list the tools on offer, as a list or a text of one.
  private static let offers = [
    "gen_ai.tool.definitions", "gen_ai.request.tools", "gen_ai.agent.tools", "mlflow.chat.tools",
    "ai.prompt.tools",
  ]

  /// The names of the tools that it says are on offer.
  fileprivate var offeredTools: [String] {
    var tools = Self.offers.compactMap { attributes[$0].map(Self.opened)?.arrayValue }.flatMap(
      \.self)
    for member in attributes {
      if member.key.hasPrefix("llm.tools."), member.key.hasSuffix(".json_schema") {
        tools.append(member.value)
      } else if member.key.hasPrefix("llm.request.functions."), member.key.hasSuffix(".name") {
        tools.append(member.value)
      }
    }
    return tools.compactMap { tool in
      let tool = Self.opened(tool)
      return (tool["function"]?["name"] ?? tool["name"] ?? tool).stringValue
    }
  }

  /// A text of JSON as what it says.
  private static func opened(_ value: JSONValue) -> JSONValue {
    value.stringValue.flatMap(JSONText.parse) ?? value
  }

  /// Where instrumentations keep what a response says of itself, or what a model was asked with.
  private static let responses = [
    "output.value", "llm.invocation_parameters", "input.value", "langfuse.observation.output",
    "gen_ai.completion",
  ]

  /// The id of the response that the one it tells of goes on from.
  fileprivate var previousResponse: String? {
    if let id = text("gen_ai.request.previous_response_id", "openai.request.previous_response_id") {
      return id
    }
    for key in Self.responses {
      guard let value = attributes[key],
        value.objectValue != nil
          || value.stringValue?.contains(
            "previous_response_id") == true
      else { continue }
      if let id = Self.opened(value)["previous_response_id"]?.stringValue { return id }
    }
    return nil
  }
}

extension CallGraph {
  /// Notes the responses from which the models' spans go on and that none of them tells of.
  mutating func noteEarlierResponses(of spans: [TraceSpan]) {
    let told = Set(
      items.compactMap { item -> String? in
        if case .reply(let reply) = item { reply.responseId } else { nil }
      })
    var noted = Set(
      items.compactMap { item -> String? in
        if case .reply(let reply) = item { reply.goesOnFrom } else { nil }
      })
    for span in spans where span.kind == .model {
      guard let id = span.previousResponse, !id.isEmpty, !told.contains(id),
        noted.insert(id).inserted
      else { continue }
      missing.append(.response(id, at: span.pointer))
    }
  }
}
