import AgentTrace
import Synchronization
import TestSupport
import Testing

#if Live
  @Suite("Providers that closed the connection meanwhile")
  struct ProxyAskingTests {
    private final class Count: Sendable {
      private let count = Mutex(0)

      func next() -> Int {
        count.withLock { count in
          count += 1
          return count
        }
      }
    }

    private static let function =
      #","tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]"#
    private static let ofTheProvider = #","tools":[{"type":"web_search"}]"#

    @Test(
      "a request that a kept connection lost is sent once more, unless the provider might do something twice",
      arguments: [("", true), (function, true), (ofTheProvider, false)])
    func askedAgain(more: String, isAskedAgain: Bool) async throws {
      let count = Count()
      let server = try FakeServer { _, reply in
        if count.next() == 2 {
          reply.close()
        } else {
          reply.finish(body: ProxyTests.answer("Fine."))
        }
      }
      let store = try await ProxyTests().recording(server) { port in
        let client = RawClient(port: port)
        client.send(ProxyTests.post(ProxyTests.path, ProxyTests.chat(), port: port))
        let end = #""completion_tokens":2}}"#
        #expect(client.receive(until: end).hasPrefix("HTTP/1.1 200 "))
        let second = ProxyTests.chat(#"[{"role":"user","content":"more"}]"#, more: more)
        client.send(ProxyTests.post(ProxyTests.path, second, port: port))
        let reply = client.receive(until: isAskedAgain ? end : #""type":"error"}"#)
        #expect(reply.hasPrefix(isAskedAgain ? "HTTP/1.1 200 " : "HTTP/1.1 502 "))
      }
      #expect(server.requests.count == (isAskedAgain ? 3 : 2))
      let reasons = store.of(.unseen).compactMap { $0["reason"]?.stringValue }
      #expect(reasons.contains { $0.contains("tools of its own") } == !isAskedAgain)
    }
  }
#endif
