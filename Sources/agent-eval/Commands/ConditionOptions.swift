import AgentRuntime
import AgentTrace
import ArgumentParser

/// For whom a run acts and what it may use, beside what its agent file says.
///
/// One group, and none within it: a build for debugging looks at every option several times for each level of groups,
/// whenever the program starts.
struct ConditionOptions: ParsableArguments {
  @Option(help: "On whose behalf the agent runs.")
  var actor: String?

  @Option(help: "The tenant of whoever that is.")
  var tenant: String?

  @Option(help: "The route that tools and policy rules may look at.")
  var route: String?

  @Option(
    help: ArgumentHelp(
      "Something else that policy rules may look at, KEY=VALUE; a value that is no JSON is a text. May be given again.",
      valueName: "key=value"))
  var attribute: [String] = []

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

  /// What one run may use, as the runtime takes it.
  var limits: Limits {
    Limits(
      maxSteps: maxSteps, maxToolCalls: maxToolCalls, maxTokens: maxTokens, maxCost: maxCost,
      timeoutSeconds: timeoutSeconds)
  }

  /// Whether something is said.
  var isGiven: Bool {
    actor != nil || tenant != nil || route != nil || !attribute.isEmpty
      || !limits.encoded.isEmpty
  }

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
    for text in attribute where Self.parts(text) == nil {
      throw ValidationError("--attribute takes KEY=VALUE, not “\(text)”.")
    }
  }

  private static func parts(_ text: String) -> (key: String, value: JSONValue)? {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    let value = (try? JSONValue(parsing: Array(parts[1].utf8))) ?? .string(String(parts[1]))
    return (String(parts[0]), value)
  }

  /// Says it of an agent, and that it was said here.
  func apply(to agent: inout AgentDefinition) {
    if let actor {
      agent.policyContext.actorId = actor
      agent.note(.commandLine, of: "policyContext.actorId")
    }
    if let tenant {
      agent.policyContext.tenantId = tenant
      agent.note(.commandLine, of: "policyContext.tenantId")
    }
    for (key, value) in attribute.compactMap(Self.parts) {
      agent.policyContext.attributes[key] = value
      agent.note(.commandLine, of: "policyContext.attributes")
    }
    if let route {
      agent.policyContext.route = route
      agent.note(.commandLine, of: "policyContext.route")
    }
    agent.tighten(by: limits, .commandLine)
  }
}
