import AgentRuntime
import AgentTrace
import TraceReplaying
import TraceReporting
import TraceStorage

/// What a run that stands still waits for, in it and in the agents that it called, and the command that comes next.
enum WhatWaits {
  /// A line for each call that waits, then the command that comes next; none of a run that has ended for good, or whose
  /// process died or still works.
  ///
  /// - Throws: as `WaitingTree.init(path:)`.
  static func lines(of log: String) throws -> [String] {
    // A run that has ended may be long: its log is not read for that.
    if let end = try? LogTail(path: log).stop, end.data["final"] != false { return [] }
    guard let stop = try WaitingRun(path: log).stop, !stop.isFinal else { return [] }
    let tree = try WaitingTree(path: log)
    return tree.calls.map { "waits  \(Visible.line("\($0)"))" } + next(tree, in: log)
  }

  private static func next(_ tree: WaitingTree, in log: String) -> [String] {
    let log = ShellWord.path(log)
    // Without the others the run would only ask for them.
    if let call = tree.calls.first {
      let word = "agent-eval approve \(log) \(ShellWord.quote(call.call.callId)) --by NAME"
      return call.reason == .unknownEffect ? doubt(word) : ["next   \(word)"]
    }
    guard let asking = tree.members.first(where: { $0.run.question != nil }) else {
      return ["next   agent-eval resume \(log)"]
    }
    let call =
      asking.prefix.isEmpty ? "" : " --call \(ShellWord.quote(String(asking.prefix.dropLast())))"
    return ["next   agent-eval answer \(log) TEXT\(call)"]
  }

  /// The two words of which a person has to choose one, because nobody else knows which is true.
  static func doubt(_ word: String) -> [String] {
    ["next   \(word) --happened", "or     \(word) --did-not-happen"]
  }
}
