#if Live
  import AgentRuntime
  import AgentTrace
  import Foundation
  import TestSupport
  import Testing
  import TraceStorage

  @Suite("Live agents that call agents")
  struct LiveChildTests {
    private static func agent(
      _ name: String, _ tools: String, _ provider: FakeProvider, _ dialect: Dialect
    ) -> String {
      """
      name: \(name)
      tools:
      \(tools)
      model:
        provider: \(dialect.rawValue)
        name: fake
        baseUrl: \(provider.baseURL(dialect))
      """
    }

    private static let lookup = """
        - name: lookup
          sideEffect: read
          inputSchema: {type: object, required: [order], properties: {order: {type: string}}}
          scripted: [{ok: {state: sent}}]
      """

    /// Plays both models: the head asks the clerk, who looks up and answers.
    private static func play() throws -> FakeProvider {
      try FakeProvider { asked, reply in
        let said: FakeProvider.Reply =
          switch asked.number {
          case 0: .init(calls: [.init("ask_clerk", #"{"task":"Find order 7"}"#)])
          case 1: .init(calls: [.init("lookup", #"{"order":"7"}"#)])
          case 2: .init("It is sent.")
          default: .init("The clerk says that it is sent.")
          }
        FakeProvider.send(said, to: asked, reply)
      }
    }

    @Test(
      "a live child sees its task and nothing else, and the tree is verified, made again and judged",
      arguments: Dialect.allCases, [true, false])
    func wholeTree(_ dialect: Dialect, handsOver: Bool) async throws {
      let provider = try Self.play()
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      try folder.write("clerk.yaml", Self.agent("clerk", Self.lookup, provider, dialect))
      let ask = "  - {agent: clerk.yaml, name: ask_clerk, handoff: \(handsOver)}"
      try folder.write("head.yaml", Self.agent("head", ask, provider, dialect))
      try await Binary.run(
        ["record", "head.yaml", "Where is the parcel for Gudrun?", "--out", "runs"],
        in: folder.path)
      let bodies = provider.server.requests.map(\.text)
      provider.stop()
      #expect(bodies.count == (handsOver ? 3 : 4))
      // The child is told its task, and neither the goal nor the tools of the one that calls it.
      for body in bodies[1...2] {
        #expect(body.contains("Find order 7") && !body.contains("Gudrun"))
        #expect(body.contains("lookup") && !body.contains("ask_clerk"))
      }
      #expect(bodies[0].contains("Gudrun") && bodies[0].contains("ask_clerk"))
      let log = try #require(
        LogFiles.withoutParts(try LogFiles.all(below: folder.path("runs"))).first)
      try await Binary.run(["verify", log], in: folder.path)
      try await Binary.run(["replay", log, "--reexecute"], in: folder.path)
      try folder.write(
        "case.yaml",
        """
        caseId: tree
        recording: \(log)
        expected:
          stopReason: success
          toolsCalled: [ask_clerk, {tool: lookup, caller: ask_clerk, status: ok}]
          toolsNotCalled: [{tool: lookup, caller: agent}]
          answer: {$contains: t is sent}
        """)
      let judged = try await Binary.run(["run", "case.yaml"], in: folder.path)
      #expect(judged.output.contains("1 case: 1 passed"), "\(judged)")
    }

    @Test(
      "a live child that waits makes its parent wait; after a person's word the tree goes on, and asks no model twice",
      arguments: Dialect.allCases, [true, false])
    func waits(_ dialect: Dialect, handsOver: Bool) async throws {
      let provider = try Self.play()
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let guarded =
        Self.agent("clerk", Self.lookup, provider, dialect)
        + "\npolicy: {rules: [{id: ask, tool: lookup, verdict: approval_required}]}\n"
      try folder.write("clerk.yaml", guarded)
      let ask = "  - {agent: clerk.yaml, name: ask_clerk, handoff: \(handsOver)}"
      try folder.write("head.yaml", Self.agent("head", ask, provider, dialect))
      try await Binary.run(
        ["record", "head.yaml", "Where is it?", "--out", "runs"], in: folder.path, status: 1)
      #expect(provider.server.requests.count == 2)
      let log = try #require(
        LogFiles.withoutParts(try LogFiles.all(below: folder.path("runs"))).first)
      try await Binary.run(["approve", log, "lookup", "--by", "ana"], in: folder.path)
      let resumed = try await Binary.run(["resume", log], in: folder.path)
      #expect(
        resumed.output.contains("success (\(handsOver ? "handoff:ask_clerk" : "final_answer"))"),
        "\(resumed)")
      #expect(provider.server.requests.count == (handsOver ? 3 : 4))
      provider.stop()
      try await Binary.run(["verify", log], in: folder.path)
      try await Binary.run(["replay", log, "--reexecute"], in: folder.path)
    }

    @Test("a live child that is out of reach is an error that its parent is told of")
    func outOfReach() async throws {
      let provider = try FakeProvider { asked, reply in
        let said: FakeProvider.Reply =
          asked.number == 0
          ? .init(calls: [.init("ask_clerk", #"{"task":"Find order 7"}"#)]) : .init("I could not.")
        FakeProvider.send(said, to: asked, reply)
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      try folder.write(
        "clerk.yaml",
        "name: clerk\nfailures: {modelRetries: 0}\nmodel: {provider: openai, name: m, baseUrl: \"http://127.0.0.1:9\"}\n"
      )
      let ask = "  - {agent: clerk.yaml, name: ask_clerk}"
      try folder.write("head.yaml", Self.agent("head", ask, provider, .openai))
      try await Binary.run(
        ["record", "head.yaml", "Where is it?", "--out", "runs"], in: folder.path)
      let log = try #require(
        LogFiles.withoutParts(try LogFiles.all(below: folder.path("runs"))).first)
      let shown = try await Binary.run(["show", log], in: folder.path).output
      #expect(shown.contains("ask_clerk stopped: model_failure"), "\(shown)")
      try await Binary.run(["verify", log], in: folder.path)
    }
  }
#endif
