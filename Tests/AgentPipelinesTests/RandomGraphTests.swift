import AgentPipelines
import AgentRuntime
import AgentTrace
import Synchronization
import TestSupport
import Testing

@Suite("Random pipelines against a plain oracle")
struct RandomGraphTests {
  /// How many graphs; all with `--long`.
  private static let count = TestRun.count(200, long: 4_000)

  private static func world(seed: UInt64) throws -> (RandomPipeline, PipelineWorld) {
    let random = RandomPipeline(seed: seed)
    let pipeline = try Pipeline(scripted: random.spec)
    return (
      random,
      PipelineWorld(pipeline, executor: ScriptedExecutor(random), seed: Int(seed % 1_000_000))
    )
  }

  private static func goOn(_ world: inout PipelineWorld, _ random: RandomPipeline) async throws {
    var rounds = 0
    while !world.isOver {
      rounds += 1
      guard rounds < 200 else {
        Issue.record("seed \(random.seed): it does not come to an end")
        return
      }
      world.answerAll(seed: random.seed)
      world.executor = try executor(for: world, random)
      try await world.go()
    }
  }

  /// An executor that knows which attempts the log says have come to an end.
  private static func executor(
    for world: PipelineWorld, _ random: RandomPipeline
  ) throws -> ScriptedExecutor {
    let executor = ScriptedExecutor(random)
    var acting: [TaskNode: String] = [:]
    for change in world.changes() {
      switch change {
      case .started(let started): acting[started.node] = started.acting ?? started.node.task
      case .finished(let end) where end.attempt > 0: count(end.node)
      case .failed(let end) where end.attempt > 0 && end.error.kind != "interrupted":
        count(end.node)
      case .rolledBack(let end):
        // What runs anew fares as it did the first time.
        let anew = Set(end.tasks.map(\.task))
        executor.account.withLock { account in
          account.ended = account.ended.filter { member in
            let node = TaskNode(String(member.key.prefix { $0 != "/" }))
            guard anew.contains(node.task) else { return true }
            let kept = end.tasks.first { $0.task == node.task }
            return node.element.map { kept?.finished.contains($0) ?? false } ?? false
          }
        }
      default: break
      }
    }
    func count(_ node: TaskNode) {
      executor.account.withLock { $0.ended["\(node)/\(acting[node] ?? "")", default: 0] += 1 }
    }
    return executor
  }

  @Test("undisturbed, each graph runs what the oracle says, in an order it allows, to the same end")
  func undisturbed() async throws {
    for seed in 0..<UInt64(Self.count) {
      var (random, world) = try Self.world(seed: seed)
      let oracle = PlainOracle(random)
      try await world.go()
      try await Self.goOn(&world, random)
      let words = oracle.difference(world)
      #expect(words == "", "seed \(seed)")
      var begun: [String: Int] = [:]
      for case .started(let started) in world.changes() {
        if oracle.tells("\(started.node)") { begun["\(started.node)", default: 0] += 1 }
      }
      let attempts = oracle.attempts.filter { oracle.tells($0.key) }
      for (node, count) in attempts.sorted(by: { $0.key < $1.key }) where begun[node] != count {
        Issue.record("seed \(seed): \(node) began \(begun[node] ?? 0) times, not \(count)")
      }
      Self.checkOrder(world, "seed \(seed)")
      if await !Self.isFaithful(world, "seed \(seed)") { return }
      if words != "" || begun != attempts { return }
    }
  }

  /// Whether the run is made again as it was.
  private static func isFaithful(_ world: PipelineWorld, _ words: String) async -> Bool {
    let again = await PipelineReexecution(of: world.events, by: world.pipeline)
    #expect(again.divergence == nil, "\(words)")
    #expect(again.divergence != nil || again.events == world.events.count, "\(words)")
    return again.divergence == nil
  }

  /// Each task begins behind the end of all that it waits for.
  private static func checkOrder(_ world: PipelineWorld, _ words: String) {
    var settled: [String: Int] = [:]
    for (seq, change) in zip(world.events.indices, world.changesBySeq()) {
      switch change {
      case .started(let started):
        guard let task = world.pipeline.spec.tasks.first(where: { $0.id == started.node.task })
        else { continue }
        for reference in task.input?.references ?? [] {
          guard let id = reference.task else { continue }
          #expect(settled[id] != nil, "\(words): \(started.node) at \(seq) before \(id)")
        }
      case .finished(let end) where end.node.element == nil: settled[end.node.task] = seq
      case .skipped(let end) where end.node.element == nil: settled[end.node.task] = seq
      default: break
      }
    }
  }

  @Test(
    "rolled back to random checkpoints, each graph undoes what it did and comes to the same end")
  func rolledBack() async throws {
    var undone = 0
    for seed in 0..<UInt64(Self.count) {
      var (random, world) = try Self.world(seed: seed &+ 2_000_000)
      let oracle = PlainOracle(random)
      var chance = SeededGenerator(seed: seed)
      for _ in 0..<Int.random(in: 1...3, using: &chance) {
        let behind = world.events.count + Int.random(in: 4...25, using: &chance)
        world.executor = try Self.executor(for: world, random)
        try await world.go(pauseAt: behind)
        // A rollback that stands still goes on first.
        if world.state.isCompensating, world.state.stop?.isFinal == false { try await world.go() }
        guard world.state.stop?.isFinal == false else { break }
        let checkpoints = world.state.tasks.filter { $0.checkpointSeq != nil }.map(\.id)
        let checkpoint = checkpoints.randomElement(using: &chance)
        let expected = Self.effects(
          of: world, behind: checkpoint.flatMap { world.state[$0]?.checkpointSeq } ?? 0)
        let executor = try Self.executor(for: world, random)
        world.executor = executor
        let before = world.events.count
        // A process that is killed on the way is gone on with.
        let limit = Bool.random(using: &chance) ? Int.random(in: 1...6, using: &chance) : 10_000
        try await world.rollback(to: checkpoint, limit: world.events.count + limit)
        if world.state.rollback != nil { try await world.go(pauseOn: .rolledBack) }
        guard world.events[before...].contains(where: { $0.type == .rolledBack }) else { continue }
        let seen = executor.account.withLock { $0.undone }
        undone += seen.count
        var once: [TaskNode] = []
        for node in seen where !once.contains(node) { once.append(node) }
        #expect(once == expected, "seed \(seed)")
      }
      world.executor = try Self.executor(for: world, random)
      if world.events.isEmpty { try await world.go() }
      try await Self.goOn(&world, random)
      let words = oracle.difference(world)
      #expect(words == "", "seed \(seed)")
      if words != "" { return }
      if await !Self.isFaithful(world, "seed \(seed)") { return }
    }
    #expect(undone > Self.count / 4)
  }

  /// What was done behind an event, the last first, found out plainly.
  private static func effects(of world: PipelineWorld, behind seq: Int) -> [TaskNode] {
    var ends: [TaskNode: Int] = [:]
    var open: Set<TaskNode> = []
    for (place, change) in world.changesBySeq().enumerated() {
      switch change {
      case .started(let started) where started.sideEffect == "write": open.insert(started.node)
      case .finished(let end) where open.contains(end.node): ends[end.node] = place
      case .failed(let end) where open.contains(end.node):
        if end.isEffectUnknown || ends[end.node] != nil {
          ends[end.node] = place
        } else {
          open.remove(end.node)
        }
      case .answered(let answer) where answer.word == .didNotHappen: ends[answer.node] = nil
      case .rolledBack(let end):
        ends = ends.filter { $0.value <= end.toSeq }
        open = open.filter { ends[$0] != nil }
      default: break
      }
    }
    return ends.filter { $0.value > seq }.sorted { $0.value > $1.value }.map(\.key)
  }

  @Test("paused and killed at random events, each graph comes to the same end")
  func disturbed() async throws {
    for seed in 0..<UInt64(Self.count) {
      var (random, world) = try Self.world(seed: seed &+ 1_000_000)
      let oracle = PlainOracle(random)
      var chance = SeededGenerator(seed: seed)
      for _ in 0..<Int.random(in: 1...5, using: &chance) where !world.isOver {
        let behind = world.events.count + Int.random(in: 1...12, using: &chance)
        if Bool.random(using: &chance) {
          try await world.go(limit: behind)
        } else {
          try await world.go(pauseAt: behind)
        }
        if world.events.isEmpty { continue }
        world.answerAll(seed: random.seed)
        world.executor = try Self.executor(for: world, random)
      }
      if world.events.isEmpty { try await world.go() }
      try await Self.goOn(&world, random)
      let words = oracle.difference(world)
      #expect(words == "", "seed \(seed)")
      if words != "" { return }
      if await !Self.isFaithful(world, "seed \(seed)") { return }
    }
  }
}

extension PipelineWorld {
  /// What each event says, where it is one of a pipeline's.
  func changesBySeq() -> [PipelineEvent?] {
    events.map { try? PipelineEvent(type: $0.type, data: $0.data) }
  }
}

extension PlainOracle {
  /// In what a run's result is not as it should be, by the tasks.
  func difference(_ world: PipelineWorld) -> String {
    let (left, right) = (comparable(world.state.result), comparable(result))
    return Set(left.keys + right.keys).sorted().filter { left[$0] != right[$0] }
      .map { "\($0): \(left[$0] ?? .null), by the oracle \(right[$0] ?? .null)" }
      .joined(separator: "; ")
  }
}
