public import AgentTrace

/// The tools that sources have offered in a run. A bounded fold over its events.
///
/// It alone says which tools a run has beyond those of the agent file, so that a run that is resumed, made
/// again, forked or asked about has the tools that its log says, without any source being reached.
///
/// Why: Docs/decisions/0012-tools-of-servers-stand-in-the-log.md
public struct ListedTools: Sendable, Hashable {
  /// The lists of one source.
  struct Listing: Sendable, Hashable {
    var source: String
    /// What was offered when the run started.
    var first: [OfferedTool]
    /// What was offered last.
    var offered: [OfferedTool]
    /// What the run has of it.
    var tools: [ToolDefinition]
    var withheld: [WithheldTool]
  }

  /// How many sources are kept.
  private static let sourceLimit = 1_000

  private(set) var listings: [Listing] = []
  /// The sources that were asked since the run started or went on.
  private(set) var asked: [String] = []

  /// Nothing was listed.
  public init() {}

  /// Takes in the next event of the run, in log order.
  public mutating func take(_ event: Event) {
    switch event.type {
    case .runStarted, .runResumed: asked = []
    case .toolsListed:
      guard let listed = try? ToolsListed(decoding: event.data) else { return }
      take(listed)
    default: break
    }
  }

  private mutating func take(_ listed: ToolsListed) {
    if !wasAsked(listed.source), asked.count < Self.sourceLimit { asked.append(listed.source) }
    guard listed.error == nil else { return }
    guard let index = listings.firstIndex(where: { $0.source.hasSameUTF8(as: listed.source) })
    else {
      guard listings.count < Self.sourceLimit else { return }
      listings.append(
        Listing(
          source: listed.source, first: listed.offered, offered: listed.offered,
          tools: listed.tools, withheld: listed.withheld))
      return
    }
    listings[index].offered = listed.offered
    listings[index].tools = listed.tools
    listings[index].withheld = listed.withheld
  }

  /// Whether a source was asked since the run started or went on.
  func wasAsked(_ source: String) -> Bool { asked.contains { $0.hasSameUTF8(as: source) } }

  subscript(source: String) -> Listing? {
    listings.first { $0.source.hasSameUTF8(as: source) }
  }

  /// The tools that a run of an agent has, those of its file first. What the agent file says of a tool
  /// beyond its definition is looked up there.
  public func tools(of agent: AgentDefinition) -> [ToolRegistration] {
    agent.tools + registrations(of: agent.sources)
  }

  func registrations(of sources: [SourceRegistration]) -> [ToolRegistration] {
    sources.flatMap { source in
      self[source.name].map { source.registrations(of: $0) } ?? []
    }
  }
}

extension SourceRegistration {
  /// The tools of a listing. Their definitions are as recorded.
  fileprivate func registrations(of listing: ListedTools.Listing) -> [ToolRegistration] {
    let known = listing.offered.compactMap { tool in
      choice(for: tool.name).map { registration(of: tool, $0) }
    }
    return listing.tools.map { definition in
      var registration =
        known.first { $0.definition.name.hasSameUTF8(as: definition.name) }
        ?? ToolRegistration(definition: definition, implementation: .listed(source: name))
      registration.definition = definition
      return registration
    }
  }
}
