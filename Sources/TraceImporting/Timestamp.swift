import AgentTrace

/// A point in time as a source gives it: `2025-08-10T02:44:06.547803`, with or without a zone.
struct Timestamp: Hashable {
  /// Microseconds since 1970 in the source's own zone; good for differences within one source.
  var microseconds: Int
  /// The time in UTC, where the source says that it is (`Z`); a time without a zone is none.
  var utc: String?

  /// Reads ISO 8601 with seconds, up to six digits of fraction (more are passed over) and an optional
  /// zone; `nil` for anything else.
  init?(_ text: String) {
    var digits = TimeCursor(text.utf8.prefix(41))
    guard text.utf8.count <= 40, let year = digits.number(4), digits.skip("-"),
      let month = digits.number(2), digits.skip("-"), let day = digits.number(2),
      digits.skip("T") || digits.skip(" "), let hour = digits.number(2), digits.skip(":"),
      let minute = digits.number(2), digits.skip(":"), let second = digits.number(2),
      let date = CalendarDay(year: year, month: month, day: day), hour < 24, minute < 60,
      second < 61
    else { return nil }
    let fraction = digits.skip(".") ? digits.microseconds() ?? 0 : 0
    let seconds = ((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second
    microseconds = seconds * 1_000_000 + fraction
    if digits.skip("Z") {
      utc = digits.isAtEnd ? text : nil
    } else if !digits.isAtEnd {
      guard let sign = digits.skip("+") ? 1 : digits.skip("-") ? -1 : nil,
        let hours = digits.number(2)
      else { return nil }
      _ = digits.skip(":")
      let minutes = digits.number(2) ?? 0
      microseconds -= sign * (hours * 60 + minutes) * 60_000_000
    }
    guard digits.isAtEnd else { return nil }
  }

  /// A time given in seconds since 1970 in UTC; `nil` where it is no time that a log can hold.
  init?(unix seconds: Double) {
    guard seconds.isFinite, abs(seconds) < 1e12 else { return nil }
    microseconds = Int((seconds * 1_000_000).rounded())
    utc = Self.text(microseconds)
  }

  /// A time given in nanoseconds since 1970 in UTC.
  init(unixNanoseconds nanoseconds: UInt64) {
    microseconds = Int(nanoseconds / 1000)
    utc = Self.text(microseconds)
  }

  /// ISO 8601 with microseconds; `nil` before 1970 and after 9999.
  private static func text(_ microseconds: Int) -> String? {
    guard microseconds >= 0, microseconds < 253_402_300_800_000_000 else { return nil }
    return UTC.text(microsecondsSince1970: microseconds)
  }
}
