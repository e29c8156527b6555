#if Live
  import AgentRuntime
  import AgentTrace
  import Foundation
  import LiveBoundary
  import Synchronization
  import TestSupport
  import Testing

  @Suite("Requests over HTTP as tools", .timeLimit(.minutes(5)))
  struct HTTPToolTests {
    private static func run(
      _ method: HTTPDefinition.Method = .get, _ url: String, input: JSONValue = [:],
      sideEffect: SideEffect = .write, seconds: Double = 30, hosts: [String] = [],
      addresses: [String] = ["127.0.0.1"], headers: [ServerEndpoint.Header] = [],
      query: [HTTPDefinition.Parameter] = [], body: HTTPDefinition.Body? = nil,
      limit: Int = 1 << 20, cancellation: Cancellation = Cancellation(),
      lookUp: @escaping @Sendable (String) async -> [String] = { _ in ["127.0.0.1"] }
    ) async throws -> String {
      let http = HTTPDefinition(
        method: method, url: try URLTemplate(url), query: query, body: body, headers: headers,
        allowedHosts: hosts, allowedAddresses: addresses, responseLimitBytes: limit)
      let tool = HTTPTool(http, clock: SystemClock(), cancellation: cancellation, lookUp: lookUp)
      return await tool.run(
        ToolRequest(
          callId: "1.1.0", tool: ToolDefinition(name: "t", sideEffect: sideEffect), input: input,
          idempotencyKey: "run/1.1.0", timeoutMicroseconds: Int(seconds * 1_000_000))
      ).result.told
    }

    private struct Fault: Sendable {
      var name: String
      var result: String
      var seconds = 30.0
      var handler: FakeServer.Handler
    }

    private static let faults: [Fault] = [
      Fault(name: "JSON", result: #"ok: {"a":[1,"é"]}"#) { $1.finish(body: #"{"a":[1,"é"]}"#) },
      Fault(name: "problem JSON", result: #"ok: 1"#) {
        $1.finish(type: "application/vnd.x+json; charset=utf-8", body: "1")
      },
      Fault(name: "text", result: #"ok: "hello""#) { $1.finish(type: "text/plain", body: "hello") },
      Fault(name: "nothing", result: "ok: null") { $1.finish(204, body: "") },
      Fault(
        name: "bytes",
        result:
          #"ok: {"bytes":2,"contentType":"image/png","sha256":"5f20c25dd5a4b9ae0b7bcbca5f5d1c77b9a5ae0c5ad7e1b7e0e5f5d1f1b5e6a3"}"#
      ) { $1.finish(type: "image/png", body: [0xff, 0xd8]) },
      Fault(name: "text that is none", result: #"ok: {"bytes":1,"contentType":"text/plain""#) {
        $1.finish(type: "text/plain", body: [0xff])
      },
      Fault(name: "no JSON", result: "error, effect unknown: the reply is not JSON: ") {
        $1.finish(body: "{")
      },
      Fault(name: "JSON behind a mark of byte order", result: #"ok: {"a":1}"#) {
        $1.finish(body: "\u{feff}{\"a\":1}")
      },
      Fault(name: "text behind such a mark", result: #"ok: "hello""#) {
        $1.finish(type: "text/plain", body: "\u{feff}hello")
      },
      Fault(
        name: "packed in a way that nobody asked for",
        result: "error, effect unknown: the reply is not JSON: it is encoded as “br”"
      ) {
        $1.finish(headers: [("Content-Encoding", "br")], body: "{}x")
      },
      Fault(
        name: "in doubt, behind a mark",
        result: #"error, effect unknown: 409: {"effect":"unknown"}"#
      ) {
        $1.finish(409, body: "\u{feff}{\"effect\":\"unknown\"}")
      },
      Fault(
        name: "a refusal too long to be read", result: #"error, effect unknown: 409: {"detail":"#
      ) {
        $1.finish(409, body: #"{"detail":""# + String(repeating: "x", count: 5_000) + #""}"#)
      },
      Fault(name: "not found", result: "error: 404: no such order") {
        $1.finish(404, type: "text/plain", body: "no such order")
      },
      Fault(name: "too many", result: "error: 429: slow down") {
        $1.finish(429, type: "text/plain", body: "slow down")
      },
      Fault(name: "gave up", result: "error, effect unknown: 408: too slow") {
        $1.finish(408, type: "text/plain", body: "too slow")
      },
      Fault(
        name: "in doubt", result: #"error, effect unknown: 409: {"effect":"unknown"}"#
      ) {
        $1.finish(409, body: #"{"effect":"unknown"}"#)
      },
      Fault(name: "broken", result: "error, effect unknown: 500: oops") {
        $1.finish(500, type: "text/plain", body: "oops")
      },
      Fault(name: "a redirect of a write", result: "error, effect unknown: 303") {
        $1.finish(303, headers: [("Location", "/done")], body: "")
      },
      Fault(name: "too long", result: "error, effect unknown: the reply is longer than 1000 bytes")
      {
        $1.finish(type: "text/plain", body: String(repeating: "x", count: 1_001))
      },
      Fault(name: "endless", result: "error, effect unknown: the reply is longer than 1000 bytes") {
        $1.beginChunks()
        while $1.chunk("xxxxxxxxxxxxxxxxxxxx") {}
      },
      Fault(
        name: "never", result: "error, effect unknown: timed out after 0.5 seconds", seconds: 0.5
      ) { $1.wait(seconds: 20) },
      Fault(
        name: "stops", result: "error, effect unknown: timed out after 0.5 seconds", seconds: 0.5
      ) {
        $1.beginChunks()
        $1.chunk("x")
        $1.wait(seconds: 20)
      },
      Fault(name: "drops", result: "error, effect unknown: ") {
        $1.beginChunks()
        $1.chunk("x")
        $1.close(reset: true)
      },
      Fault(name: "no HTTP", result: "error, effect unknown: ") {
        $1.send("hello\r\n\r\n")
        $1.close()
      },
    ]

    @Test("each fault of a reply ends in a result that says it", arguments: faults.indices)
    func faultTable(_ index: Int) async throws {
      let fault = Self.faults[index]
      let server = try FakeServer(fault.handler)
      defer { server.stop() }
      let start = ContinuousClock.now
      let told = try await Self.run(.post, server.url, seconds: fault.seconds, limit: 1_000)
      let expected =
        fault.name == "bytes" ? #"ok: {"bytes":2,"contentType":"image/png""# : fault.result
      #expect(told.hasPrefix(expected), "\(fault.name): \(told)")
      #expect(ContinuousClock.now - start < .seconds(20))
      let reading = try await Self.run(
        .post, server.url, sideEffect: .read, seconds: fault.seconds, limit: 1_000)
      #expect(!reading.hasPrefix("error, effect unknown"), "\(fault.name): \(reading)")
      #expect(server.requests.allSatisfy { $0.header("Idempotency-Key") == "run/1.1.0" })
    }

    @Test(
      "what a reply says of its effect counts, however far behind its beginning it stands",
      arguments: [
        (409, "unknown", "error, effect unknown: 409: {"), (500, "none", "error: 500: {"),
        (409, "none", "error: 409: {"),
      ])
    func longRefusals(status: Int, effect: String, result: String) async throws {
      let detail = String(repeating: "x", count: 5_000)
      let server = try FakeServer {
        $1.finish(status, body: #"{"detail":"\#(detail)","effect":"\#(effect)"}"#)
      }
      defer { server.stop() }
      let told = try await Self.run(.post, server.url)
      #expect(told.hasPrefix(result) && told.utf8.count < 3_000, "\(told)")
    }

    @Test("input goes into path, query and body as the file says, and nowhere else")
    func input() async throws {
      let server = try FakeServer {
        $1.finish(body: CanonicalJSON.string(.string($0.method + " " + $0.target + " " + $0.text)))
      }
      defer { server.stop() }
      let input: JSONValue = [
        "id": "a/../b?c#d é", "n": 7, "flag": true, "list": ["x", "y z"], "none": nil,
      ]
      func told(
        _ method: HTTPDefinition.Method, _ path: String, _ query: [(String, String)] = [],
        _ body: HTTPDefinition.Body? = nil
      ) async throws -> String {
        try await Self.run(
          method, server.url + path, input: input,
          query: query.map { .init(name: $0.0, key: $0.1) }, body: body)
      }
      #expect(
        try await told(.get, "/v/{id}/{n}?fixed=1")
          == #"ok: "GET /v/a%2F..%2Fb%3Fc%23d%20%C3%A9/7?fixed=1&flag=true&list=x&list=y%20z ""#)
      #expect(
        try await told(.post, "/v/{id}", [("N", "n")])
          == #"ok: "POST /v/a%2F..%2Fb%3Fc%23d%20%C3%A9?N=7 {\"flag\":true,\"list\":[\"x\",\"y z\"],\"none\":null}""#
      )
      #expect(
        try await told(.put, "/{n}", [("i", "id")], .form)
          == #"ok: "PUT /7?i=a%2F..%2Fb%3Fc%23d%20%C3%A9 flag=true&list=x&list=y%20z""#)
      #expect(
        try await told(.delete, "/x{n}y")
          .hasPrefix(#"ok: "DELETE /x7y?flag=true&id="#))
    }

    @Test(
      "a value that would lead elsewhere is refused before anything is sent",
      arguments: [
        ["id": ".."], ["id": "."], ["id": ""], [:], ["id": ["a"]], ["id": nil], ["id": ["b": 1]],
      ] as [JSONValue])
    func directions(_ input: JSONValue) async throws {
      let server = try FakeServer { $1.finish(body: "1") }
      defer { server.stop() }
      let told = try await Self.run(.get, "\(server.url)/a/{id}/b", input: input)
      #expect(told.hasPrefix("error: not sent: "), "\(told)")
      #expect(server.requests.isEmpty)
    }

    @Test(
      "no address that is not public is connected to unless it is listed",
      arguments: [
        "127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1",
        "fe80::1%eth0",
        "fd00::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::", "ff02::1", "198.18.0.1", "nonsense",
      ])
    func privateAddresses(_ address: String) async throws {
      let told = try await Self.run(
        .get, "http://shop.example/", addresses: [], lookUp: { _ in ["93.184.215.14", address] })
      #expect(
        told.hasPrefix("error: not sent: shop.example leads to \(address), which is no public"))
    }

    @Test("a literal address of a URL is looked at like any other")
    func literals() async throws {
      for url in ["http://127.0.0.1:1/", "http://[::1]:1/", "http://10.0.0.1/"] {
        let told = try await Self.run(.get, url, addresses: [])
        #expect(told.contains("which is no public address"), "\(told)")
      }
      // What only looks like a name is looked up, and found to be this machine.
      for host in ["2130706433", "0x7f.1", "localhost"] {
        let told = try await Self.run(
          .get, "http://\(host):1/", addresses: [], lookUp: HostLookup.addresses)
        #expect(told.hasPrefix("error: not sent: "), "\(told)")
      }
    }

    @Test("a name is looked up once, and connected to is what was looked at")
    func rebinding() async throws {
      let server = try FakeServer {
        $1.finish(body: CanonicalJSON.string(.string($0.header("host") ?? "")))
      }
      defer { server.stop() }
      let lookups = Mutex(0)
      let told = try await Self.run(
        .get, "http://rebound.invalid:\(server.port)/",
        lookUp: { _ in
          let count = lookups.withLock { count in
            count += 1
            return count
          }
          // Whoever looked again would be led elsewhere.
          return [count == 1 ? "127.0.0.1" : "169.254.169.254"]
        })
      #expect(told == "ok: \"rebound.invalid:\(server.port)\"")
      #expect(lookups.withLock { $0 } == 1)
    }

    @Test("redirects are followed to allowed hosts alone, and looked at like the first request")
    func redirects() async throws {
      let place = Mutex("")
      let server = try FakeServer { request, reply in
        if request.target == "/start" || request.target.hasPrefix("/loop") {
          let target = request.target.hasPrefix("/loop") ? "/loop" : place.withLock { $0 }
          reply.finish(302, headers: [("Location", target)], body: "")
        } else {
          reply.finish(
            body: CanonicalJSON.string(
              .string("\(request.target) \(request.header("authorization") ?? "none")")))
        }
      }
      defer { server.stop() }
      setenv("AGENT_EVAL_TEST_HTTP", "tok-12345678", 1)
      defer { unsetenv("AGENT_EVAL_TEST_HTTP") }
      let port = server.port
      func told(_ target: String, from start: String = "/start", hosts: [String] = []) async throws
        -> String
      {
        place.withLock { $0 = target }
        return try await Self.run(
          .get, "http://one.invalid:\(server.port)\(start)", hosts: hosts,
          headers: [
            .init(name: "Authorization", value: EnvironmentText("Bearer ${AGENT_EVAL_TEST_HTTP}"))
          ],
          lookUp: { $0 == "inner.invalid" ? ["10.0.0.1"] : ["127.0.0.1"] })
      }
      #expect(try await told("/next?x=1") == #"ok: "/next?x=1 Bearer tok-12345678""#)
      #expect(try await told("next") == #"ok: "/next Bearer tok-12345678""#)
      #expect(
        try await told("/sign-in?back=http://one.invalid/start")
          == #"ok: "/sign-in?back=http://one.invalid/start Bearer tok-12345678""#)
      #expect(
        try await told("?page=2", from: "/start") == #"ok: "/start?page=2 Bearer tok-12345678""#)
      #expect(
        try await told(
          "http://two.invalid:\(port)/x", hosts: ["one.invalid", "two.invalid:\(port)"])
          == #"ok: "/x none""#)
      // Another port is another server, also on a host that is allowed.
      for (place, hosts) in [
        ("http://one.invalid:\(port + 1)/x", []), ("http://one.invalid/x", []),
        ("http://one.invalid:\(port + 1)/x", ["one.invalid"]),
        ("http://two.invalid:\(port)/x", ["one.invalid", "two.invalid"]),
        ("http://two.invalid/x", ["one.invalid", "two.invalid:\(port)"]),
        ("https://one.invalid:22/x", ["one.invalid:\(port)"]),
      ] {
        #expect(try await told(place, hosts: hosts).contains(": the port "), "\(place)")
      }
      // What is allowed is gone to; here nobody answers.
      let other = try await told(
        "http://one.invalid:1/x", hosts: ["one.invalid", "one.invalid:1"])
      #expect(!other.contains("the port") && other.hasPrefix("error"), "\(other)")
      #expect(
        try await told("http://two.invalid:\(server.port)/x")
          == "error, effect unknown: 302: redirect: the host two.invalid is not among the tool's "
          + "allowedHosts")
      #expect(
        try await told("http://inner.invalid/", hosts: ["one.invalid", "inner.invalid"])
          .contains("10.0.0.1, which is no public address"))
      #expect(
        try await told("/", from: "/loop")
          == "error, effect unknown: 302: redirected more than 5 times")
      #expect(
        try await told("file:///etc/passwd").hasPrefix("error, effect unknown: 302: redirect: "))
    }

    @Test("a variable that is not set, an unknown host and a signal send nothing")
    func notSent() async throws {
      let header = ServerEndpoint.Header(
        name: "A", value: EnvironmentText("${AGENT_EVAL_TEST_NOT_SET}"))
      #expect(
        try await Self.run(.get, "http://127.0.0.1:1/", headers: [header])
          == "error: not sent: the variable AGENT_EVAL_TEST_NOT_SET is not set")
      #expect(
        try await Self.run(.get, "http://a.invalid/", lookUp: { _ in [] })
          == "error: not sent: a.invalid is not found")
      #expect(
        try await Self.run(.get, "http://127.0.0.1:1/").hasPrefix("error: not sent: "))
      let cancellation = Cancellation()
      let server = try FakeServer { _, reply in
        cancellation.cancel(signal: "SIGINT")
        reply.wait(seconds: 20)
      }
      defer { server.stop() }
      #expect(
        try await Self.run(.post, server.url, cancellation: cancellation)
          == "error, effect unknown: cancelled by SIGINT")
      #expect(
        try await Self.run(
          .get, "http://slow.invalid/", seconds: 0.3,
          lookUp: { _ in
            try? await Task.sleep(for: .seconds(20))
            return []
          }) == "error: not sent: looking the host up takes too long")
    }

    @Test("a key from the environment is in no log and no error, wherever the server says it")
    func secrets() async throws {
      let secret = "tok-\(UInt64.random(in: 0 ... .max))-secret"
      setenv("AGENT_EVAL_TEST_HTTP_KEY", secret, 1)
      defer { unsetenv("AGENT_EVAL_TEST_HTTP_KEY") }
      let server = try FakeServer { request, reply in
        let status = request.target == "/bad" ? 400 : 200
        reply.finish(status, type: "text/plain", body: "you said \(request.header("x-key") ?? "")")
      }
      defer { server.stop() }
      for (path, status) in [("/good", "ok"), ("/bad", "error")] {
        var served = try ServedAgent([], calls: [("fetch", [:])])
        served.agent.sources = []
        served.agent.tools = [
          ToolRegistration(
            definition: ToolDefinition(name: "fetch", sideEffect: .read),
            implementation: .http(
              HTTPDefinition(
                method: .get, url: try URLTemplate(server.url + path),
                headers: [
                  .init(name: "X-Key", value: EnvironmentText("${AGENT_EVAL_TEST_HTTP_KEY}"))
                ], allowedAddresses: ["127.0.0.1"])))
        ]
        let events = try await served.run()
        #expect(events.results.first?.told.hasPrefix(status) == true)
        #expect(server.requests.last?.header("x-key") == secret)
        #expect(!events.map { CanonicalJSON.string(.object($0.data)) }.joined().contains(secret))
      }
    }
  }
#endif
