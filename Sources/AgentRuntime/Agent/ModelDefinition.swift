import AgentTrace

/// Which model decides.
public struct ModelDefinition: Sendable {
  /// Where its decisions come from.
  public enum Implementation: Sendable {
    /// A script of decisions; see ``ScriptedModel``.
    case scripted(ModelScript)
    /// Served over HTTP.
    case provider(ProviderModel)
    /// A program that decides for itself, and asks models by itself.
    case command(CommandAgent)
    /// A model made in Swift; no agent file says it.
    case model(any Model)
  }

  /// Who serves it, for example `scripted`.
  public var provider: String
  /// The model's name as its provider has it.
  public var name: String
  /// Where its decisions come from.
  public var implementation: Implementation
  /// What a log says of its settings, of a model that only answers from one; else `nil`.
  var knownSettings: JSONObject?

  /// The provider of a model that is made in code is `own`, unless another is named.
  public init(provider: String = "own", name: String, implementation: Implementation) {
    self.provider = provider
    self.name = name
    self.implementation = implementation
  }

  /// What of it needs the network; see ``AgentDefinition/networkNeed``.
  public var networkNeed: String? {
    switch implementation {
    case .provider: "the model “\(name)”"
    case .command: "the proxy between the command “\(name)” and its models"
    case .scripted, .model: nil
    }
  }
}
