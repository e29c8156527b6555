import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching

@Suite("run --files-from")
struct FilesFromTests {
  private static let rules = """
    cases:
      - caseId: ends-well
        expected: {stopReason: success}
      - caseId: deletes-nothing
        expected: {toolsNotCalled: ["delete_*"]}
    """

  @Test(
    "options that speak of results at the end do not go with it",
    arguments: [
      ["--live"], ["--runs", "x"], ["--shard", "1/2"], ["--json"], ["--report", "junit:x"],
      ["--out", "x"],
    ])
  func options(arguments: [String]) async throws {
    let outcome = try await Binary.run(
      ["run", "EvalCases", "--files-from", "-"] + arguments, status: 64)
    #expect(outcome.errors.contains("\(arguments[0]) does not go with it"))
    try await Binary.run(["run", "EvalCases", "--by-case-id"], status: 64)
    // Without a path it takes the cases that are there.
    let folder = try TemporaryFolder()
    try await Binary.run(["run"], in: folder.path, status: 64)
    try folder.write(
      "EvalCases/c.yaml",
      "{caseId: c, input: x, agent: a.yaml, skip: later, expected: {maxSteps: 1}}")
    let taken = try await Binary.run(["run"], in: folder.path, status: nil)
    #expect(taken.output.contains("1 skipped"), "\(taken)")
  }

  @Test("what stops it: cases with mistakes, a list that is not there, nobody who reads")
  func stops() async throws {
    let folder = try TemporaryFolder()
    try folder.write("bad.yaml", "caseId: a\nexpected: {stopReson: success}\n")
    try folder.write("good.yaml", Self.rules)
    let line = Array("\(Fixture.run("refund-drafted"))\n".utf8)
    for arguments in [
      ["bad.yaml", "--files-from", "-"], ["none.yaml", "--files-from", "-"],
      ["good.yaml", "--files-from", "nowhere"], ["good.yaml", "--files-from", "."],
    ] {
      let outcome = try await Binary.run(
        ["run"] + arguments, in: folder.path, input: line, status: 2)
      #expect(outcome.output == "" && !outcome.errors.isEmpty)
    }
    let unread = try await shell(
      "yes \"$1\" | head -n 20000 | { \"$0\" run good.yaml --files-from -; echo $? >status; } | head -n 1",
      [Fixture.run("refund-drafted")], in: folder.path)
    #expect(unread.lines.count == 1 && folder.text("status") == "2\n")
    #expect(unread.errors.contains("nobody reads the outcomes any more"))
  }

  /// What the exit code has to be by the lines that were printed.
  private static func exitCode(of told: [JSONValue]) -> Int32 {
    let outcomes = told.map { $0["outcome"] }
    if outcomes.contains("fail") { return 1 }
    if outcomes.contains("error") { return 2 }
    return outcomes.contains("inconclusive") ? 3 : 0
  }

  @Test("a list without a line is no failure, and is told")
  func noLine() async throws {
    let folder = try TemporaryFolder()
    try folder.write("good.yaml", Self.rules)
    let outcome = try await Binary.run(
      ["run", "good.yaml", "--files-from", "-"], in: folder.path, status: 0)
    #expect(outcome.output == "" && outcome.errors.contains("no log was judged"))
  }

  @Test("the exit code is that of the worst line, in whatever order they come")
  func exitCodes() async throws {
    let folder = try TemporaryFolder()
    let good = Fixture.run("refund-drafted")
    func line(_ expected: String) -> String {
      #"{"caseId": "own", "recording": "\#(good)", "expected": \#(expected)}"#
    }
    let kinds: [(String, Int32)] = [
      (line(#"{"stopReason": "success"}"#), 0), (line(#"{"stopReason": "blocked"}"#), 1),
      ("nowhere.jsonl.gz", 2),
    ]
    for (first, second) in [(0, 0), (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
      let codes = [kinds[first].1, kinds[second].1]
      let outcome = try await Binary.run(
        ["run", "--files-from", "-"], in: folder.path,
        input: Array("\(kinds[first].0)\n\(kinds[second].0)\n".utf8),
        status: codes.contains(1) ? 1 : codes.max())
      #expect(try outcome.jsonLines().count == 2)
    }
  }

  @Test("each line has one outcome, in order, whatever it holds, and the exit code follows them")
  func hostile() async throws {
    let folder = try TemporaryFolder()
    try folder.write("rules.yaml", Self.rules)
    let good = Fixture.run("refund-drafted")
    let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: good)))
    for name in ["two words", "new\nline", "{brace}", "é 🙂", "-dash", "$(touch evil)", "tab\t"] {
      try folder.write("logs/\(name).jsonl.gz", bytes)
    }
    try folder.write("-dash.jsonl.gz", bytes)
    try folder.write("plain.jsonl.gz", "not a log")
    try folder.write("empty.jsonl.gz", "")
    try await shell("mkfifo fifo.jsonl.gz", in: folder.path)
    let lines: [(line: [UInt8], outcome: String, error: String?)] = [
      (Array("logs/two words.jsonl.gz".utf8), "pass", nil),
      (Array("logs/é 🙂.jsonl.gz\r".utf8), "pass", nil),
      (Array("logs/$(touch evil).jsonl.gz".utf8), "pass", nil),
      (Array("logs/tab\t.jsonl.gz".utf8), "pass", nil),
      (Array("-dash.jsonl.gz".utf8), "pass", nil),
      ([], "error", "the line is empty"),
      ([0x0d], "error", "the line is empty"),
      (Array("logs/new".utf8), "error", nil),
      (Array(#"{"log": "logs/new\nline.jsonl.gz"}"#.utf8), "pass", nil),
      (Array(#"{"log": "logs/{brace}.jsonl.gz", "caseId": "ends-well"}"#.utf8), "pass", nil),
      (Array("{brace}.jsonl.gz".utf8), "error", "is not valid JSON"),
      (Array("{}".utf8), "error", "caseId"),
      (Array(#"{"log": 3}"#.utf8), "error", "not the path"),
      (Array(#"{"log": "a", "caseId": "nobody"}"#.utf8), "error", "none of the cases is “nobody”"),
      (Array(#"{"log": "a", "else": 1}"#.utf8), "error", "not “else”"),
      ([0x61, 0xff, 0xfe], "error", nil), ([0x61, 0x00, 0x62], "error", "zero byte"),
      (Array("nowhere.jsonl.gz".utf8), "error", nil), (Array("plain.jsonl.gz".utf8), "error", nil),
      (Array("empty.jsonl.gz".utf8), "error", nil),
      (Array("logs".utf8), "error", "no regular file"),
      (Array("fifo.jsonl.gz".utf8), "error", "no regular file"),
      (Array("/dev/zero".utf8), "error", "no regular file"),
      (Array(String(repeating: "x/", count: 5_000).utf8), "error", nil),
      (Array(repeating: 0x78, count: (16 << 20) + 1), "error", "too long"),
      (Array(String(repeating: "{\"a\":", count: 100_000).utf8), "error", "not valid JSON"),
      (Array(Fixture.run("hidden-deletion").utf8), "fail", nil),
      (Array(Project.path("Fixtures/torn/parallel-search.jsonl.gz").utf8), "inconclusive", nil),
      (Array(Project.path("Fixtures/damaged/error-recovered.jsonl.gz").utf8), "error", nil),
      (
        Array(
          #"{"caseId": "own", "recording": "\#(good)", "expected": {"stopReason": "blocked"}}"#.utf8
        ),
        "fail", nil
      ),
      (
        Array(
          #"{"caseId": "own", "recording": "\#(good)", "expected": {"stopReson": "blocked"}}"#.utf8),
        "error", "did you mean “stopReason”?"
      ),
      (
        Array(#"{"caseId": "own", "input": "x", "expected": {"stopReason": "blocked"}}"#.utf8),
        "error", "no case with a recording"
      ),
      (Array(good.utf8), "pass", nil),
    ]
    let input = lines.map(\.line).joined(separator: [0x0a])
    let schema = try JSONSchema(compiling: try await Binary.run(["schema", "outcome"]).json())
    var made: Set<[UInt8]> = []
    for jobs in ["1", "2", "8"] {
      let outcome = try await Binary.run(
        ["run", "rules.yaml", "--files-from", "-", "--no-summary", "--jobs", jobs],
        in: folder.path, input: input, status: nil)
      made.insert(outcome.outputBytes)
      let told = try outcome.jsonLines()
      #expect(outcome.status == Self.exitCode(of: told))
      #expect(told.count == lines.count)
      for (index, (line, told)) in zip(lines, told).enumerated() {
        #expect(schema.validate(told) == [])
        #expect(told["line"]?.intValue == index + 1)
        #expect(told["outcome"]?.stringValue == line.outcome, "\(told)")
        if let error = line.error {
          #expect(told["error"]?.stringValue?.contains(error) == true, "\(told)")
        }
      }
      #expect(told[0]["input"] == "logs/two words.jsonl.gz")
      #expect(
        told[0]["cases"]?.arrayValue?.map { $0["caseId"] } == ["ends-well", "deletes-nothing"])
      #expect(told[9]["cases"]?.arrayValue?.count == 1)
      #expect(told[1]["input"] == "logs/é 🙂.jsonl.gz")
      #expect((told[24]["input"]?.stringValue?.utf8.count ?? 0) == 4_096)
    }
    #expect(made.count == 1)
    #expect(!folder.listing.contains("evil"))
    // A file of lines is the same as standard input.
    try folder.write("list", input)
    let fromFile = try await Binary.run(
      ["run", "rules.yaml", "--files-from", "list", "--no-summary"], in: folder.path, status: nil)
    // But for the name in the places of a case that is a line.
    let named = fromFile.output.replacing("list:3", with: "-:3").replacing("list:12", with: "-:12")
    #expect((named == String(decoding: made.first ?? [], as: UTF8.self)) as Bool)
  }

  @Test("without cases only a line that is a case can be judged; nothing in is nothing out")
  func noCases() async throws {
    let good = Fixture.run("refund-drafted")
    let outcome = try await Binary.run(
      ["run", "--files-from", "-"],
      input: Array(
        (good + "\n"
          + #"{"caseId": "own", "recording": "\#(good)", "expected": {"stopReason": "success"}}"#)
          .utf8), status: 2)
    let told = try outcome.jsonLines()
    #expect(told.map { $0["outcome"] } == ["error", "pass"])
    #expect(told[0]["error"]?.stringValue?.contains("name files of cases") == true)
    #expect(try await Binary.run(["run", "--files-from", "-"]).output == "")
  }

  @Test("--by-case-id judges a log by the case that it was made for, or is named after")
  func byCaseId() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    try folder.write(
      "cases.yaml",
      """
      cases:
        - {caseId: letters/and more, input: x, agent: agent.yaml, expected: {answer: Done.}}
        - {caseId: by-file, input: x, expected: {stopReason: blocked}}
        - {caseId: by folder, input: x, expected: {stopReason: success}}
        - {caseId: left, input: x, skip: later, expected: {stopReason: success}}
      """)
    try await Binary.run(
      ["run", "cases.yaml", "--filter", "letters*", "--out", "made"], in: folder.path)
    let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("refund-drafted"))))
    let made = try #require(folder.listing.first { $0.hasPrefix("made/") })
    let paths = [
      made, "logs/by-file.jsonl.gz", "by folder/1.jsonl.gz", "left.jsonl.gz", "x.jsonl.gz",
    ]
    for path in paths.dropFirst() { try folder.write(path, bytes) }
    let told = try await Binary.run(
      ["run", "cases.yaml", "--files-from", "-", "--by-case-id"], in: folder.path,
      input: Array(paths.joined(separator: "\n").utf8), status: 1
    ).jsonLines()
    #expect(
      told.map { $0["cases"]?[0]?["caseId"] ?? .null }
        == ["letters/and more", "by-file", "by folder", .null, .null])
    #expect(told.map { $0["outcome"] } == ["pass", "fail", "pass", "error", "error"])
    #expect(told[3]["error"] == "every case for this log is skipped")
    #expect(told[4]["error"]?.stringValue?.contains("names none of the cases") == true)
  }

  @Test("each outcome is there before the next line is sent")
  func atOnce() async throws {
    let folder = try TemporaryFolder()
    try folder.write("rules.yaml", Self.rules)
    let outcome = try await shell(
      """
      coproc E { "$0" run rules.yaml --files-from - --jobs 4; }
      for log in "$@"; do
        printf '%s\\n' "$log" >&${E[1]}
        read -t 30 -r line <&${E[0]} || exit 9
        printf '%s\\n' "$line"
        [ "$(printf %s "$line" | grep -c '"outcome"')" = 1 ] || exit 8
        # And not one more.
        read -t 0.05 -r more <&${E[0]} && exit 7
      done
      pid=$E_PID; eval "exec ${E[1]}>&-"; wait $pid
      """, Array(Fixture.runs.prefix(12)).map(Project.path), in: folder.path, status: nil)
    let told = try outcome.jsonLines()
    #expect(told.map { $0["line"]?.intValue } == Array(1...12))
    #expect(outcome.status == Self.exitCode(of: told))
  }

  @Test("a signal ends it between two lines, with 2")
  func calledOff() async throws {
    let folder = try TemporaryFolder()
    try folder.write("rules.yaml", Self.rules)
    let outcome = try await shell(
      """
      mkfifo in
      "$0" run rules.yaml --files-from - <in >out & pid=$!
      exec 3>in
      echo "$1" >&3
      until [ -s out ]; do sleep 0.02; done
      kill -TERM $pid; wait $pid; echo $?
      """, [Fixture.run("refund-drafted")], in: folder.path)
    #expect(outcome.output == "2\n" && outcome.errors.contains("called off by SIGTERM"))
  }

  @Test(
    "2,000 logs piped through PySpark have the outcomes that they have here",
    .enabled("there is no Python with pyspark (AGENT_EVAL_PYTHON), or no Java") {
      guard await OtherPython.has(["pyspark"]) else { return false }
      return (try? await shell("java -version")) != nil
    })
  func spark() async throws {
    // `.ci/clients` looks for this.
    print("ran pyspark")
    let python = OtherPython.path
    let folder = try TemporaryFolder()
    try folder.write("rules.yaml", Self.rules)
    let sources = Fixture.runs.map { try? Data(contentsOf: URL(fileURLWithPath: Project.path($0))) }
    var paths: [String] = []
    for number in 0..<2_000 {
      let path = "logs/run \(number).jsonl.gz"
      paths.append(path)
      switch number % 50 {
      case 7: continue  // Not there.
      case 13: try folder.write(path, "")
      default: try folder.write(path, Array(sources[number % sources.count] ?? Data()))
      }
    }
    try folder.write("paths", paths.joined(separator: "\n") + "\n")
    try folder.write(
      "pipe.py",
      """
      import sys, time
      from pyspark import SparkConf, SparkContext
      began = time.time()
      conf = (SparkConf().setMaster("local[2]").setAppName("agent-eval")
              .set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
              .set("spark.driver.bindAddress", "127.0.0.1"))
      context = SparkContext(conf=conf)
      context.setLogLevel("ERROR")
      started = time.time()
      paths = open("paths").read().splitlines()
      judge = '"%s" run "%s/rules.yaml" --files-from - --jobs 1' % (sys.argv[1], sys.argv[2])
      command = "sh -c '%s || test $? -le 3'"
      lines = context.parallelize(paths, 4).pipe(command % judge, checkCode=True).collect()
      ended = time.time()
      open("outcomes", "w").write("".join(line + "\\n" for line in lines))
      failed = 0
      try:
          context.parallelize(paths[:4], 2).pipe(command % (judge + " --no-such-option"), checkCode=True).collect()
      except Exception:
          failed = 1
      context.stop()
      print(len(lines), failed)
      print("start %.1f s, %d logs %.1f s" % (started - began, len(lines), ended - started), file=sys.stderr)
      """)
    let piped = try await Command(
      program: "/usr/bin/env", arguments: [python, "pipe.py", Binary.path, folder.path],
      folder: folder.path,
      environment: ["PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python], timeoutSeconds: 300
    ).run()
    print("PySpark: \(piped.errors.split(separator: "\n").last ?? "")")
    // A wrong command fails the job instead of losing its lines.
    #expect(piped.output == "2000 1\n")
    /// Outcomes without the number of the line, which counts anew in each partition.
    func outcomes(_ text: String) throws -> [JSONValue] {
      try text.split(separator: "\n").map {
        guard case .object(var object) = try JSONValue(parsing: String($0)) else { return .null }
        object["line"] = nil
        return .object(object)
      }
    }
    let here = try await Binary.run(
      ["run", folder.path("rules.yaml"), "--files-from", "paths"], in: folder.path, status: 1)
    let expected = try outcomes(here.output)
    let told = try outcomes(try #require(folder.text("outcomes")))
    #expect(told.count == 2_000)
    for (told, expected) in zip(told, expected) where told != expected {
      Issue.record("\(told)\nis not\n\(expected)")
      break
    }
    #expect((told.map { $0["input"]?.stringValue } == paths) as Bool)
    let counts = Dictionary(grouping: told) { $0["outcome"]?.stringValue ?? "" }.mapValues(\.count)
    #expect(counts["error"] == 80 && counts["pass"] ?? 0 > 300 && counts["fail"] ?? 0 > 300)
  }
}
