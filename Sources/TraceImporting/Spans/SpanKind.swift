import AgentTrace

/// What a span is, in the words of whichever convention it was written by.
enum SpanKind: Hashable {
  /// One call of a model.
  case model
  /// One execution of a tool.
  case tool
  /// An agent, or what runs one.
  case agent
  /// A step of a program: a chain, a workflow, a task.
  case step
  /// Control that goes from one agent to another.
  case handoff
  /// Something that is known to be none of these: embeddings, retrieval, guardrails, prompts.
  case other
  /// No convention that is known says anything.
  case unknown
}

extension TraceSpan {
  /// What it is. Where several conventions speak, the one for models' spans counts before the others.
  var kind: SpanKind {
    // A hand-over that is written as a tool without a name.
    if name.hasPrefix("handoff to "), text("tool.name") == nil { return .handoff }
    if let word = text("openinference.span.kind") {
      return Self.openInference[word.uppercased()] ?? .unknown
    }
    if let word = text("langfuse.observation.type") {
      return Self.observations[word.lowercased()] ?? .unknown
    }
    if let word = text("langsmith.span.kind") {
      return Self.runTypes[word.lowercased()] ?? .unknown
    }
    if let word = text("mlflow.spanType") { return Self.mlflow[word.uppercased()] ?? .step }
    if let kind = aiSDKKind { return kind }
    if let word = text("gen_ai.operation.name"), let kind = Self.operations[word] {
      // One span more for the results of parallel calls together.
      if kind == .tool, name.hasSuffix("(merged)") { return .other }
      return kind
    }
    if let word = text("traceloop.span.kind") {
      return Self.traceloop[word.lowercased()] ?? .unknown
    }
    if let kind = olderKind { return kind }
    return .unknown
  }

  private static let openInference: [String: SpanKind] = [
    "LLM": .model, "TOOL": .tool, "AGENT": .agent, "CHAIN": .step, "EMBEDDING": .other,
    "RETRIEVER": .other, "RERANKER": .other, "GUARDRAIL": .other, "EVALUATOR": .other,
    "PROMPT": .other, "DECISION": .other, "UNKNOWN": .step,
  ]
  private static let observations: [String: SpanKind] = [
    "generation": .model, "tool": .tool, "agent": .agent, "chain": .step, "span": .step,
    "event": .other, "retriever": .other, "embedding": .other, "evaluator": .other,
    "guardrail": .other,
  ]
  private static let runTypes: [String: SpanKind] = [
    "llm": .model, "tool": .tool, "chain": .step, "retriever": .other, "embedding": .other,
    "prompt": .other, "parser": .other,
  ]
  private static let mlflow: [String: SpanKind] = [
    "LLM": .model, "CHAT_MODEL": .model, "TOOL": .tool, "AGENT": .agent, "CHAIN": .step,
    "WORKFLOW": .step, "TASK": .step, "RETRIEVER": .other, "EMBEDDING": .other, "RERANKER": .other,
    "PARSER": .other, "MEMORY": .other, "GUARDRAIL": .other, "EVALUATOR": .other,
  ]
  private static let operations: [String: SpanKind] = [
    "chat": .model, "generate_content": .model, "text_completion": .model, "completion": .model,
    "message": .model, "responses": .model, "execute_tool": .tool, "invoke_agent": .agent,
    "invoke_workflow": .step, "create_agent": .other, "embeddings": .other, "plan": .step,
    "retrieval": .other, "handoff": .handoff, "agent_handoff": .handoff, "chain": .step,
    "unknown": .step, "fetch_response": .other, "guardrail_check": .other,
    "execute_event_loop_cycle": .step, "search_memory": .other, "create_memory": .other,
  ]
  private static let traceloop: [String: SpanKind] = [
    "workflow": .step, "agent": .agent, "task": .step, "tool": .tool, "handoff": .handoff,
    "llm": .model, "unknown": .step,
  ]

  /// The AI SDK: a span for the loop, one for each call of a model in it, one for each tool.
  private var aiSDKKind: SpanKind? {
    let operation = text("ai.operationId") ?? name
    guard operation.hasPrefix("ai.") else { return nil }
    if operation == "ai.toolCall" { return .tool }
    if operation.hasSuffix(".doGenerate") || operation.hasSuffix(".doStream") { return .model }
    return operation.contains("embed") ? .other : .agent
  }

  /// Spans of before there were words for them.
  private var olderKind: SpanKind? {
    if self["gcp.vertex.agent.tool_call_args"] != nil { return .tool }
    if self["gcp.vertex.agent.llm_request"] != nil { return .model }
    if text("llm.request.type") == "chat" || text("llm.request.type") == "completion" {
      return .model
    }
    if name == "agent run" || first(["all_messages_events", "pydantic_ai.all_messages"]) != nil {
      return .agent
    }
    if self["gen_ai.tool.name"] != nil || self["tool_arguments"] != nil { return .tool }
    if self["gen_ai.prompt.0.role"] != nil || self["gen_ai.completion.0.role"] != nil
      || self["gen_ai.completion.0.content"] != nil
    {
      return .model
    }
    if first(["gen_ai.system", "gen_ai.provider.name"]) != nil,
      first(["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.response.id"])
        != nil
    {
      return .model
    }
    return nil
  }

  /// The agent that it runs, or belongs to.
  var agentName: String? {
    text("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id", "langfuse.trace.name")
  }
}
