import AgentRuntime
public import AgentTrace
import EvalLoading
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

  /// The tasks whose own runs wait, and the logs of these.
  private var waitingRuns: [(node: TaskNode, log: String)] {
    questions.filter { $0.why == .run }.compactMap { asked in
      Self.path(ofRunAt: asked.node, in: state, of: log).map { (asked.node, $0) }
    }
  }

  /// Makes sure that the logs of the runs that a pipeline waits for are there: without its log nobody knows what a run
  /// has done, and it would be made again.
  ///
  /// - Parameter state: where the pipeline of the log stands.
  /// - Throws: `CaseError` for the first that is not; where one cannot be read.
  static func checkRunsAreThere(of log: String, _ state: PipelineState, depth: Int = 0) throws {
    // Of a process that died nobody knows whether it had begun the run.
    guard state.stop != nil, depth < PipelineDefinition.depthLimit else { return }
    for (node, why) in state.questions where why == .run {
      guard let path = path(ofRunAt: node, in: state, of: log) else { continue }
      guard try LogFiles.holdsEvents(path) else {
        throw CaseError(
          reason:
            "\(log) waits for the run of \(node), whose log \(path) is not there; put it back beside this one"
        )
      }
      if try isPipeline(path) {
        try checkRunsAreThere(of: path, WaitingPipeline(log: path).state, depth: depth + 1)
      } else {
        try WaitingRun(path: path).checkChildrenAreThere()
      }
    }
  }

  /// The log of the run of a task.
  private static func path(
    ofRunAt node: TaskNode, in state: PipelineState, of log: String
  ) -> String? {
    let run = state[node.task]?.node(node.element)?.run
    return run.map {
      "\(RunFiles.folder(ofLog: log))/\(RunFiles.fileName(for: $0.runId))\(LogFormat.suffix)"
    }
  }

  /// The tasks whose own runs, those of agents, wait, and these.
  private func runs() throws -> [(node: TaskNode, tree: WaitingTree)] {
    try waitingRuns.filter { try !Self.isPipeline($0.log) }
      .map { ($0.node, try WaitingTree(path: $0.log)) }
  }

  /// The tasks that are pipelines and wait, and these.
  private func inner() throws -> [(node: TaskNode, pipeline: WaitingPipeline)] {
    guard depth < PipelineDefinition.depthLimit else { return [] }
    return try waitingRuns.filter { try Self.isPipeline($0.log) }.map {
      var pipeline = try WaitingPipeline(log: $0.log)
      pipeline.depth = depth + 1
      (pipeline.root, pipeline.prefix) = (root, "\(told($0.node))/")
      return ($0.node, pipeline)
    }
  }

  /// The pipeline that a person's word is for, and what it is about there: one that stands in this one where the name
  /// begins with its task (`publish/send`), or where nothing else waits.
  ///
  /// - Throws: where a log of a task's run cannot be read.
  public func addressed(by name: String?) throws -> (pipeline: WaitingPipeline, name: String?) {
    let inner = try inner()
    if let name {
      for (node, pipeline) in inner {
        let isWhole = "\(node)".hasSameUTF8(as: name)
        guard isWhole || name.hasPrefix("\(node)/") else { continue }
        return try pipeline.addressed(
          by: isWhole ? nil : String(name.dropFirst("\(node)/".count)))
      }
      // A name of a task inside, where one pipeline alone has something by it that waits.
      let isOwn = questions.contains {
        "\($0.node)".hasSameUTF8(as: name) || $0.node.task.hasSameUTF8(as: name)
      }
      let fitting =
        try isOwn
        ? [] : inner.filter { try $0.pipeline.open().contains { $0.name.hasSameUTF8(as: name) } }
      if fitting.count == 1, let only = fitting.first {
        return try only.pipeline.addressed(by: name)
      }
      return (self, name)
    }
    let waiting = try inner.filter { try !$0.pipeline.open().isEmpty }
    let isAlone = waiting.count == 1 && questions.count == inner.count
    if isAlone, let only = waiting.first { return try only.pipeline.addressed(by: nil) }
    return (self, nil)
  }

  /// Everything that still waits for a person.
  ///
  /// - Throws: where the log of a task's run that waits cannot be read.
  public func open() throws -> [Open] {
    var found = questions.filter { $0.why != .run }.map {
      Open(name: "\($0.node)", words: $0.question, why: $0.why)
    }
    for (node, pipeline) in try inner() {
      for var waiting in try pipeline.open() {
        waiting.name = "\(node)/\(waiting.name)"
        found.append(waiting)
      }
    }
    for (node, tree) in try runs() {
      for waiting in tree.calls {
        found.append(
          Open(
            name: "\(node)/\(waiting.call.callId)", words: "\(waiting)",
            why: waiting.reason == .unknownEffect ? .doubt : .run))
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
  /// - Throws: ``PipelineError`` where several fit; where a log cannot be read.
  public func run(of name: String) throws -> (tree: WaitingTree, call: String)? {
    if questions.contains(where: { $0.why != .run && "\($0.node)".hasSameUTF8(as: name) }) {
      return nil
    }
    let runs = try runs()
    for (node, tree) in runs {
      if name.hasPrefix("\(node)/") { return (tree, String(name.dropFirst("\(node)/".count))) }
      guard "\(node)".hasSameUTF8(as: name) else { continue }
      guard tree.calls.count == 1, let only = tree.calls.first else {
        let known = tree.calls.map { "\(told(node))/\($0.call.callId)" }
        guard !tree.calls.isEmpty || tree.asking.question != nil else {
          throw PipelineError(
            "all that the run of \(told(node)) waited for is said; go on with: agent-eval resume \(root)"
          )
        }
        throw PipelineError(
          tree.calls.isEmpty
            ? "no call of \(told(node)) waits; answer it with: "
              + "agent-eval answer \(root) TEXT --task \(told(node))"
            : "several calls of \(told(node)) wait: say \(known.joined(separator: ", "))")
      }
      return (tree, only.call.callId)
    }
    let fitting = runs.filter { run in
      run.tree.calls.contains {
        $0.call.callId.hasSameUTF8(as: name) || $0.call.name.hasSameUTF8(as: name)
      }
    }
    guard fitting.count < 2 else {
      let nodes = fitting.map { "\(told($0.node))/\(name)" }.joined(separator: ", ")
      throw PipelineError("several tasks wait for that: say \(nodes)")
    }
    return fitting.first.map { ($0.tree, name) }
  }

  /// The run of a task that has asked a question; `nil` where a task itself is meant.
  ///
  /// - Parameters:
  ///   - task: which; `nil` where one thing alone waits for an answer.
  ///   - call: of its run, the call whose agent asks; `nil` where one agent alone does.
  /// - Throws: ``PipelineError`` where several tasks fit, `ResumeError` where several agents of one do; where a
  ///   log cannot be read.
  public func asking(task: String?, call: String? = nil) throws -> WaitingRun? {
    let runs = try runs().filter { $0.tree.asking.question != nil }
    if let task {
      return try runs.first { "\($0.node)".hasSameUTF8(as: task) }?.tree.asking(call: call)
    }
    let others = questions.count { $0.why != .run }
    guard runs.count + others < 2 || runs.isEmpty else {
      let names = try open().map { prefix + $0.name }.joined(separator: ", ")
      throw PipelineError("several tasks wait: \(names); say which with --task")
    }
    return try runs.first?.tree.asking(call: call)
  }
}
