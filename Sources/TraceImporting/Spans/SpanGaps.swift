import AgentTrace

extension [TraceSpan] {
  /// The spans that are called as a tool is that some span of theirs offers, and that no convention calls a tool's: what
  /// a program traced itself, or wrote in a word that says nothing.
  var namedAsTools: [CallSightings.Sighting] {
    let offered = Set(flatMap(\.offeredTools).map(ToolWord.plain))
    guard !offered.isEmpty else { return [] }
    return filter {
      [.step, .other, .unknown].contains($0.kind) && offered.contains(ToolWord.plain($0.taskName))
    }.map {
      CallSightings.Sighting(
        call: CallSightings.Call(name: $0.taskName, input: nil), pointer: $0.pointer)
    }
  }
}

extension TraceSpan {
  /// Its name without what it is, as Traceloop writes it before that of a task.
  fileprivate var taskName: String {
    let word = "execute_task "
    return name.hasPrefix(word) ? String(name.dropFirst(word.utf8.count)) : name
  }

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

extension TraceSpan {
  /// Who tells of a call of Google's client in one span, with the last reply alone.
  private static let tellersOfGoogle = [
    // These say which tools are on offer, and those that follow do not.
    "openinference.instrumentation.google_genai": true,
    "opentelemetry.instrumentation.google_generativeai": false,
  ]

  /// Whether calls may have run within it of which it tells nothing: Google's client calls the functions that it is given
  /// by itself, until a reply asks for none.
  fileprivate var mayHaveCalledFunctions: Bool {
    guard kind == .model, let tellsOffers = Self.tellersOfGoogle[scope] else { return false }
    // What it was asked with is gone where a stream failed, and where it was hidden.
    let isTold = tellsOffers && text("input.value")?.hasPrefix("{") == true
    return !isTold || !offeredTools.isEmpty
  }
}

extension CallGraph {
  /// Notes that the client of a model may have called functions by itself, unless a reply with calls came out of it: then
  /// the program runs them.
  mutating func noteCallsOfClients(in spans: [TraceSpan]) {
    // What OpenTelemetry's own instrumentation sees is each function that is called.
    guard !spans.contains(where: { $0.scope == "opentelemetry.instrumentation.google_genai" })
    else { return }
    let places = Set(spans.filter(\.mayHaveCalledFunctions).map(\.pointer))
    let replies = items.compactMap { item -> GraphReply? in
      guard case .reply(let reply) = item, reply.isModelCall,
        reply.pointers.contains(where: places.contains)
      else { return nil }
      return reply
    }
    guard let place = replies.first?.pointers.first, replies.allSatisfy(\.calls.isEmpty) else {
      return
    }
    missing.append(.callsOfClient(at: place))
  }
}
