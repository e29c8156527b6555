import AgentTrace
import TestSupport
import Testing

@Suite("Tests of promptfoo in tables and scenarios, and for some prompts alone")
struct PromptfooSuiteTests {
  /// Imports a configuration beside its files, and returns what is told of it, with the cases that were made.
  private func imported(
    _ configuration: String, beside files: [String: String] = [:]
  ) async throws -> (told: JSONValue, cases: [JSONValue]) {
    let folder = try TemporaryFolder()
    for (name, text) in files { try folder.write(name, text) }
    try folder.write("promptfooconfig.yaml", configuration)
    let told = try await Binary.run(
      ["import", "promptfooconfig.yaml", "--out", "out", "--json"], in: folder.path, status: nil
    ).jsonLines()
    let lines = (told[0]["cases"]?.stringValue).flatMap { folder.text($0) } ?? ""
    return (told[0], try lines.split(separator: "\n").map { try JSONValue(parsing: String($0)) })
  }

  /// What the first case expects of one cell, or what is told in its place.
  struct Cell: Sendable, CustomTestStringConvertible {
    var text: String
    var expected: JSONValue?
    var notConverted: String?

    init(_ text: String, _ expected: JSONValue) { (self.text, self.expected) = (text, expected) }
    init(_ text: String, notConverted: String) {
      (self.text, self.notConverted) = (text, notConverted)
    }

    var testDescription: String { text }
  }

  @Test(
    "a cell asks for what it asks for there: an assertion where it begins with a type, else its very text",
    arguments: [
      Cell("contains: Paris ", ["answer": ["$contains": "Paris"]]),
      Cell("not-contains:Paris", ["answer": ["$not": ["$contains": "Paris"]]]),
      Cell(
        "contains-all: a , b", ["answer": ["$allOf": [["$contains": "a"], ["$contains": "b"]]]]),
      Cell("regex: ^a:b$", ["answer": ["$regex": "^a:b$"]]),
      Cell("equals: contains: x", ["answer": "contains: x"]),
      Cell(" Paris ", ["answer": "Paris"]),
      Cell("answer: 42", ["answer": "answer: 42"]),
      Cell("contains", notConverted: "contains"),
      Cell("contains: ", notConverted: "contains"),
      Cell("is-json", ["answerJson": ["$any": true]]),
      Cell("latency(500)", ["budget": ["seconds": 0.5]]),
      Cell("cost:", ["budget": ["cost": 0.75]]),
      Cell("trajectory:tool-used: search", ["toolsCalled": ["search"]]),
      Cell("not-trajectory:tool-used:pay", ["toolsNotCalled": ["[pP][aA][yY]"]]),
      Cell("similar(0.8): a city", notConverted: "similar"),
      Cell("fn:output.length > 3", notConverted: "javascript"),
      Cell("python: len(output)", notConverted: "python"),
      Cell("file://check.py:run", notConverted: "python"),
      Cell("grade: is polite", notConverted: "llm-rubric"),
      // Of a version that is not known here: nobody wants an answer that says so.
      Cell("brand-new: x", notConverted: "brand-new"),
    ])
  func cells(cell: Cell) async throws {
    let quoted = cell.text.split(separator: "\"", omittingEmptySubsequences: false).joined(
      separator: "\"\"")
    let (told, cases) = try await imported(
      "{prompts: ['Ask {{q}}'], tests: tests.csv}",
      beside: ["tests.csv": "q,__expected,__expected2\nFrance,\"\(quoted)\",contains: known\n"])
    let known: JSONValue = ["answer": ["$contains": "known"]]
    #expect(cases.first?["input"] == "Ask France")
    if let expected = cell.expected {
      #expect(told["notConverted"] == nil, "\(told)")
      #expect(cases.first?["expected"] == [expected, known])
    } else {
      #expect(told["notConverted"]?[cell.notConverted ?? ""] == 1, "\(told)")
      #expect(cases.first?["expected"] == known)
    }
  }

  @Test(
    "columns beside the variables say what they say there, and a row that passes by a score is left out"
  )
  func columns() async throws {
    let table = """
      q, who ,__prefix,__suffix,__description,__metadata:kind,__threshold,__expected1,__config:__expected1:threshold
      France,,Hi. , Bye.,capital,geo,,cost,2
      Peru,Ana,,,,,0.5,contains: Lima,
      Chile,Ana,,,,,0,contains: Santiago,
      """
    let (told, cases) = try await imported(
      "{prompts: ['{{who}}{{q}}?'], tests: ['file://tests.csv']}", beside: ["tests.csv": table])
    #expect(cases.map { $0["input"]?.stringValue } == ["Hi. France? Bye.", "AnaChile?"])
    #expect(cases[0]["expected"] == ["budget": ["cost": 2]])
    #expect(cases[0]["notes"]?["description"] == "capital")
    #expect(cases[0]["notes"]?["metadata"] == ["kind": "geo"])
    #expect(cases[1]["expected"] == ["answer": ["$contains": "Santiago"]])
    let left = told["left"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(left.count == 1 && left[0].contains("tests.csv/1: it passes by a score"), "\(told)")
  }

  @Test(
    "each test of a scenario is one with each of its configurations, whose assertions it adds to")
  func scenarios() async throws {
    let (told, cases) = try await imported(
      """
      prompts: ['{{language}}: {{text}}']
      defaultTest: {assert: [{type: icontains, value: hi}]}
      scenarios:
        - config:
            - {vars: {language: French, text: none}, assert: [{type: contains, value: bon}]}
            - {vars: {language: German, text: none}}
          tests:
            - {vars: {text: one}, assert: [{type: contains, value: x}]}
            - {vars: {text: two}}
      """)
    let inputs = cases.map { $0["input"]?.stringValue ?? "" }
    #expect(inputs == ["French: one", "French: two", "German: one", "German: two"])
    // One expectation stands alone, several in a list.
    #expect(cases.map { $0["expected"]?.arrayValue?.count ?? 1 } == [3, 2, 2, 1])
    #expect(told["left"] == nil)
  }

  @Test("a test that names prompts is put into those, and where none is read it is told")
  func prompts() async throws {
    let (told, cases) = try await imported(
      """
      prompts: [{raw: 'A {{q}}', label: 'short:a'}, {raw: 'B {{q}}', label: long}, 'file://c.txt']
      tests:
        - {vars: {q: '1'}, prompts: [short], assert: [{type: contains, value: x}]}
        - {vars: {q: '2'}, prompts: ['lo*'], assert: [{type: contains, value: x}]}
        - {vars: {q: '3'}, prompts: [c.txt], assert: [{type: contains, value: x}]}
        - {vars: {q: '4'}, providerOutput: x, assert: [{type: contains, value: x}]}
      """)
    #expect(cases.map { $0["input"]?.stringValue } == ["A 1", "B 2"])
    let left = told["left"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(left.contains { $0.contains("/tests/2: none of the prompts") }, "\(told)")
    #expect(left.contains { $0.contains("/tests/3: what is judged stands in it") }, "\(told)")
  }

  @Test("a set of assertions that counts for a figure alone asks for nothing")
  func weightless() async throws {
    let (told, cases) = try await imported(
      """
      prompts: [a]
      tests:
        - assert:
            - {type: contains, value: x}
            - {type: assert-set, weight: 0, assert: [{type: contains, value: y}]}
      """)
    #expect(cases[0]["expected"] == ["answer": ["$contains": "x"]])
    #expect(told["notConverted"] == ["assert-set (for a figure alone)": 1], "\(told)")
  }
}
