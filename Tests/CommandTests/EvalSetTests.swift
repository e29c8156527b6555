import AgentTrace
import EvalLoading
import Foundation
import TestSupport
import Testing

@Suite("Eval sets become cases")
struct EvalSetTests {
  // MARK: What is no eval set

  @Test(
    "a file that is no eval set is told with the place at fault, and the others go on",
    arguments: [
      ("[]", "expected eval_cases"), ("{", "not JSON"), (#"{"eval_cases": 5}"#, "expected"),
      (#"{"eval_cases": []}"#, "at least one"), (#"{"eval_cases": [5]}"#, "at /eval_cases/0"),
      (
        #"{"eval_cases": [{"conversation": [{"intermediate_data": {"tool_uses": [{}]}}]}]}"#,
        "at /eval_cases/0/conversation/0/intermediate_data/tool_uses/0/name"
      ),
      (
        #"[{"query": "x", "expected_tool_use": [{"tool_name": 5}]}]"#,
        "at /0/expected_tool_use/0/tool_name"
      ),
      (#"[{"query": "x", "expected_tool_use": []}, {"query": 5}]"#, "at /1/query"),
    ])
  func mistakes(text: String, message: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("in/bad.json", text)
    try folder.write("in/good.json", #"[{"query": "x", "expected_tool_use": []}]"#)
    let outcome = try await Binary.run(
      ["import", "adk", "in", "--out", "cases", "--json"], in: folder.path, status: 2)
    let lines = try outcome.jsonLines()
    #expect(lines.count == 2)
    #expect(lines[0]["error"]?.stringValue?.contains(message) == true, "\(lines[0])")
    #expect(lines[1]["count"] == 1)
  }

  @Test("every form is read, and what has no word here is kept in the notes")
  func forms() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "new.evalset.json",
      #"""
      {"eval_set_id": "s", "eval_cases": [
        {"eval_id": "one", "session_input": {"state": {"a": 1}}, "conversation": [
          {"user_content": {"parts": [{"text": "hi"}, {"text": "there"}]},
           "final_response": {"parts": [{"text": "done"}]},
           "intermediate_data": {"tool_uses": [{"name": "f", "args": {"x": 1}}]}},
          {"user_content": {"parts": [{"text": "more"}]},
           "intermediate_data": {"invocation_events": [
             {"content": {"parts": [{"function_call": {"name": "g[1]", "args": {}}}, {"text": "t"}]}}]}}]},
        {"eval_id": "two", "conversation": [{"user_content": null, "intermediate_data": null}]}]}
      """#)
    try folder.write(
      "old.test.json",
      #"[{"name": "n", "data": [{"query": "q", "expected_tool_use": [{"tool_name": "f", "tool_input": {"x": 2}}], "reference": "r"}], "initial_state": {"s": 1}}]"#
    )
    for _ in 0..<2 {
      try await Binary.run(
        ["import", "adk", "new.evalset.json", "old.test.json", "--out", "cases"], in: folder.path)
    }
    let loaded = CaseLoader.load([folder.path("cases")], areRunsElsewhere: true)
    #expect(loaded.diagnostics.isEmpty, "\(loaded.diagnostics)")
    #expect(loaded.cases.map(\.caseId) == ["new.evalset-1", "new.evalset-2", "old.test"])
    #expect(loaded.cases.map(\.input) == ["hi\nthere", "", "q"])
    let text = try #require(folder.text("cases/new.evalset.cases.jsonl"))
    let lines = text.split(separator: "\n")
    let first = try JSONValue(parsing: String(lines[0]))
    #expect(first["notes"]?["session"] == ["state": ["a": 1]])
    #expect(first["notes"]?["turns"]?[1]?["query"] == "more")
    #expect(first["notes"]?["turns"]?[0]?["reference"] == "done")
    #expect(
      first["expected"]?["toolsCalled"] == [
        ["tool": "f", "input": ["$exact": ["x": 1]]],
        ["tool": "g\\[1\\]", "input": ["$exact": [:]]],
      ])
  }

  // MARK: Other people's eval sets

  @Test(
    "every eval set of the Agent Development Kit is judged right on its own calls and on mutants",
    .enabled(if: TestRun.corpora != nil, "AGENT_EVAL_CORPORA names no folder"))
  func corpora() async throws {
    let root = try #require(TestRun.corpora)
    let folder = try TemporaryFolder()
    let imported = try await Binary.run(
      ["import", "adk", "\(root)/adk", "--out", "cases", "--json"], in: folder.path, status: 2
    ).jsonLines()
    // Recorded sessions lie among them and are told; nothing else is.
    for line in imported where line["error"] != nil {
      #expect(line["source"]?.stringValue?.hasSuffix(".session.json") == true, "\(line)")
    }
    let sets = imported.filter { $0["error"] == nil }
    #expect(sets.count >= 20)
    let loaded = CaseLoader.load([folder.path("cases")], areRunsElsewhere: true)
    #expect(loaded.diagnostics.isEmpty, "\(loaded.diagnostics)")
    #expect(loaded.cases.count == sets.reduce(0) { $0 + ($1["count"]?.intValue ?? 0) })

    var wanted: [String: String] = [:]
    var lines: [String] = []
    for line in sets {
      let path = try #require(line["cases"]?.stringValue)
      let text = try #require(folder.text(path))
      lines += text.split(separator: "\n").map(String.init)
    }
    for (number, line) in lines.enumerated() {
      let evalCase = try JSONValue(parsing: line)
      let calls = (evalCase["expected"]?["toolsCalled"]?.arrayValue ?? []).map {
        ($0["tool"]?.stringValue ?? "", $0["input"]?["$exact"] ?? .null)
      }
      var variants: [(String, [(String, JSONValue)])] = [
        ("pass", calls), ("fail", calls + [("delete_everything", [:])]),
      ]
      for index in calls.indices {
        var changed = calls
        changed.remove(at: index)
        variants.append(("fail", changed))
        changed = calls
        changed[index].1 = ["something": "else"]
        variants.append(("fail", changed))
        changed = calls
        changed[index].0 += "_2"
        variants.append(("fail", changed))
      }
      for (index, (outcome, calls)) in variants.enumerated() {
        let caseId = "case-\(number)-\(index)"
        wanted[caseId] = outcome
        try CallLog.write(folder.path("\(caseId).jsonl.gz"), caseId, calls)
        var copy = evalCase.objectValue ?? [:]
        copy["caseId"] = .string(caseId)
        copy["recording"] = .string("../\(caseId).jsonl.gz")
        try folder.write("judged/\(caseId).json", CanonicalJSON.encode(.object(copy), form: .plain))
      }
    }
    let results = try await Binary.run(
      ["run", "judged", "--json"], in: folder.path, status: 1
    ).json()
    let cases = results["cases"]?.arrayValue ?? []
    #expect(cases.count == wanted.count)
    for one in cases {
      let caseId = one["caseId"]?.stringValue ?? ""
      #expect(one["outcome"]?.stringValue == wanted[caseId], "\(caseId): \(one)")
    }
    print("ADK: \(sets.count) eval sets, \(loaded.cases.count) cases, \(wanted.count) trajectories")
  }
}
