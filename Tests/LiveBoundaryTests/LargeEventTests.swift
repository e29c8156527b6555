import AgentTrace
import Foundation
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

  /// An event by a name: the runner prints what a case is given, which would be the whole of it.
  struct Large: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var event: Event

    init(_ name: String, _ type: EventType, _ data: JSONObject) {
      testDescription = name
      event = LargeEventTests.event(type, data)
    }
  }

  @Test(
    "what is large stands cut, names and ids stay, and the event is read as before",
    arguments: [
      Large("an answer", .decision, ["kind": "answer", "text": text(9 << 20), "evidenceRefs": []]),
      Large("calls", .decision, ["kind": "tool", "calls": .array(calls)]),
      Large("a stop", .stop, ["reason": "success", "final": true, "answer": text(9 << 20)]),
      Large(
        "a list of tools", .toolsListed,
        ["source": "agent", "tools": .array(tools), "digest": "d"]),
      Large(
        "a context", .contextBuilt,
        ["runId": "r", "goal": "g", "prompt": ["messages": .array(messages)], "toolsDisclosed": []]),
    ])
  func isWithinALine(large: Large) throws {
    let event = large.event
    let whole = Data(event.encodedLine())
    #expect(whole.count > 8 << 20)
    let small = LargeEvent.cut(event, toBytes: 4 << 10)
    let line = Data(small.encodedLine())
    #expect(line.count < 8 << 20 && line.range(of: Data("cut".utf8)) != nil)
    let payload = try EventPayload(of: small)
    #expect(payload.type == small.type)
    for word in ["look", "tool 299", "c299"].map({ Data($0.utf8) }) {
      #expect((line.range(of: word) != nil) == (whole.range(of: word) != nil))
    }
    // What is small stays as it is.
    #expect(LargeEvent.cut(small, toBytes: 64 << 10) == small)
  }
}
