import AgentRuntime
import ArgumentParser
import TestSupport
import Testing

@testable import agent_eval

@Suite("The arguments of run")
struct RunRequestTests {
  private static let words = [
    "a.yaml", "EvalCases", "b c.jsonl", "é.json", "", "--runs", "--live", "--jobs", "--filter",
    "--out", "--no-summary", "--exec", "--json", "--report", "junit:r.xml", "junit", "nonsense",
    "--shard", "1/2", "--files-from", "--by-case-id", "--watch", "--against", "--tolerance",
    "steps=5", "3", "0", "-1", "+2", "1025",
    "three", "[", "refund_*", "--", "-", "-h", "--help", "--version",
    "--jobs=2", "--runs=x", "--out=", "--Live", "--liv", "help", "run",
  ]

  /// What ArgumentParser makes of them; `nil` where it refuses them, or shows help.
  private static func parsed(_ arguments: [String]) -> RunRequest? {
    ((try? AgentEval.parseAsRoot(arguments)) as? Run)?.request
  }

  @Test(
    "mean what ArgumentParser says they mean, wherever they are read without it", arguments: 1...8)
  func samePlainly(seed: Int) {
    var numbers = Seeded(seed: UInt64(seed))
    var plainly = 0
    for _ in 0..<TestRun.count(120, long: 2_500) {
      let count = Int.random(in: 0...5, using: &numbers)
      let arguments =
        ["run"] + (0..<count).map { _ in Self.words.randomElement(using: &numbers) ?? "" }
      guard let request = RunRequest(plain: arguments) else { continue }
      #expect(request == Self.parsed(arguments), "\(arguments)")
      plainly += 1
    }
    #expect(plainly > 10)
  }

  @Test("are read without ArgumentParser where they are plain")
  func plain() throws {
    let arguments = [
      "run", "cases", "--runs", "runs", "--jobs", "2", "more.yaml", "--live", "--no-summary",
      "--exec",
      "--json", "--filter", "refund_*", "--out", "there", "--report", "junit:r.xml",
    ]
    let request = try #require(RunRequest(plain: arguments))
    #expect(
      request
        == RunRequest(
          paths: ["cases", "more.yaml"], runs: "runs", live: true, jobs: 2, filter: "refund_*",
          out: "there", noSummary: true, exec: true,
          output: ResultsDestination(json: true, report: ["junit:r.xml"])))
    #expect(request == Self.parsed(arguments))
  }

  @Test(
    "are left to ArgumentParser where they are wrong, short or ask for help",
    arguments: [
      [], ["run"], ["check", "x"], ["run", "x", "--help"], ["run", "x", "-h"],
      ["run", "x", "--jobs"],
      ["run", "x", "--jobs", "many"], ["run", "x", "--jobs", "2000"], ["run", "x", "--jobs=2"],
      ["run", "--", "x"], ["run", "x", "--json", "--json"], ["run", "x", "--filter", "["],
      ["run", "x", "--out", ""], ["run", "x", "--runs", "--json"], ["run", "x", "--nonsense"],
      ["run", "x", "--report", "a:b", "--report", "c:d"], ["--version"],
      ["run", "x", "-f", "a", "--filter", "b"],
    ])
  func unusual(_ arguments: [String]) {
    #expect(RunRequest(plain: arguments) == nil)
  }

  @Test("Results as JSON are the same bytes, whether or not they are all that is asked for")
  func sameResults() async throws {
    let folder = try TemporaryFolder()
    let cases = Fixture.runs.enumerated().map { number, path in
      let expected = #"{"stopReason": "success", "toolsNotCalled": ["delete_*"]}"#
      return
        #"{"caseId": "c\#(number)", "recording": "\#(Project.path(path))", "expected": \#(expected)}"#
    }
    try folder.write("cases.jsonl", cases.joined(separator: "\n"))
    let path = folder.path("cases.jsonl")
    for options in [["--jobs", "1"], ["--jobs", "2", "--no-summary"]] {
      let alone = try await Binary.run(["run", path, "--json"] + options, status: nil)
      let beside = try await Binary.run(
        ["run", path, "--json", "--report", "junit:\(folder.path("r.xml"))"] + options,
        status: nil)
      #expect(alone.outputBytes == beside.outputBytes)
      #expect(alone.outputBytes.count > 1000)
      #expect(alone.status == beside.status)
    }
  }
}
