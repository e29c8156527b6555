/// A day of the proleptic Gregorian calendar.
///
/// Days are counted in eras of 400 years from March on, so that a leap day is the last of its year (Howard Hinnant,
/// chrono-compatible low-level date algorithms).
package struct CalendarDay: Hashable, Sendable {
  /// The year; 0 is the one before year 1.
  package let year: Int
  /// From 1 to 12.
  package let month: Int
  /// From 1 on.
  package let day: Int

  private static let daysOfEra = 146_097
  /// From March 1 of the year 0 to January 1 of 1970.
  private static let daysBefore1970 = 719_468

  /// The day that is so many behind January 1 of 1970.
  package init(daysSince1970: Int) {
    let (era, dayOfEra) = (daysSince1970 + Self.daysBefore1970).flooredDivision(by: Self.daysOfEra)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// `nil` where the calendar has no such day, or the year has more than four digits.
  package init?(year: Int, month: Int, day: Int) {
    guard (0...9_999).contains(year), (1...12).contains(month),
      (1...Self.days(in: month, of: year)).contains(day)
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// How many days it is behind January 1 of 1970; below 0 for one before.
  package var daysSince1970: Int {
    let (era, yearOfEra) = (month > 2 ? year : year - 1).flooredDivision(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * Self.daysOfEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
      - Self.daysBefore1970
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Int {
  /// Quotient and remainder, which is never below 0.
  package func flooredDivision(by divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
