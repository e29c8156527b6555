public import AgentTrace

/// How the requests and replies of a provider are written.
public enum Dialect: String, Sendable, Hashable, CaseIterable {
  /// OpenAI's Chat Completions, which most servers speak.
  case openai
  /// Anthropic's Messages.
  case anthropic
  /// OpenAI's Responses.
  case openaiResponses = "openai-responses"
  /// Google's generateContent, of Gemini and Vertex AI.
  case gemini
  /// Ollama's own chat.
  case ollama
  /// Converse of Amazon Bedrock.
  case bedrock
}

/// What a provider is asked for beside the conversation. What is `nil` is not asked for: many models
/// refuse what they do not know.
public struct GenerationSettings: Sendable, Hashable {
  /// Which tools a reply may, or must, call.
  public enum ToolChoice: Sendable, Hashable {
    /// As the model sees fit.
    case auto
    /// None.
    case none
    /// At least one.
    case required
    /// This one.
    case tool(String)
  }

  /// What the model may think, and how much of it is told.
  public struct Reasoning: Sendable, Hashable {
    /// How hard, in the provider's word.
    public var effort: String?
    /// Tokens at most; only for dialects that take a number.
    public var budgetTokens: Int?
    /// How what it thought is summed up, in the provider's word.
    public var summary: String?

    /// Without arguments it thinks as the provider sees fit.
    public init(effort: String? = nil, budgetTokens: Int? = nil, summary: String? = nil) {
      self.effort = effort
      self.budgetTokens = budgetTokens
      self.summary = summary
    }
  }

  /// Tokens of a reply at most.
  public var maxOutputTokens: Int?
  /// See the provider's documentation.
  public var temperature: Double?
  /// See the provider's documentation.
  public var topP: Double?
  /// A seed for what is drawn by chance; no promise of the same reply.
  public var seed: Int?
  /// Texts that end a reply.
  public var stop: [String]
  /// Which tools a reply may call.
  public var toolChoice: ToolChoice?
  /// Whether a reply may hold several calls.
  public var parallelToolCalls: Bool?
  /// What the model may think; `nil` leaves that to the provider.
  public var reasoning: Reasoning?
  /// How calls are read that the model writes into its text; `nil` where such a text is one.
  public var textToolCalls: TextToolCalls?
  /// Keys of the request as they are, in place of any that are made here.
  public var options: JSONObject

  /// A way in which small models write calls into their text, where their server does not read them.
  public enum TextToolCalls: String, Sendable, Hashable, CaseIterable {
    /// `<tool_call>{"name":…,"arguments":{…}}</tool_call>`.
    case hermes
  }

  /// Without arguments nothing is asked for.
  public init(
    maxOutputTokens: Int? = nil, temperature: Double? = nil, topP: Double? = nil, seed: Int? = nil,
    stop: [String] = [], toolChoice: ToolChoice? = nil, parallelToolCalls: Bool? = nil,
    reasoning: Reasoning? = nil, options: JSONObject = [:]
  ) {
    self.maxOutputTokens = maxOutputTokens
    self.temperature = temperature
    self.topP = topP
    self.seed = seed
    self.stop = stop
    self.toolChoice = toolChoice
    self.parallelToolCalls = parallelToolCalls
    self.reasoning = reasoning
    self.options = options
  }
}
