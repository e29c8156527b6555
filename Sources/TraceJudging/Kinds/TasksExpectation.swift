import AgentTrace
import TraceMatching

/// What became of the tasks of a pipeline.
struct TasksExpectation: EndExpectation {
  var rules: [TaskRule]

  static let key = "tasks"
  static let summary = ExpectationSummary(
    takes: "a mapping of lists and mappings",
    holds:
      "tasks of a pipeline ran or did not, in this order, and ended with this status and output")

  static var schema: JSONValue {
    func mapping(_ text: String, _ value: JSONValue) -> JSONValue {
      [
        "description": .string(text), "type": "object", "minProperties": 1,
        "additionalProperties": value,
      ]
    }
    let words = TaskFacts.Status.allCases.map(\.rawValue)
    let status: JSONValue = [
      "anyOf": [ExpectationSchema.word(words), ExpectationSchema.words(words)]
    ]
    return ExpectationSchema.mapping(
      "What became of the tasks of a pipeline.",
      [
        ("ran", ExpectationSchema.list("Tasks that ran.", ExpectationSchema.ref("taskThatRan"))),
        (
          "notRan",
          ExpectationSchema.list("Tasks that did not run.", ExpectationSchema.ref("taskAddress"))
        ),
        (
          "order",
          ExpectationSchema.list(
            "Each had ended before the next began.", ExpectationSchema.oneOrMore("taskAddress"))
        ),
        ("status", mapping("What became of tasks.", status)),
        ("attempts", mapping("How often tasks were tried.", ExpectationSchema.ref("times"))),
        ("output", mapping("What tasks returned.", ExpectationSchema.ref("matcher"))),
        ("elements", mapping("How many elements fan-outs had.", ExpectationSchema.ref("times"))),
        (
          "by",
          mapping(
            "Who gave the output, if not the task: another task, substitute or person.",
            ExpectationSchema.glob)
        ),
        ("undone", mapping("How many effects were undone.", ExpectationSchema.ref("times"))),
      ])
  }
  static var schemaParts: JSONObject {
    [
      "taskAddress": [
        "description": "A task, a glob of tasks, an element as task[3], or all as task[*].",
        "type": "string", "pattern": "^[^\\[\\]]+(\\[(\\*|0|[1-9][0-9]*)\\])?$",
      ],
      "taskThatRan": [
        "anyOf": [
          ExpectationSchema.ref("taskAddress"),
          [
            "type": "object", "additionalProperties": false, "required": ["task"],
            "properties": [
              "task": ExpectationSchema.described("The task, or elements of it.", "taskAddress"),
              "times": ExpectationSchema.described(
                "How many of them: a number, or min and max.", "times"),
            ],
          ],
        ]
      ],
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] { [] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.tasks(value, at: pointer).map(Self.init(rules:))
  }

  var needs: TrajectoryNeeds { .all }
  var facts: Facts {
    let asksOutputs = rules.contains { if case .output = $0.claim { true } else { false } }
    return asksOutputs ? [.tasks, .taskOutputs] : .tasks
  }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] {
    guard let object = value.objectValue else { return AskedPart.whole(key, value) }
    return object.flatMap { member -> [AskedPart] in
      let name = "\(key).\(member.key)"
      // An order is one thing: a step that is left out changes what stands beside it.
      if member.key == "order" { return AskedPart.whole(name, member.value) }
      guard let parts = member.value.objectValue else {
        return AskedPart.elements(name, member.value)
      }
      return parts.map { AskedPart(name: "\(name) \($0.key)", value: $0.value) }
    }
  }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    if change.list.hasPrefix("\(key).output") {
      return MatcherProof.shows(change.now, within: change.was)
    }
    return change.list.hasPrefix("\(key).status") && change.isChoiceNarrowed
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { rules.map(run.tasks) }

  static func addConformance(to book: inout ConformanceBook) {
    let run = ConformanceRun.pipeline
    func add(_ title: String, _ expected: JSONValue, is outcome: Outcome) {
      book.check(title, expected, on: run, is: outcome)
    }
    add("a task that ran", ["ran": ["fetch"]], is: .pass)
    add("a task that never began", ["ran": ["send"]], is: .fail)
    add("a task that must not run", ["notRan": ["fetch"]], is: .fail)
    add("a task that did not run", ["notRan": ["send"]], is: .pass)
    add("a task that the pipeline does not have", ["notRan": ["sent"]], is: .unverifiable)
    add("elements of a task that is no fan-out", ["notRan": ["fetch[*]"]], is: .unverifiable)
    add(
      "as many elements as ran", ["ran": [["task": "look[*]", "times": 2]]], is: .pass)
    add("a fan-out of another size", ["elements": ["look": 3]], is: .fail)
    add("one had ended before the other began", ["order": ["fetch", "look"]], is: .pass)
    add("the other way round", ["order": ["look", "fetch"]], is: .fail)
    add("elements side by side", ["order": ["look[0]", "look[1]"]], is: .fail)
    add("tried once more than allowed", ["attempts": ["fetch": 1]], is: .fail)
    add("tried as often as it was", ["attempts": ["fetch": 2]], is: .pass)
    add("the attempts of a fan-out as a whole", ["attempts": ["look": 1]], is: .unverifiable)
    add("every element has this output", ["output": ["look[*]": ["n": ["$gte": 1]]]], is: .pass)
    add("one element has another output", ["output": ["look[*]": ["n": 1]]], is: .fail)
    add("the output of a fan-out as a whole", ["output": ["look": []]], is: .unverifiable)
    add("a status", ["status": ["look": "finished", "send": "failed"]], is: .fail)
    book.check(
      "a run that is no pipeline", ["notRan": ["send"]], on: ConformanceRun("a"), is: .unverifiable)
    book.check(
      "what a torn log does not show", ["notRan": ["send"]], on: .tornPipeline, is: .unverifiable)
  }
}

/// One thing that is asked of tasks.
struct TaskRule: Sendable, Hashable {
  /// The keys below `tasks`, in the order in which outcomes are told.
  static let keys = [
    "ran", "notRan", "order", "status", "attempts", "output", "elements", "by", "undone",
  ]

  /// What is asked.
  enum Claim: Sendable, Hashable {
    case ran(TaskAddress, CallEntry.Times)
    case notRan(TaskAddress)
    case order([[TaskAddress]])
    case status(TaskAddress, [TaskFacts.Status])
    case attempts(TaskAddress, CallEntry.Times)
    case output(TaskAddress, Matcher)
    case elements(TaskAddress, CallEntry.Times)
    case by(TaskAddress, Glob)
    case undone(TaskAddress, CallEntry.Times)
  }

  /// Its place: `tasks.ran[0]`, `tasks.status publish`.
  var name: String
  var claim: Claim

  /// The tasks that it speaks of.
  var addresses: [TaskAddress] {
    switch claim {
    case .ran(let address, _), .notRan(let address), .status(let address, _),
      .attempts(let address, _), .output(let address, _), .elements(let address, _),
      .by(let address, _), .undone(let address, _):
      [address]
    case .order(let steps): steps.flatMap { $0 }
    }
  }
}

extension ExpectationReader {
  fileprivate mutating func tasks(_ value: JSONValue, at pointer: JSONPointer) -> [TaskRule]? {
    let keys = TaskRule.keys
    guard let object = mapping(value, at: pointer, keys: keys, "a mapping of lists and mappings")
    else { return nil }
    if object.isEmpty { report(pointer, "nothing is expected of tasks") }
    var rules: [TaskRule] = []
    for key in keys {
      guard let value = object[key] else { continue }
      let place = pointer.appending(key)
      switch key {
      case "ran", "notRan": rules += taskList(value, key, at: place)
      case "order": rules += order(value, at: place).map { [$0] } ?? []
      default: rules += taskMapping(value, key, at: place)
      }
    }
    return rules.isEmpty ? nil : rules
  }

  private mutating func address(_ value: JSONValue?, at pointer: JSONPointer) -> TaskAddress? {
    guard let text = value?.stringValue else {
      return refuse(pointer, "must be a task’s name, not \(value?.typeName ?? "nothing")")
    }
    guard let address = TaskAddress(text) else {
      return refuse(
        pointer, "“\(text.prefix(utf8Bytes: 80))” names no task",
        hint: "write publish, measure[3] for one element, or measure[*] for all")
    }
    return address
  }

  private mutating func taskList(
    _ value: JSONValue, _ key: String, at pointer: JSONPointer
  ) -> [TaskRule] {
    let read = list(value, at: pointer) { reader, value, place -> TaskRule.Claim? in
      if key == "notRan" { return reader.address(value, at: place).map { .notRan($0) } }
      var times = CallEntry.Times(minimum: 1, maximum: nil)
      var task: JSONValue? = value
      if value.objectValue != nil {
        guard let object = reader.mapping(value, at: place, keys: ["task", "times"], "a task")
        else { return nil }
        task = object["task"]
        if let said = object["times"] {
          guard let read = reader.times(said, at: place.appending("times")) else { return nil }
          times = read
        }
      }
      return reader.address(task, at: place).map { .ran($0, times) }
    }
    return (read ?? []).enumerated().map { index, claim in
      TaskRule(name: "tasks.\(key)[\(index)]", claim: claim)
    }
  }

  private mutating func order(_ value: JSONValue, at pointer: JSONPointer) -> TaskRule? {
    let steps = list(value, at: pointer) { reader, value, place in
      reader.oneOrMore(value, at: place) { $0.address($1, at: $2) }
    }
    guard let steps else { return nil }
    guard steps.count > 1 else { return refuse(pointer, "an order has at least two steps") }
    return TaskRule(name: "tasks.order", claim: .order(steps))
  }

  private mutating func taskMapping(
    _ value: JSONValue, _ key: String, at pointer: JSONPointer
  ) -> [TaskRule] {
    guard let object = value.objectValue, !object.isEmpty else {
      report(pointer, "must be a mapping from tasks to what is expected of each")
      return []
    }
    guard object.count <= Expectations.entryLimit else {
      report(pointer, "more than \(Expectations.entryLimit) entries")
      return []
    }
    return object.compactMap { member in
      let place = pointer.appending(member.key)
      guard let address = address(.string(member.key), at: place),
        let claim = claim(key, address, member.value, at: place)
      else { return nil }
      return TaskRule(name: "tasks.\(key) \(member.key)", claim: claim)
    }
  }

  private mutating func claim(
    _ key: String, _ address: TaskAddress, _ value: JSONValue, at place: JSONPointer
  ) -> TaskRule.Claim? {
    switch key {
    case "status":
      words(value, at: place, TaskFacts.Status.self, "a status of a task").map {
        .status(address, $0)
      }
    case "output": matcher(value, at: place).map { .output(address, $0) }
    case "by":
      if let text = value.stringValue {
        glob(text, at: place).map { .by(address, $0) }
      } else {
        { () -> TaskRule.Claim? in
          return refuse(place, "must be a task’s name, substitute or person, not \(value.typeName)")
        }()
      }
    case "attempts": times(value, at: place).map { .attempts(address, $0) }
    case "elements": times(value, at: place).map { .elements(address, $0) }
    default: times(value, at: place).map { .undone(address, $0) }
    }
  }
}
