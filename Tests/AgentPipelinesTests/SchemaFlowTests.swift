import AgentPipelines
import AgentTrace
import Synchronization
import Testing

@Suite("Schemas of what flows between tasks")
struct SchemaFlowTests {
  private static func task(
    _ id: String, input: JSONValue? = nil, needs: JSONValue? = nil, gives: JSONValue? = nil,
    forEach: String? = nil
  ) -> TaskSpec {
    var task = TaskSpec(id, .closure, input: input, sideEffect: .read)
    (task.inputSchema, task.outputSchema) = (needs, gives)
    task.forEach = forEach.flatMap(TaskReference.init).map { .list($0) }
    return task
  }

  private static func faults(_ tasks: [TaskSpec], input: JSONValue? = nil) -> [String] {
    var spec = PipelineSpec("p", tasks: tasks)
    spec.inputSchema = input
    return PipelineGraph.faults(in: spec).map { "\($0.task ?? "")/\($0.key): \($0.message)" }
  }

  private static let file: JSONValue = [
    "type": "object", "additionalProperties": false, "required": ["name", "lines"],
    "properties": [
      "name": ["type": "string"], "lines": ["type": "integer"], "kind": ["enum": ["a", "b"]],
    ],
  ]

  /// What `b` is given, what it needs, and what is wrong with that; `a` gives a ``file``.
  static let cases: [(given: JSONValue, needed: JSONValue, wrong: String?)] = [
    ("${a}", file, nil),
    (["n": "${a.lines}"], ["type": "object", "properties": ["n": ["type": "number"]]], nil),
    (
      ["n": "${a.name}"], ["properties": ["n": ["type": "number"]]],
      "b/input/n: ${a.name} is “string”, and “number” is needed"
    ),
    (
      ["n": "${a.lines} of them"], ["properties": ["n": ["type": "integer"]]],
      "b/input/n: what stands there is “string”, and “integer” is needed"
    ),
    (
      ["n": 3.5], ["properties": ["n": ["type": "integer"]]],
      "b/input/n: it is not what inputSchema says"
    ),
    (
      ["x": "${a.name}"], ["required": ["x", "y"]],
      "b/input: it lacks “y”, which inputSchema requires"
    ),
    (
      ["z": 1], ["additionalProperties": false, "properties": [:]],
      "b/input: inputSchema takes no “z”"
    ),
    ("${a}", ["required": ["size"]], "b/input: ${a} has no “size”, which inputSchema requires"),
    (
      "${a}", ["properties": ["lines": ["type": "string"]]],
      "b/input: “lines” of ${a} is “integer”, and “string” is needed"
    ),
    (
      "${a}", ["type": "object", "properties": ["name": true], "additionalProperties": false],
      "b/input: ${a} has “lines”, which inputSchema does not take"
    ),
    (
      "${a.kind}", ["enum": ["c", "d"]],
      "b/input: none of the values that ${a.kind} may have is one that is needed"
    ),
    ("${a.kind}", ["enum": ["b", "c"]], nil),
    (
      ["l": ["${a.name}", 2]], ["properties": ["l": ["items": ["type": "string"]]]],
      "b/input/l/1: it is not what inputSchema says"
    ),
    (
      ["l": ["${a.name}"]], ["properties": ["l": ["type": "string"]]],
      "b/input/l: it is a list, and “string” is needed"
    ),
    ("${a.size}", true, "b/input: there is no “size” in what ${a.size} names"),
    ("${a.name.first}", true, "b/input: there is no “first” in what ${a.name.first} names"),
    ("${a.name.*}", true, "b/input: there is no “*” in what ${a.name.*} names"),
    // What cannot be decided is passed over.
    ("${a}", ["$ref": "#/$defs/x", "$defs": ["x": ["type": "string"]]], nil),
    ("${a}", ["anyOf": [["type": "string"], ["type": "object"]]], nil),
    ("${a}", false, nil),
  ]

  @Test("what cannot fit is told with its place, and nothing else is", arguments: 0..<cases.count)
  func fits(_ number: Int) {
    let (given, needed, wrong) = Self.cases[number]
    let faults = Self.faults([
      Self.task("a", gives: Self.file), Self.task("b", input: given, needs: needed),
    ])
    guard let wrong else { return #expect(faults == []) }
    #expect(faults.count == 1, "\(faults)")
    #expect(faults.first?.hasPrefix(wrong) ?? false, "\(faults)")
  }

  @Test("nothing is said where nothing is declared")
  func undeclared() {
    #expect(Self.faults([Self.task("a"), Self.task("b", input: ["x": "${a.any.thing}"])]) == [])
    #expect(
      Self.faults([
        Self.task("a"), Self.task("b", input: ["x": "${a.x}"], needs: ["required": ["x"]]),
      ]) == [])
  }

  @Test(
    "elements, indexes, lists of outputs and the pipeline’s input have the schemas of what they come from"
  )
  func fanOuts() {
    let list: JSONValue = ["type": "array", "items": Self.file]
    let input: JSONValue = [
      "type": "object", "properties": ["files": list, "one": ["type": "string"]],
      "additionalProperties": false,
    ]
    let needs: JSONValue = ["properties": ["f": ["type": "integer"], "i": ["type": "integer"]]]
    let each = Self.task(
      "each", input: ["f": "${item.lines}", "i": "${index}"], needs: needs,
      gives: ["type": "boolean"],
      forEach: "input.files")
    let all = Self.task(
      "all", input: ["l": "${each.*}"],
      needs: ["properties": ["l": ["type": "array", "items": ["type": "boolean"]]]])
    #expect(Self.faults([each, all], input: input) == [])
    var wrong = each
    wrong.input = TaskTemplate(["f": "${item.name}", "i": "${item.sizes}"])
    var sum = all
    sum.inputSchema = ["properties": ["l": ["items": ["type": "number"]]]]
    var other = each
    (other.id, other.forEach) = ("other", TaskReference("input.one").map { .list($0) })
    let faults = Self.faults([wrong, sum, other], input: input)
    for words in [
      "each/input/f: ${item.name} is “string”, and “integer” is needed",
      "each/input: there is no “sizes” in what ${item.sizes} names",
      "all/input/l: each element of ${each.*} is “boolean”, and “number” is needed",
      "other/forEach: ${input.one} is “string”, and forEach needs a list",
    ] {
      #expect(faults.contains { $0.hasPrefix(words) }, "\(words) in \(faults)")
    }
  }

  @Test(
    "a value that stands for an output is held to its schema, and schemas that are none are told")
  func substitutes() {
    var task = Self.task("a", gives: Self.file)
    task.recover = [RecoverRule(on: FailureKinds(), .substitute, value: ["name": 3])]
    #expect(
      Self.faults([task]).first?.hasPrefix("a/recover/0/value: it is not what outputSchema says")
        ?? false)
    #expect(
      Self.faults([Self.task("a", needs: ["type": "strin"])]).first?.hasPrefix("a/inputSchema: ")
        ?? false)
  }

  private static func asking(_ schema: JSONValue) -> TaskSpec {
    var task = TaskSpec("h", .human)
    task.human = HumanSpec(ask: TaskTemplate("How many?"))
    task.outputSchema = schema
    return task
  }

  @Test("an answer that is not what its task says fails it as invalid, or it is asked again")
  func answers() async throws {
    let schema: JSONValue = [
      "type": "object", "required": ["text"],
      "properties": ["text": ["type": "string", "pattern": "^[0-9]+$"]],
    ]
    var task = Self.asking(schema)
    task.retry = RetrySpec(max: 1)
    var world = PipelineWorld(try Pipeline("p", tasks: [PersonTask(task)]))
    try await world.go()
    for text in ["abc", "12"] {
      #expect(world.state.questions.map(\.why) == [.human], "\(text)")
      world.answer(
        TaskAnswered(node: TaskNode("h"), word: .answered, data: .string(text), by: "ann"))
      try await world.go()
    }
    #expect(world.state.stop?.reason == "success")
    #expect(world.state["h"]?.settled == .finished)
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)

    task.retry = RetrySpec()
    var other = PipelineWorld(try Pipeline("p", tasks: [PersonTask(task)]))
    try await other.go()
    // A yes has no text.
    other.answer(TaskAnswered(node: TaskNode("h"), word: .granted, by: "ann"))
    try await other.go()
    #expect(other.state["h"]?.error?.kind == "invalid")
  }

  @Test("what no answer of a person can be is told, and nothing else is")
  func unanswerable() {
    let wrong: [(JSONValue, String)] = [
      (["type": "integer"], "“integer” is needed"),
      (["type": "object", "required": ["count"]], "it lacks “count”"),
      (
        ["type": "object", "properties": ["text": true], "additionalProperties": false],
        "takes no “by”"
      ),
    ]
    for (schema, words) in wrong {
      let faults = Self.faults([Self.asking(schema)])
      #expect(faults.count == 1 && faults[0].contains(words), "\(faults)")
    }
    #expect(Self.faults([Self.asking(["type": "object", "required": ["text", "by"]])]).isEmpty)
  }

  @Test("schemas that nest in themselves without end take no longer than others")
  func hostile() {
    var given: JSONValue = ["type": "object"]
    for _ in 0..<60 {
      given = ["type": "object", "required": ["a", "b"], "properties": ["a": given, "b": given]]
    }
    let clock = ContinuousClock()
    let elapsed = clock.measure {
      // In memory it is a tree of 61 values; looked through it would be one of 2^60.
      _ = Self.faults([Self.task("a", gives: given), Self.task("b", input: "${a}", needs: given)])
    }
    #expect(elapsed < .seconds(20))
  }

  @Test("what does not fit when it flows fails the task before it begins, or the attempt behind it")
  func atRunTime() async throws {
    let begun = Recorded()
    var needing = Self.task(
      "b", input: ["n": "${a.n}"], needs: ["properties": ["n": ["type": "string"]]])
    needing.sideEffect = .write
    let tasks: [any PipelineTask] = [
      ClosureTask(Self.task("a")) { _ in ["n": 1] },
      ClosureTask(needing) { _ in
        begun.note()
        return .null
      },
      ClosureTask(Self.task("c", gives: ["type": "string"])) { _ in 3 },
    ]
    var world = PipelineWorld(try Pipeline("p", tasks: tasks))
    try await world.go()
    #expect(world.state["b"]?.error?.kind == "input")
    #expect(world.state["b"]?.error?.message.contains("inputSchema") ?? false)
    #expect(begun.count == 0)
    #expect(world.state["c"]?.error?.kind == "invalid")
    let made = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(made.divergence == nil)
  }
}

/// Counts.
private final class Recorded: Sendable {
  private let value = Mutex(0)
  var count: Int { value.withLock { $0 } }
  func note() { value.withLock { $0 += 1 } }
}
