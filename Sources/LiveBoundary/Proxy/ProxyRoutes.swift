import AgentTrace

/// Where a proxy passes requests on to, and what tells a command to send them to the proxy.
public struct ProxyRoutes: Sendable, Hashable {
  /// One provider.
  public struct Upstream: Sendable, Hashable {
    /// The first part of the proxy's paths: `openai`, `anthropic`, or a name of the user's.
    public var name: String
    /// Its base URL, without a slash at the end.
    public var url: String
    /// The variables that programs look for the base URL in.
    public var variables: [String]
    /// The path of the base URL, without a slash at the end; the proxy's has it too, because some programs
    /// look at it.
    var basePath: String
  }

  /// Every provider, each name once.
  public private(set) var upstreams: [Upstream] = []
  /// Whether a token for Bedrock is kept from the command, and whether it has no keys in its place.
  private var (hidesToken, lacksKeys) = (false, false)

  /// The variables by which the clients of the usual providers find them, the first that is set counts; and
  /// where these are else: `nil` where everybody has an address of their own.
  private static let usual: [(name: String, variables: [String], url: String?)] = [
    (
      "openai", ["OPENAI_BASE_URL", "OPENAI_API_BASE"], "https://api.openai.com/v1"
    ),
    (
      "anthropic", ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "ANTHROPIC_API_URL"],
      "https://api.anthropic.com"
    ),
    (
      "gemini", ["GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"],
      "https://generativelanguage.googleapis.com"
    ),
    ("azure", ["AZURE_OPENAI_ENDPOINT"], nil),
    (bedrock, ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"], nil),
    ("ollama", ["OLLAMA_HOST", "OLLAMA_API_BASE", "OLLAMA_BASE_URL"], "http://127.0.0.1:11434"),
  ]

  /// The upstream that is asked with a signature.
  static let bedrock = "bedrock"

  /// Where Bedrock is for those who have credentials and a region for it; `nil` for everyone else.
  private static func bedrockURL(_ variables: (String) -> String?) -> String? {
    let region = ["AWS_REGION", "AWS_DEFAULT_REGION"].lazy.compactMap(variables).first {
      !$0.isEmpty && $0.utf8.allSatisfy(isName)
    }
    guard let region, AWSCredentials(variables: variables) != nil else { return nil }
    return "https://bedrock-runtime.\(region).amazonaws.com"
  }

  /// Ollama's own variable may hold a host alone, also one that only servers listen on.
  private static func whole(_ url: String) -> String {
    guard !url.contains("://") else { return url }
    let parts = url.split(separator: ":")
    let hasPort = parts.count > 1 && parts.last.flatMap { Int($0) } != nil
    let host = url.replacing("0.0.0.0", with: "127.0.0.1")
    return "http://\(host)\(hasPort ? "" : ":11434")"
  }

  /// What is wrong with an upstream that was asked for.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// In words.
    public var description: String
  }

  /// The usual providers, and those that were asked for.
  ///
  /// - Parameters:
  ///   - asked: `NAME=URL` each; a usual name says where that provider is, any other one is told to the
  ///     command as `NAME_BASE_URL`.
  ///   - variables: those of this process: where they name a base URL, that is where requests go.
  ///   - asksProviders: whether requests go anywhere; else a recording answers them, and every variable leads to
  ///     the proxy.
  /// - Throws: ``Fault`` where one is not of that form.
  public init(
    _ asked: [String], asksProviders: Bool = true, variables: (String) -> String?
  ) throws(Fault) {
    for usual in Self.usual {
      let found = usual.variables.lazy.compactMap(variables).first { !$0.isEmpty }
      let nowhere = asksProviders ? nil : "http://nowhere.invalid"
      let made = usual.name == Self.bedrock ? Self.bedrockURL(variables) : nil
      guard var url = found ?? usual.url ?? made ?? nowhere else { continue }
      if usual.name == "ollama", let usually = usual.url {
        url = Self.whole(url)
        // What only a server makes something of is no place to ask.
        if HTTPAddress(url) == nil { url = usually }
      }
      try add(usual.name, url, usual.variables, usual.variables[0])
    }
    let hasKeys = variables("AWS_ACCESS_KEY_ID").map { !$0.isEmpty } ?? false
    let hasToken = variables(AWSCredentials.tokenVariable).map { !$0.isEmpty } ?? false
    defer { hidesToken = hasToken && upstreams.contains { $0.name == Self.bedrock } }
    lacksKeys = !hasKeys
    for text in asked {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw Fault(description: "an upstream is NAME=URL, not “\(text)”")
      }
      let name = String(text[..<equals])
      guard name.utf8.allSatisfy(Self.isName), name.utf8.count <= 40 else {
        throw Fault(description: "the name of an upstream is letters, digits, “-” and “_”")
      }
      let known = Self.usual.first { $0.name == name }?.variables
      let own = String(name.uppercased().map { $0 == "-" ? "_" : $0 }) + "_BASE_URL"
      try add(name, String(text[equals...].dropFirst()), known ?? [own], "--upstream \(name)")
    }
  }

  private mutating func add(
    _ name: String, _ url: String, _ variables: [String], _ place: String
  ) throws(Fault) {
    var url = url
    while url.hasSuffix("/") { url.removeLast() }
    guard let address = HTTPAddress(url), !url.contains("?") else {
      throw Fault(description: "\(place) is no URL of HTTP without a query")
    }
    var path = address.target
    while path.hasSuffix("/") { path.removeLast() }
    upstreams.removeAll { $0.name == name }
    upstreams.append(Upstream(name: name, url: url, variables: variables, basePath: path))
  }

  private static func isName(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-_".utf8.contains(byte)
  }

  /// The variables that a command gets, so that its clients ask the proxy at a port; `nil` for one that it does not
  /// get though this process has it.
  ///
  /// Amazon's clients send a token by HTTPS alone. Where one is set they sign in its place, with keys that are none,
  /// and the proxy brings the token.
  public func variables(port: Int) -> [(name: String, value: String?)] {
    var variables: [(name: String, value: String?)] = upstreams.flatMap { upstream in
      upstream.variables.map {
        ($0, "http://127.0.0.1:\(port)/\(upstream.name)\(upstream.basePath)")
      }
    }
    guard hidesToken else { return variables }
    variables.append((AWSCredentials.tokenVariable, nil))
    if lacksKeys {
      variables += ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map { ($0, Self.noKey) }
    }
    return variables
  }

  /// What stands where a client wants to have a key and none is needed.
  public static let noKey = "no-key-is-needed"

  /// Where a request to the proxy goes; `nil` where its path begins with no upstream's.
  func route(_ target: String) -> (upstream: Upstream, path: String)? {
    for upstream in upstreams {
      let prefix = "/\(upstream.name)\(upstream.basePath)"
      guard target.hasPrefix(prefix) else { continue }
      let rest = target.dropFirst(prefix.count)
      if rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix("?") {
        return (upstream, String(rest))
      }
    }
    return nil
  }
}
