public import AgentRuntime
public import AgentTrace
import TraceStorage

/// A recorded run that stands still and may go on: what it was at its last event, and whom it waits for.
public struct WaitingRun: Sendable {
  /// The log, as the caller named it.
  public let path: String
  /// How the run was started.
  public let started: RunStarted
  /// What the run was at its last event.
  public private(set) var past: RunPast
  /// The digest of the agent file that made its last part; `nil` for an agent made in code.
  public private(set) var agentDigest: String?
  /// The digest of the policy file of its last part; `nil` where the policy stood in the agent file.
  public private(set) var policyDigest: String?
  /// How each model was asked in its last part; empty where that was not recorded.
  public private(set) var models: JSONObject
  /// Microseconds of active run time at the last event.
  public private(set) var t = 0
  /// Whether its writer closed the log.
  public private(set) var isClosed = false

  /// Reads a log to its end.
  ///
  /// - Parameters:
  ///   - path: the log; where only `….open` is there, that is read.
  ///   - agent: the agent that is to go on, so that its guard sees what has happened.
  ///   - observe: Called with each event.
  /// - Throws: ``RecordingError`` for what is no run of ours, ``ResumeError`` where nobody knows what it
  ///   was, `LogError` where the log is damaged.
  public init(
    path: String, agent: AgentDefinition? = nil, observe: (Event) -> Void = { _ in }
  ) throws {
    self.path = path
    started = try RecordedSteps(path: path).started
    past = agent.map { RunPast(for: $0) } ?? RunPast()
    agentDigest = started.agentDigest
    policyDigest = started.policyDigest
    models = started.models
    var reader = try LogReader(path: path)
    while let event = try reader.next() {
      try take(event)
      observe(event)
    }
    isClosed = reader.ending == .closed
  }

  private mutating func take(_ event: Event) throws {
    guard event.seq == past.nextSeq else {
      throw ResumeError(code: .missing(from: past.nextSeq), path: path)
    }
    do {
      try past.take(event)
      guard event.type == .runResumed else {
        t = RecordedTime.clamped(max(t, event.t))
        return
      }
      let resumed = try RunResumed(decoding: event.data)
      if resumed.changesFiles {
        // Both are told where one of them is another; a policy without a digest stands in the agent file.
        (agentDigest, policyDigest) = (resumed.agentDigest, resumed.policyDigest)
      }
      if !resumed.models.isEmpty { models = resumed.models }
      t = RecordedTime.clamped(max(t, event.t))
    } catch {
      throw ResumeError(
        code: .unreadable(seq: event.seq, type: event.type.rawValue, error), path: path)
    }
  }
}

extension WaitingRun {
  /// Why it stands still; `nil` where its process died, or still works.
  public var stop: AgentState.StopSummary? { past.state.stop }

  /// Whether it has ended for good.
  public var isOver: Bool { stop?.isFinal ?? false }

  /// The question that a person is to answer; `nil` where there is none.
  public var question: String? {
    guard past.isStopped, case .askHuman(let question)? = past.progress.decision,
      !past.progress.isAnswered
    else { return nil }
    return question
  }

  /// The calls that wait for a person, in call order.
  public var calls: [WaitingCall] {
    past.progress.waitingCalls.map { WaitingCall(call: $0.call, reason: $0.reason) }
  }
}

/// A call that waits for a person.
public struct WaitingCall: Sendable, Hashable {
  /// The call as the model proposed it.
  public var call: ProposedCall
  /// What the person is to say about it.
  public var reason: WaitingReason
}

extension WaitingCall: CustomStringConvertible {
  /// Its id, its tool, and the beginning of its input.
  public var description: String {
    "\(call.callId) \(call.name) \(CanonicalJSON.prefix(of: call.input, limitBytes: 120))"
      + (reason == .unknownEffect
        ? " (it, or an equal call, was started, and nobody knows whether it happened)" : "")
  }
}
