import AgentRuntime
import AgentTrace
import Testing

@Suite("Calls that the provider ran itself")
struct ProviderCallTests {
  private static let reply: JSONValue = [
    "text": "Looking.",
    "ran": [
      ["id": "s1", "name": "web_search", "input": ["q": "x"], "status": "ok", "data": ["u"]],
      ["name": "bank.pay", "input": ["amount": 9]],
      ["name": "code", "input": "1/0", "status": "error", "data": "no"],
    ],
    "unread": ["/content/3: new"],
  ]

  private static var agent: AgentDefinition {
    var first = reply.objectValue ?? [:]
    first["calls"] = [["name": "look", "input": ["n": 1]]]
    return .replying(.object(first), reply)
  }

  @Test("are told before their decision, with results and without a verdict")
  func told() async throws {
    let run = try await Self.agent.run()
    #expect(run.state.stop?.reason == "success")
    let first = run.events.filter { $0.step == 1 }.map(\.type.rawValue)
    #expect(
      first == [
        "context_built", "model_result", "unseen", "decision", "tool_result", "tool_result",
        "tool_result", "decision", "policy_decision", "tool_started", "tool_result",
      ])
    let trajectory = Trajectory(of: run.events)
    #expect(
      trajectory.calls.map { "\($0.tool) \($0.status?.rawValue ?? "")" } == [
        "web_search ok", "bank.pay unknown", "code error", "look ok", "web_search ok",
        "bank.pay unknown", "code error",
      ])
    #expect(trajectory.recorded["calls"] == "partial")
    #expect(trajectory.answer?.text == "Looking.")
    #expect(run.state.totals.toolCalls == 7)
    let verdicts = run.events.filter { $0.type == .policyDecision }
    #expect(verdicts.map { $0.data["tool"] } == ["look"])
    for result in run.events where result.type == .toolResult && result.data["tool"] != "look" {
      #expect(result.data["executedBy"] == "provider")
      #expect(result.data["callId"]?.stringValue?.contains(".p") == true)
    }
    // The model is not told what its provider knows.
    let packet = try #require(run.events.last { $0.type == .contextBuilt })
    let parts = (packet.data["prompt"]?["messages"]?.arrayValue ?? []).flatMap {
      $0["content"]?.arrayValue ?? []
    }
    #expect(
      parts.compactMap { $0["name"]?.stringValue ?? $0["data"]?.description }.count == 2, "\(parts)"
    )
  }

  @Test("are told once each, whatever event the run goes on from")
  func goingOn() async throws {
    let whole = try await Self.agent.run().events
    for index in whole.indices {
      let rest = try await Self.agent.goOn(from: whole[...index])
      #expect(
        rest.events.map(\.data) == whole[(index + 1)...].map(\.data), "from event \(index)")
    }
  }

  @Test("a reply that only tells of them is no decision")
  func alone() {
    let reply = ModelReply(["ran": [["name": "web_search"]]])
    #expect(!reply.decides)
    #expect(ModelReply(["text": "x", "ran": [["name": "web_search"]]]).decides)
    #expect(ModelReply([:]).decides)
  }
}
