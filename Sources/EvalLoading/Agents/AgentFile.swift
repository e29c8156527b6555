import AgentRuntime
import AgentTrace

/// The keys of an agent file. Docs/agent-files.md explains each.
enum AgentFile {
  static let fields: [Field<AgentDefinition>] = [
    .schemaOfFile,
    Field("name", .name, \.name, required: true, "The agent's name, as logs and folders bear it."),
    Field("version", .name, \.version, "The agent's version; text, so put quotes around a number."),
    Field(
      "system", PromptFile.system, required: false,
      "What the model is told before anything else: a text, or parts in order."
    ) { PromptFile.place($1, in: &$0) },
    Field(
      "examples", PromptFile.examples, \.examples, "Turns that show the model how it is done."),
    Field(
      "plan", ThoughtFile.plan, \.plan,
      "What the model is asked before its first decision; its words stand in the prompts."),
    Field(
      "reflect", ThoughtFile.reflect, \.reflect,
      "What the model is asked once results are there, before its next decision."),
    Field(
      "goal", PromptFile.early, required: false,
      "What the agent is to do where a run does not say."
    ) { $0.goal = $1.written },
    Field("model", ModelFile.shape, \.model, required: true, "Which model decides."),
    Field("tools", ToolFile.list, \.tools, "The tools that the model may call."),
    Field(
      "mcpServers", ServerFile.servers, \.sources,
      "Servers that have further tools, by their names; each run asks them which."),
    Field(
      "policy", PolicyFile.inlineOrPath, \.policy,
      "The rules about which calls may run: a mapping with rules, or the path of a policy file."),
    Field(
      "guard", GuardFile.shape, \.runGuard,
      "What no run may break while it goes on, as in the expected of a case."),
    Field(
      "redaction", RedactionFile.shape, \.redaction,
      "What is withheld from a run's events; credentials where it is left out."),
    Field("policyContext", policyContext, \.policyContext, "Who the agent runs for."),
    Field("limits", limits, \.limits, "What a run may use at most."),
    Field("context", context, \.context, "How much of what was seen is put before the model."),
    Field("failures", failures, \.failures, "How much failure a run takes before it stops."),
    Field(
      "parallelCalls", .count(1...64), \.parallelCalls,
      "How many calls of one decision run side by side at most; 4 where it is left out."),
    Field(
      "decisions", DecisionsFile.shape, \.enabledDecisions,
      "The decisions that the model may make by calling them like tools."),
    Field(
      "answerSchema", .jsonSchema, \.answers.schema,
      "What each answer is, as JSON; any text where it is left out."),
    Field(
      "evidence", DecisionsFile.evidence, \.answers.needsEvidence,
      "Whether an answer has to cite a result that the model was shown."),
    Field("memory", .list(of: note), \.memory, "Notes that are read when a run starts."),
    Field("human", HumanFile.shape, \.human, "A person written down: what they answer."),
  ]

  /// What the keys are read into; each required key replaces its stand-in.
  static var start: AgentDefinition {
    AgentDefinition(name: "", model: ModelFile.start)
  }

  static let policyContext = Shape<PolicyContext>.record(
    PolicyContext(),
    [
      Field("actorId", .text, \.actorId, "The principal on whose behalf the agent runs."),
      Field("tenantId", .text, \.tenantId, "The tenant of that principal."),
      Field("route", .text, \.route, "The route that led to the agent."),
      Field("attributes", .mapping, \.attributes, "Anything else that is to stand in the log."),
    ])

  private static let limits = Shape<Limits>.record(Limits(maxSteps: 50), limitFields)

  /// Limits that are said beside an agent file: none where one is left out.
  static let givenLimits = Shape<Limits>.record(Limits(), limitFields)

  private static let limitFields: [Field<Limits>] =
    [
      Field("maxSteps", .count, \.maxSteps, "Decisions at most; 50 where it is left out."),
      Field("maxToolCalls", .count, \.maxToolCalls, "Executed calls at most."),
      Field("maxTokens", .count, \.maxTokens, "Input and output tokens together, at most."),
      Field("maxCost", .amount, \.maxCost, "Money at most, in the currency of the model's prices."),
      Field("timeoutSeconds", .amount, \.timeoutSeconds, "Seconds of active run time at most."),
      Field(
        "maxDepth", .count, \.maxDepth,
        "How many levels of agents may be called below a run; 4 where it is left out."),
    ]

  private static let context = Shape<ContextSettings>.record(
    ContextSettings(),
    [
      Field(
        "tokenBudget", .count, \.tokenBudget,
        "Estimated tokens of a prompt at most; the oldest turns are left out beyond it."),
      Field(
        "observationLimit", .count, \.observationLimit,
        "How many observations a context packet lists at most."),
      Field(
        "strategy", .word, \.strategy,
        "What gives way beyond the budget: truncate_oldest, drop_tool_output or summarize."),
      Field(
        "tokenEstimate", tokenEstimate, \.tokenEstimate,
        "How tokens are counted: a family of models, or bytes per token."),
    ])

  /// A family, or a number of bytes.
  private static let tokenEstimate = Shape<TokenEstimate>([
    "anyOf": [
      ["enum": .array(TokenEstimate.Family.allCases.map { .string($0.rawValue) })],
      ["type": "number", "minimum": 1, "maximum": 100],
    ]
  ]) { value, reader in
    if case .string = value {
      return Shape<TokenEstimate.Family>.word.read(value, reader).map { TokenEstimate($0) }
    }
    if let bytes = value.doubleValue, (1...100).contains(bytes) {
      return TokenEstimate(bytesPerToken: bytes)
    }
    return reader.refuseKind(
      of: value, expected: "a family of models, or bytes per token from 1 to 100")
  }

  private static let failures = Shape<FailureSettings>.record(
    FailureSettings(),
    [
      Field(
        "invalidDecisionRetries", .count, \.invalidDecisionRetries,
        "How often a model is asked again after an invalid decision; 2 where it is left out."),
      Field(
        "modelRetries", .count, \.modelRetries,
        "How often a model that is out of reach is asked again; 2 where it is left out."),
      Field(
        "maxDenials", .count(1...1_000_000), \.maxDenials,
        "The denied call that ends the run; 3 where it is left out."),
      Field(
        "maxToolErrors", .count(1...1_000_000), \.maxToolErrors,
        "The error in a row that ends the run; 3 where it is left out."),
    ])

  static let note = Shape<MemoryNote>.record(
    MemoryNote(scope: "run", key: "", value: nil),
    [
      Field(
        "scope", .word(["run", "agent", "actor", "tenant"]), \.scope, required: true,
        "Whose note it is: the run's, the agent's, the actor's or the tenant's."),
      Field("key", .name, \.key, required: true, "What the note is found by."),
      Field("value", .any, \.value, required: true, "The note itself; any value."),
    ])
}
