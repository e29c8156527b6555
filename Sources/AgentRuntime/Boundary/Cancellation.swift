import Synchronization

/// A wish to end a run, and whoever has to hear of it.
public final class Cancellation: Sendable {
  private struct State {
    var signal: String?
    var handlers: [Int: @Sendable () -> Void] = [:]
    var nextHandler = 0
  }

  private let state = Mutex(State())

  /// A run that may go on, with nobody listening yet.
  public init() {}

  /// What stands in the place of a signal where the task was cancelled that waits for the run.
  public static let cancelledTask = "task"

  /// The name of the signal that asked for it, or `nil` while the run may go on.
  public var signal: String? { state.withLock { $0.signal } }

  /// Asks the run to end. Only the first wish counts.
  public func cancel(signal: String) {
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.signal == nil else { return [] }
      state.signal = signal
      return state.handlers.sorted { $0.key < $1.key }.map(\.value)
    }
    for handler in handlers { handler() }
  }

  /// Runs some work that is told at once when the run is to end.
  public func whileListening<Result: Sendable>(
    _ handler: @escaping @Sendable () -> Void, _ work: () async -> Result
  ) async -> Result {
    let (number, isLate) = state.withLock { state -> (Int, Bool) in
      state.nextHandler += 1
      state.handlers[state.nextHandler] = handler
      return (state.nextHandler, state.signal != nil)
    }
    if isLate { handler() }
    defer { state.withLock { _ = $0.handlers.removeValue(forKey: number) } }
    return await work()
  }

  /// Does some work in a task that is cancelled when the run is to end, or the caller's task is; waits for
  /// its end in any case.
  func ending(_ work: @escaping @Sendable () async -> Void) async {
    let task = Task { await work() }
    await withTaskCancellationHandler {
      await whileListening({ task.cancel() }) { await task.value }
    } onCancel: {
      task.cancel()
    }
  }

  /// Does some work in a task that is cancelled when the run is to end, and left behind then.
  ///
  /// - Returns: `nil` where it was left behind.
  func leaving<Result: Sendable>(
    _ work: @escaping @Sendable () async -> Result
  ) async -> Result? {
    let (results, result) = AsyncStream<Result>.makeStream()
    let task = Task {
      result.yield(await work())
      result.finish()
    }
    let leave: @Sendable () -> Void = {
      task.cancel()
      result.finish()
    }
    let wait: () async -> Result? = {
      for await first in results { return first }
      return nil
    }
    return await whileListening(leave, wait)
  }
}

extension RunClock {
  /// Waits no longer than until the run is to end, whatever the clock itself listens to.
  func wait(microseconds: Int, until cancellation: Cancellation) async {
    guard !isFixed else { return await wait(microseconds: microseconds) }
    await cancellation.ending { await wait(microseconds: microseconds) }
  }
}
