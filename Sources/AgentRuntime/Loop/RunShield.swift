/// Keeps a run from the cancelling of the task that waits for it.
///
/// Whatever is awaited in a cancelled task may end early, and a loop that is told so by each `await` cannot
/// tell what has happened from what has not. So the loop runs in a task of its own, which nobody cancels,
/// and hears of the wish as of a signal: what is under way is ended, and the run stops by itself.
enum RunShield {
  /// Does some work to its end, wherever the caller runs; `cancellation` hears of the cancelling of the
  /// caller's task.
  ///
  /// - Throws: what the work throws.
  static func run<Result: Sendable>(
    endedBy cancellation: Cancellation, _ work: @escaping () async throws -> Result
  ) async throws -> Result {
    // The caller waits, so that nobody else touches what the work holds; it runs where the caller does.
    nonisolated(unsafe) let work = work
    let isolation = #isolation
    let task = Task { try await perform(work, on: isolation) }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      cancellation.cancel(signal: Cancellation.cancelledTask)
    }
  }

  private static func perform<Result: Sendable>(
    _ work: () async throws -> Result, on isolation: isolated (any Actor)?
  ) async throws -> Result { try await work() }
}

/// A run that does what no run may do: the fault of this program, never of what it was given. The log
/// ends before it.
public enum LoopFault: Error, Sendable, Hashable {
  /// A call was about to be started again as an attempt that was started before.
  case startedTwice(callId: String, attempt: Int)
  /// A step came to its end, and the run is still in it.
  case standsStill(step: Int)
}

extension LoopFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .startedTwice(let callId, let attempt):
      "a fault of the loop: attempt \(attempt) of call \(callId) was about to start a second time. "
        + "Nothing was started; resume goes on from the log"
    case .standsStill(let step):
      "a fault of the loop: step \(step) has ended and is not over. Resume goes on from the log"
    }
  }
}

/// Sees to it that no attempt of a call starts twice while one loop runs: each start that nothing recorded
/// accounts for is refused, whatever led to it.
///
/// Another attempt of a call is one that its result, or what a person said, made due: it has another
/// number. Only calls of the last step are kept, because a step that is over starts nothing.
package struct StartGuard {
  private var step = 0
  private var attempts: [String: Int] = [:]

  /// Nothing has started.
  package init() {}

  /// Takes note of a start that is about to be recorded.
  ///
  /// - Throws: ``LoopFault/startedTwice(callId:attempt:)``.
  package mutating func note(_ callId: String, attempt: Int, step: Int) throws(LoopFault) {
    guard step >= self.step, attempt > attempts[callId] ?? 0 || step > self.step else {
      throw .startedTwice(callId: callId, attempt: attempt)
    }
    if step > self.step { (self.step, attempts) = (step, [:]) }
    attempts[callId] = attempt
  }
}
