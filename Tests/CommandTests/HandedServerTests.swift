import AgentTrace
import Foundation
import Synchronization
import TestSupport
import Testing

#if Live
  /// What servers of traces say and do, and what becomes of the runs that they are handed.
  @Suite("Servers that runs are handed to with --otlp")
  struct HandedServerTests {
    private static func record(
      _ url: String, in folder: TemporaryFolder, _ agent: String = Fixture.agent("weather")
    ) async throws -> Command.Outcome {
      let outcome = try await Binary.run(
        ["record", agent, "How is the weather in Oslo?", "--out", "runs", "--otlp", url],
        in: folder.path)
      #expect(outcome.output.contains("stop       success"))
      return outcome
    }

    private static func notes(_ outcome: Command.Outcome) -> [Substring] {
      outcome.errors.split(separator: "\n").filter { $0.hasPrefix("note: ") }
    }

    /// Expects that what a server was sent comes to the log that was recorded.
    private static func expectWhole(
      _ requests: [FakeServer.Request], in folder: TemporaryFolder,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      for (index, request) in requests.enumerated() {
        try folder.write("in/\(index).pb", request.body)
      }
      try await Binary.run(["import", "in", "--out", "out"], in: folder.path)
      let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
      #expect(logs.count == 2, sourceLocation: sourceLocation)
      let bytes = try logs.map(folder.read)
      #expect(Set(bytes).count == 1, sourceLocation: sourceLocation)
    }

    @Test(
      "whatever a server says of when to come again, the run is as without it",
      arguments: [
        "nan", "-nan", "inf", "-inf", "1e400", "-1", "99999999999999999999", "0x10", "soon", "",
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 9994 08:49:37 GMT",
      ])
    func retryAfter(_ words: String) async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { _, reply in
        reply.finish(429, headers: [("Retry-After", words)], body: "")
      }
      let outcome = try await Self.record(server.url, in: folder)
      #expect(Self.notes(outcome).count == 1 && outcome.errors.contains("answered with 429"))
    }

    @Test("a server that says when to come again is not asked before, and then has everything")
    func patience() async throws {
      let folder = try TemporaryFolder()
      let times = Mutex<[ContinuousClock.Instant]>([])
      let server = try FakeServer { request, reply in
        times.withLock { $0.append(.now) }
        if request.number == 0 {
          reply.finish(429, headers: [("Retry-After", "2")], body: "")
        } else {
          reply.finish(200, body: "")
        }
      }
      let outcome = try await Self.record(server.url, in: folder)
      #expect(Self.notes(outcome).isEmpty, "\(outcome.errors)")
      let asked = times.withLock(\.self)
      #expect(asked.count >= 2)
      #expect(asked.count < 2 || asked[1] - asked[0] >= .seconds(2))
      try await Self.expectWhole(server.requests.filter { $0.number > 0 }, in: folder)
    }

    /// A port that nobody listens at, and none of those that the system gives to whoever asks for any, such as the
    /// tests beside this one.
    private static func freePort() throws -> Int {
      for _ in 0..<20 {
        let port = Int.random(in: 12_000..<32_000)
        guard let server = try? FakeServer(port: port, { $1.finish(200, body: "") }) else {
          continue
        }
        server.stop()
        return port
      }
      throw POSIXError(.EADDRINUSE)
    }

    @Test("a server that comes up while the run goes on gets all of it")
    func late() async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "wait.sh", #"for i in $(seq 300); do [ -e up ] && { echo true; exit; }; sleep 0.1; done"#)
      try folder.write(
        "agent.yaml",
        """
        name: patient
        tools: [{name: wait, sideEffect: read, command: [sh, wait.sh]}]
        model: {script: [{call: {tool: wait, input: {}}}, {answer: done}]}
        """)
      let port = try Self.freePort()
      let path = folder.path
      async let outcome = Self.record("http://127.0.0.1:\(port)", in: folder, "agent.yaml")
      let isUnderWay = await eventually {
        folder.listing.contains { $0.hasPrefix("runs/") && $0.hasSuffix(".open") }
      }
      #expect(isUnderWay)
      let server = try FakeServer(port: port) { _, reply in
        _ = FileManager.default.createFile(atPath: path + "/up", contents: nil)
        reply.finish(200, body: "")
      }
      #expect(Self.notes(try await outcome).isEmpty)
      try await Self.expectWhole(server.requests, in: folder)
    }

    @Test(
      "spans that a server takes not at all are told, with its words",
      arguments: [
        (
          "application/json",
          Array(#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too\u001bold"}}"#.utf8)
        ),
        (
          "application/x-protobuf",
          [0x0a, 0x0b, 0x08, 0x02, 0x12, 0x07] + Array("too\u{1b}old".utf8)
        ),
      ] as [(String, [UInt8])])
    func partial(_ type: String, _ body: [UInt8]) async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { request, reply in
        reply.finish(
          200, type: type, body: request.text.contains("agent_eval.log.parts") ? body : [])
      }
      let outcome = try await Self.record(server.url, in: folder)
      let notes = Self.notes(outcome)
      #expect(notes.count == 1 && notes.first?.contains("but for 2 spans: too") ?? false)
      #expect(controlBytes(in: outcome.errorBytes).isEmpty)
    }

    @Test("a server that says yes and then nothing has the run")
    func silentBody() async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { _, reply in
        reply.head(200, headers: [("Content-Length", "100")])
        reply.wait(seconds: 60)
      }
      #expect(Self.notes(try await Self.record(server.url, in: folder)).isEmpty)
      try await Self.expectWhole(server.requests, in: folder)
    }

    @Test("a query stays where it is, and is not told")
    func query() async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { _, reply in reply.finish(401, body: "") }
      let outcome = try await Self.record(server.url + "/in/?key=abcdef123456#x", in: folder)
      #expect(server.requests.allSatisfy { $0.target == "/in/v1/traces?key=abcdef123456" })
      #expect(Self.notes(outcome).count == 1 && !outcome.errors.contains("abcdef"))
    }

    @Test("what a server refuses for good does not hold up what comes behind it")
    func refusedForGood() async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "wait.sh",
        #"for i in $(seq 300); do [ -e "$1" ] && { echo true; exit; }; sleep 0.1; done; echo false"#
      )
      // The first call goes on until something was refused, so that there is something behind that.
      try folder.write(
        "agent.yaml",
        """
        name: patient
        tools:
          - {name: hold, sideEffect: read, command: [sh, wait.sh, refused]}
          - {name: wait, sideEffect: read, command: [sh, wait.sh, taken]}
        model:
          script:
            - ask: Which one?
            - call: {tool: hold, input: {}}
            - call: {tool: wait, input: {}}
            - answer: done
        human: {answers: [{text: this, by: ana}]}
        """)
      let path = folder.path
      let server = try FakeServer { request, reply in
        let isFirst = request.number == 0
        _ = FileManager.default.createFile(
          atPath: path + (isFirst ? "/refused" : "/taken"), contents: nil)
        reply.finish(isFirst ? 400 : 200, body: "")
      }
      let outcome = try await Self.record(server.url, in: folder, "agent.yaml")
      #expect(Self.notes(outcome).isEmpty, "\(outcome.errors)")
      #expect(outcome.output.contains("wait → true"), "\(outcome.output)")
      try await Self.expectWhole(server.requests.filter { $0.number > 0 }, in: folder)
    }

    @Test("a long run goes in requests that servers take, its root in the last")
    func long() async throws {
      let folder = try TemporaryFolder()
      let text = String(repeating: "Every word of this result is there. ", count: 12_000)
      let calls = (0..<12).map { "    - call: {tool: read, input: {page: \($0)}}\n" }.joined()
      try folder.write(
        "agent.yaml",
        """
        name: reader
        tools:
          - {name: read, sideEffect: read, scripted: [{ok: "\(text)"}]}
        model:
          script:
        \(calls)    - answer: done
        """)
      try await Binary.run(
        ["record", "agent.yaml", "read", "--out", "runs/", "--max-steps", "20"], in: folder.path)
      let log = try #require(folder.listing.first { $0.hasPrefix("runs/") })
      try folder.write(
        "case.yaml", "{caseId: a, recording: \(log), expected: {stopReason: success}}")
      let server = try FakeServer { _, reply in reply.finish(200, body: "") }
      let outcome = try await Binary.run(
        ["run", "case.yaml", "--no-summary", "--otlp", server.url], in: folder.path)
      #expect(Self.notes(outcome).isEmpty, "\(outcome.errors)")
      #expect(server.requests.count > 2)
      #expect(server.requests.allSatisfy { $0.body.count < 5 << 20 })
      let last = try #require(server.requests.last)
      #expect(last.text.contains("agent_eval.log.parts") && last.text.contains("a/stopReason"))
      #expect(!server.requests.dropLast().contains { $0.text.contains("agent_eval.log.parts") })
      try await Self.expectWhole(server.requests, in: folder)
    }
  }
#endif
