import AgentTrace

extension Scheduler {
  /// The most that a retry waits.
  static let backoffLimitMicroseconds = 3_600_000_000

  /// The event that says that a node failed, with what is done about it.
  func failure(
    of node: TaskNode, _ error: TaskError, isEffectUnknown: Bool = false,
    own: TaskRecovery? = nil
  ) -> TaskFailed {
    let begun = state[node.task]?.node(node.element)
    let attempt = begun?.phase == .running ? begun?.attempt ?? 0 : 0
    var failed = TaskFailed(
      node: node, attempt: attempt, error: error,
      recovery: recovery(for: node, error, isEffectUnknown: isEffectUnknown, own))
    failed.isEffectUnknown = isEffectUnknown
    return failed
  }

  private func recovery(
    for node: TaskNode, _ error: TaskError, isEffectUnknown: Bool, _ own: TaskRecovery?
  ) -> TaskRecovery {
    guard let place = graph.places[node.task], let acting = acting(for: node) else {
      return TaskRecovery(.fail)
    }
    let kind = TaskError.Kind(rawValue: error.kind)
    if kind == .interrupted { return TaskRecovery(acting.mayRepeat ? .again : .ask) }
    // What may have happened is not done once more.
    if isEffectUnknown, !acting.mayRepeat { return TaskRecovery(.ask) }
    if let own { return own }
    let isWhole = spec.tasks[place].isFanOut && node.element == nil
    let begun = state[node.task]?.node(node.element)
    let mayTry = !isWhole && Self.mayTryAgain(kind)
    if mayTry, let retry = retry(acting.retry, after: error, of: node, begun) { return retry }
    for (index, rule) in acting.recover.enumerated() where rule.on.contains(error.kind) {
      switch rule.action {
      case .retry:
        let uses = begun?.ruleUses[index] ?? 0
        guard mayTry, uses < rule.max else { continue }
        var recovery = TaskRecovery(.retry, rule: index)
        recovery.waitMicroseconds = backoff(rule.backoffMicroseconds, uses, of: node, begun)
        recovery.tellsFeedback = rule.tellsFeedback
        return recovery
      case .fallback:
        guard mayTry, let task = rule.task else { continue }
        var recovery = TaskRecovery(.fallback, rule: index)
        recovery.task = task
        return recovery
      case .substitute:
        var recovery = TaskRecovery(.substitute, rule: index)
        recovery.value = rule.value ?? .null
        return recovery
      case .ask:
        // Who has said no is not asked again.
        if kind == .denied { continue }
        return TaskRecovery(.ask, rule: index)
      case .skip, .compensate, .fail: return TaskRecovery(rule.action, rule: index)
      case .again: continue
      }
    }
    return TaskRecovery(.fail)
  }

  /// Whether another attempt could fare otherwise.
  private static func mayTryAgain(_ kind: TaskError.Kind?) -> Bool {
    switch kind {
    case .totalTimeout, .upstreamFailed, .elementFailed, .input, .denied, .budgetExhausted: false
    default: true
    }
  }

  private func retry(
    _ spec: RetrySpec, after error: TaskError, of node: TaskNode, _ begun: NodeProgress?
  ) -> TaskRecovery? {
    let retries = begun?.retries ?? 0
    guard retries < spec.max, spec.on.contains(error.kind) else { return nil }
    var recovery = TaskRecovery(.retry)
    recovery.waitMicroseconds = backoff(spec.backoffMicroseconds, retries, of: node, begun)
    return recovery
  }

  /// Twice as long each time, less up to half of it by chance: what fails together shall not come back
  /// together. The chance is made from the run's seed and the attempt, so that the same run waits the same.
  private func backoff(
    _ base: Int, _ count: Int, of node: TaskNode, _ begun: NodeProgress?
  ) -> Int? {
    guard base > 0 else { return nil }
    let limit = Self.backoffLimitMicroseconds
    let whole = count < 32 && base <= limit >> count ? base << count : limit
    let digest = Digest(
      of: [
        JSONValue(state.seed), .string(node.task), JSONValue(node.element ?? -1),
        JSONValue(begun?.attempt ?? 0), JSONValue(count),
      ])
    let chance = digest.bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    return whole - Int(Double(whole) / 2 * Double(chance) / Double(1 << 32))
  }

  /// What changes at a task's breaker after an attempt has ended; `nil` for nothing.
  func breakerChange(of acting: TaskSpec) -> BreakerChanged? {
    guard let breaker = acting.breaker, let progress = state[acting.id] else { return nil }
    switch progress.breaker {
    case .closed:
      guard progress.breakerFailures >= breaker.failures else { return nil }
      return BreakerChanged(tool: acting.id, state: .open, failures: progress.breakerFailures)
    case .halfOpen:
      let isWell = progress.breakerFailures == 0
      return BreakerChanged(
        tool: acting.id, state: isWell ? .closed : .open, failures: progress.breakerFailures)
    case .open: return nil
    }
  }
}
