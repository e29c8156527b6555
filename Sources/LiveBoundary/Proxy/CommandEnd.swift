public import AgentTrace

/// How a command ended.
public enum CommandEnd: Sendable, Hashable {
  /// By itself, with this code.
  case exited(Int32)
  /// By this signal.
  case killed(Int32)
  /// After this process was asked to end, by the signal of this name.
  case cancelled(signal: String)
  /// By this process, for this reason.
  case ended(StopReason, detail: String)

  /// The code that says the same to a shell.
  public var exitCode: Int32 {
    switch self {
    case .exited(let code): code
    case .killed(let signal): 128 + signal
    case .cancelled(let name): 128 + (SignalName.number(of: name) ?? 0)
    case .ended: 1
    }
  }

  /// Why the run stopped.
  func stop(hasFailedModel: Bool) -> (StopReason, detail: String) {
    switch self {
    case .exited(0): (.success, StopDetail.exit(0))
    case .exited(let code): (hasFailedModel ? .modelFailure : .toolFailure, StopDetail.exit(code))
    case .killed(let signal): (.toolFailure, StopDetail.signal(SignalName.name(of: signal)))
    case .cancelled(let name): (.cancelled, StopDetail.signal(name))
    case .ended(let reason, let detail): (reason, detail)
    }
  }
}
