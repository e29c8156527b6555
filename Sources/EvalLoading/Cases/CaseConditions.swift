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
  /// Whom rules ask in place of those of the same name that the policy has.
  public var authorizers: [AuthorizerRegistration] = []
  /// The keys that a case may have of these, as they stand in the files.
  var source: JSONObject = [:]

  /// Nothing is said.
  public init() {}

  /// Whether nothing is said.
  public var isEmpty: Bool { source.isEmpty }

  /// Says it of an agent, and that the case said it.
  ///
  /// - Throws: ``UnaskedAuthorizer`` where no rule asks an authorizer that is to stand in another's place.
  public func apply(to agent: inout AgentDefinition) throws(UnaskedAuthorizer) {
    for member in policyContext.encoded {
      agent.note(.evalCase, of: "policyContext.\(member.key)")
    }
    agent.policyContext = policyContext.over(agent.policyContext)
    if policy != nil || !authorizers.isEmpty {
      agent.policy = try asking(policy ?? agent.policy)
      agent.note(.evalCase, of: "policy")
    }
    agent.tighten(by: limits, .evalCase)
    guard !memory.isEmpty else { return }
    agent.note(.evalCase, of: "memory")
    agent.memory = memory.over(agent.memory, isSame: MemoryNote.isFoundAlike)
  }

  /// A policy that asks those who are named here.
  private func asking(_ policy: Policy) throws(UnaskedAuthorizer) -> Policy {
    var policy = policy
    for authorizer in authorizers
    where !policy.rules.contains(where: {
      $0.authorizer?.hasSameUTF8(as: authorizer.name) ?? false
    }) {
      throw UnaskedAuthorizer(name: authorizer.name, known: policy.rules.compactMap(\.authorizer))
    }
    if !authorizers.isEmpty {
      policy.authorizers = authorizers.over(policy.authorizers) { $0.name.hasSameUTF8(as: $1.name) }
      policy.source["authorizers"] = .object(
        (source["authorizers"]?.objectValue ?? [:])
          .over(policy.source["authorizers"]?.objectValue ?? [:]))
      policy.digest = nil
    }
    // It stands in no file of the agent's: whoever goes on with the run has to see that it is another one.
    policy.digest = policy.digest ?? Digest(of: .object(policy.source)).hex
    return policy
  }
}

/// An authorizer that a case names, and that no rule of the policy asks.
public struct UnaskedAuthorizer: Error, CustomStringConvertible {
  /// Its name.
  public var name: String
  /// Whom the rules ask.
  public var known: [String]

  /// In words.
  public var description: String {
    let asked =
      known.isEmpty
      ? "it asks nobody" : "it asks \(known.map { "“\($0)”" }.joined(separator: ", "))"
    return "no rule of the policy asks the authorizer “\(name)” that the case names; \(asked)"
  }
}

// MARK: - One said nearer than another

extension CaseConditions {
  /// What is said here, and of an outer place what is not said here. Of the mappings each key is taken by itself, of
  /// the notes each scope and key; a policy and a seed as a whole.
  func over(_ outer: CaseConditions) -> CaseConditions {
    guard !outer.isEmpty else { return self }
    guard !isEmpty else { return outer }
    var merged = self
    merged.policyContext = policyContext.over(outer.policyContext)
    merged.policy = policy ?? outer.policy
    merged.limits = limits.over(outer.limits)
    merged.memory = memory.over(outer.memory, isSame: MemoryNote.isFoundAlike)
    merged.seed = seed ?? outer.seed
    merged.authorizers = authorizers.over(outer.authorizers) { $0.name.hasSameUTF8(as: $1.name) }
    merged.source = source(over: outer.source)
    return merged
  }

  private func source(over outer: JSONObject) -> JSONObject {
    var merged = outer
    for (key, value) in source.map({ ($0.key, $0.value) }) {
      switch (key, value, outer[key]) {
      case ("policyContext", .object(let own), .object(let its)?):
        var context = own.over(its)
        if let attributes = own["attributes"]?.objectValue {
          context["attributes"] = .object(attributes.over(its["attributes"]?.objectValue ?? [:]))
        }
        merged[key] = .object(context)
      case ("limits", .object(let own), .object(let its)?),
        ("authorizers", .object(let own), .object(let its)?):
        merged[key] = .object(own.over(its))
      case ("memory", .array(let own), .array(let its)?):
        merged[key] = .array(
          own.over(its) { $0["scope"] == $1["scope"] && $0["key"] == $1["key"] })
      default: merged[key] = value
      }
    }
    return merged
  }
}

extension Array {
  /// These in the places of what is the same in an outer list, the others behind it.
  fileprivate func over(_ outer: [Element], isSame: (Element, Element) -> Bool) -> [Element] {
    var merged = outer
    for element in self {
      if let index = merged.firstIndex(where: { isSame($0, element) }) {
        merged[index] = element
      } else {
        merged.append(element)
      }
    }
    return merged
  }
}

extension JSONObject {
  /// These members, and of an outer mapping those of other keys.
  fileprivate func over(_ outer: JSONObject) -> JSONObject { outer.merging(self) }
}

extension MemoryNote {
  fileprivate static func isFoundAlike(_ one: MemoryNote, _ other: MemoryNote) -> Bool {
    one.scope.hasSameUTF8(as: other.scope) && one.key.hasSameUTF8(as: other.key)
  }
}

extension PolicyContext {
  fileprivate func over(_ outer: PolicyContext) -> PolicyContext {
    PolicyContext(
      actorId: actorId ?? outer.actorId, tenantId: tenantId ?? outer.tenantId,
      route: route ?? outer.route, attributes: attributes.over(outer.attributes))
  }
}

extension Limits {
  fileprivate func over(_ outer: Limits) -> Limits {
    Limits(
      maxSteps: maxSteps ?? outer.maxSteps, maxToolCalls: maxToolCalls ?? outer.maxToolCalls,
      maxTokens: maxTokens ?? outer.maxTokens, maxCost: maxCost ?? outer.maxCost,
      timeoutSeconds: timeoutSeconds ?? outer.timeoutSeconds, maxDepth: maxDepth ?? outer.maxDepth)
  }
}
