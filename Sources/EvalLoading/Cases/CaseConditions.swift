public import AgentRuntime
public import AgentTrace

/// What a case says of the run that is made for it, beside its agent file: so one agent file serves many tenants.
public struct CaseConditions: Sendable {
  /// Whom the agent runs for: what is said counts in place of what the agent file says; of `attributes` key by key.
  public var policyContext = PolicyContext()
  /// In place of the agent's own policy; `nil` for that.
  public var policy: Policy?
  /// What the run may use: of these and the agent's own the smaller ones count.
  public var limits = Limits()
  /// Notes that are read when the run starts, beside the agent's own; one of the same scope and key counts in
  /// place of it.
  public var memory: [MemoryNote] = []
  /// What the run's identifier is made from; `nil` where that is left to whoever runs it.
  public var seed: Int?
  /// The keys that a case may have of these, as they stand in the file.
  var source: JSONObject = [:]

  /// Nothing is said.
  public init() {}

  /// The keys of an agent file that the case says anew.
  public var isEmpty: Bool { source.isEmpty }

  /// Says it of an agent, and that the case said it.
  public func apply(to agent: inout AgentDefinition) {
    for member in policyContext.encoded {
      agent.note(.evalCase, of: "policyContext.\(member.key)")
    }
    agent.policyContext.actorId = policyContext.actorId ?? agent.policyContext.actorId
    agent.policyContext.tenantId = policyContext.tenantId ?? agent.policyContext.tenantId
    agent.policyContext.route = policyContext.route ?? agent.policyContext.route
    for member in policyContext.attributes {
      agent.policyContext.attributes[member.key] = member.value
    }
    if var policy {
      // It stands in no file of the agent's: whoever goes on with the run has to see that it is another one.
      policy.digest = policy.digest ?? Digest(of: .object(policy.source)).hex
      agent.policy = policy
      agent.note(.evalCase, of: "policy")
    }
    agent.tighten(by: limits, .evalCase)
    guard !memory.isEmpty else { return }
    agent.note(.evalCase, of: "memory")
    for note in memory {
      let index = agent.memory.firstIndex {
        $0.scope.hasSameUTF8(as: note.scope) && $0.key.hasSameUTF8(as: note.key)
      }
      if let index { agent.memory[index] = note } else { agent.memory.append(note) }
    }
  }
}

/// The keys of a case that say what its run is made with.
enum CaseConditionsFile {
  static let keys = ["policyContext", "policy", "limits", "memory", "seed"]

  /// The keys, read into a part of the target.
  static func fields<Target>(
    _ part: any WritableKeyPath<Target, CaseConditions> & Sendable
  ) -> [Field<Target>] {
    [
      Field(
        "policyContext", AgentFile.policyContext, required: false,
        "Whom the agent runs for, in place of what its file says, key by key."
      ) { $0[keyPath: part].policyContext = $1 },
      Field(
        "policy", PolicyFile.inlineOrPath, required: false,
        "The rules about which calls may run, in place of the agent's own."
      ) { $0[keyPath: part].policy = $1 },
      Field(
        "limits", AgentFile.givenLimits, required: false,
        "What the run may use at most; of these and the agent's own the smaller ones count."
      ) { $0[keyPath: part].limits = $1 },
      Field(
        "memory", .list(of: AgentFile.note), required: false,
        "Notes that are read when the run starts, beside the agent's own."
      ) { $0[keyPath: part].memory = $1 },
      Field(
        "seed", .count, required: false, "What the run's identifier is made from."
      ) { $0[keyPath: part].seed = $1 },
    ]
  }
}
