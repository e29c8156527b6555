import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Approvals of before there were scopes")
struct OldApprovalTests {
  /// Says yes, as logs had it.
  private struct OldPerson: Person {
    func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
      ApprovalAnswer(granted: true, by: "ana", scope: nil)
    }
    func answer(_ request: QuestionRequest) async -> PersonAnswer? { nil }
  }

  private static let agent: AgentDefinition = {
    let call: JSONValue = ["calls": [["name": "pay", "input": ["n": 1]]]]
    return AgentDefinition(
      name: "sample",
      model: ModelDefinition(
        provider: "scripted", name: "sample",
        implementation: .scripted(
          ModelScript(
            turns: [call, call, call, ["text": "x"]].map {
              .init(choices: [.init(answer: .reply($0))])
            }))),
      tools: [
        ToolRegistration(
          definition: ToolDefinition(
            name: "pay", inputSchema: ["type": "object"], sideEffect: .write),
          implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok(1))])))
      ])
  }()

  @Test("one covers its tool and input for the run, and such a run is made again as it was")
  func kept() async throws {
    let boundary = AssembledBoundary(
      for: Self.agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1),
      person: OldPerson())
    let sink = InMemoryEventSink()
    let state = try await Runtime(agent: Self.agent, boundary: boundary).run(
      .init(goal: "go", runId: "r"), into: sink)
    #expect(state.stop?.reason == "success" && state.approvedActionIds.count == 1)
    let approvals = sink.events.filter { $0.type == .approval }
    #expect(approvals.count == 1 && approvals.first?.data["scope"] == nil)
    #expect(sink.events.count { $0.type == .toolStarted } == 3)
    for event in sink.events where event.type == .policyDecision {
      #expect(event.data["context"]?["approval"] == nil)
    }
    let folder = try TemporaryFolder()
    let path = try writeLog(sink.events, in: folder)
    let again = try await Reexecution(of: path, with: Self.agent)
    #expect(again.isFaithful && again.made == sink.events.count)
  }

  /// The run of an older program, which named actions by the text of their input.
  private static func olderRun() async throws -> [Event] {
    var call: JSONObject = ["name": "pay"]
    call["input"] = try JSONValue(parsing: #"{"n":1.0}"#)
    let turns: [JSONValue] = [
      ["calls": [.object(call)]], ["calls": [.object(call)]], ["text": "x"],
    ]
    var agent = Self.agent
    agent.model = ModelDefinition(
      provider: "scripted", name: "sample",
      implementation: .scripted(
        ModelScript(turns: turns.map { .init(choices: [.init(answer: .reply($0))]) })))
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1), person: OldPerson())
    let sink = InMemoryEventSink()
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "go", runId: "r"), into: sink)
    let today = ProposedCall(callId: "", name: "pay", input: call["input"] ?? .null)
    let older = try #require(today.olderActionId)
    var events: [Event] = []
    var state = AgentState()
    for var event in sink.events {
      if event.type == .approval { event.data["actionId"] = .string(older) }
      if event.type == .policyDecision, var context = event.data["context"]?.objectValue {
        if context["approvedActionIds"] == [.string(today.actionId)] {
          context["approvedActionIds"] = [.string(older)]
        }
        event.data["context"] = .object(context)
      }
      if event.type == .stop {
        let recorded = try #require(state.withOlderActionIds)
        #expect(recorded.digest != state.digest)
        event.data["stateDigest"] = .string(recorded.digest.hex)
      }
      events.append(event)
      state.apply(event)
    }
    return events
  }

  @Test("named by the text of an input, they cover what has the same value, and their log is whole")
  func olderNames() async throws {
    let events = try await Self.olderRun()
    let approval = try Approval(decoding: try #require(events.first { $0.type == .approval }).data)
    var state = AgentState()
    for event in events { state.apply(event) }
    for text in ["1.0", "1", "1e0"] {
      let input = try JSONValue(parsing: "{\"n\":\(text)}")
      let call = ProposedCall(callId: "later", name: "pay", input: input)
      #expect(call.actionId != approval.actionId)
      #expect(
        state.approvals.finding(for: "later", actionId: call.actionId, isOver: { _ in false })
          .isCovered, "\(text)")
    }
    let other = ProposedCall(callId: "later", name: "pay", input: ["n": 2])
    #expect(
      !state.approvals.finding(for: "later", actionId: other.actionId, isOver: { _ in false })
        .isCovered)
    let folder = try TemporaryFolder()
    let path = try writeLog(events, in: folder)
    #expect(LogVerifier.verify(path: path).findings == [])
    let copy = try LogRepair.repair(path, to: folder.path("again.jsonl.gz"))
    #expect(LogVerifier.verify(path: copy.output).findings == [])
    // What the state says of itself is what the older program said.
    var changed = events
    changed[changed.count - 1].data["stateDigest"] = .string(Digest(of: [1]).hex)
    let bad = try writeLog(changed, in: folder, named: "bad")
    #expect(LogVerifier.verify(path: bad).findings.count == 1)
  }

  @Test("a state that was read from an older log is gone on from by the name that it has")
  func restored() async throws {
    let events = try await Self.olderRun()
    var state = AgentState()
    for event in events.dropLast() { state.apply(event) }
    let older = try #require(state.withOlderActionIds)
    let object = try #require(older.encoded.objectValue)
    let restored = try AgentState(decoding: object)
    let call = ProposedCall(
      callId: "later", name: "pay", input: try JSONValue(parsing: #"{"n":1.0}"#))
    #expect(
      restored.approvals.finding(
        for: "later", actionId: call.actionId, olderActionId: call.olderActionId,
        isOver: { _ in false }
      ).isCovered)
  }

  @Test("such a run is made again as it was")
  func olderAgain() async throws {
    let events = try await Self.olderRun()
    let folder = try TemporaryFolder()
    let path = try writeLog(events, in: folder)
    var agent = Self.agent
    agent.model = ModelDefinition(
      provider: "scripted", name: "sample",
      implementation: .scripted(ModelScript(turns: [])))
    let again = try await Reexecution(of: path, with: agent)
    #expect(again.isFaithful, "\(String(describing: again.divergence))")
  }
}
