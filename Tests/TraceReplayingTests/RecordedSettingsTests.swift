import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("How models were asked")
struct RecordedSettingsTests {
  private static let dialects = Dialect.allCases.map(\.rawValue)

  /// An agent file whose model, and whose person, a provider serves.
  private static func file(
    _ dialect: String = "openai", model: String = "", person: String = "", rest: String = ""
  ) -> String {
    """
    name: clerk
    system: Help.
    tools:
      - {name: lookup, sideEffect: read, scripted: [{ok: 1}]}
      - {name: pay, sideEffect: write, scripted: [{ok: 2}]}
    model: {provider: \(dialect), name: m-1, baseUrl: "http://127.0.0.1:1/v1", keyFrom: A_KEY\(model)}
    human:
      system: You are Ana.
      model: {provider: \(dialect), name: p-1, baseUrl: "http://127.0.0.1:1/v1"\(person)}
    \(rest)
    """
  }

  private static func agent(_ text: String) throws -> AgentDefinition {
    let loaded = AgentLoader.load(Array(text.utf8), path: "clerk.yaml")
    return try #require(loaded.value, "\(loaded.diagnostics)")
  }

  /// Answers for both models: a call of each tool, one of which a person approves, and the end.
  private struct Spoken: Model {
    func reply(to request: ModelRequest) async -> ModelAnswer {
      switch request.purpose {
      case .human: ModelAnswer(reply: ["text": request.number < 3 ? "yes, do" : ""])
      case .summarize, .plan, .reflect: ModelAnswer(reply: ["text": "Much was said."])
      case .decide, .judge:
        ModelAnswer(
          reply: request.number > 2
            ? ["text": "Done."]
            : ["calls": [["name": request.number == 1 ? "lookup" : "pay", "input": [:]]]])
      }
    }
  }

  private static func events(of agent: AgentDefinition) async throws -> [Event] {
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1),
      makeModel: { _ in Spoken() })
    let sink = InMemoryEventSink()
    _ = try await Runtime(agent: agent, boundary: boundary).run(goal: "Go on", into: sink)
    return sink.events
  }

  @Test("a log says how each model is asked, and no key", arguments: dialects)
  func settings(dialect: String) async throws {
    let secret = "sk-proj-" + String(repeating: "Ab3dEf6hIj9k", count: 4)
    // Ollama's chat knows no more.
    let choice = dialect == "ollama" ? "none" : "required"
    let agent = try Self.agent(
      Self.file(
        dialect,
        model:
          ", temperature: 0.2, toolChoice: \(choice), headers: {Authorization: Bearer \(secret), "
          + "X-Team: red}, headersFrom: {X-Org: AN_ORG}, prices: {input: 1, output: 2}, stream: false"
      ))
    let events = try await Self.events(of: agent)
    let models = try RunStarted(decoding: events[0].data).models
    let decide = try #require(models["decide"])
    #expect(decide["provider"] == .string(dialect) && decide["name"] == "m-1")
    #expect(decide["temperature"] == 0.2 && decide["toolChoice"] == ["choice": .string(choice)])
    #expect(decide["baseUrl"] == "http://127.0.0.1:1/v1")
    #expect(decide["headers"]?["X-Team"] == "red" && decide["headersFrom"] == ["X-Org": "AN_ORG"])
    #expect(decide["prices"] == ["input": 1, "output": 2])
    #expect(decide["keyFrom"] == nil && decide["stream"] == nil)
    #expect(models["human"]?["system"] == "You are Ana." && models["human"]?["by"] == "person")
    #expect(models["summarize"] == nil)
    for event in events {
      #expect(!CanonicalJSON.string(.object(event.data)).contains(secret))
    }
    let folder = try TemporaryFolder()
    let again = try await Reexecution(of: try writeLog(events, in: folder), with: agent)
    #expect(again.divergence == nil, "\(String(describing: again.divergence))")
  }

  /// A change of the agent file, and what is to be found.
  struct Change: CustomTestStringConvertible, Sendable {
    var model = ""
    var person = ""
    var input: String
    var cause = Divergence.Cause.model
    var testDescription: String { model + person }
  }

  static let changes = [
    Change(model: ", temperature: 1.5", input: "model.temperature"),
    Change(model: ", topP: 0.5", input: "model.topP"),
    Change(model: ", maxOutputTokens: 100", input: "model.maxOutputTokens"),
    Change(model: ", toolChoice: required", input: "model.toolChoice"),
    Change(model: ", toolChoice: {tool: pay, steps: 1}", input: "model.toolChoice"),
    Change(model: ", parallelToolCalls: false", input: "model.parallelToolCalls"),
    Change(model: ", reasoning: {effort: high}", input: "model.reasoning"),
    Change(model: ", seed: 4", input: "model.seed"),
    Change(model: ", stop: [END]", input: "model.stop"),
    Change(model: ", options: {logprobs: true}", input: "model.options"),
    Change(model: ", headers: {X-Team: red}", input: "model.headers"),
    Change(model: ", headersFrom: {X-Team: TEAM}", input: "model.headersFrom"),
    Change(model: ", prices: {input: 1, output: 1}", input: "model.prices"),
    Change(person: ", temperature: 1.5", input: "human.model.temperature"),
    Change(person: "}\n  by: {x}".replacing("{x}", with: "bo"), input: "human.by", cause: .context),
  ]

  @Test(
    "a setting that changed is a difference where the run begins, and named", arguments: changes)
  func changed(change: Change) async throws {
    let folder = try TemporaryFolder()
    let log = try writeLog(try await Self.events(of: Self.agent(Self.file())), in: folder)
    var text = Self.file(model: change.model, person: change.person)
    if change.person.contains("by:") {
      text = Self.file().replacing(
        "  system: You are Ana.", with: "  system: You are Ana.\n  by: bo")
    }
    let found = try #require(
      try await Reexecution(of: log, with: Self.agent(text)).divergence)
    #expect(found.seq == 0 && found.cause == change.cause && found.input?.name == change.input)
    // And the other way round: recorded with it, made again without.
    let other = try writeLog(
      try await Self.events(of: Self.agent(text)), in: folder, named: "other")
    let back = try #require(
      try await Reexecution(of: other, with: Self.agent(Self.file())).divergence)
    #expect(back.seq == 0 && back.cause == change.cause && back.input?.name == change.input)
    let diff = RunDiff(try ComparedRun(path: log), try ComparedRun(path: other))
    #expect(diff.first?.fields.contains { "\($0.path)".hasPrefix("/start/models/") } == true)
  }

  @Test(
    "what is no part of a question is no difference",
    arguments: [
      ", stream: false", ", timeouts: {totalSeconds: 9}", ", requestsPerMinute: 9",
      ", tokensPerMinute: 9",
    ])
  func same(model: String) async throws {
    let folder = try TemporaryFolder()
    let log = try writeLog(try await Self.events(of: Self.agent(Self.file())), in: folder)
    let found = try await Reexecution(of: log, with: Self.agent(Self.file(model: model)))
    #expect(found.divergence == nil)
  }

  @Test("the digest of a request is that of what is asked, whoever takes the messages' digest")
  func digests() {
    var request = ModelRequest(
      step: 1, tryNumber: 1, attempt: 1, number: 1, goal: "g",
      messages: [["role": "user", "content": [["type": "text", "text": "hello"]]]],
      tools: [ToolDefinition(name: "lookup")])
    let older = request.digest
    #expect(older == request.contextDigest)
    request.settings = ["name": "m-1", "temperature": 0.2]
    let digest = request.digest
    #expect(digest != older && request.contextDigest == older)
    #expect(digest == request.digest(ofMessages: ListDigest(of: request.messages)))
    var others: [ModelRequest] = []
    for key in ["name", "temperature", "topP"] {
      var other = request
      other.settings?[key] = 1
      others.append(other)
    }
    var other = request
    other.messages[0] = ["role": "user", "content": [["type": "text", "text": "hallo"]]]
    others.append(other)
    other = request
    other.tools[0].description = "Looks up."
    others.append(other)
    #expect(Set(others.map(\.digest) + [digest]).count == others.count + 1)
    other = request
    (other.step, other.attempt, other.number, other.timeoutMicroseconds) = (2, 3, 4, 5)
    #expect(other.digest == digest)
  }

  @Test("what a model was asked otherwise is found where it replied, though it replied the same")
  func forgedQuestions() async throws {
    let folder = try TemporaryFolder()
    let agent = try Self.agent(Self.file())
    let events = try await Self.events(of: agent)
    var count = 0
    for (index, event) in events.enumerated() where event.type == .modelResult {
      var forged = events
      forged[index].data["requestDigest"] = .string(Digest(of: .string("\(index)")).hex)
      let log = try writeLog(forged, in: folder, named: "forged-\(index)")
      let found = try #require(try await Reexecution(of: log, with: agent).divergence)
      #expect(found.seq == event.seq && found.recorded?.type == .modelResult)
      #expect(found.fields.map { "\($0.pointer)" } == ["/requestDigest"])
      count += 1
    }
    #expect(count >= 4)
  }

  @Test("a fork with another setting asks something new, one with the same is answered")
  func forks() async throws {
    let folder = try TemporaryFolder()
    let log = try writeLog(try await Self.events(of: Self.agent(Self.file())), in: folder)
    for (name, model, isAnswered) in [
      ("same", "", true), ("warmer", ", temperature: 1.5", false),
      ("plain", ", stream: false", true),
    ] {
      let fork = try await RunFork(
        .init(
          parent: log, at: .step(2), agent: Self.agent(Self.file(model: model)), runId: name,
          log: folder.path("\(name).jsonl.gz"),
          clock: { FixedClock(elapsedMicroseconds: $0) }))
      #expect((fork.unanswered == nil) == isAnswered, "\(name): \(fork.unanswered ?? "")")
    }
  }

  // MARK: Older logs

  /// Logs of before settings were recorded, each with the agent file that made it.
  static let older = [
    ("refund-drafted", "support"), ("conversation-simulated", "travel-desk-simulated"),
    ("summarized", "reader-summarizing"), ("another-decision", "support-with-ana"),
  ]

  @Test(
    "a log that holds no settings is faithful: what is not recorded is no difference",
    arguments: older)
  func olderLogs(name: String, file: String) async throws {
    let path = Project.path("Fixtures/before-settings/\(name).jsonl.gz")
    let agent = try #require(
      AgentLoader.load(Project.path("Fixtures/agents/\(file).yaml")).value)
    let events = try readLog(path)
    #expect(events[0].data["models"] == nil)
    #expect(events.contains { $0.data["requestDigest"] != nil })
    let again = try await Reexecution(of: path, with: agent)
    #expect(again.divergence == nil, "\(String(describing: again.divergence))")
    // Beside one of today's, that is said and not counted.
    let folder = try TemporaryFolder()
    var today = events
    today[0].data["models"] = .object(agent.models)
    let other = try writeLog(today, in: folder)
    let diff = RunDiff(try ComparedRun(path: path), try ComparedRun(path: other))
    #expect(diff.isSame && diff.notes.contains { $0.hasPrefix("how models were asked") })
  }
}
