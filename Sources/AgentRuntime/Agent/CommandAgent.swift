public import AgentTrace
public import TraceMatching

/// An agent that is a program of its own, in any language: its prompts, its loop and its tools are its own
/// business. What it asks of models goes by way of a proxy, and is what is seen of it.
public struct CommandAgent: Sendable, Hashable {
  /// What its answer is.
  public enum Answer: String, Sendable, Hashable, CaseIterable {
    /// The last thing that its model said, where that is one.
    case reply
    /// What it writes to standard output, without the white space around it.
    case stdout
  }

  /// A call that is the answer of an agent which answers by one.
  public struct AnswerCall: Sendable, Hashable {
    /// The tool that is called.
    public var tool: String
    /// The part of the input that is the answer; all of it where it is empty.
    public var path: JSONPointer

    /// The whole input is the answer, unless a path leads to a part of it.
    public init(tool: String, path: JSONPointer = JSONPointer()) {
      self.tool = tool
      self.path = path
    }

    /// Reads `TOOL` or `TOOL/PATH`; `nil` where the text is not of that form.
    public init?(_ text: String) {
      let tool = text.prefix { $0 != "/" }
      guard !tool.isEmpty, let path = JSONPointer(String(text.dropFirst(tool.count))) else {
        return nil
      }
      self.init(tool: String(tool), path: path)
    }

    /// The answer that a decision holds; `nil` where it holds none.
    public func answer(in decision: Decision) -> String? {
      for call in decision.calls where call.name.hasSameUTF8(as: tool) {
        if let value = call.input[path], !value.isNull {
          return value.stringValue ?? CanonicalJSON.string(value, form: .plain)
        }
      }
      return nil
    }
  }

  /// Where a provider is.
  public struct Upstream: Sendable, Hashable {
    /// `openai`, `anthropic`, or a name of the file's own.
    public var name: String
    /// Its base URL.
    public var url: String

    /// A provider by its name, with the base URL that is used in place of its usual one.
    public init(name: String, url: String) {
      self.name = name
      self.url = url
    }
  }

  /// What the tokens of some models cost.
  public struct ModelPrices: Sendable, Hashable {
    /// The models, by a glob of their names.
    public var models: Glob
    /// For a million tokens.
    public var prices: ProviderModel.Prices

    /// Prices of the models whose names the glob fits.
    public init(models: Glob, prices: ProviderModel.Prices) {
      self.models = models
      self.prices = prices
    }

    /// Whether they are those of a model, by its name.
    public func fits(_ model: String) -> Bool { models.matches(model) }
  }

  /// Names that stand for something in its arguments and variables: `${input}`, what it is asked to do;
  /// `${caseId}` and `${trial}`, empty outside of a case.
  public static let names = ["caseId", "input", "trial"]

  /// The program and its arguments. A program with a `/` is relative to ``folder``.
  public var arguments: [String]
  /// The folder that it works in, seen from where this process works.
  public var folder: String
  /// What its environment holds besides what every command gets. The values of ``CommandEnvironment/set``
  /// may hold ``names``.
  public var environment: CommandEnvironment
  /// Where providers are that are not where they usually are.
  public var upstreams: [Upstream]
  /// Seconds until it is ended.
  public var timeoutSeconds: Double
  /// What its answer is.
  public var answer: Answer
  /// The call that is its answer, where it answers by one; `nil` where none is.
  public var answerFrom: AnswerCall?
  /// Which conversation with a model is its own; `nil` for the first that has tools, or goes on.
  public var main: CallerMatcher?
  /// Names of the others that speak with models, the first that fits counts.
  public var callers: [CallerName] = []
  /// Whether it has a network of its own, in which nothing but the proxy can be reached.
  public var isIsolated = false
  /// Whether ``AgentDefinition/policy`` rules on its calls before it can act on them.
  public var isGuarded = false
  /// Whether a request beyond ``AgentDefinition/limits`` ends it; else the request is refused.
  public var endsAtLimit = false
  /// What tokens cost; of these the first that fits a model counts.
  public var prices: [ModelPrices] = []

  /// Nothing is started. The defaults are those of a file that leaves the key out.
  public init(
    arguments: [String], folder: String = ".",
    environment: CommandEnvironment = CommandEnvironment(), upstreams: [Upstream] = [],
    timeoutSeconds: Double = 300, answer: Answer = .reply
  ) {
    self.arguments = arguments
    self.folder = folder
    self.environment = environment
    self.upstreams = upstreams
    self.timeoutSeconds = timeoutSeconds
    self.answer = answer
  }

  /// What the program is called, without the way to it.
  public var programName: String {
    arguments.first?.split(separator: "/").last.map(String.init) ?? ""
  }

  /// The same, with what its ``names`` stand for.
  ///
  /// - Parameter value: what a name stands for.
  public func filled(_ value: (String) -> String) -> CommandAgent {
    var filled = self
    filled.arguments = arguments.map { PlaceholderText($0).filled(value) }
    filled.environment.set = environment.set.mapValues { PlaceholderText($0).filled(value) }
    return filled
  }
}

extension AgentDefinition {
  /// The program that the agent is; `nil` for one that is run here.
  public var command: CommandAgent? {
    if case .command(let command) = model.implementation { command } else { nil }
  }
}

/// An agent that is a command was to be run as one whose loop is here.
public struct CommandAgentFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// What the agent is called.
  public var name: String

  public var description: String {
    "the agent “\(name)” is a command, whose loop is its own: it can be run (record, run --live), but "
      + "not gone on with, forked, made again or asked to judge"
  }
}
