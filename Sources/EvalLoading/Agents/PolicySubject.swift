public import AgentRuntime
public import AgentTrace

/// A policy, and the tools that it is for where they are known.
public struct PolicySubject: Sendable {
  /// The rules.
  public var policy: Policy
  /// The tools of the agent; `nil` where only a policy file was given, and where servers have tools that
  /// only they know.
  public var tools: [ToolDefinition]?

  /// Reads a policy file, or the policy of an agent file: whichever the path names.
  ///
  /// - Parameters:
  ///   - path: the file; what it holds says which of the two it is.
  ///   - agent: an agent file whose tools the policy is for; `nil` for those of `path` itself, or none.
  public static func load(_ path: String, agent: String? = nil) -> Loaded<PolicySubject> {
    let document = SourceDocument(path: path, limits: SourceLimits())
    let isAgent =
      document.roots.lazy.compactMap { FileKind(of: $0.value) }.first.map { $0 == .agent } ?? false
    var diagnostics: [Diagnostic]
    var subject: PolicySubject?
    if isAgent {
      let loaded = AgentLoader.load(document)
      diagnostics = loaded.diagnostics
      subject = loaded.value.map {
        PolicySubject(policy: $0.policy, tools: $0.definitions)
      }
    } else {
      let loaded = PolicyLoader.read(document)
      diagnostics = loaded.diagnostics
      subject = loaded.policy.map { PolicySubject(policy: $0, tools: nil) }
    }
    if let agent {
      let loaded = AgentLoader.load(agent)
      diagnostics += loaded.diagnostics
      subject?.tools = loaded.value?.definitions
    }
    return Loaded(subject, diagnostics)
  }
}

extension AgentDefinition {
  /// The tools, where the agent file says them all.
  fileprivate var definitions: [ToolDefinition]? {
    sources.isEmpty ? tools.map(\.definition) : nil
  }
}
