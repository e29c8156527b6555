import AgentTrace
import TestSupport
import Testing

@testable import TraceReporting

@Suite("Images and files in what people read")
struct FileTextTests {
  private static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  @Test("are told by type, size and digest, wherever they stand")
  func told() {
    var random = Seeded(seed: 5)
    let starts: [([UInt8], String)] = [
      ([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d], "image/png"),
      ([0xff, 0xd8, 0xff, 0xe0], "image/jpeg"), (Array("GIF89a".utf8), "image/gif"),
      (Array("RIFF".utf8), "image/webp"), (Array("%PDF-1.7".utf8), "application/pdf"),
    ]
    for (start, type) in starts {
      for size in [900, 5_000, 200_000] {
        let bytes = start + (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
        let wanted = "[\(type), \(bytes.count) bytes, SHA-256 \(Digest(of: bytes).hex)]"
        #expect(FileText.told(Self.base64(bytes)) == wanted)
        #expect(FileText.told("data:\(type);base64,\(Self.base64(bytes))") == wanted)
        let part: JSONValue = [
          "type": "image", "source": ["data": .string(Self.base64(bytes)), "n": 1],
        ]
        #expect(FileText.told([part])[0]?["source"]?["data"] == .string(wanted))
        #expect(PromptText.text(of: part).contains(wanted))
      }
    }
    let other = (0..<3_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(
      FileText.told("data:text/csv;charset=utf-8;base64,\(Self.base64(other))")?.hasPrefix(
        "[text/csv, 3000 bytes") == true)
  }

  @Test("what is no file stands as it is")
  func others() {
    let letters = String(repeating: "iVBORw0KGgo", count: 200)
    for text in [
      "", "data:", "data:image/png;base64,", "iVBORw0KGgo short", letters + "!", "data:," + letters,
      "data:image/png," + letters, String(repeating: "x", count: 100_000),
      "data:image/png;base64," + String(repeating: "?", count: 2_000),
    ] {
      #expect(FileText.told(text) == nil, "\(text.prefix(40))")
      #expect(FileText.told(["a": .string(text)]) == ["a": .string(text)])
    }
  }
}
