import AgentRuntime
import AgentTrace
import TraceReporting

/// What a run that goes on shows on the last line of a terminal, beside what is printed.
enum LiveView {
  /// The latest line of what a model writes or a tool says.
  static func show(_ progress: RunProgress) {
    Output.progress(line(progress))
  }

  /// What a run of a case is at, in a line.
  static func line(_ update: RunUpdate, of caseId: String) -> String {
    let name = Visible.line(caseId, width: 40)
    switch update {
    case .progress(let progress): return "\(name)  \(line(progress))"
    case .event(let event):
      var timeline = Timeline(painter: Painter(isColoured: false), width: 60, headsSteps: false)
      return "\(name)  step \(event.step)  \(timeline.lines(for: event).last ?? "")"
    }
  }

  /// Prints what tells of an event, in the place of what was shown.
  static func print(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    Output.progress("")
    Output.lines(lines)
  }

  private static func line(_ progress: RunProgress) -> String {
    let source =
      switch progress.source {
      case .model: "model"
      case .tool(let callId): "call \(callId)"
      }
    return Visible.line("\(source): \(progress.text)", width: max(20, Screen.columns - 44))
  }
}
