@_spi(Scanning) import AgentTrace
import Testing

@Suite("Text is scanned in pieces of 16 and 32 bytes")
struct PlainTextTests {
  @Test(
    "every character is escaped or kept, wherever in a piece it stands",
    arguments: Array(UInt8(0)...127) + [0x80, 0xa2, 0xdc, 0xff])
  func everyByte(code: UInt8) throws {
    let scalar = Unicode.Scalar(code)
    let isEscaped = code < 0x20 || scalar == "\"" || scalar == "\\"
    for before in Array(0...17) + [31, 32, 33, 47, 48, 63, 64, 79, 80, 81, 95, 143, 144] {
      for after in [0, 1, 7, 8, 9, 32] {
        let text =
          String(repeating: "a", count: before) + String(Character(scalar))
          + String(repeating: "é", count: after)
        let encoded = CanonicalJSON.encode(.string(text))
        #expect(encoded.contains(UInt8(ascii: "\\")) == isEscaped)
        #expect(try JSONValue(parsing: encoded) == .string(text))
      }
    }
  }

  @Test("random bytes end where a search byte by byte ends, and none of 0x80 or above is missed")
  func randomBytes() {
    var generator = SeededGenerator(seed: 41)
    for _ in 0..<20_000 {
      var bytes = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
        UInt8.random(in: 0x61...0x7a, using: &generator)
      }
      for byte: UInt8 in [0x22, 0x5c, 0x1f, 0x00, 0x20, 0x80, 0xff] where !bytes.isEmpty {
        guard Int.random(in: 0..<4, using: &generator) == 0 else { continue }
        bytes[Int.random(in: bytes.indices, using: &generator)] = byte
      }
      let start = Int.random(in: 0...bytes.count, using: &generator)
      let expected =
        bytes[start...].firstIndex { $0 < 0x20 || $0 == 0x22 || $0 == 0x5c } ?? bytes.count
      bytes.withUnsafeBufferPointer { buffer in
        var seen: UInt64 = 0
        #expect(buffer.plainEnd(from: start, seen: &seen) == expected, "\(bytes) from \(start)")
        #expect(buffer.plainEnd(from: start) == expected, "\(bytes) from \(start)")
        let isASCII = UnsafeBufferPointer<UInt8>.isASCII(seen: seen)
        let reach = min(expected + 32, bytes.count)
        #expect(
          isASCII
            ? bytes[start..<expected].allSatisfy { $0 < 0x80 }
            : bytes[start..<reach].contains { $0 >= 0x80 }, "\(bytes) from \(start)")
      }
    }
  }
}
