public import AgentTrace

extension AgentDefinition {
  /// The keys of an agent file that decide nothing of what a run does, or that a log has elsewhere: of
  /// models, people, limits and whom a run acts for it says what counted.
  private static let keysElsewhere = [
    "$schema", "name", "version", "model", "human", "limits", "policyContext",
  ]
  /// The same of a tool; and `scripted`, which is no more than the world's answer.
  private static let toolKeysElsewhere = [
    "description", "inputSchema", "outputSchema", "sideEffect", "sensitivity", "timeoutSeconds",
    "idempotent", "scripted",
  ]
  /// The most bytes of inputs that stand in a log.
  private static let inputsLimitBytes = 256 << 10

  /// What else of the agent file decides what its runs do, by its keys there, the policy's rules among it;
  /// empty for an agent made in code. See `RunStarted.inputs`.
  public var inputs: JSONObject {
    guard !source.isEmpty else { return [:] }
    var inputs = source
    for key in Self.keysElsewhere { inputs[key] = nil }
    var policy = policy.source
    policy["$schema"] = nil
    inputs["policy"] = policy.isEmpty ? nil : .object(policy)
    if origins.contains(where: { $0.key == "memory" }) {
      inputs["memory"] = .array(
        memory.map { note in
          .object(
            JSONObject(
              note.encoded.filter { ["scope", "key", "value"].contains($0.key) }.map {
                ($0.key, $0.value)
              }))
        })
    }
    if let tools = source["tools"]?.arrayValue {
      inputs["tools"] = .array(
        tools.map { tool in
          guard var object = tool.objectValue else { return tool }
          for key in Self.toolKeysElsewhere { object[key] = nil }
          return .object(object)
        })
    }
    return inputs
  }

  /// ``inputs`` as they may stand in a log; empty where they are too large for one.
  public func recordedInputs(withheldBy redactor: Redactor?) -> JSONObject {
    let inputs = JSONValue.object(inputs)
    let redacted = redactor?.redacted(inputs) ?? inputs
    guard !redacted.isLarger(thanBytes: Self.inputsLimitBytes) else { return [:] }
    return redacted.objectValue ?? [:]
  }
}
