import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceJudging
import TraceMatching

@Suite("What cases share: sets, defaults, tables")
struct SharedPartsTests {
  private func load(_ folder: TemporaryFolder, _ path: String) -> CaseLoader.Result {
    CaseLoader.load([folder.path(path)], areRunsElsewhere: true)
  }

  private func messages(_ result: CaseLoader.Result, _ folder: TemporaryFolder) -> [String] {
    result.diagnostics.map { $0.description.replacing(folder.path, with: "F") }
  }

  // MARK: Mistakes

  @Test("a mistake in what is shared is told once, where it stands, however many cases use it")
  func mistakes() throws {
    let folder = try TemporaryFolder()
    try folder.write("defaults.yaml", "sets:\n  safe: {toolsNotCaled: [a]}\ndefaults: {tag: [x]}")
    try folder.write(
      "cases.yaml",
      """
      - {caseId: a, include: safe}
      - {caseId: b, include: [safe, sfe], expected: {maxSteps: 1}}
      - {caseId: c, include: other.yaml#x}
      - {caseId: d, include: []}
      - {caseId: e}
      """)
    let result = load(folder, "cases.yaml")
    #expect(result.cases.isEmpty)
    let told = messages(result, folder)
    #expect(told.filter { $0.contains("toolsNotCaled") }.count == 1)
    #expect(told.contains { $0.contains("no set “sfe”; did you mean “safe”") })
    #expect(told.contains { $0.contains("no set “x”") })
    #expect(told.contains { $0.contains("other.yaml: error: cannot be opened") })
    #expect(told.contains { $0.contains("[4]: the key “expected” is missing") })
  }

  @Test(
    "a mistake in a table is told once and names the row's columns",
    arguments: [
      ("table: []", "should be a list of rows"), ("table: {a: 1}", "should be a list of rows"),
      ("table: [{}]", "should be a list of rows"), ("table: [{a: 1}, 5]", "should be a list"),
      ("table: [{a: 1}, {a: 2}], input: 'x ${b}'", "the table has no column “b”"),
      ("table: [{a: x}, {a: y}], expected: {maxSteps: '${a}'}", "must be a whole number"),
    ])
  func tableMistakes(keys: String, message: String) throws {
    let folder = try TemporaryFolder()
    let expected = keys.contains("expected") ? "" : ", expected: {maxSteps: 1}"
    try folder.write("case.yaml", "{caseId: a, \(keys)\(expected)}")
    let result = load(folder, "case.yaml")
    #expect(result.diagnostics.count == 1, "\(messages(result, folder))")
    #expect(result.diagnostics.allSatisfy { $0.description.contains(message) })
  }

  // MARK: What they mean

  @Test("trials and their threshold are taken together, by cases that say neither")
  func trials() throws {
    let folder = try TemporaryFolder()
    try folder.write("defaults.yaml", "root: true\ndefaults: {trials: 9, passThreshold: 7}")
    try folder.write(
      "inner/cases.yaml",
      """
      defaults: {trials: 5, passThreshold: 4}
      cases:
        - {caseId: plain, input: x, expected: {maxSteps: 1}}
        - {caseId: own, input: x, trials: 2, expected: {maxSteps: 1}}
        - {caseId: safe, input: x, safety: true, expected: {maxSteps: 1}}
        - {caseId: rated, input: x, rates: {good: 0.9, bad: 0.5}, trials: 30, expected: {maxSteps: 1}}
      """)
    try folder.write("outer.yaml", "{caseId: outer, input: x, expected: {maxSteps: 1}}")
    let inner = load(folder, "inner/cases.yaml")
    #expect(inner.diagnostics.isEmpty, "\(messages(inner, folder))")
    #expect(inner.cases.map(\.plan?.trials) == [5, 2, 5, 30])
    #expect(inner.cases.map(\.plan?.passThreshold) == [4, 2, 5, 30])
    let outer = load(folder, "outer.yaml")
    #expect(outer.cases.first?.plan?.trials == 9 && outer.cases.first?.plan?.passThreshold == 7)
  }

  @Test("a case has the expectations of the sets that it includes, under their names")
  func sets() throws {
    let folder = try TemporaryFolder()
    try folder.write("common/sets.yaml", "sets: {polite: {answer: {$contains: please}}}")
    try folder.write("defaults.yaml", "sets: {quick: {maxSteps: 3}}\ndefaults: {include: quick}")
    try folder.write(
      "sub/cases.yaml",
      """
      sets:
        safe: [{toolsNotCalled: [a]}, {severity: warning, maxToolCalls: 1}]
      cases:
        - caseId: a
          include: [{set: safe, severity: warning}, ../common/sets.yaml#polite]
          expected: {stopReason: success}
        - {caseId: b, include: safe}
      """)
    let result = load(folder, "sub/cases.yaml")
    #expect(result.diagnostics.isEmpty, "\(messages(result, folder))")
    let parts = result.cases.map { $0.expected.parts.map { "\($0.name) \($0.severity)" } }
    #expect(
      parts == [
        ["quick error", "safe[0] warning", "safe[1] warning", "polite error"],
        ["quick error", "safe[0] error", "safe[1] warning"],
      ])
    #expect(result.cases[0].expected.stopReasons == [.success])
    #expect(result.cases[0].expected.isAnsweredBySummary == false)
  }

  @Test("defaults hold for the folder and all below it, and nearer ones win")
  func defaults() throws {
    let folder = try TemporaryFolder()
    try folder.write("defaults.yaml", "defaults: {tags: [all], agent: a.yaml, input: hello}")
    try folder.write("one/defaults.yaml", "defaults: {tags: [one], agent: b.yaml, skip: later}")
    try folder.write("two/defaults.yaml", "root: true\ndefaults: {tags: [two]}")
    for name in ["zero", "one/case", "one/deep/er/case", "two/case"] {
      let id = name.replacing("/", with: "-")
      try folder.write(
        "\(name).yaml", "{caseId: \(id), tags: [own], expected: {maxSteps: 1}}")
    }
    try folder.write(
      "one/other.yaml", "{caseId: x, skip: now, agent: c.yaml, input: i, expected: {maxSteps: 1}}")
    let result = CaseLoader.load([folder.path], areRunsElsewhere: true)
    #expect(result.diagnostics.isEmpty, "\(messages(result, folder))")
    let told = result.cases.map { one in
      "\(one.caseId) \(one.tags) \(one.agent?.replacing(folder.path, with: "F") ?? "-") \(one.input) \(one.skip?.reason ?? "-")"
    }
    #expect(
      told == [
        #"one-case ["all", "one", "own"] F/one/b.yaml hello later"#,
        #"one-deep-er-case ["all", "one", "own"] F/one/b.yaml hello later"#,
        #"x ["all", "one"] F/one/c.yaml i now"#, #"two-case ["two", "own"] -  -"#,
        #"zero ["all", "own"] F/a.yaml hello -"#,
      ])
  }

  @Test("a table makes a case of each row, with values of any type in place")
  func table() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      """
      caseId: refund-${order}
      input: "Refund ${order} because it is ${why}; costs $${5}"
      table:
        - {order: "12", why: late, steps: 3, amount: 5.50, tools: [a, b]}
        - {order: "34", why: broken, steps: 4, amount: null, tools: [c]}
      human: {answers: [{text: "${question} ${why}"}]}
      expected:
        maxSteps: ${steps}
        toolsCalled: ${tools}
        toolsNotCalled: [{tool: "x${order}", input: {amount: "${amount}", why: "${why}!"}}]
      """)
    let result = load(folder, "case.yaml")
    #expect(result.diagnostics.isEmpty, "\(messages(result, folder))")
    #expect(result.cases.map(\.caseId) == ["refund-12", "refund-34"])
    #expect(result.cases.map(\.expected.maxSteps) == [3, 4])
    #expect(result.cases.first?.input == "Refund 12 because it is late; costs ${5}")
    #expect(
      result.cases.map { $0.expected.toolsCalled?.map(\.tool.text) ?? [] } == [["a", "b"], ["c"]])
    #expect(
      result.cases.map { $0.expected.toolsNotCalled?.first?.input?.source } == [
        ["amount": try JSONValue(parsing: "5.50"), "why": "late!"],
        ["amount": nil, "why": "broken!"],
      ])
  }

  @Test("rows of a case whose id names no column are numbered")
  func numbered() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml", "{caseId: a, table: [{n: 1}, {n: 2}], expected: {maxSteps: '${n}'}}")
    #expect(load(folder, "case.yaml").cases.map(\.caseId) == ["a-1", "a-2"])
  }
}
