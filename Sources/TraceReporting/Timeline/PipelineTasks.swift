public import AgentTrace

/// The tasks of a pipeline as a table: how far each is.
public enum PipelineTasks {
  /// One task.
  public struct Row: Sendable, Hashable {
    /// Its id.
    public var task: String
    /// How far it is, in words.
    public var words: String
    /// What the words are.
    public var role: Painter.Role
  }

  /// Every task, in the order of the definition; those that only stand in where they were used. As many as there are
  /// tasks: elements of fan-outs are counted.
  public static func rows(of state: PipelineState) -> [Row] {
    state.definedTasks.map { id in
      guard let task = state[id] else { return Row(task: id, words: "not begun", role: .faint) }
      return row(of: task)
    }
  }

  private static func row(of task: TaskProgress) -> Row {
    let elements = task.elements.map { ", \(Figures.count($0, "element"))" } ?? ""
    let round =
      task.round > 0 ? ", rolled back" + (task.round > 1 ? " \(task.round) times" : "") : ""
    switch task.settled {
    case .finished:
      let absent = task.skipped.isEmpty ? "" : ", \(task.skipped.count) absent"
      return Row(task: task.id, words: "done" + elements + absent + round, role: .good)
    case .skipped: return Row(task: task.id, words: "absent" + round, role: .warning)
    case .failed:
      let error = task.error.map { ": \($0.kind): \($0.message)" } ?? ""
      return Row(task: task.id, words: "failed" + elements + error + round, role: .bad)
    case nil: return Row(task: task.id, words: words(ofOpen: task) + round, role: .heading)
    }
  }

  private static func words(ofOpen task: TaskProgress) -> String {
    if let node = task.node(nil), task.elements == nil {
      return words(for: node.phase) + (node.attempt > 1 ? ", attempt \(node.attempt)" : "")
    }
    guard task.elements != nil || task.settledElements > 0 || !task.active.isEmpty else {
      return "not begun"
    }
    let all = task.elements.map { " of \($0)" } ?? ""
    var parts = ["\(task.settledElements)\(all) ended"]
    if !task.failed.isEmpty { parts.append("\(task.failed.count) failed") }
    let running = task.active.count { $0.phase == .running }
    if running > 0 { parts.append("\(running) running") }
    let asked = task.active.count { if case .asked = $0.phase { true } else { false } }
    if asked > 0 { parts.append("\(asked) \(asked == 1 ? "waits" : "wait") for a person") }
    let other = task.active.count - running - asked
    if other > 0 { parts.append("\(other) between attempts") }
    return parts.joined(separator: ", ")
  }

  /// What a node that has begun and has not ended does now.
  static func words(for phase: NodeProgress.Phase) -> String {
    switch phase {
    case .running: "running"
    case .waiting: "waits to try again"
    case .recovering: "recovering"
    case .asked: "waits for a person"
    case .answered: "answered"
    }
  }
}

/// A pipeline at one of its events: what happened there, and how far each task was behind it.
public struct PipelineReport {
  private let painter: Painter
  private let width: Int
  private let isFull: Bool

  /// - Parameters:
  ///   - width: characters of a line at most, no less than 40.
  ///   - isFull: as ``Timeline`` has it.
  public init(painter: Painter, width: Int = 120, isFull: Bool = false) {
    self.painter = painter
    self.width = max(40, width)
    self.isFull = isFull
  }

  /// The lines that tell of an event, and of the state behind it.
  public func lines(event: Event, state: PipelineState) -> [String] {
    var timeline = Timeline(painter: painter, width: width, isFull: isFull, headsSteps: false)
    let head = Visible.line(
      "event \(event.seq) of pipeline \(state.name), run \(state.runId)", width: width)
    var lines = [painter.paint(head, .heading), "", painter.paint("what happened", .heading)]
    lines += timeline.lines(for: event)
    lines += ["", painter.paint("tasks after it", .heading)]
    let rows = PipelineTasks.rows(of: state)
    let room = min(24, rows.map { Visible.line($0.task).count }.max() ?? 0)
    for row in rows {
      let name = Visible.line(row.task, width: 24)
      let gap = String(repeating: " ", count: max(0, room - name.count) + 2)
      let words = Visible.line(row.words, width: max(20, width - room - 2))
      lines.append(name + gap + painter.paint(words, row.role))
    }
    if let rollback = state.rollback {
      let place = Visible.line(rollback.start.checkpoint ?? "start")
      lines.append(painter.paint("being rolled back to \(place)", .warning))
    }
    if let stop = state.stop {
      let detail = stop.detail.map { " (\($0))" } ?? ""
      let pause = stop.isFinal ? "" : "; may go on"
      lines += ["", "stop  " + Visible.line(stop.reason + detail + pause, width: width - 6)]
    }
    return lines
  }
}
