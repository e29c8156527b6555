import AgentRuntime
import AgentTesting
import AgentTrace
import Testing

@testable import AgentPipelines

@Suite("Moments at which events of pipelines come")
struct MomentTests {
  @Test("what comes in is dated by when it came, not by when it was begun to be waited for")
  func dated() async throws {
    let clock = ManualClock()
    func task(_ id: String, _ input: JSONValue) -> ClosureTask {
      ClosureTask(TaskSpec(id, .closure, input: input, sideEffect: .read)) { context in
        clock.advance(byMicroseconds: 5_000)
        _ = await context.emit("part")
        clock.advance(byMicroseconds: 5_000)
        return .string(id)
      }
    }
    let tasks = [task("a", [:]), task("b", ["x": "${a}"]), task("c", ["x": "${b}"])]
    let sink = InMemoryEventSink()
    let runtime = PipelineRuntime(
      try Pipeline("p", tasks: tasks), clock: clock, identifiers: SeededRunIDs(seed: 1))
    _ = try await runtime.run(PipelineRuntime.Start(), into: sink)
    func times(_ type: EventType) -> [Int] { sink.events.filter { $0.type == type }.map(\.t) }
    #expect(times(.taskStarted) == [0, 10_000, 20_000])
    #expect(times(.taskOutput) == [5_000, 15_000, 25_000])
    #expect(times(.taskFinished) == [10_000, 20_000, 30_000])
  }

  @Test("cut off at any event, beside any deadline, a pipeline is made again from its log")
  func cutBesideDeadlines() async throws {
    var kinds: Set<String> = []
    for limit in 1...24 {
      // Behind the sixth start nothing comes that no deadline brings.
      for cutAt in 0...(limit < 24 ? 8 : 6) {
        let tasks = (0..<6).map { number in
          var spec = TaskSpec("t\(number)", .closure, sideEffect: .read)
          if number == 2, limit < 24 { spec.timeoutMicroseconds = 3_000 }
          if number == 3 { spec.retry = RetrySpec(max: 2) }
          return ClosureTask(spec) { _ in
            try await Task.sleep(for: .seconds(600))
            return "late"
          }
        }
        var pipeline = PipelineSpec("p", tasks: tasks.map(\.spec))
        // Where there is no deadline, the cut ends them all.
        if limit < 24 { pipeline.limits = Limits(timeoutSeconds: Double(limit) / 1_000) }
        let cutting = Cancellation()
        let sink = InMemoryEventSink()
        let runtime = PipelineRuntime(
          try Pipeline(pipeline, tasks: tasks), clock: TickingClock(0),
          identifiers: SeededRunIDs(seed: 1), cutting: cutting)
        _ = try await runtime.run(PipelineRuntime.Start(), into: sink) {
          if $0.seq >= cutAt { cutting.cancel(signal: "outer") }
        }
        for event in sink.events where event.type == .taskFailed {
          if let kind = event.data["error"]?["kind"]?.stringValue { kinds.insert(kind) }
        }
        let again = await PipelineReexecution(of: sink.events, by: runtime.pipeline)
        #expect(again.divergence == nil, "limit \(limit) ms, cut at \(cutAt)")
      }
    }
    #expect(kinds == ["interrupted", "budget_exhausted", "timeout"])
  }
}
