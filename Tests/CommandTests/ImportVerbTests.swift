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
    let folder = try TemporaryFolder()
    try folder.write(
      "in/one.json",
      #"""
      [{"role":"user","content":"Tidy up"},
       {"role":"assistant","content":"Done.","additional_kwargs":{"tool_calls":[
         {"function":{"name":"delete_all","arguments":"{}"}}]}}]
      """#)
    let told = try await Binary.run(["import", "in/one.json", "--out", "runs"], in: folder.path)
    #expect(
      told.output.contains("calls may have gone unread, first at /1/additional_kwargs"))
    let log = "runs/one.jsonl.gz"
    #expect(
      try await Binary.run(["show", log], in: folder.path).output.contains("calls partial"))
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
}
