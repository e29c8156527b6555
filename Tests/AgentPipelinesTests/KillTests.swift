import AgentPipelines
import AgentRuntime
import AgentTrace
import Synchronization
import Testing

/// Counts what tasks did to a world outside, by their keys.
final class Outside: Sendable {
  struct State {
    var done: [String: Int] = [:]
    var undone: [String] = []
    var runs: [String: Int] = [:]
  }

  let state = Mutex(State())

  func `do`(_ context: TaskContext) {
    state.withLock {
      $0.done[context.idempotencyKey, default: 0] += 1
      $0.runs["\(context.node)", default: 0] += 1
    }
  }
}

@Suite("Killed at each event")
struct KillTests {
  private static func write(
    _ id: String, input: JSONValue, idempotent: Bool, _ outside: Outside
  ) -> ClosureTask {
    var spec = TaskSpec(id, .closure, input: input, sideEffect: .write)
    spec.isIdempotent = idempotent
    return ClosureTask(
      spec,
      undo: { context in outside.state.withLock { $0.undone.append("\(context.node)") } },
      { context in
        outside.do(context)
        return context.input ?? .null
      })
  }

  private static func read(
    _ id: String, input: JSONValue, _ body: @escaping @Sendable (TaskContext) async -> JSONValue
  ) -> ClosureTask {
    ClosureTask(TaskSpec(id, .closure, input: input, sideEffect: .read)) { await body($0) }
  }

  /// The six shapes, by their names.
  static func pipeline(_ name: String, _ outside: Outside) throws -> Pipeline {
    switch name {
    case "chain":
      let tasks = (0..<5).map { number -> any PipelineTask in
        let above = JSONValue.string("${t\(number - 1)}")
        let input: JSONValue = number == 0 ? "${input}" : ["x": above]
        return write("t\(number)", input: input, idempotent: number % 2 == 0, outside)
      }
      return try Pipeline(name, tasks: tasks)
    case "diamond":
      return try Pipeline(
        name,
        tasks: [
          read("top", input: [:]) { _ in 1 },
          write("left", input: ["x": "${top}"], idempotent: false, outside),
          write("right", input: ["x": "${top}"], idempotent: true, outside),
          read("bottom", input: ["l": "${left}", "r": "${right}"]) { $0.input ?? .null },
        ])
    case "fan-out":
      var each = write("each", input: ["item": "${item}"], idempotent: true, outside)
      each.spec.forEach = TaskReference("list").map { .list($0) }
      each.spec.concurrency = 4
      return try Pipeline(
        name,
        tasks: [
          read("list", input: [:]) { _ in .array((0..<50).map { JSONValue($0) }) }, each,
          read("sum", input: ["all": "${each.*.item}"]) { context in
            let numbers = context.input?["all"]?.arrayValue?.compactMap(\.intValue) ?? []
            return JSONValue(numbers.reduce(0, +))
          },
        ])
    case "streaming":
      var each = write("each", input: ["item": "${item}"], idempotent: true, outside)
      each.spec.forEach = .parts(of: "source")
      return try Pipeline(
        name,
        tasks: [
          read("source", input: [:]) { context in
            for number in 0..<6 { guard await context.emit(JSONValue(number)) else { break } }
            return "done"
          }, each,
        ])
    case "human":
      var person = TaskSpec("person", .human)
      person.human = HumanSpec(ask: TaskTemplate("well?"), show: TaskTemplate("${first}"))
      return try Pipeline(
        name,
        tasks: [
          read("first", input: [:]) { _ in 1 }, PersonTask(person),
          write("last", input: ["said": "${person.granted}"], idempotent: false, outside),
        ])
    default:
      return try Pipeline(
        name,
        tasks: [
          write("first", input: [:], idempotent: true, outside),
          write("second", input: ["x": "${first}"], idempotent: true, outside),
          write("third", input: ["x": "${second}"], idempotent: true, outside),
        ])
    }
  }

  static let names = ["chain", "diamond", "fan-out", "streaming", "human"]

  private static func finish(_ world: inout PipelineWorld) async throws {
    var rounds = 0
    while !world.isOver, rounds < 100 {
      rounds += 1
      for (node, why) in world.state.questions {
        let word: TaskAnswered.Word = why == .doubt ? .didNotHappen : .granted
        world.answer(TaskAnswered(node: node, word: word, by: "ann"))
      }
      try await world.go(input: 5)
    }
  }

  @Test(
    "whatever event a process is killed behind, what ended runs once, and the end is the same",
    arguments: names)
  func killed(_ name: String) async throws {
    let calm = Outside()
    var whole = PipelineWorld(try Self.pipeline(name, calm))
    try await Self.finish(&whole)
    #expect(whole.state.stop?.reason == "success")
    let outputs = Self.outputs(of: whole)
    for limit in 1..<whole.events.count {
      let outside = Outside()
      var world = PipelineWorld(try Self.pipeline(name, outside))
      let wasKilled = try await world.go(input: 5, limit: limit)
      let ended = Self.ended(world)
      let before = outside.state.withLock { $0.runs }
      let inDoubt = Self.open(world)
      try await Self.finish(&world)
      #expect(world.state.stop?.reason == "success", "\(limit)")
      #expect(world.state.result == whole.state.result, "\(limit)")
      #expect(Self.outputs(of: world) == outputs, "\(limit)")
      guard wasKilled else { continue }
      let after = outside.state.withLock { $0.runs }
      for (node, count) in after {
        // What ended never runs again; what was under way is named, and ran once more at most.
        let most = inDoubt.contains(node) ? 2 : 1
        #expect(count <= most, "\(limit): \(node)")
        if ended.contains(node) { #expect(count == before[node], "\(limit): \(node)") }
      }
      let told = Set(
        world.changes().compactMap { change -> String? in
          guard case .failed(let failed) = change, failed.error.kind == "interrupted" else {
            return nil
          }
          return "\(failed.node)"
        })
      #expect(told == inDoubt, "\(limit)")
    }
  }

  @Test(
    "killed behind any event of a rollback, each effect is undone, and nothing is said too soon")
  func killedRollback() async throws {
    let calm = Outside()
    var start = PipelineWorld(try Self.pipeline("rollback", calm))
    // It stops behind the second task, so that there is something to go back from.
    try await start.go(input: 5, pauseAt: 5)
    #expect(start.state.stop?.detail == "paused")
    let first = start.events.count
    var whole = start
    try await whole.rollback(to: "first")
    let undone = calm.state.withLock { $0.undone }
    #expect(!undone.isEmpty)
    #expect(undone == undone.sorted(by: >))
    for limit in (first + 1)...whole.events.count {
      let outside = Outside()
      var world = PipelineWorld(try Self.pipeline("rollback", outside))
      world.events = start.events
      world.state = start.state
      try await world.rollback(to: "first", limit: limit)
      let isSaid = world.types.contains("rolled_back")
      if isSaid { #expect(Set(outside.state.withLock { $0.undone }) == Set(undone)) }
      try await Self.finish(&world)
      #expect(world.state.stop?.reason == "success", "\(limit)")
      if world.types.contains("rollback_started") {
        #expect(Set(outside.state.withLock { $0.undone }) == Set(undone), "\(limit)")
        #expect(world.types.contains("rolled_back"))
        // What was undone is another action when it is done again.
        let keys = world.changes().compactMap { change -> String? in
          if case .started(let started) = change, started.node.task == "second" {
            return started.idempotencyKey
          }
          return nil
        }
        #expect(Set(keys).count == keys.count, "\(limit)")
      }
    }
  }

  @Test(
    "killed behind any event of a rollback, what stays before the checkpoint is there for what runs anew"
  )
  func killedRollbackReadsAnew() async throws {
    func pipeline(_ outside: Outside) throws -> Pipeline {
      try Pipeline(
        "p",
        tasks: [
          Self.read("list", input: 7) { _ in ["v": 7] },
          Self.read("reader", input: ["x": "${list.v}"]) { $0.input ?? .null },
          Self.write("w", input: ["x": "${reader}"], idempotent: true, outside),
          Self.read("last", input: ["x": "${w}"]) { _ in 1 },
        ])
    }
    var start = PipelineWorld(try pipeline(Outside()))
    try await start.go(pauseAt: 6)
    #expect(start.state["w"]?.settled == .finished)
    #expect(start.state.stop?.detail == "paused")
    var whole = start
    try await whole.rollback(to: "list")
    for limit in (start.events.count + 1)...whole.events.count {
      var world = PipelineWorld(try pipeline(Outside()))
      (world.events, world.state) = (start.events, start.state)
      try await world.rollback(to: "list", limit: limit)
      try await Self.finish(&world)
      #expect(world.state.stop?.reason == "success", "\(limit)")
      #expect(Self.outputs(of: world)["reader"] == ["x": 7], "\(limit)")
      let again = await PipelineReexecution(of: world.events, by: world.pipeline)
      #expect(again.divergence == nil, "\(limit)")
    }
  }

  private static func outputs(of world: PipelineWorld) -> [String: JSONValue] {
    var outputs: [String: JSONValue] = [:]
    for case .finished(let end) in world.changes() {
      outputs["\(end.node)"] = end.output ?? .null
    }
    return outputs
  }

  private static func ended(_ world: PipelineWorld) -> Set<String> {
    Set(
      world.changes().compactMap { change in
        if case .finished(let end) = change { return "\(end.node)" }
        return nil
      })
  }

  private static func open(_ world: PipelineWorld) -> Set<String> {
    Set(
      world.state.tasks.flatMap { task in
        task.active.filter { $0.phase == .running }.map {
          "\(TaskNode(task.id, element: $0.element))"
        }
      })
  }
}
