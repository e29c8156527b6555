import LiveBoundary
import TestSupport
import Testing

#if Live
  @Suite("Requests over HTTP")
  struct HTTPTests {
    /// Short in the one time that is to run out, and long in all others: where a machine has too much to
    /// do, the pause between two pieces may be as long as any short time.
    private static func timeouts(runningInto outcome: String) -> HTTPTimeouts {
      HTTPTimeouts(
        connect: 30,
        firstByte: outcome == "firstByteTimeout" ? 0.4 : 60,
        idle: outcome == "idleTimeout" ? 0.3 : 60,
        total: outcome == "totalTimeout" ? 1.5 : 120)
    }

    private static func get(_ url: String, _ timeouts: HTTPTimeouts = HTTPTimeouts(connect: 30))
      -> HTTPCall
    {
      HTTPCall(method: "GET", url: url, timeouts: timeouts)
    }

    /// What came of a request: the status and the body, or the kind of its failure.
    private static func outcome(
      _ call: HTTPCall, limitBytes: Int = 1 << 20
    ) async -> String {
      do {
        return try await HTTPConnector.shared.perform(call) { head, body in
          "\(head.status) "
            + String(decoding: try await body.rest(limitBytes: limitBytes), as: UTF8.self)
        }
      } catch let failure as HTTPFailure {
        return failure.kind.rawValue
      } catch { return "\(error)" }
    }

    /// A way for a reply to go wrong, and what it is called.
    struct Fault: Sendable, CustomTestStringConvertible {
      var name: String
      var outcome: String
      var handler: FakeServer.Handler

      var testDescription: String { name }
    }

    static let faults: [Fault] = [
      Fault(name: "no head", outcome: "firstByteTimeout") { $1.wait(seconds: 120) },
      Fault(name: "half a head", outcome: "firstByteTimeout") {
        $1.send("HTTP/1.1 200 OK\r\nContent-")
        $1.wait(seconds: 120)
      },
      Fault(name: "a body that stops", outcome: "idleTimeout") {
        $1.beginChunks()
        $1.chunk("one")
        $1.wait(seconds: 120)
      },
      Fault(name: "a body that never ends", outcome: "totalTimeout") {
        $1.beginChunks()
        while $1.chunk("more"), $1.wait(seconds: 0.05) {}
      },
      Fault(name: "a body without end at full speed", outcome: "tooLarge") {
        $1.beginChunks()
        while $1.chunk([UInt8](repeating: 65, count: 65_536)) {}
      },
      Fault(name: "closed before the head", outcome: "connectionLost") { $1.close() },
      Fault(name: "reset before the head", outcome: "connectionLost") { $1.close(reset: true) },
      Fault(name: "closed within a chunk", outcome: "connectionLost") {
        $1.beginChunks()
        $1.send("20\r\nhalf")
        $1.close()
      },
      Fault(name: "shorter than its length", outcome: "connectionLost") {
        $1.head(headers: [("Content-Length", "100")])
        $1.send("short")
        $1.close()
      },
      Fault(name: "no HTTP", outcome: "connectionLost") {
        $1.send("SSH-2.0-OpenSSH_9.6\r\n\r\n")
        $1.close()
      },
      Fault(name: "a chunk whose size is no number", outcome: "connectionLost") {
        $1.beginChunks()
        $1.send("zz\r\nhello\r\n")
        $1.close()
      },
      Fault(name: "a redirect", outcome: "302 elsewhere") {
        $1.finish(302, headers: [("Location", "http://127.0.0.1:1/")], body: "elsewhere")
      },
      Fault(name: "a failure of the server", outcome: "500 broken") {
        $1.finish(500, body: "broken")
      },
      Fault(name: "a whole reply", outcome: "200 fine") { $1.finish(body: "fine") },
    ]

    @Test("each fault has its name, and no connection is left behind", arguments: faults)
    func fault(_ fault: Fault) async throws {
      let server = try FakeServer(fault.handler)
      defer { server.stop() }
      let call = Self.get(server.url, Self.timeouts(runningInto: fault.outcome))
      let outcome = await Self.outcome(call)
      #expect(outcome == fault.outcome)
      if !fault.outcome.contains(" ") { #expect(await server.waitUntilIdle()) }
    }

    @Test(
      "what cannot be reached was never sent",
      arguments: [
        ("http://127.0.0.1:1/", HTTPFailure.Kind.unreachable),
        ("http://no-such-host.invalid/", .unreachable),
        ("ftp://127.0.0.1/", .invalidCall), ("nonsense", .invalidCall), ("http://", .invalidCall),
        // A network for documentation (RFC 5737) that leads nowhere, or is refused at once.
        ("http://192.0.2.1/", .connectTimeout),
      ])
    func unreachable(url: String, kind: HTTPFailure.Kind) async throws {
      let call = Self.get(url, HTTPTimeouts(connect: 0.3, firstByte: 3, idle: 3, total: 6))
      let kinds = kind == .connectTimeout ? [kind, .unreachable] : [kind]
      let failure = await #expect(throws: HTTPFailure.self) {
        try await HTTPConnector.shared.perform(call) { head, _ in head.status }
      }
      let kindsAndWords = "\(failure?.kind.rawValue ?? "none"): \(failure?.description ?? "")"
      #expect(kinds.contains { $0 == failure?.kind }, "\(kindsAndWords)")
      #expect(failure?.mayHaveArrived == false)
    }

    @Test("cancelling closes the connection at once, wherever the reply stands")
    func cancelling() async throws {
      for isStreaming in [false, true] {
        let server = try FakeServer { _, reply in
          if isStreaming {
            reply.beginChunks()
            reply.chunk("begun")
          }
          reply.wait(seconds: 20)
        }
        let task = Task {
          await Self.outcome(Self.get(server.url, HTTPTimeouts(connect: 5)))
        }
        while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        task.cancel()
        #expect(await task.value == "cancelled")
        #expect(await server.waitUntilIdle())
        server.stop()
      }
    }

    @Test("a reader that stops early, or throws, ends the exchange")
    func stoppingEarly() async throws {
      struct Enough: Error {}
      let server = try FakeServer { _, reply in
        reply.beginChunks()
        while reply.chunk("x"), reply.wait(seconds: 0.01) {}
      }
      defer { server.stop() }
      let call = Self.get(server.url, HTTPTimeouts())
      let first = try await HTTPConnector.shared.perform(call) { try await $1.next() ?? [] }
      #expect(first.first == UInt8(ascii: "x"))
      await #expect(throws: Enough.self) {
        try await HTTPConnector.shared.perform(call) { _, body in
          _ = try await body.next()
          throw Enough()
        }
      }
      #expect(await server.waitUntilIdle())
    }

    @Test(
      "connections are used again; one to an address of its own is not, and keeps the host's name")
    func connections() async throws {
      let server = try FakeServer { request, reply in
        reply.finish(body: request.header("host") ?? "")
      }
      defer { server.stop() }
      for _ in 0..<5 { #expect(await Self.outcome(Self.get(server.url)).hasPrefix("200 127")) }
      #expect(server.connections == 1)
      var call = Self.get("http://agent.example:\(server.port)/")
      call.address = "127.0.0.1"
      #expect(await Self.outcome(call) == "200 agent.example:\(server.port)")
      #expect(await Self.outcome(call) == "200 agent.example:\(server.port)")
      #expect(server.connections == 3)
    }

    @Test("what is sent arrives: method, target, headers, body")
    func sending() async throws {
      let server = try FakeServer { request, reply in
        reply.finish(
          body:
            "\(request.method) \(request.target) \(request.header("x-one") ?? "-") \(request.text)")
      }
      defer { server.stop() }
      let call = HTTPCall(
        method: "PATCH", url: server.url + "/a?b=c", headers: [HTTPHeader("X-One", "1")],
        body: Array("body".utf8))
      #expect(await Self.outcome(call) == "200 PATCH /a?b=c 1 body")
    }
  }
#endif

@Suite("Where URLs lead")
struct HTTPAddressTests {
  @Test(
    "URLs that readers take for different places are none",
    arguments: [
      "", "http:", "http://", "//host", "ftp://a", "http://a@b/", "http://a\\b", "http://a b/",
      "http://a\u{0}b", "http://a:port/", "http://a:99999/", "http://a:-1/", "http://[::1",
      "http://[::1]x/",
      "http:///path", "http://:80/", "http://a:+80/", "http://[::1]:+1/",
    ])
  func refused(url: String) {
    #expect(HTTPAddress(url) == nil)
  }

  @Test(
    "scheme, host, port and target",
    arguments: [
      ("http://a", "http a 80 /"), ("HTTPS://A.Example/x?y#z", "https a.example 443 /x?y"),
      ("http://a:8080?q", "http a 8080 /?q"), ("http://[::1]:81/x", "http ::1 81 /x"),
      ("http://a:/", "http a 80 /"), ("https://a/b@c:d", "https a 443 /b@c:d"),
    ])
  func parts(url: String, parts: String) throws {
    let address = try #require(HTTPAddress(url))
    #expect("\(address.scheme) \(address.host) \(address.port) \(address.target)" == parts)
  }
}
