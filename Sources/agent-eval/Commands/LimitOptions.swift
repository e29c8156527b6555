import AgentRuntime
import AgentTrace
import ArgumentParser

/// What one run may use, beside what its agent may.
struct LimitOptions: ParsableArguments {
  @Option(help: "Steps at most; of this and the agent's own limit the smaller counts.")
  var maxSteps: Int?

  @Option(help: "Executed calls at most, in the same way.")
  var maxToolCalls: Int?

  @Option(help: "Input and output tokens together at most.")
  var maxTokens: Int?

  @Option(help: "Money at most, in the currency of the model's prices.")
  var maxCost: Double?

  @Option(name: .customLong("timeout"), help: "Seconds of active run time at most.")
  var timeoutSeconds: Double?

  func validate() throws {
    for (name, value) in [
      ("--max-steps", maxSteps.map(Double.init)),
      ("--max-tool-calls", maxToolCalls.map(Double.init)),
      ("--max-tokens", maxTokens.map(Double.init)), ("--max-cost", maxCost),
      ("--timeout", timeoutSeconds),
    ] {
      guard let value, !(0...1e12).contains(value) else { continue }
      throw ValidationError("\(name) takes a number from 0 to 1000000000000.")
    }
  }

  /// As the runtime takes them.
  var limits: Limits {
    Limits(
      maxSteps: maxSteps, maxToolCalls: maxToolCalls, maxTokens: maxTokens, maxCost: maxCost,
      timeoutSeconds: timeoutSeconds)
  }
}

/// For whom a run acts and what it may use, beside what its agent file says.
struct ConditionOptions: ParsableArguments {
  @Option(help: "On whose behalf the agent runs.")
  var actor: String?

  @Option(help: "The route that tools and policy rules may look at.")
  var route: String?

  @OptionGroup var limits: LimitOptions

  /// Whether something is said.
  var isGiven: Bool { actor != nil || route != nil || !limits.limits.encoded.isEmpty }

  /// Says it of an agent, and that it was said here.
  func apply(to agent: inout AgentDefinition) {
    if let actor {
      agent.policyContext.actorId = actor
      agent.note(.commandLine, of: "policyContext.actorId")
    }
    if let route {
      agent.policyContext.route = route
      agent.note(.commandLine, of: "policyContext.route")
    }
    agent.tighten(by: limits.limits, .commandLine)
  }
}
