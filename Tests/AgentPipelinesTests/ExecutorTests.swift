import AgentPipelines
import AgentRuntime
import AgentTrace
import TestSupport
import Testing

/// Makes attempts one after the other, elsewhere: each waits for its turn, and a worker that is lost makes its
/// attempt a failed one.
private final class QueueExecutor: Executor {
  private actor Worker {
    private var count = 0
    let loses: Int?

    init(loses: Int?) { self.loses = loses }

    func run(_ work: @Sendable () async -> TaskOutcome) async -> TaskOutcome {
      count += 1
      if count == loses { return .failed(TaskError(.toolFailure, "the worker was lost")) }
      return await work()
    }
  }

  private let worker: Worker

  init(loses: Int? = nil) { worker = Worker(loses: loses) }

  func run(_ task: any PipelineTask, _ context: TaskContext) async -> TaskOutcome {
    await worker.run { await LocalExecutor().run(task, context) }
  }

  func compensate(_ task: any PipelineTask, _ context: CompensationContext) async -> TaskOutcome {
    await LocalExecutor().compensate(task, context)
  }
}

@Suite("Where attempts are made")
struct ExecutorTests {
  private static func pipeline() throws -> Pipeline {
    var each = TaskSpec("each", .closure, input: ["i": "${item}"], sideEffect: .read)
    each.forEach = TaskReference("list").map { .list($0) }
    each.retry = RetrySpec(max: 1)
    return try Pipeline(
      "p",
      tasks: [
        ClosureTask(TaskSpec("list", .closure, input: [:], sideEffect: .read)) { _ in
          .array((0..<20).map { JSONValue($0) })
        },
        ClosureTask(each) { $0.input?["i"] ?? .null },
        ClosureTask(TaskSpec("other", .closure, input: [:], sideEffect: .read)) { _ in 1 },
        ClosureTask(
          TaskSpec(
            "sum", .closure, input: ["all": "${each.*}", "o": "${other}"], sideEffect: .read)
        ) { $0.input ?? .null },
      ], concurrency: 7)
  }

  private static func events(_ executor: any Executor) async throws -> [Event] {
    let sink = InMemoryEventSink()
    let runtime = PipelineRuntime(
      try pipeline(), executor: executor, clock: FixedClock(),
      identifiers: SeededRunIDs(seed: 1))
    _ = try await runtime.run(PipelineRuntime.Start(), into: sink)
    return sink.events
  }

  @Test(
    "on a clock that stands still a pipeline leaves the same log each time, wherever its attempts are made"
  )
  func sameLog() async throws {
    let first = try await Self.events(LocalExecutor())
    #expect(first.last?.data["reason"] == "success")
    for _ in 0..<TestRun.count(10, long: 200) {
      #expect(try await Self.events(LocalExecutor()) == first)
      #expect(try await Self.events(QueueExecutor()) == first)
    }
  }

  @Test("a worker that is lost is a failed attempt, and the pipeline ends as it would have")
  func lostWorker() async throws {
    let events = try await Self.events(QueueExecutor(loses: 5))
    let failed = events.filter { $0.type == .taskFailed }
    #expect(failed.count == 1)
    #expect(failed.first?.data["recovery"]?["do"] == "retry")
    #expect(events.last?.data["reason"] == "success")
  }
}
