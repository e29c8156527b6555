import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("import")
struct ImportVerbTests {
  private static let list = """
    [{"role":"user","content":"Add one and two"},
     {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
       "function":{"name":"add","arguments":"{\\"a\\":1,\\"b\\":2}"}}]},
     {"role":"tool","tool_call_id":"c1","content":"3"},
     {"role":"assistant","content":"Three."}]
    """

  private static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("in/one.json", list)
    try folder.write("in/deep/two.json", list)
    return folder
  }

  @Test("a file that cannot be imported is reported, the others go on, and the exit code is 2")
  func failures() async throws {
    let folder = try Self.folder()
    try folder.write("in/broken.json", "{\"messages\": [")
    try folder.write("in/empty.json", "")
    let outcome = try await Binary.run(
      ["import", "openai-messages", "in", "--out", "out", "--json"], in: folder.path, status: 2)
    let reports = try outcome.jsonLines()
    #expect(reports.count == 4)
    #expect(reports.count { $0["error"] != nil } == 2)
    for report in reports where report["error"] == nil {
      #expect(report["messages"]?.intValue == 4 && report["toolCalls"]?.intValue == 1)
      #expect(report["stopReason"] == "success")
      try await Binary.run(["verify", report["log"]?.stringValue ?? ""], in: folder.path)
    }
    let told = try await Binary.run(
      ["import", "openai-messages", "in/broken.json", "nowhere", "--out", "other"],
      in: folder.path, status: 2)
    #expect(told.output.contains("broken.json") && told.output.contains("nowhere"))
    #expect(told.errors.contains("0 imported, 2 could not be."))
  }

  @Test("importing twice gives the same bytes; into the same folder it writes over nothing")
  func twice() async throws {
    let folder = try Self.folder()
    for out in ["a", "b"] {
      try await Binary.run(["import", "in", "--out", out], in: folder.path)
    }
    let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
    #expect(
      logs.map { String($0.dropFirst(2)) }.sorted() == [
        "deep/two.jsonl.gz", "deep/two.jsonl.gz", "one.jsonl.gz", "one.jsonl.gz",
      ] || logs.count == 4)
    for log in logs where log.hasPrefix("a/") {
      #expect(try folder.read(log) == folder.read("b" + log.dropFirst()))
    }
    let before = try logs.map { try folder.read($0) }
    let again = try await Binary.run(
      ["import", "in", "--out", "a"], in: folder.path, status: nil)
    #expect(try logs.map { try folder.read($0) } == before, "\(again)")
  }

  @Test("an import is a log like any other: shown, verified, replayed and judged")
  func usable() async throws {
    let folder = try Self.folder()
    let report = try await Binary.run(
      ["import", "in/one.json", "--out", "runs", "--json"], in: folder.path
    ).json()
    let log = try #require(report["log"]?.stringValue)
    let shown = try await Binary.run(["show", log], in: folder.path)
    #expect(shown.output.contains("Add one and two") && shown.output.contains("Three."))
    try await Binary.run(["replay", log, "--step", "1"], in: folder.path)
    try folder.write(
      "case.yaml",
      """
      caseId: one
      expected:
        stopReason: success
        toolsCalled: [{tool: add, input: {a: 1, b: 2}, status: returned}]
        maxToolCalls: 1
        answer: Three.
      """)
    try await Binary.run(["run", "case.yaml", "--runs", "runs"], in: folder.path)
  }

  @Test(
    "what may be a call and was not read is told, and no case against calls passes or is made of it"
  )
  func unread() async throws {
    // What a source speaks of and does not hold is told where the run begins.
    let parts = try TemporaryFolder()
    try parts.write(
      "one.json",
      #"""
      {"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[
        {"step_id":1,"source":"user","message":"Go on"},{"step_id":4,"source":"agent","message":"Done"}]}
      """#)
    try await Binary.run(["import", "one.json", "--out", "runs"], in: parts.path)
    let begun = try await Binary.run(["show", "runs/one.jsonl.gz"], in: parts.path)
    #expect(
      begun.lines.contains {
        $0.contains(" missing ") && $0.contains("steps 2 to 3 are not in the source")
      }, "\(begun)")
    let folder = try TemporaryFolder()
    try folder.write(
      "in/one.json",
      #"""
      [{"role":"user","content":"Tidy up"},
       {"role":"assistant","content":"Done.","additional_kwargs":{"tool_calls":[
         {"function":{"name":"delete_all","arguments":"{}"}}]}},
       {"role":"user","content":"And the rest?"},{"role":"assistant","content":"Done as well."}]
      """#)
    let told = try await Binary.run(["import", "in/one.json", "--out", "runs"], in: folder.path)
    #expect(
      told.output.contains("calls may have gone unread, first at /1/additional_kwargs"))
    let log = "runs/one.jsonl.gz"
    let shown = try await Binary.run(["show", log], in: folder.path)
    #expect(shown.output.contains("calls partial"), "\(shown)")
    #expect(
      shown.lines.contains {
        $0.contains(" unread ") && $0.contains("/1/additional_kwargs")
      }, "\(shown)")
    try folder.write(
      "case.yaml", "caseId: one\nexpected: {toolsNotCalled: [\"delete_*\"]}\nrecording: \(log)\n")
    for options in [[], ["--no-summary"]] {
      let judged = try await Binary.run(
        ["run", "case.yaml"] + options, in: folder.path, status: 3)
      #expect(judged.output.contains("calls may have gone unread"))
    }
    let made = try await Binary.run(
      ["promote", log, "--into", "cases", "--json"], in: folder.path
    ).json()
    #expect(made["expected"]?["toolsNotCalled"] == nil)
    #expect(made["expected"]?["stopReason"] == "success")
  }

  @Test("the formats are listed with what each can tell, and nothing is imported")
  func formats() async throws {
    let folder = try TemporaryFolder()
    let plain = try await Binary.run(["import", "--formats"], in: folder.path)
    let rows = try await Binary.run(["import", "--formats", "--json"], in: folder.path).jsonLines()
    #expect(rows.count > 15)
    for row in rows {
      let name = row["format"]?.stringValue ?? "none"
      #expect(plain.output.contains("\n\(name)\n") || plain.output.hasPrefix("\(name)\n"))
      #expect(
        row["reads"]?.stringValue?.isEmpty == false && row["tells"]?.stringValue?.isEmpty == false)
    }
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/out"))
  }

  @Test(
    "a folder of many formats ends with a table of what was read as what, and what could not be")
  func table() async throws {
    let folder = try Self.folder()
    try folder.write(
      "in/claude.jsonl",
      #"{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"q"}}"#)
    try folder.write("in/odd.json", #"{"odd":1}"#)
    let outcome = try await Binary.run(
      ["import", "in", "--out", "out"], in: folder.path, status: 2)
    let lines = outcome.errors.split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
    #expect(lines.contains("format runs calls could not be"))
    #expect(lines.contains("claude-code 1 0 0"))
    #expect(lines.contains("openai-messages 2 2 0"))
    #expect(lines.contains { $0.hasPrefix("unknown 0 0 1: in the shape of no known format") })
  }

  @Test("text with line breaks of Unicode stands on one line of JSON, and reads as it was")
  func lineBreaks() async throws {
    let folder = try TemporaryFolder()
    let text = "a\u{85}b\u{2028}c\u{2029}d"
    try folder.write("in/one.json", #"[{"role":"user","content":"\#(text)"}]"#)
    try await Binary.run(["import", "in/one.json", "--out", "out"], in: folder.path)
    let shown = try await Binary.run(["show", "out/one.jsonl.gz", "--json"], in: folder.path)
    #expect(!shown.output.unicodeScalars.contains { [0x85, 0x2028, 0x2029].contains($0.value) })
    let said = try shown.jsonLines().compactMap { $0["data"]?["text"]?.stringValue }
    #expect(said == [text])
  }
}
