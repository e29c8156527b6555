import AgentPipelines
import AgentRuntime
import AgentTrace
import Glibc
import TraceStorage

/// Pipelines of closures that do nothing, recorded to a log that survives the process: what the engine itself costs.
enum Pipelining {
  enum Shape: String, CaseIterable {
    /// Each task is given the output of the one before it.
    case chain
    /// One list, and one task that runs for each of its elements.
    case fanOut = "fan-out"
  }

  /// Runs one, and prints how many bytes its log has.
  static func run(_ shape: Shape, tasks count: Int, in folder: String) async throws {
    let path = "\(folder)/pipeline.jsonl.gz"
    _ = unlink(path)
    _ = unlink(path + ".open")
    let writer = try LogWriter(creating: path, options: .init(durability: .process))
    let runtime = PipelineRuntime(
      try pipeline(shape, count), clock: Passing(), identifiers: SeededRunIDs(seed: 1))
    let state = try await runtime.run(PipelineRuntime.Start(), into: writer)
    _ = try writer.close()
    guard state.stop?.reason == StopReason.success.rawValue else { exit(1) }
    print(Files.size(path))
  }

  static func pipeline(_ shape: Shape, _ count: Int) throws -> Pipeline {
    switch shape {
    case .chain:
      let tasks = (0..<count).map { number -> any PipelineTask in
        let input: JSONValue = number == 0 ? [:] : ["x": .string("${t\(number - 1)}")]
        return ClosureTask(TaskSpec("t\(number)", .closure, input: input, sideEffect: .read)) {
          $0.input?["x"] ?? 1
        }
      }
      return try Pipeline("chain", tasks: tasks)
    case .fanOut:
      let list = ClosureTask(TaskSpec("list", .closure, sideEffect: .read)) { _ in
        .array((0..<count).map { JSONValue($0) })
      }
      var each = TaskSpec("each", .closure, input: ["i": "${item}"], sideEffect: .read)
      each.forEach = TaskReference("list").map { .list($0) }
      return try Pipeline(
        "fan-out", tasks: [list, ClosureTask(each) { $0.input?["i"] ?? .null }])
    }
  }

  /// The time of this machine.
  struct Passing: RunClock {
    private let start = Processes.now()
    var isFixed: Bool { false }
    func reading() -> ClockReading {
      ClockReading(t: Int((Processes.now() - start) * 1_000_000), time: "2026-01-01T00:00:00.000000Z")
    }
    func wait(microseconds: Int) async {
      try? await Task.sleep(for: .microseconds(microseconds))
    }
    func advance(to t: Int) {}
  }
}
