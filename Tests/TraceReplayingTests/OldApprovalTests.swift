import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying

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
}
