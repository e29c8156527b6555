#if Live
  import AgentRuntime
  import AgentTrace
  import Foundation
  import TestSupport
  import Testing

  @Suite("Decisions of live models")
  struct LiveDecisionTests {
    private static func agent(_ provider: FakeProvider, _ dialect: Dialect, _ extra: String)
      -> String
    {
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
      \(extra)
      """
    }

    /// Verified, and made again without the provider.
    private static func check(in folder: TemporaryFolder) async throws -> [Event] {
      for arguments in [["verify", "run.jsonl.gz"], ["replay", "run.jsonl.gz", "--reexecute"]] {
        try await Binary.run(arguments, in: folder.path)
      }
      return try readLog(folder.path("run.jsonl.gz"))
    }

    private static func kinds(_ events: [Event]) -> [String] {
      events.filter { $0.type == .decision }.compactMap { $0.data["kind"]?.stringValue }
    }

    @Test(
      "a model asks, is told what the person said, looks, and cites what it was shown",
      arguments: Dialect.allCases, [true, false])
    func wholeRun(_ dialect: Dialect, streams: Bool) async throws {
      let provider = try FakeProvider { asked, reply in
        let said: FakeProvider.Reply =
          switch asked.number {
          case 0:
            .init(
              "I need to know.", calls: [.init("ask_human", #"{"question":"Which order?"}"#)],
              reasoning: "Hm.")
          case 1: .init(calls: [.init("lookup", #"{"order":"7"}"#)])
          case 2:
            .init(calls: [.init("answer", #"{"answer":"It is sent.","evidence":["made up"]}"#)])
          default:
            .init(calls: [.init("answer", #"{"answer":"It is sent.","evidence":["2.1.0"]}"#)])
          }
        FakeProvider.send(said, to: asked, reply)
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let extra = """
          stream: \(streams)
        decisions: {askHuman: true, stop: [blocked], cite: true}
        evidence: {required: true}
        human: {answers: [{text: "Number 7", by: ana}]}
        """
      try folder.write("agent.yaml", Self.agent(provider, dialect, extra))
      try await Binary.run(
        ["record", "agent.yaml", "Where is it?", "--out", "run.jsonl.gz"], in: folder.path)
      let bodies = provider.server.requests.map(\.text)
      provider.stop()
      let events = try await Self.check(in: folder)
      #expect(Self.kinds(events) == ["ask_human", "tool", "invalid", "answer"])
      #expect(events.last?.data["answer"] == "It is sent.")
      #expect(events.last?.data["evidenceRefs"] == ["2.1.0"])
      try #require(bodies.count == 4)
      for name in ["ask_human", "stop", "answer", "lookup"] {
        #expect(bodies[0].contains("\"\(name)\""), "\(name)")
      }
      // The question goes back as the call that it was, and what the person said as its result.
      #expect(bodies[1].contains("Which order?") && bodies[1].contains("Number 7"))
      #expect(bodies[2].contains("[2.1.0] "))
      #expect(bodies[3].contains("made up") && bodies[3].contains("the last ones are 2.1.0"))
    }

    @Test("a model stops by its own word", arguments: Dialect.allCases)
    func stop(_ dialect: Dialect) async throws {
      let provider = try FakeProvider { asked, reply in
        FakeProvider.send(
          .init(calls: [.init("stop", #"{"reason":"blocked"}"#)]), to: asked, reply)
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml", Self.agent(provider, dialect, "decisions: {stop: [blocked]}"))
      try await Binary.run(
        ["record", "agent.yaml", "Where is it?", "--out", "run.jsonl.gz"], in: folder.path,
        status: 1)
      let events = try await Self.check(in: folder)
      #expect(events.last?.data["reason"] == "blocked" && events.last?.data["detail"] == "model")
    }

    @Test(
      "answers of a schema are asked for in the words of the dialect, and held against it",
      arguments: Dialect.allCases)
    func schema(_ dialect: Dialect) async throws {
      let provider = try FakeProvider { asked, reply in
        FakeProvider.send(
          .init(asked.number == 0 ? "It is sent." : #"{"state":"sent"}"#), to: asked, reply)
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      let schema =
        "answerSchema: {type: object, required: [state], properties: {state: {type: string}}, additionalProperties: false}"
      let text = Self.agent(provider, dialect, schema)
      // Without tools, so that every dialect asks.
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      try folder.write(
        "agent.yaml", (lines.prefix(2) + lines.dropFirst(7)).joined(separator: "\n"))
      let told = try await Binary.run(
        ["record", "agent.yaml", "Where is it?", "--out", "run.jsonl.gz", "--json"],
        in: folder.path)
      let bodies = provider.server.requests.map(\.text)
      provider.stop()
      let events = try await Self.check(in: folder)
      #expect(Self.kinds(events) == ["invalid", "answer"])
      let key: [Dialect: String] = [
        .openai: #""response_format":{"json_schema":{"name":"answer","schema""#,
        .openaiResponses: #""text":{"format":{"name":"answer","schema""#,
        .anthropic: #""output_config":{"format":{"schema""#,
        .gemini: #""responseJsonSchema":{"additionalProperties""#,
        .ollama: #""format":{"additionalProperties""#,
        .bedrock: #""outputConfig":{"textFormat""#,
      ]
      #expect(bodies[0].contains(try #require(key[dialect])), "\(bodies[0])")
      let output = try JSONValue(parsing: Array(told.output.utf8))
      #expect(output["answerJson"] == ["state": "sent"], "\(told.output)")
    }

    @Test(
      "a reply that a filter kept back, and one that was cut, are no answers",
      arguments: Dialect.allCases)
    func filtered(_ dialect: Dialect) async throws {
      let words: [Dialect: (filtered: String, cut: String)] = [
        .openai: ("content_filter", "length"),
        .openaiResponses: ("content_filter", "max_output_tokens"),
        .anthropic: ("refusal", "max_tokens"), .gemini: ("SAFETY", "MAX_TOKENS"),
        .ollama: ("", "length"), .bedrock: ("guardrail_intervened", "max_tokens"),
      ]
      let (filter, cut) = try #require(words[dialect])
      for (finish, ends) in [(filter, true), (cut, false)] where !finish.isEmpty {
        let provider = try FakeProvider { asked, reply in
          FakeProvider.send(
            .init("It is", finish: ends || asked.number == 0 ? finish : nil), to: asked, reply)
        }
        defer { provider.stop() }
        let folder = try TemporaryFolder()
        try folder.write("agent.yaml", Self.agent(provider, dialect, ""))
        try await Binary.run(
          ["record", "agent.yaml", "Where is it?", "--out", "run.jsonl.gz"], in: folder.path,
          status: ends ? 1 : 0)
        let events = try await Self.check(in: folder)
        if ends {
          #expect(events.last?.data["reason"] == "blocked", "\(finish)")
          let detail = dialect == .anthropic ? "refusal" : "content_filter"
          #expect(events.last?.data["detail"]?.stringValue == detail, "\(finish)")
        } else {
          #expect(Self.kinds(events) == ["invalid", "answer"], "\(finish)")
        }
      }
    }
  }
#endif
