public import AgentTrace
import TraceMatching

/// What an agent takes of a list.
struct SourceSelection {
  /// A tool that is taken.
  struct Taken {
    /// What the source calls it.
    var offered: String
    var registration: ToolRegistration
  }

  /// In the order of the source's names.
  var taken: [Taken] = []
  var withheld: [WithheldTool] = []
  /// Tools that the agent file names and the source does not offer.
  var missing: [String] = []
  /// Whether a tool is not what it was when the run started.
  var isChanged = false

  var tools: [ToolDefinition] { taken.map(\.registration.definition) }
}

extension SourceRegistration {
  /// What a run records of an offer when it starts.
  ///
  /// - Parameters:
  ///   - offer: what the source said of its tools, or why it said nothing.
  ///   - names: those that other tools of the agent have.
  public func listed(_ offer: ToolOffer, besides names: [String]) -> ToolsListed {
    listed(offer, first: nil, besides: names, isSession: true)
  }

  /// What a run records of an offer.
  ///
  /// - Parameters:
  ///   - first: what was offered when the run started; `nil` where this is that.
  ///   - isSession: whether the run starts or goes on.
  func listed(
    _ offer: ToolOffer, first: [OfferedTool]?, besides names: [String], isSession: Bool
  ) -> ToolsListed {
    func failure(_ error: String, _ offered: [OfferedTool] = []) -> ToolsListed {
      ToolsListed(
        source: name, offered: offered, server: offer.server,
        error: error.prefix(utf8Bytes: 4_096))
    }
    if let error = offer.error { return failure(error) }
    let offered = chosen(offer.tools)
    if let fault = fault(in: offered) { return failure(fault) }
    let now = OfferedTool.digest(of: offered).hex
    if isSession, let digest, !digest.hasSameUTF8(as: now) {
      return failure(
        "its list has the digest \(now), and the agent file asks for \(digest)", offered)
    }
    let selection = selection(of: offered, first: first, besides: names)
    if first == nil, let missing = selection.missing.first {
      let nearest = Spelling.nearest(to: missing, among: offer.tools.map(\.name))
      return failure(
        "it offers no tool “\(missing)”, which the agent file names"
          + (nearest.map { "; did you mean “\($0)”?" } ?? ""), offered)
    }
    if selection.isChanged, onChange == .stop {
      let words = selection.withheld.first.map { ": \($0.name): \($0.reason)" } ?? ""
      return failure("its list is not as when the run started\(words)", offered)
    }
    return ToolsListed(
      source: name, offered: offered, tools: selection.tools, withheld: selection.withheld,
      server: offer.server)
  }

  /// The most tools of a source that are taken, and the most bytes that it may say of them.
  static let toolLimit = 1_000
  static let listLimitBytes = 2 << 20
  private static let toolLimitBytes = 256 << 10
  private static let depthLimit = 48

  /// What of an offer is the agent's business: the tools that it takes, in the order of their names, since
  /// a source need not say them twice in the same order.
  func chosen(_ offered: [OfferedTool]) -> [OfferedTool] {
    offered.filter { choice(for: $0.name) != nil }.sorted { $0.name.precedesByUTF8($1.name) }
  }

  /// What is wrong with a list as a whole, in words; `nil` where nothing is.
  func fault(in offered: [OfferedTool]) -> String? {
    if offered.count > Self.toolLimit {
      return "it offers \(offered.count) tools, and \(Self.toolLimit) are the most that are taken"
    }
    let bytes = offered.reduce(0) { $0 + CanonicalJSON.encode(.object($1.encoded)).count }
    if bytes > Self.listLimitBytes {
      return "its list has \(bytes) bytes, and \(Self.listLimitBytes) are the most that are taken"
    }
    return nil
  }

  /// What comes of an offer.
  ///
  /// - Parameters:
  ///   - offered: see ``chosen(_:)``.
  ///   - first: what was offered when the run started; `nil` where this is that.
  ///   - names: those that other tools of the agent have.
  func selection(
    of offered: [OfferedTool], first: [OfferedTool]?, besides names: [String]
  ) -> SourceSelection {
    var selection = SourceSelection()
    var names = Set(names.map { Array($0.utf8) })
    var seen: Set<[UInt8]> = []
    let known = first.map { first in
      Dictionary(first.map { (Array($0.name.utf8), $0) }) { first, _ in first }
    }
    for tool in offered {
      let key = Array(tool.name.utf8)
      guard let choice = choice(for: tool.name) else { continue }
      if !seen.insert(key).inserted {
        selection.withheld.append(
          WithheldTool(name: tool.name, reason: "the name stands twice in the list"))
        continue
      }
      if let known, let reason = Self.change(from: known[key], to: tool) {
        selection.isChanged = true
        if onChange == .refuse {
          selection.withheld.append(WithheldTool(name: tool.name, reason: reason))
          continue
        }
      }
      let registration = registration(of: tool, choice)
      let name = registration.definition.name
      if let reason = Self.fault(in: registration.definition, tool) {
        selection.withheld.append(WithheldTool(name: tool.name, reason: reason))
      } else if !names.insert(Array(name.utf8)).inserted {
        selection.withheld.append(
          WithheldTool(name: tool.name, reason: "there is another tool \(name) already"))
      } else {
        selection.taken.append(.init(offered: tool.name, registration: registration))
      }
    }
    for tool in first ?? [] where !seen.contains(Array(tool.name.utf8)) {
      guard choice(for: tool.name) != nil else { continue }
      selection.isChanged = true
      selection.withheld.append(
        WithheldTool(name: tool.name, reason: "it is no longer offered"))
    }
    selection.missing = (choices ?? []).compactMap(\.tool.literal).filter { name in
      !seen.contains(Array(name.utf8))
    }
    return selection
  }

  /// A name is its own choice before any glob.
  func choice(for name: String) -> ToolChoice? {
    guard let choices else { return ToolChoice.asOffered }
    return choices.first { $0.tool.literal?.hasSameUTF8(as: name) ?? false }
      ?? choices.first { $0.tool.matches(name) }
  }

  /// Compared by their bytes: what a model is told is what counts.
  private static func change(from first: OfferedTool?, to now: OfferedTool) -> String? {
    guard let first else { return "it was not offered when the run started" }
    let (before, after) = (first.encoded, now.encoded)
    let changed = ["title", "description", "inputSchema", "outputSchema", "annotations"].filter {
      CanonicalJSON.encode(before[$0] ?? .null) != CanonicalJSON.encode(after[$0] ?? .null)
    }
    guard !changed.isEmpty else { return nil }
    return "its \(changed.joined(separator: ", ")) "
      + (changed.count == 1 ? "is" : "are") + " not as when the run started"
  }

  func registration(of tool: OfferedTool, _ choice: ToolChoice) -> ToolRegistration {
    let isTrusted = annotations == .trust
    func hints(_ key: String) -> Bool { isTrusted && tool.annotations[key]?.boolValue == true }
    var definition = ToolDefinition(name: choice.name ?? prefix + tool.name)
    definition.description =
      choice.description ?? (tool.description.isEmpty ? tool.title ?? "" : tool.description)
    definition.inputSchema = tool.inputSchema
    definition.outputSchema = tool.outputSchema
    definition.sideEffect = choice.sideEffect ?? (hints("readOnlyHint") ? .read : .write)
    definition.sensitivity = choice.sensitivity
    definition.timeoutSeconds = choice.timeoutSeconds ?? timeoutSeconds
    definition.idempotent = choice.isIdempotent ?? hints("idempotentHint")
    let handling = choice.handling
    var registration = ToolRegistration(
      definition: definition, implementation: .listed(source: name), onError: handling.onError,
      maxAttempts: handling.maxAttempts, retry: handling.retry, breaker: handling.breaker,
      routes: handling.routes)
    registration.disclose = handling.disclose
    return registration
  }

  /// Why a tool cannot be taken; `nil` where it can.
  private static func fault(in definition: ToolDefinition, _ tool: OfferedTool) -> String? {
    let name = definition.name
    guard (1...128).contains(name.utf8.count), name.utf8.allSatisfy(isOfName) else {
      return "a tool's name is 1 to 128 letters, digits, “_”, “-” and “.”"
    }
    let value = JSONValue.object(tool.encoded)
    if value.depth > depthLimit { return "its schemas nest deeper than \(depthLimit) levels" }
    let bytes = CanonicalJSON.encode(value).count
    if bytes > toolLimitBytes {
      return "what is said of it has \(bytes) bytes, and \(toolLimitBytes) are the most"
    }
    guard definition.inputSchema.objectValue != nil else {
      return "its inputSchema is \(definition.inputSchema.typeName), not an object"
    }
    for (key, schema) in [
      ("inputSchema", definition.inputSchema), ("outputSchema", definition.outputSchema),
    ] {
      guard let schema else { continue }
      do { _ = try JSONSchema(compiling: schema) } catch {
        return "its \(key) is of no use: \(error)"
      }
    }
    return nil
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "_-.".utf8.contains(byte)
  }
}

extension ToolChoice {
  /// Every tool, as the source says.
  fileprivate static let asOffered = (try? Glob("*")).map { ToolChoice($0) }
}
