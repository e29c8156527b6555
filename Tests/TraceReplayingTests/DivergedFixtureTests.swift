import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

/// Recorded runs as another program might have left them, which no agent file makes: with those under
/// `Fixtures/changed` there is a divergent pair for every cause. `UPDATE_FIXTURES=1` writes them anew.
@Suite("Divergent fixtures")
struct DivergedFixtureTests {
  /// A log under `Fixtures/diverged`, what was done to the run that it is made from, and what is found.
  struct Pair: CustomTestStringConvertible, Sendable {
    var name: String
    var run: String
    var edit: @Sendable ([Event]) -> [Event]
    var cause: Divergence.Cause
    /// The event that differs, and the first place in it.
    var seq: Int
    var pointer: String?

    var testDescription: String { name }
    var path: String { Project.path("Fixtures/diverged/\(name).jsonl.gz") }
  }

  static let all = [
    Pair(
      name: "other-reasons", run: "refund-drafted",
      edit: { events in
        // As if the program of then had given another reason for taking the goal in.
        events.map { event in
          guard event.type == .contextBuilt, let items = event.data["included"]?.arrayValue else {
            return event
          }
          var event = event
          event.data["included"] = .array(
            items.map { $0["ref"] == "goal" ? ["ref": "goal", "reason": "what is asked"] : $0 })
          return event
        }
      }, cause: .code, seq: 1, pointer: "/included/1/reason"),
    Pair(
      name: "verdict-twice", run: "parallel-search",
      edit: { events in
        // As if the program of then had asked policy twice about a call.
        guard let index = events.firstIndex(where: { $0.type == .policyDecision }) else {
          return events
        }
        return (Array(events[...index]) + Array(events[index...])).renumbered
      }, cause: .code, seq: 5, pointer: nil),
    Pair(
      name: "result-gone", run: "parallel-search",
      edit: { events in
        // As if a result had never reached the log, and the run had gone on all the same.
        events.filter { $0.type != .toolResult || $0.data["callId"] != "1.1.1" }.renumbered
      }, cause: .tool, seq: 12, pointer: nil),
  ]

  @Test("each is what its edit makes of its run, byte for byte", arguments: all)
  func bytes(pair: Pair) throws {
    let folder = try TemporaryFolder()
    let path = try writeLog(
      pair.edit(readLog(Project.path("Fixtures/runs/\(pair.run).jsonl.gz"))), in: folder)
    let made = try Data(contentsOf: URL(fileURLWithPath: path))
    let kept = URL(fileURLWithPath: pair.path)
    if ProcessInfo.processInfo.environment["UPDATE_FIXTURES"] == "1" {
      try FileManager.default.createDirectory(
        at: kept.deletingLastPathComponent(), withIntermediateDirectories: true)
      try made.write(to: kept)
    }
    #expect(try Data(contentsOf: kept) == made)
  }

  @Test("each diverges from today's program by its cause, where it was edited", arguments: all)
  func divergence(pair: Pair) async throws {
    let fixture = try #require(Fixture.all.first { $0.name == pair.run })
    let found = try await Reexecution(of: pair.path, with: try fixture.agent())
    let divergence = try #require(found.divergence)
    #expect(divergence.cause == pair.cause)
    #expect(divergence.seq == pair.seq, "\(divergence)")
    if let pointer = pair.pointer {
      #expect(divergence.fields.first.map { "\($0.pointer)" } == pointer)
    }
  }
}
