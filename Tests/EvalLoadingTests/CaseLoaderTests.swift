import AgentRuntime
import AgentTrace
import EvalLoading
import Foundation
import Glibc
import TestSupport
import Testing
import TraceJudging
import TraceMatching

/// Loads what a folder holds; paths in messages begin with `F`.
private func load(
  _ files: [(String, String)], paths: [String]? = nil, areRunsElsewhere: Bool = true
) throws -> (cases: [EvalCase], diagnostics: [String]) {
  let folder = try TemporaryFolder()
  for (name, text) in files { try folder.write(name, text) }
  let result = withExtendedLifetime(folder) {
    CaseLoader.load(
      (paths ?? [""]).map { $0.isEmpty ? folder.path : folder.path($0) },
      areRunsElsewhere: areRunsElsewhere)
  }
  return (
    result.cases, result.diagnostics.map { $0.description.replacing(folder.path, with: "F") }
  )
}

private let sound = "expected: {stopReason: success}"

@Suite("Case files")
struct CaseLoaderTests {
  // MARK: Mistakes

  @Test("Every mistake of a case file is told at once, with line, key and the nearest right key")
  func allMistakes() throws {
    let result = try load([
      (
        "a.yaml",
        """
        - caseId: one
          input: x
          expected:
            toolsCaled: [lookup]
            stopReason: sucess
        - caseId: two
          inputs: x
          expected:
            toolsCalled:
              - {tool: a, input: {id: {$regx: x}}}
              - {tool: a, tmes: 1}
              - {tool: "[a"}
        - caseId: one
          expected: {}
        - caseId: four
        """
      )
    ])
    #expect(result.cases.isEmpty)
    #expect(
      result.diagnostics == [
        "F/a.yaml:4:5: error: [0].expected.toolsCaled: unknown key “toolsCaled”; did you mean “toolsCalled”?",
        "F/a.yaml:5:17: error: [0].expected.stopReason: “sucess” is not a stop reason; did you mean “success”?",
        "F/a.yaml:7:3: error: [1].inputs: unknown key “inputs”; did you mean “input”?",
        "F/a.yaml:10:32: error: [1].expected.toolsCalled[0].input.id.$regx: unknown operator “$regx”; did you mean “$regex”?",
        "F/a.yaml:11:19: error: [1].expected.toolsCalled[1].tmes: unknown key “tmes”; did you mean “times”?",
        "F/a.yaml:12:16: error: [1].expected.toolsCalled[2].tool: a class that no “]” closes; write “\\[” for the character, at character 1 of the pattern",
        "F/a.yaml:13:11: error: [2].caseId: the case id “one” is there already, at F/a.yaml:1",
        "F/a.yaml:14:13: error: [2].expected: nothing is expected; add one of stopReason, toolsCalled, toolsNotCalled, toolsProposed, toolsNotProposed, maxSteps, maxToolCalls, answer or one of the other words",
        "F/a.yaml:15:3: error: [3]: the key “expected” is missing",
      ])
  }

  @Test("A key that is the end of one that is missing is told once, with the other")
  func shortKey() throws {
    let result = try load([("a.yaml", "cases:\n  - id: one\n    expected: {maxSteps: 1}\n")])
    #expect(
      result.diagnostics == [
        "F/a.yaml:2:5: error: cases[0].id: unknown key “id”; did you mean “caseId”?"
      ])
  }

  @Test("The same mistakes have the same keys and lines in JSON and JSONL")
  func jsonPlaces() throws {
    let result = try load([
      ("a.json", "[\n  {\"caseId\": \"a\",\n   \"expected\": {\"maxStep\": 1}}\n]\n"),
      (
        "b.jsonl",
        "{\"caseId\":\"b\",\"expected\":{\"maxSteps\":1}}\n\n{\"caseId\":\"c\",\"expected\":{\"maxStep\":1}}\n"
          + "not json\n{\"caseId\":\"b\",\"expected\":{\"maxSteps\":1}}\n[]\n"
      ),
    ])
    #expect(result.cases.map(\.caseId) == ["b"])
    #expect(
      result.diagnostics == [
        "F/a.json:3:17: error: [0].expected.maxStep: unknown key “maxStep”; did you mean “maxSteps”?",
        "F/b.jsonl:3:27: error: expected.maxStep: unknown key “maxStep”; did you mean “maxSteps”?",
        "F/b.jsonl:4:2: error: not valid JSON: unexpected “o”",
        "F/b.jsonl:5:11: error: caseId: the case id “b” is there already, at F/b.jsonl:1",
        "F/b.jsonl:6:1: error: should be a case, a mapping with “caseId” and “expected”, not a list",
      ])
  }

  @Test("A case id that stands twice names both places, across files too")
  func duplicateIds() throws {
    let result = try load([
      ("b.json", #"{"caseId": "x", "expected": {"maxSteps": 1}}"#),
      ("a/z.yaml", "# first\ncaseId: x\n\(sound)"),
    ])
    #expect(
      result.diagnostics == [
        "F/b.json:1:12: error: caseId: the case id “x” is there already, at F/a/z.yaml:2"
      ])
  }

  @Test("Case ids that only look equal are two cases")
  func equivalentIds() throws {
    let result = try load([
      ("a.yaml", "[{caseId: \"\\u00e9\", \(sound)}, {caseId: \"e\\u0301\", \(sound)}]")
    ])
    #expect(result.diagnostics == [])
    #expect(result.cases.count == 2)
  }

  @Test(
    "An empty input is an error unless a recording is there or may be found elsewhere",
    arguments: [
      ("caseId: a", false, false), ("caseId: a", true, true),
      ("caseId: a\nrecording: x", false, true), ("caseId: a\nagent: x", true, false),
      ("caseId: a\nagent: x\nrecording: y", false, true), ("caseId: a\ninput: ''", false, false),
      ("caseId: a\ninput: hi", false, true),
    ])
  func emptyInput(keys: String, areRunsElsewhere: Bool, isSound: Bool) throws {
    let result = try load(
      [("a.yaml", "\(keys)\n\(sound)")], areRunsElsewhere: areRunsElsewhere)
    #expect(result.diagnostics.isEmpty == isSound)
    #expect(result.cases.count == (isSound ? 1 : 0))
  }

  @Test("a case without input is told what it lacks: a run, or what its agent is asked")
  func whatIsMissing() throws {
    for (keys, says) in [
      (
        "caseId: a",
        "the case names no run to judge; add a “recording”, or an “agent” and its “input”"
      ),
      ("caseId: a\nagent: x", "“input” is missing or empty; it says what the agent is asked to do"),
    ] {
      let result = try load([("a.yaml", "\(keys)\n\(sound)")], areRunsElsewhere: false)
      #expect(result.diagnostics.count == 1)
      #expect(result.diagnostics.first?.contains(says) == true, "\(result.diagnostics)")
    }
  }

  @Test("A JSONL file of nothing but mistakes is given up after a while")
  func manyMistakes() throws {
    let line = "{\"caseId\":1,\"expected\":{\"maxSteps\":1}}\n"
    let result = try load([("a.jsonl", String(repeating: line, count: 5_000))])
    #expect(result.diagnostics.count < 300)
    #expect(result.diagnostics.contains { $0.contains("too many mistakes") })
  }

  @Test("A list of nothing but mistakes is told within bounds, in good time")
  func manyMistakesInList() throws {
    let cases = Array(repeating: "{\"caseId\":1}", count: 20_000).joined(separator: ",\n")
    let result = try load([("a.json", "[\(cases)]")])
    #expect(result.diagnostics.count == 201)
  }

  // MARK: Which files

  @Test("A folder is searched at any depth; hidden and other files are passed over")
  func folders() throws {
    let result = try load([
      ("b.yml", "caseId: b\n\(sound)"),
      ("a/deep/er/c.json", #"{"caseId":"c","expected":{"maxSteps":1}}"#),
      (
        "a.jsonl",
        "{\"caseId\":\"l1\",\"expected\":{\"maxSteps\":1}}\r\n{\"caseId\":\"l2\",\"expected\":{\"maxSteps\":1}}"
      ),
      (".hidden.yaml", "caseId: [broken"), (".git/x.yaml", "caseId: [broken"), ("notes.txt", "{"),
      ("run.jsonl.gz", "x"), ("Upper.YAML", "caseId: u\n\(sound)"),
    ])
    #expect(result.diagnostics == [])
    #expect(result.cases.map(\.caseId) == ["u", "l1", "l2", "c", "b"])
  }

  @Test("A file in a folder that holds no case is a warning; one that is broken is an error")
  func otherFiles() throws {
    let result = try load([
      ("a.yaml", "caseId: a\n\(sound)"), ("agent.yaml", "name: x\nmodel: {script: [{answer: x}]}"),
      ("data.json", "[1, 2]"), ("empty.yaml", ""), ("events.jsonl", "{\"seq\":0}\n{broken"),
      ("null.json", "null"), ("broken.json", "{"), ("empty.jsonl", "\n"),
      ("slip.yaml", "caseID: b\nexpcted: {}"),
    ])
    #expect(result.cases.map(\.caseId) == ["a"])
    #expect(
      result.diagnostics == [
        "F/agent.yaml: warning: passed over: it holds no case",
        "F/broken.json:1:2: error: not valid JSON: the text ends in the middle of a value",
        "F/data.json: warning: passed over: it holds no case",
        "F/empty.jsonl: warning: passed over: it holds no case",
        "F/empty.yaml: warning: passed over: it holds no case",
        "F/events.jsonl: warning: passed over: it holds no case",
        "F/null.json: warning: passed over: it holds no case",
        "F/slip.yaml:1:1: error: caseID: unknown key “caseID”; did you mean “caseId”?",
        "F/slip.yaml:2:1: error: expcted: unknown key “expcted”; did you mean “expected”?",
      ])
  }

  @Test(
    "A file that an argument names itself must hold cases",
    arguments: [
      (
        "agent.yaml", "name: x",
        "F/agent.yaml: error: holds no case; a case has at least “caseId” and “expected”"
      ),
      ("e.yaml", "", "F/e.yaml: error: holds no case; a case has at least “caseId” and “expected”"),
      (
        "notes.txt", "caseId: a",
        "F/notes.txt: error: not a file of cases by its name; the names of such files end in .yaml, .yml, .json or .jsonl"
      ),
    ])
  func namedFile(name: String, text: String, message: String) throws {
    #expect(try load([(name, text)], paths: [name]).diagnostics == [message])
  }

  @Test("What is not there is an error; what is named twice is read once")
  func arguments() throws {
    let result = try load(
      [("a.yaml", "caseId: a\n\(sound)"), ("f/b.yaml", "caseId: b\n\(sound)")],
      paths: ["f/b.yaml", "nowhere", "f", "", "a.yaml"])
    #expect(result.cases.map(\.caseId) == ["b", "a"])
    #expect(result.diagnostics == ["F/nowhere: error: cannot be opened: no such file"])
  }

  @Test(
    "What is not there is told with what was probably meant, part by part",
    arguments: [
      ("refund.yaml", "refunds.yaml"), ("case/refunds.yaml", "cases/refunds.yaml"),
      ("Case/refund.yml", "cases/refunds.yaml"), ("cases/refunds.yaml/x", nil), ("other.yaml", nil),
      ("cases/other.yaml", nil), ("gane.yaml", nil), ("", nil), ("/nowhere-at-all", nil),
    ])
  func nearestPath(written: String, meant: String?) throws {
    let folder = try TemporaryFolder()
    try folder.write("refunds.yaml", "caseId: a")
    try folder.write("cases/refunds.yaml", "caseId: a")
    symlink("nowhere.yaml", folder.path("gone.yaml"))
    let path = written.isEmpty || written.hasPrefix("/") ? written : folder.path(written)
    let hint = CaseLoader.load([path], areRunsElsewhere: true).diagnostics.first?.hint
    #expect(hint == meant.map { "did you mean “\(folder.path($0))”?" })
  }

  @Test("Folders with a file's name, links in circles and pipes never stop the search")
  func oddEntries() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.yaml", "caseId: a\n\(sound)")
    try folder.write("dir.yaml/b.yaml", "caseId: b\n\(sound)")
    symlink(folder.path, folder.path("circle"))
    symlink("loop.yaml", folder.path("loop.yaml"))
    symlink("a.yaml", folder.path("again.yaml"))
    mkfifo(folder.path("pipe.yaml"), 0o600)
    let result = CaseLoader.load([folder.path], areRunsElsewhere: true)
    #expect(result.cases.map(\.caseId) == ["a", "b"])
    #expect(
      result.diagnostics.map { $0.description.replacing(folder.path, with: "F") } == [
        "F/circle: warning: not searched: a symbolic link to a folder; name the folder itself",
        "F/loop.yaml: error: a symbolic link that leads nowhere",
        "F/pipe.yaml: error: no regular file",
      ])
  }

  @Test("Folders nested beyond reason are given up with a warning")
  func deepFolders() throws {
    let deep = Array(repeating: "d", count: 80).joined(separator: "/")
    let result = try load([("\(deep)/a.yaml", "caseId: a\n\(sound)")])
    #expect(result.cases.isEmpty)
    #expect(result.diagnostics.count == 1)
  }

  // MARK: What is read

  @Test("One case or many: a mapping, a list, cases:, documents and lines give the same cases")
  func manyForms() throws {
    let a = #"{"caseId":"a","expected":{"maxSteps":1}}"#
    let b = #"{"caseId":"b","expected":{"maxSteps":1}}"#
    for (name, text) in [
      ("x.yaml", "[\(a), \(b)]"), ("x.yaml", "cases:\n  - \(a)\n  - \(b)"),
      ("x.yaml", "\(a)\n---\n\(b)\n"), ("x.yaml", "[\(a)]\n---\ncases: [\(b)]"),
      ("x.json", "[\(a),\n\(b)]"), ("x.json", "{\"$schema\":\"s\",\"cases\":[\(a),\(b)]}"),
      ("x.jsonl", "\(a)\n\(b)"), ("x.jsonl", "\u{feff}\(a)\r\n\r\n\(b)\r\n"),
    ] {
      let result = try load([(name, text)])
      #expect(result.diagnostics == [], "\(text)")
      #expect(result.cases.map(\.caseId) == ["a", "b"], "\(text)")
    }
  }

  @Test("Every key of a case arrives, paths resolved from the file")
  func everyKey() throws {
    let result = try load([
      (
        "cases/a.yaml",
        """

        caseId: all
        input: Refund
        recording: ../runs/all.jsonl.gz
        agent: ../agents/support.yaml
        human: {approvals: [{tool: refund, granted: true, by: ann}]}
        tags: [smoke, refunds]
        skip: {reason: flaky, until: "2026-12-31"}
        expected: {stopReason: success, toolsNotCalled: ["delete_*"]}
        """
      )
    ])
    #expect(result.diagnostics == [])
    let found = try #require(result.cases.first)
    #expect(found.input == "Refund")
    #expect(found.recording?.hasSuffix("/runs/all.jsonl.gz") == true)
    #expect(found.recording?.contains("..") == false)
    #expect(found.agent?.hasSuffix("/agents/support.yaml") == true)
    #expect(found.human?.approvals.first?.by == "ann")
    #expect(found.tags == ["smoke", "refunds"])
    #expect(found.skip == CaseSkip(reason: "flaky", until: "2026-12-31"))
    #expect(found.expected.stopReasons == [.success])
    #expect(found.expected.toolsNotCalled?.map(\.tool.text) == ["delete_*"])
    #expect(found.position == TextPosition(line: 2, column: 1))
  }

  @Test("A case knows where it begins, in every form of file")
  func positions() throws {
    let a = #"{"caseId":"a","expected":{"maxSteps":1}}"#
    let b = #"{"caseId":"b","expected":{"maxSteps":1}}"#
    for (name, text, line, column) in [
      ("x.yaml", "- \(a)\n- \(b)", 2, 3), ("x.json", "[\(a),\n  \(b)]", 2, 3),
      ("x.json", "{\"cases\": [\(a), \n\(b)]}", 2, 1), ("x.jsonl", "\(a)\n\n\(b)", 3, 1),
      ("x.yaml", "\(a)\n--- \(b)", 2, 5),
    ] {
      let found = try #require(try load([(name, text)]).cases.last)
      #expect(found.position == TextPosition(line: line, column: column), "\(text)")
    }
  }

  @Test("Two thousand JSONL cases load without a diagnostic")
  func manyCases() throws {
    let lines = (0..<2_000).map {
      #"{"caseId":"case-\#($0)","input":"x","expected":{"stopReason":"success","toolsCalled":[{"tool":"a","input":{"id":\#($0)}}]}}"#
    }
    let result = try load([("a.jsonl", lines.joined(separator: "\n"))])
    #expect(result.cases.count == 2_000)
    #expect(result.cases.last?.position.line == 2_000)
  }
}
