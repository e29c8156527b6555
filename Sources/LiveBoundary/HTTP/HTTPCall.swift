/// A header of a request or a reply.
public struct HTTPHeader: Sendable, Hashable {
  /// As it is sent; compared without regard to case.
  public var name: String
  /// As it is sent.
  public var value: String

  /// One that HTTP cannot carry is told when the call is made.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

extension [HTTPHeader] {
  /// The value of the first header of this name, in whatever case it is written; `nil` where none is there.
  public subscript(name: String) -> String? {
    first { $0.name.lowercased().utf8.elementsEqual(name.lowercased().utf8) }?.value
  }
}

/// How long a request may take, in seconds.
public struct HTTPTimeouts: Sendable, Hashable {
  /// Until a connection stands, its encryption included.
  public var connect: Double
  /// From the beginning, connecting included, to the head of the reply.
  public var firstByte: Double
  /// Between two pieces of the reply's body.
  public var idle: Double
  /// From the beginning to the end of the body.
  public var total: Double
  /// Whether `total` is what happened to be left of a longer time, so that no failure tells it.
  public var isTotalLeftOver = false

  /// The defaults are those of the model vendors' own clients: 5 seconds to connect, 600 in all.
  public init(
    connect: Double = 5, firstByte: Double = 600, idle: Double = 600, total: Double = 600
  ) {
    self.connect = connect
    self.firstByte = firstByte
    self.idle = idle
    self.total = total
  }
}

/// One request over HTTP. Redirects are never followed: they come back as what they are.
public struct HTTPCall: Sendable, Hashable {
  /// For example `POST`.
  public var method: String
  /// With scheme (`http` or `https`), host and path.
  public var url: String
  /// Besides `Host` and the body's length, which are added.
  public var headers: [HTTPHeader]
  /// What is sent; `nil` for a request without a body.
  public var body: [UInt8]?
  /// When to give up.
  public var timeouts: HTTPTimeouts
  /// The address that is connected to in place of what the URL's host resolves to; certificates are still
  /// checked against that host. A connection made so is not used again.
  public var address: String?
  /// Whether a body with a `Content-Encoding` is handed over decoded. A body that a proxy passes on is not.
  public var decodesBody: Bool
  /// A file of authorities (PEM) that are trusted besides the usual ones; `nil` for none.
  public var authorityFile: String?

  /// A URL that names no host, or a header that HTTP cannot carry, is told when the call is made.
  public init(
    method: String = "POST", url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil,
    timeouts: HTTPTimeouts = HTTPTimeouts(), address: String? = nil, decodesBody: Bool = true
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeouts = timeouts
    self.address = address
    self.decodesBody = decodesBody
  }
}

/// What stands before the body of a reply.
public struct HTTPHead: Sendable, Hashable {
  /// For example 200.
  public var status: Int
  /// In the order they came in.
  public var headers: [HTTPHeader]
}

/// Why a request has no reply, or none that is whole.
public struct HTTPFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What went wrong.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The URL, the method or a header cannot be sent.
    case invalidCall
    /// No connection: the name is unknown, nobody listens, or the certificate is not trusted.
    case unreachable
    /// No connection within ``HTTPTimeouts/connect``.
    case connectTimeout
    /// No head within ``HTTPTimeouts/firstByte``.
    case firstByteTimeout
    /// Nothing more of the body within ``HTTPTimeouts/idle``.
    case idleTimeout
    /// No end within ``HTTPTimeouts/total``.
    case totalTimeout
    /// The other side closed the connection, or what it sent is not HTTP.
    case connectionLost
    /// The body is longer than was asked for.
    case tooLarge
    /// The task was cancelled; the connection is closed.
    case cancelled
  }

  /// What went wrong.
  public var kind: Kind
  /// The same in words. No header of the request and no query of its URL is in it.
  public var description: String

  /// Whether the other side may have seen the request.
  public var mayHaveArrived: Bool {
    switch kind {
    case .invalidCall, .unreachable, .connectTimeout: false
    default: true
    }
  }

  /// The words must hold no header of the request and no query of its URL.
  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
