import AgentTrace
import TestSupport
import Testing

/// Whether there is a Python for its pseudo-terminal.
private func hasPython() async -> Bool { (try? await shell("command -v python3")) != nil }

/// Output on a terminal, by way of a pseudo-terminal; skipped where there is no Python.
@Suite("On a terminal", .enabled("python3 is not there") { await hasPython() })
struct TerminalTests {
  private static let spawn = """
    import os, pty, sys
    sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
    """

  private static func run(
    _ arguments: [String], in folder: String = Project.root, noColor: String = "",
    status: Int32? = 0
  ) async throws -> Command.Outcome {
    try await Command(
      program: "/usr/bin/env", arguments: ["python3", "-c", spawn, Binary.path] + arguments,
      folder: folder, environment: ["NO_COLOR": noColor]
    ).run(status: status)
  }

  /// The output without line ends of a terminal, colours and the line of progress.
  private static func plain(_ outcome: Command.Outcome) -> String {
    outcome.output.replacing("\r\n", with: "\n")
      .replacing(/\u{1b}\[[0-9;]*m/, with: "").replacing(
        /\r\u{1b}\[K([0-9]+ of [0-9]+[^\n\r]*)?/, with: "")
  }

  @Test(
    "colours are there on a terminal alone, and never with NO_COLOR",
    arguments: [
      ["show", "Fixtures/runs/tool-failure.jsonl.gz"], ["run", "EvalCases/stops.yaml"],
      ["replay", "Fixtures/runs/tool-failure.jsonl.gz", "--step", "1"],
    ])
  func colours(_ arguments: [String]) async throws {
    let piped = try await Binary.run(arguments, environment: ["NO_COLOR": ""]).output
    let coloured = try await Self.run(arguments)
    let without = try await Self.run(arguments, noColor: "1")
    #expect(!piped.contains("\u{1b}"))
    #expect(coloured.output.contains("\u{1b}[1m") || coloured.output.contains("\u{1b}[32m"))
    #expect(!without.output.contains(/\u{1b}\[[0-9;]*m/))
    #expect(Self.plain(coloured) == piped)
    #expect(Self.plain(without) == piped)
  }

  @Test("what a trace says does nothing to a terminal, as JSON neither, and stays the same JSON")
  func hostile() async throws {
    let folder = try TemporaryFolder()
    let text = "\u{1b}[2J\u{7f}\u{9b}31m\u{202e}\u{200b}\u{e0041}é日👍"
    let value = JSONValue.string(text)
    try writeLog(
      [
        Event(
          seq: 0, step: 0, type: .runStarted, runId: text,
          data: [
            "formatVersion": 1, "agent": ["name": value], "goal": value, "limits": [:],
            "policyContext": [:], "tools": [],
          ]),
        Event(
          seq: 1, step: 1, type: .toolResult, runId: text,
          data: [
            "callId": value, "tool": value, "status": "ok",
            "data": .object(JSONObject([(text, value)])),
          ]),
      ], to: folder.path("a.jsonl.gz"))
    for arguments in [
      ["show", "a.jsonl.gz"], ["show", "a.jsonl.gz", "--json"],
      ["replay", "a.jsonl.gz", "--step", "1", "--json"], ["replay", "a.jsonl.gz", "--step", "1"],
    ] {
      let outcome = try await Self.run(arguments, in: folder.path)
      let plain = Self.plain(outcome)
      #expect(controlBytes(in: Array(plain.utf8)).isEmpty, "\(arguments)")
      #expect(
        !plain.unicodeScalars.contains("\u{202e}") && !plain.unicodeScalars.contains("\u{e0041}"))
      #expect(plain.contains("é日👍"))
      guard arguments.contains("--json") else { continue }
      let piped = try await Binary.run(arguments, in: folder.path).jsonLines()
      #expect(try plain.split(separator: "\n").map { try JSONValue(parsing: String($0)) } == piped)
    }
  }
}
