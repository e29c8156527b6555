import Synchronization

/// The times of a run.
public protocol RunClock: Sendable {
  /// The moment an event is made. A clock that stands still moves on a little with each.
  func moment() -> Moment
  /// Waits, or moves on as if it had waited.
  func wait(microseconds: Int) async
  /// Whether time passes only because this clock is told so. Then results of one decision are logged
  /// by their scripted delay and call order, so that a run gives the same bytes each time.
  var isFixed: Bool { get }
  /// Says that active run time has reached `t`, where it had not yet.
  func advance(to t: Int)
}

/// One moment of a run.
public struct Moment: Sendable, Hashable {
  /// Microseconds of active run time.
  public var t: Int
  /// The same in UTC, for people.
  public var time: String

  /// Nothing is checked: `time` is taken as it stands.
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

  public func moment() -> Moment {
    let t = elapsed.withLock { elapsed in
      defer { elapsed += Self.tick }
      return elapsed
    }
    return Moment(t: t, time: UTC.text(microsecondsSince1970: Self.start + t))
  }

  /// Returns at once: the loop advances the clock when it takes the result in.
  public func wait(microseconds: Int) async {}

  public func advance(to t: Int) { elapsed.withLock { $0 = max($0, t) } }
}

/// Coordinated universal time as text.
public enum UTC {
  /// `2026-11-21T12:00:00.123456Z`, by the proleptic Gregorian calendar (days to civil date after
  /// Howard Hinnant, chrono-compatible low-level date algorithms).
  public static func text(microsecondsSince1970 microseconds: Int) -> String {
    let (days, inDay) = floorDivide(microseconds, by: 86_400_000_000)
    let (seconds, fraction) = floorDivide(inDay, by: 1_000_000)
    let shifted = days + 719_468
    let (era, dayOfEra) = floorDivide(shifted, by: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T"
      + padded(seconds / 3_600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":"
      + padded(seconds % 60, 2) + "." + padded(fraction, 6) + "Z"
  }

  private static func floorDivide(_ value: Int, by divisor: Int) -> (Int, Int) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
