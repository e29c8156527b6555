public import AgentTrace

/// Decides about calls where a rule of the policy asks it: a function of the program that uses this library.
///
/// It runs in this very process: where its time is up, its answer is no longer waited for, and the call is denied.
public protocol Authorizer: Sendable {
  /// Whether the call may run. What it throws is recorded as why there is no answer, and the call is denied.
  func authorize(_ request: AuthorizationRequest) async throws -> AuthorizationAnswer
}

/// What an authorizer says.
public struct AuthorizationAnswer: Sendable, Hashable {
  /// Whether the call may run.
  public var status: VerdictStatus
  /// Why; told to the model when the call is refused.
  public var reason: String?

  /// Without a reason, the verdict names the authorizer.
  public init(_ status: VerdictStatus, reason: String? = nil) {
    self.status = status
    self.reason = reason
  }
}

/// An authorizer of a policy, and what answers in its name.
public struct AuthorizerRegistration: Sendable {
  /// What answers. Each is given ``AuthorizationRequest/evaluation``, and answers as AuthZEN says.
  public enum Implementation: Sendable {
    /// Answers written down; a condition looks at the evaluation as `input`.
    case scripted(ScriptedTool)
    /// A program: the evaluation on its standard input, its answer on its standard output.
    case command(CommandDefinition)
    /// A service: one request whose body is the evaluation.
    case http(HTTPDefinition)
    /// A value of the program that uses this library. No file says it.
    case authorizer(any Authorizer)
  }

  /// What rules name it by.
  public var name: String
  /// What answers.
  public var implementation: Implementation
  /// Seconds until no answer means *deny*.
  public var timeoutSeconds: Double
  /// The folder that a program with a `/` is looked for in; `nil` for the agent file's.
  public var folder: String?

  /// How long an answer is waited for where nothing is said: 10 seconds.
  public static let defaultTimeoutSeconds = 10.0

  /// An authorizer that rules name by this name.
  public init(
    _ name: String, _ implementation: Implementation,
    timeoutSeconds: Double = Self.defaultTimeoutSeconds, folder: String? = nil
  ) {
    self.name = name
    self.implementation = implementation
    self.timeoutSeconds = timeoutSeconds
    self.folder = folder
  }
}

extension AuthorizerRegistration {
  /// Whether neither a process nor the network is needed to ask it.
  var isInPlace: Bool {
    switch implementation {
    case .scripted, .authorizer: true
    case .command, .http: false
    }
  }

  /// What of it needs the network; see ``AgentDefinition/networkNeed``.
  var networkNeed: String? {
    if case .http = implementation { "the authorizer “\(name)”" } else { nil }
  }

  /// The variables of the environment whose values its requests hold.
  public var variables: [String] {
    if case .http(let http) = implementation { http.headers.flatMap(\.value.variables) } else { [] }
  }

  /// What answers in its name, as a tool: whoever makes tools makes it.
  var registration: ToolRegistration {
    let implementation: ToolRegistration.Implementation =
      switch self.implementation {
      case .scripted(let script): .scripted(script)
      case .command(let command): .command(command)
      case .http(let http): .http(http)
      case .authorizer(let authorizer): .tool(AuthorizerTool(authorizer: authorizer))
      }
    return ToolRegistration(
      definition: ToolDefinition(
        name: "authorizer \(name)", sideEffect: .read, timeoutSeconds: timeoutSeconds),
      implementation: implementation)
  }
}

/// A Swift authorizer, asked like any other.
private struct AuthorizerTool: Tool {
  let authorizer: any Authorizer

  func run(_ request: ToolRequest) async -> ToolAnswer {
    guard let question = AuthorizationRequest.asked else {
      return ToolAnswer(result: .error("asked outside of a run"))
    }
    do {
      let answer = try await authorizer.authorize(question)
      return ToolAnswer(result: .ok(data: .object(answer.encoded)))
    } catch {
      return ToolAnswer(result: .error("\(error)"))
    }
  }
}
