import AgentRuntime
import AgentTrace
import Synchronization
import Testing

@testable import AgentPipelines

@Suite("Attempts that are told to end")
struct EndingTests {
  /// What happened, in order.
  private final class Notes: Sendable {
    private let notes = Mutex<[String]>([])

    func add(_ note: String) { notes.withLock { $0.append(note) } }

    var all: [String] { notes.withLock { $0 } }
  }

  /// Waits until it is told to end, and then goes on for a while all the same, as a program does that closes its files.
  private static func workOn() async {
    try? await Task.sleep(for: .seconds(600))
    let end = ContinuousClock.now + .milliseconds(20)
    while ContinuousClock.now < end { await Task.yield() }
  }

  @Test("what comes behind an attempt whose time is over begins once it has ended")
  func endsFirst() async throws {
    let notes = Notes()
    var spec = TaskSpec("a", .closure, sideEffect: .read)
    spec.timeoutMicroseconds = 5_000
    spec.retry = RetrySpec(max: 1)
    spec.recover = [RecoverRule(on: FailureKinds(), .fallback, task: "b")]
    var beside = TaskSpec("c", .closure, sideEffect: .read)
    (spec.labels, beside.labels) = (["one"], ["one"])
    let work: @Sendable (TaskContext) async throws -> JSONValue = { context in
      notes.add("begun \(context.node) \(context.attempt)")
      await Self.workOn()
      notes.add("ended \(context.node) \(context.attempt)")
      return "too late"
    }
    let other: @Sendable (TaskContext) async throws -> JSONValue = { context in
      notes.add("\(context.node)")
      return 1
    }
    var pipeline = PipelineSpec(
      "p", tasks: [spec, TaskSpec("b", .closure, sideEffect: .read), beside])
    pipeline.labelConcurrency = ["one": 1]
    var world = PipelineWorld(
      try Pipeline(
        pipeline,
        tasks: [
          ClosureTask(spec, work), ClosureTask(pipeline.tasks[1], other),
          ClosureTask(beside, other),
        ]))
    try await world.go()
    #expect(
      notes.all.filter { $0 != "c" } == ["begun a 1", "ended a 1", "begun a 2", "ended a 2", "a"])
    #expect(!notes.all.drop { $0 != "begun a 1" }.prefix { $0 != "ended a 1" }.contains("c"))
    let kinds = world.events.filter { $0.type == .taskFailed }.map { $0.data["error"]?["kind"] }
    #expect(kinds == ["timeout", "timeout"])
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
  }

  @Test("what an attempt did that ran out of time is undone once it has ended")
  func undoneBehindItsEnd() async throws {
    let notes = Notes()
    var spec = TaskSpec("a", .closure, sideEffect: .write)
    spec.timeoutMicroseconds = 5_000
    spec.isIdempotent = true
    spec.recover = [RecoverRule(on: FailureKinds(), .compensate)]
    let work: @Sendable (TaskContext) async throws -> JSONValue = { _ in
      await Self.workOn()
      notes.add("done late")
      return 1
    }
    let task = ClosureTask(spec, undo: { _ in notes.add("undone") }, work)
    var world = PipelineWorld(try Pipeline("p", tasks: [task]))
    try await world.go()
    #expect(notes.all == ["done late", "undone"])
    #expect(world.state.stop?.detail == "compensated")
  }

  /// A run that uses 100 tokens each time, and ends when it is told to.
  private struct Costly: PipelineTask {
    var spec: TaskSpec
    let given: @Sendable (Limits) -> Void

    func execute(_ context: TaskContext) async throws -> TaskOutcome {
      given(context.remaining)
      try? await Task.sleep(for: .seconds(600))
      var outcome = TaskOutcome.failed(TaskError(.toolFailure, "its run stopped as cancelled"))
      outcome.run = TaskRun(runId: context.runId ?? "")
      outcome.run?.sealDigest = String(repeating: "ab", count: 32)
      var totals = Totals()
      (totals.inputTokens, totals.outputTokens, totals.cost) = (60, 40, 0.1)
      outcome.run?.totals = totals.encoded
      return outcome
    }
  }

  @Test(
    "what an attempt used that ran out of time counts, and its log's seal is kept",
    arguments: [0, 3_000])
  func used(backoff: Int) async throws {
    let given = Mutex<[Limits]>([])
    var spec = TaskSpec("a", .agent, sideEffect: .read)
    spec.timeoutMicroseconds = 5_000
    spec.retry = RetrySpec(max: 6, backoffMicroseconds: backoff)
    var pipeline = PipelineSpec("p", tasks: [spec])
    pipeline.limits = Limits(maxTokens: 250, maxCost: 5)
    let task = Costly(spec: spec) { limits in given.withLock { $0.append(limits) } }
    var world = PipelineWorld(try Pipeline(pipeline, tasks: [task]))
    try await world.go()
    #expect(given.withLock { $0.map(\.maxTokens) } == [250, 150, 50])
    #expect(world.state.totals.inputTokens + world.state.totals.outputTokens == 300)
    let failed = world.events.filter { $0.type == .taskFailed }
    #expect(failed.compactMap { $0.data["run"]?["sealDigest"] }.count == 3)
    #expect(failed.last?.data["error"]?["kind"] == "budget_exhausted")
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
  }

  @Test("no wait for another attempt is longer than the time that is left for it")
  func waits() async throws {
    for isOfTask in [true, false] {
      var spec = TaskSpec("a", .closure, sideEffect: .read)
      spec.retry = RetrySpec(max: 5, backoffMicroseconds: 3_000_000_000)
      if isOfTask { spec.totalTimeoutMicroseconds = 1_000_000 }
      var pipeline = PipelineSpec("p", tasks: [spec])
      if !isOfTask { pipeline.limits = Limits(timeoutSeconds: 1) }
      let task = ClosureTask(spec) { _ in throw TaskError(.toolFailure, "no") }
      var world = PipelineWorld(try Pipeline(pipeline, tasks: [task]))
      try await world.go()
      let last = try #require(world.events.last { $0.type == .taskFailed })
      #expect(last.data["error"]?["kind"] == (isOfTask ? "total_timeout" : "budget_exhausted"))
      #expect(last.t >= 1_000_000 && last.t < 1_100_000, "\(last.t)")
      let again = await PipelineReexecution(of: world.events, by: world.pipeline)
      #expect(again.divergence == nil)
    }
  }

  @Test(
    "a rollback that is to pause stands still between two attempts at undoing, and goes on with resume"
  )
  func pausedRollback() async throws {
    for pauseAt in 0...12 {
      let notes = Notes()
      func write(_ id: String, _ input: JSONValue) -> ClosureTask {
        ClosureTask(
          TaskSpec(id, .closure, input: input, sideEffect: .write),
          undo: { context in
            notes.add("\(context.node) \(context.attempt)")
            if context.node.task == "b", context.attempt < 3 {
              throw TaskError(.toolFailure, "not yet")
            }
          }, { _ in 1 })
      }
      var failing = TaskSpec("c", .closure, input: ["x": "${b}"], sideEffect: .read)
      failing.recover = [RecoverRule(on: FailureKinds(), .compensate)]
      var world = PipelineWorld(
        try Pipeline(
          "p",
          tasks: [
            write("a", [:]), write("b", ["x": "${a}"]),
            ClosureTask(failing) { _ in throw TaskError(.toolFailure, "no") },
          ]))
      try await world.go(pauseAt: pauseAt)
      for _ in 0..<3 where world.state.stop?.isFinal != true { try await world.go() }
      #expect(world.state.stop?.detail == "compensated", "paused at \(pauseAt)")
      #expect(notes.all == ["b 1", "b 2", "b 3", "a 1"], "paused at \(pauseAt)")
      let again = await PipelineReexecution(of: world.events, by: world.pipeline)
      #expect(again.divergence == nil, "paused at \(pauseAt)")
    }
  }
}
