import AgentTrace
import TestSupport
import Testing

@Suite("Interruptions")
struct InterruptionTests {
  /// Records the sleeping agent, does something to it once its tool has begun, and prints the exit
  /// code on the last line.
  private static func recordInterrupted(
    in folder: TemporaryFolder, by interruption: String
  ) async throws -> Command.Outcome {
    try folder.write("agent.yaml", sleeperFile)
    return try await shell(
      """
      "$0" record agent.yaml "Sleep well" --out one.jsonl.gz & pid=$!
      until [ -e begun ]; do sleep 0.02; done
      \(interruption)
      wait $pid; echo "exit $?"
      """, in: folder.path, timeoutSeconds: 30)
  }

  @Test(
    "a signal while a tool works ends the run as cancelled, with a closed log and exit code 1",
    .timeLimit(.minutes(1)))
  func signal() async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Self.recordInterrupted(in: folder, by: "kill -TERM $pid")
    #expect(outcome.lines.last == "exit 1", "\(outcome)")
    #expect(folder.listing.contains("one.jsonl.gz"))
    #expect(!folder.listing.contains { $0.hasSuffix(".open") })
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
    let lines = try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path)
      .jsonLines()
    let stop = lines.first { $0["type"] == "stop" }?["data"]
    #expect(stop?["reason"] == "cancelled" && stop?["final"] == false)
    let result = lines.first { $0["type"] == "tool_result" }?["data"]
    // The tool is no reader: what it did before it was cut off nobody knows.
    #expect(result?["status"] == "error" && result?["effect"] == "unknown")
  }

  @Test(
    "a run that is killed leaves a log that can be read, verified and judged up to its last event",
    .timeLimit(.minutes(1)))
  func killed() async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Self.recordInterrupted(in: folder, by: "kill -KILL $pid $(cat begun)")
    #expect(outcome.lines.last == "exit 137", "\(outcome)")
    #expect(folder.listing.contains("one.jsonl.gz.open"))
    #expect(!folder.listing.contains("one.jsonl.gz"))
    for name in ["one.jsonl.gz", "one.jsonl.gz.open"] {
      let shown = try await Binary.run(["show", name], in: folder.path)
      #expect(shown.output.contains("Sleep well") && shown.output.contains("nap"))
      #expect(shown.errors.contains("unfinished"))
      let verified = try await Binary.run(["verify", name], in: folder.path)
      #expect(verified.output.contains("note: "))
      let last = try await Binary.run(["show", name, "--json"], in: folder.path).jsonLines().last
      #expect(last?["type"] == "tool_started")
      try await Binary.run(["replay", name, "--step", "1"], in: folder.path)
    }
    try folder.write(
      "case.yaml",
      """
      caseId: c
      recording: one.jsonl.gz
      expected: {toolsNotCalled: [nap], stopReason: success}
      """)
    // Started and never seen to end: it counts as called.
    let judged = try await Binary.run(["run", "case.yaml", "--json"], in: folder.path, status: 1)
      .json()
    #expect(judged["cases"]?[0]?["trials"]?[0]?["expectations"]?[0]?["outcome"] == "unverifiable")
    #expect(judged["cases"]?[0]?["trials"]?[0]?["expectations"]?[1]?["outcome"] == "fail")
  }

  @Test("a log can be read while it is written, and not be written twice", .timeLimit(.minutes(1)))
  func whileWritten() async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Self.recordInterrupted(
      in: folder,
      by: """
        "$0" show one.jsonl.gz >shown 2>notes; echo "show $?"
        "$0" verify one.jsonl.gz >verified; echo "verify $?"
        "$0" record agent.yaml again --out one.jsonl.gz; echo "record $?"
        kill -TERM $pid
        """)
    let words = ["show 0", "verify 0", "record 2", "exit 1"]
    #expect(outcome.lines.filter(words.contains) == words, "\(outcome)")
    #expect(folder.text("shown")?.contains("Sleep well") == true)
    #expect(folder.text("notes")?.contains("unfinished") == true)
    #expect(folder.text("verified")?.contains("note: ") == true)
    #expect(outcome.errors.contains("one.jsonl.gz"))
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
  }

  // MARK: Readers that go away

  @Test(
    "a reader that has seen enough is no failure",
    arguments: [
      "show Fixtures/runs/hundred-steps.jsonl.gz",
      "show Fixtures/runs/hundred-steps.jsonl.gz --json",
      "replay Fixtures/runs/hundred-steps.jsonl.gz --step 100", "verify Fixtures/runs",
      "run EvalCases/stops.yaml", "schema case", "check Fixtures/agents",
    ])
  func head(_ command: String) async throws {
    let outcome = try await shell("set -o pipefail; \"$0\" \(command) | head -n 1")
    #expect(outcome.lines.count == 1)
    #expect(!outcome.errors.lowercased().contains("pipe"), "\(outcome)")
  }

  @Test("a verb says how it went even when nobody reads what it prints")
  func truthWithoutReader() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    for (command, status) in [
      ("run Fixtures/failing-cases", 1), ("verify Fixtures/damaged Fixtures/runs", 1),
      ("record \(Fixture.agent("offline")) x --out \(folder.path("failed.jsonl.gz"))", 1),
      ("record \(folder.path("agent.yaml")) x --out \(folder.path("whole.jsonl.gz"))", 0),
      ("import openai-messages nowhere --out \(folder.path("out"))", 2),
    ] {
      // The reader is gone before the first byte.
      let outcome = try await shell(
        "{ sleep 0.2; \"$0\" \(command); echo \"exit $?\" >&2; } | true")
      #expect(outcome.errors.hasSuffix("exit \(status)\n"), "\(command)\n\(outcome)")
    }
    // The runs went on to their ends.
    try await Binary.run(["verify", "failed.jsonl.gz", "whole.jsonl.gz"], in: folder.path)
  }

  @Test("a full disk under standard output is an error, and a run is recorded all the same")
  func fullDisk() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    for command in [
      "show \(Fixture.run("tool-failure"))", "schema case", "run EvalCases/stops.yaml", "--help",
      "run --help", "help run", "--version", "--generate-completion-script bash",
    ] {
      let outcome = try await shell("\"$0\" \(command) >/dev/full", status: 2)
      #expect(outcome.errors.contains("standard output"), "\(outcome)")
    }
    try await shell(
      "\"$0\" record agent.yaml x --out one.jsonl.gz >/dev/full", in: folder.path, status: 2)
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
    // Where a case failed that is the graver news.
    for options in ["", "--json"] {
      let failed = try await shell(
        "\"$0\" run Fixtures/failing-cases \(options) >/dev/full", status: 1)
      #expect(failed.errors.contains("standard output"), "\(failed)")
    }
  }

  @Test("diagnostics that cannot be shown change nothing")
  func noStandardError() async throws {
    try await shell("\"$0\" show Fixtures/damaged/error-recovered.jsonl.gz 2>/dev/full", status: 2)
    try await shell("\"$0\" show Fixtures/torn/parallel-search.jsonl.gz 2>&-")
    try await shell("\"$0\" runn 2>/dev/full", status: 64)
  }

  @Test("what is printed to a stream that is closed goes into no other file, and is lost")
  func closedStreams() async throws {
    for closed in [">&-", ">&- 2>&-", "<&- >&-", "<&- >&- 2>&-"] {
      let outcome = try await shell("\"$0\" run EvalCases/stops.yaml \(closed)", status: 2)
      #expect(outcome.errors.contains("Bad file descriptor") != closed.contains("2"), "\(outcome)")
    }
    try await shell("\"$0\" run EvalCases/stops.yaml <&-")
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    try await shell(
      "\"$0\" record agent.yaml x --out one.jsonl.gz <&- 2>&-", in: folder.path)
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
  }

  @Test("a command tool gets the signals that any process gets, and a pipe that closes ends it")
  func inheritedSignals() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: piper
      tools:
        - {name: pipe, sideEffect: read, command: [/bin/sh, -c, "grep SigIgn: /proc/self/status | tr -dc 0-9a-f | sed 's/.*/\\"&\\"/'"]}
      model: {script: [{call: {tool: pipe, input: {}}}, {answer: "${last.data}"}]}
      """)
    try await Binary.run(
      ["record", "agent.yaml", "x", "--out", "a.jsonl.gz"], in: folder.path)
    let lines = try await Binary.run(["show", "a.jsonl.gz", "--json"], in: folder.path).jsonLines()
    let ignored = lines.first { $0["type"] == "tool_result" }?["data"]?["data"]?.stringValue
    let bits = try #require(ignored.flatMap { UInt64($0.suffix(16), radix: 16) }, "\(lines)")
    #expect(bits & (1 << 12) == 0, "SIGPIPE is ignored: \(String(bits, radix: 16))")
    #expect(bits & (1 << 24) == 0, "SIGXFSZ is ignored: \(String(bits, radix: 16))")
  }
}
