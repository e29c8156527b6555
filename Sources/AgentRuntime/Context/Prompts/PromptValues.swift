import AgentTrace

/// What the variables of templates stand for in one run, and where that stands in its log.
///
/// All of it is told by the events before the first step, so that a prompt is made again from the log.
struct PromptValues {
  var agentName: String
  var policyContext: JSONObject
  var start: ContextHistory.Start

  /// What a variable stands for as a text, and which event says so; `nil` where nothing does.
  func value(of variable: PromptVariable) -> (text: String, seq: Int?)? {
    func text(_ value: JSONValue?, seq: Int? = 0) -> (text: String, seq: Int?)? {
      guard let value, !value.isNull else { return nil }
      return (value.stringValue ?? CanonicalJSON.string(value, form: .plain), seq)
    }
    switch variable {
    case .input(let path): return text(Self.value(at: path, in: start.input))
    case .policyContext(let key): return text(policyContext[key])
    case .attribute(let path):
      return text(Self.value(at: path, in: policyContext["attributes"] ?? .null))
    case .memory(let scope, let key):
      guard let note = start.notes["\(scope)/\(key)"] else { return nil }
      return text(note.value, seq: note.seq)
    case .date: return text(start.time.map { .string("\($0.prefix(10))") })
    case .agentName: return text(.string(agentName))
    }
  }

  /// Sees that everything that a template names is there; what names no variable stays as it is written.
  ///
  /// - Parameter known: variables that are there for certain.
  /// - Throws: ``PromptFault`` for the first that is not.
  func require(
    _ template: PromptTemplate, in place: String,
    unless known: (PromptVariable) -> Bool = { _ in false }
  ) throws(PromptFault) {
    for name in template.text.names {
      guard let variable = PromptVariable(name), !known(variable), value(of: variable) == nil else {
        continue
      }
      throw .missing(name, in: place)
    }
  }

  private static func value(at path: [String], in value: JSONValue) -> JSONValue? {
    var value = value
    for key in path {
      if let inner = value.objectValue?[key] {
        value = inner
      } else if let elements = value.arrayValue, let index = Int(key),
        elements.indices.contains(index)
      {
        value = elements[index]
      } else {
        return nil
      }
    }
    return value
  }

  /// The text of a template, and what was put into it, in words that name the events; empty words where nothing was.
  func filled(_ template: PromptTemplate) -> (text: String, origins: String) {
    var origins: [String] = []
    let text = template.text.filled { name in
      guard let variable = PromptVariable(name) else { return nil }
      // A run does not begin where something is missing; one that is made again with another agent may.
      guard let (text, seq) = value(of: variable) else { return "«\(name) is missing»" }
      let origin = name + (seq.map { " (event \($0))" } ?? "")
      if !origins.contains(where: { $0.hasSameUTF8(as: origin) }) { origins.append(origin) }
      return text
    }
    return (text, origins.isEmpty ? "" : ", with " + origins.joined(separator: ", "))
  }
}

extension AgentDefinition {
  /// What the run's events say of this before its first step.
  func promptValues(_ state: AgentState, _ history: ContextHistory) -> PromptValues {
    PromptValues(agentName: name, policyContext: state.policyContext, start: history.start)
  }

  /// What is known of a run before it begins.
  private var valuesBeforeStart: PromptValues {
    PromptValues(
      agentName: name, policyContext: policyContext.encoded, start: ContextHistory.Start())
  }

  /// The agent with its tools' descriptions filled in: whom it acts for is known before its runs begin.
  ///
  /// - Throws: ``PromptFault`` where something that they name is not there.
  public func describingTools() throws(PromptFault) -> AgentDefinition {
    var agent = self
    let values = valuesBeforeStart
    for index in tools.indices {
      guard let template = tools[index].descriptionTemplate else { continue }
      try values.require(
        template, in: "the description of the tool “\(tools[index].definition.name)”")
      agent.tools[index].definition.description = values.filled(template).text
    }
    return agent
  }

  /// The agent's own goal for a run that says none, filled in; `nil` where it has none.
  ///
  /// - Throws: ``PromptFault`` where something that it names is not there.
  public func ownGoal() throws(PromptFault) -> String? {
    guard let goal, command == nil else { return goal }
    let template = PromptTemplate(goal)
    try valuesBeforeStart.require(template, in: "the goal")
    return valuesBeforeStart.filled(template).text
  }

  /// What its instructions name that a run that is started like this does not have.
  ///
  /// - Throws: ``PromptFault`` for the first such name.
  func checkPrompts(startedWith start: Runtime.Start) throws(PromptFault) {
    var values = valuesBeforeStart
    values.start.input = start.input ?? start.goal
    let templates =
      instructions.map { (template: $0.template, place: "its instructions") }
      + (plan.map { [($0.prompt, "what it is asked to plan")] } ?? [])
      + (reflect.map { [($0.prompt, "what it is asked to reflect on")] } ?? [])
    for (template, place) in templates {
      try values.require(template, in: place) { variable in
        switch variable {
        // The run's clock says the one, and the agent file what the other is where none was kept.
        case .date, .memory: true
        default: false
        }
      }
    }
  }
}

extension PromptFault {
  fileprivate static func missing(_ name: String, in place: String) -> PromptFault {
    let advice =
      switch PromptVariable(name) {
      case .policyContext?: "say it under policyContext, or with --actor, --tenant or --route"
      case .attribute?: "say it under policyContext.attributes, or with --attribute"
      case .input?: "what the run is started with does not hold it"
      default: "nothing says it"
      }
    return PromptFault(
      description: "\(place) names ${\(name)}, which this run does not have: \(advice)")
  }
}
