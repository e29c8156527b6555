import AgentPipelines
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@testable import EvalLoading

@Suite("Pipeline files")
struct PipelineFileTests {
  private func load(_ text: String, agents: [(String, String)] = []) throws -> (
    value: PipelineDefinition?, words: [String]
  ) {
    let folder = try TemporaryFolder()
    for (name, text) in agents { try folder.write(name, text) }
    try folder.write("p.yaml", text)
    let loaded = withExtendedLifetime(folder) { PipelineLoader.load(folder.path("p.yaml")) }
    return (
      loaded.value, loaded.diagnostics.map { $0.description.replacing(folder.path, with: "F") }
    )
  }

  private static let agent = """
    name: a
    tools: [{name: t, sideEffect: read, scripted: [{ok: 1}]}]
    model: {script: [{answer: x}]}
    """

  @Test("everything that is wrong is told at once: keys, names, edges, cycles, each with its place")
  func mistakes() throws {
    let (value, words) = try load(
      """
      pipeline: p
      tasks:
        - id: fetch
          command: [cat]
          input: {page: "${parse.text}"}
          sideEffect: read
        - id: parse
          command: [cat]
          input: {text: "${fetch.text}", more: "${fetsh.text}"}
          sideEffect: read
        - id: fetch
          comand: [cat]
      """)
    #expect(value == nil)
    #expect(words.contains { $0.contains("p.yaml:9:12") && $0.contains("“fetsh”") })
    #expect(words.contains { $0.contains("p.yaml:12:5") && $0.contains("did you mean “command”") })
    #expect(words.contains { $0.contains("the id “fetch” stands twice") })
  }

  @Test(
    "an agent counts by the worst that it may do: by its tools, by agents that it may call, by servers",
    arguments: [
      ("tools: [{name: t, sideEffect: read, scripted: [{ok: 1}]}]", SideEffect.read),
      ("tools: [{name: t, sideEffect: draft, scripted: [{ok: 1}]}]", .draft),
      ("tools: [{agent: pays.yaml}]", .write), ("tools: [{agent: asks.yaml}]", .write),
      ("tools: [{agent: pays.yaml, handoff: true}]", .write),
      ("tools: [{agent: looks.yaml}]", .read),
      ("mcpServers: {s: {command: cat}}", .write),
      ("mcpServers: {s: {command: cat, tools: [{name: a, sideEffect: read}]}}", .read),
      ("mcpServers: {s: {command: cat, tools: [{name: a, sideEffect: read}, b]}}", .write),
    ])
  func worst(_ row: (tools: String, sideEffect: SideEffect)) throws {
    func agent(_ name: String, _ tools: String) -> (String, String) {
      ("\(name).yaml", "name: \(name)\n\(tools)\nmodel: {script: [{answer: x}]}\n")
    }
    let agents = [
      agent("pays", "tools: [{name: pay, sideEffect: write, scripted: [{ok: 1}]}]"),
      agent("looks", "tools: [{name: look, sideEffect: read, scripted: [{ok: 1}]}]"),
      agent("asks", "tools: [{agent: looks.yaml}, {agent: pays.yaml}]"), agent("a", row.tools),
      ("inner.yaml", "pipeline: inner\ntasks: [{id: x, agent: a.yaml, input: {goal: g}}]\n"),
    ]
    for task in ["agent: a.yaml, input: {goal: g}", "pipeline: inner.yaml"] {
      let (value, words) = try load(
        "pipeline: p\ntasks: [{id: t, \(task), compensate: {command: [echo]}}]\n", agents: agents)
      #expect(value?.spec.tasks.first?.sideEffect == row.sideEffect, "\(task): \(words)")
    }
  }

  @Test("a person's task has no time that nobody would keep")
  func personsTime() throws {
    for key in ["timeoutSeconds", "totalTimeoutSeconds"] {
      let (_, words) = try load(
        "pipeline: p\ntasks:\n  - {id: q, human: {ask: Well?}, \(key): 3}\n")
      #expect(words.contains { $0.contains("a person’s task has no “\(key)”") }, "\(words)")
    }
  }

  @Test("edges that are written have to bring what tasks name")
  func edges() throws {
    let (_, words) = try load(
      """
      pipeline: p
      tasks:
        - {id: a, command: [cat], sideEffect: read}
        - {id: b, command: [cat], sideEffect: read, input: {x: "${a.y}"}}
        - {id: c, command: [cat], sideEffect: read}
      edges: [[a, c], [b, x], [c]]
      """)
    #expect(words.contains { $0.contains("edges[1]") && $0.contains("there is no task “x”") })
    #expect(words.contains { $0.contains("edges[2]") && $0.contains("should be a pair") })
  }

  @Test("what writes and cannot be undone is a warning, where the pipeline has checkpoints")
  func writes() throws {
    let text = """
      pipeline: p
      tasks:
        - id: a
          command: [cat]
      """
    let (value, words) = try load(text)
    #expect(value != nil)
    #expect(words.count == 1)
    #expect(words[0].contains("F/p.yaml:3:5: warning: tasks[0].sideEffect"))
    #expect(try load(text + "\ncheckpoints: none").words == [])
  }

  @Test(
    "a task’s validate is a matcher on its output, of an agent any expectations; both are checked")
  func validate() throws {
    let (_, words) = try load(
      """
      pipeline: p
      tasks:
        - {id: a, command: [cat], sideEffect: read, validate: {$gte: 3}}
        - {id: b, command: [cat], sideEffect: read, validate: {output: {$gteq: 3}}}
        - {id: c, agent: a.yaml, validate: {maxStep: 3}}
        - {id: d, agent: a.yaml, validate: {maxSteps: 3, answerJson: {n: 1}}}
      """, agents: [("a.yaml", Self.agent)])
    #expect(words.contains { $0.contains("tasks[0].validate") })
    #expect(words.contains { $0.contains("tasks[1].validate") && $0.contains("$gte") })
    #expect(words.contains { $0.contains("tasks[2].validate") && $0.contains("maxStep") })
    #expect(!words.contains { $0.contains("tasks[3]") })
  }

  @Test("an agent’s task does what its tools do, unless the file says otherwise")
  func sideEffects() throws {
    let writing = Self.agent.replacing("read", with: "write")
    let (value, _) = try load(
      """
      pipeline: p
      tasks:
        - {id: a, agent: a.yaml}
        - {id: b, agent: b.yaml, compensate: {command: [cat]}}
        - {id: c, agent: b.yaml, sideEffect: read}
        - {id: d, human: {ask: "well?"}}
      """, agents: [("a.yaml", Self.agent), ("b.yaml", writing)])
    #expect(try #require(value).spec.tasks.map(\.sideEffect) == [.read, .write, .read, .read])
  }

  @Test("an agent that is a command, and what no log can tell, are refused with their places")
  func notYet() throws {
    let (_, words) = try load(
      """
      pipeline: p
      tasks:
        - {id: a, agent: c.yaml}
        - {id: b, agent: a.yaml, validate: {judge: {rubric: It is polite.}}}
      """, agents: [("a.yaml", Self.agent), ("c.yaml", "name: c\ncommand: [cat]")])
    #expect(
      words.contains { $0.contains("p.yaml:3:20") && $0.contains("is a command") }, "\(words)")
    #expect(words.contains { $0.contains("tasks[1].validate") }, "\(words)")
  }

  @Test("every key of the file arrives where it belongs, and the schema takes the same")
  func whole() throws {
    let text = """
      pipeline: p
      input: {schema: {type: object}, default: {n: 1}}
      tasks:
        - id: list
          command: {arguments: [cat], noEffectExitCodes: [3]}
          input: {n: "${input.n}"}
          sideEffect: read
          timeoutSeconds: 1.5
          totalTimeoutSeconds: 9
          retry: {max: 2, on: [timeout, tool_failure], backoffSeconds: 0.25}
          breaker: {failures: 3, coolSeconds: 60}
          recover:
            - {on: invalid, do: retry, max: 2, with: {feedback: true}}
            - {on: [timeout], do: fallback, task: spare}
            - {on: "*", do: substitute, value: [1, 2]}
        - id: each
          forEach: ${list.*}
          command: [echo, "${item}", "${index}"]
          compensate: {command: [undo, "${output.id}"]}
          idempotent: true
          concurrency: 3
          labels: [scarce]
          validate: {output: {$type: object}}
        - {id: spare, command: [cat], sideEffect: read}
        - {id: ask, human: {ask: "well?", show: "${each.*.id}"}}
      checkpoints: [each, ask]
      concurrency: 5
      labels: {scarce: 1}
      limits: {maxTokens: 1000, timeoutSeconds: 60}
      """
    let (loaded, words) = try load(text)
    #expect(words == [])
    let value = try #require(loaded)
    let tasks = value.spec.tasks
    #expect(tasks[0].timeoutMicroseconds == 1_500_000)
    #expect(tasks[0].retry.backoffMicroseconds == 250_000)
    #expect(tasks[0].breaker == BreakerSpec(failures: 3, coolMicroseconds: 60_000_000))
    #expect(tasks[0].recover.map(\.action) == [.retry, .fallback, .substitute])
    #expect(tasks[0].recover[0].tellsFeedback)
    #expect(tasks[1].labels == ["scarce"])
    #expect(tasks[1].isIdempotent)
    #expect(value.spec.checkpoints == .after(["each", "ask"]))
    #expect(value.spec.concurrency == 5)
    #expect(value.spec.limits.maxTokens == 1_000)
    #expect(value.defaultInput == ["n": 1])
    let document = SourceDocument(Array(text.utf8), path: "p.yaml")
    let schema = try JSONSchema(compiling: FileSchema.pipeline.json)
    #expect(schema.validate(try #require(document.roots.first).value).map(\.description) == [])
    #expect(!schema.validate(["pipeline": "p", "tasks": [["id": "a", "comand": ["x"]]]]).isEmpty)
  }

  @Test("a file whose bytes are changed at random is refused or read, and never ends the process")
  func hostile() throws {
    let text = Array(try Project.text("Fixtures/pipelines/letter.yaml").utf8)
    var random = Seeded(seed: 7)
    for _ in 0..<TestRun.count(300, long: 10_000) {
      var bytes = text
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        bytes[place] = UInt8.random(in: 0...255, using: &random)
      }
      let document = SourceDocument(bytes, path: "p.yaml")
      let loaded = PipelineLoader.load(document)
      #expect(loaded.value != nil || loaded.diagnostics.hasErrors)
    }
  }
}
