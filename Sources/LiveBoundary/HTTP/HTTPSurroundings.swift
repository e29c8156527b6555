/// What the variables of a process say about the way to servers: proxies, and whose certificates are trusted.
public struct HTTPSurroundings: Sendable, Hashable {
  /// A proxy that requests go by way of.
  public struct Proxy: Sendable, Hashable {
    /// Its name or address.
    public var host: String
    /// Its port.
    public var port: Int
    /// `user:password`, where the variable holds one; in no message and no log.
    public var credentials: String?
    /// The variable that names it.
    public var variable: String
  }

  /// A variable that says something which cannot be used.
  public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// In words, without the variable's value: a password may stand in it.
    public var description: String
  }

  /// The file of authorities in place of the system's (`SSL_CERT_FILE`); `nil` where it is not set.
  public let authorityFile: String?
  /// The folder of them (`SSL_CERT_DIR`); `nil` where it is not set.
  public let authorityFolder: String?
  private let variables: [String: String]

  private static let names = [
    "https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
    "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD",
  ]

  /// - Parameter variable: the value of a variable; `nil` where it is not set.
  public init(_ variable: (String) -> String?) {
    var variables: [String: String] = [:]
    for name in Self.names {
      if let value = variable(name), !value.isEmpty { variables[name] = value }
    }
    self.variables = variables
    authorityFile = variables["SSL_CERT_FILE"]
    authorityFolder = variables["SSL_CERT_DIR"]
  }

  /// Those of this process, as they are now.
  public static var ofThisProcess: HTTPSurroundings { HTTPSurroundings { ProcessVariables[$0] } }

  /// The proxy by which an address is reached; `nil` where it is reached without one. Loopback always is.
  ///
  /// - Throws: ``Fault`` where the variable names no proxy that can be used.
  public func proxy(for address: HTTPAddress) throws(Fault) -> Proxy? {
    guard !Self.isLoopback(address.host), !isExcepted(address) else { return nil }
    let names =
      address.scheme == "https"
      ? ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
      // A program that serves a request finds headers of it in variables like HTTP_PROXY.
      : [
        "http_proxy", variables["REQUEST_METHOD"] == nil ? "HTTP_PROXY" : "", "all_proxy",
        "ALL_PROXY",
      ]
    guard let name = names.first(where: { variables[$0] != nil }), var text = variables[name] else {
      return nil
    }
    if let range = text.firstRange(of: "://") {
      guard text[..<range.lowerBound].lowercased() == "http" else {
        throw Fault(description: "the proxy in \(name) is none that is reached over http://")
      }
      text = String(text[range.upperBound...])
    }
    var credentials: String?
    if let at = text.lastIndex(of: "@") {
      guard let decoded = Self.decoded(text[..<at]) else {
        throw Fault(description: "user and password of the proxy in \(name) cannot be read")
      }
      credentials = decoded
      text = String(text[at...].dropFirst())
    }
    while text.hasSuffix("/") { text.removeLast() }
    guard let found = HTTPAddress("http://\(text)"), found.target == "/" else {
      throw Fault(description: "the variable \(name) names no proxy: http://HOST:PORT")
    }
    return Proxy(host: found.host, port: found.port, credentials: credentials, variable: name)
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.") || host.hasSuffix(".localhost")
  }

  /// Whether `NO_PROXY` names an address: `*`, a host, a domain with what is below it, with a port or without.
  private func isExcepted(_ address: HTTPAddress) -> Bool {
    let text = variables["no_proxy"] ?? variables["NO_PROXY"] ?? ""
    return text.split(whereSeparator: { $0 == "," || $0 == " " }).contains { entry in
      if entry == "*" { return true }
      var name = entry.lowercased()
      if name.hasPrefix("[") || name.filter({ $0 == ":" }).count == 1,
        let colon = name.lastIndex(of: ":"), let port = Int(name[colon...].dropFirst())
      {
        guard port == address.port else { return false }
        name = String(name[..<colon])
      }
      name = String(name.drop { $0 == "[" || $0 == "*" || $0 == "." }.prefix { $0 != "]" })
      return !name.isEmpty && (address.host == name || address.host.hasSuffix(".\(name)"))
    }
  }

  /// Text without `%XX`; `nil` where that is no text.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.first {
      if byte == UInt8(ascii: "%") {
        guard rest.count >= 3,
          let value = UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16)
        else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
        rest = rest.dropFirst()
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
