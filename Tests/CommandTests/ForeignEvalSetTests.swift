import AgentTrace
import EvalLoading
import TestSupport
import Testing

@Suite("Eval sets of promptfoo, BFCL and Inspect become cases")
struct ForeignEvalSetTests {
  /// Judges each run by the case of its number, and returns the outcomes.
  private func outcomes(
    _ folder: TemporaryFolder, cases path: String, in runsFolder: String = "runs",
    _ runs: [Run]
  ) async throws -> [String] {
    let lines = try #require(folder.text(path)).split(separator: "\n")
    try #require(lines.count == runs.count)
    for (line, run) in zip(lines, runs) {
      let caseId = try #require(try JSONValue(parsing: String(line))["caseId"]?.stringValue)
      if folder.text("\(runsFolder)/here") == nil { try folder.write("\(runsFolder)/here", "") }
      try CallLog.write(
        folder.path("\(runsFolder)/\(caseId).jsonl.gz"), caseId, try run.parsed, answer: run.answer)
    }
    let outcome = try await Binary.run(
      ["run", path, "--runs", runsFolder, "--json"], in: folder.path, status: nil)
    let cases = try outcome.json()["cases"]?.arrayValue ?? []
    return cases.map { $0["outcome"]?.stringValue ?? "none" }
  }

  /// A run by its calls, as `name {input}; name {input}`, and its answer.
  private struct Run: Sendable {
    var calls: String
    var answer = ""

    /// The calls with their inputs.
    var parsed: [(String, JSONValue)] {
      get throws {
        try calls.split(separator: ";").map { text in
          let words = text.split(separator: " ", maxSplits: 1)
          return (String(words[0]), try JSONValue(parsing: String(words[1])))
        }
      }
    }
  }

  /// An assertion of promptfoo, a run, and what it comes to there.
  private struct Row: Sendable {
    var assertion: String
    var run: Run
    var outcome: String

    init(_ assertion: String, _ calls: String, answer: String, _ outcome: String) {
      self.assertion = assertion
      self.outcome = outcome
      run = Run(calls: calls, answer: answer)
    }
  }

  private static let rows: [Row] = [
    Row(#"{"type": "equals", "value": "Hi Ana"}"#, #""#, answer: #"Hi Ana"#, "pass"),
    Row(#"{"type": "equals", "value": "Hi"}"#, #""#, answer: #"Hi Ana"#, "fail"),
    Row(#"{"type": "equals", "value": {"a": 1}}"#, #""#, answer: #"{"a": 1}"#, "pass"),
    Row(#"{"type": "equals", "value": {"a": 1}}"#, #""#, answer: #"{"a": 1, "b": 2}"#, "fail"),
    Row(#"{"type": "not-equals", "value": "Hi"}"#, #""#, answer: #"Hi"#, "fail"),
    Row(#"{"type": "contains", "value": "{{name}}"}"#, #""#, answer: #"Hi Ana"#, "pass"),
    Row(#"{"type": "contains", "value": "ANA"}"#, #""#, answer: #"Hi Ana"#, "fail"),
    Row(#"{"type": "icontains", "value": "(ANA"}"#, #""#, answer: #"Hi (Ana)"#, "pass"),
    Row(#"{"type": "not-icontains", "value": "ana"}"#, #""#, answer: #"Hi ANA"#, "fail"),
    Row(#"{"type": "contains-any", "value": "x, Ana"}"#, #""#, answer: #"Hi Ana"#, "pass"),
    Row(#"{"type": "contains-all", "value": ["Hi", "Bo"]}"#, #""#, answer: #"Hi Ana"#, "fail"),
    Row(#"{"type": "not-contains-any", "value": ["x", "Ana"]}"#, #""#, answer: #"Hi Ana"#, "fail"),
    Row(#"{"type": "starts-with", "value": "A.a"}"#, #""#, answer: #"Ana"#, "fail"),
    Row(#"{"type": "regex", "value": "A.a$"}"#, #""#, answer: #"Hi Ana"#, "pass"),
    Row(#"{"type": "is-json"}"#, #""#, answer: #"[1]"#, "pass"),
    Row(#"{"type": "is-json", "value": {"required": ["x"]}}"#, #""#, answer: #"{}"#, "fail"),
    Row(
      #"{"type": "trajectory:tool-used", "value": "look*"}"#, #"look_up {}"#, answer: #""#, "pass"),
    Row(
      #"{"type": "trajectory:tool-used", "value": ["a*", "*b"]}"#, #"ab {}"#, answer: #""#, "pass"),
    Row(#"{"type": "trajectory:tool-used", "value": ["a", "b"]}"#, #"a {}"#, answer: #""#, "fail"),
    Row(
      #"{"type": "not-trajectory:tool-used", "value": "DELETE_*"}"#, #"delete_all {}"#,
      answer: #""#, "fail"),
    Row(
      #"{"type": "not-trajectory:tool-used", "value": ["x", "y"]}"#, #"z {}"#, answer: #""#, "pass"),
    Row(
      #"{"type": "trajectory:tool-used", "value": {"name": "a", "max": 1}}"#, #"a {}; a {}"#,
      answer: #""#, "fail"),
    Row(
      #"{"type": "trajectory:tool-used", "value": {"name": "a", "min": 0, "max": 1}}"#, #""#,
      answer: #""#, "pass"),
    Row(
      #"{"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {"n": "{{name}}"}}}"#,
      #"a {"n": "Ana", "more": 1}"#, answer: #""#, "pass"),
    Row(
      #"{"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {"l": [1]}}}"#,
      #"a {"l": [1, 2]}"#, answer: #""#, "fail"),
    Row(
      #"{"type": "trajectory:tool-args-match", "value": {"name": "a", "mode": "exact", "args": {"n": 1, "id": 7}, "ignore": "id", "defaults": {"d": 0}}}"#,
      #"a {"n": 1, "id": 8, "d": 0}"#, answer: #""#, "pass"),
    Row(
      #"{"type": "trajectory:tool-args-match", "value": {"name": "a", "mode": "exact", "args": {"n": 1}}}"#,
      #"a {"n": 1, "m": 2}"#, answer: #""#, "fail"),
    Row(
      #"{"type": "not-trajectory:tool-args-match", "value": {"name": "a", "args": {"force": true}}}"#,
      #"A {"force": true}"#, answer: #""#, "fail"),
    Row(
      #"{"type": "trajectory:tool-sequence", "value": ["a", "b"]}"#, #"a {}; x {}; b {}"#,
      answer: #""#, "pass"),
    Row(
      #"{"type": "trajectory:tool-sequence", "value": {"mode": "exact", "steps": ["a", "b"]}}"#,
      #"a {}; x {}; b {}"#, answer: #""#, "fail"),
    Row(
      #"{"type": "trajectory:step-count", "value": {"type": "tool", "max": 1}}"#, #"a {}; b {}"#,
      answer: #""#, "fail"),
  ]

  @Test("assertions of promptfoo come to what they come to there")
  func assertions() async throws {
    let folder = try TemporaryFolder()
    let tests = Self.rows.map { #"{"vars": {"name": "Ana"}, "assert": [\#($0.assertion)]}"# }
    try folder.write(
      "promptfooconfig.yaml",
      "prompts: ['Greet {{name}}']\nproviders: [echo]\ntests:\n"
        + tests.map { "  - \($0)\n" }.joined())
    // Also as one of the files of a folder, without saying what it is.
    let told = try await Binary.run(["import", ".", "--out", "out", "--json"], in: folder.path)
      .jsonLines()
    #expect(told.count == 1)
    #expect(told[0]["count"]?.intValue == tests.count)
    #expect(told[0]["notConverted"] == nil)
    let found = try await outcomes(
      folder, cases: "out/promptfooconfig.cases.jsonl",
      Self.rows.map(\.run))
    for (row, outcome) in zip(Self.rows, found) {
      #expect(outcome == row.outcome, "\(row)")
    }
  }

  @Test(
    "of a folder, tables with the columns of a dataset are read, others are not, and what may be a trace and is not read is named"
  )
  func folders() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "in/data/capitals.csv", "\u{feff}\"input\",target\r\nFrance?,Paris\r\nPeru?,Lima\r\n")
    try folder.write("in/data/orders.csv", "input,amount\na,1\n")
    try folder.write("in/session.log", #"[{"role": "user", "content": "a"}]"#)
    let told = try await Binary.run(["import", "in", "--out", "out"], in: folder.path, status: 0)
    #expect(told.output.contains("capitals.cases.jsonl  2 cases"), "\(told)")
    #expect(told.errors.contains("not looked at"), "\(told)")
    #expect(told.errors.contains("in/session.log"), "\(told)")
    #expect(!(told.output + told.errors).contains("orders"), "\(told)")
    // A table that says it is one and is none.
    try folder.write("bad/capitals.csv", "input,target\nFrance?,\n")
    let none = try await Binary.run(["import", "bad", "--out", "out"], in: folder.path, status: 2)
    #expect(none.output.contains("bad/capitals.csv"), "\(none)")
  }

  @Test(
    "what promptfoo asks and no expectation does is named, and a test of nothing else is left out")
  func withoutCounterpart() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "config.yaml",
      """
      prompts: ['{{question}}']
      defaultTest: {assert: [{type: llm-rubric, value: is polite}]}
      assertionTemplates: {greets: {type: contains, value: Hi}}
      tests:
        - vars: {question: [one, two]}
          assert:
            - {$ref: '#/assertionTemplates/greets'}
            - {type: regex, value: '(?<=x)y'}
            - {type: contains, value: x, transform: output.text}
            - {type: contains, value: '{{ question | upper }}'}
            - {type: assert-set, assert: [{type: contains, value: a}, {type: contains, value: b}]}
            - {type: assert-set, threshold: 0.5, assert: [{type: contains, value: c}]}
        - {vars: {question: three}, assert: [{type: javascript, value: 'true'}]}
        - {vars: {question: four}, threshold: 0.5, assert: [{type: contains, value: d}]}
      """)
    let told = try await Binary.run(
      ["import", "promptfoo", "config.yaml", "--out", "out", "--json"], in: folder.path
    ).jsonLines()
    #expect(told[0]["count"] == 2)
    let left = told[0]["left"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(left.count == 2)
    #expect(left.first?.contains("/tests/1: none of its assertions") == true)
    #expect(left.last?.contains("/tests/2: it passes by a score") == true)
    let lines = try #require(folder.text("out/config.cases.jsonl")).split(separator: "\n")
    let first = try JSONValue(parsing: String(lines[0]))
    #expect(first["input"] == "one")
    #expect(first["expected"]?.arrayValue?.count == 3)
    let kinds = first["notes"]?["notConverted"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(kinds.count == 5, "\(kinds)")
    #expect(kinds.contains("llm-rubric"))
    #expect(first["notes"]?["assertions"]?.arrayValue?.count == 5)
    #expect(CaseLoader.load([folder.path("out")], areRunsElsewhere: true).diagnostics.isEmpty)
  }

  @Test(
    "a configuration does not read what lies outside its folder, and one that is cut is told",
    arguments: [
      ("prompts: [a]\ntests: file://../secret.yaml", "outside its folder"),
      ("prompts: [a]\ntests: [/etc/passwd]", "not supported"),
      ("prompts: [a]\ntests: file://gone.yaml", "not supported"),
      ("prompts: [a]\ntests: file://link.yaml", "lead outside its folder"),
      ("prompts: [a]\ntests: [5]", "a test, or the name of a file"),
      ("prompts: [a]\ntests: [{]", "not YAML"), ("a: 1", "tests or scenarios, and prompts"),
      ("prompts: [a]\ntests: []", "at least one"),
    ])
  func mistakes(text: String, message: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("secret.yaml", "- {assert: [{type: contains, value: hidden}]}")
    try folder.link("in/link.yaml", to: "../secret.yaml")
    try folder.write("in/config.yaml", text)
    let told = try await Binary.run(
      ["import", "promptfoo", "in/config.yaml", "--out", "out", "--json"], in: folder.path,
      status: 2
    ).jsonLines()
    #expect(told[0]["error"]?.stringValue?.contains(message) == true, "\(told)")
    #expect(!folder.listing.contains("out"))
  }

  @Test("samples of Inspect ask for one of their targets in the answer, in JSON, lines and CSV")
  func samples() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "a.jsonl",
      #"""
      {"input": "Capital?", "target": "Rome (Italy)", "id": 7}
      {"input": [{"role": "system", "content": "s"}, {"role": "user", "content": "Choose"}], "target": ["A", "B"]}
      {"input": "No target", "target": ""}
      """#)
    // One that holds an answer is a run.
    try folder.write("run.jsonl", #"{"input": "Capital?", "target": "Rome", "output": "Rome"}"#)
    let runs = try await Binary.run(
      ["import", "run.jsonl", "--out", "out", "--json"], in: folder.path
    )
    .jsonLines()
    #expect(runs[0]["log"] != nil)
    try folder.write("b.csv", "id,input,target\r\n1,\"Say \"\"hi\"\",\nplease\",Hi\r\n2,Say,5\r\n")
    let told = try await Binary.run(
      ["import", "a.jsonl", "b.csv", "--out", "out", "--json"], in: folder.path
    ).jsonLines()
    #expect(told.map { $0["count"] } == [2, 2])
    #expect(told[0]["left"]?.arrayValue?.count == 1)
    let found = try await outcomes(
      folder, cases: "out/a.cases.jsonl",
      [Run(calls: "", answer: "it is ROME (Italy)."), Run(calls: "", answer: "C")])
    #expect(found == ["pass", "fail"])
    let text = try #require(folder.text("out/b.cases.jsonl"))
    let first = try JSONValue(parsing: String(text.split(separator: "\n")[0]))
    #expect(first["input"] == "Say \"hi\",\nplease")
  }

  @Test("a question of BFCL asks for its possible answer and no other call")
  func questions() async throws {
    let folder = try TemporaryFolder()
    let question =
      #""question": [[{"role": "user", "content": "Area?"}]], "function": [{"name": "geo.area"}]"#
    try folder.write(
      "in/BFCL_v4_simple.json",
      """
      {"id": "simple_0", \(question)}
      {"id": "irrelevance_1", \(question)}
      {"id": "live_relevance_2", \(question)}
      {"id": "simple_3", \(question)}
      """)
    try folder.write(
      "in/possible_answer/BFCL_v4_simple.json",
      #"{"id": "simple_0", "ground_truth": [{"geo.area": {"base": [10], "unit": ["cm", ""], "at": [{"x": [1], "y": ["", 2]}]}}]}"#
    )
    let told = try await Binary.run(["import", "in", "--out", "out", "--json"], in: folder.path)
      .jsonLines()
    #expect(told.count == 1)
    #expect(told[0]["count"] == 3)
    #expect(told[0]["left"]?[0]?.stringValue?.contains("simple_3") == true)
    let right = #"{"base": 10.0, "unit": "CM", "at": {"x": 1}}"#
    let expected: [(calls: String, outcomes: [String])] = [
      ("geo_area \(right)", ["pass", "fail", "pass"]),
      (#"geo.area {"base": 10, "at": {"x": 1, "y": 2}}"#, ["pass", "fail", "pass"]),
      (#"geo.area {"base": 10, "at": {"x": 1}, "extra": 1}"#, ["fail", "fail", "pass"]),
      (#"geo.area {"unit": "cm", "at": {"x": 1}}"#, ["fail", "fail", "pass"]),
      ("geo.area \(right);geo.area \(right)", ["fail", "fail", "pass"]),
      ("", ["fail", "pass", "fail"]),
    ]
    for (number, row) in expected.enumerated() {
      let found = try await outcomes(
        folder, cases: "out/BFCL_v4_simple.cases.jsonl", in: "runs-\(number)",
        Array(repeating: Run(calls: row.calls), count: 3))
      #expect(found == row.outcomes, "\(row.calls)")
    }
  }

  @Test("a sample without a target is left out, and the others are cases without a format's name")
  func withoutTarget() async throws {
    let folder = try TemporaryFolder()
    let sets = [
      "a.jsonl": "{\"input\": \"1+1\", \"target\": \"2\"}\n{\"input\": \"why\"}\n",
      "b.csv": "input,target\n1+1,2\nwhy,\n",
    ]
    for (name, text) in sets.sorted(by: { $0.key < $1.key }) {
      try folder.write(name, text)
      let told = try await Binary.run(
        ["import", name, "--out", "out", "--json"], in: folder.path
      ).jsonLines()
      #expect(told.first?["count"] == 1, "\(told)")
      #expect(told.first?["left"]?[0]?.stringValue?.contains("/1: no target") == true, "\(told)")
    }
  }

  @Test("a prompt in another file is told of where the others are texts")
  func promptsInFiles() async throws {
    let folder = try TemporaryFolder()
    let tests = #""tests": [{"assert": [{"type": "equals", "value": "Hi"}]}]"#
    let prompts = [
      (#"["Say hi", "file://prompt.txt"]"#, "/prompts/1: a prompt in another file is not read"),
      (#"["file://prompt.txt", "file://other.txt"]"#, nil), (#"["Say hi"]"#, nil),
    ]
    for (number, (list, left)) in prompts.enumerated() {
      try folder.write("\(number).json", #"{"prompts": \#(list), \#(tests)}"#)
      let told = try await Binary.run(
        ["import", "\(number).json", "--out", "out", "--json"], in: folder.path
      ).jsonLines()
      #expect(told.first?["count"] == 1, "\(told)")
      #expect(told.first?["left"]?[0]?.stringValue == left, "\(told)")
    }
  }

  @Test(
    "the leaderboard's own files become cases that load, but for those of several turns",
    .enabled(if: TestRun.corpora != nil, "AGENT_EVAL_CORPORA names no folder"))
  func leaderboard() async throws {
    let root = try #require(TestRun.corpora)
    let folder = try TemporaryFolder()
    let told = try await Binary.run(
      ["import", "\(root)/bfcl", "--out", "cases", "--json"], in: folder.path, status: 2
    ).jsonLines()
    for line in told {
      let isTurns = line["source"]?.stringValue?.contains("multi_turn") == true
      #expect((line["error"] != nil) == isTurns, "\(line)")
      #expect(line["left"] == nil)
    }
    let loaded = CaseLoader.load([folder.path("cases")], areRunsElsewhere: true)
    #expect(loaded.diagnostics.isEmpty)
    #expect(loaded.cases.count >= 90)
  }
}
