import AgentTrace
import TraceMatching

/// Makes a graph of a pipeline, and finds all that is wrong with it.
struct GraphBuilder {
  let spec: PipelineSpec
  var faults: [PipelineFault] = []
  var places: [String: Int] = [:]
  var waits: [[Int]] = []
  var streams: [PipelineGraph.Stream?] = []
  var readers: [[Int]] = []
  var dependents: [[Int]] = []
  var isStandIn: [Bool] = []

  init(_ spec: PipelineSpec) { self.spec = spec }

  mutating func build() {
    let count = spec.tasks.count
    waits = Array(repeating: [], count: count)
    streams = Array(repeating: nil, count: count)
    readers = waits
    dependents = waits
    isStandIn = Array(repeating: false, count: count)
    if count == 0 { faults.append(PipelineFault(key: "tasks", "a pipeline needs a task")) }
    guard count <= PipelineGraph.taskLimit else {
      faults.append(
        PipelineFault(
          key: "tasks", "\(count) tasks; \(PipelineGraph.taskLimit) are the most",
          hint: "a task may run for each element of a list (forEach)"))
      return
    }
    takeIDs()
    findStandIns()
    for place in spec.tasks.indices { check(spec.tasks[place], at: place) }
    connect()
    checkOrder()
    checkEdgesBringInputs()
    checkCompensations()
    checkSchemas()
  }

  // MARK: Ids and numbers

  private mutating func takeIDs() {
    if spec.concurrency < 1 {
      faults.append(PipelineFault(key: "concurrency", "at least one task has to run at a time"))
    }
    for (label, limit) in spec.labelConcurrency.sorted(by: { $0.key < $1.key }) where limit < 1 {
      faults.append(
        PipelineFault(key: "labels/\(label)", "at least one task has to run at a time"))
    }
    for (place, task) in spec.tasks.enumerated() {
      if TaskReference.reserved.contains(task.id) || !TaskReference.isID(task.id) {
        faults.append(
          PipelineFault(
            task: task.id, key: "id", "“\(task.id)” is no id of a task",
            hint: "letters, digits, - and _, and none of "
              + TaskReference.reserved.joined(separator: ", ")))
      }
      if places[task.id] != nil {
        faults.append(
          PipelineFault(task: task.id, key: "id", "the id “\(task.id)” stands twice"))
      } else {
        places[task.id] = place
      }
    }
  }

  /// The place of a task that something names; an unknown one is a fault.
  ///
  /// - Parameter reference: what names it, where that is a `${…}`.
  private mutating func place(
    of id: String, task: String?, key: String, by reference: TaskReference? = nil
  ) -> Int? {
    if let place = places[id] { return place }
    let nearest = Spelling.nearest(to: id, among: spec.tasks.map(\.id))
    let plain = reference.map { "where these words themselves are meant, write $${\($0.text)}" }
    faults.append(
      PipelineFault(
        task: task, key: key, "there is no task “\(id)”",
        hint: nearest.map { "did you mean “\($0)”?" } ?? plain))
    return nil
  }

  private mutating func findStandIns() {
    for task in spec.tasks {
      for rule in task.recover where rule.action == .fallback {
        if let other = rule.task, let place = places[other] { isStandIn[place] = true }
      }
    }
  }

  // MARK: One task

  private mutating func check(_ task: TaskSpec, at place: Int) {
    func wrong(_ key: String, _ message: String, hint: String? = nil) -> PipelineFault {
      PipelineFault(task: task.id, key: key, message, hint: hint)
    }
    if let concurrency = task.concurrency, concurrency < 1 {
      faults.append(wrong("concurrency", "at least one element has to run at a time"))
    }
    for (key, limit) in [
      ("timeoutSeconds", task.timeoutMicroseconds),
      ("totalTimeoutSeconds", task.totalTimeoutMicroseconds),
    ] {
      if let limit, limit <= 0 { faults.append(wrong(key, "a time has to be more than nothing")) }
    }
    if isStandIn[place], task.isFanOut {
      faults.append(
        wrong("forEach", "a task that stands in for others runs for what they run for alone"))
    }
    if task.kind == .human, task.human == nil {
      faults.append(wrong("human", "a person’s task needs a question", hint: "human: {ask: …}"))
    }
    switch (task.parts, task.kind) {
    case (nil, _), (.lines, .command), (.calls, .agent): break
    case (.lines, _): faults.append(wrong("parts", "lines are printed by a command alone"))
    case (.calls, _): faults.append(wrong("parts", "calls are made by an agent alone"))
    }
    if let matcher = task.validate {
      do { try Matcher(compiling: matcher).refuseContradictions() } catch {
        faults.append(wrong("validate", "\(error)"))
      }
    }
    for (index, rule) in task.recover.enumerated() {
      check(rule, of: task, key: "recover/\(index)")
    }
    for (key, reference) in task.references { check(reference, of: task, at: place, key: key) }
  }

  private mutating func check(_ rule: RecoverRule, of task: TaskSpec, key: String) {
    switch rule.action {
    case .fallback:
      guard let other = rule.task else {
        faults.append(
          PipelineFault(task: task.id, key: key, "a fallback needs the task that stands in"))
        return
      }
      guard let place = place(of: other, task: task.id, key: "\(key)/task") else { return }
      if standInsReach(task.id, from: place) {
        faults.append(
          PipelineFault(
            task: task.id, key: "\(key)/task", "“\(other)” falls back to “\(task.id)” in turn"))
      }
    case .substitute where rule.value == nil:
      faults.append(PipelineFault(task: task.id, key: key, "a substitute needs a value"))
    case .retry where rule.max < 1:
      faults.append(PipelineFault(task: task.id, key: "\(key)/max", "a retry needs at least one"))
    case .again:
      faults.append(PipelineFault(task: task.id, key: "\(key)/do", "“again” is no rule"))
    default: break
    }
  }

  /// Whether a chain of stand-ins leads to a task.
  private func standInsReach(_ id: String, from place: Int) -> Bool {
    var seen: Set<Int> = []
    var open = [place]
    while let next = open.popLast() {
      guard seen.insert(next).inserted else { continue }
      if spec.tasks[next].id.hasSameUTF8(as: id) { return true }
      open += spec.tasks[next].recover.compactMap { $0.task.flatMap { places[$0] } }
    }
    return false
  }

  private mutating func check(
    _ reference: TaskReference, of task: TaskSpec, at place: Int, key: String
  ) {
    switch reference.root {
    case .item, .index:
      if !task.isFanOut, !isStandIn[place] {
        faults.append(
          PipelineFault(
            task: task.id, key: key, "${\(reference.text)} needs a task that runs for each of many",
            hint: "give it forEach"))
      }
    case .output:
      if key != "compensate" {
        faults.append(
          PipelineFault(
            task: task.id, key: key, "${\(reference.text)} stands in compensate alone"))
      }
    case .input: break
    case .task(let id):
      guard let other = self.place(of: id, task: task.id, key: key, by: reference) else { return }
      if isStandIn[other] {
        faults.append(
          PipelineFault(
            task: task.id, key: key, "“\(id)” only stands in for others; its output is theirs"))
      }
      if spec.tasks[other].isFanOut, reference.path.first != nil, reference.path.first != .each {
        let rest = reference.text.utf8.dropFirst(id.utf8.count)
        faults.append(
          PipelineFault(
            task: task.id, key: key, "“\(id)” runs for each of many and has as many outputs",
            hint: "${\(id).*\(String(decoding: Array(rest), as: UTF8.self))} is the list of them"))
      }
    }
  }

  // MARK: Edges

  /// What a task looks at of others, its stand-ins' counted: whole outputs, and the one whose elements or
  /// parts it takes as they come.
  private mutating func connect() {
    var explicit: [[Int]]?
    if let edges = spec.edges { explicit = takeEdges(edges) }
    for place in spec.tasks.indices where !isStandIn[place] {
      let task = spec.tasks[place]
      streams[place] = stream(of: task)
      var whole: Set<Int> = []
      for member in [place] + standIns(of: task) {
        for (key, reference) in spec.tasks[member].references {
          guard let other = reference.task.flatMap({ places[$0] }) else { continue }
          if member == place, key == "forEach", streams[place] != nil { continue }
          whole.insert(other)
        }
      }
      for other in whole.sorted() { readers[other].append(place) }
      if let source = streams[place]?.source, !whole.contains(source) {
        readers[source].append(place)
      }
      var needed = explicit?[place].filter { $0 != streams[place]?.source } ?? []
      needed += whole.sorted()
      waits[place] = Set(needed).sorted()
      for other in Set(waits[place] + (streams[place].map { [$0.source] } ?? [])).sorted() {
        dependents[other].append(place)
      }
    }
    let count = dependents.reduce(0) { $0 + $1.count }
    if count > PipelineGraph.edgeLimit {
      faults.append(
        PipelineFault(key: "edges", "\(count) edges; \(PipelineGraph.edgeLimit) are the most"))
    }
  }

  private func standIns(of task: TaskSpec) -> [Int] {
    var seen: Set<Int> = []
    var open = task.recover.compactMap { $0.action == .fallback ? $0.task : nil }
    while let next = open.popLast() {
      guard let place = places[next], seen.insert(place).inserted else { continue }
      open += spec.tasks[place].recover.compactMap { $0.action == .fallback ? $0.task : nil }
    }
    return seen.sorted()
  }

  private mutating func stream(of task: TaskSpec) -> PipelineGraph.Stream? {
    switch task.forEach {
    case .list(let reference):
      guard let other = reference.task.flatMap({ places[$0] }), spec.tasks[other].isFanOut,
        reference.path.first == .each
      else { return nil }
      return .elements(other)
    case .parts(let id):
      guard let other = place(of: id, task: task.id, key: "forEach/partsOf") else { return nil }
      if spec.tasks[other].isFanOut {
        faults.append(
          PipelineFault(
            task: task.id, key: "forEach/partsOf", "“\(id)” runs for each of many",
            hint: "forEach: ${\(id).*} takes its elements as they come"))
      } else if !spec.tasks[other].givesParts {
        faults.append(
          PipelineFault(
            task: task.id, key: "forEach/partsOf", "“\(id)” gives no parts",
            hint: Self.partsHint(for: spec.tasks[other].kind)))
      }
      return .parts(other)
    case nil: return nil
    }
  }

  private static func partsHint(for kind: TaskKind) -> String {
    switch kind {
    case .command: "parts: lines makes a part of each line that it prints"
    case .agent: "parts: {calls: TOOL} makes a part of each call of a tool"
    case .closure, .human, .pipeline: "forEach: ${TASK.PATH} takes a list once it is whole"
    }
  }

  private mutating func takeEdges(_ edges: [PipelineEdge]) -> [[Int]] {
    var parents: [[Int]] = Array(repeating: [], count: spec.tasks.count)
    for (index, edge) in edges.enumerated() {
      guard let from = place(of: edge.from, task: nil, key: "edges/\(index)"),
        let to = place(of: edge.to, task: nil, key: "edges/\(index)")
      else { continue }
      if from == to {
        faults.append(
          PipelineFault(key: "edges/\(index)", "“\(edge.to)” cannot wait for itself"))
      } else if isStandIn[from] || isStandIn[to] {
        faults.append(
          PipelineFault(
            key: "edges/\(index)",
            "“\(isStandIn[from] ? edge.from : edge.to)” only stands in for others; no edge leads there"
          ))
      } else {
        parents[to].append(from)
      }
    }
    return parents
  }

  // MARK: Order

  private mutating func checkOrder() {
    var open = spec.tasks.indices.map { needs($0).count }
    var ready = spec.tasks.indices.filter { open[$0] == 0 }
    var seen = 0
    while let next = ready.popLast() {
      seen += 1
      for dependent in dependents[next] {
        open[dependent] -= 1
        if open[dependent] == 0 { ready.append(dependent) }
      }
    }
    guard seen < spec.tasks.count else { return }
    let cycle = self.cycle(among: open)
    faults.append(
      PipelineFault(
        task: cycle.first, key: "input",
        "the tasks wait for each other: " + (cycle + cycle.prefix(1)).joined(separator: " → "),
        hint: "take one of these edges, or what says it, away"))
  }

  /// What a task waits for or takes elements of.
  private func needs(_ place: Int) -> Set<Int> {
    Set(waits[place] + (streams[place].map { [$0.source] } ?? []))
  }

  /// The tasks of a cycle, each before the one that needs it.
  private func cycle(among open: [Int]) -> [String] {
    guard var place = open.firstIndex(where: { $0 > 0 }) else { return [] }
    var path: [Int] = []
    while !path.contains(place) {
      path.append(place)
      guard let next = needs(place).sorted().first(where: { open[$0] > 0 }) else { break }
      place = next
    }
    let start = path.firstIndex(of: place) ?? 0
    return path[start...].reversed().map { spec.tasks[$0].id }
  }

  /// Where edges are written, they are to bring what tasks name.
  private mutating func checkEdgesBringInputs() {
    guard spec.edges != nil, faults.allSatisfy(\.isWarning) else { return }
    let explicit = takeEdges(spec.edges ?? [])
    // Which tasks stand above each, as bits.
    let words = (spec.tasks.count + 63) / 64
    var above: [[UInt64]?] = Array(repeating: nil, count: spec.tasks.count)
    for place in order() {
      var bits = [UInt64](repeating: 0, count: words)
      for parent in explicit[place] {
        bits[parent / 64] |= 1 << UInt64(parent % 64)
        if let others = above[parent] {
          for word in bits.indices { bits[word] |= others[word] }
        }
      }
      above[place] = bits
    }
    for place in spec.tasks.indices where !isStandIn[place] {
      let task = spec.tasks[place]
      for member in [place] + standIns(of: task) {
        for (key, reference) in spec.tasks[member].references {
          guard let id = reference.task, let other = places[id] else { continue }
          guard above[place].map({ $0[other / 64] >> UInt64(other % 64) & 1 == 0 }) ?? true else {
            continue
          }
          faults.append(
            PipelineFault(
              task: spec.tasks[member].id, key: key,
              "no edge brings ${\(reference.text)} to “\(task.id)”",
              hint: "add [\(id), \(task.id)] to edges, or leave edges out"))
        }
      }
    }
  }

  /// The places of the tasks, each behind what it needs.
  private func order() -> [Int] {
    var open = spec.tasks.indices.map { needs($0).count }
    var order = spec.tasks.indices.filter { open[$0] == 0 }
    var next = 0
    while next < order.count {
      for dependent in dependents[order[next]] {
        open[dependent] -= 1
        if open[dependent] == 0 { order.append(dependent) }
      }
      next += 1
    }
    return order
  }

  // MARK: Types of what flows

  private mutating func checkSchemas() {
    for task in spec.tasks {
      for (key, schema) in [
        ("inputSchema", task.inputSchema), ("outputSchema", task.outputSchema),
      ] {
        guard let schema else { continue }
        do throws(SchemaError) { _ = try JSONSchema(compiling: schema) } catch {
          faults.append(PipelineFault(task: task.id, key: key, "\(error)"))
        }
      }
    }
    // What is wrong with the graph itself is said first.
    guard faults.allSatisfy(\.isWarning) else { return }
    var flow = SchemaFlow(spec, places)
    flow.check()
    faults += flow.faults
  }

  // MARK: Undoing

  /// What writes, and cannot be undone though the pipeline may be rolled back.
  private mutating func checkCompensations() {
    guard spec.checkpoints != .none else { return }
    if case .after(let tasks) = spec.checkpoints {
      for (index, id) in tasks.enumerated() {
        guard let place = place(of: id, task: nil, key: "checkpoints/\(index)") else { continue }
        if isStandIn[place] {
          faults.append(
            PipelineFault(
              key: "checkpoints/\(index)", "“\(id)” only stands in for others; name one of them"))
        }
      }
    }
    for task in spec.tasks where task.sideEffect == .write && task.compensate == nil {
      var fault = PipelineFault(
        task: task.id, key: "sideEffect",
        "what “\(task.id)” writes cannot be undone when the pipeline is rolled back",
        hint: "declare compensate, or sideEffect: read where it only looks")
      fault.isWarning = true
      faults.append(fault)
    }
  }
}
