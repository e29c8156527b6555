import AgentRuntime
public import AgentTrace
public import TraceReplaying
import TraceStorage

/// What runs of tasks wait for, in a pipeline that stands still.
extension WaitingPipeline {
  /// One thing that waits for a person.
  public struct Open: Sendable {
    /// What it is answered by: a task, or a task and a call of its run as in `draft/2.1.0`.
    public var name: String
    /// What is asked, on one line once it is made visible.
    public var words: String
    /// Whether it waits for an answer in words.
    public var isQuestion = false
    /// Why.
    public var why: TaskAsked.Why
  }

  /// The tasks whose own runs wait, and these.
  private func runs() throws -> [(node: TaskNode, tree: WaitingTree)] {
    try questions.filter { $0.why == .run }.compactMap { asked in
      let progress = state[asked.node.task]?.node(asked.node.element)
      guard let runId = progress?.run?.runId else { return nil }
      let name = RunFiles.fileName(for: runId) + LogFormat.suffix
      return (
        asked.node, try WaitingTree(path: "\(RunFiles.folder(ofLog: log))/\(name)")
      )
    }
  }

  /// Everything that still waits for a person.
  ///
  /// - Throws: where the log of a task's run that waits cannot be read.
  public func open() throws -> [Open] {
    var found = questions.filter { $0.why != .run }.map {
      Open(name: "\($0.node)", words: $0.question, why: $0.why)
    }
    for (node, tree) in try runs() {
      for waiting in tree.calls {
        found.append(
          Open(name: "\(node)/\(waiting.call.callId)", words: "\(waiting)", why: .run))
      }
      if let question = tree.asking.question {
        found.append(Open(name: "\(node)", words: question, isQuestion: true, why: .run))
      }
    }
    return found
  }

  /// The run of a task in which a call waits, and the call's name there; `nil` where a task itself is meant.
  ///
  /// - Parameter name: `draft/2.1.0`, `draft/issue_refund`, the task alone where one call waits in it, or a call's id or
  ///   tool where one task's run alone has it.
  /// - Throws: ``PipelineAnswerError`` where several fit; where a log cannot be read.
  public func run(of name: String) throws -> (tree: WaitingTree, call: String)? {
    if questions.contains(where: { $0.why != .run && "\($0.node)".hasSameUTF8(as: name) }) {
      return nil
    }
    let runs = try runs()
    for (node, tree) in runs {
      if name.hasPrefix("\(node)/") { return (tree, String(name.dropFirst("\(node)/".count))) }
      guard "\(node)".hasSameUTF8(as: name) else { continue }
      guard tree.calls.count == 1, let only = tree.calls.first else {
        let known = tree.calls.map { "\(node)/\($0.call.callId)" }.joined(separator: ", ")
        throw PipelineAnswerError(
          tree.calls.isEmpty
            ? "no call of \(node) waits; answer it with: answer LOG TEXT --task \(node)"
            : "several calls of \(node) wait: say \(known)")
      }
      return (tree, only.call.callId)
    }
    let fitting = runs.filter { run in
      run.tree.calls.contains {
        $0.call.callId.hasSameUTF8(as: name) || $0.call.name.hasSameUTF8(as: name)
      }
    }
    guard fitting.count < 2 else {
      let nodes = fitting.map { "\($0.node)/\(name)" }.joined(separator: ", ")
      throw PipelineAnswerError("several tasks wait for that: say \(nodes)")
    }
    return fitting.first.map { ($0.tree, name) }
  }

  /// The run of a task that has asked a question; `nil` where a task itself is meant.
  ///
  /// - Parameter task: which; `nil` where one thing alone waits for an answer.
  /// - Throws: ``PipelineAnswerError`` where several fit; where a log cannot be read.
  public func asking(task: String?) throws -> WaitingRun? {
    let runs = try runs().filter { $0.tree.asking.question != nil }
    if let task {
      return runs.first { "\($0.node)".hasSameUTF8(as: task) }?.tree.asking
    }
    let others = questions.count { $0.why != .run }
    guard runs.count + others < 2 || runs.isEmpty else {
      let names = try open().map(\.name).joined(separator: ", ")
      throw PipelineAnswerError("several tasks wait: \(names); say which with --task")
    }
    return runs.first?.tree.asking
  }
}
