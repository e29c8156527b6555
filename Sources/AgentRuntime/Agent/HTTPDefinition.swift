/// A tool that is one request over HTTP.
public struct HTTPDefinition: Sendable, Hashable {
  /// The methods that are sent.
  public enum Method: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"

    /// Whether its requests have a body where nothing else is said.
    var hasBody: Bool {
      switch self {
      case .get, .head, .delete: false
      case .post, .put, .patch: true
      }
    }
  }

  /// What becomes of the input that is neither in the URL's path nor named as a query parameter.
  public enum Body: String, Sendable, Hashable, CaseIterable {
    /// It is sent as one JSON object.
    case json
    /// It is sent as a form (application/x-www-form-urlencoded).
    case form
    /// It goes into the query, and there is no body.
    case none
  }

  /// Which method.
  public var method: Method
  /// The URL, in which `{key}` stands for a value of the input, percent-encoded as one piece of the path
  /// or of the query. No value reaches the host.
  public var url: URLTemplate
  /// Query parameters, and the keys of the input that they hold.
  public var query: [Parameter]
  /// What becomes of the rest of the input.
  public var body: Body
  /// Sent with each request.
  public var headers: [ServerEndpoint.Header]
  /// Headers that say for whom the agent acts, as far as that is known.
  public var identityHeaders: [IdentityHeader] = []
  /// The hosts that a request may go to, redirects included, each with a port (`host:8080`) or without; the
  /// URL's own where it is empty. See ``AllowedHost``.
  public var allowedHosts: [String]
  /// Addresses and networks (`10.0.0.0/8`) that may be connected to although they are not public.
  public var allowedAddresses: [String]
  /// The most bytes of a reply.
  public var responseLimitBytes: Int

  /// A header that says a part of whom the agent acts for.
  public struct IdentityHeader: Sendable, Hashable {
    /// What it is called.
    public var name: String
    /// Which part.
    public var key: ToolRequest.IdentityKey

    /// A header with one part.
    public init(name: String, key: ToolRequest.IdentityKey) {
      self.name = name
      self.key = key
    }
  }

  /// A query parameter.
  public struct Parameter: Sendable, Hashable {
    /// What the server calls it.
    public var name: String
    /// The key of the input.
    public var key: String

    /// A parameter that holds the value of one key of the input.
    public init(name: String, key: String) {
      self.name = name
      self.key = key
    }
  }

  /// Without a body named, the method decides: JSON for POST, PUT and PATCH, none for the others. The defaults
  /// are those of an agent file that leaves the key out.
  public init(
    method: Method, url: URLTemplate, query: [Parameter] = [], body: Body? = nil,
    headers: [ServerEndpoint.Header] = [], allowedHosts: [String] = [],
    allowedAddresses: [String] = [], responseLimitBytes: Int = 1 << 20
  ) {
    self.method = method
    self.url = url
    self.query = query
    self.body = body ?? (method.hasBody ? .json : .none)
    self.headers = headers
    self.allowedHosts = allowedHosts
    self.allowedAddresses = allowedAddresses
    self.responseLimitBytes = responseLimitBytes
  }
}

/// A host that requests may go to, as an agent file has it: `host`, `host:port`, an IPv6 address in brackets
/// where a port follows.
public struct AllowedHost: Sendable, Hashable {
  /// In lower case, without brackets.
  public var name: String
  /// `nil` where none is named: then the URL's own of its host, the usual one of any other.
  public var port: Int?

  /// Reads the text; a port that is no number is part of the name, which then is nobody's.
  public init(_ text: String) {
    let text = text.lowercased()
    let isBracketed = text.utf8.first == UInt8(ascii: "[")
    let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
    var name = text[...]
    if isBracketed || colons == 1, let colon = text.lastIndex(of: ":"),
      !isBracketed || text[..<colon].hasSuffix("]"),
      let number = UInt16(text[text.index(after: colon)...])
    {
      name = text[..<colon]
      port = Int(number)
    }
    if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
    self.name = String(name)
  }
}
