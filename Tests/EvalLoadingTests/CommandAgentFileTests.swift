import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceMatching

@Suite("Command agents in files")
struct CommandAgentFileTests {
  private static func load(
    _ text: String, in folder: TemporaryFolder, at path: String = "cases/case.yaml"
  ) throws -> CaseLoader.Result {
    CaseLoader.load([try folder.write(path, text)])
  }

  @Test("a case holds a command, with paths from its own folder")
  func inCase() throws {
    let folder = try TemporaryFolder()
    let loaded = try Self.load(
      """
      caseId: a
      input: x
      agent:
        name: looker
        version: "2"
        command: [python, agent.py, "${input}"]
        cwd: ..
        environment: {pass: [KEY], set: {MODE: "${trial}"}}
        upstream: {openai: "http://localhost:1/v1"}
        timeoutSeconds: 1.5
        answer: stdout
      expected: {stopReason: success}
      """, in: folder)
    #expect(loaded.diagnostics.map(\.description) == [])
    let evalCase = try #require(loaded.cases.first)
    #expect(evalCase.agent == nil && evalCase.hasAgent)
    let agent = try #require(evalCase.writtenAgent?.agent)
    #expect(agent.name == "looker" && agent.version == "2" && agent.digest?.count == 64)
    let command = try #require(agent.command)
    #expect(command.arguments == ["python", "agent.py", "${input}"])
    #expect(command.folder == folder.path)
    #expect(command.environment == CommandEnvironment(pass: ["KEY"], set: ["MODE": "${trial}"]))
    #expect(command.upstreams == [.init(name: "openai", url: "http://localhost:1/v1")])
    #expect(command.timeoutSeconds == 1.5 && command.answer == .stdout)
    let filled = command.filled { "<\($0)>" }
    #expect(filled.arguments[2] == "<input>" && filled.environment.set["MODE"] == "<trial>")
    #expect(!agent.isScripted && agent.networkNeed != nil)
  }

  @Test("a file says which conversation is the agent's own, and what the others are called")
  func conversations() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(
      "agent.yaml",
      """
      command: [a]
      main: "tool:pay"
      callers: {writer: You write, small: "model:m-mini"}
      """)
    let command = try #require(AgentLoader.load(path).value?.command)
    #expect(command.main == CallerMatcher("tool:pay"))
    #expect(
      command.callers == ["small=model:m-mini", "writer=You write"].compactMap(CallerName.init))
    for wrong in [
      "main: \"tool:\"", "main: []", "callers: [a]", "callers: {a: \"model:\"}",
      "callers: {\"\": b}",
    ] {
      let path = try folder.write("wrong.yaml", "command: [a]\n\(wrong)\n")
      #expect(AgentLoader.load(path).value == nil, "\(wrong)")
    }
  }

  @Test("of several prices that fit a model, the most exact counts, wherever it stands")
  func prices() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(
      "agent.yaml",
      """
      command: [a]
      prices:
        "*": {input: 1, output: 1}
        "gpt-4.1*": {input: 2, output: 2}
        "gpt-4.1-mini*": {input: 3, output: 3}
        gpt-4.1: {input: 4, output: 4}
      """)
    let command = try #require(AgentLoader.load(path).value?.command)
    #expect(command.prices.map(\.models.text) == ["gpt-4.1", "gpt-4.1-mini*", "gpt-4.1*", "*"])
  }

  @Test("a file of its own holds one, named by its program where it says no name")
  func inFile() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("agent.yaml", "{$schema: x, command: [bin/agent, go]}")
    let loaded = AgentLoader.load(path)
    #expect(loaded.diagnostics.map(\.description) == [])
    let agent = try #require(loaded.value)
    #expect(agent.name == "agent" && agent.command?.folder == folder.path)
    #expect(agent.command?.answer == .reply && agent.command?.timeoutSeconds == 300)
    #expect(FileChecker.check([folder.path]).map(\.description) == [])
  }

  @Test("defaults hold one for cases that name none")
  func inDefaults() throws {
    let folder = try TemporaryFolder()
    try folder.write("cases/agent.yaml", "{command: [x]}")
    try folder.write(
      "cases/defaults.yaml", "{root: true, defaults: {input: i, agent: {command: [d]}}}")
    let loaded = try Self.load(
      """
      - {caseId: a, expected: {maxSteps: 1}}
      - {caseId: b, agent: agent.yaml, expected: {maxSteps: 1}}
      - {caseId: c, agent: {command: [own]}, expected: {maxSteps: 1}}
      """, in: folder)
    #expect(loaded.diagnostics.map(\.description) == [])
    #expect(
      loaded.cases.map { $0.writtenAgent?.agent.command?.arguments } == [["d"], nil, ["own"]])
    #expect(loaded.cases.map { $0.agent != nil } == [false, true, false])
  }

  @Test(
    "what is wrong with a command is said where it stands",
    arguments: [
      ("{command: []}", "should not be empty"), ("{command: ['']}", "should not be empty"),
      ("{command: python}", "should be a list"), ("{cwd: x}", "the key “command” is missing"),
      ("{command: [a, '${inptu}']}", "there is no ${inptu} here"),
      ("{command: [a], environment: {set: {A: '${HOME}'}}}", "there is no ${HOME} here"),
      ("{command: [a], answer: output}", "should be reply or stdout"),
      ("{command: [a], timeoutSeconds: 0}", "a number of seconds above 0"),
      ("{command: [a], upstream: {'a b': 'http://x'}}", "an upstream is named by"),
      ("{command: [a], upstream: {a: 'ftp://x'}}", "should be a URL"),
      ("{command: [a], comand: [b]}", "unknown key “comand”"), ("5", "the path of an agent file"),
      ("''", "should not be empty"),
    ])
  func faults(agent: String, words: String) throws {
    let folder = try TemporaryFolder()
    let loaded = try Self.load(
      "{caseId: a, input: x, agent: \(agent), expected: {maxSteps: 1}}", in: folder)
    let text = loaded.diagnostics.map(\.description).joined(separator: "\n")
    #expect(text.contains(words), "\(text)")
    #expect(loaded.cases.isEmpty)
  }

  @Test("a table fills in its columns, and leaves what a command is given to the command")
  func table() throws {
    let folder = try TemporaryFolder()
    let loaded = try Self.load(
      """
      caseId: a
      input: "is ${what} there"
      table: [{what: "it", tricky: "${input}"}]
      agent: {command: ["${what}", "${input}", "${tricky}", "$${what}", "x ${tricky}"]}
      expected: {maxSteps: 1}
      """, in: folder)
    #expect(loaded.diagnostics.map(\.description) == [])
    let command = try #require(loaded.cases.first?.writtenAgent?.agent.command)
    #expect(
      command.filled { "<\($0)>" }.arguments
        == ["it", "<input>", "${input}", "${what}", "x ${input}"])
    let wrong = try Self.load(
      "{caseId: b, input: x, table: [{a: 1}], agent: {command: ['${b}']}, expected: {maxSteps: 1}}",
      in: folder)
    #expect(wrong.diagnostics.map(\.description).joined().contains("the table has no column “b”"))
  }

  @Test(
    "a column whose name means something else in a case is an error",
    arguments: ["input", "caseId", "trial", "goal", "last", "results", "step", "heard"])
  func reservedColumns(name: String) throws {
    let folder = try TemporaryFolder()
    let loaded = try Self.load(
      "{caseId: a, input: x, table: [{b: 1}, {\(name): 1}], expected: {maxSteps: 1}}", in: folder)
    let text = loaded.diagnostics.map(\.description).joined()
    #expect(text.contains("“\(name)” cannot be a column"), "\(text)")
  }

  @Test(
    "the placeholders of all files are read alike",
    arguments: [
      ("${a}", "<a>"), ("x${a}y${b}", "x<a>y<b>"), ("$${a}", "${a}"), ("$$${a}", "$${a}"),
      ("${a", "${a"), ("${", "${"), ("$", "$"), ("${}", "<>"), ("$a", "$a"), ("", ""),
      ("${a}}", "<a>}"), ("ü${ü}", "ü<ü>"),
    ])
  func placeholders(text: String, expected: String) {
    #expect(PlaceholderText(text).filled { "<\($0)>" } == expected)
    #expect(PlaceholderText(PlaceholderText.escaped(text)).filled { "<\($0)>" } == text)
    let isVariable = expected.contains("<a>") && !expected.contains("<b>")
    guard isVariable else { return }
    #expect((try? EnvironmentText(text).resolved { "<\($0)>" }) == expected)
  }
}
