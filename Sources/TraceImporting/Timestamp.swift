/// A point in time as a source gives it: `2025-08-10T02:44:06.547803`, with or without a zone.
struct Timestamp: Hashable {
  /// Microseconds since 1970 in the source's own zone; good for differences within one source.
  var microseconds: Int
  /// The time in UTC, where the source says that it is (`Z`); a time without a zone is none.
  var utc: String?

  /// Reads ISO 8601 with seconds, up to six digits of fraction (more are passed over) and an optional
  /// zone; `nil` for anything else.
  init?(_ text: String) {
    var digits = Digits(bytes: Array(text.utf8))
    guard text.utf8.count <= 40, let year = digits.number(4), digits.skip("-"),
      let month = digits.number(2), digits.skip("-"), let day = digits.number(2),
      digits.skip("T") || digits.skip(" "), let hour = digits.number(2), digits.skip(":"),
      let minute = digits.number(2), digits.skip(":"), let second = digits.number(2),
      (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61
    else { return nil }
    let fraction = digits.skip(".") ? digits.microseconds() : 0
    let seconds = ((Self.days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    microseconds = seconds * 1_000_000 + fraction
    if digits.skip("Z") {
      utc = digits.isAtEnd ? text : nil
    } else if !digits.isAtEnd {
      guard let sign = digits.sign(), let hours = digits.number(2) else { return nil }
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
    let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
    // The civil date of a day, by counting eras of 400 years from March of the year 0.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let day = shifted % 146_097
    let yearOfEra = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let part = (5 * dayOfYear + 2) / 153
    let month = part < 10 ? part + 3 : part - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return
      "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfYear - (153 * part + 2) / 5 + 1, 2))T"
      + "\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))."
      + "\(padded(fraction, 6))Z"
  }

  /// Days since 1970-01-01 in the proleptic Gregorian calendar, by counting years from March, so that
  /// a leap day is a year's last.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}

/// A cursor over ASCII digits.
private struct Digits {
  let bytes: [UInt8]
  var position = 0

  var isAtEnd: Bool { position == bytes.count }

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

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
    position += 1
    return true
  }

  mutating func sign() -> Int? { skip("+") ? 1 : skip("-") ? -1 : nil }

  mutating func microseconds() -> Int {
    var (value, count) = (0, 0)
    while let digit = number(1) {
      if count < 6 { value = value * 10 + digit }
      count += 1
    }
    for _ in 0..<max(0, 6 - count) { value *= 10 }
    return value
  }
}
