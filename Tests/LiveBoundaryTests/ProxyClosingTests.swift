import AgentTrace
import Foundation
import LiveBoundary
import Synchronization
import TestSupport
import Testing

#if Live
  /// Clients that close the half of a connection that they send by, as `nc -N` does.
  extension ProxyTests {
    @Test(
      "a client that sends nothing more behind its request gets its reply, and the reply is recorded",
      arguments: [false, true])
    func closedByHalf(waits: Bool) async throws {
      let server = try FakeServer { _, reply in
        // Longer than it takes to look for whoever waits.
        if waits { Thread.sleep(forTimeInterval: 0.5) }
        reply.finish(body: Self.answer("there you are"))
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(Self.post(Self.path, Self.chat(), port: port))
        client.endSending()
        let reply = String(decoding: client.receiveAll(), as: UTF8.self)
        #expect(reply.hasPrefix("HTTP/1.1 200") && reply.contains("there you are"))
      }
      #expect(store.of(.decision).map { $0["text"] } == ["there you are"])
      #expect(store.of(.unseen).isEmpty)
    }

    @Test("a client that goes away behind its last word ends its request")
    func leftByHalf() async throws {
      let wasLeft = Mutex(false)
      let server = try FakeServer { _, reply in
        let isHere = reply.wait(seconds: 120)
        wasLeft.withLock { $0 = !isHere }
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(Self.post(Self.path, Self.chat(), port: port))
        client.endSending()
        let end = ContinuousClock.now + .seconds(60)
        while server.requests.isEmpty, ContinuousClock.now < end {
          Thread.sleep(forTimeInterval: 0.005)
        }
        client.close()
        while !wasLeft.withLock({ $0 }), ContinuousClock.now < end {
          Thread.sleep(forTimeInterval: 0.005)
        }
      }
      #expect(wasLeft.withLock { $0 }, "the upstream was not let go")
      let result = try #require(store.of(.modelResult).first)
      #expect(result["error"]?.stringValue?.contains("went away") == true)
    }

    @Test(
      "what a provider did for a request that got no reply is not seen, unless it is known to ask no model",
      arguments: [("agents/run", true), ("agents/run", false), ("embeddings", true)])
    func lost(path: String, leaves: Bool) async throws {
      let wasLeft = Mutex(false)
      let server = try FakeServer { _, reply in
        guard leaves else { return reply.close() }
        let isHere = reply.wait(seconds: 120)
        wasLeft.withLock { $0 = !isHere }
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(Self.post("/openai/v1/\(path)", "{}", port: port))
        guard leaves else {
          #expect(client.receive(until: "param").hasPrefix("HTTP/1.1 502 "))
          return
        }
        let end = ContinuousClock.now + .seconds(60)
        while server.requests.isEmpty, ContinuousClock.now < end {
          Thread.sleep(forTimeInterval: 0.005)
        }
        client.close()
        while !wasLeft.withLock({ $0 }), ContinuousClock.now < end {
          Thread.sleep(forTimeInterval: 0.005)
        }
      }
      let reasons = store.of(.unseen).compactMap { $0["reason"]?.stringValue }
      #expect(reasons.contains { $0.contains("POST /\(path)") } == (path == "agents/run"))
    }
  }
#endif
