import AgentRuntime
import AgentTrace

/// The key `http` of a tool: one request.
enum HTTPFile {
  private struct Draft: Sendable {
    var method = HTTPDefinition.Method.get
    var url: URLTemplate?
    var query: [HTTPDefinition.Parameter] = []
    var body: HTTPDefinition.Body?
    var headers: [ServerEndpoint.Header] = []
    var identityHeaders: [HTTPDefinition.IdentityHeader] = []
    var allowedHosts: [String] = []
    var allowedAddresses: [String] = []
    var responseLimitBytes = 1 << 20
  }

  static let shape = Shape<Draft>.record(
    Draft(),
    [
      Field(
        "method", .word, \.method,
        "GET, HEAD, POST, PUT, PATCH or DELETE; GET where it is left out."),
      Field(
        "url", url, \.url, required: true,
        "The URL; {key} in its path or query stands for a value of the input."),
      Field(
        "query", query, \.query,
        "Keys of the input that go into the query: a list, or a mapping from parameters to keys."),
      Field(
        "body", .word, \.body,
        "What becomes of the rest of the input: json, form or none (then it goes into the query)."),
      Field(
        "headers", headers, \.headers,
        "Headers of the request; ${NAME} is filled in from this process's environment."),
      Field(
        "identityHeaders", identityHeaders, \.identityHeaders,
        "Headers that say for whom the agent acts: a mapping from their names to runId, callId, actorId, tenantId or route."
      ),
      Field(
        "allowedHosts", .list(of: .name, atLeast: 1), \.allowedHosts,
        "Hosts that a request may go to, redirects included, with a port where it is not the usual one; the URL's own where it is left out."
      ),
      Field(
        "allowedAddresses", .list(of: network, atLeast: 1), \.allowedAddresses,
        "Addresses and networks that may be connected to although they are not public."),
      Field(
        "responseLimitBytes", .count(1...(64 << 20)), \.responseLimitBytes,
        "The most bytes of a reply; 1048576 where it is left out."),
    ]
  ).map { draft, reader -> HTTPDefinition? in
    guard let url = draft.url else { return nil }
    if !draft.allowedHosts.isEmpty,
      !draft.allowedHosts.contains(where: { AllowedHost($0).name.hasSameUTF8(as: url.host) })
    {
      return reader.refuse(
        "the URL's own host \(url.host.quoted) is not among them", deeper: [.key("allowedHosts")])
    }
    var http = HTTPDefinition(
      method: draft.method, url: url, query: draft.query, body: draft.body,
      headers: draft.headers, allowedHosts: draft.allowedHosts,
      allowedAddresses: draft.allowedAddresses, responseLimitBytes: draft.responseLimitBytes)
    http.identityHeaders = draft.identityHeaders
    return http
  }

  private static let identityHeaders = Shape<[HTTPDefinition.IdentityHeader]>.members(
    ["type": "object", "additionalProperties": Shape<ToolRequest.IdentityKey>.word.schema()],
    expected: "a mapping from headers to what they say"
  ) { member, reader in
    guard isHeader(member.key, reader) else { return nil }
    return Shape<ToolRequest.IdentityKey>.word.read(member.value, reader).map {
      HTTPDefinition.IdentityHeader(name: member.key, key: $0)
    }
  }

  private static let url = Shape<URLTemplate>(["type": "string", "pattern": "^https?://[^/?#{}]+"])
  {
    value, reader in
    guard case .string(let text) = value else {
      return reader.refuseKind(of: value, expected: "a URL")
    }
    // So values are written everywhere else, and here the sign would be sent.
    if text.contains("${") {
      reader.report(
        "a “$” is sent before the value", hint: "in a URL write {key}, without the sign",
        as: .warning)
    }
    do { return try URLTemplate(text) } catch {
      return reader.refuse("\(error)")
    }
  }

  private static let query = Shape<[HTTPDefinition.Parameter]>([
    "anyOf": [
      Shape<[String]>.list(of: .name, atLeast: 1).schema(),
      ["type": "object", "additionalProperties": Shape<String>.name.schema()],
    ]
  ]) { value, reader in
    if case .object(let object) = value {
      return object.compactMap { member in
        reader.within(.key(member.key)) {
          Shape<String>.name.read(member.value, reader).map {
            HTTPDefinition.Parameter(name: member.key, key: $0)
          }
        }
      }
    }
    return Shape<[String]>.list(of: .name, atLeast: 1).read(value, reader)?.map {
      HTTPDefinition.Parameter(name: $0, key: $0)
    }
  }

  /// Headers by their names. Those that say how the message is made are not for a file to say.
  static let headers = Shape<[ServerEndpoint.Header]>.members([
    "type": "object", "propertyNames": ["pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"],
    "additionalProperties": ["type": "string", "pattern": "^[\\t -~]*$"],
  ]) { member, reader in
    guard isHeader(member.key, reader) else { return nil }
    guard case .string(let text) = member.value,
      text.utf8.allSatisfy({ $0 == 0x09 || (0x20...0x7e).contains($0) })
    else {
      return reader.refuseKind(of: member.value, expected: "text of visible ASCII characters")
    }
    return ServerEndpoint.Header(name: member.key, value: EnvironmentText(text))
  }

  /// Whether a file may set a header, reported where not.
  private static func isHeader(_ name: String, _ reader: FieldReader) -> Bool {
    if isToken(name),
      !["host", "content-length", "transfer-encoding", "connection"].contains(name.lowercased())
    {
      return true
    }
    reader.report("is no name of a header that can be set", at: .key)
    return false
  }

  /// Whether a text may name a header at all.
  static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { CommandFile.isWord($0) || "!#$%&'*+.^`|~-".utf8.contains($0) }
  }

  private static let network = Shape<String>.text(
    ["type": "string", "pattern": "^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$"],
    expected: "an address, or a network such as 10.0.0.0/8"
  ) { AddressRange($0) != nil }
}
