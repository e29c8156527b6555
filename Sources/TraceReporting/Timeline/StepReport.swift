public import AgentTrace

/// One step of a run in full: what the model saw, what it decided, what became of it, and the state
/// it left.
public struct StepReport {
  private let painter: Painter
  private let width: Int
  private let isFull: Bool

  /// - Parameter width: characters of a line at most, no less than 40; longer values go on in the
  ///   next.
  /// - Parameter isFull: as ``Timeline`` has it.
  public init(painter: Painter, width: Int = 120, isFull: Bool = false) {
    self.painter = painter
    self.isFull = isFull
    self.width = max(40, width)
  }

  /// The lines that tell of the step.
  ///
  /// - Parameters:
  ///   - events: the step's events, in log order.
  ///   - state: the state after the last of them.
  public func lines(step: Int, events: [Event], state: AgentState) -> [String] {
    var lines = [
      painter.paint(
        Visible.line("step \(step) of run \(state.runId)", width: width), .heading)
    ]
    for event in events where event.type == .contextBuilt {
      guard let packet = try? ContextPacket(decoding: event.data) else { continue }
      lines += heading("what the model saw", event)
      lines += packet.messages.flatMap(message)
      lines += choices("taken in", packet.included) + choices("left out", packet.omittedRefs)
    }
    lines += ["", painter.paint("what happened", .heading)]
    var timeline = Timeline(
      painter: painter, width: width, isFull: isFull, headsSteps: false)
    for event in events where event.type != .contextBuilt {
      lines += timeline.lines(for: event)
    }
    return lines + self.state(state)
  }

  private func heading(_ text: String, _ event: Event) -> [String] {
    ["", painter.paint(text, .heading) + painter.paint("  event \(event.seq)", .faint)]
  }

  private func message(_ message: JSONValue) -> [String] {
    let role = message["role"]?.stringValue ?? "?"
    var lines: [String] = []
    for part in message["content"]?.arrayValue ?? [message] {
      lines += labelled(role, PromptText.text(of: part))
    }
    return lines
  }

  private func choices(_ label: String, _ items: [ContextItem]) -> [String] {
    PromptText.choices(items).flatMap { labelled(label, $0) }
  }

  private func state(_ state: AgentState) -> [String] {
    var lines = ["", painter.paint("state after it", .heading)]
    let totals = state.totals
    lines += labelled(
      "used",
      "\(Figures.count(totals.steps, "step")), \(Figures.count(totals.toolCalls, "call")), "
        + "\(Figures.count(totals.modelCalls, "model call")), "
        + Figures.duration(microseconds: state.elapsedMicroseconds))
    for call in state.pendingCalls {
      lines += labelled("pending", "\(call.callId) \(call.tool)")
    }
    if let question = state.question { lines += labelled("asked", question) }
    if !state.approvals.isEmpty {
      lines += labelled(
        "approved", Figures.count(state.approvals.grants.count, "approval") + " not used up")
    }
    for note in state.memory { lines += labelled("memory", note.key) }
    if let stop = state.stop {
      lines += labelled("stop", stop.reason + (stop.detail.map { " (\($0))" } ?? ""))
    }
    return lines + labelled("digest", state.digest.hex)
  }

  /// A label and a text that goes on indented, in lines of the width.
  private func labelled(_ label: String, _ text: String) -> [String] {
    let indent = 11
    let name = Visible.line(label, width: indent - 2)
    var pieces: [String] = []
    for line in Visible.lines(text) { pieces += wrapped(line, room: width - indent) }
    while pieces.count > 1, pieces.last?.isEmpty == true { pieces.removeLast() }
    return pieces.enumerated().map { index, piece in
      let lead = index == 0 ? name : ""
      guard !piece.isEmpty else { return painter.paint(lead, .faint) }
      return painter.paint(lead, .faint) + String(repeating: " ", count: indent - lead.count)
        + piece
    }
  }

  private func wrapped(_ line: String, room: Int) -> [String] {
    var pieces: [String] = []
    var rest = line[...]
    // Never counts the rest: a prompt may be a megabyte long.
    while let limit = rest.index(rest.startIndex, offsetBy: room, limitedBy: rest.endIndex),
      limit < rest.endIndex
    {
      let space = rest[..<limit].dropFirst().lastIndex(of: " ")
      pieces.append(String(rest[..<(space ?? limit)]))
      rest = rest[(space.map { rest.index(after: $0) } ?? limit)...]
    }
    return pieces + [String(rest)]
  }
}
