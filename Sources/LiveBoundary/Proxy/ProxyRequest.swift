#if Live
  import AgentRuntime
  import AgentTrace

  /// A request as it came in.
  struct ProxyRequest: Sendable {
    var method: String
    var target: String
    var headers: [HTTPHeader]
    var body: [UInt8]

    /// Keys that it was sent with.
    var secrets: [String] {
      var secrets: [String] = []
      for header in headers {
        switch header.name.lowercased() {
        case "authorization", "proxy-authorization":
          secrets.append(header.value)
          if let space = header.value.firstIndex(of: " ") {
            secrets.append(String(header.value[space...].dropFirst()))
          }
        case "x-api-key", "api-key", "x-goog-api-key": secrets.append(header.value)
        default: break
        }
      }
      let query = target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
      for field in query.split(separator: "&") {
        let pair = field.split(separator: "=", maxSplits: 1)
        if pair.count == 2, ["key", "api_key", "token", "access_token"].contains(pair[0]) {
          secrets.append(String(pair[1]))
        }
      }
      return secrets
    }

    /// Why a request cannot be read.
    struct Fault: Error, CustomStringConvertible {
      var description: String
    }

    /// What it asks a model, or why that cannot be read.
    func observed(_ dialect: Dialect, path: String) -> Result<ObservedRequest, Fault> {
      var body = body
      func fault(_ words: String) -> Result<ObservedRequest, Fault> {
        .failure(Fault(description: words))
      }
      guard body.count <= RecordingProxy.readLimitBytes else {
        return fault("it has \(body.count) bytes")
      }
      let encoding = headers["content-encoding"]?.lowercased()
      if BodyInflater.isCompressed(body, encoding: encoding) {
        do throws(BodyInflater.Fault) {
          body = try BodyInflater.inflated(
            body, encoding: encoding, limitBytes: RecordingProxy.readLimitBytes)
        } catch { return fault("\(error)") }
      }
      guard let value = try? JSONValue(parsing: body, options: .init(keepsForeignText: true)),
        let object = value.objectValue
      else { return fault("it is no JSON object") }
      guard var observed = dialect.observed(object, path: path) else {
        return fault("it is no request of its dialect")
      }
      observed.model = observed.model?.prefix(utf8Bytes: ExchangeRecorder.nameLimitBytes)
      return .success(observed)
    }
  }

  /// Where a request goes.
  struct ProxyRoute: Sendable {
    var upstream: ProxyRoutes.Upstream
    /// Behind the base URL, with the query.
    var path: String

    var plainPath: String { String(path.prefix { $0 != "?" }) }

    /// Headers of one connection, and what the two sides agree on for themselves.
    private static let ownHeaders = [
      "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive",
      "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
      "transfer-encoding", "upgrade",
    ]

    static func isPassedOn(_ header: HTTPHeader) -> Bool {
      !ownHeaders.contains(header.name.lowercased())
    }

    /// The request as the provider gets it. Compressed replies are not asked for: nobody could read them in
    /// the log.
    func call(_ request: ProxyRequest) -> HTTPCall {
      let call = HTTPCall(
        method: request.method, url: upstream.url + path,
        headers: request.headers.filter(Self.isPassedOn)
          + [HTTPHeader("accept-encoding", "identity")],
        body: request.body.isEmpty && request.method != "POST" ? nil : request.body,
        // Whoever asks has limits of their own.
        timeouts: HTTPTimeouts(connect: 30, firstByte: 86_400, idle: 86_400, total: 86_400),
        decodesBody: false)
      guard upstream.name == ProxyRoutes.bedrock,
        let credentials = AWSCredentials(variables: { ProcessVariables[$0] })
      else { return call }
      return credentials.signed(call, microsecondsSince1970: SystemClock.microsecondsSince1970)
    }
  }
#endif
