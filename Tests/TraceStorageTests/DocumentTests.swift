import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

/// Where the format changes on purpose, `UPDATE_DOCUMENTS=1` writes its example anew.
@Suite("Docs/log-format.md tells the truth")
struct DocumentTests {
  private static let document = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Docs/log-format.md")

  /// The content of the code block of a language.
  static func block(_ language: String) throws -> String {
    let text = try String(contentsOf: document, encoding: .utf8)
    return String(text[try range(ofBlock: language, in: text)])
  }

  private static func range(ofBlock language: String, in text: String) throws
    -> Range<String.Index>
  {
    let start = try #require(text.firstRange(of: "```\(language)\n"))
    let end = try #require(text[start.upperBound...].firstRange(of: "```"))
    return start.upperBound..<end.lowerBound
  }

  /// Puts the example log into the document.
  private static func update(from path: String) throws {
    var text = try String(contentsOf: document, encoding: .utf8)
    let lines = try DamageTests.lines(path).lines.map { String(decoding: $0, as: UTF8.self) + "\n" }
    text.replaceSubrange(try range(ofBlock: "jsonl", in: text), with: lines.joined())
    let bytes = try Data(contentsOf: URL(filePath: path))
    let base64 = bytes.base64EncodedString(options: [.lineLength76Characters])
      .replacing("\r\n", with: "\n")
    text.replaceSubrange(try range(ofBlock: "base64", in: text), with: base64 + "\n")
    text.replace(
      /The same as a file of \d+ bytes/, with: "The same as a file of \(bytes.count) bytes")
    try text.write(to: document, atomically: true, encoding: .utf8)
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

  @Test("its thirty lines of Python resolve any log", arguments: 0..<4)
  func resolved(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    var generator = Seeded(seed: 900 + seed)
    var events = [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "r",
        data: RunStarted(agentName: "a", goal: "g").encoded)
    ]
    var messages: [JSONValue] = []
    while events.count < 300 {
      let text =
        "\(events.count) "
        + String(repeating: "text ", count: .random(in: 1...200, using: &generator))
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: messages.append(["role": "user", "text": .string(text)])
      case 1: messages.append(messages.randomElement(using: &generator) ?? "first")
      case 2: messages.append(["a/b~c": ["$same": [events.last?.data["text"] ?? "none"]]])
      case 3: messages.removeFirst(min(messages.count, .random(in: 0...3, using: &generator)))
      default: messages.append(.string(text))
      }
      events.append(
        Event(
          seq: events.count, step: 1, type: .humanReplied, runId: "r", data: ["text": .string(text)]
        ))
      events.append(
        Event(
          seq: events.count, step: 1, type: .contextBuilt, runId: "r",
          data: [
            "prompt": ["messages": .array(messages)], "observations": .array(messages.suffix(5)),
          ]))
    }
    try writeLog(events, to: path, options: .init(blockBytes: 20_000, durability: .none))
    try Self.block("python").write(
      to: URL(filePath: folder.file("resolve.py")), atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    let python = ProcessInfo.processInfo.environment["AGENT_EVAL_PYTHON"] ?? "python3"
    process.arguments = [python, folder.file("resolve.py"), path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let lines = output.split(separator: UInt8(ascii: "\n"))
    try #require(lines.count == events.count)
    for (line, event) in zip(lines, events) {
      let value = try JSONValue(parsing: Array(line))
      #expect(value["data"] == .object(event.data), "event \(event.seq)")
    }
  }

  @Test("the writer writes its example byte for byte")
  func encoded() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("example.jsonl.gz")
    try writeLog(ExampleLog.events, to: path, options: ExampleLog.options)
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil {
      try Self.update(from: path)
    }
    let base64 = try Self.block("base64").filter { !$0.isNewline }
    #expect(try Data(contentsOf: URL(filePath: path)) == Data(base64Encoded: base64))
  }
}
