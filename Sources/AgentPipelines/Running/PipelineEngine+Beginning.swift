import AgentRuntime
import AgentTrace

/// What begins: attempts, questions, and what a fan-out runs for.
extension PipelineEngine {
  func filled(
    _ template: TaskTemplate?, for node: TaskNode
  ) throws(TaskError) -> JSONValue? {
    guard let template else { return nil }
    return try template.filled { (reference) throws(TaskError) -> TaskTemplate.Found in
      try outputs.find(reference, for: node, in: state)
    }
  }

  func ask(_ node: TaskNode) async throws {
    let asked: TaskAsked
    do throws(TaskError) { asked = try question(of: node) } catch {
      return try await fail(node, error)
    }
    try await append(.pipeline(.asked(asked)))
  }

  func question(of node: TaskNode) throws(TaskError) -> TaskAsked {
    guard let human = scheduler.acting(for: node)?.human else {
      throw TaskError(.input, "\(node) has no question")
    }
    let question = try filled(human.ask, for: node) ?? ""
    let show = try filled(human.show, for: node)
    return TaskAsked(
      node: node, why: .human,
      question: question.stringValue ?? CanonicalJSON.string(question, form: .plain),
      show: show?.cut(toBytes: Self.outputLimitBytes))
  }

  func expand(_ task: Int) async throws {
    let node = TaskNode(spec.tasks[task].id)
    let count: Int?
    do throws(TaskError) { count = try elementCount(of: task) } catch {
      return try await fail(node, error)
    }
    if let count {
      try await append(.pipeline(.expanded(TaskExpanded(task: node.task, elements: count))))
    } else {
      let reason = "the list that it runs for is absent"
      try await append(.pipeline(.skipped(TaskSkipped(node: node, reason: reason))))
    }
  }

  /// How many elements a task has; `nil` where what it runs for is absent.
  func elementCount(of task: Int) throws(TaskError) -> Int? {
    let own = spec.tasks[task]
    guard case .list(let reference)? = own.forEach else { return nil }
    guard case .value(let whole) = try outputs.find(reference, for: TaskNode(own.id), in: state)
    else { return nil }
    guard let list = try reference.follow(whole).arrayValue else {
      throw TaskError(.input, "${\(reference.text)} is no list")
    }
    let limit = PipelineGraph.elementLimit
    guard list.count <= limit else {
      throw TaskError(
        .input, "${\(reference.text)} has \(list.count) elements; \(limit) are the most")
    }
    return list.count
  }

  func start(_ node: TaskNode) async throws {
    guard let acting = scheduler.acting(for: node), let task = pipeline.task(acting.id) else {
      return
    }
    var ready: (started: TaskStarted, context: TaskContext)
    do throws(TaskError) { ready = try prepared(node, acting) } catch {
      return try await fail(node, error)
    }
    if acting.kind.isRun {
      let run = recorded.map { $0.run(at: state.nextSeq) } ?? TaskRun(runId: identifiers.next())
      ready.started.run = run
      ready.context.runId = run.runId
    }
    ready.context.seq = try await append(
      .pipeline(.started(ready.started)), isEffectAhead: acting.sideEffect != .read)
    begin(Attempt(node: node, number: ready.started.attempt), task, ready.context)
  }

  /// The next attempt at a node, as far as it is known before it begins: what is recorded, and what the task is given.
  ///
  /// - Parameter goingOn: the attempt that goes on; `nil` for a new one.
  func prepared(
    _ node: TaskNode, _ acting: TaskSpec, goingOn: Int? = nil
  ) throws(TaskError) -> (started: TaskStarted, context: TaskContext) {
    let begun = state[node.task]?.node(node.element)
    var started = TaskStarted(
      node: node, attempt: goingOn ?? (begun?.attempt ?? 0) + 1, acting: begun?.acting,
      kind: acting.kind.rawValue, sideEffect: acting.sideEffect.rawValue)
    started.input = try whole(filled(acting.input, for: node))
    started.arguments = try whole(filled(acting.arguments, for: node))
    started.compensate = try compensation(of: acting, for: node)
    started = withholding.redacted(started)
    let wrong = LocalExecutor.fault(
      in: started.input ?? .null, by: acting.inputSchema,
      "what it is given is not what inputSchema says")
    if let wrong { throw TaskError(.input, wrong) }
    started.origins = outputs.origins(
      of: (acting.input?.references ?? []) + (acting.arguments?.references ?? []), for: node)
    if acting.isIdempotent { started.isIdempotent = true }
    let key = idempotencyKey(of: acting, node, started.input, started.arguments)
    if acting.sideEffect != .read { started.idempotencyKey = key }
    let feedback = begun?.tellsFeedback ?? false ? begun?.error?.message : nil
    let attempt = Attempt(node: node, number: started.attempt)
    var context = TaskContext(
      pipelineId: state.pipelineId, pipelineRunId: runId, seq: state.nextSeq, node: node,
      attempt: started.attempt, input: started.input, origins: started.origins,
      arguments: started.arguments, idempotencyKey: key, feedback: feedback,
      timeoutMicroseconds: acting.timeoutMicroseconds,
      remaining: remaining(for: attempt, isRun: acting.kind.isRun),
      emit: { [mailbox] value in
        await withCheckedContinuation { waiting in
          if !mailbox.post(.part(attempt, value, waiting)) { waiting.resume(returning: false) }
        }
      })
    if recorded == nil {
      do { context = try withholding.restored(context, for: acting.kind) } catch {
        given[attempt] = nil
        throw error
      }
    }
    return (started, context)
  }

  /// What a task is given, which is never a part of it.
  private func whole(_ value: JSONValue?) throws(TaskError) -> JSONValue? {
    guard let value, value.isLarger(thanBytes: Self.outputLimitBytes) else { return value }
    throw TaskError(
      .input,
      "what it is given has more than \(Self.outputLimitBytes >> 20) MiB or too many values; hand it over in a file, by its name"
    )
  }

  func begin(_ attempt: Attempt, _ task: any PipelineTask, _ context: TaskContext) {
    if recorded != nil { return }
    if context.runId != nil { runs.insert(attempt) }
    // What stands in for a task gives what that task is to give.
    let isStandIn = !task.spec.id.hasSameUTF8(as: attempt.node.task)
    let asked = isStandIn ? pipeline.graph.places[attempt.node.task].map { spec.tasks[$0] } : nil
    handles[attempt] = Task { [executor, mailbox] in
      let start = ContinuousClock.now
      var outcome = await executor.run(task, context)
      if let wrong = outcome.output.flatMap({ asked?.fault(inOutput: $0) }) {
        outcome.output = nil
        outcome.error = TaskError(.invalid, wrong)
        outcome.isEffectUnknown = task.spec.sideEffect == .write
      }
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      mailbox.post(
        .ended(
          attempt, outcome,
          elapsedMicroseconds: Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)))
    }
  }

  /// The command that undoes an attempt, as far as it is known before the attempt: a template, in which what the attempt
  /// returns is put in afterwards.
  func compensation(
    of acting: TaskSpec, for node: TaskNode
  ) throws(TaskError) -> JSONValue? {
    switch acting.compensate {
    case .closure: return "closure"
    case .command(let template):
      // What it will return is not known yet: that stays written, and what is put in beside it says that it
      // is no such place.
      return try template.filled(isTemplate: true) {
        (reference) throws(TaskError) -> TaskTemplate.Found in
        guard reference.root == .output else {
          guard case .value(let value) = try outputs.find(reference, for: node, in: state) else {
            return .absent
          }
          return .value(Self.escaped(value))
        }
        var place = JSONValue.string("${\(reference.text)}")
        for case .key(let key) in reference.path.reversed() { place = [key: place] }
        return .value(place)
      }
    case nil: return nil
    }
  }

  /// A value whose texts stand for themselves where references are looked for.
  static func escaped(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(PlaceholderText.escaped(text))
    case .array(let elements): .array(elements.map(escaped))
    case .object(let object): .object(object.mapValues(escaped))
    default: value
    }
  }

  /// What names the action: what it is, not which attempt at it. One that was undone and is done again is
  /// another.
  func idempotencyKey(
    of acting: TaskSpec, _ node: TaskNode, _ input: JSONValue?, _ arguments: JSONValue?
  ) -> String {
    var parts: [JSONValue] = [
      .string(state.pipelineId), .string(node.task), node.element.map { JSONValue($0) } ?? .null,
      .string(acting.id), input?.byValue ?? .null, arguments?.byValue ?? .null,
    ]
    if let round = state[node.task]?.round, round > 0 { parts.append(JSONValue(round)) }
    return Digest(of: .array(parts)).hex
  }

  /// What an attempt that begins now may use: all that is left of the limits, and where it is a run, an equal part of
  /// what those that run have not been given, so that together they use no more than there is.
  private func remaining(for attempt: Attempt, isRun: Bool) -> Limits {
    var limits = scheduler.limits
    limits.timeoutSeconds = limits.timeoutSeconds.map {
      max(0, $0 - Double(state.elapsedMicroseconds) / 1_000_000)
    }
    let parts = isRun ? scheduler.runsAtOnce : 1
    let free = unspoken(besides: attempt)
    // As long as there is something, somebody gets it.
    func part(_ left: Int?) -> Int? { left.map { $0 == 0 ? 0 : max(1, $0 / parts) } }
    limits.maxSteps = part(free.maxSteps)
    limits.maxToolCalls = part(free.maxToolCalls)
    limits.maxTokens = part(free.maxTokens)
    limits.maxCost = free.maxCost.map { $0 / Double(parts) }
    if isRun { given[attempt] = limits }
    return limits
  }

  /// What is left of what the limits count, less what runs that have not ended may use of it.
  private func unspoken(besides attempt: Attempt? = nil) -> Limits {
    let (limits, used) = (scheduler.limits, state.totals)
    let others = given.filter { $0.key != attempt }.values
    func left(_ limit: Int?, _ used: Int, _ key: KeyPath<Limits, Int?>) -> Int? {
      guard let limit else { return nil }
      // What has no limit of its own may use all.
      return others.reduce(max(0, limit - used)) { max(0, $0 - ($1[keyPath: key] ?? $0)) }
    }
    var free = Limits()
    free.maxSteps = left(limits.maxSteps, used.steps, \.maxSteps)
    free.maxToolCalls = left(limits.maxToolCalls, used.toolCalls, \.maxToolCalls)
    free.maxTokens = left(limits.maxTokens, used.inputTokens + used.outputTokens, \.maxTokens)
    free.maxCost = limits.maxCost.map { limit in
      let left = others.reduce(max(0, limit - (used.cost ?? 0))) {
        max(0, $0 - ($1.maxCost ?? $0))
      }
      // What parts do not add up to is no money.
      return left > limit * 1e-9 ? left : 0
    }
    return free
  }

  /// Sees whether runs that have not ended may use all that is left of a limit: others then begin once it is known what
  /// these leave. Where the pipeline is made again, its log says when they did.
  func holdRuns() {
    (scheduler.holdsRuns, scheduler.released) = (false, nil)
    guard !given.isEmpty, scheduler.limits != Limits() else { return }
    given = given.filter { isOpen($0.key) }
    guard !given.isEmpty else { return }
    if let recorded {
      (scheduler.holdsRuns, scheduler.released) = (true, recorded.begun(at: state.nextSeq))
      return
    }
    let free = unspoken()
    scheduler.holdsRuns =
      [free.maxSteps, free.maxToolCalls, free.maxTokens].contains(0) || free.maxCost == 0
  }
}
