#if Live
  import AgentRuntime
  import AgentTrace
  import Foundation
  import LiveBoundary
  import Synchronization
  import TestSupport
  import Testing
  import TraceMatching

  /// A server of tools over HTTP that has the faults that a test asks for.
  private final class HTTPToolServer: Sendable {
    let switches: Set<String>
    private let sessions = Mutex(0)
    private let slot = Mutex<FakeServer?>(nil)

    init(_ switches: [String]) throws {
      self.switches = Set(switches)
      let server = try FakeServer { [self] in serve($0, $1) }
      slot.withLock { $0 = server }
    }

    var server: FakeServer? { slot.withLock { $0 } }
    var url: String { (server?.url ?? "") + "/mcp" }
    func has(_ name: String) -> Bool { switches.contains(name) }

    private func serve(_ request: FakeServer.Request, _ reply: FakeServer.Reply) {
      if request.method == "DELETE" {
        _ = reply.finish(200, body: "")
        return
      }
      if has("unauthorized") {
        _ = reply.finish(401, type: "text/plain", body: "who are you")
        return
      }
      if has("down") {
        _ = reply.finish(503, type: "text/plain", body: "later")
        return
      }
      if has("moved") {
        _ = reply.finish(307, headers: [("Location", "http://127.0.0.1:1/")], body: "")
        return
      }
      guard let message = try? JSONValue(parsing: request.body),
        let method = message["method"]?.stringValue
      else {
        _ = reply.finish(202, body: "")
        return
      }
      guard let id = message["id"] else {
        _ = reply.finish(202, body: "")
        return
      }
      let isModern = request.header("mcp-method") != nil
      if has("legacy"), isModern {
        _ = reply.finish(400, type: "text/plain", body: "Bad Request: no session")
        return
      }
      func result(_ value: JSONValue, headers: [(String, String)] = []) {
        send(["jsonrpc": "2.0", "id": id, "result": value], reply, headers)
      }
      switch method {
      case "server/discover":
        if has("other") {
          return send(
            [
              "jsonrpc": "2.0", "id": id,
              "error": ["code": -32022, "message": "no", "data": ["supported": ["2026-07-28"]]],
            ], reply, status: 400)
        }
        result(["supportedVersions": ["2026-07-28"], "capabilities": [:]])
      case "initialize":
        let number = sessions.withLock { number in
          number += 1
          return number
        }
        result(
          ["protocolVersion": "2025-11-25", "capabilities": [:], "serverInfo": ["name": "h"]],
          headers: [("Mcp-Session-Id", "s\(number)")])
      case "tools/list":
        let described = has("forgets") && has("changes") && sessions.withLock { $0 } > 1
        result([
          "tools": [
            [
              "name": "echo", "description": described ? "else" : "Echoes.",
              "inputSchema": [
                "type": "object",
                "properties": ["text": ["type": "string", "x-mcp-header": "Text"]],
              ],
            ],
            [
              "name": "odd",
              "inputSchema": [
                "type": "object", "properties": ["a": ["type": "object", "x-mcp-header": "A B"]],
              ],
            ],
          ]
        ])
      case "tools/call": call(message, request, reply, result: { result($0) })
      default: reply.finish(404, body: "")
      }
    }

    private func call(
      _ message: JSONValue, _ request: FakeServer.Request, _ reply: FakeServer.Reply,
      result: (JSONValue) -> Void
    ) {
      if has("forgets"), request.header("mcp-session-id") == "s1" {
        _ = reply.finish(404, type: "text/plain", body: "gone")
        return
      }
      if has("drops") {
        reply.beginChunks(type: "text/event-stream")
        reply.chunk("event: message\ndata: {\"jsonrpc\"")
        return reply.close(reset: true)
      }
      if has("ends") {
        reply.beginChunks(type: "text/event-stream")
        reply.chunk(": still here\n\n")
        _ = reply.endChunks()
        return
      }
      if has("never") {
        _ = reply.wait(seconds: 20)
        return
      }
      if has("garbage") {
        _ = reply.finish(body: "{\"jsonrpc\":")
        return
      }
      if has("nobody") {
        _ = reply.finish(body: #"{"jsonrpc":"2.0","id":99,"result":{}}"#)
        return
      }
      if has("html") {
        _ = reply.finish(500, type: "text/html", body: "<h1>oops</h1>")
        return
      }
      if has("huge") {
        _ = reply.finish(body: String(repeating: "x", count: 17 << 20))
        return
      }
      if has("refuses") {
        return send(
          [
            "jsonrpc": "2.0", "id": message["id"] ?? .null,
            "error": ["code": -32602, "message": "no such tool"],
          ], reply, status: 400)
      }
      let text = message["params"]?["arguments"]?["text"] ?? "none"
      result(["content": [["type": "text", "text": text]]])
    }

    private func send(
      _ message: JSONValue, _ reply: FakeServer.Reply, _ headers: [(String, String)] = [],
      status: Int = 200
    ) {
      let text = CanonicalJSON.string(message, form: .plain)
      guard has("stream") else {
        _ = reply.finish(status, headers: headers, body: text)
        return
      }
      reply.head(
        status, type: "text/event-stream", headers: headers + [("Transfer-Encoding", "chunked")])
      reply.chunk(": keep-alive\r\n\r\n")
      reply.chunk(
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1,\"message\":\"half\"}}\n\n"
      )
      reply.chunk("id: 1\ndata: \(text)\n\n")
      reply.endChunks()
    }
  }

  @Suite("Servers of tools over HTTP", .timeLimit(.minutes(5)))
  struct HTTPToolServerTests {
    private func served(
      _ url: String, calls: [(tool: String, input: JSONValue)], seconds: Double = 30,
      headers: [ServerEndpoint.Header] = []
    ) throws -> ServedAgent {
      try ServedAgent([], calls: calls) {
        $0.implementation = .endpoint(ServerEndpoint(url: url, headers: headers))
        $0.timeoutSeconds = seconds
      }
    }

    @Test(
      "both eras, in one body and as a stream",
      arguments: [
        ([], "2026-07-28"), (["legacy"], "2025-11-25"), (["stream"], "2026-07-28"),
        (["legacy", "stream"], "2025-11-25"), (["other"], "2026-07-28"),
      ])
    func eras(_ switches: [String], _ version: String) async throws {
      let server = try HTTPToolServer(switches)
      defer { server.server?.stop() }
      let served = try served(server.url, calls: [("fake.echo", ["text": "häh?"])])
      let events = try await served.run()
      #expect(events.results.map(\.told) == [#"ok: "häh?""#])
      #expect(events.list(0).server["protocol"] == .string(version))
      #expect(
        events.list(0).tools.map(\.name) == ["fake.echo"], "a tool with an odd header is left out")
      let requests = server.server?.requests ?? []
      let call = try #require(requests.first { $0.text.contains("tools/call") })
      #expect(call.header("MCP-Protocol-Version") == version)
      if version == "2026-07-28" {
        #expect(call.header("Mcp-Method") == "tools/call")
        #expect(call.header("Mcp-Name") == "echo")
        #expect(call.header("Mcp-Param-Text") == "=?base64?aMOkaD8=?=")
        #expect(call.header("Mcp-Session-Id") == nil)
      } else {
        #expect(call.header("Mcp-Session-Id") == "s1")
        #expect(requests.last?.method == "DELETE")
        #expect(requests.last?.header("Mcp-Session-Id") == "s1")
        #expect(requests.contains { $0.text.contains("notifications/initialized") })
      }
    }

    private static let faults: [(switches: [String], result: String)] = [
      (["drops"], "error, effect unknown: "),
      (["ends"], "error, effect unknown: the server's stream ended before the reply"),
      (["never"], "error, effect unknown: timed out after 1 seconds"),
      (["garbage"], "error, effect unknown: the server sent a message that cannot be read: "),
      (["nobody"], "error, effect unknown: the server sent something else than a reply"),
      (["html"], "error, effect unknown: 500: <h1>oops</h1>"),
      (["huge"], "error, effect unknown: the reply is longer than 16777216 bytes"),
      (["refuses"], "error: no such tool (-32602)"),
    ]

    @Test(
      "each fault of a call ends in a result that says it, for each era", arguments: faults.indices,
      ["legacy", "modern"])
    func faultTable(_ index: Int, _ era: String) async throws {
      let (switches, expected) = Self.faults[index]
      let server = try HTTPToolServer(switches + [era])
      defer { server.server?.stop() }
      let served = try served(
        server.url, calls: [("fake.echo", ["text": "x"])],
        seconds: switches == ["never"] ? 1 : 30)
      let told = try await served.run().results.map(\.told)
      #expect(told.first?.hasPrefix(expected) == true, "\(told)")
    }

    @Test(
      "a server that gives no list stops the run",
      arguments: [
        ("unauthorized", "401: who are you"), ("down", "503: later"),

        (
          "moved",
          "the server sends the request to another one, http://127.0.0.1:1, which does not get its headers: "
            + "put that address into the agent file if it is right"
        ),
      ])
    func noList(_ fault: String, _ error: String) async throws {
      let server = try HTTPToolServer([fault])
      defer { server.server?.stop() }
      let events = try await served(server.url, calls: []).run()
      #expect(events.list(0).error == error)
      #expect(events.stop?.detail == "source:fake")
    }

    @Test("a session that the server forgot is begun again, where the tool is what it was")
    func sessions() async throws {
      for (switches, expected) in [
        (["legacy", "forgets"], #"ok: "x""#),
        (
          ["legacy", "forgets", "changes"],
          "error: not called: the server began anew and describes this tool otherwise, or gives no list"
        ),
      ] {
        let server = try HTTPToolServer(switches)
        defer { server.server?.stop() }
        let served = try served(server.url, calls: [("fake.echo", ["text": "x"])])
        let events = try await served.run()
        #expect(events.results.map(\.told) == [expected])
        #expect(events.lists.count == (switches.contains("changes") ? 2 : 1))
      }
    }

    @Test("what a header is filled in with is in no log, wherever the server says it")
    func secrets() async throws {
      let secret = "tok-\(UInt64.random(in: 0 ... .max))-secret"
      setenv("AGENT_EVAL_TEST_MCP", secret, 1)
      defer { unsetenv("AGENT_EVAL_TEST_MCP") }
      let server = try HTTPToolServer([])
      defer { server.server?.stop() }
      let served = try served(
        server.url, calls: [("fake.echo", ["text": .string("it is \(secret)")])],
        headers: [
          .init(name: "Authorization", value: EnvironmentText("Bearer ${AGENT_EVAL_TEST_MCP}"))
        ])
      let events = try await served.run()
      #expect(
        server.server?.requests.allSatisfy { $0.header("authorization") == "Bearer \(secret)" }
          == true)
      let text = events.map { CanonicalJSON.string(.object($0.data)) }.joined()
      #expect(!text.contains(secret))
      #expect(text.contains("«redacted:environment:"))
    }
  }
#endif
