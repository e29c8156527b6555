import AgentRuntime
import AgentTrace

/// A server that is spoken to in one version of the protocol (Model Context Protocol, specification
/// 2026-07-28 and the ones before it from 2024-11-05).
///
/// Why: Docs/decisions/0023-mcp-in-both-eras.md
struct MCPSession: Sendable {
  /// How long the first question may take that tells a modern server from one of before.
  static let probeMicroseconds = 3_000_000
  /// The most pages of a list, and the most tools on all of them.
  static let pageLimit = 100
  static let toolLimit = 10_000

  let link: any MCPLink
  let version: MCPVersion
  /// What the server says of itself.
  let server: JSONObject

  /// What a server says of how long its list holds: when to ask again.
  struct List: Sendable {
    var tools: [JSONValue]
    /// `nil` where it says nothing.
    var lifetimeMilliseconds: Int?
  }

  // MARK: Opening

  /// Speaks with a server for the first time, and finds out in which version: a modern one is tried first,
  /// unless it is known that the server is none.
  ///
  /// - Parameters:
  ///   - known: the version that the server spoke before; `nil` where it never did.
  ///   - end: when the server has to have said what it is.
  ///   - open: opens a link, a second time where the server did not survive the question.
  /// - Throws: ``MCPFault`` or ``RPCError``. Links that were opened are closed then.
  static func open(
    known: MCPVersion?, until end: ContinuousClock.Instant,
    open: () async throws -> any MCPLink
  ) async throws -> MCPSession {
    var link = try await open()
    do {
      var saidNothing = false
      if known?.isModern ?? true {
        switch try await discover(link, until: end, within: probeMicroseconds) {
        case .modern(let session): return session
        case .silence: saidNothing = true
        case .other: break
        }
        if link.end != nil {
          await link.close()
          link = try await open()
          saidNothing = false
        }
      }
      switch try await initialize(link, until: end) {
      case .success(let session): return session
      case .failure(let refusal):
        // A modern server that was still beginning when it was asked.
        if saidNothing, case .modern(let session) = try await discover(link, until: end) {
          return session
        }
        throw MCPFault(.lost, "the server refused to begin: \(refusal.words)")
      }
    } catch {
      await link.abandon()
      throw error
    }
  }

  /// What came of the question whether a server is modern.
  private enum Discovery {
    case modern(MCPSession)
    /// It is none.
    case other
    /// It said nothing in time.
    case silence
  }

  /// Asks whether a server is modern.
  ///
  /// - Parameter limit: microseconds after which who says nothing is asked otherwise, at most half of what is left; `nil`
  ///   where nothing else is to be asked.
  private static func discover(
    _ link: any MCPLink, until end: ContinuousClock.Instant, within limit: Int? = nil
  ) async throws -> Discovery {
    await link.use(.modern)
    let left = ReplyLimits(until: end).totalMicroseconds
    let probe = ReplyLimits(totalMicroseconds: limit.map { min(left / 2, $0) } ?? left)
    let request = RPCRequest(method: "server/discover", params: ["_meta": .object(meta(.modern))])
    let reply: RPCReply
    do { reply = try await link.reply(to: request, within: probe) } catch let fault as MCPFault {
      switch fault.kind {
      case .cancelled, .notSent: throw fault
      // Whoever refuses who asks will not be nicer in another version.
      case .status(let status) where [401, 403].contains(status) || status >= 500: throw fault
      case .timeout: return .silence
      default: return .other
      }
    }
    switch reply {
    case .result(let result):
      guard supports(result["supportedVersions"]) else { return .other }
      var server = serverInfo(result["_meta"]?["io.modelcontextprotocol/serverInfo"])
      server["protocol"] = .string(MCPVersion.modern.name)
      return .modern(MCPSession(link: link, version: .modern, server: server))
    case .error(let error):
      guard error.code == RPCError.unsupportedVersion, supports(error.data?["supported"]) else {
        return .other
      }
      return .modern(
        MCPSession(
          link: link, version: .modern, server: ["protocol": .string(MCPVersion.modern.name)]))
    }
  }

  private static func supports(_ versions: JSONValue?) -> Bool {
    (versions?.arrayValue ?? []).contains {
      $0.stringValue?.hasSameUTF8(as: MCPVersion.modern.name) ?? false
    }
  }

  /// Greets a server of before; a failure is its refusal.
  private static func initialize(
    _ link: any MCPLink, until end: ContinuousClock.Instant
  ) async throws -> Result<MCPSession, RPCError> {
    let wanted = MCPVersion.legacy[0]
    await link.use(wanted)
    let request = RPCRequest(
      method: "initialize",
      params: [
        "protocolVersion": .string(wanted.name), "capabilities": [:],
        "clientInfo": .object(clientInfo),
      ])
    let result: JSONValue
    switch try await link.reply(to: request, within: ReplyLimits(until: end)) {
    case .result(let value): result = value
    case .error(let error): return .failure(error)
    }
    guard let name = result["protocolVersion"]?.stringValue,
      let version = MCPVersion.known(name), !version.isModern
    else {
      let name = result["protocolVersion"]?.stringValue?.prefix(utf8Bytes: 64)
      throw MCPFault(
        .lost, "the server speaks another version of MCP: \(name.map { "\($0)" } ?? "none")")
    }
    await link.use(version)
    await link.notify("notifications/initialized", [:])
    var server = serverInfo(result["serverInfo"])
    server["protocol"] = .string(version.name)
    return .success(MCPSession(link: link, version: version, server: server))
  }

  private static func serverInfo(_ value: JSONValue?) -> JSONObject {
    var server: JSONObject = [:]
    for key in ["name", "version"] {
      server[key] = value?[key]?.stringValue.map { .string("\($0.prefix(utf8Bytes: 256))") }
    }
    return server
  }

  // MARK: Asking

  private static let clientInfo: JSONObject = ["name": "agent-eval", "version": "1"]

  private static func meta(_ version: MCPVersion) -> JSONObject {
    guard version.isModern else { return [:] }
    return [
      "io.modelcontextprotocol/protocolVersion": .string(version.name),
      "io.modelcontextprotocol/clientCapabilities": [:],
      "io.modelcontextprotocol/clientInfo": .object(clientInfo),
    ]
  }

  private func request(
    _ method: String, _ params: JSONObject, meta extra: JSONObject = [:],
    headers: [(name: String, value: String)] = []
  ) -> RPCRequest {
    var params = params
    var meta = Self.meta(version)
    for member in extra { meta[member.key] = member.value }
    if !meta.isEmpty { params["_meta"] = .object(meta) }
    return RPCRequest(method: method, params: params, headers: headers)
  }

  /// The tools of the server, on however many pages.
  ///
  /// - Throws: ``MCPFault``.
  func list(until end: ContinuousClock.Instant) async throws -> List {
    var list = List(tools: [])
    var cursor: String?
    var seen: Set<[UInt8]> = []
    for page in 1... {
      guard page <= Self.pageLimit else {
        throw MCPFault(.unreadable, "its list of tools has more than \(Self.pageLimit) pages")
      }
      let left = ReplyLimits(until: end)
      let params = cursor.map { ["cursor": JSONValue.string($0)] as JSONObject } ?? [:]
      let result: JSONValue
      switch try await link.reply(to: request("tools/list", params), within: left) {
      case .result(let value): result = value
      case .error(let error):
        throw MCPFault(.lost, "the server refused to list its tools: \(error.words)")
      }
      guard let tools = result["tools"]?.arrayValue else {
        throw MCPFault(.unreadable, "its list of tools is no list")
      }
      list.tools += tools
      guard list.tools.count <= Self.toolLimit else {
        throw MCPFault(.unreadable, "it lists more than \(Self.toolLimit) tools")
      }
      list.lifetimeMilliseconds = result["ttlMs"]?.intValue ?? list.lifetimeMilliseconds
      // Any text is a cursor, also the empty one: only its absence ends the list.
      guard let next = result["nextCursor"]?.stringValue else { return list }
      guard seen.insert(Array(next.utf8)).inserted else {
        throw MCPFault(.unreadable, "its list of tools leads back to a page that was there")
      }
      cursor = next
    }
    return list
  }

  /// Calls a tool.
  ///
  /// - Throws: ``MCPFault`` where there is no reply.
  func call(
    _ tool: String, _ arguments: JSONValue, meta: JSONObject,
    headers: [(name: String, value: String)], within limits: ReplyLimits
  ) async throws -> RPCReply {
    try await link.reply(
      to: request(
        "tools/call", ["name": .string(tool), "arguments": arguments],
        meta: meta, headers: headers),
      within: limits)
  }

  /// The `_meta` of a call: its idempotency key, and whom it is made for as far as that is known.
  static func meta(of request: ToolRequest) -> JSONObject {
    var meta: JSONObject = ["agent-eval/idempotencyKey": .string(request.idempotencyKey)]
    for key in ToolRequest.IdentityKey.allCases {
      meta["agent-eval/\(key.rawValue)"] = request[identity: key].map(JSONValue.string)
    }
    return meta
  }
}
