import AgentTrace
import TestSupport
import Testing

@testable import LiveBoundary

@Suite("Large parts that requests show")
struct ShownPartsTests {
  private static func image(_ number: Int, bytes: Int) -> JSONValue {
    let data = "\(number) " + String(repeating: "A", count: bytes)
    return ["role": "user", "content": [["type": "image", "source": ["data": .string(data)]]]]
  }

  private static func bytes(_ messages: some Sequence<JSONValue>) -> Int {
    messages.reduce(0) { $0 + CanonicalJSON.byteCount(of: $1) }
  }

  @Test(
    "what a request newly shows is within a line, however many its parts are",
    arguments: [(12, 900_000), (200, 300_000), (100, 70_000), (3, 2_000_000)])
  func isWithinALine(count: Int, size: Int) {
    var parts = ShownParts()
    let messages = (0..<count).map { Self.image($0, bytes: size) }
    let shown = parts.bounded(messages)
    #expect(shown.count == count)
    #expect(Self.bytes(shown) < 7 << 20)
    // What is cut says so, and is the same when it is sent again.
    for (message, shown) in zip(messages, shown) where message != shown {
      #expect(CanonicalJSON.string(shown).contains(#""$cut""#))
    }
    #expect(parts.bounded(messages) == shown)
  }

  @Test(
    "what a request newly shows holds fewer values than a line takes, whether or not results have events",
    arguments: [false, true])
  func values(_ haveEvents: Bool) {
    var parts = ShownParts()
    let numbers = JSONValue.array(Array(repeating: 10, count: 60_000))
    if haveEvents { parts.take(result: numbers) }
    let messages: [JSONValue] = (0..<6).map {
      [
        "role": "tool",
        "content": [["type": "tool_result", "callId": .string("c\($0)"), "data": numbers]],
      ]
    }
    let shown = parts.bounded(messages)
    #expect(shown.prefix(2).elementsEqual(messages.prefix(2)))
    #expect(CanonicalJSON.valueCount(of: .array(shown)) < JSONValue.countLimit)
    #expect(parts.bounded(messages) == shown)
  }

  @Test("a context that grows by one image at a time shows each whole, however long it is")
  func growing() {
    var parts = ShownParts()
    var messages: [JSONValue] = []
    for number in 0..<20 {
      messages.append(Self.image(number, bytes: 900_000))
      #expect(parts.bounded(messages) == messages)
    }
  }

  @Test("results that have events of their own are whole, however many come at once")
  func results() {
    var parts = ShownParts()
    let results = (0..<12).map {
      JSONValue.string("\($0) " + String(repeating: "r", count: 900_000))
    }
    let messages: [JSONValue] = results.map {
      ["role": "tool", "content": [["type": "tool_result", "callId": "c", "data": $0]]]
    }
    #expect(parts.bounded(messages) != messages)
    parts = ShownParts()
    for result in results { parts.take(result: result) }
    #expect(parts.bounded(messages) == messages)
  }

  @Test("what is small, or is no message, stands as before")
  func small() {
    var parts = ShownParts()
    let messages: [JSONValue] = [
      ["role": "user", "content": "text"], "odd", Self.image(1, bytes: 9),
    ]
    #expect(parts.bounded(messages) == messages)
  }
}
