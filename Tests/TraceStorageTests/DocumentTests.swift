import AgentTrace
import Foundation
import Testing

@testable import TraceStorage

@Suite("Docs/log-format.md tells the truth")
struct DocumentTests {
  /// The content of the code block of a language.
  static func block(_ language: String) throws -> String {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Docs/log-format.md")
    let text = try String(contentsOf: path, encoding: .utf8)
    let start = try #require(text.firstRange(of: "```\(language)\n"))
    let end = try #require(text[start.upperBound...].firstRange(of: "```"))
    return String(text[start.upperBound..<end.lowerBound])
  }

  @Test("its example is a whole log of the events it says")
  func decoded() throws {
    let base64 = try Self.block("base64").filter { !$0.isNewline }
    let bytes = try #require(Data(base64Encoded: base64))
    let folder = try TemporaryFolder()
    let path = folder.file("example.jsonl.gz")
    try bytes.write(to: URL(filePath: path))
    let lines = try Self.block("jsonl")
    #expect(
      try DamageTests.lines(path).lines.map { String(decoding: $0, as: UTF8.self) + "\n" }
        .joined() == lines)
    #expect(try readEvents(path) == ExampleLog.events)
    let report = LogVerifier.verify(path: path)
    #expect(report.status == .whole)
    #expect(report.blocks == 3)
  }

  @Test("the writer writes its example byte for byte")
  func encoded() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("example.jsonl.gz")
    try writeLog(ExampleLog.events, to: path, options: ExampleLog.options)
    let base64 = try Self.block("base64").filter { !$0.isNewline }
    #expect(try Data(contentsOf: URL(filePath: path)) == Data(base64Encoded: base64))
  }
}
