public import AgentTrace

/// Why a run cannot go on, or why what a person said cannot be written to its log. Nothing has been
/// written then.
public struct ResumeError: Error, Hashable, Sendable {
  /// A question that waits for an answer.
  public struct AskedQuestion: Hashable, Sendable {
    /// The call whose agent asks, as the tree has it; empty for the root.
    public var call: String
    /// What it asks.
    public var question: String
  }

  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    /// The run has ended for good.
    case over(reason: String, detail: String?)
    /// The run has not stopped: its process died or still works.
    case notPaused
    /// It paused, and its writer died before it had closed the log.
    case notClosed
    /// The log says that events are missing, from this one on.
    case missing(from: Int)
    /// An event is not what its type promises.
    case unreadable(seq: Int, type: String, PayloadError)
    /// The agent file is not the one that the run was lived with.
    case agentChanged(name: String)
    /// The policy is not the one that the run was lived with.
    case policyChanged(recorded: String?)
    /// Something was written to the log while it was read.
    case changedMeanwhile
    /// The run waits for an agent that it called, and the log of that agent's run is not there.
    case childIsMissing(tool: String, log: String)
    /// No call of the run's last decision has this id, and none that waits is of this tool.
    case noSuchCall(String, waiting: [WaitingCall])
    /// Several calls of this tool wait.
    case severalCalls(tool: String, waiting: [WaitingCall])
    /// A person has answered for this call already.
    case answered(callId: String, by: String, granted: Bool)
    /// The call has its result.
    case callIsOver(callId: String, status: String)
    /// The call was started, and the person has not said whether it happened.
    case effectNotSaid(callId: String, tool: String)
    /// The call was never started, so nothing can have come of it.
    case notStarted(callId: String, tool: String)
    /// Nobody is asked anything.
    case noQuestion(waiting: [WaitingCall])
    /// Several runs of a tree ask, or the call that was named does not: who asks what, by the call whose agent it is,
    /// empty for the root.
    case severalQuestions(of: String?, [AskedQuestion])
    /// What the person said is more than enters a run.
    case tooLarge
  }

  /// What is wrong.
  public var code: Code
  /// The log, as the caller named it.
  public var path: String

  /// The log is named for messages alone.
  public init(code: Code, path: String) {
    self.code = code
    self.path = path
  }
}

extension ResumeError: CustomStringConvertible {
  public var description: String { "\(path): \(reason)" }

  private var reason: String {
    switch code {
    case .over(let reason, let detail):
      "the run has ended for good: \([reason, detail].compactMap { $0 }.joined(separator: ", ")). "
        + "Record it anew, or fork it before its end."
    case .notPaused:
      "the run has no stop: its process died, or still works. "
        + "Let it go on with agent-eval resume \(path); it says then whom it waits for."
    case .notClosed:
      "the run paused, and its log is not closed: its process died, or another one writes there now. "
        + "Try again in a moment, or open it again with agent-eval resume \(path)."
    case .missing(let seq):
      "event \(seq) is missing, so that nobody knows what the run was behind it. "
        + "Fork it before that event."
    case .unreadable(let seq, let type, let fault): "event \(seq) (\(type)): \(fault)."
    case .agentChanged(let name):
      "the agent file of \(name) is not the one that the run was lived with. "
        + "Give that one with --agent, or say --accept-changes to go on with this one."
    case .policyChanged(let recorded?):
      "the policy is not the file that the run was lived with (SHA-256 \(recorded)). "
        + "Give that file with --policy, or say --accept-changes to go on with this one."
    case .policyChanged(nil):
      "the run was lived with the policy of its agent file. "
        + "Leave --policy away, or say --accept-changes to go on with this one."
    case .childIsMissing(let tool, let log):
      "the run waits for the agent that \(tool) called, and the log of that run, \(log), is not there. "
        + "Put it back beside this one: without it nobody knows what that agent has done."
    case .changedMeanwhile: "another process wrote to the log meanwhile. Look at it again."
    case .noSuchCall(let word, let waiting):
      "no call “\(word.prefix(utf8Bytes: 200))” waits. \(Self.told(waiting))"
    case .severalCalls(let tool, let waiting):
      "several calls of \(tool) wait; give the id of one. \(Self.told(waiting))"
    case .answered(let callId, let by, let granted):
      "call \(callId) was \(granted ? "approved" : "denied") by \(by) already. "
        + "Let the run go on with agent-eval resume \(path)."
    case .callIsOver(let callId, let status):
      "call \(callId) is over: its result is “\(status)”."
    case .effectNotSaid(let callId, let tool):
      "call \(callId) of \(tool) was started, or an equal one before it, and nobody knows whether it happened. Say --happened "
        + "or --did-not-happen (then it may run again), or --deny to leave it as it is."
    case .notStarted(let callId, let tool):
      "call \(callId) of \(tool) was never started: nothing has come of it. Approve or deny it."
    case .noQuestion(let waiting):
      "the run has asked no question that waits for an answer. \(Self.told(waiting))"
    case .severalQuestions(let call, let questions):
      (call.map { "call \($0.prefix(utf8Bytes: 200)) has asked nothing. " }
        ?? "several agents ask; say with --call which is answered. ")
        + (questions.isEmpty ? "No question waits." : "What is asked: ")
        + questions.prefix(10).map {
          ($0.call.isEmpty ? "the run itself" : "--call \($0.call)")
            + ": “\($0.question.prefix(utf8Bytes: 200))”"
        }.joined(separator: "; ")
        + (questions.count > 10 ? "; and \(questions.count - 10) more" : "")
    case .tooLarge:
      "more than 1 MiB or 64 levels of nesting do not enter a run."
    }
  }

  private static func told(_ waiting: [WaitingCall]) -> String {
    guard !waiting.isEmpty else { return "No call waits for a person." }
    let told = waiting.prefix(10).map(\.description).joined(separator: "; ")
    return "What waits: \(told)"
      + (waiting.count > 10 ? "; and \(waiting.count - 10) more." : ".")
  }
}
