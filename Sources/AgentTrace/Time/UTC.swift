/// Coordinated universal time as text.
public enum UTC {
  /// `2026-11-21T12:00:00.123456Z`, by the proleptic Gregorian calendar.
  public static func text(microsecondsSince1970 microseconds: Int) -> String {
    let (days, inDay) = microseconds.flooredDivision(by: 86_400_000_000)
    let (seconds, fraction) = inDay.flooredDivision(by: 1_000_000)
    let date = CalendarDay(daysSince1970: days)
    return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T"
      + padded(seconds / 3_600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":"
      + padded(seconds % 60, 2) + "." + padded(fraction, 6) + "Z"
  }

  /// Microseconds since 1970 of a time as RFC 3339 has it, `2026-11-21T12:00:00.5+01:00`; seconds may be
  /// missing, digits beyond a microsecond are passed over. `nil` for anything else, also for a time
  /// without a zone.
  public static func microsecondsSince1970(_ text: String) -> Int? {
    var cursor = TimeCursor(text.utf8.prefix(65))
    guard let year = cursor.number(4), cursor.skip("-"), let month = cursor.number(2),
      cursor.skip("-"), let day = cursor.number(2), cursor.skip("T"), let hour = cursor.number(2),
      cursor.skip(":"), let minute = cursor.number(2)
    else { return nil }
    var (second, fraction) = (0, 0)
    if cursor.skip(":") {
      guard let number = cursor.number(2) else { return nil }
      second = number
      if cursor.skip(".") {
        guard let number = cursor.microseconds() else { return nil }
        fraction = number
      }
    }
    guard let east = zone(&cursor), cursor.isAtEnd, hour < 24, minute < 60, second < 61,
      let date = CalendarDay(year: year, month: month, day: day)
    else { return nil }
    return (((date.daysSince1970 * 24 + hour) * 60 + minute - east) * 60 + second) * 1_000_000
      + fraction
  }

  /// How many minutes east of UTC.
  private static func zone(_ cursor: inout TimeCursor) -> Int? {
    if cursor.skip("Z") { return 0 }
    guard let sign = cursor.skip("+") ? 1 : cursor.skip("-") ? -1 : nil,
      let hours = cursor.number(2), cursor.skip(":"), let minutes = cursor.number(2), hours < 24,
      minutes < 60
    else { return nil }
    return sign * (hours * 60 + minutes)
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
