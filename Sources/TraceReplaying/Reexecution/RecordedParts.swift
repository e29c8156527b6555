import AgentRuntime
import AgentTrace
import TraceStorage

/// The parts of a recorded run, each made under one set of inputs: from its start, from where a fork goes
/// on by itself, and from each `run_resumed` that says that something else goes on.
///
/// Why: Docs/decisions/0009-resumed-runs-are-made-of-parts.md
struct RecordedParts {
  /// One part.
  struct Part {
    /// The number of its first event.
    var start: Int
    /// Of the agent file; `nil` for none.
    var agentDigest: String?
    /// Of the policy file; `nil` where the policy stands in the agent file.
    var policyDigest: String?
    /// How models were asked in it.
    var models: JSONObject
    /// Who said what the agent file does not.
    var origins: JSONObject
    /// What else its files said; see ``RunStarted/inputs``.
    var inputs: JSONObject
    /// Whether it is what a fork shares with a parent whose inputs were others.
    var isShared = false

    /// Whether its files are those of another part.
    func hasFiles(of other: Part) -> Bool {
      agentDigest == other.agentDigest && policyDigest == other.policyDigest
    }
  }

  private(set) var parts: [Part]

  /// Looks through a log for its parts, as far as it can be read.
  ///
  /// - Complexity: reads the log once, and of other events no more than their beginning.
  init(of steps: RecordedSteps) {
    let started = steps.started
    var own = Part(
      start: 0, agentDigest: started.agentDigest, policyDigest: started.policyDigest,
      models: started.models, origins: started.origins, inputs: started.inputs)
    parts = [own]
    var shared = -1
    if let parent = started.parent, !parent.inputs.isEmpty,
      let last = RecordedSteps.lastShared(of: parent)
    {
      // What both share goes by the inputs of then, however often it was resumed.
      parts[0].isShared = true
      parts[0].agentDigest = parent.inputs["agentDigest"]?.stringValue ?? started.agentDigest
      shared = last
      own.start = last + 1
      parts.append(own)
    }
    guard var reader = try? LogReader(path: steps.path, options: .init(keepsLines: false)) else {
      return
    }
    while let head = try? reader.advance() {
      guard case .event(let seq, _, .runResumed) = head, seq > shared,
        case .event(let event)? = try? reader.line(),
        let resumed = try? RunResumed(decoding: event.data)
      else { continue }
      take(resumed, at: seq)
    }
  }

  private mutating func take(_ resumed: RunResumed, at seq: Int) {
    guard var part = parts.last else { return }
    part.start = seq + 1
    part.isShared = false
    if resumed.changesFiles {
      (part.agentDigest, part.policyDigest) = (resumed.agentDigest, resumed.policyDigest)
      part.inputs = resumed.inputs
    }
    if !resumed.models.isEmpty { part.models = resumed.models }
    part.origins = resumed.origins
    parts.append(part)
  }

  /// The part that an event belongs to.
  func part(at seq: Int) -> Part { parts.last { $0.start <= seq } ?? parts[0] }

  /// The agent that a part is made again with; `nil` where it was made with other files than what came
  /// after it, and they are not among the agents: then it is taken as the log has it.
  ///
  /// - Parameter agents: the last one for parts that none of them made.
  func agent(for part: Part, of agents: [AgentDefinition]) -> Int? {
    guard let last = parts.last else { return nil }
    if part.isShared { return nil }
    let made = agents.indices.last { RecordedFiles(part, agents[$0]).areSame }
    if let made { return made }
    return part.hasFiles(of: last) ? agents.indices.last : nil
  }
}

extension RecordedSteps {
  /// The digest of the agent file that made the last part of the run; `nil` for an agent made in code.
  ///
  /// - Complexity: reads the log once.
  public func lastAgentDigest() -> String? {
    RecordedParts(of: self).parts.last?.agentDigest
  }
}

/// Whether agent file and policy are, byte for byte, those that a part of a run was recorded with.
struct RecordedFiles {
  var isAgentSame: Bool
  var isPolicySame: Bool
  var areSame: Bool { isAgentSame && isPolicySame }

  init(_ part: RecordedParts.Part, _ agent: AgentDefinition) {
    isAgentSame = Self.areSame(part.agentDigest, agent.digest)
    switch (part.policyDigest, agent.policy.digest) {
    case (nil, nil): isPolicySame = isAgentSame  // It stands in the agent file.
    case (let recorded, let now): isPolicySame = Self.areSame(recorded, now)
    }
  }

  /// What has no digest is not known to be the same.
  private static func areSame(_ recorded: String?, _ now: String?) -> Bool {
    guard let recorded, let now else { return false }
    return recorded.hasSameUTF8(as: now)
  }
}

extension AgentDefinition {
  /// The agent as it is to make a part of a run again: with what the log says came from elsewhere than the
  /// agent file, unless it was said anew.
  func making(_ part: RecordedParts.Part, of started: RunStarted) -> AgentDefinition {
    var agent = self
    let files = RecordedFiles(part, self)
    let isOwn =
      part.agentDigest == started.agentDigest && part.policyDigest == started.policyDigest
    if started.models.isEmpty {
      // Older logs do not say what came from where.
      if files.isAgentSame, origins.isEmpty {
        agent.policyContext = started.policyContext
        if isOwn { agent.limits = started.limits }
      }
    } else {
      for key in started.origins.keys where !isSaid(key) {
        agent.takeOver(key, of: started, limits: isOwn)
      }
    }
    // Whom a run acts for, no part of it changes.
    if part.start > 0, !isSaid("policyContext") { agent.policyContext = started.policyContext }
    if part.origins["human"] != nil, !isSaid("human") { agent.takeOver(personIn: part.models) }
    agent.leaveOut(asForkedFrom: started.parent)
    return agent
  }

  /// Whether somebody said anew what stands under a key, or below it.
  private func isSaid(_ key: String) -> Bool {
    origins.contains {
      $0.key.hasSameUTF8(as: key) || $0.key.hasPrefix(key + ".")
        || key.hasPrefix($0.key + ".")
    }
  }

  private mutating func takeOver(_ key: String, of started: RunStarted, limits: Bool) {
    let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
    let name = parts.count > 1 ? parts[1] : nil
    switch parts.first {
    case "policyContext":
      guard let name else {
        policyContext = started.policyContext
        return
      }
      var context = policyContext.encoded
      context[name] = started.policyContext.encoded[name]
      policyContext = (try? PolicyContext(decoding: context)) ?? policyContext
    case "limits":
      guard limits, let name, let value = started.limits.encoded[name],
        let given = try? Limits(decoding: [name: value])
      else { return }
      // As they were given: of them and of those of the file the smaller counts.
      self.limits = self.limits.tightened(by: given)
    case "memory":
      guard let notes = started.inputs["memory"]?.arrayValue else { return }
      memory = notes.compactMap { $0.objectValue.flatMap { try? MemoryNote(decoding: $0) } }
    default: break
    }
  }

  /// Takes the person over that a run was given from elsewhere than the agent file, as its log has them:
  /// their model only answers from it.
  mutating func takeOver(personIn models: JSONObject) {
    human = human ?? ScriptedPerson()
    human?.model = SimulatedPerson(recorded: models)
  }
}
