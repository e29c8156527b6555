import AgentRuntime
import AgentTrace

/// Who asks Amazon's services: a client that asks a proxy signs for the proxy's address, which no service takes, so
/// that the proxy signs anew for where the request goes.
///
/// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
struct AWSCredentials: Sendable {
  enum Kind: Sendable {
    case keys(id: String, secret: String, session: String?)
    case bearer(String)
  }

  var kind: Kind

  /// Those that the usual variables hold, a token for Bedrock first, as in Amazon's own clients; `nil` where there
  /// are none.
  init?(variables: (String) -> String?) {
    func value(_ name: String) -> String? { variables(name).flatMap { $0.isEmpty ? nil : $0 } }
    if let token = value(Self.tokenVariable) {
      kind = .bearer(token)
    } else if let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") {
      kind = .keys(id: id, secret: secret, session: value("AWS_SESSION_TOKEN"))
    } else {
      return nil
    }
  }

  /// Amazon's clients send it by HTTPS alone.
  static let tokenVariable = "AWS_BEARER_TOKEN_BEDROCK"
  /// Headers that a signature of their own comes with.
  private static let ownHeaders = [
    "authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token",
  ]
  private static let algorithm = "AWS4-HMAC-SHA256"

  /// A request with these credentials in place of those that it came with; as it is where it came with no
  /// signature.
  ///
  /// - Parameter microseconds: now, since 1970.
  func signed(_ call: HTTPCall, microsecondsSince1970 microseconds: Int) -> HTTPCall {
    guard let address = HTTPAddress(call.url), let found = call.headers["authorization"],
      let scope = Self.scope(found)
    else { return call }
    var signed = call
    signed.headers.removeAll { Self.ownHeaders.contains($0.name.lowercased()) }
    switch kind {
    // As Amazon's own clients do: over an open line no token is sent.
    case .bearer where address.scheme != "https" && !Self.isHere(address): return call
    case .bearer(let token): signed.headers.append(HTTPHeader("Authorization", "Bearer \(token)"))
    case .keys(let id, let secret, let session):
      let time = UTC.text(microsecondsSince1970: microseconds)
      let moment = String(time.prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
      var named = [("host", Self.host(of: address)), ("x-amz-date", moment)]
      signed.headers.append(HTTPHeader("X-Amz-Date", moment))
      if let session {
        named.append(("x-amz-security-token", session))
        signed.headers.append(HTTPHeader("X-Amz-Security-Token", session))
      }
      let names = named.map(\.0).joined(separator: ";")
      let parts = address.target.split(
        separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      let request = [
        call.method, Self.path(String(parts[0])),
        Self.query(parts.count > 1 ? String(parts[1]) : ""),
        named.map { "\($0.0):\($0.1)\n" }.joined(), names, Digest(of: call.body ?? []).hex,
      ].joined(separator: "\n")
      let day = String(moment.prefix(8))
      let place = "\(day)/\(scope.region)/\(scope.service)/aws4_request"
      let text = [Self.algorithm, moment, place, Digest(of: Array(request.utf8)).hex]
        .joined(separator: "\n")
      var key = Array("AWS4\(secret)".utf8)
      for word in [day, scope.region, scope.service, "aws4_request", text] {
        key = Digest(authenticating: Array(word.utf8), key: key).bytes
      }
      let digits = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      signed.headers.append(
        HTTPHeader(
          "Authorization",
          "\(Self.algorithm) Credential=\(id)/\(place), SignedHeaders=\(names), Signature=\(digits)"
        ))
    }
    return signed
  }

  /// What a signature is made for; `nil` where a header holds none.
  private static func scope(_ header: String) -> (region: String, service: String)? {
    guard header.hasPrefix(algorithm),
      let start = header.firstRange(of: "Credential=")?.upperBound
    else { return nil }
    let parts = header[start...].prefix { $0 != "," && $0 != " " }.split(separator: "/")
    guard parts.count == 5, parts[4] == "aws4_request" else { return nil }
    return (String(parts[2]), String(parts[3]))
  }

  private static func isHere(_ address: HTTPAddress) -> Bool {
    ["127.0.0.1", "::1", "localhost"].contains(address.host)
  }

  private static func host(of address: HTTPAddress) -> String {
    let name = address.host.contains(":") ? "[\(address.host)]" : address.host
    let usual = address.scheme == "https" ? 443 : 80
    return address.port == usual ? name : "\(name):\(address.port)"
  }

  /// Escaped once more, as all services but one want it.
  private static func path(_ path: String) -> String {
    path.split(separator: "/", omittingEmptySubsequences: false).map {
      URLTemplate.escaped(String($0))
    }.joined(separator: "/")
  }

  private static func query(_ query: String) -> String {
    query.split(separator: "&").map { field in
      field.contains("=") ? String(field) : "\(field)="
    }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: "&")
  }
}
