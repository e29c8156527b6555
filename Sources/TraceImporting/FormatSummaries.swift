extension ImportFormat {
  /// What a format is, and what it can tell: for people who ask what can be imported.
  public var summary: (reads: String, tells: String) {
    switch self {
    case .openAIMessages:
      (
        "message lists of the chat-completion interface, and results of tau-bench",
        "calls, arguments and results whole; no usage, no end but the last text"
      )
    case .tau2:
      ("result files of tau2-bench", "all, the simulated user's calls too; how runs ended")
    case .agentDojo: ("recorded runs of AgentDojo", "calls, results, errors; how runs ended")
    case .otlp:
      (
        "OTLP: bodies in protocol buffers, JSON, lines of a collector, Tempo's exports; gen_ai (every "
          + "generation), OpenInference, Traceloop, Langfuse, LangSmith, AI SDK and MLflow attributes",
        "calls, results, errors, usage, sub-agents, as far as content was captured; ends where the root ended"
      )
    case .jaeger: ("Jaeger's JSON", "as otlp")
    case .phoenix: ("spans as Phoenix stores them", "as otlp")
    case .langfuse: ("Langfuse's exports and answers of its interface", "as otlp")
    case .langSmith:
      ("LangSmith's runs, and the bodies that its clients send", "as otlp")
    case .mlflow: ("MLflow's traces", "as otlp")
    case .openAIAgents:
      (
        "the OpenAI Agents SDK's own export",
        "tools and usage; texts and call ids with the chat interface alone"
      )
    case .inspect:
      (
        "Inspect's logs, .eval and .json, a run for each sample",
        "calls, results, errors, usage; how samples ended"
      )
    case .atof: ("event streams of NeMo Relay", "as otlp")
    case .messages:
      (
        "message lists and replies of Anthropic, Responses, Gemini, Bedrock, LangChain, pydantic-ai, AutoGen, "
          + "AI SDK",
        "calls, arguments and results; what a tool that is an agent did inside is told nowhere"
      )
    case .atif:
      (
        "Agent Trajectory Interchange Format 1.0 to 1.8, with continuations",
        "calls, results and usage; no errors, and no end but in our own exports"
      )
    case .adk: ("sessions of Google's ADK", "calls, results, errors, usage; an end by form")
    case .claudeCode:
      (
        "sessions of Claude Code, with sub-agents",
        "calls, results, errors, refusals, usage; no end"
      )
    case .codex:
      (
        "rollouts of Codex, three generations",
        "calls, results, usage; ends of newer ones; no errors"
      )
    case .geminiCli:
      ("sessions of the Gemini CLI", "calls, results, errors, refusals, usage; no end")
    case .sweAgent:
      ("trajectories of SWE-agent and mini-SWE-agent", "actions, observations; how runs ended")
    case .openHands: ("events of OpenHands", "calls, results, errors; no end")
    case .pi: ("sessions of pi", "calls, results, errors, usage; no end")
    }
  }
}
