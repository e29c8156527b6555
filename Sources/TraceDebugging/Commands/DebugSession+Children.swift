import AgentTrace
import TraceStorage

/// A run that was left for one below it, as it was.
struct LeftRun {
  var cursor: RunCursor
  var breakpoints: Breakpoints
  var search: TextSearch?
}

extension DebugSession {
  /// How deep runs may be entered.
  private static let depthLimit = 64

  /// Goes on in the run that the selected event, or a call, began or ended: its log lies beside this one.
  ///
  /// - Parameter call: the call's id, or a task's name; empty for the selected event.
  func enter(_ call: String) throws -> [TextLine] {
    guard left.count < Self.depthLimit else {
      throw CommandError("this is \(Self.depthLimit) runs deep; “out” leaves one")
    }
    guard let event = try call.isEmpty ? cursor.event : start(of: call) else {
      throw CommandError("no call or task “\(call.prefix(utf8Bytes: 80))” began a run of its own")
    }
    guard let runId = Self.child(of: event) else {
      throw CommandError(
        call.isEmpty
          ? "this event began no run; go to a call of an agent, or name it: into CALL"
          : "“\(call.prefix(utf8Bytes: 80))” is no run of its own")
    }
    let folder = RunTreeReader.folder(ofLog: cursor.path)
    guard let path = RunTreeReader.log(of: runId, in: folder) else {
      throw CommandError("the run “\(runId.prefix(utf8Bytes: 80))” has a name that is no file's")
    }
    let inner: RunCursor
    do { inner = try RunCursor(path: path) } catch {
      guard error.code == .notFound else { throw error }
      throw CommandError("its log is not beside this one: \(path)")
    }
    guard inner.state.runId.hasSameUTF8(as: runId) else {
      throw CommandError("\(path) is the log of another run")
    }
    left.append(LeftRun(cursor: cursor, breakpoints: breakpoints, search: search))
    turn(to: LeftRun(cursor: inner, breakpoints: Breakpoints(), search: nil))
    return entered("in run \(inner.state.runId), \(left.count) deep; “out” leaves it")
  }

  /// Goes back to the run that this one was entered from, where it was left.
  func leave() throws -> [TextLine] {
    guard let outer = left.popLast() else {
      throw CommandError("this is the run that was opened; “into” enters one that it began")
    }
    turn(to: outer)
    return entered("back in run \(cursor.state.runId)")
  }

  private func entered(_ words: String) -> [TextLine] {
    var page = Page()
    page.line(words, .faint)
    if let note = cursor.note { page.line("note: \(note)", .warning) }
    page.lines += here()
    return page.lines
  }

  /// The event that began the run of a call or a task, the last where there were several attempts.
  private func start(of name: String) throws -> Event? {
    var found: Event?
    let isStart = { (_: Int, _: Int, type: EventType) in
      type == .toolStarted || type == .taskStarted
    }
    try cursor.scanForward(from: 0, isWanted: isStart) { event in
      if Self.child(of: event) != nil,
        [event.data["callId"], event.data["tool"], event.data["task"]].contains(.string(name))
      {
        found = event
      }
      return .goOn
    }
    return found
  }

  /// The run that an event begins or ends.
  private static func child(of event: Event) -> String? {
    (event.data["child"] ?? event.data["run"])?["runId"]?.stringValue
  }
}
