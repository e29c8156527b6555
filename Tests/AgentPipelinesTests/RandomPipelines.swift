import AgentPipelines
import AgentRuntime
import AgentTrace
import Synchronization

/// What becomes of the n-th attempt that a node's task makes: a script from which both the runtime and the
/// oracle take their answers.
enum Fate: Hashable {
  case finishes(JSONValue)
  case fails(String)
  /// Failed in a way that leaves its effect unknown.
  case failsUnknown(String)
}

/// A pipeline made by chance, and what becomes of its tasks.
struct RandomPipeline {
  var spec: PipelineSpec
  var seed: UInt64
  /// The chance in 100 that an attempt fails.
  var failing: Int

  /// How an attempt ends: of a task that acts for a node, the n-th that was brought to an end.
  func fate(of acting: String, for node: TaskNode, attempt: Int) -> Fate {
    let digest = Digest(
      of: [
        JSONValue(Int(bitPattern: UInt(truncatingIfNeeded: seed))), .string(acting),
        .string("\(node)"), JSONValue(attempt),
      ])
    let bytes = digest.bytes
    let roll = Int(bytes[0]) * 100 / 256
    let kinds = ["tool_failure", "invalid", "timeout", "model_failure"]
    if roll < failing {
      let kind = kinds[Int(bytes[1]) % kinds.count]
      return bytes[2] < 40 ? .failsUnknown(kind) : .fails(kind)
    }
    // A list, so that others may run for each of it.
    return .finishes(.array((0..<Int(bytes[3] % 4)).map { JSONValue($0) }))
  }

  /// The tasks whose parts others take.
  var partsSources: Set<String> {
    Set(
      spec.tasks.compactMap { task in
        if case .parts(let source)? = task.forEach { source } else { nil }
      })
  }

  /// How many parts an attempt at a node gives: one that succeeds all that there are, one that fails no more.
  func parts(of acting: String, for node: TaskNode, attempt: Int) -> Int {
    let all = Int(Digest(of: [.string(node.task), "parts"]).bytes[0] % 4)
    if case .finishes = fate(of: acting, for: node, attempt: attempt) { return all }
    let some = Digest(of: [.string(acting), .string(node.task), JSONValue(attempt)]).bytes[0]
    return Int(some) % (all + 1)
  }

  init(seed: UInt64, taskLimit: Int = 30) {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    let count = Int.random(in: 1...taskLimit, using: &random)
    failing = [0, 10, 25, 50].randomElement(using: &random) ?? 0
    var tasks: [TaskSpec] = []
    let density = Int.random(in: 1...4, using: &random)
    let standIns = Int.random(in: 0...2, using: &random)
    for number in 0..<count {
      var above: [TaskSpec] = []
      for task in tasks.suffix(8) where Int.random(in: 0..<6, using: &random) < density {
        above.append(task)
      }
      tasks.append(Self.task("t\(number)", above: above, standIns: standIns, &random))
    }
    for number in 0..<standIns
    where tasks.contains(where: { $0.recover.contains { $0.task == "s\(number)" } }) {
      var task = TaskSpec("s\(number)", .closure, input: [:], sideEffect: .read)
      task.retry = RetrySpec(max: Int.random(in: 0...1, using: &random))
      if Bool.random(using: &random) {
        task.recover = [RecoverRule(on: FailureKinds(), .substitute, value: ["stood": "in"])]
      }
      tasks.append(task)
    }
    spec = PipelineSpec(
      "random", tasks: tasks, concurrency: Int.random(in: 1...6, using: &random),
      labelConcurrency: ["scarce": 1])
  }

  private static func task(
    _ id: String, above: [TaskSpec], standIns: Int, _ random: inout SeededGenerator
  ) -> TaskSpec {
    var input = JSONObject()
    for task in above {
      input[task.id] = .string(task.isFanOut ? "${\(task.id).*}" : "${\(task.id)}")
    }
    let isHuman = Int.random(in: 0..<15, using: &random) == 0
    var task = TaskSpec(id, isHuman ? .human : .closure, input: isHuman ? nil : .object(input))
    if isHuman {
      task.human = HumanSpec(ask: TaskTemplate("well?"), show: TaskTemplate(.object(input)))
      return task
    }
    task.sideEffect = Int.random(in: 0..<4, using: &random) == 0 ? .write : .read
    if task.sideEffect == .write {
      task.compensate = .closure
      task.isIdempotent = Bool.random(using: &random)
    }
    if let source = above.randomElement(using: &random), Int.random(in: 0..<3, using: &random) == 0
    {
      let isChained = source.isFanOut
      let takesParts = source.kind == .closure && !isChained && Bool.random(using: &random)
      task.forEach =
        takesParts
        ? .parts(of: source.id)
        : TaskReference(isChained ? "\(source.id).*" : source.id).map { .list($0) }
      // Now and then it needs the whole as well, and waits for it.
      let isWholeNeeded = takesParts && Int.random(in: 0..<4, using: &random) == 0
      if isChained || takesParts && !isWholeNeeded { input[source.id] = nil }
      input["item"] = "${item}"
      task.input = TaskTemplate(.object(input))
      task.concurrency = [nil, 1, 2].randomElement(using: &random) ?? nil
    }
    if Int.random(in: 0..<6, using: &random) == 0 { task.labels = ["scarce"] }
    task.retry = RetrySpec(
      max: Int.random(in: 0...2, using: &random),
      on: [FailureKinds(), FailureKinds(["timeout", "tool_failure"])]
        .randomElement(using: &random) ?? FailureKinds(),
      backoffMicroseconds: [0, 0, 5_000].randomElement(using: &random) ?? 0)
    task.recover = rules(isFanOut: task.isFanOut, standIns: standIns, &random)
    return task
  }

  private static func rules(
    isFanOut: Bool, standIns: Int, _ random: inout SeededGenerator
  ) -> [RecoverRule] {
    var rules: [RecoverRule] = []
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let kind =
        ["*", "invalid", "upstream_failed", "element_failed", "timeout"]
        .randomElement(using: &random) ?? "*"
      let on = FailureKinds([kind])
      switch Int.random(in: 0..<6, using: &random) {
      case 0: rules.append(RecoverRule(on: on, .retry, max: 2))
      case 1: rules.append(RecoverRule(on: on, .substitute, value: [1, 2]))
      case 2: rules.append(RecoverRule(on: on, .skip))
      case 3 where standIns > 0:
        let number = Int.random(in: 0..<standIns, using: &random)
        rules.append(RecoverRule(on: on, .fallback, task: "s\(number)"))
      case 4: rules.append(RecoverRule(on: on, .ask))
      default: rules.append(RecoverRule(on: on, .fail))
      }
    }
    return rules
  }
}

/// What people say of a node: the same each time, so that the oracle knows it.
enum Answers {
  static func word(for node: TaskNode, why: TaskAsked.Why, seed: UInt64) -> TaskAnswered {
    let digest = Digest(
      of: [
        JSONValue(Int(bitPattern: UInt(truncatingIfNeeded: seed))), "word", .string("\(node)"),
        .string(why.rawValue),
      ])
    let roll = digest.bytes[0]
    let word: TaskAnswered.Word
    switch why {
    case .human: word = roll < 200 ? .granted : .denied
    case .failed: word = roll < 90 ? .answered : roll < 180 ? .skipped : .denied
    case .doubt: word = roll < 150 ? .happened : .denied
    // Closures have no run that could wait.
    case .again, .run: word = .granted
    }
    return TaskAnswered(node: node, word: word, data: [7], by: "somebody")
  }
}

/// Makes attempts as a script says, and keeps account of them.
final class ScriptedExecutor: Executor {
  struct Account {
    /// The attempts that were brought to an end, by node and acting task.
    var ended: [String: Int] = [:]
    /// Every attempt that began, in order.
    var begun: [String] = []
    var running = 0
    var mostRunning = 0
    var undone: [TaskNode] = []
  }

  let pipeline: RandomPipeline
  let account = Mutex(Account())
  private let sources: Set<String>

  init(_ pipeline: RandomPipeline) {
    self.pipeline = pipeline
    sources = pipeline.partsSources
  }

  func run(_ task: any PipelineTask, _ context: TaskContext) async -> TaskOutcome {
    account.withLock {
      $0.begun.append("\(context.node)")
      $0.running += 1
      $0.mostRunning = max($0.mostRunning, $0.running)
    }
    // Others may get ahead.
    for _ in 0..<Int(truncatingIfNeeded: (pipeline.seed &+ UInt64(context.seq)) % 3) {
      await Task.yield()
    }
    let key = "\(context.node)/\(task.spec.id)"
    if sources.contains(context.node.task) {
      let attempt = account.withLock { ($0.ended[key] ?? 0) + 1 }
      let parts = pipeline.parts(of: task.spec.id, for: context.node, attempt: attempt)
      for part in 0..<parts { guard await context.emit(JSONValue(part)) else { break } }
    }
    let count = account.withLock { account -> Int in
      account.running -= 1
      account.ended[key, default: 0] += 1
      return account.ended[key] ?? 0
    }
    switch pipeline.fate(of: task.spec.id, for: context.node, attempt: count) {
    case .finishes(let value): return .finished(value)
    case .fails(let kind): return .failed(TaskError(kind: kind, message: "made to"))
    case .failsUnknown(let kind):
      return .failed(TaskError(kind: kind, message: "made to"), isEffectUnknown: true)
    }
  }

  func compensate(_ task: any PipelineTask, _ context: CompensationContext) async -> TaskOutcome {
    account.withLock { $0.undone.append(context.node) }
    return .finished(.null)
  }
}

extension Pipeline {
  /// Of a spec, with tasks whose work is somebody else's.
  init(scripted spec: PipelineSpec) throws {
    try self.init(
      spec,
      tasks: spec.tasks.map { task -> any PipelineTask in
        if task.kind == .human { return PersonTask(task) }
        return ClosureTask(task) { _ in .null }
      })
  }
}
