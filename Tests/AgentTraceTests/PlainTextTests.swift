import AgentTrace
import Testing

@Suite("Text is scanned in words of eight bytes")
struct PlainTextTests {
  @Test(
    "every character is escaped or kept, wherever in a word it stands",
    arguments: Array(UInt8(0)...127) + [0x80, 0xa2, 0xdc, 0xff])
  func everyByte(code: UInt8) throws {
    let scalar = Unicode.Scalar(code)
    let isEscaped = code < 0x20 || scalar == "\"" || scalar == "\\"
    for before in 0..<17 {
      for after in [0, 1, 7, 8, 9] {
        let text =
          String(repeating: "a", count: before) + String(Character(scalar))
          + String(repeating: "é", count: after)
        let encoded = CanonicalJSON.encode(.string(text))
        #expect(encoded.contains(UInt8(ascii: "\\")) == isEscaped)
        #expect(try JSONValue(parsing: encoded) == .string(text))
      }
    }
  }
}
