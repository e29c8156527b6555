import AgentRuntime
import AgentTrace
import Foundation
import LiveBoundary
import Synchronization
import TestSupport
import Testing

#if Live
  @Suite("The recording proxy", .serialized)
  struct ProxyTests {
    // MARK: Around it

    /// Keeps what is recorded.
    final class MemoryLog: ClosableSink {
      private let kept: EventStore

      init(_ kept: EventStore) { self.kept = kept }

      struct LineTooLong: Error {}

      /// Refuses what a log would refuse.
      func append(_ event: Event, isEffectAhead: Bool) throws {
        guard event.encodedLine().count < 8 << 20 else { throw LineTooLong() }
        kept.add(event)
      }
      func closeLog() -> String { "memory" }
      func settle() {}
      func takeBack() { kept.empty() }
    }

    final class EventStore: Sendable {
      private let events = Mutex<[Event]>([])
      func add(_ event: Event) { events.withLock { $0.append(event) } }
      func empty() { events.withLock { $0 = [] } }
      var all: [Event] { events.withLock { $0 } }

      func of(_ type: EventType) -> [JSONObject] { all.filter { $0.type == type }.map(\.data) }
    }

    /// Runs some blocking work with the proxy before a server.
    @discardableResult
    func recording(
      _ server: FakeServer, redactor: Redactor = Redactor(RedactionSettings()),
      source: (any ReplySource)? = nil,
      start change: (inout ExchangeRecorder.Start) -> Void = { _ in },
      _ work: @escaping @Sendable (_ port: Int) throws -> Void
    ) async throws -> EventStore {
      let store = EventStore()
      var start = ExchangeRecorder.Start(
        runId: "0193c2a4-0000-8000-8000-000000000000", name: "test")
      change(&start)
      let recorder = ExchangeRecorder(
        start, clock: SystemClock(),
        redactor: redactor, makeSink: { MemoryLog(store) })
      let routes = try ProxyRoutes(
        ["openai=\(server.url)/v1", "anthropic=\(server.url)", "other=\(server.url)/x"],
        variables: { _ in nil })
      try await RecordingProxy(routes, recordingTo: recorder, source: source).serve { port in
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
          Thread.detachNewThread { done.resume(with: Result { try work(port) }) }
        }
      }
      _ = try await recorder.finish(.exited(0))
      try Self.check(store.all)
      return store
    }

    /// What holds for every recorded run: numbers without gaps, payloads that can be read, a state that can
    /// be folded, and the digest of it.
    private static func check(_ events: [Event]) throws {
      var state = AgentState()
      for (index, event) in events.enumerated() {
        #expect(event.seq == index)
        let payload = try EventPayload(of: event)
        if case .stop(let stop) = payload { #expect(stop.stateDigest == state.digest.hex) }
        state.apply(event)
      }
      #expect(events.first?.type == .runStarted && events.last?.type == .stop)
      for (before, after) in zip(events, events.dropFirst()) { #expect(before.t <= after.t) }
    }

    static func chat(
      _ messages: String = #"[{"role":"user","content":"hi"}]"#, stream: Bool = false,
      more: String = ""
    ) -> String {
      #"{"model":"m","messages":\#(messages),"stream":\#(stream)\#(more)}"#
    }

    static func post(
      _ path: String, _ body: String, headers: String = "", port: Int
    ) -> String {
      "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer sk-verysecretverysecret\r\n\(headers)"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    static let path = "/openai/v1/chat/completions"

    static func answer(_ text: String, id: String = "r1") -> String {
      #"{"id":"\#(id)","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"\#(text)"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#
    }

    static func call(_ name: String, _ arguments: String, id: String) -> String {
      let escaped = arguments.replacing("\"", with: "\\\"")
      return
        #"{"id":"r","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"\#(id)","type":"function","function":{"name":"\#(name)","arguments":"\#(escaped)"}}]},"finish_reason":"tool_calls"}]}"#
    }

    // MARK: Faults

    @Test(
      "an upstream that cannot be reached is a 502 that says so, and a try that came to nothing")
    func unreachable() async throws {
      let server = try FakeServer { $1.close() }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        // The server closes before it says anything.
        client.send(Self.post(Self.path, Self.chat(), port: port))
        let lost = client.receive(until: "param")
        #expect(lost.hasPrefix("HTTP/1.1 502 ") && lost.contains("agent-eval: http://127.0.0.1:"))
      }
      let results = store.of(.modelResult)
      #expect(results.count == 1 && results[0]["error"]?.stringValue?.contains("502") == true)
      #expect(store.of(.decision).isEmpty)
    }

    @Test("an upstream that breaks off within a stream breaks off for the client as well")
    func cut() async throws {
      let server = try FakeServer { _, reply in
        reply.beginChunks()
        reply.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n")
        reply.close()
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(Self.post(Self.path, Self.chat(stream: true), port: port))
        let got = String(decoding: client.receiveAll(), as: UTF8.self)
        #expect(got.contains("Hel") && !got.hasSuffix("0\r\n\r\n"))
      }
      let result = try #require(store.of(.modelResult).first)
      #expect(result["error"]?.stringValue?.contains("stream ended") == true)
      #expect(result["wire"]?["ending"] == "cut")
    }

    @Test(
      "a client that goes away ends what is done for it at once, and is recorded so",
      arguments: [false, true])
    func dropped(hasBegun: Bool) async throws {
      let wasLeft = Mutex(false)
      let server = try FakeServer { _, reply in
        if hasBegun {
          reply.beginChunks()
          reply.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n")
        }
        // Far longer than any machine takes to tell it.
        let isHere = reply.wait(seconds: 120)
        wasLeft.withLock { $0 = !isHere }
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(Self.post(Self.path, Self.chat(stream: true), port: port))
        let end = ContinuousClock.now + .seconds(60)
        if hasBegun { _ = client.receive(until: "Hel") }
        while server.requests.isEmpty, ContinuousClock.now < end {
          Thread.sleep(forTimeInterval: 0.005)
        }
        client.close()
        // Nothing else may end the work that is done for it: the proxy serves on meanwhile.
        while !wasLeft.withLock({ $0 }), ContinuousClock.now < end {
          Thread.sleep(forTimeInterval: 0.005)
        }
      }
      #expect(wasLeft.withLock { $0 }, "the upstream was not let go")
      let result = try #require(store.of(.modelResult).first)
      #expect(result["error"]?.stringValue?.contains("went away") == true)
    }

    @Test("a stream reaches the client piece by piece, as it comes")
    func unbuffered() async throws {
      let gate = DispatchSemaphore(value: 0)
      let server = try FakeServer { _, reply in
        reply.beginChunks()
        for index in 0..<3 {
          reply.chunk(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"w\(index) \"}}]}\n\n")
          // Only once the client has it comes the next one.
          #expect(gate.wait(timeout: .now() + 10) == .success)
        }
        reply.chunk("data: [DONE]\n\n")
        reply.endChunks()
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(Self.post(Self.path, Self.chat(stream: true), port: port))
        for index in 0..<3 {
          #expect(client.receive(until: "w\(index) ").contains("w\(index) "))
          gate.signal()
        }
        #expect(client.receive(until: "[DONE]\n\n\r\n0\r\n\r\n").contains("[DONE]"))
      }
      #expect(store.of(.decision).first?["text"] == "w0 w1 w2 ")
      #expect((store.of(.modelResult).first?["wire"]?["pieces"]?.arrayValue?.count ?? 0) >= 4)
    }

    @Test("errors and tries again are tries of one step")
    func tries() async throws {
      let count = Mutex(0)
      let server = try FakeServer { _, reply in
        switch count.withLock({
          $0 += 1
          return $0
        }) {
        case 1:
          reply.finish(
            429, headers: [("Retry-After", "0")],
            body: #"{"error":{"message":"slow down","type":"rate_limit","code":null}}"#)
        case 2: reply.finish(500, type: "text/plain", body: "oops")
        case 3: reply.finish(200, body: "{not json")
        default: reply.finish(200, body: Self.answer("at last"))
        }
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        for end in ["}}", "oops", "{not json", "}}"] {
          client.send(Self.post(Self.path, Self.chat(), port: port))
          _ = client.receive(until: end)
        }
      }
      let results = store.of(.modelResult)
      #expect(results.map { $0["attempt"]?.intValue } == [1, 2, 3, 4])
      #expect(results[0]["error"]?.stringValue?.contains("slow down") == true)
      #expect(results[1]["error"] == "status 500")
      #expect(store.of(.contextBuilt).count == 1)
      #expect(store.of(.decision).map { $0["text"] } == ["at last"])
    }

    // MARK: HTTP

    @Test("requests on one connection, sent at once, are answered in their order")
    func pipelining() async throws {
      let server = try FakeServer { request, reply in
        if request.text.contains("first") { Thread.sleep(forTimeInterval: 0.1) }
        reply.finish(body: Self.answer(request.text.contains("first") ? "one" : "two"))
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        let both = ["first", "second"].map {
          Self.post(Self.path, Self.chat(#"[{"role":"user","content":"\#($0)"}]"#), port: port)
        }.joined()
        client.send(both)
        var all = client.receive(until: "two")
        if !all.contains("two") { all += client.receive(until: "two") }
        let one = try #require(all.firstRange(of: "one"))
        let two = try #require(all.firstRange(of: "two"))
        #expect(one.lowerBound < two.lowerBound)
      }
      #expect(store.of(.decision).map { $0["text"] } == ["one", "two"])
    }

    @Test("a client that waits to be told to go on is told")
    func expectContinue() async throws {
      let server = try FakeServer { request, reply in
        #expect(request.header("expect") == nil)
        reply.finish(body: Self.answer("there"))
      }
      try await recording(server) { port in
        let client = RawClient(port: port)
        let body = Self.chat()
        client.send(
          "POST \(Self.path) HTTP/1.1\r\nHost: localhost:\(port)\r\nExpect: 100-continue\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n")
        #expect(client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
        client.send(body)
        #expect(client.receive(until: "there").contains("HTTP/1.1 200 "))
      }
    }

    @Test("bodies in chunks, other methods, HTTP/1.0 and other paths are passed on")
    func otherRequests() async throws {
      let server = try FakeServer { request, reply in
        switch (request.method, request.target) {
        case ("HEAD", _): reply.head(200, headers: [("Content-Length", "12")])
        case ("GET", "/v1/models"): reply.finish(body: #"{"data":[]}"#)
        case ("POST", "/v1/embeddings?x=1"): reply.finish(body: #"{"embedding":[1]}"#)
        case ("POST", "/v1/chat/completions"): reply.finish(body: Self.answer("ok"))
        case ("DELETE", _): reply.send("HTTP/1.1 204 None\r\n\r\n")
        default: reply.finish(404, body: "{}")
        }
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        let head = "Host: 127.0.0.1:\(port)\r\n"
        client.send("HEAD /openai/v1/models HTTP/1.1\r\n\(head)\r\n")
        #expect(client.receive(until: "\r\n\r\n").lowercased().contains("content-length: 12"))
        client.send("GET /openai/v1/models HTTP/1.1\r\n\(head)\r\n")
        #expect(client.receive(until: "}").contains(#"{"data":[]}"#))
        client.send("DELETE /openai/v1/files/1 HTTP/1.1\r\n\(head)\r\n")
        #expect(client.receive(until: "\r\n\r\n").contains(" 204 "))
        client.send(Self.post("/openai/v1/embeddings?x=1", "{}", port: port))
        #expect(client.receive(until: "}").contains("embedding"))
        let body = Self.chat()
        client.send(
          "POST \(Self.path) HTTP/1.1\r\n\(head)Transfer-Encoding: chunked\r\n\r\n"
            + "5\r\n\(body.prefix(5))\r\n"
            + "\(String(body.utf8.count - 5, radix: 16))\r\n\(body.dropFirst(5))\r\n0\r\n\r\n")
        #expect(client.receive(until: "}}").contains("ok"))
        let old = RawClient(port: port)
        old.send("GET /openai/v1/models HTTP/1.0\r\n\(head)\r\n")
        #expect(String(decoding: old.receiveAll(), as: UTF8.self).hasSuffix(#"{"data":[]}"#))
        let lost = RawClient(port: port)
        lost.send("GET /elsewhere HTTP/1.1\r\n\(head)Connection: close\r\n\r\n")
        #expect(
          String(decoding: lost.receiveAll(), as: UTF8.self).contains("no upstream has this path"))
        let stranger = RawClient(port: port)
        stranger.send("GET /openai/v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(String(decoding: stranger.receiveAll(), as: UTF8.self).contains(" 403 "))
        let garbage = RawClient(port: port)
        garbage.send("\u{1}\u{2}nonsense\r\n\r\n")
        #expect(String(decoding: garbage.receiveAll(), as: UTF8.self).contains(" 400 "))
      }
      #expect(
        store.of(.requestForwarded).map { $0["method"] } == [
          "HEAD", "GET", "DELETE", "POST", "GET",
        ])
      #expect(store.of(.requestForwarded).allSatisfy { $0["status"] != nil })
      #expect(store.of(.decision).count == 1)
    }

    @Test("a compressed reply is not asked for; one that comes all the same is passed on as it is")
    func compressed() async throws {
      let bytes = Gzip.stored(Array(Self.answer("ok").utf8))
      let server = try FakeServer { request, reply in
        #expect(request.header("accept-encoding") == "identity")
        reply.finish(headers: [("Content-Encoding", "gzip")], body: bytes)
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(
          Self.post(
            Self.path, Self.chat(), headers: "Accept-Encoding: gzip\r\nConnection: close\r\n",
            port: port))
        #expect(client.receiveAll().suffix(bytes.count).elementsEqual(bytes))
      }
      #expect(store.of(.decision).first?["text"] == "ok")
    }

    @Test(
      "a huge request and a huge reply pass, in bounded memory, and a slow reader holds them up")
    func huge() async throws {
      let size = 24 << 20
      let sent = Mutex(0)
      let server = try FakeServer { request, reply in
        #expect(request.body.count > size)
        reply.beginChunks()
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10)
        reply.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"")
        for _ in 0..<(size / piece.count) {
          guard reply.chunk(piece) else { return }
          sent.withLock { $0 += piece.count }
        }
        reply.chunk("\"}}]}\n\ndata: [DONE]\n\n")
        reply.endChunks()
      }
      let store = try await recording(server) { port in
        let text = String(repeating: "y", count: size)
        let client = RawClient(port: port, receiveBufferBytes: 65_536)
        client.send(
          Self.post(
            Self.path, Self.chat(#"[{"role":"user","content":"\#(text)"}]"#, stream: true),
            headers: "Connection: close\r\n", port: port))
        _ = client.receive(until: "content")
        Thread.sleep(forTimeInterval: 0.5)
        // What fits into the buffers between has been sent, and no more.
        let early = sent.withLock { $0 }
        #expect(early < size * 3 / 4, "\(early) bytes were read ahead")
        #expect(client.receiveAll().count > size - (4 << 20))
        #expect(sent.withLock { $0 } == size)
      }
      let result = try #require(store.of(.modelResult).first)
      #expect(result["wire"]?["omitted"]?.stringValue?.contains("bytes") == true)
      #expect(result["wire"]?["body"] == nil)
      for event in store.all {
        #expect(CanonicalJSON.encode(.object(event.data)).count < 8 << 20)
      }
    }

    @Test("a reply and a request that are longer than a line stand cut, and the recording goes on")
    func longerThanALine() async throws {
      let text = String(repeating: "y", count: 9 << 20)
      let server = try FakeServer { request, reply in
        reply.finish(body: Self.answer(request.text.contains("many") ? "ok" : text))
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(
          Self.post(Self.path, Self.chat(), headers: "Connection: close\r\n", port: port))
        #expect(client.receiveAll().count > 9 << 20)
        let words = String(repeating: "z", count: 60_000)
        let messages = (0..<200).map { #"{"role":"user","content":"many \#($0) \#(words)"}"# }
        let second = RawClient(port: port)
        second.send(
          Self.post(
            Self.path, Self.chat("[\(messages.joined(separator: ","))]"),
            headers: "Connection: close\r\n", port: port))
        _ = second.receiveAll()
      }
      let decisions = store.of(.decision)
      #expect(decisions.count == 2 && decisions[1]["text"] == "ok")
      let said = CanonicalJSON.string(decisions[0]["text"] ?? .null)
      #expect(said.hasPrefix(#"{"$cut":{"bytes":\#((9 << 20) + 2),"head":"yyy"#))
      #expect(store.of(.modelResult).compactMap { $0["status"]?.intValue } == [200, 200])
      let packet = CanonicalJSON.string(.object(store.of(.contextBuilt)[1]))
      #expect(packet.contains("many 0 ") && packet.contains("many 199 "))
    }

    // MARK: What is recorded

    @Test("calls and their results, words of people and an answer are told as those of a run")
    func run() async throws {
      let server = try FakeServer { request, reply in
        switch request.number {
        case 0: reply.finish(body: Self.call("look", #"{"id":"7"}"#, id: "call_x"))
        case 1: reply.finish(body: Self.answer("It is blue."))
        default: reply.finish(body: Self.answer("You are welcome."))
        }
      }
      let tools =
        #","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],"temperature":0.5"#
      let first =
        #"{"role":"system","content":"Be brief."},{"role":"user","content":"What colour?"}"#
      let second =
        first
        + #",{"role":"assistant","content":null,"tool_calls":[{"id":"call_x","type":"function","function":{"name":"look","arguments":"{\"id\":\"7\"}"}}]},{"role":"tool","tool_call_id":"call_x","content":"blue"}"#
      let third =
        second
        + #",{"role":"assistant","content":"It is blue."},{"role":"user","content":"Thanks!"}"#
      let store = try await recording(server) { port in
        for messages in [first, second, third] {
          let client = RawClient(port: port)
          client.send(
            Self.post(
              Self.path, Self.chat("[\(messages)]", more: tools),
              headers: "Connection: close\r\n", port: port))
          _ = client.receiveAll()
        }
      }
      #expect(
        store.all.map(\.type.rawValue) == [
          "run_started", "tools_listed", "context_built", "model_result", "decision", "tool_result",
          "context_built", "model_result", "decision", "human_replied", "context_built",
          "model_result", "decision", "stop",
        ])
      let result = try #require(store.of(.toolResult).first)
      #expect(result["callId"] == "1.1.0" && result["data"] == "blue" && result["tool"] == "look")
      #expect(store.of(.runStarted).first?["goal"] == "What colour?")
      #expect(store.of(.humanReplied).first?["text"] == "Thanks!")
      let contexts = store.of(.contextBuilt)
      let messages = contexts[1]["prompt"]?["messages"]?.arrayValue ?? []
      #expect(messages.map { $0["role"] } == ["system", "user", "assistant", "tool"])
      #expect(messages[2]["content"]?[0]?["callId"] == "1.1.0")
      #expect(store.of(.stop).first?["answer"] == "You are welcome.")
      #expect(store.of(.modelResult).first?["wire"]?["parameters"] == ["temperature": 0.5])
      let text = store.all.map { "\($0.data)" }.joined()
      #expect(!text.contains("verysecret"))
    }

    @Test("the key of a request is withheld wherever else it is said")
    func secrets() async throws {
      let server = try FakeServer { request, reply in
        #expect(request.header("authorization") == "Bearer sk-verysecretverysecret")
        #expect(request.text.contains("sk-verysecretverysecret"))
        // A gateway may say it in any of its words.
        let answer = Self.answer(
          "your key is sk-verysecretverysecret and plainkey-1234567", id: "r plainkey-1234567")
        reply.finish(
          headers: [("x-request-id", "q sk-verysecretverysecret")],
          body: answer.replacing("m-1", with: "m plainkey-1234567")
            .replacing("\"stop\"", with: "\"stop plainkey-1234567\""))
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(
          Self.post(
            "/other/chat/completions?key=plainkey-1234567".replacing("/other", with: "/other/x"),
            Self.chat(#"[{"role":"user","content":"my key is sk-verysecretverysecret"}]"#),
            headers: "x-api-key: plainkey-1234567\r\n", port: port))
        #expect(client.receive(until: "}}").contains("plainkey-1234567"))
      }
      let text = store.all.map { "\($0.data)" }.joined()
      #expect(!text.contains("verysecret") && !text.contains("plainkey-1234567"))
      #expect(text.contains("«redacted:"))
    }

    @Test("a secret that a stream says in pieces is in no log, and its reply is not kept")
    func secretInPieces() async throws {
      let secret = "ghp_" + String(repeating: "a1B2", count: 9)
      let server = try FakeServer { _, reply in
        reply.beginChunks()
        for character in secret {
          reply.chunk(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\(character)\"}}]}\n\n")
        }
        reply.chunk("data: [DONE]\n\n")
        reply.endChunks()
      }
      let store = try await recording(server) { port in
        let client = RawClient(port: port)
        client.send(Self.post(Self.path, Self.chat(stream: true), port: port))
        _ = client.receive(until: "0\r\n\r\n")
        Thread.sleep(forTimeInterval: 0.1)
      }
      #expect(
        store.of(.decision).first?["text"]?.stringValue?.hasPrefix("«redacted:github") == true)
      let wire = store.of(.modelResult).first?["wire"]
      #expect(wire?["body"] == nil && wire?["omitted"]?.stringValue?.contains("withheld") == true)
    }

    @Test("conversations side by side are told apart, whatever order their requests come in")
    func sideBySide() async throws {
      let children = Mutex(0)
      let server = try FakeServer { request, reply in
        let isChild = request.text.contains("child")
        if isChild, !request.text.contains("\"tool\"") {
          // None is answered before all have asked, however busy the machine is.
          children.withLock { $0 += 1 }
          let end = ContinuousClock.now + .seconds(20)
          while children.withLock({ $0 }) < 3, ContinuousClock.now < end {
            Thread.sleep(forTimeInterval: 0.005)
          }
        }
        if request.text.contains("\"tool\"") {
          reply.finish(body: Self.answer(isChild ? "child done" : "parent done"))
        } else {
          reply.finish(
            body: Self.call(isChild ? "dig" : "delegate", "{}", id: isChild ? "c1" : "p1"))
        }
      }
      @Sendable func turn(_ who: String, _ call: String?, _ name: String) -> String {
        let begin = #"[{"role":"system","content":"\#(who)"},{"role":"user","content":"go"}"#
        guard let call else { return begin + "]" }
        return begin
          + #",{"role":"assistant","content":null,"tool_calls":[{"id":"\#(call)","type":"function","function":{"name":"\#(name)","arguments":"{}"}}]},{"role":"tool","tool_call_id":"\#(call)","content":"r"}]"#
      }
      let store = try await recording(server) { port in
        @Sendable func ask(_ messages: String) {
          let client = RawClient(port: port)
          client.send(
            Self.post(
              Self.path, Self.chat(messages), headers: "Connection: close\r\n", port: port))
          _ = client.receiveAll()
        }
        ask(turn("parent", nil, ""))
        let group = DispatchGroup()
        for _ in 0..<3 {
          DispatchQueue.global().async(group: group) { ask(turn("child", nil, "")) }
        }
        group.wait()
        Thread.sleep(forTimeInterval: 0.1)
        ask(turn("child", "c1", "dig"))
        ask(turn("parent", "p1", "delegate"))
        Thread.sleep(forTimeInterval: 0.1)
      }
      let decisions = store.of(.decision)
      #expect(decisions.map { $0["caller"]?.stringValue }.prefix(1) == [nil])
      let callers = Set(decisions.compactMap { $0["caller"]?.stringValue })
      // Those that ask the same are told apart by their numbers.
      let name = try #require(callers.min { $0.utf8.count < $1.utf8.count })
      #expect(name.hasPrefix("agent-") && callers == [name, "\(name)-2", "\(name)-3"])
      #expect(store.of(.stop).first?["answer"] == "parent done")
      let result = store.of(.toolResult).map { $0["caller"]?.stringValue }
      #expect(result.count == 2 && result[0] != nil && result[1] == nil)
      let calls = decisions.flatMap { $0["calls"]?.arrayValue ?? [] }
      #expect(Set(calls.compactMap { $0["callId"]?.stringValue }).count == 4)
    }

    // MARK: Answering again

    /// Answers what it is told to, once each.
    final class Tape: ReplySource {
      private let replies: Mutex<[String: [WireReply]]>

      init(_ events: [Event]) {
        var replies: [String: [WireReply]] = [:]
        for event in events where event.type == .modelResult {
          guard let reply = WireRecord(event.data["wire"])?.reply else { continue }
          replies[event.data["requestDigest"]?.stringValue ?? "", default: []].append(reply)
        }
        self.replies = Mutex(replies)
      }

      func reply(to request: ObservedRequest, upstream: String, path: String) -> WireReply? {
        replies.withLock { replies in
          guard let first = replies[request.digest]?.first else { return nil }
          replies[request.digest]?.removeFirst()
          return first
        }
      }

      func reply(
        toForwarded method: String, upstream: String, path: String, bodyDigest: String
      ) -> WireReply? { nil }
    }

    @Test("a recording answers with the same bytes in the same pieces, and asks nobody")
    func replayed() async throws {
      let server = try FakeServer { request, reply in
        reply.beginChunks(headers: [("X-Request-Id", "req-1"), ("Set-Cookie", "secret-id")])
        for index in 0..<40 {
          reply.chunk(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"é\(index)\"}}]}\r\n\r\n")
        }
        reply.chunk("data: [DONE]\n\n")
        reply.endChunks()
      }
      let bodies = Mutex<[[UInt8]]>([])
      let work: @Sendable (Int) throws -> Void = { port in
        let client = RawClient(port: port)
        client.send(
          Self.post(
            Self.path, Self.chat(stream: true), headers: "Connection: close\r\n", port: port))
        let all = client.receiveAll()
        let end = try #require(all.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound)
        bodies.withLock { $0.append(Self.dechunked(Array(all[end...]))) }
      }
      let store = try await recording(server, work)
      #expect(!store.all.map { "\($0.data)" }.joined().contains("secret-id"))
      #expect(store.of(.modelResult).first?["requestId"] == "req-1")
      let asked = server.requests.count
      server.stop()
      try await recording(server, source: Tape(store.all), work)
      let (first, second) = bodies.withLock { ($0[0], $0[1]) }
      #expect(first == second && first.count > 2_000)
      #expect(server.requests.count == asked)
      // What it does not know is an error that no client tries again.
      try await recording(server, source: Tape([])) { port in
        let client = RawClient(port: port)
        client.send(
          Self.post(Self.path, Self.chat(), headers: "Connection: close\r\n", port: port))
        let got = String(decoding: client.receiveAll(), as: UTF8.self)
        #expect(got.hasPrefix("HTTP/1.1 400 ") && got.contains("x-should-retry: false"))
        #expect(got.contains("the recording holds no reply to this request"))
      }
    }

    private static func dechunked(_ bytes: [UInt8]) -> [UInt8] {
      var (rest, body): (ArraySlice<UInt8>, [UInt8]) = (bytes[...], [])
      while let line = rest.firstIndex(of: 10),
        let size = Int(String(decoding: rest[..<(line - 1)], as: UTF8.self), radix: 16), size > 0
      {
        body += rest[(line + 1)..<(line + 1 + size)]
        rest = rest[(line + 3 + size)...]
      }
      return body
    }

    // MARK: What is asked

    @Test(
      "what differs from one try to the next does not count, and everything that is asked does",
      arguments: Dialect.allCases)
    func digests(dialect: Dialect) throws {
      func digest(_ change: (inout JSONObject) -> Void = { _ in }) throws -> String {
        var body = try #require(
          try JSONValue(parsing: Self.conversations[dialect] ?? "").objectValue)
        change(&body)
        return try #require(dialect.observed(body)).digest
      }
      let plain = try digest()
      for key in ObservedRequest.ignoredKeys {
        #expect(try digest { $0[key] = "other" } == plain)
      }
      // Other ids of calls, the same for call and result.
      let renamed = try JSONValue(
        parsing: (Self.conversations[dialect] ?? "").replacing("call_1", with: "call_zzz"))
      #expect(try dialect.observed(#require(renamed.objectValue))?.digest == plain)
      for (key, value) in [
        ("model", "other"), ("temperature", 0.1),
      ] as [(String, JSONValue)] {
        // Where the path says it.
        if [.bedrock, .gemini].contains(dialect), key != "temperature" { continue }
        #expect(try digest { $0[key] = value } != plain, "\(key)")
      }
      // Whether it is streamed is no part of what is asked; where the path says it, no key does.
      if ![.bedrock, .gemini].contains(dialect) {
        #expect(try digest { $0["stream"] = .bool($0["stream"] != true) } == plain)
      }
      for (old, new) in [
        ("What colour", "Which colour"), ("blue", "red"), ("{\\\"id\\\":7}", "{\\\"id\\\":8}"),
        ("\"id\":7", "\"id\":8"), ("Be brief", "Be long"), ("Looks.", "Sees."),
      ] {
        let text = Self.conversations[dialect] ?? ""
        guard text.contains(old) else { continue }
        let changed = try #require(
          try JSONValue(parsing: text.replacing(old, with: new)).objectValue)
        #expect(try #require(dialect.observed(changed)).digest != plain, "\(old)")
      }
    }

    static let conversations: [Dialect: String] = [
      .openai: #"""
      {"model":"m","messages":[{"role":"developer","content":"Be brief."},
        {"role":"user","content":[{"type":"text","text":"What colour?"}]},
        {"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_1","type":"function",
          "function":{"name":"look","arguments":"{\"id\":7}"}}]},
        {"role":"tool","tool_call_id":"call_1","content":"blue"}],
       "tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{}}}]}
      """#,
      .anthropic: #"""
      {"model":"m","max_tokens":10,"system":[{"type":"text","text":"Be brief."}],
       "messages":[{"role":"user","content":"What colour?"},
        {"role":"assistant","content":[{"type":"text","text":"Let me look."},
          {"type":"tool_use","id":"call_1","name":"look","input":{"id":7}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"blue"}]}],
       "tools":[{"name":"look","description":"Looks.","input_schema":{}}]}
      """#,
      .openaiResponses: #"""
      {"model":"m","instructions":"Be brief.","input":[{"role":"user","content":"What colour?"},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]},
        {"type":"function_call","call_id":"call_1","name":"look","arguments":"{\"id\":7}"},
        {"type":"function_call_output","call_id":"call_1","output":"blue"}],
       "tools":[{"type":"function","name":"look","description":"Looks.","parameters":{}}]}
      """#,
      .gemini: #"""
      {"systemInstruction":{"parts":[{"text":"Be brief."}]},
       "contents":[{"role":"user","parts":[{"text":"What colour?"}]},
        {"role":"model","parts":[{"text":"Let me look."},
          {"functionCall":{"id":"call_1","name":"look","args":{"id":7}}}]},
        {"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"look","response":{"output":"blue"}}}]}],
       "tools":[{"functionDeclarations":[{"name":"look","description":"Looks.","parameters":{}}]}]}
      """#,
      .ollama: #"""
      {"model":"m","messages":[{"role":"system","content":"Be brief."},
        {"role":"user","content":"What colour?"},
        {"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_1",
          "function":{"name":"look","arguments":{"id":7}}}]},
        {"role":"tool","tool_name":"look","tool_call_id":"call_1","content":"blue"}],
       "tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{}}}]}
      """#,
      .bedrock: #"""
      {"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}}],
       "messages":[{"role":"user","content":[{"text":"What colour?"}]},
        {"role":"assistant","content":[{"text":"Let me look."},
          {"toolUse":{"toolUseId":"call_1","name":"look","input":{"id":7}}}]},
        {"role":"user","content":[{"toolResult":{"toolUseId":"call_1","content":[{"text":"blue"}],"status":"success"}}]}],
       "toolConfig":{"tools":[{"toolSpec":{"name":"look","description":"Looks.","inputSchema":{"json":{}}}}]}}
      """#,
    ]

    @Test("a conversation is the same in every dialect")
    func sameInEachDialect() throws {
      var all: [[JSONValue]] = []
      for dialect in Dialect.allCases {
        let body = try #require(
          try JSONValue(parsing: Self.conversations[dialect] ?? "").objectValue)
        all.append(
          try #require(dialect.observed(body)).messages.map { message in
            // Two of them name the tool of a result as well.
            guard var object = message.objectValue, message["role"] == "tool",
              var part = message["content"]?[0]?.objectValue
            else { return message }
            part["name"] = nil
            object["content"] = [.object(part)]
            return .object(object)
          })
      }
      for other in all.dropFirst() { #expect(other == all[0]) }
      #expect(all[0].map { $0["role"] } == ["system", "user", "assistant", "tool"])
    }
  }
#endif
