import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("mutate")
struct MutateVerbTests {
  @Test("of the shipped cases, each change is noticed or let pass for a reason that is needed")
  func shipped() async throws {
    let outcome = try await Binary.run(
      ["mutate", "EvalCases", "--json", "--max-survivors", "0"], timeoutSeconds: 120)
    let json = try outcome.json()
    #expect(json["schema"] == "agent-eval/mutations/1")
    let changes = try #require(json["summary"]?["changes"]?.intValue)
    let noticed = try #require(json["summary"]?["noticed"]?.intValue)
    #expect(changes > 1_000 && json["summary"]?["survivors"] == 0)
    #expect(json["score"]?.doubleValue == Double(noticed) / Double(changes))
    let runs = json["runs"]?.arrayValue ?? []
    let tolerated = runs.flatMap { $0["toleratedChanges"]?.arrayValue ?? [] }
    #expect(tolerated.count == changes - noticed)
    #expect(tolerated.allSatisfy { $0["why"]?.stringValue?.isEmpty == false })
    #expect(json["idleReasons"] == [])
    let other = try await Binary.run(
      ["mutate", "EvalCases", "--json", "--jobs", "1"], timeoutSeconds: 120)
    #expect(try other.json()["summary"] == json["summary"])
  }

  @Test("the same changes count once, by whatever path cases lead to their run")
  func shared() async throws {
    let folder = try TemporaryFolder()
    let log = Project.path("Fixtures/runs/refund-drafted.jsonl.gz")
    try folder.link("run.jsonl.gz", to: log)
    try folder.write(
      "case.yaml",
      """
      - {caseId: a, recording: run.jsonl.gz, expected: {stopReason: success}}
      - caseId: b
        recording: \(log)
        tolerates: [{change: [verdict, cost], why: seen elsewhere}]
        expected: {toolsNotCalled: [issue_refund]}
      """)
    let json = try await Binary.run(["mutate", ".", "--json"], in: folder.path).json()
    #expect(json["runs"]?.arrayValue?.count == 1)
    #expect(json["summary"]?["changes"] == 16 && json["summary"]?["noticed"] == 3)
    #expect(json["summary"]?["tolerated"] == 3 && json["summary"]?["survivors"] == 10)
    let told = try await Binary.run(
      ["mutate", ".", "--max-survivors", "9"], in: folder.path, status: 1)
    #expect(
      told.output.contains("3 of 16 changed runs are noticed: 18.7 %; 3 tolerated, 10 survive"))
    #expect(told.output.contains("tolerates 3 (verdict, cost): seen elsewhere"))
    try await Binary.run(["mutate", ".", "--max-survivors", "10"], in: folder.path)
  }

  @Test(
    "a tolerance without a reason or of an unknown change is told where it stands",
    arguments: [
      ("{change: cost}", "why"), ("{change: costs, why: x}", "did you mean “cost”"),
      ("{change: [], why: x}", "empty"), ("{change: cost, why: ''}", "why"),
    ])
  func mistakes(tolerance: String, words: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      "caseId: one\nrecording: r.jsonl.gz\ntolerates: [\(tolerance)]\nexpected: {maxSteps: 1}\n")
    let outcome = try await Binary.run(["check", "case.yaml"], in: folder.path, status: 2)
    #expect((outcome.output + outcome.errors).contains(words), "\(outcome.output)")
  }

  private static func folder(expected: String) async throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("drafter.yaml", agentFile())
    try folder.write(
      "case.yaml", "caseId: one\ninput: go\nagent: drafter.yaml\nexpected: \(expected)\n")
    return folder
  }

  @Test("a suite with an expectation removed scores lower, and --min-score fails it")
  func removal() async throws {
    var scores: [Double] = []
    for expected in [
      "{toolsCalled: [{tool: draft, times: 1, status: ok}], stopReason: success, answer: Done.}",
      "{toolsCalled: [{tool: draft, times: 1, status: ok}], stopReason: success}",
      "{stopReason: success}",
    ] {
      let folder = try await Self.folder(expected: expected)
      let outcome = try await Binary.run(["mutate", ".", "--json"], in: folder.path)
      scores.append(try #require(try outcome.json()["score"]?.doubleValue))
    }
    #expect(scores == scores.sorted(by: >) && Set(scores).count == 3)
    let folder = try await Self.folder(expected: "{stopReason: success}")
    let failed = try await Binary.run(
      ["mutate", ".", "--min-score", "0.9"], in: folder.path, status: 1)
    #expect(failed.output.contains("passes though draft is not called"))
    #expect(failed.output.contains(#"would notice: {"toolsCalled":[{"tool":"draft"}]}"#))
    try await Binary.run(["mutate", ".", "--min-score", "0.01"], in: folder.path)
  }

  @Test("nothing to change, or a case that cannot be judged, is 2; wrong options are 64")
  func faults() async throws {
    let folder = try await Self.folder(expected: "{stopReason: blocked}")
    let failing = try await Binary.run(["mutate", "."], in: folder.path, status: 2)
    #expect(failing.output.contains("left out"))
    try folder.write(
      "case.yaml", "caseId: one\nrecording: gone.jsonl.gz\nexpected: {maxSteps: 1}\n")
    try await Binary.run(["mutate", "."], in: folder.path, status: 2)
    for wrong in [
      ["--limit", "0"], ["--min-score", "2"], ["--jobs", "-1"], ["--max-survivors", "-1"],
    ] {
      try await Binary.run(["mutate", "."] + wrong, in: folder.path, status: 64)
    }
  }
}

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

@Suite("compare")
struct CompareVerbTests {
  private static func results(_ passed: [Int], of trials: Int) -> String {
    let cases = passed.enumerated().map { index, count in
      let made = (0..<trials).map { trial in
        let outcome = trial < count ? "pass" : "fail"
        return #"{"runId":"r","log":"l","judgedFrom":"body","outcome":"\#(outcome)","warnings":[],"#
          + #""expectations":[{"expectation":"answer","outcome":"\#(outcome)","events":[],"message":""}]}"#
      }
      let outcome = count == trials ? "pass" : "fail"
      return
        #"{"caseId":"c\#(index)","position":"c:1","outcome":"\#(outcome)","trialPlan":{"trials":"#
        + "\(trials)" + #","passThreshold":\#(trials)},"trials":[\#(made.joined(separator: ","))]}"#
    }
    let passes = passed.count { $0 == trials }
    return
      #"{"schema":"agent-eval/results/1","skipped":[],"cases":[\#(cases.joined(separator: ","))],"#
      + #""summary":{"pass":\#(passes),"fail":\#(passed.count - passes),"inconclusive":0,"error":0}}"#
  }

  @Test("says whether live results have become worse by more than chance, and by how much")
  func live() async throws {
    let folder = try TemporaryFolder()
    try folder.write("before.json", Self.results(Array(repeating: 8, count: 12), of: 8))
    try folder.write("worse.json", Self.results(Array(repeating: 2, count: 12), of: 8))
    try folder.write("chance.json", Self.results([7] + Array(repeating: 8, count: 11), of: 8))
    let worse = try await Binary.run(
      ["compare", "before.json", "worse.json"], in: folder.path, status: 1)
    #expect(worse.output.contains("the suite is worse"))
    #expect(worse.output.contains("the mean rate changed by −75.0 points"))
    let chance = try await Binary.run(["compare", "before.json", "chance.json"], in: folder.path)
    #expect(chance.output.contains("no worse as a whole"))
    let json = try await Binary.run(
      ["compare", "before.json", "worse.json", "--json"], in: folder.path, status: 1
    ).json()
    #expect(json["schema"] == "agent-eval/comparison/1" && json["suite"]?["worse"] == true)
  }

  @Test("files that are no results are named, and wrong options are 64")
  func faults() async throws {
    let folder = try TemporaryFolder()
    try folder.write("good.json", Self.results([1], of: 1))
    for (name, text) in [("gone.json", nil), ("bad.json", "{"), ("other.json", "{}")] {
      if let text { try folder.write(name, text) }
      let outcome = try await Binary.run(
        ["compare", "good.json", name], in: folder.path, status: 2)
      #expect(outcome.errors.contains(name))
    }
    for wrong in [["--level", "0"], ["--seed", "-1"]] {
      try await Binary.run(
        ["compare", "good.json", "good.json"] + wrong, in: folder.path, status: 64)
    }
  }
}

@Suite("promote")
struct PromoteVerbTests {
  private static let failed = Project.path("Fixtures/runs/hidden-deletion.jsonl.gz")

  @Test("a failing run becomes a case that fails, and the agent of the case runs live")
  func failing() async throws {
    let folder = try TemporaryFolder()
    let made = try await Binary.run(
      [
        "promote", Self.failed, "--expect", #"{"toolsNotCalled":["delete_*"],"maxSteps":90}"#,
        "--into", "cases", "--case-id", "no deletion", "--json",
      ], in: folder.path
    ).json()
    #expect(made["schema"] == "agent-eval/promotion/1")
    #expect(made["expected"] == ["toolsNotCalled": ["delete_*"]])
    #expect(made["calls"] == ["before": 4, "after": 1])
    let results = try await Binary.run(["run", "cases", "--json"], in: folder.path, status: 1)
      .json()
    #expect(results["cases"]?[0]?["caseId"] == "no deletion")
    let log = try #require(made["log"]?.stringValue)
    try await Binary.run(["verify", log], in: folder.path)
    try await Binary.run(["replay", log], in: folder.path)
    let shown = try await Binary.run(["show", log], in: folder.path)
    #expect(shown.output.contains("delete_message") && !shown.output.contains("archive_message  "))
    // Once more under the same name: what is there stays.
    let again = try await Binary.run(
      [
        "promote", Self.failed, "--expect", #"{"maxSteps":1}"#, "--into", "cases", "--case-id",
        "no deletion",
      ],
      in: folder.path, status: 2)
    #expect(again.errors.contains("is there already"))
  }

  @Test("the case that a log names is found among the cases, with its agent seen from the new case")
  func byCase() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agents/drafter.yaml", agentFile())
    try folder.write(
      "evals/suite.yaml",
      """
      cases:
        - {caseId: one, input: go, agent: ../agents/drafter.yaml, expected: {toolsNotCalled: [draft], stopReason: success}}
        - {caseId: two, input: go, agent: ../agents/drafter.yaml, expected: {stopReason: success}}
      """)
    try await Binary.run(["run", "evals", "--out", "runs"], in: folder.path, status: 1)
    let runs = FileManager.default.enumerator(atPath: folder.path("runs"))?.allObjects as? [String]
    var made = 0
    for run in (runs ?? []).filter({ $0.hasSuffix(".jsonl.gz") }) {
      let outcome = try await Binary.run(
        [
          "promote", "runs/\(run)", "--cases", "evals", "--agent", "agents/drafter.yaml", "--into",
          "promoted/deep",
        ], in: folder.path, status: nil)
      made += outcome.status == 0 ? 1 : 0
      #expect(outcome.status == 0 || outcome.errors.contains("meets all"))
    }
    #expect(made == 1)
    let live = try await Binary.run(
      ["run", "promoted", "--live", "--json"], in: folder.path, status: 1
    ).json()
    #expect(live["cases"]?[0]?["outcome"] == "fail")
  }

  @Test("mistakes in the options are told before anything is read or written")
  func options() async throws {
    let folder = try TemporaryFolder()
    for wrong in [
      [], [Self.failed, Self.failed, "--whole"], [Self.failed, "--redact", "x"],
      [Self.failed, "--redact", "a b=c"], [Self.failed, "--redact", "x=("],
      [Self.failed, "--expect", "{"], [Self.failed, "--expect", "{}"],
      [Self.failed, "--expect", "{}", "--cases", "."], [Self.failed, "--case", "x"],
    ] {
      try await Binary.run(["promote"] + wrong, in: folder.path, status: 64)
    }
    let missing = try await Binary.run(
      ["promote", "gone.jsonl.gz"], in: folder.path, status: 2)
    #expect(missing.errors.contains("gone.jsonl.gz"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
