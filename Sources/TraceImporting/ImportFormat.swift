import AgentTrace

/// A kind of foreign trace that can be turned into run logs. Raw values are what a user types.
///
/// A new importer is a new case here, its entry in `adapter`, and one file in `Formats/`.
public enum ImportFormat: String, Sendable, Hashable, CaseIterable {
  /// Message lists as chat-completion interfaces exchange them, and arrays of τ-bench results, whose
  /// trajectories are such lists.
  case openAIMessages = "openai-messages"
  /// Result files of τ²-bench.
  case tau2
  /// Recorded runs of AgentDojo.
  case agentDojo = "agentdojo"
  /// Traces in OTLP, whatever convention their attributes follow.
  case otlp
  /// Traces as Jaeger has them.
  case jaeger
  /// Spans as Phoenix stores them.
  case phoenix
  /// Traces as Langfuse exports them.
  case langfuse
  /// LangSmith's runs.
  case langSmith = "langsmith"
  /// MLflow's traces.
  case mlflow
  /// What the OpenAI Agents SDK exports of itself.
  case openAIAgents = "openai-agents"
  /// Rows of Braintrust's logs and experiments.
  case braintrust
  /// Traces that Opik exports.
  case opik
  /// Calls of W&B Weave.
  case weave
  /// Spans of Datadog's LLM Observability.
  case datadog
  /// Requests that Helicone logged.
  case helicone
  /// PostHog's events of models.
  case posthog
  /// Requests of batches, and what came of them.
  case batch
  /// What Cursor's CLI prints.
  case cursor
  /// Conversations as Claude.ai exports them.
  case claudeAi = "claude-ai"
  /// Conversations as LibreChat exports them.
  case libreChat = "librechat"
  /// Chats as Open WebUI exports them.
  case openWebUI = "open-webui"
  /// Logs of Inspect.
  case inspect
  /// Event streams of NeMo Relay.
  case atof
  /// Lists of messages of other interfaces and of frameworks.
  case messages
  /// Trajectories in the Agent Trajectory Interchange Format.
  case atif
  /// Sessions of Google's Agent Development Kit.
  case adk = "adk-session"
  /// Sessions of Anthropic's managed agents.
  case managedAgents = "managed-agents"
  /// The memory of smolagents' agents.
  case smolagents
  /// Prompts as Google's AI Studio keeps them.
  case aiStudio = "ai-studio"
  /// Sessions of Claude Code.
  case claudeCode = "claude-code"
  /// Rollouts of Codex, and what it prints.
  case codex
  /// Sessions of the Gemini CLI.
  case geminiCli = "gemini-cli"
  /// Trajectories of SWE-agent and mini-SWE-agent.
  case sweAgent = "swe-agent"
  /// Events of OpenHands.
  case openHands = "openhands"
  /// Sessions of the Copilot CLI.
  case copilot = "copilot-cli"
  /// Sessions of VS Code's chat.
  case vscodeChat = "vscode-chat"
  /// What Droid prints.
  case droid
  /// Sessions of Grok's CLI.
  case grok
  /// Sessions of Kimi Code.
  case kimi
  /// Sessions of opencode.
  case openCode = "opencode"
  /// Conversations as ChatGPT exports them.
  case chatgpt
  /// Tasks of Cline and those that come from it, whose models call by tags.
  case cline
  /// Sessions of pi.
  case pi

  /// What reads this format.
  var adapter: any FormatAdapter.Type {
    switch self {
    case .openAIMessages: OpenAIMessages.self
    case .tau2: Tau2.self
    case .agentDojo: AgentDojo.self
    case .otlp: Otlp.self
    case .jaeger: Jaeger.self
    case .phoenix: Phoenix.self
    case .langfuse: LangfuseExport.self
    case .langSmith: LangSmith.self
    case .mlflow: MLflow.self
    case .openAIAgents: OpenAIAgents.self
    case .braintrust: Braintrust.self
    case .opik: Opik.self
    case .weave: Weave.self
    case .datadog: DatadogSpans.self
    case .helicone: Helicone.self
    case .posthog: PostHog.self
    case .batch: Batches.self
    case .cursor: CursorStream.self
    case .claudeAi: ClaudeAi.self
    case .libreChat: LibreChat.self
    case .openWebUI: OpenWebUI.self
    case .inspect: Inspect.self
    case .atof: Atof.self
    case .messages: MessageLists.self
    case .atif: Atif.self
    case .adk: AdkSessions.self
    case .managedAgents: ManagedAgents.self
    case .smolagents: SmolagentsMemory.self
    case .aiStudio: AIStudio.self
    case .claudeCode: ClaudeCode.self
    case .codex: Codex.self
    case .geminiCli: GeminiCli.self
    case .sweAgent: SweAgent.self
    case .openHands: OpenHands.self
    case .copilot: CopilotCli.self
    case .vscodeChat: VSCodeChat.self
    case .droid: DroidStream.self
    case .grok: GrokCli.self
    case .kimi: KimiCode.self
    case .openCode: OpenCode.self
    case .chatgpt: ChatGPT.self
    case .cline: Cline.self
    case .pi: Pi.self
    }
  }

  /// What it is, and what it can tell: for people who ask what can be imported.
  public var summary: FormatSummary { adapter.summary }

  /// The order in which formats are tried when none was named: the most particular first.
  static let guessingOrder: [ImportFormat] = [
    .tau2, .agentDojo, .otlp, .inspect, .mlflow, .langSmith, .openAIAgents, .braintrust, .opik,
    .weave, .datadog, .helicone, .posthog, .batch, .langfuse, .jaeger,
    .cursor, .claudeAi, .libreChat, .openWebUI, .managedAgents, .smolagents, .aiStudio, .copilot,
    .vscodeChat, .droid, .grok, .kimi, .openCode, .chatgpt, .cline,
    .phoenix, .atof, .atif, .adk, .sweAgent, .geminiCli, .claudeCode, .codex, .pi, .openHands,
    .messages, .openAIMessages,
  ]

  /// The format of a file, told by what stands in it as ``Importer`` tells it; `nil` where it is none that is known,
  /// or cannot be read. Cost: reads the file.
  public static func guess(path: String) -> ImportFormat? {
    var digest = DigestBuilder()
    guard let files = try? SourceFiles.find(path),
      let group = SourceGroup.groups(of: files, below: path).first,
      let document = try? group.document(takingIn: &digest).fitting(nil)
    else { return nil }
    return guess(document)
  }

  /// The first format whose shape a file has; `nil` where it is none that is known.
  static func guess(_ document: SourceDocument) -> ImportFormat? {
    let format = guessingOrder.first { $0.adapter.recognizes(document) }
    return document.holdsCases(for: format) || document.holdsSamples(for: format) ? nil : format
  }
}

/// How people are told of a format.
public struct FormatSummary: Sendable, Hashable {
  /// What it is.
  public var reads: String
  /// What of a run it holds, and what it lacks.
  public var tells: String

  /// Both are sentences.
  public init(reads: String, tells: String) {
    self.reads = reads
    self.tells = tells
  }
}

/// Reads one foreign format: a parsed file into its runs. Knows nothing of events or logs.
protocol FormatAdapter {
  /// What it is, and what it can tell.
  static var summary: FormatSummary { get }

  /// Whether a file has the shape of this format, judged by a few keys.
  static func recognizes(_ document: SourceDocument) -> Bool

  /// The runs of a file, in its order. What is wrong with one run is said in its place, so that the
  /// others go on; what is wrong with the whole file is thrown.
  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun]
}

extension FormatAdapter {
  /// Sees that a file has the shape of this format.
  ///
  /// - Throws: ``ImportError`` where it has not.
  static func check(
    _ document: SourceDocument, expecting expected: String
  ) throws(ImportError) {
    guard recognizes(document) else {
      throw ImportError(.wrongShape(expected: expected), at: JSONPointer())
    }
  }
}
