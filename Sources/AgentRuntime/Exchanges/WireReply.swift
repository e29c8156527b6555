public import AgentTrace

/// What came back for a request of somebody else, as it went over the wire: enough to send it again.
public struct WireReply: Sendable, Hashable {
  /// How a reply ended.
  public enum Completeness: String, Sendable, Hashable, CaseIterable {
    /// With its last byte.
    case whole
    /// The provider's side was lost before that.
    case cut
    /// Whoever asked went away before that.
    case dropped
  }

  /// For example 200.
  public var status: Int
  /// Those that say something of the reply itself; see ``isKept(header:)``.
  public var headers: [(name: String, value: String)]
  /// The pieces in which the body came.
  public var pieces: [[UInt8]]
  /// How it ended.
  public var ending: Completeness

  /// The most bytes of a body that a log keeps, and the most pieces.
  public static let bodyLimitBytes = 4 << 20
  static let pieceLimit = 65_536

  /// A reply of any size; what a log keeps of it has at most ``bodyLimitBytes``.
  public init(
    status: Int, headers: [(name: String, value: String)], pieces: [[UInt8]], ending: Completeness
  ) {
    self.status = status
    self.headers = headers
    self.pieces = pieces
    self.ending = ending
  }

  /// What a proxy says in the place of a provider, in a form that the clients of all dialects read.
  ///
  /// - Parameters:
  ///   - status: of the reply, for example 403.
  ///   - words: why there is nothing else.
  ///   - isFinal: whether clients are told that another try would change nothing.
  public static func refusal(_ status: Int, _ words: String, isFinal: Bool = false) -> WireReply {
    let error: JSONValue = [
      "type": "error",
      "error": [
        "type": "agent_eval_proxy", "code": "agent_eval_proxy",
        "message": .string("agent-eval: \(words)"), "param": .null,
      ],
    ]
    var headers = [("content-type", "application/json")]
    if isFinal { headers.append(("x-should-retry", "false")) }
    return WireReply(
      status: status, headers: headers, pieces: [CanonicalJSON.encode(error, form: .plain)],
      ending: .whole)
  }

  /// Whether a log keeps a header: none that names a person, a session or a machine.
  public static func isKept(header name: String) -> Bool {
    let name = name.lowercased()
    return [
      "content-type", "content-encoding", "x-should-retry", "retry-after", "retry-after-ms",
      "x-amzn-errortype",
    ].contains(name)
  }

  /// The body in one piece.
  public var body: [UInt8] { pieces.flatMap { $0 } }

  public static func == (left: WireReply, right: WireReply) -> Bool {
    left.status == right.status && left.pieces == right.pieces && left.ending == right.ending
      && left.headers.elementsEqual(right.headers) { $0.name == $1.name && $0.value == $1.value }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(status)
    hasher.combine(pieces)
    hasher.combine(ending)
  }
}

/// A request that was observed and what came back, as an event keeps it under `wire`.
public struct WireRecord: Sendable, Hashable {
  /// Which upstream it went to: `openai`, `anthropic`, or a name of the user's.
  public var upstream: String
  /// For example `POST`.
  public var method: String
  /// Behind the upstream's base URL, with the query.
  public var path: String
  /// Of a request that a codec reads, its ``Dialect``; else `nil`.
  public var dialect: String?
  /// Of such a request, whether the reply is streamed, and what else it asks for.
  public var streams: Bool
  /// See ``ObservedRequest/parameters``.
  public var parameters: JSONObject
  /// The model that the request names.
  public var model: String?
  /// What came back; `nil` where nothing did, or it could not be kept.
  public var reply: WireReply?
  /// Why the reply was not kept; `nil` where it was, or there is none.
  public var omitted: String?
  /// Whether whoever asked went away before anything came.
  public var isLeft = false

  /// Without more, a request that no codec reads, for which nothing came back.
  public init(
    upstream: String, method: String, path: String, dialect: String? = nil, streams: Bool = false,
    parameters: JSONObject = [:], model: String? = nil, reply: WireReply? = nil,
    omitted: String? = nil
  ) {
    self.upstream = upstream
    self.method = method
    self.path = path
    self.dialect = dialect
    self.streams = streams
    self.parameters = parameters
    self.model = model
    self.reply = reply
    self.omitted = omitted
  }

  /// The wire form.
  public var encoded: JSONObject {
    var object: JSONObject = [
      "upstream": .string(upstream), "method": .string(method), "path": .string(path),
    ]
    object["dialect"] = dialect.map(JSONValue.string)
    if dialect != nil {
      object["stream"] = .bool(streams)
      object["parameters"] = .object(parameters)
      object["model"] = model.map(JSONValue.string)
    }
    object["omitted"] = omitted.map(JSONValue.string)
    if isLeft, reply == nil { object["ending"] = .string(WireReply.Completeness.dropped.rawValue) }
    guard let reply else { return object }
    object["status"] = JSONValue(reply.status)
    object["headers"] = .array(reply.headers.map { [.string($0.name), .string($0.value)] })
    object["ending"] = .string(reply.ending.rawValue)
    let body = reply.body
    object["body"] = String(validating: body, as: UTF8.self).map(JSONValue.string) ?? .bytes(body)
    if reply.pieces.count > 1, reply.pieces.count <= WireReply.pieceLimit {
      object["pieces"] = .array(reply.pieces.map { JSONValue($0.count) })
    }
    return object
  }

  /// Reads the wire form; `nil` where the value is none.
  public init?(_ value: JSONValue?) {
    guard let value, let upstream = value["upstream"]?.stringValue,
      let method = value["method"]?.stringValue, let path = value["path"]?.stringValue
    else { return nil }
    self.init(
      upstream: upstream, method: method, path: path, dialect: value["dialect"]?.stringValue,
      streams: value["stream"]?.boolValue ?? false,
      parameters: value["parameters"]?.objectValue ?? [:], model: value["model"]?.stringValue,
      omitted: value["omitted"]?.stringValue)
    if value["status"] == nil,
      value["ending"]?.stringValue == WireReply.Completeness.dropped.rawValue
    {
      isLeft = true
    }
    guard let status = value["status"]?.intValue, (100...999).contains(status) else { return }
    let bytes: [UInt8]
    switch value["body"] {
    case .string(let text)?: bytes = Array(text.utf8)
    case .bytes(let raw)?: bytes = raw
    default:
      omitted = omitted ?? "its body is lost"
      return
    }
    reply = WireReply(
      status: status,
      headers: (value["headers"]?.arrayValue ?? []).compactMap { header in
        guard let name = header[0]?.stringValue, let value = header[1]?.stringValue else {
          return nil
        }
        return (name, value)
      },
      pieces: Self.pieces(of: bytes, value["pieces"]),
      ending: value["ending"]?.stringValue.flatMap(WireReply.Completeness.init) ?? .whole)
  }

  /// The body in its pieces; in one where their lengths do not add up.
  private static func pieces(of bytes: [UInt8], _ lengths: JSONValue?) -> [[UInt8]] {
    let counts = lengths?.arrayValue?.compactMap(\.intValue) ?? []
    var (pieces, start): ([[UInt8]], Int) = ([], 0)
    for count in counts {
      guard count >= 0, count <= bytes.count - start else { return [bytes] }
      pieces.append(Array(bytes[start..<(start + count)]))
      start += count
    }
    if start < bytes.count { pieces.append(Array(bytes[start...])) }
    return pieces
  }
}
