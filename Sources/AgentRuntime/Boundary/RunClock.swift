import AgentTrace
import Synchronization

/// The times of a run.
public protocol RunClock: Sendable {
  /// The moment an event is made. A clock that stands still moves on a little with each.
  func reading() -> ClockReading
  /// Waits, or moves on as if it had waited.
  func wait(microseconds: Int) async
  /// Whether time passes only because this clock is told so. Then results of one decision are logged
  /// by their scripted delay and call order, so that a run gives the same bytes each time.
  var isFixed: Bool { get }
  /// Says that active run time has reached `t`, where it had not yet.
  func advance(to t: Int)
}

/// What a clock of a run says at once: active run time, and the time of day.
public struct ClockReading: Sendable, Hashable {
  /// Microseconds of active run time.
  public var t: Int
  /// The same in UTC, for people.
  public var time: String

  /// `time` is taken as it stands, whatever `t` is.
  public init(t: Int, time: String) {
    self.t = t
    self.time = time
  }
}

/// A clock that starts at 2026-01-01T00:00:00Z and moves one millisecond with each event, and by what
/// it is told to wait: for fixtures and tests.
public final class FixedClock: RunClock {
  /// Microseconds from 1970 to the clock's start.
  private static let start = 1_767_225_600_000_000
  private static let tick = 1_000

  private let elapsed: Mutex<Int>

  /// A clock at so many microseconds of active run time.
  public init(elapsedMicroseconds: Int = 0) { elapsed = Mutex(elapsedMicroseconds) }

  public var isFixed: Bool { true }

  public func reading() -> ClockReading {
    let t = elapsed.withLock { elapsed in
      defer { elapsed += Self.tick }
      return elapsed
    }
    return ClockReading(t: t, time: UTC.text(microsecondsSince1970: Self.start + t))
  }

  /// Returns at once: the loop advances the clock when it takes the result in.
  public func wait(microseconds: Int) async {}

  public func advance(to t: Int) { elapsed.withLock { $0 = max($0, t) } }
}
