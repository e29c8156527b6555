public import AgentRuntime
import AgentTrace
import Glibc
import Synchronization

/// The machine's clock: run time by the monotonic clock, UTC by the real-time one.
public final class SystemClock: RunClock {
  /// Stands still while the machine sleeps: that is no active run time.
  private let start = SuspendingClock.now
  private let offset: Int
  private let cancellation: Cancellation
  /// The latest time that was told or given; time never runs backwards.
  private let latest: Mutex<Int>

  /// - Parameters:
  ///   - elapsedMicroseconds: Active run time so far, for a run that goes on.
  ///   - cancellation: What cuts a wait short.
  public init(elapsedMicroseconds: Int = 0, cancellation: Cancellation = Cancellation()) {
    offset = elapsedMicroseconds
    latest = Mutex(elapsedMicroseconds)
    self.cancellation = cancellation
  }

  public var isFixed: Bool { false }

  public func reading() -> ClockReading {
    let now = offset + (SuspendingClock.now - start).wholeMicroseconds
    let t = latest.withLock { latest in
      latest = max(latest, now)
      return latest
    }
    return ClockReading(t: t, time: UTC.text(microsecondsSince1970: Self.microsecondsSince1970))
  }

  /// Sleeps; ends early when the run is cancelled.
  public func wait(microseconds: Int) async {
    guard microseconds > 0 else { return }
    let sleep = Task { try? await Task.sleep(for: .microseconds(microseconds)) }
    await withTaskCancellationHandler {
      await cancellation.whileListening({ sleep.cancel() }) { await sleep.value }
    } onCancel: {
      sleep.cancel()
    }
  }

  public func advance(to t: Int) { latest.withLock { $0 = max($0, t) } }

  static var microsecondsSince1970: Int {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
  }
}

extension Duration {
  /// Microseconds, rounded down.
  var wholeMicroseconds: Int {
    let (seconds, attoseconds) = components
    return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
  }
}
