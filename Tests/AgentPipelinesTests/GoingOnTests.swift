import AgentRuntime
import AgentTrace
import Synchronization
import Testing

@testable import AgentPipelines

@Suite("Runs that waited for a person and go on")
struct GoingOnTests {
  /// What is seen of runs: how many there are at once, and what each was given.
  private final class Notes: Sendable {
    private let state = Mutex<(now: Int, most: Int, given: [Int])>((0, 0, []))

    var most: Int { state.withLock { $0.most } }
    var given: [Int] { state.withLock { $0.given } }

    func begin() {
      state.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
    }

    func end() { state.withLock { $0.now -= 1 } }

    func add(given calls: Int) { state.withLock { $0.given.append(calls) } }
  }

  /// A run that waits for a person first, and uses one call once it has gone on.
  private struct Waiter: PipelineTask {
    var spec: TaskSpec
    let notes: Notes
    /// What it may use, as its own log would say.
    var share: Int?

    var goesOn: Bool { true }

    func mayGoOn(_ run: TaskRun) async -> Bool { true }

    func limits(of run: TaskRun) async -> Limits? { share.map { Limits(maxToolCalls: $0) } }

    func execute(_ context: TaskContext) async throws -> TaskOutcome {
      guard context.isResumed else {
        notes.add(given: context.remaining.maxToolCalls ?? -1)
        return .waiting(.init(question: "May it?"))
      }
      notes.begin()
      try? await Task.sleep(for: .milliseconds(5))
      notes.end()
      var outcome = TaskOutcome.finished(1)
      outcome.run = TaskRun(runId: context.runId ?? "")
      var totals = Totals()
      totals.toolCalls = 1
      outcome.run?.totals = totals.encoded
      return outcome
    }
  }

  /// An agent for each of so many elements.
  private static func world(
    _ elements: Int, concurrency: Int, maxToolCalls: Int? = nil, share: Int? = nil, _ notes: Notes
  ) throws -> PipelineWorld {
    let list = ClosureTask(TaskSpec("list", .closure, sideEffect: .read)) { _ in
      .array((0..<elements).map { JSONValue($0) })
    }
    var each = TaskSpec("each", .agent, input: ["n": "${item}"], sideEffect: .read)
    each.forEach = TaskReference("list").map { .list($0) }
    var spec = PipelineSpec("p", tasks: [list.spec, each])
    spec.concurrency = concurrency
    spec.limits = Limits(maxToolCalls: maxToolCalls)
    let waiter = Waiter(spec: each, notes: notes, share: share)
    return PipelineWorld(try Pipeline(spec, tasks: [list, waiter]))
  }

  @Test("no more of them go on at once than may run at once", arguments: [1, 2, 16])
  func concurrency(_ concurrency: Int) async throws {
    let notes = Notes()
    var world = try Self.world(6, concurrency: concurrency, notes)
    try await world.go()
    #expect(world.state.stop?.reason == "blocked")
    try await world.go()
    #expect(world.state.stop?.reason == "success")
    #expect((1...concurrency).contains(notes.most))
    #expect(world.events.filter { $0.type == .taskResumed }.count == 6)
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
  }

  @Test("what one that waits may use is nobody else's, in this process or the next")
  func budget() async throws {
    let notes = Notes()
    // One at a time: the first is given all, and nothing is left for the others before it has ended.
    var world = try Self.world(3, concurrency: 1, maxToolCalls: 5, share: 5, notes)
    try await world.go()
    #expect(world.state.stop?.reason == "blocked")
    #expect(notes.given == [5])
    try await world.go()
    #expect(world.state.stop?.reason == "blocked")
    #expect(notes.given == [5, 4])
    for _ in 0..<2 { try await world.go() }
    #expect(world.state.stop?.reason == "success")
    #expect(world.state.totals.toolCalls == 3)
    #expect(world.events.filter { $0.type == .taskFailed }.isEmpty)
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
  }

  @Test("a run that others leave nothing for begins once it is known what they used")
  func heldBack() async throws {
    let first = TaskSpec("first", .agent, sideEffect: .read)
    let short = TaskSpec("short", .closure, sideEffect: .read)
    let last = TaskSpec("last", .agent, input: ["x": "${short}"], sideEffect: .read)
    var spec = PipelineSpec("p", tasks: [first, short, last])
    spec.limits = Limits(maxToolCalls: 3)
    let given = Mutex<[Int]>([])
    let note: @Sendable (Int) -> Void = { calls in given.withLock { $0.append(calls) } }
    var world = PipelineWorld(
      try Pipeline(
        spec,
        tasks: [
          Working(spec: first, note: note), ClosureTask(short) { _ in 1 },
          Working(spec: last, note: note),
        ]))
    try await world.go()
    #expect(world.state.stop?.reason == "success")
    #expect(given.withLock { $0 } == [3, 2])
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil)
  }

  /// A run that takes a while and uses one call.
  private struct Working: PipelineTask {
    var spec: TaskSpec
    let note: @Sendable (Int) -> Void

    func execute(_ context: TaskContext) async throws -> TaskOutcome {
      note(context.remaining.maxToolCalls ?? -1)
      try await Task.sleep(for: .milliseconds(20))
      var outcome = TaskOutcome.finished(1)
      outcome.run = TaskRun(runId: context.runId ?? "")
      var totals = Totals()
      totals.toolCalls = 1
      outcome.run?.totals = totals.encoded
      return outcome
    }
  }
}
