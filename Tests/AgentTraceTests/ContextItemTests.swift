import AgentTrace
import Testing

@Suite("What a context holds")
struct ContextItemTests {
  private static func packet(_ items: [JSONValue]) -> JSONObject {
    ["runId": "r", "included": .array(items), "omittedRefs": .array(items)]
  }

  private static let item: JSONValue = ["ref": "1.1.0", "reason": "fits"]

  @Test("an item is read the same with other keys beside its own, and written without them")
  func items() throws {
    let more: JSONValue = ["ref": "1.1.0", "reason": "fits", "tokens": 4]
    let packet = try ContextPacket(decoding: Self.packet([Self.item, more]))
    let item = ContextItem(ref: "1.1.0", reason: "fits")
    #expect(packet.included == [item, item])
    #expect(packet.omittedRefs == packet.included)
    #expect(packet.encoded["included"] == .array([Self.item, Self.item]))
    #expect(packet.encoded["omittedRefs"] == packet.encoded["included"])
  }

  @Test("an item that is none is named by its place")
  func faults() {
    let faults: [(item: JSONValue, key: String, expected: String)] = [
      (5, "included/1", "an object"),
      (["ref": "a", "reason": 5], "included/1/reason", "a string"),
      (["reason": "b"], "included/1/ref", "a string"),
      (["reason": "b", "refs": "a"], "included/1/ref", "a string"),
    ]
    for fault in faults {
      #expect(throws: PayloadError(key: fault.key, expected: fault.expected)) {
        try ContextPacket(decoding: Self.packet([Self.item, fault.item]))
      }
    }
  }
}
