public import AgentTrace

extension Timeline {
  /// What an event of a pipeline says, line by line.
  static func entries(for change: PipelineEvent) -> [Entry] {
    switch change {
    case .started(let started):
      let attempt = started.attempt > 1 ? ", attempt \(started.attempt)" : ""
      let acting = started.acting.map { " by \($0)" } ?? ""
      let run = started.run.map { ", run \($0.runId)" } ?? ""
      return [Entry("started", .faint, "\(started.node)\(acting)\(attempt)\(run)")]
    case .output(let output):
      return [
        Entry("part", .faint, "\(output.node) \(output.part): \(brief(output.value))")
      ]
    case .failed(let failed): return entries(for: failed)
    case .finished(let finished): return [entry(for: finished)]
    case .skipped(let skipped):
      return [Entry("skipped", .warning, "\(skipped.node): \(skipped.reason)")]
    case .expanded(let expanded):
      let count = Figures.count(expanded.elements, "element")
      return [Entry("fan-out", .faint, "\(expanded.task): \(count)")]
    case .asked(let asked):
      var entry = Entry("asks", .heading, "\(asked.node): \(asked.question)")
      entry.isTold = true
      let shown = asked.show.map { [Entry("shows", .faint, brief($0))] } ?? []
      return [entry] + shown
    case .answered(let answered):
      let data = answered.data.map { ": \(brief($0))" } ?? ""
      let reason = answered.reason.map { " (\($0))" } ?? ""
      let role: Painter.Role = answered.word == .denied ? .bad : .good
      return [
        Entry(
          "answer", role,
          "\(answered.node): \(answered.word.rawValue) by \(answered.by)\(data)\(reason)")
      ]
    case .resumed(let resumed):
      return [Entry("goes on", .faint, "\(resumed.node), run \(resumed.runId)")]
    case .pauseRequested(let request): return [Entry("pausing", .warning, "by \(request.by)")]
    case .rollbackStarted, .compensationStarted, .compensationFinished, .rolledBack:
      return rollbackEntries(for: change)
    }
  }

  /// What a pipeline and the runs of its tasks came to.
  public static func used(by pipeline: PipelineState) -> Entry {
    let totals = pipeline.totals
    let ended = pipeline.tasks.count { $0.settled != nil }
    let parts =
      ["\(Figures.count(ended, "task")) ended"]
      + (totals.modelCalls + totals.steps + totals.toolCalls > 0
        ? [
          Figures.count(totals.steps, "step"), Figures.count(totals.toolCalls, "call"),
          Figures.count(totals.modelCalls, "model call"),
        ] : []) + spent(totals)
      + [Figures.duration(microseconds: pipeline.elapsedMicroseconds)]
    return Entry("used", .faint, parts.joined(separator: ", "))
  }

  private static func entry(for finished: TaskFinished) -> Entry {
    if let elements = finished.elements {
      return Entry("done", .good, "\(finished.node): \(Figures.count(elements, "element"))")
    }
    let via = finished.via.map { " (\($0))" } ?? ""
    let output = finished.output.map { ": \(brief($0))" } ?? ""
    return Entry("done", .good, "\(finished.node)\(via)\(output)")
  }

  private static func entries(for failed: TaskFailed) -> [Entry] {
    let effect = failed.isEffectUnknown ? ", effect unknown" : ""
    var entry = Entry(
      "failed", .bad, "\(failed.node): \(failed.error.kind)\(effect): \(failed.error.message)")
    entry.isTold = true
    let recovery = failed.recovery
    guard recovery.action != .fail else { return [entry] }
    let task = recovery.task.map { " \($0)" } ?? ""
    let wait = recovery.waitMicroseconds.map { " in \(Figures.duration(microseconds: $0))" } ?? ""
    return [
      entry,
      Entry("recovers", .warning, "\(failed.node): \(recovery.action.rawValue)\(task)\(wait)"),
    ]
  }

  private static func rollbackEntries(for change: PipelineEvent) -> [Entry] {
    switch change {
    case .rollbackStarted(let start):
      let undo = Figures.count(start.compensations, "effect")
      let by = start.by.map { " by \($0)" } ?? ""
      let left = start.left.map {
        Entry("left", .warning, "\($0): nothing is declared that undoes it")
      }
      return [
        Entry("rollback", .heading, "to \(start.checkpoint ?? "start")\(by): \(undo) to undo")
      ]
        + left
    case .compensationStarted(let start):
      let attempt = start.attempt > 1 ? ", attempt \(start.attempt)" : ""
      return [Entry("undoing", .faint, "\(start.node)\(attempt)")]
    case .compensationFinished(let end):
      guard let error = end.error else {
        return [Entry("undone", .good, "\(end.node)" + (end.by.map { " by \($0)" } ?? ""))]
      }
      var entry = Entry("open", .bad, "\(end.node): \(error)")
      entry.isTold = true
      return [entry]
    case .rolledBack(let end):
      let tasks = Figures.count(end.tasks.count, "task")
      let words =
        "to \(end.checkpoint ?? "start"): \(end.compensated) undone, \(end.left) left, "
        + "\(tasks) to run anew"
      return [Entry("back", .good, words)]
    default: return []
    }
  }

  private static func brief(_ value: JSONValue) -> String {
    value.stringValue ?? CanonicalJSON.string(value.cut(toBytes: 2_000))
  }
}
