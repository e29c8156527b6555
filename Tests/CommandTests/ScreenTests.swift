import AgentTrace
import Foundation
import TestSupport
import Testing

/// Colours, the width of lines, texts with line breaks, and the pager.
@Suite("The screen", .enabled("python3 is not there") { await hasPython() })
struct ScreenTests {
  private static let spawn = """
    import os, pty, sys
    sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
    """

  /// What stands on a terminal.
  private static func onTerminal(
    _ arguments: [String], _ variables: [String: String] = [:], in folder: String = Project.root,
    columns: Int = 80, status: Int32? = 0
  ) async throws -> Command.Outcome {
    try await Command(
      program: "/usr/bin/env",
      arguments: [
        "python3", "-c", spawn, "/bin/sh", "-c", "stty rows 24 cols \(columns); exec \"$@\"", "sh",
        Binary.path,
      ] + arguments,
      folder: folder,
      environment: ["NO_COLOR": "", "TERM": "xterm", "PAGER": ""].merging(variables) { $1 }
    ).run(status: status)
  }

  private static let show = ["show", "Fixtures/runs/tool-failure.jsonl.gz"]

  @Test(
    "colours follow the option, then variables, then the terminal",
    arguments: [
      ([], [:], true, false), (["--color", "never"], [:], false, false),
      (["--color", "always"], [:], true, true),
      (["--color", "always"], ["NO_COLOR": "1"], true, true),
      (["--color", "auto"], ["NO_COLOR": "1"], true, false),
      ([], ["NO_COLOR": "1"], false, false),
      ([], ["NO_COLOR": "1", "FORCE_COLOR": "1"], false, false),
      ([], ["FORCE_COLOR": "1"], true, true), ([], ["FORCE_COLOR": "0"], false, false),
      ([], ["CLICOLOR_FORCE": "1"], true, true), ([], ["CLICOLOR": "0"], false, false),
      ([], ["TERM": "dumb"], false, false), ([], ["TERM": "dumb", "FORCE_COLOR": "3"], true, true),
      ([], ["AGENT_EVAL_COLOR": "always"], true, true),
      ([], ["AGENT_EVAL_COLOR": "never", "FORCE_COLOR": "1"], false, false),
    ] as [([String], [String: String], Bool, Bool)])
  func colours(
    _ row: (options: [String], variables: [String: String], terminal: Bool, pipe: Bool)
  ) async throws {
    let shown = try await Self.onTerminal(Self.show + row.options, row.variables)
    #expect(shown.output.contains(/\u{1b}\[[0-9;]*m/) == row.terminal, "\(shown)")
    let piped = try await Binary.run(
      Self.show + row.options, environment: ["NO_COLOR": ""].merging(row.variables) { $1 })
    #expect(piped.output.contains(/\u{1b}\[[0-9;]*m/) == row.pipe, "\(piped)")
  }

  /// A folder with a run that says much, also with line breaks.
  private static func longRun() async throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let long = String(repeating: "word ", count: 200)
    try folder.write(
      "agent.yaml",
      agentFile(
        result: #"{text: "first\nsecond \#(long)", n: 1}"#, answer: #""one\ntwo \#(long)end""#))
    try await Binary.run(
      ["record", "agent.yaml", "x", "--seed", "1", "--out", "one.jsonl.gz"], in: folder.path)
    return folder
  }

  @Test(
    "in a pipe a line is whole and one; with --full it breaks where its text does; on a terminal it is cut"
  )
  func width() async throws {
    let folder = try await Self.longRun()
    let piped = try await Binary.run(["show", "one.jsonl.gz"], in: folder.path)
    let answer = try #require(piped.lines.first { $0.contains("answer") })
    #expect(answer.contains(#"one\ntwo word"#) && answer.hasSuffix("end"))
    let result = try #require(piped.lines.first { $0.contains("draft → ") })
    #expect(result.count > 1_000 && !piped.output.contains("…"))
    let full = try await Binary.run(["show", "one.jsonl.gz", "--full"], in: folder.path)
    #expect(full.lines.contains { $0.hasSuffix("  one") })
    #expect(full.lines.contains { $0.hasSuffix("word end") && $0.contains("  two ") })
    #expect(full.lines.contains { $0.hasSuffix("  first") })
    #expect(full.lines.contains { $0.contains("n: 1") })
    let cut = try await Self.onTerminal(["show", "one.jsonl.gz"], in: folder.path)
    #expect(cut.output.contains("…") && !cut.output.contains("word end"))
    let wide = try await Self.onTerminal(["show", "one.jsonl.gz", "--full"], in: folder.path)
    #expect(wide.output.contains("word end"))
    #expect(controlBytes(in: full.errorBytes).isEmpty && controlBytes(in: full.outputBytes).isEmpty)
  }

  @Test(
    "a suite of runs that are made says on the terminal how far it is, and each case as it ends")
  func progress() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    let cases = (0..<3).map {
      "  - {caseId: c\($0), input: x, agent: agent.yaml, expected: {answer: \($0 == 1 ? "Other." : "Done.")}}"
    }
    try folder.write("cases.yaml", "cases:\n" + cases.joined(separator: "\n"))
    let shown = try await Command(
      program: "/usr/bin/env",
      arguments: [
        "python3", "-c", Self.spawn, Binary.path, "run", "cases.yaml", "--live", "--jobs", "1",
      ], folder: folder.path, environment: ["TERM": "xterm"]
    ).run(status: 1)
    #expect(shown.output.contains(#/\r\u{1b}\[K1 of 3, .* left/#), "\(shown)")
    #expect(shown.output.contains(#/\r\u{1b}\[K3 of 3, 1 failed/#))
    let told = shown.output.replacing("\r\n", with: "\n")
    let places = ["pass   c0\n", "FAIL   c1\n", "pass   c2\n"].compactMap {
      told.firstRange(of: $0)?.lowerBound
    }
    #expect(places.count == 3 && places == places.sorted())
    // A terminal that knows no more than lines is told as a pipe is.
    let dumb = try await Self.onTerminal(
      ["run", "cases.yaml", "--live", "--json"], ["TERM": "dumb", "NO_COLOR": "1"],
      in: folder.path, status: 1)
    #expect(!dumb.output.contains("\u{1b}"))
  }

  @Test("print -r prints a text as it is, print as JSON")
  func raw() async throws {
    let folder = try await Self.longRun()
    let event = try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path)
      .jsonLines()
      .first { $0["type"] == "decision" && $0["data"]?["text"] != nil }
    let seq = try #require(event?["seq"]?.intValue)
    let pointer = "/data/text"
    let raw = try await Binary.run(
      ["replay", "one.jsonl.gz", "-c", "goto \(seq); print -r \(pointer)"], in: folder.path)
    #expect(raw.output.hasPrefix("one\ntwo word") && raw.output.hasSuffix("end\n"), "\(raw)")
    let json = try await Binary.run(
      ["replay", "one.jsonl.gz", "-c", "goto \(seq); print \(pointer)"], in: folder.path)
    #expect(json.output.hasPrefix(#""one\ntwo word"#) && json.lines.count == 1)
    let number = try await Binary.run(
      ["replay", "one.jsonl.gz", "-c", "print -r /state/totals/steps"], in: folder.path)
    #expect(Int(number.lines[0]) != nil)
    let wrong = try await Binary.run(
      ["replay", "one.jsonl.gz", "-c", "print -r /nowhere"], in: folder.path, status: 2)
    #expect(wrong.errors.contains("print knows"))
  }

  @Test("what is longer than the screen goes through PAGER, on a terminal alone")
  func pager() async throws {
    let folder = try TemporaryFolder()
    let pager = ["PAGER": "sed s/^/paged:/"]
    let long = ["show", Fixture.run("hundred-steps")]
    let paged = try await Self.onTerminal(long, pager, in: folder.path)
    let plain = try await Binary.run(long)
    #expect(paged.output.contains("paged:") && !paged.output.contains("\npaged:paged:"))
    #expect(
      paged.output.replacing("\r\n", with: "\n").split(separator: "\n").count {
        $0.hasPrefix("paged:")
      } == plain.lines.count)
    for (arguments, variables) in [
      (long + ["--no-pager"], pager), (long, ["PAGER": "cat"]), (long, ["PAGER": ""]),
      (long, pager.merging(["AGENT_EVAL_PAGER": "none"]) { $1 }),
      (long, pager.merging(["TERM": "dumb"]) { $1 }),
      // Shorter than the screen.
      (["show", Fixture.run("tool-failure")], pager),
    ] {
      let shown = try await Self.onTerminal(arguments, variables, in: folder.path)
      #expect(!shown.output.contains("paged:"), "\(arguments) \(variables)")
      #expect(shown.output.contains("run "))
    }
    #expect(!(try await Binary.run(long, environment: pager).output.contains("paged:")))
    // A pager that ends early has shown what it would; where there is none, all is shown without it.
    let early = try await Self.onTerminal(long, ["PAGER": "head -n 1"], in: folder.path)
    #expect(early.output.replacing("\r\n", with: "\n").split(separator: "\n").count == 1)
    for missing in ["/no/such/pager", "/etc/passwd", "nosuchpager -x"] {
      let all = try await Self.onTerminal(
        long + ["--color", "never"], ["PAGER": missing], in: folder.path
      ).output.replacing("\r\n", with: "\n").split(separator: "\n")
      // One line more is the shell's, which says what is missing.
      #expect(all.count == plain.lines.count + 1, "\(missing)")
      #expect(all.last?.prefix(30) == plain.lines.last?.prefix(30), "\(missing)")
    }
    try folder.write(".agent-eval.yaml", "pager: sed s/^/ours:/\n")
    let ours = try await Self.onTerminal(long, pager, in: folder.path)
    #expect(ours.output.contains("ours:") && !ours.output.contains("paged:"))
  }

  @Test(
    "help and what is said of mistakes are whole on the narrowest terminal",
    arguments: [
      (["--help"], 0), (["run", "--help"], 0), (["policy"], 0), (["run", "--fliter"], 64),
    ]
      as [([String], Int32)])
  func narrowHelp(_ row: (arguments: [String], status: Int32)) async throws {
    let room = try await Self.onTerminal(row.arguments, columns: 40, status: row.status).output
    #expect(room.contains("agent-eval"))
    for columns in [1, 20, 26, 39] {
      let narrow = try await Self.onTerminal(row.arguments, columns: columns, status: row.status)
      #expect(narrow.output == room, "\(columns): \(narrow)")
    }
    for columns in ["-1", "0", "7"] {
      let piped = try await Binary.run(
        row.arguments, environment: ["COLUMNS": columns], status: row.status)
      let words = { (text: String) in text.split(whereSeparator: \.isWhitespace) }
      #expect(words(piped.output + piped.errors) == words(room), "\(columns): \(piped)")
    }
  }

  @Test("on a terminal a topic of help is broken at blanks, and what is there to be copied is not")
  func narrowTopics() async throws {
    for topic in ["cases", "exit-codes", "configuration"] {
      let whole = try await Binary.run(["help", topic])
      let narrow = try await Self.onTerminal(
        ["help", topic], ["NO_COLOR": "1"], columns: 40)
      let lines = narrow.output.replacing("\r\n", with: "\n").split(separator: "\n")
      let tooLong = lines.filter { $0.count > 40 && !$0.hasPrefix("    ") }
      #expect(tooLong.isEmpty, "\(topic): \(tooLong)")
      #expect(
        narrow.output.split(whereSeparator: \.isWhitespace)
          == whole.output.split(whereSeparator: \.isWhitespace))
      for line in whole.lines where line.hasPrefix("    ") {
        #expect(lines.contains { $0 == line }, "\(line)")
      }
    }
  }
}
