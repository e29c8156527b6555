import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Logs of format 1")
struct OldFormatTests {
  private static let names = [
    "hundred-steps", "refund-approved", "parallel-search", "summarized", "output-dropped",
  ]

  private static func path(_ name: String) -> String {
    Project.path("Fixtures/format-1/\(name).jsonl.gz")
  }

  @Test("are whole, and folded from their text as from their events", arguments: names)
  func read(name: String) throws {
    let path = Self.path(name)
    let report = LogVerifier.verify(path: path)
    #expect(report.status == .whole && report.findings.isEmpty, "\(report)")
    let events = try readEvents(path)
    #expect(events.first?.data["formatVersion"]?.intValue == RunStarted.currentFormatVersion)
    var (folded, plain) = (AgentState(), AgentState())
    var reader = try LogReader(path: path)
    while try reader.advance() != nil { try reader.fold(into: &folded) }
    for event in events { plain.apply(event) }
    #expect(folded == plain && folded.digest == plain.digest)
    #expect(
      try LogHead(path: path, withOnly: ["goal"]).started.data["goal"] == events[0].data["goal"])
  }

  @Test("are read from any step as from the beginning", arguments: names)
  func middle(name: String) throws {
    let events = try readEvents(Self.path(name))
    for seq in stride(from: 0, to: events.count, by: 7) {
      var reader = try LogReader(path: Self.path(name), startingAtCheckpointBefore: seq)
      var last: Event?
      while let event = try reader.next() {
        last = event
        if event.seq == seq { break }
      }
      #expect(last == events[seq])
    }
  }

  @Test("are repaired to logs of today's format with the same events", arguments: names)
  func repaired(name: String) throws {
    let folder = try TemporaryFolder()
    let report = try LogRepair.repair(Self.path(name), to: folder.file("new.jsonl.gz"))
    #expect(try readEvents(report.output) == readEvents(Self.path(name)))
    let verified = LogVerifier.verify(path: report.output)
    // The digest in a stop stays that of the older state, which is not compared.
    #expect(verified.status == .whole, "\(verified.findings)")
    #expect(try LogReader(path: report.output).cursor.version == RunStarted.currentFormatVersion)
  }

  @Test("are not gone on with, and stay as they are")
  func reopened() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("old.jsonl.gz")
    let bytes = try Data(contentsOf: URL(filePath: Self.path("refund-approved")))
    try bytes.write(to: URL(filePath: path))
    let error = #expect(throws: LogError.self) { try LogWriter.reopening(path) }
    #expect(error?.code == .olderFormat(1))
    #expect(error.map { "\($0)".contains("agent-eval repair") } == true)
    #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
  }
}
