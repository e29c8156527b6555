public import AgentTrace
import TraceMatching

/// An agent that another one calls like a tool: each call is a run of its own, with its own log, policy and
/// context. It sees what the call's input says, and nothing else of the run that calls it.
public struct SubAgent: Sendable {
  /// The agent that runs.
  public var agent: AgentDefinition
  /// Whether its answer is that of the run that calls it, which then stops.
  public var isHandoff: Bool

  /// A call waits for its run, and its answer is the result, unless it is a handoff.
  public init(_ agent: AgentDefinition, isHandoff: Bool = false) {
    self.agent = agent
    self.isHandoff = isHandoff
  }

  /// What calls have as input where nothing else is said: `{"task": "…"}`.
  public static let inputSchema: JSONValue = [
    "type": "object",
    "properties": [
      "task": [
        "type": "string", "minLength": 1,
        "description":
          "What is to be done, with all that has to be known for it: nothing else of this conversation is seen.",
      ]
    ],
    "required": ["task"], "additionalProperties": false,
  ]

  /// The goal of the run that a call is: the text under `task` where the input says nothing else, or the whole
  /// input.
  public static func goal(of input: JSONValue) -> JSONValue {
    guard let object = input.objectValue, object.count == 1, let task = object["task"],
      case .string = task
    else { return input }
    return task
  }

  /// The agent as a call runs it.
  ///
  /// - Parameters:
  ///   - limits: what it may use.
  ///   - parent: the agent that calls it. Whoever answers for that one answers for it, unless it has a person of
  ///     its own, and whatever watches that one watches it.
  ///   - tool: what it is called by.
  ///   - context: for whom the parent's run acts.
  public func called(
    with limits: Limits, by parent: AgentDefinition, as tool: String, for context: PolicyContext
  ) -> AgentDefinition {
    var child = seen(by: parent, as: tool)
    child.tighten(by: limits, .parent)
    let inherited = child.policyContext.inherited(from: context)
    if inherited != child.policyContext {
      child.policyContext = inherited
      child.note(.parent, of: "policyContext")
    }
    if child.human == nil, let human = parent.human {
      child.human = human
      child.note(.parent, of: "human")
    }
    return child
  }

  /// The agent as whoever calls it has it watched, and with what is withheld from the logs of both.
  func seen(by parent: AgentDefinition, as tool: String) -> AgentDefinition {
    var child = agent
    child.redaction = child.redaction.adding(parent: parent.redaction)
    if let guardian = parent.runGuard?.guarding(callsOf: tool) {
      child.runGuard = child.runGuard.map { RunGuards(first: $0, second: guardian) } ?? guardian
    }
    return child
  }

  /// The tool that it is: a call of it changes nothing by itself, because what its run does is ruled on there.
  ///
  /// - Parameters:
  ///   - name: what calls name it by; the agent's own name where it is left out.
  ///   - description: what the model is told of it.
  ///   - inputSchema: the JSON Schema of what calls give it; a text under `task` where it is left out.
  public func registration(
    name: String? = nil, description: String = "", inputSchema: JSONValue = Self.inputSchema
  ) -> ToolRegistration {
    var definition = ToolDefinition(
      name: name ?? agent.name, description: description, inputSchema: inputSchema,
      sideEffect: .read)
    definition.agent = ToolDefinition.ChildAgent(name: agent.name, isHandoff: isHandoff)
    return ToolRegistration(definition: definition, implementation: .agent(self))
  }
}

/// The run that an attempt of a call is, as its ``ToolRequest`` names it.
public struct ChildLink: Sendable, Hashable {
  /// What the attempt's `tool_started` says of it.
  public var start: ChildStart
  /// What the child's `run_started` says of that event.
  public var parent: ParentRun
  /// Whether that event was recorded before this process went on with the parent: only then may the child have a log
  /// already.
  public var mayHaveBegun = false
  /// What withholds values from the log of the run that calls it, and knows what its tokens stand for: the child's own
  /// shares that (`Redactor.init(_:_:values:sharing:)`). `nil` where nothing does.
  public var redactor: Redactor?

  /// Names the run that an event has started.
  public init(start: ChildStart, parent: ParentRun) {
    self.start = start
    self.parent = parent
  }
}

/// A child that is to run, or to go on.
public struct ChildRequest: Sendable {
  /// The agent, with what it may use and for whom it acts.
  public var agent: AgentDefinition
  /// What it is to do.
  public var goal: JSONValue
  /// Its run, and the event that started it.
  public var link: ChildLink
  /// The name of the tool that it is called by.
  public var tool: String

  /// Says what is to run.
  public init(agent: AgentDefinition, goal: JSONValue, link: ChildLink, tool: String) {
    self.agent = agent
    self.goal = goal
    self.link = link
    self.tool = tool
  }
}

extension ChildRequest {
  /// What withholds values from the child's log: what its own agent says, and whatever is withheld from that of the run
  /// that calls it.
  ///
  /// - Parameter secrets: what the boundary of the child knows.
  public func redactor(_ secrets: RunSecrets) -> Redactor {
    Redactor(agent.redaction, secrets, sharing: link.redactor)
  }
}

/// What became of a child, for now.
public struct ChildAnswer: Sendable {
  /// How its run stands.
  public enum Standing: Sendable {
    /// It ended. The text is its answer, where it has one; the flag says whether nobody knows what one of its
    /// calls did.
    case ended(ChildEnd, answer: String?, isEffectUnknown: Bool)
    /// It waits, and may go on: for this reason.
    case paused(StopReason)
    /// It can be neither run nor read; why, in words. What its log holds stands.
    case failed(String)
  }

  /// How its run stands.
  public var standing: Standing
  /// Its active run time so far.
  public var elapsedMicroseconds: Int

  /// Says how a run stands.
  public init(_ standing: Standing, elapsedMicroseconds: Int = 0) {
    self.standing = standing
    self.elapsedMicroseconds = elapsedMicroseconds
  }
}

/// Runs children, each with a log of its own, and goes on with those that have one.
public protocol ChildRunner: Sendable {
  /// Runs a child to its end or to a pause. One whose log is there goes on behind its last event; one that has
  /// ended is only read. Two calls never name one run at a time.
  ///
  /// A child that cannot have begun yet (``ChildLink/mayHaveBegun``) has no log: one that is there is another run's,
  /// and is neither read nor written.
  func run(_ request: ChildRequest) async -> ChildAnswer
  /// Why a child cannot begin, asked before its start is recorded; `nil` where it can.
  func reasonNotToBegin(_ start: ChildStart, as tool: String) -> String?
}

extension ChildRunner {
  /// Nothing is in the way.
  public func reasonNotToBegin(_ start: ChildStart, as tool: String) -> String? { nil }
}

/// A call of an agent.
struct AgentTool: Tool {
  let agent: SubAgent
  let parent: AgentDefinition
  let runner: any ChildRunner

  func run(_ request: ToolRequest) async -> ToolAnswer {
    guard let link = request.child else {
      return ToolAnswer(result: .error("the call names no run: it was started as another tool's"))
    }
    let child = agent.called(
      with: link.start.limits, by: parent, as: request.tool.name, for: request.policyContext)
    let answer = await runner.run(
      ChildRequest(
        agent: child, goal: SubAgent.goal(of: request.input), link: link, tool: request.tool.name))
    return ToolAnswer(answer, of: child, as: request.tool.name)
  }
}

extension ToolAnswer {
  fileprivate init(_ answer: ChildAnswer, of agent: AgentDefinition, as tool: String) {
    self.init(result: .ok(data: .null), elapsedMicroseconds: answer.elapsedMicroseconds)
    switch answer.standing {
    case .ended(let end, let text, let isEffectUnknown):
      child = end
      guard end.reason != .success else {
        result = .ok(data: agent.answers.value(of: text ?? ""))
        return
      }
      let why = [end.reason.rawValue, end.detail].compactMap { $0 }.joined(separator: ", ")
      result = .error("\(tool) stopped: \(why)", isEffectUnknown: isEffectUnknown)
    case .paused(let reason): pause = reason
    case .failed(let reason):
      pause = .toolFailure
      machineFault = reason
    }
  }
}

extension AnswerSettings {
  /// An answer as a value: JSON where the agent's answers are that, or a text.
  func value(of answer: String) -> JSONValue {
    guard schema != nil, let value = try? JSONValue(parsing: FencedText.unfenced(answer)) else {
      return .string(answer)
    }
    return value
  }
}

extension PolicyContext {
  /// For whom a child acts: for whoever its parent acts for, and for nobody where that one acts for nobody. Its own
  /// file may say the route, and attributes that the parent does not have.
  func inherited(from parent: PolicyContext) -> PolicyContext {
    var context = parent
    context.route = route ?? parent.route
    for member in attributes where context.attributes[member.key] == nil {
      context.attributes[member.key] = member.value
    }
    return context
  }
}
