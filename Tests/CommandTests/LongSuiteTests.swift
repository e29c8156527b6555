import AgentTrace
import Foundation
import TestSupport
import Testing

/// Suites that take long: how far they are, taking them up, and times.
@Suite("Long suites")
struct LongSuiteTests {
  /// Cases whose agent waits, once it has said that it began, until `go` is there.
  ///
  /// - Parameter firstWaits: whether the first that begins does so, too.
  private static func suite(
    _ count: Int, in folder: TemporaryFolder, firstWaits: Bool = true
  ) throws {
    let passes = firstWaits ? "" : "[ $(wc -l <started) -eq 1 ] || "
    try folder.write(
      "agent.yaml",
      """
      name: waiter
      tools:
        - name: work
          sideEffect: draft
          timeoutSeconds: 60
          command: [/bin/sh, -c, "echo x >>started; \(passes)while [ ! -e go ]; do sleep 0.02; done; echo '{}'"]
      model:
        script:
          - call: {tool: work, input: {}}
          - answer: Done.
      """)
    let cases = (0..<count).map {
      "  - {caseId: c\($0), input: x, agent: agent.yaml, expected: {stopReason: success}}"
    }
    try folder.write("cases.yaml", "cases:\n" + cases.joined(separator: "\n"))
  }

  @Test("in a pipe a line says every while how far the suite is", .timeLimit(.minutes(2)))
  func lines() async throws {
    let folder = try TemporaryFolder()
    try Self.suite(2, in: folder)
    let outcome = try await shell(
      """
      AGENT_EVAL_PROGRESS_SECONDS=0.05 "$0" run cases.yaml --live --jobs 1 2>errors & pid=$!
      until grep -q '^run    0 of 2' errors; do sleep 0.02; done
      touch go; wait $pid
      """, in: folder.path)
    #expect(outcome.output.contains("2 cases: 2 passed"))
    #expect(folder.text("errors")?.contains("\r") == false)
    // By itself it is silent as long as nobody waits.
    let quiet = try await Binary.run(["run", "cases.yaml", "--live"], in: folder.path)
    #expect(!quiet.errors.contains("run    "))
  }

  /// Runs the suite one by one until the first case is done and the second has begun, and stops it there.
  private static func interrupt(
    in folder: TemporaryFolder, by signal: String, status: Int32?, options: String = ""
  ) async throws -> Command.Outcome {
    try await shell(
      """
      : >started
      "$0" run cases.yaml --live --jobs 1 \(options) --json >first.json 2>errors & pid=$!
      until [ "$(wc -l <started)" -ge 2 ]; do sleep 0.02; [ -d /proc/$pid ] || break; done
      kill -\(signal) $pid; wait $pid
      """, in: folder.path, status: status, timeoutSeconds: 60)
  }

  @Test(
    "a suite that was interrupted is taken up: finished runs are judged anew and not made again",
    .timeLimit(.minutes(3)), arguments: ["TERM", "KILL"], [[], ["--seed", "3"]])
  func continuing(_ signal: String, options: [String]) async throws {
    let folder = try TemporaryFolder()
    try Self.suite(4, in: folder, firstWaits: false)
    _ = try await Self.interrupt(
      in: folder, by: signal, status: nil, options: options.joined(separator: " "))
    let before = folder.text("started")?.count ?? 0
    if signal == "TERM" {
      let results = try JSONValue(parsing: Array((folder.text("first.json") ?? "").utf8))
      let last = results["cases"]?[3]
      #expect(last?["outcome"] == "inconclusive")
      #expect(last?["notRun"]?.stringValue?.contains("SIGTERM") == true)
      #expect(folder.text("errors")?.contains("--continue goes on") == true)
    }
    try folder.write("go", "")
    let done = try await Binary.run(
      ["run", "cases.yaml", "--live", "--continue", "--jobs", "1", "--json"] + options,
      in: folder.path)
    #expect(try done.json()["summary"]?["pass"] == 4)
    // With a seed a run has one name: what was half made of it keeps what it held, under another.
    let aside = folder.listing.filter { $0.contains(".interrupted-1.jsonl.gz") }
    #expect(aside.count == (options.isEmpty ? 0 : 1), "\(folder.listing)")
    let reused = try #require(done.errors.firstMatch(of: #/note: (\d+) runs? of the suite/#))
    let again = (folder.text("started")?.count ?? 0) - before
    // Each "x\n" is a run that was made.
    #expect(Int(reused.1).map { 4 - $0 } == again / 2, "\(done)")
    #expect((Int(reused.1) ?? 0) >= 1)
    // It has come to its end: there is nothing left to take up.
    let over = try await Binary.run(
      ["run", "cases.yaml", "--live", "--continue"], in: folder.path)
    #expect(over.errors.contains("no suite of these files was interrupted"))
  }

  @Test(
    "no stale green: what a run was made from, its log and its case count as they are now",
    .timeLimit(.minutes(5)), arguments: ["case", "agent", "input", "log", "gone"])
  func stale(_ change: String) async throws {
    let folder = try TemporaryFolder()
    try Self.suite(3, in: folder, firstWaits: false)
    _ = try await Self.interrupt(in: folder, by: "TERM", status: nil)
    try folder.write("go", "")
    let text = try #require(folder.text("cases.yaml"))
    let journal = try #require(folder.listing.first { $0.contains("unfinished/") })
    let lines = try #require(folder.text(journal)?.split(separator: "\n"))
    let logs = try lines.compactMap { line in
      try JSONValue(parsing: Array(line.utf8))["log"]?.stringValue
    }
    // On a slow machine more than one had ended.
    try #require(!logs.isEmpty)
    let files = logs.map { "'\($0)'" }.joined(separator: " ")
    switch change {
    case "case":
      try folder.write(
        "cases.yaml", text.replacing("stopReason: success", with: "toolsNotCalled: [work]"))
    case "agent":
      let agent = try #require(folder.text("agent.yaml"))
      try folder.write("agent.yaml", "system: Otherwise.\n" + agent)
    case "input": try folder.write("cases.yaml", text.replacing("input: x", with: "input: y"))
    case "log":
      try await shell("for log in \(files); do printf x >>\"$log\"; done", in: folder.path)
    default: try await shell("rm \(files)", in: folder.path)
    }
    let isGreen = change != "case"
    let done = try await Binary.run(
      ["run", "cases.yaml", "--live", "--continue", "--jobs", "1", "--json"], in: folder.path,
      status: isGreen ? 0 : nil)
    let results = try done.json()
    #expect(results["summary"]?["pass"] == (isGreen ? 3 : 0), "\(done)")
    let isReused = change == "case"
    #expect(done.errors.contains("note: 0 runs of the suite") != isReused, "\(done)")
  }

  @Test("--continue without --live is refused with the reason")
  func usage() async throws {
    let refused = try await Binary.run(["run", "EvalCases", "--continue"], status: 64)
    #expect(refused.errors.contains("--continue goes with --live"))
  }

  @Test("JUnit has the times of the runs, each case its own and their sum")
  func times() async throws {
    let folder = try TemporaryFolder()
    let run = try await Binary.run(
      ["run", "EvalCases/refunds.yaml", "--report", "junit:\(folder.path("r.xml"))"])
    #expect(run.status == 0)
    let text = try #require(folder.text("r.xml"))
    let times = text.matches(of: #/<testcase [^>]* time="(\d+)\.(\d{6})"/#).compactMap {
      Int($0.1 + $0.2)
    }
    #expect(times.count > 1 && times.contains { $0 > 0 })
    let all = try #require(text.firstMatch(of: #/<testsuites [^>]*time="(\d+)\.(\d{6})"/#))
    #expect(Int(all.1 + all.2) == times.reduce(0, +))
  }
}
