import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Re-execution")
struct ReexecutionTests {
  private static let pairs = TestRun.count(200, long: 1_000)

  private static func reexecute(
    _ events: [Event], with agent: AgentDefinition, in folder: TemporaryFolder, named name: String,
    closes: Bool = true
  ) async throws -> Reexecution {
    let path = try writeLog(events, in: folder, named: name, closes: closes)
    return try await Reexecution(of: path, with: agent)
  }

  @Test("every recorded fixture is faithful, however it ended", arguments: Fixture.all)
  func fixtures(fixture: Fixture) async throws {
    let reexecution = try await Reexecution(of: fixture.path, with: try fixture.agent())
    #expect(reexecution.divergence == nil)
    #expect(reexecution.made == (try fixture.events().count))
    #expect(reexecution.ending == .stop)
  }

  @Test(
    "a run cut off anywhere is made again as far as it goes", arguments: Fixture.all)
  func torn(fixture: Fixture) async throws {
    let folder = try TemporaryFolder()
    let (events, agent) = (try fixture.events(), try fixture.agent())
    let cuts = Array(1..<events.count)
    var generator = Seeded(seed: UInt64(events.count))
    for count in cuts.shuffled(using: &generator).prefix(TestRun.count(8, long: 200)) {
      let reexecution = try await Self.reexecute(
        Array(events.prefix(count)), with: agent, in: folder, named: "cut-\(count)", closes: false)
      #expect(reexecution.divergence == nil, "\(count) events")
      #expect(reexecution.made == count)
      #expect(reexecution.ending == .unfinished(tornAt: nil))
    }
  }

  @Test("one injected change of a known cause is named with its cause, its place and its input")
  func knownChanges() async throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 5)
    var count = 0
    var counts: [String: Int] = [:]
    for seed in 0..<(20 * Self.pairs) {
      if count == Self.pairs { break }
      let kind = KnownChange.Kind.allCases[seed % KnownChange.Kind.allCases.count]
      let run = try await RandomRun(seed: seed)
      guard let change = KnownChange(kind, in: run, &generator) else { continue }
      let found = try await Self.reexecute(
        change.events, with: change.agent, in: folder, named: "changed-\(seed)"
      ).divergence
      let isRight = found?.cause.rawValue == change.cause && found?.input?.name == change.input
      if !isRight {
        Issue.record("\(kind) of seed \(seed): \(found.map { "\($0)" } ?? "faithful")")
        return
      }
      count += 1
      counts[change.cause, default: 0] += 1
    }
    #expect(counts.values.reduce(0, +) == Self.pairs)
    #expect(Set(counts.keys) == Set(Divergence.Cause.allCases.map(\.rawValue)))
  }

  @Test("runs that differ in the order of parallel calls, in ids and times are faithful")
  func disguises() async throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 6)
    var reordered = 0
    for seed in 0..<Self.pairs {
      let run = try await RandomRun(seed: 1_000_000 + seed)
      let events = run.events.disguised(&generator)
      if events.map(\.type) != run.events.map(\.type)
        || events.map({ $0.data["callId"] }) != run.events.map({ $0.data["callId"] })
      {
        reordered += 1
      }
      let found = try await Self.reexecute(
        events, with: run.agent, in: folder, named: "disguised-\(seed)")
      if found.divergence != nil || found.made != events.count {
        Issue.record("seed \(seed): \(found.divergence.map { "\($0)" } ?? "\(found.made) made")")
        return
      }
    }
    #expect(reordered > Self.pairs / 4)
  }
}
