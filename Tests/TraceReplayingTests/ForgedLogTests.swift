import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Forged logs")
struct ForgedLogTests {
  private static let forgeries = TestRun.count(120, long: 1_000)

  /// Another value of the same kind, such as a forger would choose.
  private static func forged(
    _ place: ForgedLog.Place, among places: [ForgedLog.Place], _ generator: inout Seeded
  ) -> JSONValue? {
    // Taken away; an envelope has all its keys.
    if place.path.first == "data", Int.random(in: 0..<10, using: &generator) == 0 { return nil }
    switch place.value {
    case .bool(let value): return .bool(!value)
    case .number:
      let number = place.value.intValue ?? 0
      // A time before that of the event before it; any other tells nothing.
      if place.path == ["t"] {
        let before = places.last { $0.path == ["t"] && $0.seq == place.seq - 1 }
        return (before?.value.intValue).flatMap { $0 > 0 ? JSONValue($0 - 1) : nil } ?? place.value
      }
      return JSONValue(number + [1, -1, 7][Int.random(in: 0..<3, using: &generator)])
    case .string(let text):
      // What stands elsewhere under the same key, where there is something else.
      let others = places.filter {
        $0.path.last == place.path.last && $0.value != place.value && $0.value.stringValue != nil
      }
      if let other = others.randomElement(using: &generator), Bool.random(using: &generator) {
        return other.value
      }
      return .string(text + "0")
    default: return "forged"
    }
  }

  /// Which event a log is said to be forged in, and by whom.
  private static func found(_ path: String, _ agent: AgentDefinition) async -> (
    verify: [Int], replay: Int?
  ) {
    let report = LogVerifier.verify(path: path)
    // What the very first event says of the format keeps the others from being read.
    var named = report.status == .unreadable ? [0] : report.findings.compactMap(\.seq)
    // Nor can a digest be compared that is said to be of another program's state: that is noted.
    let noted = report.notes.contains { $0.contains("was not compared") }
    if noted { named.append(report.events - 1) }
    do {
      let again = try await Reexecution(of: path, with: agent)
      return (report.status == .whole && !noted ? [] : named, again.divergence?.seq)
    } catch {
      let number = "\(error)".split(separator: "event ").dropFirst().first?.prefix { $0.isNumber }
      return (named, number.flatMap { Int($0) })
    }
  }

  @Test("a log of today that says it is of the format before is found, whatever stands in it")
  func olderFormat() throws {
    let folder = try TemporaryFolder()
    var count = 0
    for fixture in Fixture.all where fixture.name != "hundred-steps" {
      var log = try ForgedLog(fixture.path)
      let places = try log.places()
      guard places.contains(where: { $0.type == .stop }),
        let place = places.first(where: { $0.seq == 0 && $0.path == ["data", "formatVersion"] }),
        place.value != 1
      else { continue }
      try log.put(1, at: place)
      try log.write(to: folder.path("older.jsonl.gz"))
      let report = LogVerifier.verify(path: folder.path("older.jsonl.gz"))
      #expect(report.status != .whole, "\(fixture.name)")
      count += 1
    }
    #expect(count > 20)
  }

  @Test("one field of one event changed under new seals is found, and the event is named")
  func oneField() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("forged.jsonl.gz")
    var generator = Seeded(seed: 21)
    let logs = try Fixture.all.filter { $0.name != "hundred-steps" }.map {
      (fixture: $0, log: try ForgedLog($0.path), agent: try $0.agent())
    }
    var (count, exact, byVerify, byReplay, named) = (0, 0, 0, 0, 0)
    while count < Self.forgeries {
      let (fixture, log, agent) = logs[count % logs.count]
      let places = try log.places()
      let place = try #require(places.randomElement(using: &generator))
      let value = Self.forged(place, among: places, &generator)
      if value == place.value { continue }
      var forged = log
      try forged.put(value, at: place)
      try forged.write(to: path)
      count += 1
      let (verify, replay) = await Self.found(path, agent)
      if !verify.isEmpty { byVerify += 1 }
      if replay != nil { byReplay += 1 }
      if verify.contains(place.seq) || replay == place.seq { exact += 1 }
      if !verify.isEmpty || replay != nil { named += 1 }
      // A line that is none names its block alone.
      #expect(
        !verify.isEmpty || replay != nil || LogVerifier.verify(path: path).status != .whole,
        "\(fixture.name), event \(place.seq) (\(place.type.rawValue)) /\(place.path.joined(separator: "/"))"
      )
    }
    print(
      "\(count) forged: \(byVerify) by verify, \(byReplay) by replay, \(exact) at the event itself")
    #expect(named * 100 >= count * 99 && exact * 2 > count)
  }
}
