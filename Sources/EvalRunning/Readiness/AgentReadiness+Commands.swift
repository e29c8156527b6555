import AgentRuntime
import AgentTrace
import TraceJudging

/// Of an agent that is a program of its own: what is said of its loop, its tools and its context is what its file can
/// say, and advice names keys that such a file has.
extension AgentReadiness {
  func state(of command: CommandAgent) -> Entry {
    var entry = Entry(.state, owner: "\(agent.name): its loop; agent-eval: what a run may use")
    entry.inPlace = limitsInPlace
    entry.inPlace.append(
      "it is ended after \(Figures.count(command.timeoutSeconds, "second", plural: "seconds"))")
    addCostLimit(to: &entry)
    return entry
  }

  func tools(of command: CommandAgent) -> Entry {
    var entry = Entry(.tools, owner: "\(agent.name): all of them")
    entry.inPlace.append(
      "\(Figures.count(ownTools.count, "tool")) named, \(writers.count) of which write")
    entry.missing.add(
      command.isGuarded ? .note : .gap,
      "it is a program with a loop of its own: tools that the file does not name are known only from its runs",
      advice: "record it, and name each tool with its sideEffect")
    return entry
  }

  func policy(of command: CommandAgent) -> Entry {
    guard !command.isGuarded else { return ruledPolicy }
    var entry = Entry(.policy, owner: "nobody")
    entry.missing.add(
      .risk, "nothing that its models ask for is held back: the file has no policy",
      advice:
        "policy: rules, or a policy file; what no rule speaks of and writes then needs approval")
    return entry
  }

  /// What it shows its models, and what it keeps, is its own business.
  func ownBusiness(_ primitive: ReadinessRecord.Primitive, _ what: String) -> Entry {
    Entry(primitive, owner: "\(agent.name): \(what)")
  }
}
