import AgentTrace
import TestSupport
import Testing
import TraceMatching

@testable import EvalLoading

@Suite("Checking files")
struct FileCheckerTests {
  private func check(_ files: [(String, String)], _ paths: [String] = [""]) throws -> [String] {
    let folder = try TemporaryFolder()
    for (name, text) in files { try folder.write(name, text) }
    let diagnostics = withExtendedLifetime(folder) {
      FileChecker.check(paths.map { $0.isEmpty ? folder.path : folder.path($0) })
    }
    return diagnostics.map { $0.description.replacing(folder.path, with: "F") }
  }

  private static let agent = "name: a\nmodel: {script: [{answer: x}]}\n"

  @Test(
    "a slip in a keyword of a JSON Schema is told where it stands; names of properties and annotations are anybody's"
  )
  func slipsInSchemas() throws {
    let tool = """
      tools:
        - name: t
          inputSchema:
            type: object
            note: ours
            example: {propertis: 1}
            x-typ: ours
            properties: {propertis: {typ: string, enum: [{maxlength: 1}]}, item: {}}
            additionalPropertie: false
          scripted: [{ok: 1}]
          sideEffect: read

      """
    #expect(
      try check([("a.yaml", Self.agent + tool)], ["a.yaml"]) == [
        "F/a.yaml:10:32: warning: tools[0].inputSchema.properties.propertis.typ: “typ” is no keyword of JSON Schema and "
          + "constrains nothing; did you mean “type”?",
        "F/a.yaml:11:7: warning: tools[0].inputSchema.additionalPropertie: “additionalPropertie” is no keyword of JSON "
          + "Schema and constrains nothing; did you mean “additionalProperties”?",
      ])
  }

  @Test("a key of a case with a slip in it makes a case, and a key that only looks alike does not")
  func kindBySlips() {
    for key in ["caseid", "case_id", "caesId", "caseIdd", "expcted", "Expected"] {
      #expect(FileKind(of: [key: "x"]) == .case, "\(key)")
    }
    for key in [
      "last_id", "first_id", "rejected", "data", "has_more", "call_id", "callId", "chat_id",
      "cacheId",
    ] {
      #expect(FileKind(of: [key: "x"]) == nil, "\(key)")
    }
    #expect(FileKind(of: [["role": "user"], ["type": "function_call", "call_id": "1"]]) == nil)
  }

  @Test("what the program writes of cases is no file of cases, and what expects something is one")
  func writtenHere() {
    for kind in ["results", "history", "comparison"] {
      let written: JSONValue = [
        "schema": .string("agent-eval/\(kind)/1"), "cases": [["caseId": "a", "outcome": "pass"]],
      ]
      #expect(FileKind(of: written) == nil, "\(kind)")
      let meant: JSONValue = [
        "schema": .string("agent-eval/\(kind)/1"),
        "cases": [["caseId": "a"], ["caseId": "b", "expected": ["maxSteps": 1]]],
      ]
      #expect(FileKind(of: meant) == .case, "\(kind)")
    }
    #expect(FileKind(of: ["cases": [], "input": "x", "line": 1, "outcome": "error"]) == nil)
    #expect(FileKind(of: ["schema": "mine/1", "cases": [["caseId": "a"]]]) == .case)
    #expect(FileKind(of: ["cases": [["caseId": "a", "outcome": "pass"]]]) == .case)
  }

  @Test("Case, agent and policy files are told apart by their keys and all checked")
  func allKinds() throws {
    #expect(
      try check([
        ("agent.yaml", Self.agent + "goals: x"), ("case.yaml", "caseId: a\nexpected: {maxStep: 1}"),
        ("policy.yaml", "rules: [{id: r, verdict: denied}]"),
        ("other.yaml", "x: 1"), ("good.yaml", "caseId: g\nexpected: {maxSteps: 1}"),
      ]) == [
        "F/agent.yaml:3:1: error: goals: unknown key “goals”; did you mean “goal”?",
        "F/case.yaml:2:12: error: expected.maxStep: unknown key “maxStep”; did you mean “maxSteps”?",
        "F/other.yaml: warning: neither a case, an agent, a policy nor a pipeline file; cases have “caseId”, agents “model” or “command”, policies “rules”, pipelines “pipeline”",
        "F/policy.yaml:1:26: error: rules[0].verdict: should be allow, deny or approval_required, not “denied”",
      ])
  }

  @Test("A policy with a slip in its one key is no other file that may be passed over")
  func slipInRules() throws {
    let told = try check([("policy.yaml", "rule: [{id: r, tool: pay, verdict: deny}]")])
    #expect(
      told.contains("F/policy.yaml:1:1: error: rule: unknown key “rule”; did you mean “rules”?"),
      "\(told)")
    let other = try check([("data.yaml", "rule: [{id: r}]")])
    #expect(other.allSatisfy { $0.contains("warning") }, "\(other)")
  }

  @Test("What is accepted in silence and protects nothing is told with the nearest name")
  func slips() throws {
    let guarded =
      Self.agent + "tools: [{name: pay, description: d, sideEffect: write, scripted: [{ok: 1}]}]\n"
    for (files, says) in [
      (
        [("agent.yaml", guarded + "guard: {toolsNotCalled: [pya]}\n")],
        "warning: guard: the agent has no tool “pya”"
      ), ([("agent.yaml", guarded + "guard: {toolsNotCalled: [delete_other]}\n")], ""),
      ([("policy.yaml", "rules: [{id: \"guard:mine\", verdict: deny}]")], "error: rules[0].id"),
      (
        [("c.yaml", "caseId: a\nexpected: {memory: {notRead: [{scope: agnet}]}}\n")],
        "did you mean “agent”?"
      ), ([("c.yaml", "caseId: a\nexpected: {memory: {notRead: [{scope: team}]}}\n")], ""),
      (
        [
          (
            "c.yaml",
            "caseId: a-${who}\ninput: x\nagent: agent.yaml\nexpected: {maxSteps: 1}\ntable: [{who: b, limit: {maxSteps: 1}}]\n"
          ), ("agent.yaml", Self.agent),
        ], "did you mean “limits”?"
      ),
      (
        [
          ("c.yaml", "caseId: a\nexpected: {maxSteps: 1}\n"),
          ("default.yaml", "defaults: {input: x}\n"),
        ], "default.yaml: warning: defaults: these hold for no case"
      ),
      (
        [
          ("c.yaml", "caseId: a\nexpected: {maxSteps: 1}\n"),
          ("defaults.yaml", "defaults: {input: x}\n"),
        ], ""
      ),
      (
        [("c.yaml", "caseId: a\nskip: {reason: r, until: 2999-02-30}\nexpected: {maxSteps: 1}\n")],
        "a day such as"
      ),
    ] as [([(String, String)], String)] {
      let told = try check(files)
      #expect(
        says.isEmpty ? told.isEmpty : told.contains { $0.contains(says) }, "\(files): \(told)")
    }
  }

  @Test("A recording that is a folder, or no log, is told")
  func recordings() throws {
    let folder = try TemporaryFolder()
    try folder.write("logs/a.jsonl.gz", "x")
    try folder.write("trace.json", "{}")
    for (recording, says) in [
      ("logs", "is a folder"), ("trace.json", "is no run log"), ("gone.jsonl.gz", "is not there"),
    ] {
      try folder.write("c.yaml", "caseId: a\nrecording: \(recording)\nexpected: {maxSteps: 1}\n")
      let told = FileChecker.check([folder.path("c.yaml")], isLog: { _ in false })
      #expect(told.contains { $0.description.contains(says) }, "\(told)")
    }
  }

  @Test("A file that is named and none of the three is an error")
  func namedOther() throws {
    #expect(
      try check([("other.yaml", "x: 1")], ["other.yaml"]).first?.contains(": error: ") == true)
    #expect(try check([("other.json", "[]")], ["other.json"]).first?.contains(": error: ") == true)
  }

  @Test("What a case names is followed: its agent, that agent's policy, its recording")
  func references() throws {
    #expect(
      try check(
        [
          (
            "cases/a.yaml",
            "caseId: a\ninput: x\nagent: ../agents/a.yaml\nexpected: {maxSteps: 1}\n---\n"
              + "caseId: b\nrecording: ../runs/b.jsonl.gz\nexpected: {maxSteps: 1}\n---\n"
              + "caseId: c\nrecording: ../runs/c.jsonl.gz\nexpected: {maxSteps: 1}"
          ),
          ("agents/a.yaml", Self.agent + "policy: p.yaml"), ("agents/p.yaml", "rules: 1"),
          ("runs/c.jsonl.gz.open", ""),
        ], ["cases", "agents/a.yaml"]) == [
          "F/agents/a.yaml:3:9: error: policy: the policy file “F/agents/p.yaml” has errors",
          "F/agents/p.yaml:1:8: error: rules: should be a list, not the number 1",
          "F/cases/a.yaml:3:8: error: agent: the agent file “F/agents/a.yaml” has errors",
          "F/cases/a.yaml:7:12: error: recording: the recording “F/runs/b.jsonl.gz” is not there",
        ])
  }

  @Test("However long the path, a message names the file")
  func longPaths() throws {
    let deep = Array(repeating: String(repeating: "d", count: 60), count: 6).joined(separator: "/")
    #expect(
      try check(
        [
          ("\(deep)/a.yaml", "caseId: a\nrecording: missing.jsonl.gz\nexpected: {maxSteps: 1}"),
          ("\(deep)/agent.yaml", Self.agent + "policy: p.yaml"), ("\(deep)/p.yaml", "rules: 1"),
        ]) == [
          "F/\(deep)/a.yaml:2:12: error: recording: the recording “F/\(deep)/missing.jsonl.gz” is not there",
          "F/\(deep)/agent.yaml:3:9: error: policy: the policy file “F/\(deep)/p.yaml” has errors",
          "F/\(deep)/p.yaml:1:8: error: rules: should be a list, not the number 1",
        ])
  }

  @Test("Everything that ships passes the check, but for what is meant to be wrong")
  func shipped() {
    let folders = ["EvalCases", "Fixtures/agents", "Fixtures/policies"].filter(Project.has)
    let diagnostics = FileChecker.check(folders.map(Project.path))
    #expect(diagnostics.filter { $0.severity == .error }.map(\.description) == [])
  }

  @Test("Every shipped YAML file names its schema for editors, and fits it")
  func shippedSchemas() throws {
    let folders = ["EvalCases", "Fixtures/agents", "Fixtures/policies", "Fixtures/failing-cases"]
    let files = folders.flatMap { Project.files(below: $0, ending: ".yaml") }
    #expect(!files.isEmpty)
    for file in files {
      let text = try Project.text(file)
      let prefix = "# yaml-language-server: $schema="
      let line = try #require(text.split(separator: "\n").first, "\(file)")
      #expect(line.hasPrefix(prefix), "\(file)")
      let folder = file.split(separator: "/").dropLast().map { _ in ".." }.joined(separator: "/")
      let name = try #require(line.split(separator: "/").last, "\(file)")
      let kind = try #require(FileSchema.allCases.first { $0.fileName == name }, "\(file)")
      #expect(line == "\(prefix)\(folder)/Schemas/\(kind.fileName)", "\(file)")
      let schema = try JSONSchema(compiling: kind.json)
      for root in SourceDocument(Array(text.utf8), path: file).roots {
        #expect(schema.validate(root.value).map(\.description) == [], "\(file)")
      }
    }
  }
}
