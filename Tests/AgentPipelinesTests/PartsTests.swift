import AgentTrace
import Glibc
import Testing

@testable import AgentPipelines

@Suite("Parts that wait for whoever takes them")
struct PartsTests {
  private static func store() throws -> (store: OutputStore, task: Int) {
    let source = TaskSpec("source", .closure, sideEffect: .read)
    var taker = TaskSpec("taker", .closure, sideEffect: .read)
    taker.forEach = .parts(of: "source")
    let graph = try PipelineGraph(checking: PipelineSpec("p", tasks: [source, taker]))
    return (OutputStore(graph), try #require(graph.places["source"]))
  }

  /// Microseconds of this thread's time that taking so many parts costs.
  private static func cost(of count: Int) throws -> Int {
    var (store, task) = try store()
    func now() -> Int {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }
    let start = now()
    for part in 0..<count {
      store.take(
        .output(
          TaskOutput(
            node: TaskNode("source"), attempt: 1, part: part, value: .string("line \(part)"))),
        seq: part)
    }
    let cost = now() - start
    #expect(store.part(count - 1, of: task) == .string("line \(count - 1)"))
    #expect(store.part(count, of: task) == nil)
    return cost
  }

  @Test("sixteen times as many parts cost less than sixty times as much")
  func linear() throws {
    _ = try Self.cost(of: 2_000)
    let few = try (0..<3).map { _ in try Self.cost(of: 2_000) }.min() ?? 0
    let many = try Self.cost(of: 32_000)
    // The square would be 256 times.
    #expect(many < 60 * max(few, 200), "\(few) µs for 2,000, \(many) µs for 32,000")
  }
}
