import AgentRuntime
import AgentTrace
import LiveBoundary
import Synchronization
import TestSupport
import Testing

#if Live
  @Suite("A proxy whose log can be written no more")
  struct ProxyLossTests {
    private struct NoSpace: Error, CustomStringConvertible {
      var description: String { "no space is left" }
    }

    /// Takes events until there is no space left.
    private final class Log: ClosableSink {
      private let disk: Disk

      init(_ disk: Disk) { self.disk = disk }

      func append(_ event: Event, isEffectAhead: Bool) throws {
        if disk.isFull { throw NoSpace() }
      }
      func closeLog() -> String { "memory" }
      func settle() {}
      func takeBack() {}
    }

    private final class Disk: Sendable {
      private let state = Mutex(false)
      var isFull: Bool { state.withLock { $0 } }
      func fill() { state.withLock { $0 = true } }
    }

    @Test(
      "what can be recorded no more is not handed on where it was held, and no provider is asked again",
      arguments: [false, true])
    func full(isHeld: Bool) async throws {
      let disk = Disk()
      let server = try FakeServer { request, reply in
        if request.text.contains("second") { disk.fill() }
        reply.finish(body: ProxyTests.answer("fine"))
      }
      var start = ExchangeRecorder.Start(
        runId: "0193c2a4-0000-8000-8000-000000000000", name: "test")
      start.guarding = isHeld ? ProxyGuard() : nil
      let recorder = ExchangeRecorder(
        start, clock: SystemClock(), redactor: Redactor(RedactionSettings()),
        makeSink: { Log(disk) })
      let routes = try ProxyRoutes(["openai=\(server.url)/v1"], variables: { _ in nil })
      let replies = try await RecordingProxy(routes, recordingTo: recorder).serve { port in
        try await apart {
          let client = RawClient(port: port)
          return ["first", "second", "third"].map { text in
            let messages = #"[{"role":"user","content":"\#(text)"}]"#
            client.send(ProxyTests.post(ProxyTests.path, ProxyTests.chat(messages), port: port))
            return client.receive(until: "}")
          }
        }
      }
      #expect(replies[0].hasPrefix("HTTP/1.1 200 "))
      #expect(replies[1].hasPrefix(isHeld ? "HTTP/1.1 403 " : "HTTP/1.1 200 "))
      #expect(replies[2].hasPrefix("HTTP/1.1 403 "))
      #expect(replies[2].contains("the run can no longer be recorded: no space is left"))
      #expect(server.requests.count == 2)
      await #expect(throws: NoSpace.self) { _ = try await recorder.finish(.exited(0)) }
    }
  }
#endif
