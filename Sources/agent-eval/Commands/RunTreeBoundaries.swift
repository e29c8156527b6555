import AgentRuntime
import AgentTrace
import EvalRunning
import LiveBoundary
import Synchronization
import TraceReporting
import TraceStorage

/// What runs an agent and the agents that it calls.
enum RunTreeBoundaries {
  /// One door for the whole tree: the same person, the same notes.
  static func maker(person: (any Person)?, memory: any MemoryStore) -> BoundaryMaker {
    { agent, conditions in
      LiveBoundary.make(
        for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
        cancellation: conditions.cancellation, person: person, memory: memory,
        children: conditions.children, secrets: conditions.secrets)
    }
  }

  /// A door of its own for each run.
  static let each: BoundaryMaker = { agent, conditions in
    LiveBoundary.make(
      for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
      cancellation: conditions.cancellation, children: conditions.children,
      secrets: conditions.secrets)
  }

  /// Runs the agents that others call, and shows what they do as it happens.
  static func children(
    in folder: String, isFixed: Bool, durability: LogWriter.Durability, showsEvents: Bool,
    _ cancellation: Cancellation, _ makeBoundary: @escaping BoundaryMaker
  ) -> RecordedChildren {
    var children = RecordedChildren(
      folder: folder, cancellation: cancellation,
      clock: { elapsed -> any RunClock in
        if isFixed { return FixedClock(elapsedMicroseconds: elapsed) }
        return SystemClock(elapsedMicroseconds: elapsed, cancellation: cancellation)
      }, boundary: makeBoundary)
    children.logOptions = .init(durability: durability)
    guard showsEvents else { return children }
    let timelines = Mutex<[String: Timeline]>([:])
    children.observe = { path, event in
      let name = path.joined(separator: "/")
      let lines = timelines.withLock { timelines in
        var timeline =
          timelines[event.runId]
          ?? Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
        defer { timelines[event.runId] = event.type == .stop ? nil : timeline }
        return timeline.lines(for: event)
      }
      LiveView.print(lines.map { "\(Visible.line(name)) │ \($0)" })
    }
    return children
  }
}
