public import AgentTrace
public import TraceStorage

/// One step of a recorded run, with the state it left.
public struct StepReplay: Sendable {
  /// Which step; 0 holds what came before the first.
  public var step: Int
  /// Every event of the step, in log order.
  public var events: [Event]
  /// The state after the last of them.
  public var state: AgentState
  /// The last step that the log holds.
  public var lastStep: Int
  /// How the log ends; `nil` where reading stopped before its end.
  public var ending: LogReader.Ending?
}

/// Why a step cannot be replayed.
public struct ReplayError: Error, Hashable, Sendable {
  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    /// The log ends before the step.
    case noSuchStep(Int, last: Int)
    /// The log does not hold the event.
    case noSuchEvent(Int, last: Int)
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

extension ReplayError: CustomStringConvertible {
  public var description: String {
    switch code {
    case .noSuchStep(let step, let last):
      "\(path): there is no step \(step); the log holds steps 0 to \(last)."
    case .noSuchEvent(let seq, let last):
      "\(path): there is no event \(seq); the log holds events 0 to \(last)."
    }
  }
}

extension StepReplay {
  /// Folds a log up to the end of one step, from the last checkpoint before it.
  ///
  /// - Throws: ``ReplayError`` where the log ends before it, `LogError` where it is damaged before.
  /// - Complexity: a small read for each block of a closed log, and folding what stands between a
  ///   checkpoint and the end of the step, 4 MiB and the step itself; an unfinished log is folded from
  ///   its beginning. Constant memory but for the step's own events.
  public init(of step: Int, in path: String) throws {
    var reader = try LogReader(path: path, startingAtCheckpointBeforeStep: step)
    self.init(step: step, events: [], state: reader.startState, lastStep: 0, ending: nil)
    while let head = try reader.advance() {
      guard case .event(_, let next, _) = head else { continue }
      guard next <= step else {
        lastStep = next
        return
      }
      lastStep = max(lastStep, next)
      guard next == step else {
        try reader.fold(into: &state)
        continue
      }
      guard case .event(let event) = try reader.line() else { continue }
      state.apply(event)
      events.append(event)
    }
    ending = reader.ending
    guard !events.isEmpty else {
      throw ReplayError(code: .noSuchStep(step, last: lastStep), path: path)
    }
  }
}

extension StepReplay {
  /// Folds a log up to the end of the step that holds one event.
  ///
  /// - Throws: as ``init(of:in:)``, and ``ReplayError`` where the log does not hold the event.
  public init(ofEvent seq: Int, in path: String) throws {
    var reader = try LogReader(path: path, startingAtCheckpointBefore: seq)
    while let head = try reader.advance() {
      guard case .event(seq, let step, _) = head else { continue }
      try self.init(of: step, in: path)
      return
    }
    throw ReplayError(code: .noSuchEvent(seq, last: reader.nextSeq - 1), path: path)
  }

  /// The state after one event, folded from the last checkpoint before it.
  ///
  /// - Throws: `LogError` where the log is damaged before, ``ReplayError`` where it does not hold the event.
  public static func state(afterEvent seq: Int, in path: String) throws -> AgentState {
    var reader = try LogReader(path: path, startingAtCheckpointBefore: seq)
    var state = reader.startState
    while let head = try reader.advance() {
      guard case .event(let next, _, _) = head else { continue }
      try reader.fold(into: &state)
      if next == seq { return state }
      // Missing from the log.
      if next > seq { break }
    }
    throw ReplayError(code: .noSuchEvent(seq, last: reader.nextSeq - 1), path: path)
  }

  /// The step as one JSON object: what a program may read. Event data stand as in the log, references
  /// resolved.
  public var json: JSONValue {
    func all(_ types: EventType...) -> JSONValue {
      .array(
        events.filter { types.contains($0.type) }.map { event in
          var data = event.data
          data["seq"] = JSONValue(event.seq)
          return .object(data)
        })
    }
    return [
      "runId": .string(state.runId), "step": JSONValue(step), "context": all(.contextBuilt),
      "modelResults": all(.modelResult), "decisions": all(.decision),
      "verdicts": all(.policyDecision), "approvals": all(.approval), "starts": all(.toolStarted),
      "results": all(.toolResult), "replies": all(.humanReplied), "stop": all(.stop),
      "state": state.encoded, "stateDigest": .string(state.digest.hex),
    ]
  }
}
