#if Live
  import AgentRuntime
  import AgentTrace
  import Foundation
  import TestSupport
  import Testing

  /// What a live model is told, in each dialect: instructions with values put in, turns as examples, what it meant to do
  /// and what it made of its results.
  @Suite("Prompts of live models")
  struct LivePromptTests {
    private static func agent(_ provider: FakeProvider, _ dialect: Dialect, streams: Bool) -> String
    {
      """
      name: tutor
      goal: Teach ${policyContext.tenantId}.
      system:
        - {file: house.md}
        - {id: maths, when: {route: maths}, text: Show each step.}
        - {id: end, when: {after: look_up}, text: Come to an end.}
      examples: [{user: "What is 2 + 2?", assistant: "It is four."}]
      plan: {prompt: "How will you answer ${input}?"}
      reflect: {prompt: What do you make of it?, after: results, maxCalls: 2}
      tools:
        - name: look_up
          description: Books of ${policyContext.tenantId}.
          sideEffect: write
          inputSchema: {type: object, required: [word], properties: {word: {type: string}}}
          scripted: [{ok: {text: a product}}]
      policy: {rules: [{id: ask, tool: look_up, verdict: approval_required}]}
      model:
        provider: \(dialect.rawValue)
        name: fake
        baseUrl: \(provider.baseURL(dialect))
        stream: \(streams)
      """
    }

    @Test(
      "a run that plans, waits for a person and looks back is told what its file says, and is made again",
      arguments: Dialect.allCases, [true, false])
    func wholeRun(_ dialect: Dialect, streams: Bool) async throws {
      let provider = try FakeProvider { asked, reply in
        let said: FakeProvider.Reply =
          switch asked.number {
          case 0: .init("First the book, then the sum.")
          case 1: .init(calls: [.init("look_up", #"{"word":"square"}"#)])
          case 2: .init("It is three times three.", calls: [.init("look_up", #"{"word":"no"}"#)])
          default: .init("Nine.")
          }
        FakeProvider.send(said, to: asked, reply)
      }
      defer { provider.stop() }
      let folder = try TemporaryFolder()
      try folder.write(
        "house.md", "You teach at ${policyContext.tenantId}; the pupil asks “${input}”.\n")
      try folder.write("agent.yaml", Self.agent(provider, dialect, streams: streams))
      try await Binary.run(
        [
          "record", "agent.yaml", "What is 3 squared?", "--out", "run.jsonl.gz", "--tenant",
          "north",
          "--route", "maths",
        ], in: folder.path, status: 1)
      #expect(provider.server.requests.count == 2)
      // A wait ends the process; another one goes on, and asks for neither plan nor decision again.
      try await Binary.run(
        ["approve", "run.jsonl.gz", "look_up", "--by", "ana"], in: folder.path)
      try await Binary.run(["resume", "run.jsonl.gz", "--agent", "agent.yaml"], in: folder.path)
      let bodies = provider.server.requests.map(\.text)
      provider.stop()
      try #require(bodies.count == 4, "\(bodies)")
      for body in bodies {
        #expect(body.contains("You teach at north; the pupil asks “What is 3 squared?”."))
        #expect(body.contains("Show each step."))
        #expect(body.contains("What is 2 + 2?") && body.contains("It is four."))
      }
      #expect(bodies.map { $0.contains("Come to an end.") } == [false, false, true, true])
      // Converse and Ollama have no word for tools that are there and may not be called.
      let isTold = ![Dialect.bedrock, .ollama].contains(dialect)
      #expect(bodies.map { $0.contains("Books of north.") } == [isTold, true, isTold, true])
      #expect(bodies.map { $0.contains("How will you answer What is 3 squared?") }[0])
      #expect(bodies.map { $0.contains("Your plan: First the book") }[1])
      #expect(bodies.map { $0.contains("What do you make of it?") } == [false, false, true, false])
      #expect(bodies[3].contains("It is three times three."))

      let log = folder.path("run.jsonl.gz")
      let events = try readLog(log)
      let purposes = events.filter { $0.type == .modelResult }.map {
        $0.data["purpose"]?.stringValue ?? "-"
      }
      #expect(purposes == ["plan", "decide", "reflect", "decide"])
      // What a look back would call is not called.
      #expect(events.filter { $0.type == .toolStarted }.count == 1)
      #expect(events.last?.data["answer"] == "Nine.")
      try await Binary.run(["verify", log], in: folder.path)
      let again = try await Binary.run(
        ["replay", "--reexecute", log, "--agent", "agent.yaml"], in: folder.path)
      #expect(again.output.contains("faithful"), "\(again)")
      // Of another text it is told where it is another run.
      try folder.write("house.md", "You learn at ${policyContext.tenantId}.\n")
      let other = try await Binary.run(
        ["replay", "--reexecute", log, "--agent", "agent.yaml"], in: folder.path, status: 1)
      #expect(other.output.contains("diverged") && !other.output.contains("tools."), "\(other)")
    }
  }
#endif
