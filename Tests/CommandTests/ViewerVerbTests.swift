import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("agent-eval show --html")
struct ViewerVerbTests {
  @Test("writes a page, says where, and replaces one that is there; the same log, the same bytes")
  func page() async throws {
    let folder = try TemporaryFolder()
    for run in Fixture.runs.prefix(3) {
      let outcome = try await Binary.run(
        ["show", Project.path(run), "--html", "pages/run.html"], in: folder.path)
      #expect(outcome.output == "pages/run.html\n" && outcome.errors.isEmpty)
      let first = try folder.read("pages/run.html")
      try await Binary.run(["show", Project.path(run), "--html", "again.html"], in: folder.path)
      #expect(try folder.read("again.html") == first)
      #expect(String(decoding: first.prefix(15), as: UTF8.self) == "<!DOCTYPE html>")
    }
    #expect(Set(folder.listing) == ["again.html", "pages", "pages/run.html"])
  }

  @Test("a torn log is noted, a damaged one ends in 2 with its page, none at all without one")
  func faults() async throws {
    let folder = try TemporaryFolder()
    let page = folder.path("page.html")
    let torn = try await Binary.run(["show", Fixture.torn[0], "--html", page])
    #expect(torn.errors.contains("note: "))
    #expect(folder.text("page.html")?.contains("data-open=\"true\"") == true)
    let damaged = try await Binary.run(["show", Fixture.damaged[0], "--html", page], status: 2)
    #expect(damaged.errors.contains("damaged"))
    #expect(folder.text("page.html")?.contains("data-open=\"false\"") == true)
    try await Binary.run(["show", "/nowhere.jsonl.gz", "--html", folder.path("x.html")], status: 2)
    try await Binary.run(["show", Fixture.runs[0], "--html", "/proc/none/x.html"], status: 2)
    #expect(folder.listing == ["page.html"])
  }

  @Test(
    "wrong usage is refused: other outputs beside it, no path, the path of a log",
    arguments: [
      ["--html", "x.html", "--json"], ["--html", "x.html", "--follow"],
      ["--html", "x.html", "--skip-damaged"], ["--html", ""], ["--html", "run.jsonl.gz"],
      ["--html", "run.jsonl.gz.open"],
    ])
  func usage(arguments: [String]) async throws {
    try await Binary.run(["show", Fixture.runs[0]] + arguments, status: 64)
  }

  @Test("a log too large for a page is refused, and nothing is written")
  func tooLarge() async throws {
    let folder = try TemporaryFolder()
    var random = SystemRandomNumberGenerator()
    // Text that cannot be compressed much: 33 MiB of it in the file.
    let events = (0..<12).map { seq -> Event in
      let bytes = (0..<(3 << 20) / 8).flatMap { _ in
        withUnsafeBytes(of: random.next()) { Array($0) }
      }
      return Event(
        seq: seq, step: seq, type: seq == 0 ? .runStarted : .modelResult, runId: "r",
        data: ["formatVersion": 2, "goal": "g", "reply": .bytes(bytes)])
    }
    let log = try writeLog(events, to: folder.path("run.jsonl.gz"))
    let outcome = try await Binary.run(
      ["show", log, "--html", folder.path("page.html")], status: 2)
    #expect(outcome.errors.contains("32 MiB") && outcome.errors.contains("agent-eval replay"))
    #expect(!folder.listing.contains("page.html"))
  }
}
