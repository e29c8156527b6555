import AgentTrace
import Testing
import TraceJudging

/// What a prompt holds that a rule on contexts looks for.
struct ShownTextTests {
  private static func outcomes(_ data: JSONValue, _ rule: JSONValue) throws -> [Outcome] {
    let message: JSONValue = [
      "role": "tool", "content": [["type": "tool_result", "callId": "1.1.0", "data": data]],
    ]
    let events = [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "run",
        data: RunStarted(agentName: "test", goal: "a goal").encoded),
      Event(
        seq: 1, step: 1, type: .contextBuilt, runId: "run",
        data: ["prompt": ["messages": [message]]]),
      Event(
        seq: 2, step: 1, type: .stop, runId: "run",
        data: Stop(reason: .success, isFinal: true).encoded),
    ]
    return Judge.judge(events, against: try Expectations(parsing: ["context": rule]))
      .outcomes.map(\.outcome)
  }

  @Test("a number that a model was shown is a text as it was written")
  func numbers() throws {
    let card = try JSONValue(parsing: #"{"cards": [{"number": 4111111111111111, "limit": 59.90}]}"#)
    for text in ["4111111111111111", "59.90"] as [JSONValue] {
      #expect(try Self.outcomes(card, ["neverContains": text]) == [.fail])
      #expect(try Self.outcomes(card, ["contains": text]) == [.pass])
    }
    #expect(try Self.outcomes(card, ["neverContains": ["$regex": "\\b\\d{16}\\b"]]) == [.fail])
    #expect(try Self.outcomes(card, ["neverContains": "4222"]) == [.pass])
  }
}
