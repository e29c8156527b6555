import AgentTrace
import Foundation
import TestSupport
import Testing

#if Live
  @Suite("Runs that are handed on with --otlp")
  struct HandedRunTests {
    private static let weather = Project.path("Fixtures/agents/weather.yaml")

    private static func record(
      _ url: String, in folder: TemporaryFolder, environment: [String: String] = [:]
    ) async throws -> Command.Outcome {
      try await Binary.run(
        [
          "record", weather, "How is the weather in Oslo?", "--seed", "7", "--fixed-clock", "--out",
          "runs", "--otlp", url,
        ], in: folder.path, environment: environment)
    }

    @Test("a run that is recorded comes to a receiver as the same log, byte for byte")
    func recorded() async throws {
      let folder = try TemporaryFolder()
      let receiver = try await RunningReceiver(in: folder)
      let outcome = try await Self.record("http://127.0.0.1:\(receiver.port)", in: folder)
      #expect(!outcome.errors.contains("handed"))
      #expect(await receiver.end() == 0)
      let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
      #expect(logs.count == 2 && Set(logs.map { $0.prefix(4) }) == ["out/", "runs"])
      #expect(try folder.read(logs[0]) == folder.read(logs[1]))
    }

    @Test("runs that are judged are handed on once each, with their outcomes")
    func judged() async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "cases.yaml",
        """
        cases:
          - {caseId: a, recording: \(Fixture.run("refund-approved")), expected: {maxSteps: 0}}
          - {caseId: b, recording: \(Fixture.run("refund-approved")), expected: {maxSteps: 99}}
        """)
      let server = try FakeServer { _, reply in reply.finish(200, body: "") }
      try await Binary.run(
        ["run", "cases.yaml", "--otlp", server.url + "/v1/traces/"], in: folder.path,
        environment: ["OTEL_EXPORTER_OTLP_HEADERS": "x-one=1, authorization=Bearer%20two"],
        status: 1)
      let request = try #require(server.requests.first)
      #expect(server.requests.count == 1 && request.target == "/v1/traces")
      #expect(request.header("x-one") == "1" && request.header("authorization") == "Bearer two")
      #expect(request.header("content-type") == "application/x-protobuf")
      #expect(request.text.contains("a/maxSteps") && request.text.contains("b/maxSteps"))
    }

    @Test(
      "whatever becomes of the other side, the run is as without it, and there is one note",
      arguments: ["nobody", "refuses", "silent", "busy"])
    func deaf(_ side: String) async throws {
      let folder = try TemporaryFolder()
      let server = try FakeServer { request, reply in
        switch side {
        case "refuses": reply.finish(401, body: "")
        case "silent": reply.wait(seconds: 60)
        default:
          reply.finish(request.number < 2 ? 503 : 200, headers: [("Retry-After", "0")], body: "")
        }
      }
      let url = side == "nobody" ? "http://127.0.0.1:9" : server.url
      let outcome = try await Self.record(url, in: folder)
      #expect(outcome.output.contains("stop       success"))
      let notes = outcome.errors.split(separator: "\n").filter {
        $0.contains("could not be handed")
      }
      #expect(notes.count == (side == "busy" ? 0 : 1), "\(outcome.errors)")
      if side == "busy" { #expect(server.requests.count == 3) }
    }

    /// An agent whose calls wait until a file is there, and tell whether it came.
    private static func makePatientAgent(in folder: TemporaryFolder) throws {
      try folder.write(
        "wait.sh",
        """
        name=$(sed 's/[^a-z]//g; s/^for//')
        for i in $(seq 200); do [ -e "$name" ] && { echo true; exit; }; sleep 0.1; done
        echo false
        """)
      try folder.write(
        "agent.yaml",
        """
        name: patient
        tools:
          - name: wait
            sideEffect: read
            command: [sh, wait.sh]
        model:
          script:
            - call: {tool: wait, input: {for: one}}
            - call: {tool: wait, input: {for: two}}
            - answer: done
        """)
    }

    private static func count(_ word: String, in requests: [FakeServer.Request]) -> Int {
      requests.reduce(0) { $0 + $1.text.components(separatedBy: word).count - 1 }
    }

    @Test(
      "spans leave while the run goes on, each once; what comes in is the same log, byte for byte",
      arguments: [0, 2])
    func live(refusals: Int) async throws {
      let folder = try TemporaryFolder()
      try Self.makePatientAgent(in: folder)
      let path = folder.path
      let server = try FakeServer { request, reply in
        if request.number < refusals {
          _ = reply.finish(503, body: "")
          return
        }
        // What nobody sends before the run has ended, the run waits for in vain.
        if request.text.contains("chat") {
          _ = FileManager.default.createFile(atPath: path + "/one", contents: nil)
        }
        if request.text.contains("execute_tool wait") {
          _ = FileManager.default.createFile(atPath: path + "/two", contents: nil)
        }
        reply.finish(200, body: "")
      }
      let outcome = try await Binary.run(
        ["record", "agent.yaml", "wait", "--out", "runs", "--otlp", server.url], in: folder.path)
      #expect(!outcome.errors.contains("handed"), "\(outcome.errors)")
      let taken = server.requests.filter { $0.number >= refusals }
      #expect(taken.count >= 3)
      #expect(Self.count("agent_eval.call.status", in: taken) == 2)
      #expect(Self.count("agent_eval.decision", in: taken) == 3)
      for (index, request) in taken.enumerated() {
        try folder.write("in/\(index).pb", request.body)
      }
      try await Binary.run(["import", "in", "--out", "out"], in: folder.path)
      let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
      #expect(logs.count == 2)
      guard logs.count == 2 else { return }
      #expect(try folder.read(logs[0]) == folder.read(logs[1]))
      let shown = try await Binary.run(["show", logs[1], "--json"], in: folder.path)
      #expect(!shown.output.contains("\"data\":false"))
    }

    @Test(
      "a server that hangs, refuses or dies while the run goes on changes nothing of it",
      arguments: ["hangs", "refuses", "dies"])
    func failing(_ side: String) async throws {
      let folder = try TemporaryFolder()
      try Self.makePatientAgent(in: folder)
      let path = folder.path
      let server = try FakeServer { request, reply in
        for name in ["one", "two"] {
          _ = FileManager.default.createFile(atPath: path + "/" + name, contents: nil)
        }
        switch side {
        case "hangs": reply.wait(seconds: 60)
        case "refuses": reply.finish(401, body: "")
        default: reply.close(reset: true)
        }
      }
      let outcome = try await Binary.run(
        ["record", "agent.yaml", "wait", "--out", "runs", "--otlp", server.url], in: folder.path)
      let notes = outcome.errors.split(separator: "\n").filter { $0.contains("handed") }
      #expect(notes.count == 1, "\(outcome.errors)")
      #expect(outcome.output.contains("stop       success"), "\(outcome.output)")
      #expect(server.requests.count >= 2)
    }

    @Test("what is no URL, and what hands nothing on, is told before anything runs")
    func usage() async throws {
      let folder = try TemporaryFolder()
      for arguments in [
        ["record", Self.weather, "x", "--otlp", "collector:4318"],
        ["run", Project.path("EvalCases"), "--otlp", "ftp://x"],
        ["run", Project.path("EvalCases"), "--otlp", "http://x", "--watch"],
      ] {
        let outcome = try await Binary.run(arguments, in: folder.path, status: 64)
        #expect(outcome.errors.contains("--otlp"))
      }
      #expect(folder.listing.isEmpty)
    }
  }
#endif
