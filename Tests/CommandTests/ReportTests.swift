import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching

@Suite("run --report")
struct ReportTests {
  private static let cases = ["Fixtures/failing-cases", "EvalCases/stops.yaml"]
  private static let formats = ["json", "junit", "markdown", "github", "gitlab", "sarif", "html"]

  @Test(
    "a report that cannot be made is refused before anything runs",
    arguments: [
      ["--report", "junitt"], ["--report", "junit:"], ["--report", ""],
      ["--report", "junit", "--report", "markdown"], ["--json", "--report", "sarif"],
      ["--report", "junit:a", "--report", "gitlab:a"],
    ])
  func mistakes(arguments: [String]) async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Binary.run(
      ["run", Project.path("EvalCases")] + arguments, in: folder.path, status: 64)
    #expect(outcome.output == "" && outcome.errors.contains("--report"))
    #expect(folder.listing == [])
  }

  @Test(
    "no report takes the place of what people wrote or runs left behind; an earlier report is replaced"
  )
  func kept() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    try folder.write("policy.yaml", "rules: [{tool: x, verdict: deny, reason: never}]\n")
    let log = try Data(contentsOf: URL(fileURLWithPath: Fixture.run("refund-drafted")))
    try folder.write("log", Array(log))
    try folder.write(
      "case.yaml",
      """
      cases: [{caseId: one, recording: log, expected: {stopReason: success}}]

      """)
    for name in ["case.yaml", "agent.yaml", "policy.yaml", "log"] {
      let before = try folder.read(name)
      for arguments in [
        ["run", "case.yaml", "--report", "html:./\(name)"], ["show", "log", "--html", name],
      ] {
        let outcome = try await Binary.run(arguments, in: folder.path, status: 64)
        #expect(outcome.output == "" && outcome.errors.contains("name another file"), "\(outcome)")
      }
      #expect(try folder.read(name) == before, "\(name)")
    }
    for format in Self.formats {
      for _ in 1...2 {
        try await Binary.run(
          ["run", "case.yaml", "--report", "\(format):report"], in: folder.path)
      }
    }
    try await Binary.run(
      ["run", "case.yaml", "--shard", "1/1", "--report", "json:one.json"], in: folder.path)
    let against = try await Binary.run(
      ["run", "case.yaml", "--against", "one.json", "--report", "json:./one.json"],
      in: folder.path, status: 64)
    #expect(against.errors.contains("--against compares with"), "\(against)")
    let merged = try await Binary.run(
      ["merge", "one.json", "--report", "json:./one.json"], in: folder.path, status: 64)
    #expect(merged.errors.contains("one of the shards"), "\(merged)")
  }

  @Test("a report that cannot be written is told; a case that failed outranks it")
  func unwritable() async throws {
    let folder = try TemporaryFolder()
    try folder.write("file", "x")
    for (cases, status) in [("Fixtures/failing-cases", Int32(1)), ("EvalCases/stops.yaml", 2)] {
      let outcome = try await Binary.run(
        ["run", Project.path(cases), "--report", "junit:file/in.xml", "--report", "markdown:m.md"],
        in: folder.path, status: status)
      #expect(outcome.errors.contains("file/in.xml cannot be written"))
      // The others are written, and the results are told all the same.
      #expect(folder.listing.filter { !$0.hasPrefix(".agent-eval") } == ["file", "m.md"])
      #expect(outcome.output.contains(" passed"))
    }
  }

  @Test(
    "all formats at once, each in its file, with the same bytes each time; the terminal is told")
  func all() async throws {
    let folder = try TemporaryFolder()
    var made: [String: [UInt8]] = [:]
    for jobs in ["1", "4"] {
      let outcome = try await Binary.run(
        ["run"] + Self.cases + ["--jobs", jobs]
          + Self.formats.flatMap { ["--report", "\($0):\(folder.path)/new/\($0)"] }, status: 1)
      #expect(outcome.output.hasPrefix("FAIL   newsletters-without-deletions"))
      #expect(outcome.output.hasSuffix("\n18 cases: 12 passed, 6 failed\n"))
      for format in Self.formats {
        let bytes = try folder.read("new/\(format)")
        #expect(!bytes.isEmpty && made[format] ?? bytes == bytes, "\(format)")
        made[format] = bytes
      }
    }
    #expect(folder.listing.count == Self.formats.count + 1, "\(folder.listing)")
    let printed = try await Binary.run(["run", "--json"] + Self.cases, status: 1)
    #expect(printed.outputBytes == made["json"])
    let schema = try JSONSchema(compiling: try await Binary.run(["schema", "results"]).json())
    #expect(schema.validate(try printed.json()) == [])
    #expect(schema.validate(["schema": "agent-eval/results/1"]) != [])
  }

  @Test("a format without a file is all of standard output", arguments: formats)
  func output(format: String) async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Binary.run(
      ["run"] + Self.cases + ["--report", format, "--report", "\(format):\(folder.path)/f"],
      status: 1)
    let file = String(decoding: try folder.read("f"), as: UTF8.self)
    // Annotations stand beside what people read.
    #expect(format == "github" ? outcome.output.hasSuffix(file) : outcome.output == file)
  }

  @Test("on GitHub a step gets annotations and a summary, and no text of a trace is a command")
  func github() async throws {
    let folder = try TemporaryFolder()
    try folder.write("summary.md", "before\n")
    let environment = [
      "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": folder.path("summary.md"),
      "GITHUB_WORKSPACE": Project.root,
    ]
    let outcome = try await Binary.run(
      ["run", "failing-cases", "--report", "github"], in: Project.path("Fixtures"),
      environment: environment, status: 1)
    let commands = outcome.lines.filter { $0.hasPrefix("::") }
    #expect(commands.count == 6)
    #expect(
      commands[0].hasPrefix(
        "::error file=Fixtures/failing-cases/failing.yaml,line=4,"
          + "title=newsletters-without-deletions failed::toolsNotCalled[0] failed"))
    let summary = String(decoding: try folder.read("summary.md"), as: UTF8.self)
    #expect(summary.hasPrefix("before\n# agent-eval\n"))
    #expect(summary.contains("**6 cases: 0 passed, 6 failed**"))
    // What reads the results gets nothing else.
    let json = try await Binary.run(
      ["run", "failing-cases", "--report", "github", "--json"], in: Project.path("Fixtures"),
      environment: environment, status: 1)
    #expect(try json.json()["summary"]?["fail"] == 6)
    #expect(json.errors.contains("::error file="))
  }

  @Test(
    "JUnit XML is read by two parsers of other people, who find the same in it",
    .enabled("there is no Python with junitparser and xmltodict (AGENT_EVAL_PYTHON)") {
      await OtherPython.has(["junitparser", "xmltodict"])
    })
  func junitParsers() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      """
      cases:
        - {caseId: "a]]>&<\\"é", recording: none.jsonl.gz, expected: {stopReason: success}}
        - {caseId: left, skip: "later <b>", recording: x.jsonl.gz, expected: {stopReason: success}}
      """)
    try await Binary.run(
      ["run", "case.yaml", Project.path("Fixtures/failing-cases"), "--report", "junit:j.xml"],
      in: folder.path, status: 1)
    let script = """
      import junitparser, xmltodict
      xml = junitparser.JUnitXml.fromfile('j.xml')
      cases = [case for suite in xml for case in suite]
      print(xml.tests, xml.failures, xml.errors, xml.skipped)
      print(len(cases), sum(type(r).__name__ == 'Failure' for c in cases for r in c.result))
      tree = xmltodict.parse(open('j.xml', 'rb').read(), force_list=('testsuite', 'testcase'))
      suites = tree['testsuites']['testsuite']
      cases = [case for suite in suites for case in suite['testcase']]
      print(len(cases), sum('failure' in case for case in cases))
      print(ascii(cases[0]['@name']))
      """
    try folder.write("read.py", script)
    let read = try await shell("\"$1\" read.py", [OtherPython.path], in: folder.path)
    #expect(
      read.lines == ["8 6 1 1", "8 6", "8 6", #"'a]]>&<"\xe9'"#], "\(read)")
  }

  private static let sarifSchema = ProcessInfo.processInfo.environment["AGENT_EVAL_SARIF_SCHEMA"]

  @Test(
    "SARIF is valid by the schema that AGENT_EVAL_SARIF_SCHEMA names",
    .enabled(if: sarifSchema != nil, "AGENT_EVAL_SARIF_SCHEMA is not set"))
  func sarif() async throws {
    let path = try #require(Self.sarifSchema)
    let text = try await shell("cat \"$1\"", [path]).outputBytes
    let schema = try JSONSchema(compiling: try JSONValue(parsing: text))
    let log = try await Binary.run(["run"] + Self.cases + ["--report", "sarif"], status: 1).json()
    #expect(schema.validate(log) == [])
    #expect(log["runs"]?[0]?["results"]?.arrayValue?.count ?? 0 > 10)
    #expect(schema.validate(["version": "2.1.0", "runs": [["results": [[:]]]]]) != [])
  }

  @Test("an HTML page shows the timeline of what failed, and refers to nothing outside of itself")
  func html() async throws {
    let page = try await Binary.run(["run"] + Self.cases + ["--report", "html"], status: 1).output
    #expect(page.count { $0 == "\n" } > 300)
    #expect(page.matches(of: #/<details class="case fail" open>/#).count == 6)
    #expect(page.matches(of: #/<details class="timeline" open>/#).count == 6)
    for mark in ["http:", "https:", "src=", "@import", "url(", "<link", "<iframe", "javascript:"] {
      #expect(!page.contains(mark), "\(mark)")
    }
    // Each link leads to a line that is there, once.
    let links = page.matches(of: #/href="\#(\w+)"/#).map(\.1)
    #expect(links.count > 20)
    for link in links {
      #expect(page.matches(of: try Regex("id=\"\(link)\"")).count == 1, "\(link)")
    }
    #expect(page.contains("events left out"))
  }
}
