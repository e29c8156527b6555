import AgentTrace
import Testing

@testable import LiveBoundary

@Suite("Events that are too large for a line")
struct LargeEventTests {
  private static func text(_ count: Int) -> JSONValue {
    .string(String(repeating: "x", count: count))
  }

  private static func event(_ type: EventType, _ data: JSONObject) -> Event {
    Event(seq: 1, step: 1, type: type, runId: "r", data: data)
  }

  private static let calls: [JSONValue] = (0..<20).map {
    ["callId": .string("1.1.\($0)"), "name": "look", "input": ["path": text(500_000)]]
  }

  private static let tools: [JSONValue] = (0..<300).map {
    [
      "name": .string("tool \($0)"), "description": text(50_000),
      "inputSchema": ["type": "object"],
    ]
  }

  private static let messages: [JSONValue] = (0..<300).map {
    [
      "role": "tool",
      "content": [["type": "tool_result", "callId": .string("c\($0)"), "data": text(50_000)]],
    ]
  }

  @Test(
    "what is large stands cut, names and ids stay, and the event is read as before",
    arguments: [
      event(.decision, ["kind": "answer", "text": text(9 << 20), "evidenceRefs": []]),
      event(.decision, ["kind": "tool", "calls": .array(calls)]),
      event(.stop, ["reason": "success", "final": true, "answer": text(9 << 20)]),
      event(.toolsListed, ["source": "agent", "tools": .array(tools), "digest": "d"]),
      event(
        .contextBuilt,
        ["runId": "r", "goal": "g", "prompt": ["messages": .array(messages)], "toolsDisclosed": []]),
    ])
  func isWithinALine(event: Event) throws {
    #expect(event.encodedLine().count > 8 << 20)
    let small = LargeEvent.cut(event, toBytes: 4 << 10)
    let line = String(decoding: small.encodedLine(), as: UTF8.self)
    #expect(line.utf8.count < 8 << 20 && line.contains("cut"))
    let payload = try EventPayload(of: small)
    #expect(payload.type == small.type)
    for word in ["look", "tool 299", "c299"] {
      #expect(
        line.contains(word) == String(decoding: event.encodedLine(), as: UTF8.self).contains(word))
    }
    // What is small stays as it is.
    #expect(LargeEvent.cut(small, toBytes: 64 << 10) == small)
  }
}
