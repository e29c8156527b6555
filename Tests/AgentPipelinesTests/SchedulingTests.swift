import AgentPipelines
import AgentRuntime
import AgentTesting
import AgentTrace
import Synchronization
import TestSupport
import Testing

/// A closure task that only reads.
private func read(
  _ id: String, _ input: JSONValue = [:],
  _ body: @escaping @Sendable (TaskContext) async throws -> JSONValue = { $0.input ?? .null }
) -> ClosureTask {
  ClosureTask(TaskSpec(id, .closure, input: input, sideEffect: .read), body)
}

/// The same, with more said of it.
private func read(
  _ spec: TaskSpec, _ body: @escaping @Sendable (TaskContext) async throws -> JSONValue
) -> ClosureTask {
  ClosureTask(spec, body)
}

private func spec(
  _ id: String, _ input: JSONValue = [:], _ configure: (inout TaskSpec) -> Void
) -> TaskSpec {
  var spec = TaskSpec(id, .closure, input: input, sideEffect: .read)
  configure(&spec)
  return spec
}

@Suite("Scheduling of pipelines")
struct SchedulingTests {
  // MARK: What is refused

  @Test(
    "a cycle, an unknown task, a name that no edge brings and an id that stands twice are told at once"
  )
  func faults() throws {
    let faults = PipelineGraph.faults(
      in: PipelineSpec(
        "p",
        tasks: [
          TaskSpec("a", .closure, input: ["x": "${b}"], sideEffect: .read),
          TaskSpec("b", .closure, input: ["x": "${a}"], sideEffect: .read),
          TaskSpec("c", .closure, input: ["x": "${analyse}"], sideEffect: .read),
          TaskSpec("analyze", .closure, sideEffect: .read),
          TaskSpec("c", .closure, sideEffect: .read),
          TaskSpec("item", .closure, sideEffect: .read),
        ])
    ).map(\.description)
    #expect(faults.contains("task c: there is no task “analyse”; did you mean “analyze”?"))
    #expect(faults.contains { $0.hasPrefix("task c: the id “c” stands twice") })
    #expect(faults.contains { $0.hasPrefix("task item: “item” is no id") })
    #expect(faults.contains { $0.contains("a → b → a") || $0.contains("b → a → b") })
    let unbrought = PipelineGraph.faults(
      in: PipelineSpec(
        "p",
        tasks: [
          TaskSpec("a", .closure, sideEffect: .read),
          TaskSpec("b", .closure, input: ["x": "${a}"], sideEffect: .read),
        ], edges: []))
    #expect(unbrought.map(\.message) == ["no edge brings ${a} to “b”"])
  }

  @Test(
    "one output of a fan-out, and an element where there is none, are refused with what to write")
  func fanOutFaults() throws {
    var many = TaskSpec("many", .closure, sideEffect: .read)
    many.forEach = TaskReference("input.list").map { .list($0) }
    let faults = PipelineGraph.faults(
      in: PipelineSpec(
        "p",
        tasks: [
          many, TaskSpec("one", .closure, input: ["x": "${many.name}"], sideEffect: .read),
          TaskSpec("two", .closure, input: ["x": "${item}"], sideEffect: .read),
        ]))
    #expect(faults.contains { $0.hint == "${many.*.name} is the list of them" })
    #expect(faults.contains { $0.task == "two" && $0.message.hasPrefix("${item} needs a task") })
  }

  @Test("more tasks than there may be are refused without being looked at")
  func tooMany() {
    let tasks = (0...PipelineGraph.taskLimit).map { TaskSpec("t\($0)", .closure) }
    #expect(PipelineGraph.faults(in: PipelineSpec("p", tasks: tasks)).count == 1)
  }

  // MARK: Isolation

  @Test("a task sees what its inputs name, and nothing of any other task")
  func isolation() async throws {
    let seen = Mutex<[String: String]>([:])
    let note: @Sendable (TaskContext) -> JSONValue = { context in
      seen.withLock { $0[context.node.task] = CanonicalJSON.string(context.input ?? .null) }
      return .string("marker of \(context.node.task)")
    }
    let pipeline = try Pipeline(
      "p",
      tasks: [
        read("a", ["x": "${input.public}"]) { note($0) }, read("b", [:]) { note($0) },
        read("c", ["x": "${a}"]) { note($0) }, read("d", ["x": "${b}", "y": "${c}"]) { note($0) },
      ])
    var world = PipelineWorld(pipeline)
    try await world.go(input: ["public": "marker of input", "secret": "marker of secret"])
    let packets = seen.withLock { $0 }
    let expected: [String: [String]] = [
      "a": ["input"], "b": [], "c": ["a"], "d": ["b", "c"],
    ]
    for (task, names) in expected {
      for marker in ["input", "secret", "a", "b", "c", "d"] {
        let isSeen = packets[task]?.contains("marker of \(marker)\"") ?? false
        #expect(isSeen == names.contains(marker), "\(task): \(marker)")
      }
    }
    // What it saw, and where that came from, stands in the log.
    let started = world.changes().compactMap { change -> TaskStarted? in
      if case .started(let started) = change, started.node.task == "d" { return started }
      return nil
    }
    #expect(started.first?.origins.keys == ["b", "c"])
  }

  @Test("a value among words is told as other programs write it, whatever its keys begin with")
  func plainWords() async throws {
    let value: JSONValue = ["$cut": 5, "$$z": 1]
    var world = PipelineWorld(
      try Pipeline(
        "p", tasks: [read("a") { _ in value }, read("b", ["whole": "${a}", "words": "see ${a}"])]))
    try await world.go()
    guard case .finished(let end)? = world.changes().last else {
      Issue.record("it did not finish")
      return
    }
    #expect(end.output?["whole"] == value)
    let words = try #require(end.output?["words"]?.stringValue)
    #expect(words == "see " + CanonicalJSON.string(value, form: .plain))
  }

  // MARK: Failures

  @Test("an input that leads nowhere fails the task, names the place, and is not tried again")
  func missingInput() async throws {
    let pipeline = try Pipeline(
      "p",
      tasks: [
        read("a") { _ in ["there": 1] },
        read(spec("b", ["x": "${a.not_there}"]) { $0.retry = RetrySpec(max: 3) }) { _ in 1 },
      ])
    var world = PipelineWorld(pipeline)
    try await world.go()
    #expect(world.state["b"]?.settled == .failed)
    #expect(world.state["b"]?.error?.kind == "input")
    #expect(world.state["b"]?.error?.message.contains("“not_there”") == true)
    #expect(world.types.filter { $0 == "task_started" }.count == 1)
  }

  @Test(
    "a task whose output is not as it has to be is tried again, is told why, and may be given up")
  func invalid() async throws {
    let feedback = Mutex<[String?]>([])
    let task = read(
      spec("a") { spec in
        spec.validate = ["n": ["$gte": 3]]
        spec.recover = [
          RecoverRule(
            on: FailureKinds(["invalid"]), .retry, max: 2, tellsFeedback: true),
          RecoverRule(on: FailureKinds(), .substitute, value: ["n": 0]),
        ]
      }
    ) { context in
      feedback.withLock { $0.append(context.feedback) }
      return ["n": JSONValue(context.attempt - 1)]
    }
    var world = PipelineWorld(try Pipeline("p", tasks: [task]))
    try await world.go()
    let told = feedback.withLock { $0 }
    #expect(told.count == 3)
    #expect(told[0] == nil)
    #expect(told[2]?.contains("\"n\":1") == true)
    guard case .finished(let end)? = world.changes().last else {
      Issue.record("it did not finish")
      return
    }
    #expect(end.output == ["n": 0])
    #expect(end.via == "substitute")
  }

  @Test("what may have written is not tried again by itself: a person says whether it happened")
  func doubt() async throws {
    var spec = TaskSpec("a", .closure, sideEffect: .write)
    spec.retry = RetrySpec(max: 5)
    let runs = Mutex(0)
    let task = ClosureTask(spec) { _ in
      runs.withLock { $0 += 1 }
      struct Gone: Error {}
      throw Gone()
    }
    var world = PipelineWorld(try Pipeline("p", tasks: [task]))
    try await world.go()
    #expect(runs.withLock { $0 } == 1)
    #expect(world.state.stop?.detail == "unknown_effect:a")
    world.answer(TaskAnswered(node: TaskNode("a"), word: .happened, data: [1], by: "ann"))
    try await world.go()
    #expect(runs.withLock { $0 } == 1)
    #expect(world.state.stop?.reason == "success")
  }

  @Test("what a person says of a task in doubt counts for a rollback that comes before its end")
  func doubtBeforeRollback() async throws {
    for word in [TaskAnswered.Word.happened, .didNotHappen] {
      let undone = Mutex<[[String]]>([])
      var spec = TaskSpec("a", .command, sideEffect: .write)
      spec.compensate = .command(TaskTemplate(["undo", "${output}"]))
      let task = ToolTask(spec) { words, _ in
        if let words { undone.withLock { $0.append(words) } }
        return UnknownTool(isUndoing: words != nil)
      }
      var world = PipelineWorld(try Pipeline("p", tasks: [task]))
      try await world.go()
      #expect(world.state.stop?.detail == "unknown_effect:a")
      world.answer(TaskAnswered(node: TaskNode("a"), word: word, data: "id", by: "ann"))
      try await world.rollback(to: nil)
      #expect(world.state.stop?.detail == "rolled_back")
      #expect(undone.withLock { $0 } == (word == .happened ? [["undo", "id"]] : []))
    }
  }

  private struct UnknownTool: Tool {
    var isUndoing: Bool
    func run(_ request: ToolRequest) async -> ToolAnswer {
      ToolAnswer(
        result: isUndoing ? .ok(data: .null) : .error(reason: "gone", isEffectUnknown: true))
    }
  }

  /// A task that says itself what is done about its failures.
  private struct Stubborn: PipelineTask {
    var spec = TaskSpec("a", .closure, input: [:], sideEffect: .read)

    func execute(_ context: TaskContext) async throws -> TaskOutcome {
      .failed(TaskError(kind: "odd", message: "attempt \(context.attempt)"))
    }

    func recover(
      from error: TaskError, _ context: TaskContext
    ) async throws -> TaskRecovery? {
      if context.attempt < 3 { return TaskRecovery(.retry) }
      var recovery = TaskRecovery(.substitute)
      recovery.value = .string(error.message)
      return recovery
    }
  }

  @Test(
    "a task’s own code may say what is done about a failure, and the run is made again without it")
  func ownRecovery() async throws {
    var world = PipelineWorld(try Pipeline("p", tasks: [Stubborn()]))
    try await world.go()
    #expect(world.state.stop?.reason == "success")
    guard case .finished(let end)? = world.changes().last else {
      Issue.record("it did not finish")
      return
    }
    #expect(end.output == "attempt 3")
    let silent = try Pipeline("p", tasks: [ClosureTask(Stubborn().spec) { _ in 1 }])
    let again = await PipelineReexecution(of: world.events, by: silent)
    #expect(again.divergence == nil)
  }

  @Test(
    "an attempt that takes too long is ended when its time is over, all attempts when theirs is")
  func timeouts() async throws {
    let clock = ManualClock()
    let task = read(
      spec("a") { spec in
        spec.timeoutMicroseconds = 1_000_000
        spec.totalTimeoutMicroseconds = 2_500_000
        spec.retry = RetrySpec(max: 10)
      }
    ) { _ in
      await clock.wait(microseconds: 100_000_000)
      return "late"
    }
    let sink = InMemoryEventSink()
    let runtime = PipelineRuntime(
      try Pipeline("p", tasks: [task]), clock: clock, identifiers: SeededRunIDs(seed: 1))
    let mover = Task {
      while !Task.isCancelled {
        if clock.waitingCount > 1 { clock.advance(byMicroseconds: 100_000) }
        try? await Task.sleep(for: .microseconds(300))
      }
    }
    let state = try await runtime.run(PipelineRuntime.Start(), into: sink)
    mover.cancel()
    let kinds = sink.events.filter { $0.type == .taskFailed }.map { $0.data["error"]?["kind"] }
    #expect(kinds == ["timeout", "timeout", "total_timeout"])
    #expect(state["a"]?.settled == .failed)
  }

  @Test(
    "a breaker opens behind so many failures, refuses for a while, and lets one attempt through")
  func breaker() async throws {
    var spec = TaskSpec("a", .closure, input: ["i": "${item}"], sideEffect: .read)
    spec.forEach = TaskReference("input").map { .list($0) }
    spec.concurrency = 1
    spec.breaker = BreakerSpec(failures: 2, coolMicroseconds: 60_000_000)
    spec.recover = [
      RecoverRule(
        on: FailureKinds(["breaker_open"]), .retry, max: 1, backoffMicroseconds: 200_000_000),
      RecoverRule(on: FailureKinds(), .skip),
    ]
    let runs = Mutex<[Int]>([])
    let task = ClosureTask(spec) { context in
      let item = context.node.element ?? 0
      runs.withLock { $0.append(item) }
      if item < 2 { throw TaskError(.toolFailure, "down") }
      return "up"
    }
    var world = PipelineWorld(try Pipeline("p", tasks: [task]))
    try await world.go(input: [0, 1, 2, 3])
    #expect(runs.withLock { $0 } == [0, 1, 2, 3])
    let states = world.events.filter { $0.type == .breakerChanged }.map { $0.data["state"] }
    #expect(states == ["open", "half_open", "closed"])
    let kinds = world.events.filter { $0.type == .taskFailed }.map { $0.data["error"]?["kind"] }
    #expect(kinds == ["tool_failure", "tool_failure", "breaker_open", "breaker_open"])
    #expect(world.state["a"]?.settled == .finished)
  }

  @Test(
    "a rule that compensates undoes all that was done, the last first, and ends the run for good")
  func compensates() async throws {
    let undone = Mutex<[String]>([])
    func write(_ id: String, _ input: JSONValue) -> ClosureTask {
      ClosureTask(
        TaskSpec(id, .closure, input: input, sideEffect: .write),
        undo: { context in undone.withLock { $0.append("\(context.node)") } }, { _ in 1 })
    }
    let failing = read(
      spec("c", ["x": "${b}"]) { $0.recover = [RecoverRule(on: FailureKinds(), .compensate)] }
    ) { _ in throw TaskError(.toolFailure, "no") }
    var world = PipelineWorld(
      try Pipeline("p", tasks: [write("a", [:]), write("b", ["x": "${a}"]), failing]))
    try await world.go()
    #expect(undone.withLock { $0 } == ["b", "a"])
    #expect(world.state.stop?.detail == "compensated")
    #expect(world.state.stop?.isFinal == true)
    #expect(
      world.state.result
        == ["a": ["settled": "undone"], "b": ["settled": "undone"], "c": ["settled": "failed"]])
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
  }

  // MARK: Streams

  @Test(
    "who takes the parts of an output begins at the first, and the elements of a fan-out as they come"
  )
  func streams() async throws {
    let order = Mutex<[String]>([])
    let (gate, opening) = AsyncStream<Void>.makeStream()
    let source = read("source") { context in
      _ = await context.emit("first")
      // The consumer of the first part lets the second be given.
      for await _ in gate { break }
      _ = await context.emit("second")
      return "end"
    }
    let each = read(spec("each", ["p": "${item}"]) { $0.forEach = .parts(of: "source") }) {
      context in
      order.withLock { $0.append("each \(context.input?["p"] ?? .null)") }
      opening.finish()
      return context.input?["p"] ?? .null
    }
    let next = read(
      spec("next", ["q": "${item}"]) { $0.forEach = TaskReference("each.*").map { .list($0) } }
    ) { context in
      order.withLock { $0.append("next \(context.input?["q"] ?? .null)") }
      return 1
    }
    var world = PipelineWorld(try Pipeline("p", tasks: [source, each, next]))
    try await world.go()
    #expect(world.state.stop?.reason == "success")
    #expect(
      order.withLock { $0 }.sorted() == [
        "each \"first\"", "each \"second\"", "next \"first\"", "next \"second\"",
      ])
    #expect(world.state["next"]?.finished.count == 2)
    // The first element of each was through before the source had ended.
    let ended = world.events.first { $0.type == .taskFinished && $0.data["task"] == "source" }?.seq
    let first = world.events.first { $0.type == .taskFinished && $0.data["task"] == "each" }?.seq
    #expect(try #require(first) < (try #require(ended)))
  }

  /// A task that gives a part and fails, those that run for its parts, and what is done about it.
  private static func parted(
    gives: Bool, _ rule: RecoverRule?, standIn: JSONValue? = nil
  ) throws -> Pipeline {
    let source = read(
      spec("source") {
        $0.recover = rule.map { [$0] } ?? []
      }
    ) { context in
      if gives { _ = await context.emit(7) }
      throw TaskError(.toolFailure, "no")
    }
    let each = read(spec("each", ["p": "${item}"]) { $0.forEach = .parts(of: "source") }) {
      $0.input?["p"] ?? .null
    }
    var tasks: [any PipelineTask] = [source, each, read("use", ["all": "${each.*}"])]
    if let standIn {
      let tool = ToolTask(TaskSpec("other", .command, sideEffect: .read)) { _, _ in
        ReturningTool(data: standIn)
      }
      tasks.append(tool)
    }
    return try Pipeline("p", tasks: tasks)
  }

  private struct ReturningTool: Tool {
    var data: JSONValue
    func run(_ request: ToolRequest) async -> ToolAnswer { ToolAnswer(result: .ok(data: data)) }
  }

  private static func end(_ pipeline: Pipeline) async throws -> PipelineWorld {
    // Whether an element began before its source ended is left to chance.
    func settled(_ world: PipelineWorld) -> [String: String] {
      world.state.tasks.reduce(into: [:]) { $0[$1.id] = $1.settled?.rawValue }
    }
    var world = PipelineWorld(pipeline)
    try await world.go()
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
    for limit in 1..<world.events.count {
      var killed = PipelineWorld(pipeline)
      try await killed.go(limit: limit)
      try await killed.go()
      #expect(settled(killed) == settled(world), "\(limit)")
      let again = await PipelineReexecution(of: killed.events, by: pipeline)
      #expect(again.divergence == nil, "\(limit)")
    }
    return world
  }

  @Test(
    "a list that stands in for what gives parts is its parts, behind those that were given",
    arguments: [false, true])
  func listStandsIn(gives: Bool) async throws {
    let whole: JSONValue = [7, 8, 9]
    let rule = RecoverRule(on: FailureKinds(), .substitute, value: whole)
    let fallback = RecoverRule(on: FailureKinds(), .fallback, task: "other")
    for pipeline in [
      try Self.parted(gives: gives, rule),
      try Self.parted(gives: gives, fallback, standIn: whole),
    ] {
      let world = try await Self.end(pipeline)
      #expect(world.state.stop?.reason == "success")
      #expect(world.state["each"]?.finished.count == 3)
      let used = world.changes().compactMap { change -> JSONValue? in
        if case .finished(let end) = change, end.node.task == "use" { return end.output }
        return nil
      }
      #expect(used == [["all": whole]])
    }
  }

  @Test("what stands in for what gives parts and is no list of them fails who takes them")
  func noListStandsIn() async throws {
    let rules: [(gives: Bool, RecoverRule)] = [
      (false, RecoverRule(on: FailureKinds(), .substitute, value: "words")),
      (true, RecoverRule(on: FailureKinds(), .substitute, value: [8, 9])),
      (true, RecoverRule(on: FailureKinds(), .substitute, value: [])),
      (true, RecoverRule(on: FailureKinds(), .skip)),
    ]
    for (gives, rule) in rules {
      let world = try await Self.end(try Self.parted(gives: gives, rule))
      #expect(world.state["each"]?.error?.kind == "upstream_failed", "\(rule)")
      #expect(world.state.stop?.detail == "task:each", "\(rule)")
    }
    let skipped = try await Self.end(
      try Self.parted(gives: false, RecoverRule(on: FailureKinds(), .skip)))
    #expect(skipped.state["each"]?.settled == .skipped)
  }

  @Test(
    "what is under way for an element ends before its fan-out is skipped, and is not lost",
    .timeLimit(.minutes(1)))
  func skippedBehindElements() async throws {
    struct Broken: Error {}
    let (begun, beginning) = AsyncStream<Void>.makeStream()
    let (gate, opening) = AsyncStream<Void>.makeStream()
    let source = read("source") { context in
      _ = await context.emit("first")
      for await _ in begun {}
      throw Broken()
    }
    // It has no elements to end with: its source failed.
    let each = read(
      spec("each", ["p": "${item}"]) {
        $0.forEach = .parts(of: "source")
        $0.recover = [RecoverRule(on: FailureKinds(), .skip)]
      }
    ) { _ in 1 }
    let next = read(
      spec("next", ["q": "${item}"]) { $0.forEach = TaskReference("each.*").map { .list($0) } }
    ) { _ in
      beginning.finish()
      for await _ in gate {}
      return 2
    }
    // It begins behind the end of the fan-out, and lets the element end.
    let after = read("after", ["e": "${each}"]) { _ in
      opening.finish()
      return 3
    }
    var world = PipelineWorld(try Pipeline("p", tasks: [source, each, next, after]))
    try await world.go()
    func seq(_ type: EventType, _ isIt: (JSONObject) -> Bool) -> Int? {
      world.events.first { $0.type == type && $0.data["task"] == "next" && isIt($0.data) }?.seq
    }
    let element = seq(.taskFinished) { $0["element"] == 0 }
    let whole = seq(.taskSkipped) { $0["element"] == nil }
    #expect(try #require(element) < (try #require(whole)))
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
  }

  @Test(
    "events are given as they are recorded, no further ahead than there is room; who leaves lets it pause"
  )
  func events() async throws {
    let count = 2_000
    let list = read("list") { _ in .array((0..<count).map { JSONValue($0) }) }
    let each = read(
      spec("each", ["i": "${item}"]) { $0.forEach = TaskReference("list").map { .list($0) } }
    ) { _ in 1 }
    final class Counting: EventSink, Sendable {
      let kept = Mutex(0)
      var needsDigests: Bool { false }
      func append(_ event: Event, isEffectAhead: Bool) { kept.withLock { $0 += 1 } }
    }
    func run(_ sink: Counting) throws -> (PipelineRuntime, PipelineEvents) {
      let runtime = PipelineRuntime(
        try Pipeline("p", tasks: [list, each]), clock: TickingClock(0),
        identifiers: SeededRunIDs(seed: 1))
      return (runtime, runtime.execute(PipelineRuntime.Start(), into: { sink }))
    }
    let whole = Counting()
    let (_, all) = try run(whole)
    var seen = 0
    for try await event in all {
      #expect(event.seq == seen)
      seen += 1
      #expect(whole.kept.withLock { $0 } <= seen + PipelineEvents.capacity + 1)
    }
    #expect(seen == 2 * count + 6)
    let part = Counting()
    var (runtime, some): (PipelineRuntime, PipelineEvents?) = try run(part)
    var taken = 0
    if let events = some {
      for try await _ in events {
        taken += 1
        if taken == 10 { break }
      }
    }
    some = nil
    #expect(part.kept.withLock { $0 } < count)
    #expect(runtime.pausing.signal == "pause")
    _ = runtime
  }

  // MARK: Size

  @Test("a fan-out of 100,000 elements runs, and its state stays as small as its gaps")
  func large() async throws {
    let count = TestRun.count(20_000, long: 100_000)
    let list = read("list") { _ in .array((0..<count).map { JSONValue($0) }) }
    let each = read(
      spec("each", ["i": "${item}"]) { $0.forEach = TaskReference("list").map { .list($0) } }
    ) { $0.input?["i"] ?? .null }
    final class Counting: EventSink {
      var count = 0
      var needsDigests: Bool { false }
      func append(_ event: Event, isEffectAhead: Bool) { count += 1 }
    }
    let sink = Counting()
    let runtime = PipelineRuntime(
      try Pipeline("p", tasks: [list, each]), clock: FixedClock(),
      identifiers: SeededRunIDs(seed: 1))
    var most = 0
    let state = try await runtime.run(PipelineRuntime.Start(), into: sink)
    most = max(most, state["each"]?.finished.ranges.count ?? 0)
    #expect(state.stop?.reason == "success")
    #expect(state["each"]?.finished.count == count)
    #expect(most == 1)
    #expect(sink.count == 2 * count + 6)
  }

  // MARK: A changed definition

  @Test(
    "a pipeline that is another one does not go on in silence: the first task that differs is named"
  )
  func changed() async throws {
    func pipeline(_ validate: JSONValue?, name: String = "b") throws -> Pipeline {
      var person = TaskSpec("person", .human)
      person.human = HumanSpec(ask: TaskTemplate("well?"))
      return try Pipeline(
        "p",
        tasks: [
          read(spec("a") { $0.validate = validate }) { _ in 1 }, PersonTask(person),
          read(name, ["x": "${a}", "y": "${person}"]),
        ])
    }
    var world = PipelineWorld(try pipeline(nil))
    try await world.go()
    world.answer(TaskAnswered(node: TaskNode("person"), word: .granted, by: "ann"))
    world.pipeline = try pipeline(["$gte": 0])
    await #expect {
      try await world.go()
    } throws: { error in
      guard let change = error as? PipelineChange else { return false }
      return change.task == "a" && change.key == "validate" && change.hadEnded
        && change.before == nil && change.now == ["$gte": 0]
    }
    world.pipeline = try pipeline(nil, name: "c")
    await #expect {
      try await world.go()
    } throws: { error in
      guard let change = error as? PipelineChange else { return false }
      return change.task == "b" && change.now == nil && !change.hadEnded
    }
    world.pipeline = try pipeline(nil)
    try await world.go()
    #expect(world.state.stop?.reason == "success")
  }

  @Test(
    "made again by a pipeline that decides otherwise, a run differs at the first event that it makes otherwise"
  )
  func diverges() async throws {
    func pipeline(_ retries: Int) throws -> Pipeline {
      try Pipeline(
        "p",
        tasks: [
          read(spec("a") { $0.retry = RetrySpec(max: retries) }) { context in
            if context.attempt == 1 { throw TaskError(.toolFailure, "once") }
            return 1
          }
        ])
    }
    var world = PipelineWorld(try pipeline(1))
    try await world.go()
    #expect(world.state.stop?.reason == "success")
    let same = await PipelineReexecution(of: world.events, by: try pipeline(1))
    #expect(same.divergence == nil)
    let other = await PipelineReexecution(of: world.events, by: try pipeline(0))
    #expect(other.divergence?.seq == 2)
    #expect(other.divergence?.cause == "task")
    var tampered = world.events
    tampered[4].data["attempt"] = 7
    let found = await PipelineReexecution(of: tampered, by: try pipeline(1))
    #expect(found.divergence != nil)
  }
}
