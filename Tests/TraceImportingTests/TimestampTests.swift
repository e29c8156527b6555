import Testing

@testable import TraceImporting

struct TimestampTests {
  @Test(
    "a time is read to the microsecond, in the zone it names",
    arguments: [
      ("1970-01-01T00:00:00", 0), ("1970-01-01 00:00:01.5", 1_500_000),
      ("2000-02-29T12:00:00Z", 951_825_600_000_000), ("2000-03-01T00:00:00", 951_868_800_000_000),
      ("2025-08-10T02:44:06.547803", 1_754_793_846_547_803),
      ("2025-08-10T02:44:06.5478039999", 1_754_793_846_547_803),
      ("2025-08-10T02:44:06+02:00", 1_754_786_646_000_000),
      ("2025-08-10T02:44:06-0130", 1_754_799_246_000_000), ("1969-12-31T23:59:59", -1_000_000),
    ])
  func times(_ text: String, _ microseconds: Int) {
    #expect(Timestamp(text)?.microseconds == microseconds)
  }

  @Test("only a time in UTC is one for people", arguments: ["", "Z", "+00:00"])
  func utc(_ zone: String) {
    let text = "2025-08-10T02:44:06\(zone)"
    #expect(Timestamp(text)?.utc == (zone == "Z" ? text : nil))
  }

  @Test(
    "anything else is no time",
    arguments: [
      "", "now", "2025", "2025-08-10", "2025-13-10T02:44:06", "2025-00-10T02:44:06",
      "2025-08-32T02:44:06", "2025-08-10T24:44:06", "2025-08-10T02:60:06", "2025-08-10T02:44:99",
      "2025-08-10T02:44", "2025-08-10T02:44:06 ", "2025-08-10T02:44:06Zulu",
      "2025-08-10T02:44:06+1", "+2025-08-10T02:44:06", "２０２５-08-10T02:44:06",
      "2025-08-10T02:44:06.123456789012345678901234567890",
    ])
  func nonsense(_ text: String) {
    #expect(Timestamp(text) == nil)
  }
}
