public import AgentTrace

/// A model that a provider serves over HTTP. Data alone: no key is in it, only where one is found.
public struct ProviderModel: Sendable, Hashable {
  /// A header that every request has.
  public struct Header: Sendable, Hashable {
    /// Where its value comes from.
    public enum Value: Sendable, Hashable {
      /// As it stands in the agent file.
      case text(String)
      /// From this variable of the environment.
      case variable(String)
    }

    /// What it is called.
    public var name: String
    /// What it says.
    public var value: Value

    /// A request is not made where a variable that a header needs is empty or not set.
    public init(name: String, value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// Money for a million tokens, in one currency; `nil` where it is unknown.
  public struct Prices: Sendable, Hashable {
    /// Tokens that go in.
    public var input: Double?
    /// Of those, the ones read from a cache.
    public var cachedInput: Double?
    /// Of those, the ones written to a cache.
    public var cacheWrite: Double?
    /// Tokens that come out.
    public var output: Double?

    /// What is left out is unknown, and so is the cost of a reply that has such tokens.
    public init(
      input: Double? = nil, cachedInput: Double? = nil, cacheWrite: Double? = nil,
      output: Double? = nil
    ) {
      self.input = input
      self.cachedInput = cachedInput
      self.cacheWrite = cacheWrite
      self.output = output
    }

    /// What a reply costs; `nil` where a count or a price that it needs is unknown. Tokens that the
    /// provider does not call cached were not.
    public func cost(
      input: Int?, cachedInput: Int?, cacheWrite: Int?, output: Int?
    ) -> Double? {
      guard let input, let output else { return nil }
      let (read, written) = (cachedInput ?? 0, cacheWrite ?? 0)
      let parts = [
        (max(0, input - read - written), self.input), (read, self.cachedInput),
        (written, self.cacheWrite), (output, self.output),
      ]
      var cost = 0.0
      for (count, price) in parts where count > 0 {
        guard let price else { return nil }
        cost += Double(count) * price / 1_000_000
      }
      return cost
    }
  }

  /// How long a request may take, in seconds.
  public struct Timeouts: Sendable, Hashable {
    /// Until a connection stands.
    public var connect: Double
    /// To the head of the reply.
    public var firstByte: Double
    /// Between two pieces of the reply.
    public var idle: Double
    /// To the end of the reply.
    public var total: Double

    /// Less than a millisecond counts as one. The defaults are those of an agent file that leaves the key out.
    public init(
      connect: Double = 5, firstByte: Double = 600, idle: Double = 120, total: Double = 600
    ) {
      self.connect = connect
      self.firstByte = firstByte
      self.idle = idle
      self.total = total
    }
  }

  /// How requests and replies are written.
  public var dialect: Dialect
  /// What the paths of the dialect are appended to.
  public var baseURL: String
  /// The variable of the environment that holds the key; `nil` for a server that asks for none.
  public var keyVariable: String?
  /// Headers besides those of the dialect.
  public var headers: [Header]
  /// Whether replies come as they are written.
  public var streams: Bool
  /// What is asked for beside the conversation.
  public var settings: GenerationSettings
  /// In how many of the first steps of a run ``GenerationSettings/toolChoice`` holds; `nil` for all.
  public var toolChoiceSteps: Int?
  /// The schema of JSON that replies are asked for, where they are decisions and the dialect has a way to say so;
  /// `nil` for replies of any form.
  public var replySchema: JSONValue?
  /// What tokens cost; `nil` where that is unknown.
  public var prices: Prices?
  /// When to give up.
  public var timeouts: Timeouts
  /// A file of authorities (PEM) whose certificates are trusted besides the usual ones; `nil` for none.
  public var authorityFile: String?
  /// Requests that all runs of this process may begin within a minute; `nil` for any number.
  public var requestsPerMinute: Int?
  /// Tokens that all runs of this process may use within a minute; `nil` for any number.
  public var tokensPerMinute: Int?

  /// The defaults are those of an agent file that leaves the key out. Fewer than one request or token a minute
  /// counts as one.
  ///
  /// - Parameters:
  ///   - dialect: how requests and replies are written.
  ///   - baseURL: the vendor's own, with the variable that its own clients take the key from, where it is
  ///     left out.
  ///   - keyVariable: the variable of the environment that holds the key; where it is left out, the one of
  ///     the vendor's own clients, or none where `baseURL` is given.
  ///   - headers: sent besides those of the dialect.
  ///   - streams: whether replies come as they are written.
  ///   - settings: what is asked for beside the conversation.
  ///   - toolChoiceSteps: in how many of the first steps of a run ``GenerationSettings/toolChoice`` holds;
  ///     `nil` for all.
  ///   - prices: what a million tokens cost; `nil` where that is unknown.
  ///   - timeouts: when to give up, in seconds.
  ///   - requestsPerMinute: how many requests all runs of this process may begin within a minute; `nil` for
  ///     any number.
  ///   - tokensPerMinute: how many tokens all runs of this process may use within a minute; `nil` for any
  ///     number.
  public init(
    dialect: Dialect, baseURL: String? = nil, keyVariable: String? = nil, headers: [Header] = [],
    streams: Bool = true, settings: GenerationSettings = GenerationSettings(),
    toolChoiceSteps: Int? = nil, prices: Prices? = nil, timeouts: Timeouts = Timeouts(),
    requestsPerMinute: Int? = nil, tokensPerMinute: Int? = nil
  ) {
    self.dialect = dialect
    self.baseURL = baseURL ?? dialect.vendorURL
    self.keyVariable = keyVariable ?? (baseURL == nil ? dialect.vendorKeyVariable : nil)
    self.headers = headers
    self.streams = streams
    self.settings = settings
    self.toolChoiceSteps = toolChoiceSteps
    self.prices = prices
    self.timeouts = timeouts
    self.requestsPerMinute = requestsPerMinute
    self.tokensPerMinute = tokensPerMinute
  }

  /// Every variable of the environment whose value goes into requests.
  public var variables: [String] {
    let ofHeaders = headers.compactMap { header -> String? in
      if case .variable(let name) = header.value { name } else { nil }
    }
    return (keyVariable.map { [$0] } ?? []) + ofHeaders
  }
}

extension Dialect {
  /// Where whoever made the dialect serves it.
  public var vendorURL: String {
    switch self {
    case .openai, .openaiResponses: "https://api.openai.com/v1"
    case .anthropic: "https://api.anthropic.com"
    case .gemini: "https://generativelanguage.googleapis.com"
    case .ollama: "http://127.0.0.1:11434"
    case .bedrock: "https://bedrock-runtime.us-east-1.amazonaws.com"
    }
  }

  /// The variable that their own clients take the key from; `nil` where none is needed.
  public var vendorKeyVariable: String? {
    switch self {
    case .openai, .openaiResponses: "OPENAI_API_KEY"
    case .anthropic: "ANTHROPIC_API_KEY"
    case .gemini: "GEMINI_API_KEY"
    case .ollama: nil
    case .bedrock: "AWS_BEARER_TOKEN_BEDROCK"
    }
  }
}
