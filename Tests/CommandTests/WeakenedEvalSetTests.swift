import AgentTrace
import TestSupport
import Testing

@Suite("No case that is made of an eval set asks for less without saying so")
struct WeakenedEvalSetTests {
  /// Imports one file of one folder, and returns what is told of it, with the cases that were made.
  private func imported(
    _ name: String, _ text: String, as format: String, status: Int32 = 0
  ) async throws -> (told: JSONValue, cases: [JSONValue]) {
    let folder = try TemporaryFolder()
    try folder.write(name, text)
    let told = try await Binary.run(
      ["import", format, name, "--out", "out", "--json"], in: folder.path, status: status
    ).jsonLines()
    let lines = (told[0]["cases"]?.stringValue).flatMap { folder.text($0) } ?? ""
    return (told[0], try lines.split(separator: "\n").map { try JSONValue(parsing: String($0)) })
  }

  @Test(
    "an assertion of promptfoo whose text nobody knows here is named, and nothing else stands for it",
    arguments: [
      (
        "{x: 'file://secret.txt'}", "{type: not-contains, value: 'Key: {{x}}'}",
        "not-contains (with a template that holds more than variables)"
      ),
      (
        "{x: 'Hello {{y}}', y: Bob}", "{type: not-contains, value: '{{x}}'}",
        "not-contains (with a template that holds more than variables)"
      ),
      ("{x: q}", "{type: not-contains, value: 1000000000000000000}", "not-contains"),
      (
        "{x: q}", "{type: 'trajectory:tool-used', value: {name: a, min: '3'}}",
        "trajectory:tool-used"
      ),
      (
        "{x: q}", "{type: 'trajectory:tool-used', value: {name: a, min: 1e999999999}}",
        "trajectory:tool-used"
      ),
    ])
  func unknownText(variables: String, assertion: String, kind: String) async throws {
    let (told, cases) = try await imported(
      "config.yaml",
      """
      prompts: [a]
      tests:
        - {vars: \(variables), assert: [{type: contains, value: known}, \(assertion)]}
      """, as: "promptfoo")
    #expect(told["notConverted"] == [kind: 1])
    #expect(cases[0]["expected"] == ["answer": ["$contains": "known"]])
  }

  @Test("a number among promptfoo's values is the text that JavaScript makes of it")
  func numbers() async throws {
    let (_, cases) = try await imported(
      "config.yaml",
      """
      prompts: [a]
      tests:
        - {vars: {x: 2.0}, assert: [{type: not-equals, value: 1.0}, {type: contains, value: 'n{{x}}'}]}
      """, as: "promptfoo")
    #expect(
      cases[0]["expected"] == [["answer": ["$not": "1"]], ["answer": ["$contains": "n2"]]])
  }

  @Test(
    "what promptfoo holds against an output that is changed first is no check of the answer",
    arguments: [
      "defaultTest: {options: {transform: output.text}}",
      "providers: [{id: echo, transform: output.text}]",
      "providers: [{echo: {transform: output.text}}]",
    ])
  func changedOutput(where place: String) async throws {
    let (told, cases) = try await imported(
      "config.yaml",
      """
      prompts: [a]
      \(place)
      tests:
        - assert: [{type: not-contains, value: x}, {type: trajectory:tool-used, value: a}]
      """, as: "promptfoo")
    #expect(told["notConverted"] == ["not-contains (of an output that a transform makes)": 1])
    #expect(cases[0]["expected"] == ["toolsCalled": ["a"]])
  }

  @Test("no test of promptfoo gets lost, and one that cannot be read is left out with why")
  func lostTests() async throws {
    let (told, cases) = try await imported(
      "config.yaml",
      """
      prompts: [a]
      defaultTest: {assert: [{type: contains, value: shared}]}
      tests:
        - {vars: {x: []}}
        - {assert: {type: contains, value: x}}
        - {$ref: '#/nowhere'}
        - {options: {transformVars: 'x'}}
      """, as: "promptfoo")
    #expect(cases.count == 1)
    let left = told["left"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(left.map { $0.prefix(8) } == ["/tests/1", "/tests/2", "/tests/3"], "\(left)")
  }

  @Test("many choices of many variables are refused before they are made")
  func manyVariables() async throws {
    let many = (0..<300).map { "s\($0): v" }.joined(separator: ", ")
    let list = (0..<5000).map { "'\($0)'" }.joined(separator: ", ")
    let (told, _) = try await imported(
      "config.yaml",
      """
      prompts: [a]
      tests:
        - {vars: {l: [\(list)], \(many)}, assert: [{type: contains, value: x}]}
      """, as: "promptfoo", status: 2)
    #expect(told["error"]?.stringValue?.contains("values of variables") == true, "\(told)")
  }

  @Test("the letter of a choice is not looked for in an answer, where it would nearly always stand")
  func choices() async throws {
    let (told, cases) = try await imported(
      "a.json",
      #"""
      [{"input": "Which?", "choices": ["Mars", "Jupiter"], "target": "B"},
       {"input": "Capital?", "choices": [], "target": "Rome"}]
      """#, as: "inspect-dataset")
    #expect(cases.map { $0["input"] } == ["Capital?"])
    #expect(told["left"]?[0]?.stringValue?.contains("the letter of a choice") == true, "\(told)")
  }

  @Test("what an eval set of ADK asks beside its calls is named, and one without turns is left out")
  func adk() async throws {
    let (told, cases) = try await imported(
      "a.evalset.json",
      #"""
      {"eval_set_id": "s", "eval_cases": [
        {"eval_id": "none", "conversation": []},
        {"eval_id": "one", "rubrics": [{"rubric_id": "r"}], "final_session_state": {"paid": true},
         "conversation": [
          {"user_content": {"parts": [{"text": "hi"}]}, "rubrics": [{"rubric_id": "t"}],
           "final_response": {"parts": [{"text": "Hello"}]}}]}]}
      """#, as: "adk")
    #expect(cases.count == 1)
    #expect(told["left"]?[0]?.stringValue?.contains("no turn") == true, "\(told)")
    #expect(
      told["notConverted"] == ["final_session_state": 1, "reference answers": 1, "rubrics": 1])
    #expect(cases[0]["notes"]?["final_session_state"] == ["paid": true])
  }
}
