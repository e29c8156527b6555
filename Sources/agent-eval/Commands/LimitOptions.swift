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
