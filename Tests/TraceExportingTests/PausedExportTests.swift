import AgentTrace
import TestSupport
import Testing
import TraceExporting
import TraceStorage

@Suite("What an export without the log says of pauses")
struct PausedExportTests {
  private static func back(_ log: String, _ format: ExportFormat, _ folder: TemporaryFolder) throws
    -> String
  {
    let name = "\(folder.listing.count)"
    let path = folder.path(name + format.ending)
    try Exporting.export(format, [log], to: path, isPlain: true)
    return try #require(try Exporting.imported(path, into: folder.path("in-\(name)")).first)
  }

  @Test(
    "that a run paused and went on comes back as stops in part, also by a second export",
    arguments: Exporting.carrying)
  func paused(format: ExportFormat) throws {
    let folder = try TemporaryFolder()
    let once = try Self.back(Project.path("Fixtures/runs/conversation.jsonl.gz"), format, folder)
    let twice = try Self.back(once, format, folder)
    for log in [once, twice] {
      let trajectory = try Exporting.trajectory(log)
      #expect(trajectory.recorded["stop"] == "partial")
      #expect(trajectory.stop?.reason == .success)
    }
  }

  @Test(
    "a run that never paused, and one that only waits, have all their stops",
    arguments: Exporting.carrying)
  func unpaused(format: ExportFormat) throws {
    for name in ["refund-drafted", "refund-needs-approval"] {
      let folder = try TemporaryFolder()
      let log = try Self.back(Project.path("Fixtures/runs/\(name).jsonl.gz"), format, folder)
      #expect(try Exporting.trajectory(log).recorded["stop"] == nil)
    }
  }
}
