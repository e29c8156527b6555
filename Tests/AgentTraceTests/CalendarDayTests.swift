import AgentTrace
import Testing

@Suite("Days of the calendar")
struct CalendarDayTests {
  @Test("one day follows another over ten thousand years, by the rules of the calendar counted out")
  func counted() {
    var number = -719_528
    for year in 0...9_999 {
      let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
      let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      for (index, length) in lengths.enumerated() {
        // Every day of some years, of the others both ends of each month.
        let days = year.isMultiple(of: 97) ? Array(1...length) : [1, length]
        for day in days {
          let date = CalendarDay(daysSince1970: number + day - 1)
          #expect(date.year == year && date.month == index + 1 && date.day == day)
          #expect(CalendarDay(year: year, month: index + 1, day: day) == date)
          #expect(date.daysSince1970 == number + day - 1)
        }
        #expect(CalendarDay(year: year, month: index + 1, day: length + 1) == nil)
        number += length
      }
    }
  }

  @Test("what the calendar does not have is no day")
  func none() {
    for (year, month, day) in [
      (2026, 0, 1), (2026, 13, 1), (2026, 1, 0), (2026, -1, 1), (-1, 1, 1), (10_000, 1, 1),
      (1900, 2, 29), (Int.max, Int.max, Int.max), (Int.min, 2, 30),
    ] {
      #expect(CalendarDay(year: year, month: month, day: day) == nil)
    }
    #expect(CalendarDay(daysSince1970: 0) == CalendarDay(year: 1970, month: 1, day: 1))
  }
}
