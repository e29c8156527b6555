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
    for convention in Self.conventions {
      guard let word = text(convention.key) else { continue }
      let kind = convention.kind(word) ?? convention.otherwise
      // Instructor has no tools: what is told as some are steps of its own.
      if kind == .tool, scope == Self.instructor { return .step }
      return kind == .model && isRequestAlone ? .step : kind
    }
    if let kind = aiSDKKind { return kind }
    if let word = text("gen_ai.operation.name"), let kind = Self.operations[word] {
      // One span more for the results of parallel calls together.
      if kind == .tool, name.hasSuffix("(merged)") { return .other }
      return kind
    }
    if let word = text(Self.traceloop.key) {
      let kind = Self.traceloop.kind(word) ?? Self.traceloop.otherwise
      return kind == .step && isStepOfCall ? .tool : kind
    }
    if let kind = olderKind { return kind }
    return .unknown
  }

  private static let instructor = "openinference.instrumentation.instructor"

  /// Whether it made a request of a model, as LlamaIndex's steps do that are told as calls: it gave back what is to be sent,
  /// and no reply.
  private var isRequestAlone: Bool {
    let hasReply = attributes.contains {
      $0.key.hasPrefix("llm.output_messages") || $0.key.hasPrefix("llm.token_count")
    }
    guard !hasReply else { return false }
    // What it gave back may be cut; its name says the same.
    if name.hasSuffix("._prepare_chat_with_tools") { return true }
    guard let text = text("output.value"), text.hasPrefix("{"), text.contains("\"tool_choice\""),
      let told = JSONText.parse(text)
    else { return false }
    return told["messages"]?.arrayValue != nil && told["tools"]?.arrayValue != nil
      && told["choices"] == nil && told["output"] == nil
  }

  /// Whether it is a step that does nothing but run a tool, as Traceloop tells of LlamaIndex's: it says with what it ran
  /// which one. A step that describes the tool besides may have run several, and names the last.
  private var isStepOfCall: Bool {
    text("tool.name") != nil && attributes["tool.arguments"] != nil
      && self["tool.description"] == nil
  }

  /// Whether a convention says what it is in a word that is not known, or its name or an attribute that it is a tool where
  /// no convention says anything.
  var hasUnknownKind: Bool {
    for convention in Self.allConventions {
      if let word = text(convention.key) { return convention.kind(word) == nil }
    }
    guard kind == .unknown else { return false }
    if let word = text("gen_ai.operation.name"), Self.operations[word] == nil { return true }
    return name.hasPrefix("execute_tool") || name.hasPrefix("tools/call")
      || text("mcp.method.name") == "tools/call"
      || Self.wordsOfCalls.contains { self[$0] != nil }
      || events.contains { $0.name == "gen_ai.tool.message" }
  }

  /// Attributes that a tool's span has, or a model's, whatever its convention calls it.
  private static let wordsOfCalls = [
    "tool_name", "toolName", "tool.name", "tool.id", "ai.toolCall.name", "mcp.tool.name",
    "function_name", "function.name", "gen_ai.tool.call.id", "gen_ai.tool.call.name",
    "gen_ai.tool.type", "gen_ai.request.model", "gen_ai.response.model",
    "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
  ]

  /// A convention that says in one attribute what a span is.
  private struct Convention {
    var key: String
    var kinds: [String: SpanKind]
    /// What a span is of another word.
    var otherwise = SpanKind.unknown

    /// What a word says, in capitals or not and with the marks of a JSON text or not; `nil` for one that is not known.
    func kind(_ word: String) -> SpanKind? { kinds[word.lowercased().filter { $0 != "\"" }] }
  }

  /// Those that count before all others, in their order.
  private static let conventions = [
    Convention(
      key: "openinference.span.kind",
      kinds: [
        "llm": .model, "tool": .tool, "agent": .agent, "chain": .step, "embedding": .other,
        "retriever": .other, "reranker": .other, "guardrail": .other, "evaluator": .other,
        "prompt": .other, "decision": .other, "unknown": .step,
      ]),
    Convention(
      key: "langfuse.observation.type",
      kinds: [
        "generation": .model, "tool": .tool, "agent": .agent, "chain": .step, "span": .step,
        "event": .other, "retriever": .other, "embedding": .other, "evaluator": .other,
        "guardrail": .other,
      ]),
    Convention(
      key: "langsmith.span.kind",
      kinds: [
        "llm": .model, "tool": .tool, "chain": .step, "retriever": .other, "embedding": .other,
        "prompt": .other, "parser": .other,
      ]),
    Convention(
      key: "mlflow.spanType",
      kinds: [
        "llm": .model, "chat_model": .model, "tool": .tool, "agent": .agent, "chain": .step,
        "workflow": .step, "task": .step, "retriever": .other, "embedding": .other,
        "reranker": .other,
        "parser": .other, "memory": .other, "guardrail": .other, "evaluator": .other,
      ], otherwise: .step),
  ]
  private static let operations: [String: SpanKind] = [
    "chat": .model, "generate_content": .model, "text_completion": .model, "completion": .model,
    "message": .model, "responses": .model, "execute_tool": .tool, "invoke_agent": .agent,
    "invoke_workflow": .step, "create_agent": .other, "embeddings": .other, "plan": .step,
    "retrieval": .other, "handoff": .handoff, "agent_handoff": .handoff, "chain": .step,
    "unknown": .step, "fetch_response": .other, "guardrail_check": .other,
    "execute_event_loop_cycle": .step, "execute_task": .step, "await_human_input": .other,
    "search_memory": .other, "create_memory": .other,
    "invoke_swarm": .step, "invoke_graph": .step, "rerank": .other, "query": .other,
    // The Gemini CLI's.
    "llm_call": .model, "tool_call": .tool, "agent_call": .agent, "user_prompt": .step,
    "system_prompt": .step, "schedule_tool_calls": .step,
  ]
  private static let traceloop = Convention(
    key: "traceloop.span.kind",
    kinds: [
      "workflow": .step, "agent": .agent, "task": .step, "tool": .tool, "handoff": .handoff,
      "llm": .model, "unknown": .step,
    ])

  private static let allConventions = conventions + [traceloop]

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
    if let kind = agentsDataKind ?? liveKitKind ?? haystackKind { return kind }
    // AG2 tells beside a call of a model once more what it took, and in the same way what calls took that nothing tells of.
    if text("ag2.span.type") == "usage" {
      return text("ag2.usage.kind") == "model_call" ? .other : .unknown
    }
    // Microsoft's loop around the calls of a model and of its tools, with the sum of what they took.
    if name == "orchestrate_tools" { return .step }
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
    // One that failed before it said anything is called as the convention has it.
    if name.hasPrefix("execute_tool "), attributes.isEmpty, droppedAttributes == 0 { return .tool }
    return nil
  }

  /// What it is where it has the members of the OpenAI Agents SDK's own data of a span as attributes, as Logfire writes
  /// them.
  var agentsDataKind: SpanKind? {
    func has(_ keys: String...) -> Bool { keys.allSatisfy { attributes[$0] != nil } }
    if has("from_agent", "to_agent") { return .handoff }
    if has("name", "input", "mcp_data") { return .tool }
    if has("name", "handoffs", "output_type") { return .agent }
    if has("name", "triggered") { return .other }
    return has("sdk_span_type") ? .step : nil
  }

  /// LiveKit's: each node of an agent says beside its model what it was given.
  private var liveKitKind: SpanKind? {
    if self["lk.function_tool.name"] != nil { return .tool }
    if first(["lk.pii.chat_ctx", "lk.chat_ctx"]) != nil { return .step }
    return first(["lk.tts.label", "lk.pii.input_text", "lk.input_text"]) == nil ? nil : .other
  }

  /// Haystack's, by its own tracing: an agent, its steps, in each a call of a model and executions; components of a
  /// pipeline, of which those that generate call a model. Its own loop tells no call of a tool that a person refused.
  private var haystackKind: SpanKind? {
    guard name.hasPrefix("haystack.") else { return nil }
    switch name {
    case "haystack.agent.run": return .agent
    case "haystack.agent.step.llm": return .model
    case "haystack.agent.step.tool": return .tool
    case "haystack.component.run":
      let type = text("haystack.component.type") ?? ""
      if type.hasSuffix("Generator") { return .model }
      return type.hasSuffix("Agent") || type.hasSuffix("ToolInvoker") ? .step : .other
    default: return self["haystack.tool.name"] == nil ? .step : .tool
    }
  }

  /// Whether it is a guardrail of the OpenAI Agents SDK that stopped its run.
  var isTripped: Bool { kind == .other && self["triggered"]?.boolValue == true }

  /// The agent that it runs, or belongs to.
  var agentName: String? {
    text(
      "gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id", "langfuse.trace.name",
      "lk.agent_name")
      ?? (agentsDataKind == .agent ? text("name") : nil)
  }
}
