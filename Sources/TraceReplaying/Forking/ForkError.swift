public import AgentTrace

/// Why a run cannot be forked. Nothing has been written then.
public struct ForkError: Error, Hashable, Sendable {
  /// What is wrong; cases may be added.
  public enum Code: Hashable, Sendable {
    /// The log does not hold the step.
    case noSuchStep(Int, last: Int)
    /// The log does not hold the event; where its end is torn, at this byte of the file.
    case noSuchEvent(Int, last: Int, tornAt: Int?)
    /// Before step 1 there is nothing that could be otherwise.
    case nothingBefore
    /// The log says that events are missing, from this one on.
    case missing(from: Int)
    /// The run has stopped at the event: nothing comes behind it.
    case stopped(Int)
    /// An event is not what its type promises.
    case unreadable(seq: Int, type: String, PayloadError)
    /// The edit names a decision, and the event is not between a packet and its decision.
    case noDecision(Int)
    /// The edit names a result, and the event is no result of a call that was started.
    case noResult(Int, type: String)
    /// The edit names a result, and the place is a step.
    case resultNeedsEvent
    /// The edit's decision is not one that this agent could make there.
    case invalidDecision(String)
    /// No packet up to there knows the item.
    case noSuchItem(String, known: [String])
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

extension ForkError: CustomStringConvertible {
  public var description: String { "\(path): \(reason)" }

  private var reason: String {
    switch code {
    case .noSuchStep(let step, let last):
      "there is no step \(step); the log holds steps 0 to \(last)."
    case .noSuchEvent(let seq, let last, let tornAt):
      "there is no event \(seq); the log holds events 0 to \(last)"
        + (tornAt.map { ", and its end is torn at byte \($0)." } ?? ".")
    case .nothingBefore:
      "a run cannot be forked before its first step; the first place is step:1. "
        + "To run the agent anew, record it."
    case .missing(let seq):
      "event \(seq) is missing, so that nobody knows what the run was behind it; fork before it."
    case .stopped(let seq):
      "the run stopped at event \(seq), and nothing comes behind a stop; fork at an event before it."
    case .unreadable(let seq, let type, let fault): "event \(seq) (\(type)): \(fault)."
    case .noDecision(let seq):
      "event \(seq) does not stand between a context packet and its decision. A decision is replaced "
        + "at its own event, or at the beginning of its step: --at step:N."
    case .noResult(let seq, let type):
      "event \(seq) (\(type)) is no result of a call that was started. A result is replaced at its "
        + "own event, or at the tool_started of its call."
    case .resultNeedsEvent:
      "a result is replaced at its event, not at a step: --at event:N; show prints the numbers."
    case .invalidDecision(let reason): "the decision cannot be made there: \(reason)."
    case .noSuchItem(let ref, let known):
      "no packet up to there knows the item “\(ref)”. The items are "
        + known.suffix(20).joined(separator: ", ")
        + (known.count > 20 ? " and \(known.count - 20) before them." : ".")
    }
  }
}
