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
  /// The hosts that a request may go to, redirects included; the URL's own where it is empty.
  public var allowedHosts: [String]
  /// Addresses and networks (`10.0.0.0/8`) that may be connected to although they are not public.
  public var allowedAddresses: [String]
  /// The most bytes of a reply.
  public var responseLimitBytes: Int

  /// A query parameter.
  public struct Parameter: Sendable, Hashable {
    /// What the server calls it.
    public var name: String
    /// The key of the input.
    public var key: String

    /// Nothing is checked.
    public init(name: String, key: String) {
      self.name = name
      self.key = key
    }
  }

  /// Nothing is checked. The defaults are those of an agent file that leaves the key out.
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
