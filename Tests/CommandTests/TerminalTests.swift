import AgentTrace
import TestSupport
import Testing

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
      ["show", "Fixtures/runs/tool-failure.jsonl.gz"],
      ["run", "EvalCases/stops.yaml", "--no-summary"],
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

  @Test(
    "a terminal whose locale is not UTF-8 sees ASCII, and every other one blocks",
    arguments: [
      ("C", "", ".F"), ("", "de_DE.ISO-8859-1", ".F"), ("", "", "✓✗"), ("", "C.UTF-8", "✓✗"),
      ("en_US.utf8", "C", "✓✗"),
    ])
  func locales(all: String, language: String, marks: String) async throws {
    let folder = try TemporaryFolder()
    for (day, outcome) in [("01", "pass"), ("02", "fail")] {
      try folder.write(
        "\(day).history.json",
        """
        {"schema":"agent-eval/history/1","startedAt":"2026-01-\(day)T00:00:00Z","cases":[
        {"caseId":"c","outcome":"\(outcome)","trials":["\(outcome)"]}]}
        """)
    }
    let outcome = try await Command(
      program: "/usr/bin/env",
      arguments: ["python3", "-c", Self.spawn, Binary.path, "history", "c", "--dir", folder.path],
      // Python would set a locale of its own (PEP 538).
      environment: [
        "LC_ALL": all, "LC_CTYPE": "", "LANG": language, "PYTHONCOERCECLOCALE": "0",
      ]
    ).run()
    #expect(outcome.output.contains("outcome  \(marks)\r\n"), "\(outcome)")
    let piped = try await Binary.run(
      ["history", "c", "--dir", folder.path], environment: ["LC_ALL": "C"])
    #expect(piped.output.contains("outcome  ✓✗\n"))
  }

  /// Types an answer each time that it is asked, and returns what was shown in all.
  private static let type = """
    import os, pty, sys
    answers = [answer + "\\n" for answer in sys.argv[1].split(",")]
    seen = [b""]
    def read(fd):
        data = os.read(fd, 65536)
        seen[0] += data
        while answers and seen[0].count(b"[q]uit") > typed[0]:
            typed[0] += 1
            os.write(fd, answers.pop(0).encode())
        return data
    typed = [0]
    sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:], read, lambda fd: b"")))
    """

  private static func review(_ answers: String, in folder: TemporaryFolder) async throws -> String {
    plain(
      try await Command(
        program: "/usr/bin/env",
        arguments: ["python3", "-c", type, answers, Binary.path, "accept", "cases.yaml"],
        folder: folder.path, environment: ["NO_COLOR": ""]
      ).run(status: 0))
  }

  private static func reviewed(_ names: [String]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile(result: #""\u001b[2J""#))
    try folder.write(
      "cases.yaml",
      names.map {
        "- {caseId: \"\($0)\", input: go, agent: agent.yaml, expected: {toolsCalled: [draft]}}\n"
      }.joined())
    return folder
  }

  @Test("a review asks change by change: accept, reject, skip, quit, and all that follow")
  func review() async throws {
    let folder = try Self.reviewed(["a", "b", "c", "d"])
    func files() -> [String] {
      folder.listing.filter { $0.hasPrefix("accepted/") }.map { String($0.dropFirst(9)) }
    }
    let first = try await Self.review("a,r,huh,s,q", in: folder)
    #expect(files() == ["a.txt"], "\(first)")
    #expect(first.contains("1 of 4  new  a  passed\n  + agent-eval/accepted/2\n"), "\(first)")
    #expect(first.contains("rejected; its baseline stays as it is"))
    #expect(first.hasSuffix("\n1 accepted, 1 rejected, 2 skipped\n"), "\(first)")
    let second = try await Self.review("l", in: folder)
    #expect(files() == ["a.txt", "b.txt", "c.txt", "d.txt"], "\(second)")
    #expect(second.hasSuffix("\n3 accepted, 1 unchanged\n"), "\(second)")
    try folder.write(
      "agent.yaml",
      agentFile(result: "{done: 2}", answer: "Done.").replacing("letter", with: "note"))
    let third = try await Self.review("a,q", in: folder)
    #expect(
      third.contains("  -     input /what \"letter\"\n  +     input /what \"note\"\n"), "\(third)")
    #expect(third.contains("· call 1 (draft) /what: \"letter\" → \"note\""), "\(third)")
    #expect(third.hasSuffix("\n1 accepted, 3 skipped\n"), "\(third)")
  }

  @Test("what stands in a case or a damaged baseline does nothing to the terminal of a review")
  func hostileReview() async throws {
    let folder = try Self.reviewed(["a\u{202e}b"])
    _ = try await Self.review("a", in: folder)
    let file = try #require(folder.listing.first { $0.hasSuffix(".txt") })
    try folder.write(file, "\u{1b}[2J\u{9b}31m\u{7}\n\u{202e}x\n")
    let shown = try await Self.review("a", in: folder)
    #expect(controlBytes(in: Array(shown.utf8)).isEmpty, "\(shown.debugDescription)")
    #expect(!shown.unicodeScalars.contains("\u{202e}") && !shown.unicodeScalars.contains("\u{9b}"))
    #expect(shown.contains("  - \\u{1b}[2J\\u{9b}31m\\u{7}\n  - \\u{202e}x\n"), "\(shown)")
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
            "formatVersion": 2, "agent": ["name": value], "goal": value, "limits": [:],
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
