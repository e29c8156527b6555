import AgentRuntime
import AgentTrace

/// The keys `decisions` and `evidence` of an agent file.
enum DecisionsFile {
  static let shape = Shape<EnabledDecisions>.record(
    EnabledDecisions(),
    [
      Field(
        "askHuman", .flag, \.asksHuman, "Whether it may ask a person; false where it is left out."),
      Field(
        "stop", .list(of: stopReason, atLeast: 1), \.stops,
        "The reasons for which it may stop without an answer: success, blocked."),
      Field(
        "cite", .flag, \.cites,
        "Whether it is shown the ids of results, and may give an answer with those that it rests on; false."
      ),
    ])

  private static let stopReason = Shape<String>.word([
    StopReason.success.rawValue, StopReason.blocked.rawValue,
  ]).map { word, _ in StopReason(rawValue: word) }

  private struct EvidenceDraft: Sendable {
    var isRequired = false
  }

  static let evidence = Shape<EvidenceDraft>.record(
    EvidenceDraft(),
    [
      Field(
        "required", .flag, \.isRequired,
        "Whether an answer that cites no result that was shown is no valid decision; false.")
    ]
  ).map { draft, _ -> Bool? in draft.isRequired }
}

extension FieldReader {
  /// Gives an agent the tools with which its model decides, and asks its model for answers of its schema.
  ///
  /// Not where the model has a tool to answer with, whose schema says it; nor of Gemini beside tools, which older
  /// models of its refuse (https://ai.google.dev/gemini-api/docs/structured-output).
  func addDecisions(to agent: inout AgentDefinition) {
    let own = agent.tools.map(\.definition.name)
    for tool in agent.enabledDecisions.tools(answerSchema: agent.answers.schema) {
      if own.contains(where: { $0.hasSameUTF8(as: tool.name) }) {
        report(
          "a tool of the agent is called “\(tool.name)” as well", hint: "give it another name",
          deeper: [.key("decisions")])
      } else {
        agent.tools.append(tool.registration)
      }
    }
    if agent.answers.needsEvidence, !agent.enabledDecisions.cites,
      case .provider = agent.model.implementation
    {
      report(
        "nothing lets the model cite: it is told no ids of results",
        hint: "add “decisions: {cite: true}”", as: .warning, deeper: [.key("evidence")])
    }
    guard let schema = agent.answers.schema, !agent.enabledDecisions.cites,
      case .provider(var provider) = agent.model.implementation,
      provider.dialect != .gemini || agent.tools.isEmpty && agent.sources.isEmpty
    else { return }
    provider.replySchema = schema
    agent.model.implementation = .provider(provider)
  }
}
