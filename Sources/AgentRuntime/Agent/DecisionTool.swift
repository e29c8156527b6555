public import AgentTrace

/// A decision that a model makes by calling it like a tool: models that a provider serves have no other way to
/// ask, to stop or to cite. Nothing runs when it is called, and no policy is asked: the call is read as the decision.
///
/// As a tool of an agent it is told to the model and recorded like any other, so that the packets of a run say what its
/// model could decide. An agent file makes them of its key `decisions`.
public enum DecisionTool: Sendable, Hashable {
  /// `ask_human`: a question to a person.
  case askHuman
  /// `stop`: the end of the run without an answer, for one of these reasons (`StopReason.success` or
  /// `StopReason.blocked`).
  case stop([StopReason])
  /// `answer`: the final answer with the results that it rests on. Of an agent whose answers are values, the
  /// schema of these; `nil` for a text.
  case answer(schema: JSONValue?)

  /// What models call it by.
  public var name: String {
    switch self {
    case .askHuman: "ask_human"
    case .stop: "stop"
    case .answer: "answer"
    }
  }

  /// The tool that a model is told of.
  public var registration: ToolRegistration {
    var definition = ToolDefinition(
      name: name, description: description, inputSchema: inputSchema, sideEffect: .read)
    definition.decides = name
    return ToolRegistration(definition: definition, implementation: .decision(self))
  }

  private var description: String {
    switch self {
    case .askHuman:
      "Asks the person you work for, and waits for the reply. For what no tool can tell. Call it alone."
    case .stop:
      "Ends your work without an answer: blocked where you cannot go on, success where nothing is left to say. "
        + "Call it alone."
    case .answer:
      "Gives your final answer together with the results that it rests on. Before each result stands its id in "
        + "brackets, like [1.1.0]; evidence is a list of those ids. Call it alone."
    }
  }

  private var inputSchema: JSONValue {
    switch self {
    case .askHuman: Self.object(["question": ["type": "string", "minLength": 1]])
    case .stop(let reasons):
      Self.object(["reason": ["type": "string", "enum": JSONValue(reasons.map(\.rawValue))]])
    case .answer(let schema):
      Self.object([
        "answer": schema ?? ["type": "string", "minLength": 1],
        "evidence": ["type": "array", "items": ["type": "string"]],
      ])
    }
  }

  private static func object(_ properties: JSONObject) -> JSONValue {
    [
      "type": "object", "properties": .object(properties), "required": JSONValue(properties.keys),
      "additionalProperties": false,
    ]
  }

  /// The decision that a call of it makes, whose input is as its schema asks.
  func decision(_ input: JSONValue) -> Decision {
    switch self {
    case .askHuman: .askHuman(question: input["question"]?.stringValue ?? "")
    case .stop:
      .stop(input["reason"]?.stringValue.flatMap(StopReason.init(rawValue:)) ?? .blocked)
    case .answer(let schema):
      .answer(
        text: Self.text(of: input["answer"] ?? .null, isValue: schema != nil),
        evidenceRefs: input["evidence"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    }
  }
}

/// Which decisions a model may make by calling them like tools, as an agent file says it.
package struct EnabledDecisions: Sendable, Hashable {
  package var asksHuman = false
  package var stops: [StopReason] = []
  package var cites = false

  /// None.
  package init() {}

  /// The tools that make them.
  package func tools(answerSchema: JSONValue?) -> [DecisionTool] {
    var tools: [DecisionTool] = []
    if asksHuman { tools.append(.askHuman) }
    if !stops.isEmpty { tools.append(.stop(stops)) }
    if cites { tools.append(.answer(schema: answerSchema)) }
    return tools
  }
}

extension DecisionTool {
  private static func text(of answer: JSONValue, isValue: Bool) -> String {
    if !isValue, let text = answer.stringValue { return text }
    return CanonicalJSON.string(answer, form: .plain)
  }
}

extension Decision {
  /// The decision that is meant where one of the calls makes a decision of its own, or hands over to another
  /// agent: it has to be the only call.
  ///
  /// - Parameters:
  ///   - tool: what a call decides; `nil` for one that runs.
  ///   - handsOver: whether a call hands over.
  func meant(
    _ tool: (ProposedCall) -> DecisionTool?, handsOver: (ProposedCall) -> Bool
  ) -> Decision {
    guard case .tool(let calls) = self else { return self }
    let decides = calls.firstMapped(tool)
    guard let call = decides?.0 ?? calls.first(where: handsOver) else { return self }
    guard calls.count == 1 else {
      return .invalid(
        reason: "“\(call.name)” ends the turn: call it alone, or make the other calls first",
        calls: calls)
    }
    return decides?.1.decision(call.input) ?? self
  }
}

extension Array {
  /// The first element of which something can be made, and that.
  func firstMapped<Other>(_ transform: (Element) -> Other?) -> (Element, Other)? {
    for element in self {
      if let other = transform(element) { return (element, other) }
    }
    return nil
  }
}
