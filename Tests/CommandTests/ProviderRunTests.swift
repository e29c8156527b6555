#if Live
  import AgentRuntime
  import AgentTrace
  import EvalLoading
  import EvalRunning
  import Foundation
  import Glibc
  import LiveBoundary
  import Synchronization
  import TestSupport
  import Testing
  import TraceReplaying
  import TraceStorage

  @Suite("Runs with a provider's model")
  struct ProviderRunTests {
    private static let key = "zz-PLAIN-0123456789-KEY"

    /// An agent file whose model is served by a provider on loopback.
    private static func file(
      _ provider: FakeProvider, _ dialect: Dialect, model: String = "", extra: String = ""
    ) -> String {
      """
      name: clerk
      system: Help.
      tools:
        - name: lookup
          sideEffect: read
          inputSchema: {type: object, required: [order], properties: {order: {type: string}}}
          scripted: [{ok: {state: sent}}]
      model:
        provider: \(dialect.rawValue)
        name: fake
        baseUrl: \(provider.baseURL(dialect))
        keyFrom: CLERK_ACCESS
        \(model)
      \(extra)
      """
    }

    /// Calls the tool, and answers once it has its result.
    private static func speak(_ asked: FakeProvider.Asked, _ reply: FakeServer.Reply) {
      let isDone = ["\\\"sent\\\"", "\"sent\""].contains(where: asked.request.text.contains)
      FakeProvider.send(
        isDone
          ? .init("It is sent.")
          : .init("Let me look.", calls: [.init("lookup", "{\"order\":\"7\"}")], reasoning: "Hm."),
        to: asked, reply)
    }

    /// A clean log that can be made again, and in which no key stands.
    private static func check(_ log: String, _ agent: AgentDefinition) async throws {
      let found = LogVerifier.verify(path: log)
      #expect(found.status == .whole && found.findings.isEmpty)
      let again = try await Reexecution(of: log, with: agent)
      #expect(again.divergence == nil, "\(String(describing: again.divergence))")
      try await shell("zcat '\(log)' | grep -q '\(key)'", status: 1)
    }

    // MARK: The program

    @Test(
      "record runs an agent, shows what is written, and no key leaves the environment",
      arguments: Dialect.allCases)
    func record(_ dialect: Dialect) async throws {
      let provider = try FakeProvider { asked, reply in
        // A server that says everything it was told, where it fails and where it answers.
        let heard = asked.request.headers.map(\.value).filter { $0.contains(Self.key) }
          .joined(separator: " ")
        if asked.number == 0 {
          let words = CanonicalJSON.string(["error": ["message": .string("heard \(heard)")]])
          reply.finish(
            500, headers: [("x-request-id", Self.key), ("retry-after-ms", "1")], body: words)
        } else if ["\\\"sent\\\"", "\"sent\""].contains(where: asked.request.text.contains) {
          FakeProvider.send(.init("It is sent. \(heard)"), to: asked, reply)
        } else {
          Self.speak(asked, reply)
        }
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml",
        Self.file(
          provider, dialect,
          model: "headersFrom: {X-Team: CLERK_TEAM}\n  prices: {input: 1, output: 1}"))
      let outcome = try await Command(
        program: Binary.path,
        arguments: ["record", "agent.yaml", "Where is 7?", "--out", "run.jsonl.gz"],
        folder: folder.path,
        environment: ["CLERK_ACCESS": Self.key, "CLERK_TEAM": Self.key + "-team"]
      ).run()
      #expect(!outcome.output.contains(Self.key) && !outcome.errors.contains(Self.key))
      #expect(outcome.output.contains("«redacted:environment:"))
      #expect(outcome.output.contains("try 1, again after 1 ms: "), "\(outcome)")
      let log = folder.path("run.jsonl.gz")
      let agent = try #require(AgentLoader.load(folder.path("agent.yaml")).value)
      try await Self.check(log, agent)
      let events = try readLog(log)
      #expect(events[0].data["model"] == ["provider": .string(dialect.rawValue), "name": "fake"])
      let results = events.filter { $0.type == .modelResult }
      #expect(results.map { $0.data["attempt"] } == [1, 2, 1])
      #expect(results[1].data["reply"]?["reasoning"] != nil)
      // What the model thought goes back with the call that it led to.
      let packet = try #require(events.last { $0.type == .contextBuilt })
      let blocks = packet.data["prompt"]?["messages"]?.arrayValue?.flatMap {
        $0["content"]?.arrayValue ?? []
      }
      #expect(blocks?.contains { $0["type"] == "reasoning" } == true)
      let last = try #require(provider.server.requests.last?.text)
      let thought: [Dialect: String] = [
        .openai: #""reasoning_content":"Hm.""#, .anthropic: #""signature":"c2lnbmVk""#,
        .openaiResponses: #""encrypted_content":"ZW5jcnlwdGVk""#, .gemini: #""thought":true"#,
        .ollama: #""thinking":"Hm.""#,
        .bedrock: #""signature":"c2lnbmVk""#,
      ]
      #expect(last.contains(try #require(thought[dialect])))
      // Judged and looked at without key, network and model.
      provider.stop()
      for arguments in [["verify", "run.jsonl.gz"], ["replay", "run.jsonl.gz", "--reexecute"]] {
        try await Binary.run(arguments, in: folder.path)
      }
    }

    @Test(
      "a variable that is not set is told before anything starts", arguments: ["record", "run"])
    func unset(_ verb: String) async throws {
      let provider = try FakeProvider(Self.speak)
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml",
        Self.file(provider, .openai).replacing("CLERK_ACCESS", with: "CLERK_NEVER_SET"))
      try folder.write(
        "case.yaml",
        "caseId: a\ninput: Where is 7?\nagent: agent.yaml\nexpected: {stopReason: success}\n")
      let arguments =
        verb == "record" ? ["record", "agent.yaml", "x"] : ["run", "case.yaml", "--live"]
      let outcome = try await Binary.run(arguments, in: folder.path, status: 2)
      #expect(outcome.errors.contains("CLERK_NEVER_SET, which is not set"))
      #expect(provider.server.requests.isEmpty)
      #expect(!folder.listing.contains { $0.contains("jsonl") })
    }

    @Test(
      "a signal closes the connection or ends the wait at once, and the run that goes on asks again",
      arguments: ["reply", "wait"])
    func signal(during: String) async throws {
      let isGone = Mutex(false)
      let provider = try FakeProvider { asked, reply in
        guard asked.number == 0 else { return Self.speak(asked, reply) }
        if during == "wait" {
          reply.finish(503, headers: [("retry-after", "100")], body: "{\"error\":\"busy\"}")
          return
        }
        reply.beginChunks()
        reply.chunk(FakeProvider.events(.init("Let me"), asked.dialect)[0])
        if !reply.wait(seconds: 100) { isGone.withLock { $0 = true } }
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      try folder.write("agent.yaml", Self.file(provider, .anthropic))
      let agent = try #require(AgentLoader.load(folder.path("agent.yaml")).value)
      let log = folder.path("run.jsonl.gz")
      async let recorded = shell(
        """
        CLERK_ACCESS=\(Self.key) "$0" record agent.yaml "Where is 7?" --out run.jsonl.gz & pid=$!
        until [ -e asked ]; do sleep 0.02; done
        kill -TERM $pid; wait $pid; echo "exit $?"
        """, in: folder.path)
      try #require(await eventually(withinSeconds: 60) { provider.server.requests.count == 1 })
      if during == "wait" { try await Task.sleep(for: .milliseconds(300)) }
      try folder.write("asked", "")
      #expect(try await recorded.lines.last == "exit 1")
      let isClosed = await eventually { isGone.withLock { $0 } || during == "wait" }
      #expect(isClosed, "the connection stands")
      #expect(try readLog(log).last?.data["reason"] == "cancelled")
      try await Self.check(log, agent)
      try await Command(
        program: Binary.path, arguments: ["resume", "run.jsonl.gz", "--agent", "agent.yaml"],
        folder: folder.path, environment: ["CLERK_ACCESS": Self.key]
      ).run()
      #expect(try readLog(log).last?.data["reason"] == "success")
      try await Self.check(log, agent)
    }

    @Test("the end of the run's time closes the connection, and the run stops for its limit")
    func timeLimit() async throws {
      setenv("CLERK_ACCESS", Self.key, 1)
      let provider = try FakeProvider { $1.wait(seconds: 20) }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let path = try folder.write(
        "agent.yaml", Self.file(provider, .openai, extra: "limits: {timeoutSeconds: 0.3}"))
      let agent = try #require(AgentLoader.load(path).value)
      let log = folder.path("run.jsonl.gz")
      let recording = try await AgentRecording(
        of: agent, .init(goal: "Where?", files: RunFiles(output: log)),
        on: LiveBoundary.make(for: agent))
      #expect(recording.state.stop?.reason == "budget_exhausted")
      #expect(recording.state.stop?.detail == "timeout")
      #expect(await provider.server.waitUntilQuiet())
      #expect(provider.server.requests.count == 1)
      try await Self.check(log, agent)
    }

    @Test("a wait that the run's time has no room for is not begun")
    func wait() async throws {
      setenv("CLERK_ACCESS", Self.key, 1)
      let provider = try FakeProvider {
        $1.finish(429, headers: [("retry-after", "100")], body: "{\"error\":\"later\"}")
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let path = try folder.write(
        "agent.yaml", Self.file(provider, .openai, extra: "limits: {timeoutSeconds: 60}"))
      let agent = try #require(AgentLoader.load(path).value)
      let log = folder.path("run.jsonl.gz")
      let recording = try await AgentRecording(
        of: agent, .init(goal: "Where?", files: RunFiles(output: log)),
        on: LiveBoundary.make(for: agent))
      #expect(recording.state.stop?.detail == "timeout")
      #expect(provider.server.requests.count == 1)
      try await Self.check(log, agent)
    }

    @Test(
      "what a model writes is told line by line while it writes, without keys",
      arguments: Dialect.allCases)
    func progress(_ dialect: Dialect) async throws {
      setenv("CLERK_ACCESS", Self.key, 1)
      let told = Mutex<[String]>([])
      let provider = try FakeProvider { asked, reply in
        let events = FakeProvider.events(
          .init("The key is \(Self.key),\nand this is\nall."), asked.dialect)
        reply.beginChunks()
        // The last line comes only once the first was told.
        let last =
          events.lastIndex { event in
            let text = String(decoding: event, as: UTF8.self)
            return text.contains("all.") && text.contains("delta")
          } ?? 0
        for event in events[..<last] { reply.chunk(event) }
        for _ in 0..<1_000 where told.withLock(\.isEmpty) { usleep(10_000) }
        for event in events[last...] { reply.chunk(event) }
        reply.endChunks()
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let path = try folder.write("agent.yaml", Self.file(provider, dialect))
      let agent = try #require(AgentLoader.load(path).value)
      let log = folder.path("run.jsonl.gz")
      let recording = try await AgentRecording(
        of: agent, .init(goal: "Say it.", files: RunFiles(output: log)),
        on: LiveBoundary.make(for: agent),
        report: { progress in told.withLock { $0.append(progress.text) } })
      #expect(recording.isSuccess)
      let lines = told.withLock { $0 }
      #expect(lines.count == 3 && lines[1] == "and this is" && lines[2] == "all.")
      #expect(lines[0].hasPrefix("The key is «redacted:environment:"))
      try await Self.check(log, agent)
    }

    // MARK: Going on

    @Test(
      "a run with failed tries can be cut behind any event, and goes on as it would have",
      arguments: ["retried", "failed", "refused"])
    func goingOn(_ way: String) async throws {
      setenv("CLERK_ACCESS", Self.key, 1)
      // What a provider says depends on how often it was asked in this step: by the log alone.
      let tries = Mutex(0)
      let provider = try FakeProvider { asked, reply in
        let number = tries.withLock { tries in
          tries += 1
          return tries
        }
        switch (way, number) {
        case ("refused", _): reply.finish(401, body: "{\"error\":\"who?\"}")
        case ("failed", _), (_, ...2): reply.finish(503, body: "{\"error\":\"busy\"}")
        default: Self.speak(asked, reply)
        }
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let path = try folder.write(
        "agent.yaml", Self.file(provider, .openai, model: "stream: false"))
      let agent = try #require(AgentLoader.load(path).value)
      let log = folder.path("run.jsonl.gz")
      let recording = try await AgentRecording(
        of: agent, .init(goal: "Where?", files: RunFiles(output: log), seed: 1),
        on: LiveBoundary.make(for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1)))
      try await Self.check(log, agent)
      let events = try readLog(log)
      let outcome = recording.state.stop?.reason
      #expect(outcome == (way == "retried" ? "success" : "model_failure"))
      for count in 1..<events.count {
        var past = RunPast(for: agent)
        for event in events.prefix(count) { try past.take(event) }
        tries.withLock {
          $0 = events.prefix(count).count { $0.type == .modelResult }
        }
        let sink = EventList(Array(events.prefix(count)))
        let runtime = try Runtime(
          agent: agent,
          boundary: LiveBoundary.make(
            for: agent, clock: FixedClock(elapsedMicroseconds: past.state.elapsedMicroseconds)))
        _ = try await runtime.goOn(from: past, into: sink)
        let made = sink.events.map { Self.outline($0) }
        #expect(made == events.map { Self.outline($0) }, "behind event \(count - 1)")
      }
    }

    /// What of an event must be the same in a run that goes on.
    private static func outline(_ event: Event) -> JSONValue {
      var data = event.data
      for key in ["elapsedMicroseconds", "stateDigest", "requestId"] { data[key] = nil }
      return [.string(event.type.rawValue), JSONValue(event.step), .object(data)]
    }

    private final class EventList: EventSink {
      private(set) var events: [Event]
      init(_ events: [Event]) { self.events = events }
      func append(_ event: Event, isEffectAhead: Bool) throws { events.append(event) }
    }

    // MARK: People and pace

    @Test("a provider's model plays the person, by the same way", arguments: Dialect.allCases)
    func person(_ dialect: Dialect) async throws {
      setenv("CLERK_ACCESS", Self.key, 1)
      let provider = try FakeProvider { asked, reply in
        // The first try of the person fails.
        guard asked.request.text.contains("You are Ana") else {
          let isHeard = asked.request.text.contains("Number eight")
          return FakeProvider.send(
            .init(isHeard ? "It is eight." : "Which one do you mean?"), to: asked, reply)
        }
        let hears = asked.request.text
        if hears.contains("It is eight.") {
          FakeProvider.send(.init("Thank you. ###STOP###"), to: asked, reply)
        } else if asked.number == 1 {
          reply.finish(529, body: "{\"error\":\"busy\"}")
        } else {
          FakeProvider.send(.init("Number eight."), to: asked, reply)
        }
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let path = try folder.write(
        "agent.yaml",
        Self.file(
          provider, dialect,
          extra: """
            human:
              system: You are Ana.
              by: ana
              model: {provider: \(dialect.rawValue), name: fake, baseUrl: \(provider.baseURL(dialect)), keyFrom: CLERK_ACCESS}
            """))
      let agent = try #require(AgentLoader.load(path).value)
      let log = folder.path("run.jsonl.gz")
      let recording = try await AgentRecording(
        of: agent, .init(goal: "Where is it?", files: RunFiles(output: log)),
        on: LiveBoundary.make(for: agent, clock: FixedClock()))
      let events = try readLog(log)
      #expect(recording.isSuccess && events.last?.data["answer"] == "It is eight.")
      #expect(
        events.filter { $0.type == .humanReplied }.map { $0.data["text"] } == ["Number eight."])
      let ofPerson = events.filter { $0.type == .modelResult && $0.data["purpose"] == "human" }
      #expect(ofPerson.map { $0.data["attempt"] } == [1, 2, 1])
      try await Self.check(log, agent)
    }

    @Test("all runs of a process share a model's pace")
    func pace() async throws {
      setenv("CLERK_ACCESS", Self.key, 1)
      let provider = try FakeProvider { FakeProvider.send(.init("Yes."), to: $0, $1) }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      // Ten at once, and then one in six seconds: the eleventh has no time for that.
      let path = try folder.write(
        "agent.yaml",
        Self.file(
          provider, .openai, model: "requestsPerMinute: 10", extra: "limits: {timeoutSeconds: 2}"))
      let agent = try #require(AgentLoader.load(path).value)
      let reasons = try await withThrowingTaskGroup(of: String?.self) { group in
        for number in 0..<12 {
          group.addTask {
            try await AgentRecording(
              of: agent,
              .init(goal: "Yes?", files: RunFiles(output: folder.path("\(number).jsonl.gz"))),
              on: LiveBoundary.make(for: agent)
            ).state.stop?.reason
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(reasons.count { $0 == "success" } == 10)
      #expect(reasons.count { $0 == "budget_exhausted" } == 2)
      #expect(provider.server.requests.count == 10)
      for number in 0..<12 { try await Self.check(folder.path("\(number).jsonl.gz"), agent) }
    }
  }
#endif
