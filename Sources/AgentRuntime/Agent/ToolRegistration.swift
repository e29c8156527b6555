public import AgentTrace

/// A tool and what runs when it is called.
public struct ToolRegistration: Sendable {
  /// What happens when a call fails.
  public enum OnError: String, Sendable, Hashable, CaseIterable {
    /// The model is told.
    case `continue`
    /// The run stops as `tool_failure`.
    case stop
    /// The call is made again; only for tools that read or are idempotent.
    case retry
  }

  /// Where its results come from.
  public enum Implementation: Sendable {
    /// Written down; see ``ScriptedTool``.
    case scripted(ScriptedTool)
    /// A process: the input as JSON on its standard input, the result as JSON on its standard output.
    case command(CommandDefinition)
    /// One request over HTTP.
    case http(HTTPDefinition)
    /// A program that the model writes, run in a sandbox.
    case code(CodeDefinition)
    /// Notes that are read or written; see ``MemoryStore``.
    case memory(MemoryAccess)
    /// A source that says which tools it has; see ``SourceRegistration``. No agent file says it of a
    /// single tool.
    case listed(source: String)
    /// Nothing runs: a call of it is a decision of another kind. See ``DecisionTool``.
    case decision(DecisionTool)
    /// A run of another agent.
    case agent(SubAgent)
    /// A value of the program that uses this library, for example a ``ClosureTool``. No agent file says
    /// it.
    case tool(any Tool)
  }

  /// What the model, the policy and the log are told of the tool.
  public var definition: ToolDefinition
  /// Its description, where that names something of whom the agent acts for; ``Runtime`` fills it in.
  public var descriptionTemplate: PromptTemplate?
  /// Where its results come from.
  public var implementation: Implementation
  /// What happens when a call fails.
  public var onError: OnError
  /// How often a call is started at most with ``OnError/retry``.
  public var maxAttempts: Int
  /// How a failed call is made again; `nil` leaves that to ``onError``.
  public var retry: RetrySettings?
  /// When calls are no longer let through; `nil` for never.
  public var breaker: BreakerSettings?
  /// The routes on which the model is told of the tool; `nil` for every route.
  public var routes: [String]?
  /// Rules about when the model is told of the tool, in order: the first that holds decides, and where
  /// none does the tool is hidden. `nil` where only ``routes`` decide.
  public var disclose: [DisclosureRule]?

  /// The defaults are those of a tool that leaves the key out.
  public init(
    definition: ToolDefinition, implementation: Implementation, onError: OnError = .continue,
    maxAttempts: Int = 3, retry: RetrySettings? = nil, breaker: BreakerSettings? = nil,
    routes: [String]? = nil
  ) {
    self.definition = definition
    self.implementation = implementation
    self.onError = onError
    self.maxAttempts = maxAttempts
    self.retry = retry
    self.breaker = breaker
    self.routes = routes
  }

  /// Whether a failed call may be made again without risk. A call of an agent is not: what its run did stands in a
  /// log of its own, and another attempt would be another run.
  public var mayRetry: Bool {
    (onError == .retry || retry != nil) && definition.isSafeTwice && definition.agent == nil
  }

  /// How often a call is started at most.
  public var attemptLimit: Int { mayRetry ? retry?.maxAttempts ?? maxAttempts : 1 }

  /// Whether neither a process nor the network is needed to call it.
  var isInPlace: Bool {
    switch implementation {
    case .scripted, .memory, .tool, .decision: true
    case .agent(let child): child.agent.isScripted
    case .command, .http, .code, .listed: false
    }
  }
}

extension ToolRegistration {
  /// The variables of the environment whose values its requests hold, or that its program is passed by name.
  public var variables: [String] {
    switch implementation {
    case .http(let http): http.headers.flatMap(\.value.variables)
    case .command(let command): command.environment.pass
    case .code(let code): code.environment.pass
    case .scripted, .memory, .tool, .agent, .listed, .decision: []
    }
  }

  /// What of it needs the network; see ``AgentDefinition/networkNeed``.
  var networkNeed: String? {
    switch implementation {
    case .scripted, .memory, .tool, .command, .code, .listed, .decision: nil
    case .agent(let child): child.agent.networkNeed
    case .http: "the tool “\(definition.name)”"
    }
  }
}

/// How a failed call is made again.
public struct RetrySettings: Sendable, Hashable {
  /// How often the call is started at most.
  public var maxAttempts: Int
  /// Seconds before the second attempt; twice as many before each further one.
  public var backoffSeconds: Double
  /// The longest wait in seconds.
  public var maxBackoffSeconds: Double

  /// Fewer attempts than one count as one; waits below 0 count as 0, above 1,000,000 seconds as that. The
  /// defaults are those of an agent file that leaves the key out.
  public init(
    maxAttempts: Int = 3, backoffSeconds: Double = 0, maxBackoffSeconds: Double = 60
  ) {
    self.maxAttempts = maxAttempts
    self.backoffSeconds = backoffSeconds
    self.maxBackoffSeconds = maxBackoffSeconds
  }

  /// Microseconds to wait behind an attempt, from 1, before the next one. Without chance, so that a
  /// run made again waits as it did.
  func waitMicroseconds(behindAttempt attempt: Int) -> Int {
    let longest = min(max(0, maxBackoffSeconds), 1e6)
    var seconds = min(max(0, backoffSeconds), longest)
    for _ in 1..<max(1, min(attempt, 64)) { seconds = min(seconds * 2, longest) }
    return Int(seconds * 1_000_000)
  }
}

/// When calls of a tool are no longer let through.
public struct BreakerSettings: Sendable, Hashable {
  /// The error in a row, over the whole run, that opens the breaker.
  public var failures: Int
  /// Seconds of run time until one call is let through again.
  public var resetSeconds: Double

  /// `failures` is to be at least 1. Seconds below 0 count as 0, above 1,000,000,000 as that.
  public init(failures: Int, resetSeconds: Double) {
    self.failures = failures
    self.resetSeconds = resetSeconds
  }

  var resetMicroseconds: Int { Int(min(max(0, resetSeconds), 1e9) * 1_000_000) }
}
