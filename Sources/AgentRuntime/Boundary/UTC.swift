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

  /// Microseconds since 1970 of a time as RFC 3339 has it, `2026-11-21T12:00:00.5+01:00`; seconds may be
  /// missing, digits beyond a microsecond are passed over. `nil` for anything else, also for a time
  /// without a zone.
  public static func microsecondsSince1970(_ text: String) -> Int? {
    var cursor = Cursor(bytes: Array(text.utf8.prefix(65)))
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
    guard let east = cursor.zone(), cursor.isAtEnd, (1...12).contains(month),
      (1...days(in: month, of: year)).contains(day), hour < 24, minute < 60, second < 61
    else { return nil }
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    return (((days * 24 + hour) * 60 + minute - east) * 60 + second) * 1_000_000 + fraction
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
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

/// A cursor over a time in ASCII.
private struct Cursor {
  let bytes: [UInt8]
  private var position = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
    position += 1
    return true
  }

  mutating func number(_ count: Int) -> Int? {
    guard position + count <= bytes.count else { return nil }
    var value = 0
    for byte in bytes[position..<position + count] {
      guard (0x30...0x39).contains(byte) else { return nil }
      value = value * 10 + Int(byte - 0x30)
    }
    position += count
    return value
  }

  /// A fraction of a second, at least one digit.
  mutating func microseconds() -> Int? {
    var (value, count) = (0, 0)
    while let digit = number(1) {
      if count < 6 { value = value * 10 + digit }
      count += 1
    }
    guard count > 0 else { return nil }
    for _ in 0..<max(0, 6 - count) { value *= 10 }
    return value
  }

  /// How many minutes east of UTC.
  mutating func zone() -> Int? {
    if skip("Z") { return 0 }
    guard let sign = skip("+") ? 1 : skip("-") ? -1 : nil, let hours = number(2), skip(":"),
      let minutes = number(2), hours < 24, minutes < 60
    else { return nil }
    return sign * (hours * 60 + minutes)
  }
}
