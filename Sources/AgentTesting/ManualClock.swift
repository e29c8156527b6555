public import AgentRuntime
import AgentTrace
import Synchronization

/// A clock whose time passes only when a test says so: whoever waits goes on once enough of it has.
public final class ManualClock: RunClock {
  private struct State {
    var now: Int
    var waiting: [Int: (until: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
    var count = 0
  }

  /// Microseconds from 1970 to 2026-01-01T00:00:00Z, when the clock starts.
  private static let start = 1_767_225_600_000_000

  private let state: Mutex<State>

  /// A clock at so many microseconds of active run time.
  public init(elapsedMicroseconds: Int = 0) { state = Mutex(State(now: elapsedMicroseconds)) }

  public var isFixed: Bool { false }

  /// How many wait now.
  public var waitingCount: Int { state.withLock { $0.waiting.count } }

  public func reading() -> ClockReading {
    let now = state.withLock { $0.now }
    return ClockReading(t: now, time: UTC.text(microsecondsSince1970: Self.start + now))
  }

  /// Returns once the clock was moved on by as much. Ends early where its task is cancelled.
  public func wait(microseconds: Int) async {
    guard microseconds > 0 else { return }
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if Task.isCancelled { return true }
          state.waiting[number] = (state.now + microseconds, continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume()
    }
  }

  /// Moves the clock on.
  public func advance(byMicroseconds microseconds: Int) {
    advance(to: state.withLock { $0.now } + max(0, microseconds))
  }

  public func advance(to t: Int) {
    let over = state.withLock { state in
      state.now = max(state.now, t)
      let now = state.now
      let over = state.waiting.filter { $0.value.until <= now }.sorted { $0.key < $1.key }
      for (number, _) in over { state.waiting[number] = nil }
      return over.map(\.value.continuation)
    }
    for continuation in over { continuation.resume() }
  }
}
