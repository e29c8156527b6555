import AgentTrace
import TraceReporting

/// Why a task of a pipeline went as it did: what it was given and where that came from, its attempts, what was done
/// about failures, what people said.
struct TaskReasons {
  private let cursor: RunCursor
  private static let eventLimit = 200

  init(in cursor: RunCursor) { self.cursor = cursor }

  /// The task that an event of a pipeline is of; `nil` where it is of none.
  static func node(of event: Event) -> TaskNode? {
    guard let task = event.data["task"]?.stringValue else { return nil }
    return TaskNode(task, element: event.data["element"]?.intValue)
  }

  /// The task that a stop is about; `nil` where it is about none.
  func stopping(_ stop: Event) throws -> TaskNode? {
    let detail = stop.data["detail"]?.stringValue ?? ""
    if let name = StopDetail.task(in: detail) { return TaskNode(name) }
    guard stop.data["reason"]?.stringValue == StopReason.blocked.rawValue else { return nil }
    return try cursor.lastEvent(before: stop.seq, of: [.taskAsked]).flatMap(Self.node)
  }

  /// Tells of a task, or of one element of it.
  func add(_ node: TaskNode, to page: inout Page) throws {
    var events: [Event] = []
    var isCut = false
    try cursor.scanForward(from: 0) { event in
      guard Self.types.contains(event.type), Self.node(of: event) == node else { return .goOn }
      guard events.count < Self.eventLimit else {
        isCut = true
        return .enough
      }
      events.append(event)
      return .goOn
    }
    guard !events.isEmpty else { return try addUnbegun(node, to: &page) }
    page.heading("why \(node)", "pipeline task")
    for event in events {
      if event.type == .taskStarted { try addStart(event, to: &page) }
      for line in EventRow(event).lines() { page.lines.append(line) }
    }
    if isCut { page.line("  and more of its events", .faint) }
    let run = events.last { $0.data["run"] != nil }?.data["run"]?["runId"]?.stringValue
    if let run {
      page.labelled("its run", "agent-eval replay \(run)\(Self.suffix), beside this log")
    }
  }

  private static let suffix = ".jsonl.gz"
  private static let types: Set<EventType> = [
    .taskStarted, .taskOutput, .taskFailed, .taskFinished, .taskSkipped, .taskExpanded, .taskAsked,
    .taskAnswered,
    .taskResumed, .compensationStarted, .compensationFinished,
  ]

  /// What an attempt was given, and the events that it came from.
  private func addStart(_ event: Event, to page: inout Page) throws {
    if let input = event.data["input"] { page.labelled("input", json: input) }
    if let words = event.data["arguments"] { page.labelled("command", json: words) }
    for origin in event.data["origins"]?.objectValue ?? [:] {
      guard let seq = origin.value.intValue, let source = try cursor.event(at: seq) else {
        continue
      }
      let entry = EventRow(source).entries.first
      page.labelled(
        "from",
        "\(origin.key): event \(seq), \(entry.map { "\($0.label) \($0.text)" } ?? source.type.rawValue)"
      )
    }
    if let undoing = event.data["compensate"] { page.labelled("undone by", json: undoing) }
  }

  private func addUnbegun(_ node: TaskNode, to page: inout Page) throws {
    guard let state = try cursor.pipeline(),
      state.definedTasks.contains(where: { $0.hasSameUTF8(as: node.task) })
    else {
      let known = try cursor.pipeline()?.definedTasks.joined(separator: ", ") ?? ""
      throw CommandError(
        "the pipeline has no task “\("\(node)".prefix(utf8Bytes: 80))”; it has \(known)")
    }
    page.heading("why \(node)", "pipeline task")
    page.line("  nothing happened to it: what it waits for had not ended", .faint)
  }
}
