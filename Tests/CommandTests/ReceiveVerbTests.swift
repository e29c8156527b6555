import AgentTrace
import Foundation
import Synchronization
import TestSupport
import Testing
import TraceStorage

#if Live
  /// Clients that post traces until they are told to end, and know which spans were taken.
  private final class Senders: Sendable {
    private let state = Mutex((taken: Set<String>(), isOver: false, number: 0))

    var taken: Set<String> { state.withLock { $0.taken } }

    func begin() { state.withLock { $0.isOver = false } }

    func end() { state.withLock { $0.isOver = true } }

    /// Each trace in two requests, the second of which may not come any more.
    func send(to port: Int) {
      while true {
        let number = state.withLock { state in
          state.number += 1
          return state.isOver ? 0 : state.number
        }
        if number == 0 { return }
        let trace = AgentTraceRequest(number)
        for spans in [trace.spans.prefix(2), trace.spans.suffix(2)] {
          let reply = RunningReceiver.post(
            AgentTraceRequest.request(Array(spans)), "/v1/traces", "application/json", "", "POST",
            port: port)
          guard reply.status == 200 else { break }
          state.withLock { state in
            for span in spans {
              state.taken.insert("\(trace.trace) \(span["spanId"]?.stringValue ?? "")")
            }
          }
        }
      }
    }
  }

  @Suite("receive", .serialized)
  struct ReceiveVerbTests {
    private static let soon = ["--settle-seconds", "0.05", "--idle-seconds", "0.2"]

    private static func logs(_ folder: TemporaryFolder) -> [String] {
      folder.listing.filter {
        $0.hasPrefix("out/") && $0.hasSuffix(".jsonl.gz") && !$0.contains("/.")
      }
      .map { String($0.dropFirst(4).dropLast(9)) }.sorted()
    }

    @Test(
      "nothing that was answered with success is lost when the receiver is killed, however often")
    func kills() async throws {
      let folder = try TemporaryFolder()
      let senders = Senders()
      var random = SystemRandomNumberGenerator()
      for _ in 0..<TestRun.count(6, long: 40) {
        let receiver = try await RunningReceiver(Self.soon, in: folder)
        let port = receiver.port
        senders.begin()
        let tasks = (0..<6).map { _ in Task { try await apart { senders.send(to: port) } } }
        try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
        await receiver.end(SIGKILL)
        senders.end()
        for task in tasks { try await task.value }
      }
      let last = try await RunningReceiver(Self.soon, in: folder)
      #expect(await last.end() == 0)
      var found: Set<String> = []
      for name in Self.logs(folder) {
        var reader = try LogReader(path: folder.path + "/out/\(name).jsonl.gz")
        while let event = try reader.next() {
          for pointer in event.data["source"]?["pointers"]?.arrayValue ?? [] {
            let words = (pointer.stringValue ?? "").split(separator: "/")
            if words.count >= 3 { found.insert("\(words[1]) \(words[2])") }
          }
        }
      }
      let taken = senders.taken
      #expect(taken.count > 20)
      // A root of an agent says nothing that an event would point at.
      let missing = taken.subtracting(found).filter { !$0.hasSuffix("0001") }
      #expect(missing.isEmpty, "\(missing.count) of \(taken.count)")
    }

    @Test("what cannot be written at the end is no success, and the next receiver writes it")
    func unwritten() async throws {
      let folder = try TemporaryFolder()
      let receiver = try await RunningReceiver(
        ["--settle-seconds", "1000", "--idle-seconds", "1000"], in: folder)
      let trace = AgentTraceRequest(1)
      #expect(try await receiver.post(trace.whole).status == 200)
      // Nothing can be made below a file; the spool is open and stays of use, as it is on a full disk.
      let (out, aside) = (folder.path + "/out", folder.path + "/aside")
      try FileManager.default.moveItem(atPath: out, toPath: aside)
      _ = try folder.write("out", [])
      #expect(await receiver.end() == 2)
      #expect(receiver.errors.contains("stays in the spool"))
      try FileManager.default.removeItem(atPath: out)
      try FileManager.default.moveItem(atPath: aside, toPath: out)
      #expect(try await RunningReceiver(in: folder).end() == 0)
      #expect(Self.logs(folder) == [trace.trace])
    }

    @Test(
      "SIGTERM and SIGINT end it with 0, once everything that was taken is written",
      arguments: [SIGTERM, SIGINT])
    func signals(_ signal: Int32) async throws {
      let folder = try TemporaryFolder()
      let receiver = try await RunningReceiver(
        ["--settle-seconds", "1000", "--idle-seconds", "1000"], in: folder)
      let (whole, open) = (AgentTraceRequest(1), AgentTraceRequest(2))
      try await receiver.post(whole.whole)
      try await receiver.post(AgentTraceRequest.request(Array(open.spans.prefix(3))))
      #expect(await receiver.end(signal) == 0)
      #expect(Self.logs(folder) == [whole.trace, open.trace])
      #expect(receiver.errors.contains("2 requests with 7 spans taken; 2 logs written, 1 open."))
      #expect(receiver.output.contains("\(whole.trace)  4 messages, 1 call, stop success\n"))
      #expect(receiver.output.contains("\(open.trace)  4 messages, 1 call, open\n"))
      for log in Self.logs(folder) {
        try await Binary.run(["verify", "out/\(log).jsonl.gz"], in: folder.path)
      }
    }

    private static let rules = """
      cases:
        - caseId: finds-it
          where: {agent: finder}
          expected: {toolsCalled: [look_up], toolsNotCalled: ["delete_*"]}
        - caseId: of-another
          where: {agent: nobody}
          expected: {maxSteps: 1}
      """

    @Test(
      "each run is judged as it ends: a line, a result, and word of failures to a command and a server"
    )
    func rules() async throws {
      let folder = try TemporaryFolder()
      try folder.write("rules.yaml", Self.rules)
      let server = try FakeServer { request, reply in reply.finish(204, body: "") }
      let receiver = try await RunningReceiver(
        Self.soon + [
          "--rules", "rules.yaml", "--results", "outcomes.jsonl", "--on-failure",
          "cat >> told; echo noise; echo more >&2", "--on-failure-url", server.url + "/hook",
        ], in: folder)
      let good = AgentTraceRequest(1)
      var bad = AgentTraceRequest(2)
      bad.tool = "delete_all"
      try await receiver.post(good.whole)
      try await receiver.post(bad.whole)
      #expect(await eventually { server.requests.count == 1 })
      #expect(await receiver.end() == 0)
      #expect(receiver.output.contains("pass   finds-it/\(good.trace)"))
      #expect(receiver.output.contains("FAIL   finds-it/\(bad.trace)"))
      #expect(receiver.errors.contains("2 outcomes: 1 passed, 1 failed"))
      let outcomes = try (folder.text("outcomes.jsonl") ?? "").split(separator: "\n").map {
        try JSONValue(parsing: String($0))
      }
      #expect(
        outcomes.map { $0["run"]?.stringValue }.sorted { ($0 ?? "") < ($1 ?? "") } == [
          good.trace, bad.trace,
        ])
      for text in [folder.text("told") ?? "", server.requests.first?.text ?? ""] {
        let told = try JSONValue(parsing: text)
        #expect(told["run"]?.stringValue == bad.trace)
        #expect(told["results"]?["summary"]?["fail"] == 1)
      }
      // The same outcomes as of the folder afterwards.
      let again = try await Binary.run(
        ["run", "rules.yaml", "--on", "out", "--filter", "finds-it", "--json"], in: folder.path,
        status: 1)
      #expect(try again.json()["summary"]?["fail"] == 1)
    }

    @Test("runs that no rule is for are told where each is judged, and counted at the end")
    func withoutRule() async throws {
      let folder = try TemporaryFolder()
      try folder.write(
        "rules.yaml", "{caseId: never, where: {agent: nobody}, expected: {maxSteps: 0}}")
      let receiver = try await RunningReceiver(
        Self.soon + ["--rules", "rules.yaml", "--results", "outcomes.jsonl"], in: folder)
      for number in 1...2 { try await receiver.post(AgentTraceRequest(number).whole) }
      #expect(await eventually(withinSeconds: 30) { Self.logs(folder).count == 2 })
      #expect(await receiver.end() == 0)
      #expect(
        receiver.output.contains("skip   no-rule/\(AgentTraceRequest(1).trace): no rule is for"))
      #expect(receiver.errors.contains("0 passed, 0 failed; no rule is for 2 runs"))
      #expect(folder.text("outcomes.jsonl")?.split(separator: "\n").count == 2)
    }

    @Test("a command that fails, one that hangs and a server that is not there stop nothing")
    func deafHooks() async throws {
      let folder = try TemporaryFolder()
      try folder.write("rules.yaml", "caseId: never\nexpected: {maxSteps: 0}\n")
      let receiver = try await RunningReceiver(
        Self.soon + [
          "--rules", "rules.yaml", "--on-failure", "exit 3", "--on-failure-url",
          "http://127.0.0.1:9/x",
        ], in: folder)
      for number in 1...3 { try await receiver.post(AgentTraceRequest(number).whole) }
      #expect(await eventually(withinSeconds: 30) { Self.logs(folder).count == 3 })
      #expect(await receiver.end() == 0)
      #expect(receiver.errors.contains("--on-failure: exited with 3"))
      #expect(receiver.errors.contains("--on-failure-url: "))
      #expect(receiver.errors.contains("3 outcomes: 0 passed, 3 failed"))
      #expect(folder.text("out/.receive/results.jsonl")?.split(separator: "\n").count == 3)
    }

    @Test("beyond this machine it listens only with a token, and takes only what shows that")
    func tokens() async throws {
      let folder = try TemporaryFolder()
      let refused = try await Binary.run(
        ["receive", "out", "--listen", "0.0.0.0:0"], in: folder.path, status: 64)
      #expect(refused.errors.contains("--token-env"))
      for token in ["", "short"] {
        let outcome = try await Binary.run(
          ["receive", "out", "--listen", "0.0.0.0:0", "--token-env", "THE_TOKEN"], in: folder.path,
          environment: ["THE_TOKEN": token], status: 2)
        #expect(outcome.errors.contains("THE_TOKEN"))
      }
      #expect(!folder.listing.contains { $0.hasPrefix("out") })
      let token = "correct-horse-battery"
      let receiver = try await RunningReceiver(
        Self.soon + ["--token-env", "THE_TOKEN"], in: folder, listen: "0.0.0.0:0",
        environment: ["THE_TOKEN": token])
      let basic = Data("pk:\(token)".utf8).base64EncodedString()
      for (headers, status) in [
        ("", 401), ("authorization: Bearer wrong-horse-battery\r\n", 401),
        ("authorization: Bearer \r\n", 401), ("authorization: \(token)\r\n", 401),
        ("authorization: Bearer \(token)\r\n", 200), ("authorization: bearer \(token)\r\n", 200),
        ("authorization: Basic \(basic)\r\n", 200), ("x-api-key: \(token)\r\n", 200),
      ] {
        let reply = try await receiver.post(AgentTraceRequest(1).whole, headers: headers)
        #expect(reply.status == status, "\(headers)")
      }
      #expect(await receiver.end() == 0)
      #expect(!(receiver.errors + receiver.output).contains(token))
    }

    @Test(
      "names other than this machine's own are refused without a token: pages in browsers have such"
    )
    func hosts() async throws {
      let folder = try TemporaryFolder()
      let receiver = try await RunningReceiver(Self.soon, in: folder)
      let port = receiver.port
      let statuses = try await apart {
        ["evil.example", "localhost:1", "127.0.0.1", "[::1]:4318", "1.2.3.4.evil.example"].map {
          host in
          let client = RawClient(port: port)
          client.send(
            "POST /v1/traces HTTP/1.1\r\nhost: \(host)\r\ncontent-type: application/json\r\n"
              + "content-length: 2\r\nconnection: close\r\n\r\n{}")
          return client.receive(until: "\r\n").split(separator: " ").dropFirst().first ?? ""
        }
      }
      #expect(statuses == ["401", "200", "200", "200", "401"])
      await receiver.end()
    }

    @Test(
      "wrong usage is told, and nothing is made",
      arguments: [
        (["--listen", "nowhere"], 64), (["--listen", "http://x"], 64), (["--listen", "4318"], 64),
        (["--listen", "127.0.0.1:99999"], 64),
        (["--on-failure", "true"], 64), (["--idle-seconds", "-1"], 64), (["--spool-mib", "1"], 64),
        (["--rules", "missing.yaml"], 2),
      ])
    func usage(_ arguments: [String], _ status: Int) async throws {
      let folder = try TemporaryFolder()
      let outcome = try await Binary.run(
        ["receive", "out"] + arguments, in: folder.path, status: Int32(status))
      #expect(!outcome.errors.isEmpty)
      #expect(folder.listing.isEmpty)
    }

    @Test("an address that is in use, and a folder that another receiver uses, end it with 2")
    func conflicts() async throws {
      let folder = try TemporaryFolder()
      let receiver = try await RunningReceiver(Self.soon, in: folder)
      let port = try await Binary.run(
        ["receive", "other", "--listen", "127.0.0.1:\(receiver.port)"], in: folder.path, status: 2)
      #expect(
        port.errors.contains(
          "cannot be listened at: another program listens there already; --listen"),
        "\(port)")
      let same = try await Binary.run(
        ["receive", "out", "--listen", "127.0.0.1:0"], in: folder.path, status: 2)
      #expect(same.errors.contains("another receiver"))
      #expect(await receiver.end() == 0)
    }

    @Test("run logs that are judged by --on are those of the folder, and never the spool")
    func folderOfRuns() async throws {
      let folder = try TemporaryFolder()
      let receiver = try await RunningReceiver(Self.soon, in: folder)
      for number in 1...3 { try await receiver.post(AgentTraceRequest(number).whole) }
      await receiver.end()
      let outcome = try await Binary.run(["inspect", "out"], in: folder.path)
      #expect(outcome.output.contains("3 runs of 1 agent"))
    }
  }
#endif
