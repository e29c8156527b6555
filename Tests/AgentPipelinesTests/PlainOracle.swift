import AgentPipelines
import AgentTrace

/// What becomes of a pipeline, found out plainly: task by task in an order in which each stands behind what
/// it needs, each to its end. It knows nothing of time, of what runs at once, or of events.
struct PlainOracle {
  enum End: Hashable {
    case finished(JSONValue)
    case elements([Int: End], count: Int)
    case skipped
    case failed

    var isFailed: Bool {
      switch self {
      case .failed: true
      case .elements(let ends, _): ends.values.contains { $0 == .failed }
      default: false
      }
    }
  }

  let random: RandomPipeline
  /// How each task ended.
  private(set) var ends: [String: End] = [:]
  /// Each attempt that is made, by node, and how many.
  private(set) var attempts: [String: Int] = [:]
  /// The tasks of which chance says how many elements had begun when what they run for failed, and those that run for
  /// theirs: of them it is known how they end as a whole.
  private(set) var cutOff: Set<String> = []
  /// How many parts each task has given.
  private var parts: [String: Int] = [:]
  private let partsSources: Set<String>
  /// Nodes whose output came from what stands in for them: a rule's value, or what a person said.
  private var stoodIn: Set<String> = []
  /// Tasks whose output is no list that begins with the parts that they gave.
  private var lackParts: Set<String> = []

  init(_ random: RandomPipeline) {
    self.random = random
    partsSources = random.partsSources
    let standIns = Set(random.spec.tasks.flatMap { $0.recover.compactMap(\.task) })
    // Tasks are written behind what they need.
    for task in random.spec.tasks where !standIns.contains(task.id) {
      let end = end(of: task)
      ends[task.id] = end
      if case .finished(let value) = end { takeParts(from: value, of: task.id) }
    }
  }

  /// What stands in for a task whose parts others take gives its output as its parts.
  private mutating func takeParts(from value: JSONValue, of id: String) {
    guard partsSources.contains(id), stoodIn.contains(id) else { return }
    let given = (0..<(parts[id] ?? 0)).map { JSONValue($0) }
    if let list = value.arrayValue, list.starts(with: given) {
      parts[id] = list.count
    } else {
      lackParts.insert(id)
    }
  }

  /// The final state, as `PipelineState.result` says it.
  var result: JSONObject {
    var result = JSONObject()
    for (id, end) in ends {
      var object = JSONObject()
      switch end {
      case .finished: object["settled"] = "finished"
      case .skipped: object["settled"] = "skipped"
      case .failed: object["settled"] = "failed"
      case .elements: break
      }
      if let elements = elements[id] {
        object["elements"] = JSONValue(elements.count)
        for (name, wanted) in [("finished", 0), ("skipped", 1), ("failed", 2)] {
          var ranges = IndexRanges()
          for (index, end) in elements.ends where Self.number(end) == wanted {
            ranges.insert(index)
          }
          if !ranges.isEmpty { object[name] = ranges.encoded }
        }
        if case .elements = end { object["settled"] = "finished" }
      }
      result[id] = .object(object)
    }
    return result
  }

  /// What a run came to, or what it should: of tasks whose elements chance decides, how they ended as a whole alone.
  func comparable(_ result: JSONObject) -> JSONObject {
    var result = result
    for id in cutOff {
      if let settled = result[id]?["settled"] {
        result[id] = ["settled": settled]
      } else {
        result[id] = nil
      }
    }
    return result
  }

  /// Whether it is known how often a node is attempted.
  func tells(_ node: String) -> Bool { !cutOff.contains(String(node.prefix { $0 != "[" })) }

  private static func number(_ end: End) -> Int {
    switch end {
    case .finished, .elements: 0
    case .skipped: 1
    case .failed: 2
    }
  }

  /// Of fan-outs, how their elements ended, however the whole did.
  private var elements: [String: (ends: [Int: End], count: Int)] = [:]

  // MARK: Tasks

  private mutating func end(of task: TaskSpec) -> End {
    let needs = references(of: task).compactMap { ends[$0] }
    if case .parts(let source)? = task.forEach { return parted(task, source, needs) }
    if needs.contains(where: { wholeFailed($0) }) {
      return recovered(TaskNode(task.id), task, "upstream_failed", isWhole: task.isFanOut)
    }
    guard task.isFanOut, let source = source(of: task) else {
      return life(of: TaskNode(task.id), task)
    }
    if isFanOut(source) { return chained(task, source) }
    switch ends[source] {
    case .skipped, nil: return .skipped
    case .failed, .elements:
      return recovered(TaskNode(task.id), task, "upstream_failed", isWhole: true)
    case .finished(let value):
      guard let list = value.arrayValue else {
        return recovered(TaskNode(task.id), task, "input", isWhole: true)
      }
      var ends: [Int: End] = [:]
      for index in list.indices { ends[index] = life(of: TaskNode(task.id, element: index), task) }
      return whole(task, ends, list.count)
    }
  }

  /// A task that runs for the parts of another's output.
  private mutating func parted(_ task: TaskSpec, _ source: String, _ needs: [End]) -> End {
    if needs.contains(where: { wholeFailed($0) }) {
      return recovered(TaskNode(task.id), task, "upstream_failed", isWhole: true)
    }
    let count = parts[source] ?? 0
    switch ends[source] {
    case .skipped where count == 0: return .skipped
    case .failed, .elements, .skipped, nil:
      // Where it needs nothing whole, elements may have begun.
      cutOff.insert(task.id)
      return recovered(TaskNode(task.id), task, "upstream_failed", isWhole: true)
    case .finished where lackParts.contains(source):
      cutOff.insert(task.id)
      return recovered(TaskNode(task.id), task, "upstream_failed", isWhole: true)
    case .finished:
      var ends: [Int: End] = [:]
      for index in 0..<count { ends[index] = life(of: TaskNode(task.id, element: index), task) }
      return whole(task, ends, count)
    }
  }

  private mutating func chained(_ task: TaskSpec, _ source: String) -> End {
    if cutOff.contains(source) { cutOff.insert(task.id) }
    guard let above = self.elements[source] else {
      if ends[source] == .skipped { return .skipped }
      return recovered(TaskNode(task.id), task, "upstream_failed", isWhole: true)
    }
    var ends: [Int: End] = [:]
    for index in 0..<above.count {
      let node = TaskNode(task.id, element: index)
      switch above.ends[index] {
      case .skipped: ends[index] = .skipped
      case .failed: ends[index] = recovered(node, task, "upstream_failed", isWhole: false)
      default: ends[index] = life(of: node, task)
      }
    }
    return whole(task, ends, above.count)
  }

  private mutating func whole(_ task: TaskSpec, _ ends: [Int: End], _ count: Int) -> End {
    elements[task.id] = (ends, count)
    if ends.values.contains(.failed) {
      return recovered(TaskNode(task.id), task, "element_failed", isWhole: true)
    }
    return .elements(ends, count: count)
  }

  private func wholeFailed(_ end: End) -> Bool { end == .failed }

  private func isFanOut(_ id: String) -> Bool {
    random.spec.tasks.first { $0.id == id }?.isFanOut ?? false
  }

  private func source(of task: TaskSpec) -> String? {
    if case .list(let reference)? = task.forEach { reference.task } else { nil }
  }

  /// The tasks that it waits for until they have ended: all that it names but what it runs for each of, as
  /// those come.
  private func references(of task: TaskSpec) -> [String] {
    var names = (task.input?.references ?? []) + (task.human?.show?.references ?? [])
    if case .list(let reference)? = task.forEach, let id = reference.task, !isFanOut(id) {
      names.append(reference)
    }
    return names.compactMap(\.task)
  }

  // MARK: One node

  /// All attempts at a node, until it has ended.
  private mutating func life(of node: TaskNode, _ task: TaskSpec) -> End {
    if task.kind == .human {
      let answer = Answers.word(for: node, why: .human, seed: random.seed)
      if answer.word == .granted { return .finished(["granted": true]) }
      return recovered(node, task, "denied", isWhole: false)
    }
    return life(of: node, task, acting: task)
  }

  private mutating func life(of node: TaskNode, _ task: TaskSpec, acting: TaskSpec) -> End {
    var retries = 0
    var uses: [Int: Int] = [:]
    var count = 0
    while true {
      count += 1
      attempts["\(node)", default: 0] += 1
      if partsSources.contains(task.id) {
        let given = random.parts(of: acting.id, for: node, attempt: count)
        parts[task.id] = max(parts[task.id] ?? 0, given)
      }
      let kind: String
      switch random.fate(of: acting.id, for: node, attempt: count) {
      case .finishes(let value): return .finished(value)
      case .fails(let found): kind = found
      case .failsUnknown(let found):
        kind = found
        if acting.sideEffect == .write, !acting.isIdempotent {
          let answer = Answers.word(for: node, why: .doubt, seed: random.seed)
          if answer.word == .happened {
            stoodIn.insert("\(node)")
            return .finished([7])
          }
          return recovered(node, acting, "denied", isWhole: false)
        }
      }
      if retries < acting.retry.max, acting.retry.on.contains(kind) {
        retries += 1
        continue
      }
      guard let (index, rule) = rule(of: acting, kind, uses, mayTry: true) else { return .failed }
      switch rule.action {
      case .retry: uses[index, default: 0] += 1
      case .fallback:
        guard let other = random.spec.tasks.first(where: { $0.id == rule.task }) else {
          return .failed
        }
        return life(of: node, task, acting: other)
      default: return settle(rule, node, acting)
      }
    }
  }

  /// How a node ends that no attempt can help.
  private mutating func recovered(
    _ node: TaskNode, _ task: TaskSpec, _ kind: String, isWhole: Bool
  ) -> End {
    guard let (_, rule) = rule(of: task, kind, [:], mayTry: false) else { return .failed }
    return settle(rule, node, task)
  }

  private func rule(
    of task: TaskSpec, _ kind: String, _ uses: [Int: Int], mayTry: Bool
  ) -> (Int, RecoverRule)? {
    for (index, rule) in task.recover.enumerated() where rule.on.contains(kind) {
      switch rule.action {
      case .retry: if mayTry, uses[index] ?? 0 < rule.max { return (index, rule) }
      case .fallback: if mayTry { return (index, rule) }
      case .ask: if kind != "denied" { return (index, rule) }
      default: return (index, rule)
      }
    }
    return nil
  }

  private mutating func settle(_ rule: RecoverRule, _ node: TaskNode, _ acting: TaskSpec) -> End {
    switch rule.action {
    case .substitute:
      stoodIn.insert("\(node)")
      return .finished(rule.value ?? .null)
    case .skip: return .skipped
    case .ask:
      switch Answers.word(for: node, why: .failed, seed: random.seed).word {
      case .answered:
        stoodIn.insert("\(node)")
        return .finished([7])
      case .skipped: return .skipped
      default: return recovered(node, acting, "denied", isWhole: false)
      }
    default: return .failed
    }
  }
}
