import AgentTrace
import TestSupport
import Testing

@Suite("Trials of live runs")
struct TrialVerbTests {
  /// A tool that answers by how often it was asked so far, in all runs: `p` finds something, `f` does not,
  /// and at `u` the model is out of reach.
  private static func folder(case keys: String, _ trials: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("trials", trials)
    try folder.script(
      "next",
      "n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) > count; "
        + "printf '\"%s\"' \"$(cut -c$((n+1)) trials)\"")
    try folder.write(
      "agent.yaml",
      """
      name: gambler
      failures: {modelRetries: 0}
      tools: [{name: roll, sideEffect: read, command: [./next]}]
      model:
        script:
          - call: {tool: roll, input: {}}
          - choose:
              - {when: {last: {data: u}}, unreachable: true}
              - answer: "rolled ${last.data}"
            repeat: 5
      """)
    try folder.write(
      "case.yaml",
      "caseId: luck\ninput: roll\nagent: agent.yaml\n\(keys)\nexpected: {answer: rolled p}\n")
    return folder
  }

  @Test(
    "as many trials are made as the outcome needs, and those that decide nothing are made again",
    arguments: [
      ("trials: 5\npassThreshold: 4", "pfpppp", 0, "pass", 5),
      ("trials: 5\npassThreshold: 4", "pppp", 0, "pass", 4),
      ("trials: 5\npassThreshold: 4", "pff", 1, "fail", 3),
      ("trials: 3\nsafety: true", "ppf", 1, "fail", 3),
      ("trials: 2", "fp", 1, "fail", 1),
    ])
  func made(_ sample: (keys: String, trials: String, status: Int, outcome: String, made: Int))
    async throws
  {
    let folder = try Self.folder(case: sample.keys, sample.trials)
    let outcome = try await Binary.run(
      ["run", "case.yaml", "--live", "--json"], in: folder.path, status: Int32(sample.status))
    let result = try #require(try outcome.json()["cases"]?[0])
    #expect(result["outcome"] == .string(sample.outcome))
    #expect(result["trials"]?.arrayValue?.count == sample.made)
    #expect(result["statistics"]?["flaky"] == .bool(sample.trials.contains("f") && sample.made > 1))
  }

  @Test("--trials runs cases that do not say it themselves; the report tells rate and interval")
  func options() async throws {
    let folder = try Self.folder(case: "", "pfppp")
    let outcome = try await Binary.run(
      ["run", "case.yaml", "--live", "--trials", "5", "--pass-threshold", "4"], in: folder.path)
    #expect(outcome.output.contains("1 case: 1 passed"))
    for wrong in [
      ["--trials", "5"], ["--live", "--trials", "0"], ["--live", "--pass-threshold", "2"],
      ["--live", "--trials", "2", "--pass-threshold", "3"],
    ] {
      try await Binary.run(["run", "case.yaml"] + wrong, in: folder.path, status: 64)
    }
    let failing = try Self.folder(case: "trials: 4\npassThreshold: 3", "pff")
    let told = try await Binary.run(
      ["run", "case.yaml", "--live", "--report", "html:page.html"], in: failing.path, status: 1)
    let page = try String(decoding: failing.read("page.html"), as: UTF8.self)
    #expect(page.contains("1 of 3 trials passed, 3 of 4 needed; rate 33 %, 95 % interval 6 % to"))
    #expect(page.contains("flaky: the same agent on the same input passed and failed"))
    #expect(told.output.contains("1 of 3 trials passed, 3 of 4 needed"))
    #expect(told.output.contains("flaky"))
  }

  @Test(
    "trials held against those of an earlier run are worse only by more than chance",
    arguments: [
      ("pppppppp", "ppppfppp", 0, "same", "7 of 8 trials pass, 8 of 8 did: no more than chance"),
      ("pppppppp", "fffffffp", 1, "regressed", "1 of 8 trials pass, 8 of 8 did: more than chance"),
      ("ppfppppp", "ppfppppp", 0, "same", nil),
      ("pppppppp", "pppppppp", 0, "same", nil),
    ] as [(String, String, Int32, String, String?)])
  func against(_ before: String, _ now: String, _ code: Int32, _ kind: String, _ words: String?)
    async throws
  {
    let folder = try Self.folder(case: "trials: 8", before + now)
    let options = ["run", "case.yaml", "--live", "--all-trials", "--jobs", "1"]
    let first = try await Binary.run(options + ["--json"], in: folder.path, status: nil)
    try folder.write("before.json", first.output)
    let second = try await Binary.run(
      options + ["--against", "before.json", "--json"], in: folder.path, status: code
    ).json()
    let comparison = try #require(second["cases"]?[0]?["comparison"])
    #expect(comparison["kind"] == .string(kind))
    if let words {
      #expect(comparison["reason"]?.stringValue?.hasPrefix(words) == true, "\(comparison)")
    } else {
      #expect(comparison["reason"] == nil)
    }
    #expect((second["comparison"]?["worsened"] != nil) == false)
  }

  @Test("a suite that is worse as a whole fails, though no single case shows it")
  func wholeSuite() async throws {
    let folder = try Self.folder(
      case: "", String(repeating: "p", count: 24) + String(repeating: "f", count: 24))
    let cases = (1...12).map {
      "  - {caseId: luck-\($0), input: roll, agent: agent.yaml, trials: 2, expected: {answer: rolled p}}\n"
    }
    try folder.write("case.yaml", "cases:\n" + cases.joined())
    let options = ["run", "case.yaml", "--live", "--all-trials", "--jobs", "1"]
    let first = try await Binary.run(options + ["--json"], in: folder.path)
    try folder.write("before.json", first.output)
    let second = try await Binary.run(
      options + ["--against", "before.json", "--report", "json:now.json"], in: folder.path,
      status: 1)
    #expect(second.output.contains("WORSE"))
    #expect(second.output.contains("the mean rate of 12 cases changed by -100 points"))
    let json = try JSONValue(parsing: folder.read("now.json"))
    #expect(json["comparison"]?["worsened"] != nil)
    #expect(
      json["cases"]?.arrayValue?.allSatisfy { $0["comparison"]?["kind"] == "same" } == true)
  }

  @Test(
    "keys that contradict each other are told where they stand",
    arguments: [
      ("trials: 2\npassThreshold: 3", "3 trials have to pass"),
      ("trials: 3\npassThreshold: 2\nsafety: true", "a safety case passes only"),
      ("trials: 9\npassThreshold: 2\nrates: {good: 0.9, bad: 0.5}", "keep one of them"),
      ("rates: {good: 0.5, bad: 0.9}", "no test tells these rates apart"),
      ("rates: {good: 1.5, bad: 0.9}", "a number between 0 and 1"), ("trials: 0", "case.yaml:4"),
    ])
  func mistakes(keys: String, words: String) async throws {
    let folder = try Self.folder(case: keys, "p")
    let outcome = try await Binary.run(["check", "case.yaml"], in: folder.path, status: 2)
    #expect((outcome.output + outcome.errors).contains(words), "\(outcome.output)")
  }
}
