public import AgentTrace

/// A pipeline as lines while it runs. Where elements are folded, those of a fan-out that go well are told
/// only by what goes on now.
public struct PipelineView {
  private var timeline: Timeline
  private var state = PipelineState()
  /// When the first element of each fan-out began.
  private var began: [String: Int] = [:]
  private let foldsElements: Bool
  private let width: Int

  /// - Parameter foldsElements: whether only elements that fail have lines of their own.
  public init(painter: Painter, width: Int, foldsElements: Bool) {
    timeline = Timeline(painter: painter, width: width, headsSteps: false)
    self.foldsElements = foldsElements
    self.width = width
  }

  /// The lines that tell of the next event; often one, sometimes none.
  public mutating func lines(for event: Event) -> [String] {
    state.apply(event)
    if event.type == .taskStarted, event.data["element"] != nil,
      let task = event.data["task"]?.stringValue, began[task] == nil
    {
      began[task] = event.t
    }
    if foldsElements, event.data["element"] != nil,
      [.taskStarted, .taskFinished, .taskOutput].contains(event.type)
    {
      return []
    }
    return timeline.lines(for: event)
  }

  /// What goes on now, on one line: each task with its state, its attempt and how long it has been at it;
  /// fan-outs by their counts. `nil` where nothing does.
  public var progress: String? {
    let parts = state.tasks.compactMap { part(of: $0) }
    guard !parts.isEmpty else { return nil }
    return Visible.line(parts.joined(separator: "  "), width: max(20, width - 1))
  }

  private func part(of task: TaskProgress) -> String? {
    let running = task.active.filter { $0.phase == .running }
    guard task.settled == nil, !task.active.isEmpty || task.settledElements > 0 else { return nil }
    guard task.settledElements > 0 || task.active.contains(where: { $0.element != nil }) else {
      guard let node = task.active.first else { return nil }
      let attempt = node.attempt > 1 ? " try \(node.attempt)" : ""
      let elapsed = max(0, state.elapsedMicroseconds - (node.firstStartedAt ?? 0))
      return
        "\(task.id): \(PipelineTasks.words(for: node.phase))\(attempt) \(Figures.duration(microseconds: elapsed))"
    }
    let all = task.elements.map { "/\($0)" } ?? ""
    let failed = task.failed.isEmpty ? "" : ", \(task.failed.count) failed"
    return
      "\(task.id): \(task.settledElements)\(all), \(running.count) running\(failed)\(eta(of: task))"
  }

  /// How long the rest of a fan-out takes if it goes on as it did since its first element began.
  private func eta(of task: TaskProgress) -> String {
    guard let all = task.elements, task.settledElements > 0, task.settledElements < all,
      let start = began[task.id]
    else { return "" }
    let one = Double(max(0, state.elapsedMicroseconds - start)) / Double(task.settledElements)
    let rest = Double(all - task.settledElements) * one
    return ", about \(Figures.duration(microseconds: Int(min(rest, 1e15)))) left"
  }
}
