public import AgentRuntime
public import AgentTrace

/// What a proxy lets through: no call that a policy denies, and nothing beyond the limits of a run.
public struct ProxyGuard: Sendable {
  /// Which calls may reach whoever asked; `nil` where all may, and then no reply is held.
  public var policy: Policy?
  /// Whom its rules ask.
  public var authorizers = Authorizers()
  /// On whose behalf the run acts.
  public var policyContext = PolicyContext()
  /// What the tools do that a policy decides about, by their names; of any other that is not known, and it
  /// counts as one that writes.
  public var tools: [String: ToolDefinition] = [:]
  /// What the run may use.
  public var limits = Limits()
  /// Whether a request beyond them ends the command; else it is refused.
  public var endsAtLimit = false
  /// The denied call that ends the run.
  public var maxDenials = FailureSettings().maxDenials
  /// What tokens cost.
  public var prices: [CommandAgent.ModelPrices] = []
  /// Who is asked where a call needs approval; `nil` where nobody is there.
  public var person: (any Person)?
  /// Ends the command, for a reason that the recorder knows.
  public var endCommand: @Sendable () -> Void = {}

  /// One that lets everything through.
  public init() {}

  /// Whether replies wait until each of their calls has its verdict.
  var holdsReplies: Bool { policy != nil }

  /// What a reply costs; `nil` where that is not known. What a provider refuses costs nothing.
  func cost(of usage: TokenUsage?, model: String?, status: Int?) -> Double? {
    if usage == nil, let status, status >= 400, !prices.isEmpty { return 0 }
    guard let model, let usage, let prices = prices.first(where: { $0.fits(model) })
    else { return nil }
    return prices.prices.cost(
      input: usage.input, cachedInput: usage.cachedInput, cacheWrite: usage.cacheWrite,
      output: usage.output)
  }
}

/// What a recorder knows of what it lets through.
struct GuardState: Sendable {
  let rules: ProxyGuard
  let gate: PolicyGate
  private(set) var history: PolicyHistory
  /// How often a person was asked.
  var approvals = 0
  /// Why the run is over, though the command may not know it yet.
  var end: CommandEnd?
  /// The limit that a request was refused for; one of ``StopDetail``.
  var exceeded: String?

  init(_ rules: ProxyGuard) {
    self.rules = rules
    gate = PolicyGate(rules.policy ?? Policy())
    history = PolicyHistory(for: rules.policy ?? Policy())
    // Of what runs only what models are told is seen; the log says so once it is opened.
    history.take(
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "", t: 0,
        data: ["recorded": ["tools": "partial"]]))
  }

  mutating func take(_ event: Event) { history.take(event) }

  func tool(of call: ProposedCall) -> ToolDefinition {
    rules.tools[call.name] ?? ToolDefinition(name: call.name)
  }
}

/// Requests that are no calls of a model, by what a guard may let through.
enum HarmlessRequest {
  /// Ends of paths whose replies hold no call, whoever serves them.
  private static let ends = [
    "/embeddings", "/embed", "/moderations", "/count_tokens", "/input_tokens", "/tokenize",
    "/detokenize", "/rerank", "/audio/transcriptions", "/audio/translations", "/audio/speech",
    "/images/generations", "/api/show", ":countTokens", ":embedContent", ":batchEmbedContents",
  ]
  private static let readable = ["/models", "/api/tags", "/api/version", "/health"]

  /// Whether no reply to it can make an agent act.
  static func includes(_ method: String, _ path: String) -> Bool {
    guard ForwardedRequest.segments(of: path) != nil else { return false }
    let plain = path.prefix { $0 != "?" && $0 != "#" }
    guard method == "GET" || method == "HEAD" else {
      return method == "POST" && ends.contains { plain.hasSuffix($0) }
    }
    return !plain.contains("/responses")
      && readable.contains { plain.hasSuffix($0) || plain.contains("\($0)/") }
  }
}

extension ProxyGuard {
  /// What an agent file, or a case, says of a command.
  ///
  /// - Parameters:
  ///   - agent: the command, its policy and whom it runs for.
  ///   - person: who is asked in place of the agent's own.
  ///   - authorizers: whom rules of its policy ask.
  ///   - endCommand: ends the command where its policy ends the run.
  public init(
    _ agent: AgentDefinition, person: (any Person)? = nil, authorizers: Authorizers,
    endCommand: @escaping @Sendable () -> Void
  ) {
    self.init()
    let command = agent.command
    policy = command?.isGuarded == true ? agent.policy : nil
    self.authorizers = authorizers
    policyContext = agent.policyContext
    tools = Dictionary(agent.tools.map { ($0.definition.name, $0.definition) }) { first, _ in first
    }
    limits = agent.limits
    endsAtLimit = command?.endsAtLimit ?? false
    maxDenials = agent.failures.maxDenials
    prices = command?.prices ?? []
    self.person = person ?? agent.human
    self.endCommand = endCommand
  }
}
