import AgentTrace

extension FullScreen {
  /// Shows on the right what a command answers.
  func answer(_ command: String) {
    let before = (run: cursor.path, seq: cursor.seq)
    do {
      let lines = try session.execute(command)
      if cursor.path != before.run {
        takeCursor()
        show(.event)
        message = lines.first.map { ($0.plain, false) }
      } else if cursor.seq != before.seq {
        show(.event)
        let hit = lines.first { $0.plain.hasPrefix("breakpoint") || $0.plain.hasPrefix("no ") }
        message = hit.map { ($0.plain, false) }
      } else if lines.count == 1 {
        message = (lines[0].plain, false)
      } else {
        show(.page(lines))
      }
    } catch {
      message = ("\(error)", true)
    }
  }

  func type(_ key: Key) -> Effect {
    guard case (let kind, var text)? = prompt else { return .nothing }
    switch key {
    case .escape, .control("c"):
      prompt = nil
      return .nothing
    case .enter:
      prompt = nil
      message = nil
      return submit(kind, text)
    case .backspace:
      guard !text.isEmpty else {
        prompt = nil
        return .nothing
      }
      text.unicodeScalars.removeLast()
    case .control("u"): text = ""
    case .character(let scalar): if text.utf8.count < 4_096 { text.unicodeScalars.append(scalar) }
    default: break
    }
    prompt = (kind, text)
    return .nothing
  }

  private func submit(_ kind: Prompt, _ text: String) -> Effect {
    guard !text.isEmpty else { return .nothing }
    switch kind {
    case .search:
      session.search = TextSearch(text)
      find(forward: true)
    case .command:
      // A number alone is a place.
      answer(Int(text) != nil ? "goto \(text)" : text)
    }
    return session.hasQuit ? .quit : .nothing
  }

  /// A breakpoint at what the selected event is; or none there any more.
  func toggleBreakpoint() {
    let event = cursor.event
    let condition: String
    switch event.type {
    case .decision:
      let tool = event.data["calls"]?[0]?["name"]?.stringValue
      condition = tool.map { "tool \($0)" } ?? "event decision"
    case .policyDecision:
      condition = event.data["status"]?.stringValue.map { "verdict \($0)" } ?? "event \(event.type)"
    case .toolStarted, .toolResult:
      condition = event.data["tool"]?.stringValue.map { "tool \($0)" } ?? "event \(event.type)"
    case .stop: condition = "stop"
    default: condition = "event \(event.type.rawValue)"
    }
    let known = session.breakpoints.all.first { $0.text.hasSameUTF8(as: condition) }
    answer(known.map { "delete \($0.number)" } ?? "break \(condition)")
  }

  private static let copyLimitBytes = 70_000

  func copy() -> Effect {
    let line = cursor.event.encodedLine()
    guard line.count <= Self.copyLimitBytes else {
      message = ("\(line.count) bytes are too many to copy; “:export FILE” writes them", true)
      return .nothing
    }
    message = ("event \(cursor.seq) is copied as JSON, if the terminal allows it (OSC 52)", false)
    return .copy(line)
  }
}
