import AgentTrace

/// A message of JSON-RPC 2.0 as it comes in.
enum IncomingMessage {
  /// The reply to a request of ours; ids of ours are whole numbers.
  case reply(id: Int, RPCReply)
  /// Something that wants a reply, with its id as it stands.
  case request(id: JSONValue, method: String)
  case notification(method: String, params: JSONObject)
  /// JSON, but no message, or a reply to nobody: passed over.
  case other

  /// The messages of what came in: one, or those of a batch, which servers of 2025-03-26 may send.
  static func all(in value: JSONValue) -> [IncomingMessage] {
    value.arrayValue?.map(IncomingMessage.init) ?? [IncomingMessage(value)]
  }

  init(_ value: JSONValue) {
    guard let object = value.objectValue, object["jsonrpc"] == "2.0" else {
      self = .other
      return
    }
    if let method = object["method"]?.stringValue {
      switch object["id"] {
      case nil:
        self = .notification(method: method, params: object["params"]?.objectValue ?? [:])
      case .string?, .number?: self = .request(id: object["id"] ?? .null, method: method)
      default: self = .other
      }
      return
    }
    guard let id = object["id"]?.intValue else {
      self = .other
      return
    }
    // Many servers write the member that does not hold as null.
    if let error = object["error"], error != .null || object["result"] == nil {
      self = .reply(id: id, .error(RPCError(error)))
    } else {
      self = .reply(id: id, .result(object["result"] ?? .null))
    }
  }
}

/// What a request came to, on the other side.
enum RPCReply: Sendable {
  case result(JSONValue)
  case error(RPCError)
}

/// A failure that the other side tells of.
struct RPCError: Error, Sendable {
  static let methodNotFound = -32_601
  static let headerMismatch = -32_020
  static let missingCapability = -32_021
  static let unsupportedVersion = -32_022

  var code: Int
  var message: String
  var data: JSONValue?

  init(_ value: JSONValue) {
    code = value["code"]?.intValue ?? 0
    message = value["message"]?.stringValue ?? "an error without a message"
    data = value["data"]
  }

  /// Whether the request was turned away before anything was done: it could not be read, is none, names no
  /// method, or has parameters that the method does not take (JSON-RPC 2.0, section 5.1).
  var isRefusal: Bool {
    [
      -32_700, -32_600, Self.methodNotFound, -32_602, Self.headerMismatch, Self.missingCapability,
      Self.unsupportedVersion,
    ].contains(code)
  }

  /// In one line of at most so many bytes.
  var words: String { "\(message.prefix(utf8Bytes: 4_096)) (\(code))" }
}

/// Why there is no reply.
struct MCPFault: Error, Sendable, CustomStringConvertible {
  enum Kind: Sendable {
    /// Nothing was sent, or nobody can have got it.
    case notSent
    case timeout
    case cancelled
    /// What would have brought the reply is gone.
    case lost
    /// A reply came, and it cannot be read.
    case unreadable
    /// The server has forgotten who asks, and has done nothing.
    case sessionGone
    /// A reply of HTTP that says no, with its status.
    case status(Int)
  }

  var kind: Kind
  var description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// Whether the other side may have begun with what it was asked for.
  var mayHaveArrived: Bool {
    switch kind {
    case .notSent, .sessionGone: false
    // Who gave up waiting may have passed it on.
    case .status(let status): status == 408 || !(400..<500).contains(status)
    default: true
    }
  }
}

/// A request to a server.
struct RPCRequest: Sendable {
  var method: String
  var params: JSONObject
  /// The `Mcp-Param-` headers and others that go with it over HTTP.
  var headers: [(name: String, value: String)] = []

  func message(id: Int) -> JSONValue {
    ["jsonrpc": "2.0", "id": JSONValue(id), "method": .string(method), "params": .object(params)]
  }
}

/// How long a reply is waited for.
struct ReplyLimits: Sendable {
  /// In all.
  var totalMicroseconds: Int
  /// Without a word of progress; `nil` for no such limit.
  var idleMicroseconds: Int?
}

extension ReplyLimits {
  /// What is left until then.
  init(until end: ContinuousClock.Instant) {
    self.init(totalMicroseconds: max(1, (end - ContinuousClock.now).wholeMicroseconds))
  }
}

/// One way to reach a server.
protocol MCPLink: Sendable {
  /// What the server replied to a request.
  ///
  /// - Throws: ``MCPFault`` where there is no reply.
  func reply(to request: RPCRequest, within limits: ReplyLimits) async throws -> RPCReply
  /// Tells the server something that has no reply.
  func notify(_ method: String, _ params: JSONObject) async
  /// From now on the server is spoken to in this version.
  func use(_ version: MCPVersion) async
  /// Why nothing more comes of it; `nil` while it stands.
  var end: String? { get }
  /// Whether the server has said since this was last asked that its list of tools has changed.
  func takeListChange() -> Bool
  /// Ends it, and what was started for it.
  func close() async
  /// The same at once, for a server that says nothing.
  func abandon() async
}

extension MCPLink {
  func abandon() async { await close() }
}

/// A version of the protocol.
struct MCPVersion: Sendable, Hashable {
  /// Since 2026-07-28 there is no handshake: each request says who asks.
  var isModern: Bool
  var name: String

  static let modern = MCPVersion(isModern: true, name: "2026-07-28")
  /// The newest first.
  static let legacy = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"].map {
    MCPVersion(isModern: false, name: $0)
  }

  static func known(_ name: String) -> MCPVersion? {
    ([modern] + legacy).first { $0.name.hasSameUTF8(as: name) }
  }
}
