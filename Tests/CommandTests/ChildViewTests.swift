import Foundation
import TestSupport
import Testing

@Suite("Looking at runs that called agents")
struct ChildViewTests {
  /// The team of the fixtures, and a run of it that has ended.
  private struct Desk {
    let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try FileManager.default.copyItem(
        atPath: Project.path("Fixtures/agents/team"), toPath: folder.path("team"))
      try folder.write("ana.yaml", "approvals: [{tool: issue_refund, granted: true, by: ana}]\n")
    }

    /// Records it; returns the root's log.
    func record(_ out: String) async throws -> String {
      let outcome = try await Binary.run(
        [
          "record", "team/front-desk.yaml", "Refund order 1234", "--out", out, "--seed", "1",
          "--fixed-clock", "--approve", "ana.yaml",
        ], in: folder.path)
      let line = try #require(outcome.output.split(separator: "\n").last { $0.hasPrefix("log") })
      return String(line.split(separator: " ").last ?? "")
    }
  }

  @Test("what only a run further down did otherwise is a difference, told by its caller")
  func isCompared() async throws {
    let desk = try Desk()
    let first = try await desk.record("a")
    let again = try await desk.record("b")
    try await Binary.run(["diff", first, again], in: desk.folder.path)
    let ledger = desk.folder.text("team/ledger.yaml") ?? ""
    try desk.folder.write(
      "team/ledger.yaml",
      ledger.replacing("entries: [{paid: 59.90}]", with: "entries: [{paid: 59.90, by: card}]"))
    let other = try await desk.record("c")
    let outcome = try await Binary.run(["diff", first, other], in: desk.folder.path, status: 1)
    #expect(outcome.output.contains("read_ledger"), "\(outcome.output)")
    #expect(outcome.output.contains("by ask_billing/lookup"), "\(outcome.output)")
    let json = try await Binary.run(
      ["diff", first, other, "--json"], in: desk.folder.path, status: 1)
    #expect(json.output.contains("ask_billing/lookup"))
  }

  @Test("the debugger goes into the run of a call, as deep as they go, and out to where it was")
  func isEntered() async throws {
    let desk = try Desk()
    let log = try await desk.record("runs")
    func told(_ commands: String, status: Int32 = 0) async throws -> String {
      let outcome = try await Binary.run(
        ["replay", log, "-c", commands], in: desk.folder.path, status: status)
      return outcome.output + outcome.errors
    }
    let deep = try await told(
      "goto 1; into ask_billing; into lookup; goto end; into 9.9.9", status: 2)
    #expect(
      deep.contains("1 deep") && deep.contains("2 deep") && deep.contains("agent ledger"), "\(deep)"
    )
    #expect(deep.contains("no call or task “9.9.9” began a run"), "\(deep)")
    let back = try await told("goto 1; into ask_billing; goto end; out; print /event/seq")
    #expect(back.contains("back in run") && back.hasSuffix("1\n"), "\(back)")
    #expect(try await told("out", status: 2).contains("this is the run that was opened"))
    #expect(try await told("goto 0; into", status: 2).contains("began no run"))
    // At the call itself no name is needed.
    let started = try await told("break event tool_started; continue; into; state")
    #expect(started.contains("1 deep"), "\(started)")
  }

  @Test(
    "a child's log that is gone, or is another run's, is not entered, and the session goes on where it was"
  )
  func isNotThere() async throws {
    let desk = try Desk()
    let log = try await desk.record("runs")
    let logs = try FileManager.default.contentsOfDirectory(atPath: desk.folder.path("runs"))
      .filter { !log.hasSuffix($0) }.map { desk.folder.path("runs/\($0)") }
    #expect(logs.count == 2)
    for child in logs {
      try FileManager.default.removeItem(atPath: child)
      try FileManager.default.copyItem(atPath: desk.folder.path(log), toPath: child)
    }
    let other = try await Binary.run(
      ["replay", log, "-c", "into ask_billing"], in: desk.folder.path, status: 2)
    #expect(other.errors.contains("is the log of another run"), "\(other)")
    for child in logs { try FileManager.default.removeItem(atPath: child) }
    let gone = try await Binary.run(
      ["replay", log, "-c", "into ask_billing"], in: desk.folder.path, status: 2)
    #expect(gone.errors.contains("its log is not beside this one"), "\(gone)")
  }

  @Test("each run of the tree has a page, and each page leads to those below it and back")
  func hasPages() async throws {
    let desk = try Desk()
    let log = try await desk.record("runs")
    try await Binary.run(
      ["show", log, "--html", "pages/ro ot.html"], in: desk.folder.path, status: nil)
    try FileManager.default.createDirectory(
      atPath: desk.folder.path("pages"), withIntermediateDirectories: true)
    try await Binary.run(["show", log, "--html", "pages/ro ot.html"], in: desk.folder.path)
    let pages = try FileManager.default.contentsOfDirectory(atPath: desk.folder.path("pages"))
      .sorted()
    #expect(pages.count == 3, "\(pages)")
    var linked: Set<String> = []
    for page in pages {
      let text = desk.folder.text("pages/\(page)") ?? ""
      for match in text.matches(of: #/href="\./([^"]*)"/#) {
        let name = String(match.1).removingPercentEncoding ?? ""
        #expect(pages.contains(name), "\(page) leads to \(name)")
        linked.insert(name)
      }
    }
    #expect(linked == Set(pages))
    try await Binary.run(["show", log, "--html", "page"], in: desk.folder.path)
    let others = try FileManager.default.contentsOfDirectory(atPath: desk.folder.path)
    #expect(others.filter { $0.hasPrefix("page-") }.isEmpty)
  }
}
