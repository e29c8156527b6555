import AgentTrace

/// Tasks as a whole, what was decided about failures, what people said, and the end.
extension Scheduler {
  /// What has become due of a task because others have ended, or its own elements have.
  mutating func examine(_ task: Int) -> Step? {
    let progress = self.progress(task)
    let id = spec.tasks[task].id
    guard !graph.isStandIn[task], progress?.settled == nil, unmet[task] == 0,
      progress?.node(nil) == nil
    else { return nil }
    if let failed = graph.waits[task].first(where: { self.progress($0)?.settled == .failed }) {
      guard running[task] == 0 else { return nil }
      let message = "\(spec.tasks[failed].id) failed"
      return .fail(TaskNode(id), TaskError(.upstreamFailed, message))
    }
    guard spec.tasks[task].isFanOut else {
      refresh(task)
      return nil
    }
    if progress?.elements == nil { return examineSource(of: task) }
    guard let progress, let count = progress.elements, progress.settledElements >= count else {
      refresh(task)
      return nil
    }
    if !progress.failed.isEmpty {
      let message = "\(progress.failed.count) of \(count) elements failed"
      return .fail(TaskNode(id), TaskError(.elementFailed, message))
    }
    var finished = TaskFinished(node: TaskNode(id), attempt: 0)
    finished.elements = count
    finished.isCheckpoint = spec.checkpoints.contains(id)
    return .append(.finished(finished))
  }

  /// Finds out how many elements a task has.
  mutating func examineSource(of task: Int) -> Step? {
    let id = spec.tasks[task].id
    guard let stream = graph.streams[task] else { return .expand(task) }
    refresh(task)
    guard let above = progress(stream.source), let settled = above.settled else { return nil }
    let name = spec.tasks[stream.source].id
    switch (stream, settled) {
    case (.elements, _) where above.elements != nil:
      // Each of its elements counts for itself, whatever became of the whole.
      return .append(.expanded(TaskExpanded(task: id, elements: above.elements ?? 0)))
    case (.parts, .finished) where !above.lacksParts:
      return .append(.expanded(TaskExpanded(task: id, elements: above.parts)))
    case (_, .skipped) where stream == .elements(stream.source) || above.parts == 0:
      // What is under way comes to its own end first: nobody would hear of it behind the end of the whole.
      guard running[task] == 0 else { return nil }
      return .append(.skipped(TaskSkipped(node: TaskNode(id), reason: "\(name) is absent")))
    default:
      guard running[task] == 0 else { return nil }
      let words =
        switch (stream, settled) {
        case (.elements, _), (_, .failed): "\(name) has no elements"
        case (_, .finished):
          "what stands in for \(name) is no list that begins with the parts that it gave"
        case (_, .skipped): "\(name) was skipped behind parts that it gave"
        }
      return .fail(TaskNode(id), TaskError(.upstreamFailed, words))
    }
  }

  // MARK: Recovery and people

  mutating func act(on key: Key) -> Step? {
    guard let begun = progress(key.task)?.node(key.element) else { return nil }
    let node = self.node(key)
    switch begun.phase {
    case .recovering(let recovery): return act(on: recovery, of: node, begun)
    case .answered(let why, let answer): return act(on: answer, to: why, key)
    case .running, .waiting, .asked: return nil
    }
  }

  func act(on recovery: TaskRecovery, of node: TaskNode, _ begun: NodeProgress) -> Step? {
    switch recovery.action {
    case .substitute:
      return .append(.finished(finished(node, output: recovery.value ?? .null, via: "substitute")))
    case .skip:
      return .append(.skipped(TaskSkipped(node: node, reason: begun.error?.kind ?? "skipped")))
    case .ask:
      let why = recovery.rule == nil ? TaskAsked.Why.doubt : .failed
      let message = begun.error.map { "\($0.kind): \($0.message)" } ?? ""
      let question =
        why == .doubt
        ? "\(node) was begun and cut off (\(message)). Did it happen?"
        : "\(node) failed (\(message)). What is to be done?"
      return .append(.asked(TaskAsked(node: node, why: why, question: question)))
    case .retry, .again, .fallback, .compensate, .fail: return nil
    }
  }

  func finished(_ node: TaskNode, output: JSONValue, via: String) -> TaskFinished {
    var finished = TaskFinished(node: node, attempt: 0, output: output, via: via)
    finished.isCheckpoint = node.element == nil && spec.checkpoints.contains(node.task)
    return finished
  }

  mutating func act(
    on answer: TaskAnswered, to why: TaskAsked.Why, _ key: Key
  ) -> Step? {
    let node = self.node(key)
    let isWhole = spec.tasks[key.task].isFanOut && key.element == nil
    switch (why, answer.word) {
    case (_, .skipped):
      return .append(.skipped(TaskSkipped(node: node, reason: "skipped by \(answer.by)")))
    case (.human, .granted): return said(Self.grant(by: answer), by: answer, key)
    case (.human, .answered):
      return said(["text": answer.data ?? .null, "by": .string(answer.by)], by: answer, key)
    case (.doubt, .happened), (.failed, .answered), (.failed, .happened), (.again, .happened):
      let output = answer.data ?? .null
      // The output of a task for many is the list of theirs. What has happened is not tried again, as what is invalid is.
      if !isWhole, let wrong = spec.tasks[key.task].fault(inOutput: output) {
        return .fail(node, TaskError(.denied, "what \(answer.by) said: \(wrong)"))
      }
      return .append(.finished(finished(node, output: output, via: "person")))
    // What a run waits for is said in its own log.
    case (.run, _): break
    case (.doubt, .didNotHappen), (.doubt, .granted), (.failed, .granted), (.again, .granted):
      if isWhole { break }
      ready.insert(key)
      return nil
    default: break
    }
    let words = answer.reason.map { ": \($0)" } ?? ""
    return .fail(node, TaskError(.denied, "\(answer.by) said no\(words)"))
  }

  /// What a person said to a task that asks: its output, or an attempt that is not as it has to be.
  private func said(_ output: JSONValue, by answer: TaskAnswered, _ key: Key) -> Step {
    let node = self.node(key)
    let own = spec.tasks[key.task]
    let acting = self.acting(for: node) ?? own
    if let wrong = own.fault(inOutput: output) ?? acting.fault(inOutput: output) {
      return .fail(node, TaskError(.invalid, "what \(answer.by) said: \(wrong)"))
    }
    return .append(.finished(finished(node, output: output, via: "person")))
  }

  static func grant(by answer: TaskAnswered) -> JSONValue {
    .object(
      JSONObject(present: [
        ("granted", true), ("by", .string(answer.by)), ("text", answer.data),
        ("reason", answer.reason.map(JSONValue.string)),
      ]))
  }

  // MARK: The end

  func ended() -> Step {
    let questions = state.questions
    if let doubt = questions.first(where: { $0.why == .doubt }) {
      return .stop(
        .blocked, detail: StopDetail.unknownEffect(of: "\(doubt.node)"), isFinal: false)
    }
    if !questions.isEmpty { return .stop(.blocked, detail: StopDetail.human, isFinal: false) }
    for (place, task) in spec.tasks.enumerated() where !graph.isStandIn[place] {
      if state[task.id]?.settled != .finished, state[task.id]?.settled != .skipped {
        return .stop(.toolFailure, detail: StopDetail.task(task.id), isFinal: false)
      }
    }
    return .stop(.success, detail: nil, isFinal: true)
  }
}

extension NodeProgress {
  /// Whether a person has said that it may be done again.
  var mayWriteAgain: Bool {
    if case .answered(.again, let answer) = phase { return answer.word == .granted }
    return isReleased
  }
}
