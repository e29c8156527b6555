import AgentPipelines
import AgentRuntime
import AgentTrace
import Glibc
import Synchronization
import TraceStorage

/// How long what a pipeline does is in coming: to the next task, to whoever follows its events, after a kill.
enum PipelineTimes {
  /// A chain whose process kills itself once half of it has ended; then how many seconds pass until the next task
  /// begins in a process that goes on with it, and until its end.
  static func die(tasks count: Int, in folder: String) async throws {
    let path = try freshLog(in: folder)
    let writer = try LogWriter(creating: path, options: .init(durability: .process))
    let ended = Mutex(0)
    _ = try await runtime(.chain, count).run(
      PipelineRuntime.Start(), into: writer,
      observe: { event in
        guard event.type == .taskFinished else { return }
        let isHalf = ended.withLock { ended in
          ended += 1
          return ended == count / 2
        }
        if isHalf { kill(getpid(), SIGKILL) }
      })
  }

  static func goOn(tasks count: Int, in folder: String) async throws {
    let path = "\(folder)/pipeline.jsonl.gz"
    let start = Processes.now()
    let pipeline = try Pipelining.pipeline(.chain, count)
    let (writer, _) = try LogWriter.reopening(path, options: .init(durability: .process))
    var past = PipelinePast(of: pipeline)
    var reader = try LogReader(path: path)
    while let event = try reader.next() { past.take(event) }
    let first = Mutex(0.0)
    let state = try await runtime(.chain, count).resume(
      past, RunResumed(why: "the process ended"), into: writer, stateAt: { _ in PipelineState() },
      observe: { event in
        guard event.type == .taskStarted else { return }
        first.withLock { if $0 == 0 { $0 = Processes.now() - start } }
      })
    _ = try writer.close()
    guard state.stop?.reason == StopReason.success.rawValue else { exit(1) }
    print(
      figure(first.withLock { $0 }, digits: 6), figure(Processes.now() - start, digits: 6))
  }

  /// Elements of a fan-out that take a millisecond each, and those of another that each begin once one of them has
  /// ended: the seconds between, the median and the 99th of 100.
  static func flow(elements count: Int, in folder: String) async throws {
    let list = ClosureTask(TaskSpec("list", .closure, sideEffect: .read)) { _ in
      .array((0..<count).map { JSONValue($0) })
    }
    var first = TaskSpec("first", .closure, input: ["i": "${item}"], sideEffect: .read)
    first.forEach = TaskReference("list").map { .list($0) }
    first.concurrency = 8
    var second = first
    second.id = "second"
    second.forEach = TaskReference("first.*").map { .list($0) }
    let pipeline = try Pipeline(
      "flow",
      tasks: [
        list,
        ClosureTask(first) {
          try await Task.sleep(for: .milliseconds(1))
          return $0.input?["i"] ?? .null
        }, ClosureTask(second) { $0.input?["i"] ?? .null },
      ])
    let moments = Mutex((ended: [Int: Double](), waits: [Double]()))
    let writer = try LogWriter(
      creating: try freshLog(in: folder), options: .init(durability: .process))
    let runtime = PipelineRuntime(
      pipeline, clock: Pipelining.Passing(), identifiers: SeededRunIDs(seed: 1))
    _ = try await runtime.run(
      PipelineRuntime.Start(), into: writer,
      observe: { event in
        guard let change = try? PipelineEvent(type: event.type, data: event.data) else { return }
        let now = Processes.now()
        moments.withLock { moments in
          switch change {
          case .finished(let end) where end.node.task == "first":
            if let element = end.node.element { moments.ended[element] = now }
          case .started(let started) where started.node.task == "second":
            if let element = started.node.element, let ended = moments.ended[element] {
              moments.waits.append(now - ended)
            }
          default: break
          }
        }
      })
    _ = try writer.close()
    let waits = moments.withLock { $0.waits }
    print(figure(waits.median, digits: 6), figure(waits.quantile(0.99), digits: 6))
  }

  /// Somebody takes the events of a chain as they come: the seconds between the record of each and its coming, the
  /// median and the 99th of 100.
  static func follow(tasks count: Int, in folder: String) async throws {
    let path = try freshLog(in: folder)
    let kept = Kept()
    let events = try runtime(.chain, count).execute(PipelineRuntime.Start()) {
      TimedSink(try LogWriter(creating: path, options: .init(durability: .process)), kept)
    }
    var waits: [Double] = []
    for try await event in events { waits.append(Processes.now() - kept.moment(event.seq)) }
    print(figure(waits.median, digits: 6), figure(waits.quantile(0.99), digits: 6))
  }

  /// When each event was recorded.
  private final class Kept: Sendable {
    private let moments = Mutex([Double]())
    func note() { moments.withLock { $0.append(Processes.now()) } }
    func moment(_ seq: Int) -> Double { moments.withLock { $0[seq] } }
  }

  private final class TimedSink: EventSink {
    private let writer: LogWriter
    private let kept: Kept

    init(_ writer: LogWriter, _ kept: Kept) {
      self.writer = writer
      self.kept = kept
    }

    var needsDigests: Bool { writer.needsDigests }

    func append(_ event: Event, isEffectAhead: Bool) throws {
      try writer.append(event, isEffectAhead: isEffectAhead)
      kept.note()
    }
  }

  private static func runtime(
    _ shape: Pipelining.Shape, _ count: Int
  ) throws -> PipelineRuntime {
    PipelineRuntime(
      try Pipelining.pipeline(shape, count), clock: Pipelining.Passing(),
      identifiers: SeededRunIDs(seed: 1))
  }

  private static func freshLog(in folder: String) throws -> String {
    let path = "\(folder)/pipeline.jsonl.gz"
    _ = unlink(path)
    _ = unlink(path + ".open")
    return path
  }
}
