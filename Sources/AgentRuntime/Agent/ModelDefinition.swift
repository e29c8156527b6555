/// Which model decides.
public struct ModelDefinition: Sendable {
  /// Where its decisions come from.
  public enum Implementation: Sendable {
    /// A script of decisions; see ``ScriptedModel``.
    case scripted(ModelScript)
    /// A model made in Swift; no agent file says it.
    case model(any Model)
  }

  /// Who serves it, for example `scripted`.
  public var provider: String
  /// The model's name as its provider has it.
  public var name: String
  /// Where its decisions come from.
  public var implementation: Implementation

  /// Nothing is checked.
  public init(provider: String = "own", name: String, implementation: Implementation) {
    self.provider = provider
    self.name = name
    self.implementation = implementation
  }

  /// What of it needs the network; see ``AgentDefinition/networkNeed``.
  var networkNeed: String? {
    switch implementation {
    case .scripted, .model: nil
    }
  }
}
