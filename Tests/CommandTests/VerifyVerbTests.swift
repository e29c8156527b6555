import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching

@Suite("verify")
struct VerifyVerbTests {
  @Test("one changed bit anywhere in a closed log is found", .timeLimit(.minutes(5)))
  func everyBit() async throws {
    let whole = try Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("model-failure"))))
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 3)
    let flips = TestRun.count(120, long: whole.count)
    for index in 0..<flips {
      var bytes = whole
      let place = TestRun.isLong ? index : Int.random(in: 0..<whole.count, using: &generator)
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      try folder.write("flips/\(index).jsonl.gz", bytes)
    }
    let outcome = try await Binary.run(["verify", "flips", "--json"], in: folder.path, status: nil)
    let reports = try outcome.jsonLines()
    #expect(reports.count == flips)
    for report in reports {
      #expect(["damaged", "unreadable"].contains(report["status"]?.stringValue), "\(report)")
      #expect(report["findings"]?.arrayValue?.isEmpty == false)
    }
    #expect(outcome.status == 1)
  }

  @Test("a folder stands for every log below it, a link to a folder for none of them")
  func folders() async throws {
    let folder = try TemporaryFolder()
    let log = try Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("model-failure"))))
    for name in ["a", "deep/er/b", "deep/c", "é/d e"] {
      try folder.write("logs/\(name).jsonl.gz", log)
    }
    try folder.write("logs/.hidden/x.jsonl.gz", "not a log")
    try folder.write("logs/other.txt", "not a log")
    try folder.link("logs/loop", to: folder.path("logs"))
    let outcome = try await Binary.run(["verify", "logs"], in: folder.path)
    let names = outcome.lines.map { String($0.prefix { $0 != ":" }) }
    #expect(
      names == [
        "logs/a.jsonl.gz", "logs/deep/c.jsonl.gz", "logs/deep/er/b.jsonl.gz", "logs/é/d e.jsonl.gz",
      ])
  }

  @Test("--expect-digest knows a log that was cut back, or written anew")
  func expectedDigest() async throws {
    let log = Fixture.run("model-failure")
    let digest = try #require(
      try await Binary.run(["verify", log, "--json"]).json()["sealDigest"]?.stringValue)
    try await Binary.run(["verify", log, "--expect-digest", digest])
    let other = digest.first == "0" ? "1" + digest.dropFirst() : "0" + digest.dropFirst()
    let outcome = try await Binary.run(["verify", log, "--expect-digest", other], status: 1)
    #expect(outcome.output.contains("not the expected one"))
    try await Binary.run(
      ["verify", Fixture.run("offline-nowhere"), "--expect-digest", digest], status: 2)
    // One log in a folder is one log.
    try await Binary.run(
      ["verify", "Fixtures/damaged", "--expect-digest", digest], status: 1)
  }

  @Test("--json says of each log what the text says")
  func json() async throws {
    let paths = ["Fixtures/runs", "Fixtures/torn", "Fixtures/damaged", "nowhere.jsonl.gz"]
    let reports = try await Binary.run(["verify", "--json"] + paths, status: 1).jsonLines()
    let text = try await Binary.run(["verify"] + paths, status: 1).lines.filter { $0.first != " " }
    #expect(reports.count == text.count && reports.count > 30)
    for (report, line) in zip(reports, text) {
      let log = report["log"]?.stringValue ?? "?"
      let status = report["status"]?.stringValue ?? "?"
      let events = report["events"]?.intValue ?? -1
      #expect(line.hasPrefix("\(log): \(status), \(events) event"), "\(line)")
      if log.contains("torn") {
        #expect(status == "torn" && report["notes"]?.arrayValue?.isEmpty == false)
      } else if log.contains("damaged") {
        #expect(status == "damaged" && report["findings"]?[0]?["block"]?.intValue == 0)
      } else if log.contains("nowhere") {
        #expect(status == "unreadable")
      } else {
        #expect(status == "whole" && report["findings"] == [] && report["notes"] == [])
      }
    }
  }
}
