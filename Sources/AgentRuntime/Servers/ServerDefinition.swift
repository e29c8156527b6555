/// A program that serves tools over its standard input and output (MCP, stdio). Started without a shell.
public struct ServerCommand: Sendable, Hashable {
  /// The program and its arguments. A program with a `/` is relative to the agent file's folder.
  public var arguments: [String]
  /// Variables of its environment, besides the few that every command gets.
  public var environment: [String: EnvironmentText]
  /// What the process may use.
  public var limits: ProcessLimits

  /// Nothing is started. Without more, it has the variables that every command gets, and no limits.
  public init(
    arguments: [String], environment: [String: EnvironmentText] = [:],
    limits: ProcessLimits = ProcessLimits()
  ) {
    self.arguments = arguments
    self.environment = environment
    self.limits = limits
  }
}

/// An address that serves tools (MCP, streamable HTTP).
public struct ServerEndpoint: Sendable, Hashable {
  /// With scheme, host and path.
  public var url: String
  /// Sent with each request.
  public var headers: [Header]

  /// A header and its value.
  public struct Header: Sendable, Hashable {
    /// As it is sent.
    public var name: String
    /// As it is sent, once its variables have their values.
    public var value: EnvironmentText

    /// The value may name variables of the environment.
    public init(name: String, value: EnvironmentText) {
      self.name = name
      self.value = value
    }
  }

  /// Without headers, requests have those of the protocol alone.
  public init(url: String, headers: [Header] = []) {
    self.url = url
    self.headers = headers
  }
}
