import AgentTrace
import Synchronization

/// The sources of an agent as they are reached live: which tool is whose, and whether it still is what the
/// run was told.
final class SourcedTools: Sendable {
  private struct Listing {
    /// `nil` until it was asked.
    var offered: [OfferedTool]?
    /// A list that came in between two packets, for the next one.
    var news: ToolOffer?
  }

  private let sources: [(registration: SourceRegistration, source: any ToolSource)]
  private let listings: Mutex<[Listing]>

  init(_ sources: [(registration: SourceRegistration, source: any ToolSource)]) {
    self.sources = sources
    listings = Mutex(sources.map { _ in Listing() })
  }

  // MARK: Lists

  func offer(_ request: ToolListRequest) async -> ToolOffer? {
    guard
      let index = sources.firstIndex(where: {
        $0.registration.name.hasSameUTF8(as: request.source)
      })
    else { return nil }
    switch request.timing {
    case .session: return await list(index)
    case .packet:
      if let news = takeNews(index) { return news }
      // A fork that leaves its parent's log has asked nobody yet.
      return wasAsked(index) ? await news(index) : await list(index)
    }
  }

  private func list(_ index: Int) async -> ToolOffer {
    let offer = await sources[index].source.list()
    keep(offer, of: index, isTold: true)
    return offer
  }

  private func news(_ index: Int) async -> ToolOffer? {
    guard let offer = await sources[index].source.news() else { return nil }
    keep(offer, of: index, isTold: true)
    return offer
  }

  private func keep(_ offer: ToolOffer, of index: Int, isTold: Bool) {
    guard offer.error == nil else { return }
    listings.withLock {
      $0[index].offered = sources[index].registration.chosen(offer.tools)
      if !isTold { $0[index].news = offer }
    }
  }

  private func takeNews(_ index: Int) -> ToolOffer? {
    listings.withLock { listings in
      defer { listings[index].news = nil }
      return listings[index].news
    }
  }

  private func wasAsked(_ index: Int) -> Bool { listings.withLock { $0[index].offered != nil } }

  func close() async {
    for (_, source) in sources { await source.close() }
    listings.withLock { listings in
      for index in listings.indices { listings[index] = Listing() }
    }
  }

  // MARK: Calls

  func run(_ request: ToolRequest) async -> ToolAnswer {
    for index in sources.indices where !wasAsked(index) {
      keep(await sources[index].source.list(), of: index, isTold: false)
    }
    guard let owner = owner(of: request.tool.name) else {
      let isEmpty = sources.isEmpty
      return ToolAnswer(
        result: .error(
          isEmpty
            ? "this tool has no implementation here"
            : "not called: no server offers this tool now"))
    }
    if let offer = await sources[owner.index].source.news() {
      keep(offer, of: owner.index, isTold: false)
    }
    guard let now = self.owner(of: request.tool.name), now.index == owner.index else {
      return ToolAnswer(result: .error("not called: the server no longer offers this tool"))
    }
    guard
      sources[now.index].registration.onChange == .accept
        || Self.isSame(request.tool, now.definition)
    else {
      return ToolAnswer(
        result: .error(
          "not called: the server describes this tool otherwise than the run was told"))
    }
    return await sources[now.index].source.run(request, as: now.offered)
  }

  private func owner(
    of name: String
  ) -> (index: Int, offered: String, definition: ToolDefinition)? {
    let listings = listings.withLock { $0 }
    for (index, (registration, _)) in sources.enumerated() {
      for tool in listings[index].offered ?? [] {
        guard let choice = registration.choice(for: tool.name) else { continue }
        let definition = registration.registration(of: tool, choice).definition
        if definition.name.hasSameUTF8(as: name) { return (index, tool.name, definition) }
      }
    }
    return nil
  }

  /// Whether a server describes a tool as the run was told. What was withheld of the description on its
  /// way in cannot be compared.
  private static func isSame(_ told: ToolDefinition, _ now: ToolDefinition) -> Bool {
    let (told, now) = (told.encoded, now.encoded)
    return ["description", "inputSchema", "outputSchema", "sideEffect", "idempotent"].allSatisfy {
      let value = told[$0] ?? .null
      return RedactionToken.isIn(value)
        || CanonicalJSON.encode(value) == CanonicalJSON.encode(now[$0] ?? .null)
    }
  }
}
