import AgentPipelines
import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@Suite("What a pipeline leaves in its log")
struct LogSizeTests {
  /// The bytes of the log of a chain of tasks that do nothing.
  private static func bytes(ofChain count: Int, in folder: TemporaryFolder) async throws -> Int {
    let tasks = (0..<count).map { number in
      let above = JSONValue.string("${t\(number - 1)}")
      let input: JSONValue = number == 0 ? ["x": 0] : ["x": above]
      return ClosureTask(TaskSpec("t\(number)", .closure, input: input, sideEffect: .read)) {
        JSONValue(($0.input?["x"]?.intValue ?? 0) + 1)
      }
    }
    let path = folder.path("\(count).jsonl.gz")
    let writer = try LogWriter(creating: path)
    let runtime = PipelineRuntime(
      try Pipeline("chain", tasks: tasks), clock: TickingClock(0),
      identifiers: SeededRunIDs(seed: 1))
    let state = try await runtime.run(PipelineRuntime.Start(), into: writer)
    #expect(state.stop?.reason == "success")
    _ = try writer.close()
    #expect(LogVerifier.verify(path: path).status == .whole)
    return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
  }

  @Test(
    "a task that does nothing leaves at most 400 bytes, and four times the tasks about four times as many"
  )
  func bytes() async throws {
    let folder = try TemporaryFolder()
    let small = try await Self.bytes(ofChain: 250, in: folder)
    let large = try await Self.bytes(ofChain: 1_000, in: folder)
    #expect(large <= 400 * 1_000, "\(large)")
    #expect(Double(large) <= 4.4 * Double(small), "\(small) \(large)")
  }
}
