#if Live
  public import AgentRuntime
  import AgentTrace

  /// A tool that is one request over HTTP. Docs/http-tools.md is the contract.
  public struct HTTPTool: Tool {
    /// How many redirects are followed.
    private static let redirectLimit = 5
    /// How much of the body of a reply that says no is quoted.
    private static let quoteBytes = 2_048
    /// How many addresses of a host are tried.
    private static let addressLimit = 3

    private let http: HTTPDefinition
    private let clock: any RunClock
    private let cancellation: Cancellation
    private let lookUp: @Sendable (String) async -> [String]

    /// - Parameters:
    ///   - http: The request that a call makes.
    ///   - clock: On a fixed clock a call takes no time, so that a run gives the same bytes each time.
    ///   - cancellation: What cuts a call off.
    ///   - lookUp: gives the addresses of a host; the system where it is left out.
    public init(
      _ http: HTTPDefinition, clock: any RunClock, cancellation: Cancellation,
      lookUp: @escaping @Sendable (String) async -> [String] = HostLookup.addresses
    ) {
      self.http = http
      self.clock = clock
      self.cancellation = cancellation
      self.lookUp = lookUp
    }

    /// Why nothing was sent.
    private struct NotSent: Error {
      var words: String
    }

    public func run(_ request: ToolRequest) async -> ToolAnswer {
      let limit = request.timeoutMicroseconds ?? CommandTool.defaultTimeoutMicroseconds
      if let answer = ToolAnswer.untried("not sent", within: limit, cancellation) { return answer }
      let start = SuspendingClock.now
      var answer = await answer(to: request, limit: limit)
      answer.elapsedMicroseconds =
        clock.isFixed ? 0 : (SuspendingClock.now - start).wholeMicroseconds
      return answer
    }

    private func answer(to request: ToolRequest, limit: Int) async -> ToolAnswer {
      let end = ContinuousClock.now + .microseconds(limit)
      do {
        let call = try self.call(for: request)
        return try await exchange(call, request, until: end)
      } catch let fault as NotSent {
        return ToolAnswer(result: .error("not sent: \(fault.words)"))
      } catch let failure as HTTPFailure {
        if let signal = cancellation.signal {
          return .cutOff(
            request, reason: "cancelled by \(signal)", by: signal, afterMicroseconds: 0)
        }
        switch failure.kind {
        case .firstByteTimeout, .idleTimeout, .totalTimeout:
          return .timedOut(request, afterMicroseconds: limit)
        default:
          return failure.mayHaveArrived
            ? .cutOff(request, reason: "\(failure)", afterMicroseconds: 0)
            : ToolAnswer(result: .error("not sent: \(failure)"))
        }
      } catch { return .cutOff(request, reason: "\(error)", afterMicroseconds: 0) }
    }

    // MARK: The request

    private func call(for request: ToolRequest) throws -> HTTPCall {
      guard case .object(let input) = request.input else {
        throw NotSent(words: "the input is \(request.input.typeName), not an object")
      }
      let taken = http.url.keys + http.query.map(\.key)
      var parameters: [(name: String, value: JSONValue)] = []
      for parameter in http.query {
        if let value = input[parameter.key] { parameters.append((parameter.name, value)) }
      }
      let rest = input.filter { member in !taken.contains { $0.hasSameUTF8(as: member.key) } }
      var headers: [HTTPHeader]
      do { headers = try http.headers.resolved() } catch { throw NotSent(words: "\(error)") }
      func add(_ name: String, _ value: String) {
        if headers[name] == nil { headers.append(HTTPHeader(name, value)) }
      }
      add("User-Agent", "agent-eval")
      add("Accept", "application/json, text/*;q=0.9, */*;q=0.5")
      for header in http.identityHeaders {
        guard let value = request[identity: header.key] else { continue }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
          throw NotSent(
            words: "\(header.key.rawValue) holds a control character, which no header can say")
        }
        headers.removeAll { $0.name.lowercased() == header.name.lowercased() }
        headers.append(HTTPHeader(header.name, value))
      }
      headers.removeAll { $0.name.lowercased() == "idempotency-key" }
      headers.append(HTTPHeader("Idempotency-Key", request.idempotencyKey))
      var body: [UInt8]?
      do throws(URLTemplate.Fault) {
        switch http.body {
        case .none: parameters += rest.map { ($0.key, $0.value) }
        case .json:
          add("Content-Type", "application/json")
          body = CanonicalJSON.encode(
            .object(JSONObject(rest.map { ($0.key, $0.value) })), form: .plain)
        case .form:
          add("Content-Type", "application/x-www-form-urlencoded")
          body = Array(try URLTemplate.form(rest.map { ($0.key, $0.value) }).utf8)
        }
        return HTTPCall(
          method: http.method.rawValue,
          url: try http.url.filled(from: request.input, adding: parameters), headers: headers,
          body: body)
      } catch { throw NotSent(words: error.description) }
    }

    // MARK: Where it goes

    /// Throws where a request may not go to a host, or not to that port of it: the URL's own host has the
    /// URL's port, any other the one of its scheme, unless it is allowed with a port of its own.
    private func check(_ target: HTTPAddress) throws {
      let (host, own) = (target.host, HTTPAddress(http.url.text))
      let isOwn = host.hasSameUTF8(as: own?.host ?? "")
      let usual = target.scheme == "https" ? 443 : 80
      let hosts = http.allowedHosts.isEmpty ? [http.url.host] : http.allowedHosts
      let allowed = hosts.filter { AllowedHost($0).name.hasSameUTF8(as: host) }
      guard !allowed.isEmpty else {
        throw NotSent(words: "the host \(host) is not among the tool's allowedHosts")
      }
      let ports = allowed.compactMap { AllowedHost($0).port } + (isOwn ? [own?.port ?? usual] : [])
      // From 80 to 443 leads the way to https.
      let isUsual = target.port == usual && (!isOwn || [80, 443].contains(own?.port))
      let isNamedWithoutPort = allowed.contains { AllowedHost($0).port == nil }
      guard ports.contains(target.port) || (isUsual && isNamedWithoutPort) else {
        throw NotSent(
          words: "the port \(target.port) of \(host) is not among the tool's allowedHosts")
      }
    }

    /// The addresses that a host may be reached at.
    private func addresses(of target: HTTPAddress) async throws -> [String] {
      try check(target)
      let host = target.host
      let found = AddressRange(host) == nil ? await lookUp(host) : [host]
      guard !found.isEmpty else { throw NotSent(words: "\(host) is not found") }
      let allowed = http.allowedAddresses.compactMap { AddressRange($0) }
      for text in found {
        // An address with a zone is one of a link.
        guard let address = AddressRange(text),
          address.isPublic || allowed.contains(where: { $0.contains(address) })
        else {
          throw NotSent(
            words: "\(host) leads to \(text), which is no public address; where that is meant, "
              + "name it in the tool's allowedAddresses")
        }
      }
      return Array(found.prefix(Self.addressLimit))
    }

    /// What is waited for no longer than there is time.
    private func withinTime<Value: Sendable>(
      until end: ContinuousClock.Instant, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await work() }
        group.addTask {
          try? await Task.sleep(until: end)
          return nil
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() ?? nil else {
          throw NotSent(words: "looking the host up takes too long")
        }
        return value
      }
    }

    // MARK: The reply

    private struct Reply: Sendable {
      var head: HTTPHead
      var body: [UInt8]
      /// Whether there was more of it.
      var isCut = false

      /// What is said of the effect by a reply that says no. Of JSON that is too long to be read nobody knows.
      var effect: JSONValue? {
        let text = body.withoutByteOrderMark
        if isCut, text.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") { return "unknown" }
        return (try? JSONValue(parsing: text))?["effect"]
      }
    }

    private func exchange(
      _ call: HTTPCall, _ request: ToolRequest, until end: ContinuousClock.Instant
    ) async throws -> ToolAnswer {
      var call = call
      var status: Int?
      for hop in 0... {
        let reply: Reply
        do { reply = try await self.reply(to: call, until: end) } catch {
          // The first request was sent and answered, whatever keeps the next from being sent.
          guard let status, let words = unsent(error) else { throw error }
          return .ended(request, .error("\(status): redirect: \(words)"), afterMicroseconds: 0)
        }
        status = reply.head.status
        guard (300..<400).contains(reply.head.status), let place = reply.head.headers["location"],
          http.method == .get || http.method == .head
        else { return answer(reply, request) }
        guard hop < Self.redirectLimit else {
          return .ended(
            request,
            .error("\(reply.head.status): redirected more than \(Self.redirectLimit) times"),
            afterMicroseconds: 0)
        }
        do { call = try redirected(call, to: place) } catch let fault as NotSent {
          return .ended(
            request, .error("\(reply.head.status): redirect: \(fault.words)"),
            afterMicroseconds: 0)
        }
      }
      throw NotSent(words: "redirected")
    }

    /// Why a request was not sent; `nil` where it may have been, or nobody waits for it any more.
    private func unsent(_ error: any Error) -> String? {
      if let fault = error as? NotSent { return fault.words }
      guard cancellation.signal == nil, let failure = error as? HTTPFailure,
        !failure.mayHaveArrived,
        ![.firstByteTimeout, .idleTimeout, .totalTimeout].contains(failure.kind)
      else { return nil }
      return "\(failure)"
    }

    private func reply(
      to call: HTTPCall, until end: ContinuousClock.Instant
    ) async throws -> Reply {
      guard let target = HTTPAddress(call.url) else { throw NotSent(words: "the URL is none") }
      let found = try await withinTime(until: end) { try await addresses(of: target) }
      let isLiteral = AddressRange(target.host) != nil
      for (index, address) in found.enumerated() {
        let left = max(0.001, (end - ContinuousClock.now) / .seconds(1))
        var call = call
        call.timeouts = HTTPTimeouts(
          connect: min(left, 10), firstByte: left, idle: left, total: left)
        // Connected to is what was looked at, whatever the name leads to by then.
        if !isLiteral { call.address = address }
        let (limit, quote) = (http.responseLimitBytes, Self.quoteBytes)
        do {
          return try await HTTPConnector.shared.perform(call, until: cancellation) { head, body in
            guard (200..<300).contains(head.status) else {
              // More than is quoted: what it says of its effect may stand anywhere.
              let most = max(limit, quote)
              var start: [UInt8] = []
              while start.count <= most, let piece = try await body.next() { start += piece }
              return Reply(
                head: head, body: Array(start.prefix(most)), isCut: start.count > most)
            }
            return Reply(head: head, body: try await body.rest(limitBytes: limit))
          }
        } catch let failure as HTTPFailure
          where failure.kind == .unreachable && index + 1 < found.count
        { continue }
      }
      throw NotSent(words: "no address of \(target.host) can be reached")
    }

    /// The same request to another place.
    private func redirected(_ call: HTTPCall, to place: String) throws -> HTTPCall {
      guard let from = HTTPAddress(call.url) else { throw NotSent(words: "the URL is none") }
      let origin = call.url.prefix(call.url.utf8.count - Self.targetLength(of: call.url))
      let url = from.url(of: place, origin: String(origin))
      guard let to = HTTPAddress(url) else { throw NotSent(words: "its place is no URL") }
      guard to.scheme == from.scheme || to.scheme == "https" else {
        throw NotSent(words: "it leads from https to http")
      }
      var call = call
      call.url = url
      if to.host != from.host || to.port != from.port || to.scheme != from.scheme {
        // What was filled in is for whom the agent file names.
        let secret = http.headers.filter { !$0.value.variables.isEmpty }.map {
          $0.name.lowercased()
        }
        call.headers.removeAll { secret.contains($0.name.lowercased()) }
      }
      return call
    }

    private static func targetLength(of url: String) -> Int {
      let authority = url.range(ofFirst: "://").map { url[$0...] } ?? url[...]
      return authority.drop { !"/?#".contains($0) }.utf8.count
    }

    private func answer(_ reply: Reply, _ request: ToolRequest) -> ToolAnswer {
      let status = reply.head.status
      guard (200..<300).contains(status) else {
        let edges = CutEdges(CommandEnvironment(pass: http.headers.flatMap(\.value.variables)))
        let body = reply.body.withoutByteOrderMark
        let text = String(
          decoding: body.prefix(Self.quoteBytes).withoutTornCharacter, as: UTF8.self)
        let words = edges.trimmed(text, body.count > Self.quoteBytes ? .end : [])
        let reason = words.isEmpty ? "\(status)" : "\(status): \(words)"
        // A client's mistake was turned away; what a server broke off at, nobody knows, unless it says so.
        let effect = reply.effect
        // Who gave up waiting may have passed the request on.
        let isTurnedAway = (400..<500).contains(status) && status != 408 && effect != "unknown"
        guard isTurnedAway || effect == "none" else {
          return .cutOff(request, reason: reason, afterMicroseconds: 0)
        }
        var answer = ToolAnswer(result: .error(reason))
        answer.saysNoEffect = effect == "none"
        return answer
      }
      if reply.body.isEmpty { return ToolAnswer(result: .ok(data: .null)) }
      let type = reply.head.headers["content-type"] ?? ""
      let name = type.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
      let body = reply.body.withoutByteOrderMark
      if name == "application/json" || name.hasSuffix("+json") {
        do { return ToolAnswer(result: .ok(data: try JSONValue(parsing: body))) } catch {
          let why = Self.strangeEncoding(of: reply.head) ?? "\(error)"
          return .ended(request, .error("the reply is not JSON: \(why)"), afterMicroseconds: 0)
        }
      }
      let isText = name.isEmpty || name.hasPrefix("text/") || name.hasSuffix("xml")
      if isText, (try? UTF8Span(validating: body.span)) != nil {
        return ToolAnswer(result: .ok(data: .string(String(decoding: body, as: UTF8.self))))
      }
      return ToolAnswer(
        result: .ok(data: [
          "contentType": .string("\(type.prefix(utf8Bytes: 256))"),
          "bytes": JSONValue(reply.body.count), "sha256": .string(Digest(of: reply.body).hex),
        ]))
    }

    /// In words, that a body is packed in a way that was not asked for.
    private static func strangeEncoding(of head: HTTPHead) -> String? {
      guard let encoding = head.headers["content-encoding"]?.lowercased(),
        !["", "identity", "gzip", "x-gzip", "deflate"].contains(encoding)
      else { return nil }
      return "it is encoded as “\(encoding.prefix(utf8Bytes: 64))”, which was not asked for"
    }
  }

  extension String {
    /// Behind the first place of a text.
    fileprivate func range(ofFirst text: String) -> String.Index? {
      firstRange(of: text)?.upperBound
    }
  }
#endif
