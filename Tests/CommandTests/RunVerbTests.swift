import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@Suite("run")
struct RunVerbTests {
  // MARK: Case files with mistakes

  @Test("every mistake in every case file is told at once, each with its place")
  func mistakes() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "cases/a.yaml",
      """
      cases:
        - caseId: one
          recording: one.jsonl.gz
          expectd: {stopReason: success}
        - caseId: two
          input: hello
          agent: ../agent.yaml
          expected: {stopReason: sucess, toolsCaled: [x], maxSteps: -1}
      """)
    try folder.write(
      "cases/deeper/b.json", #"{"caseId": "three", "input": "x", "expected": {"order": "strict"}}"#)
    try folder.write(
      "cases/deeper/c.jsonl",
      """
      {"caseId":"four","input":"x","expected":{"stopReason":"success"}}
      {"caseId":"five","expected":{"answer":{"$regx":"a"}}
      """)
    let outcome = try await Binary.run(["run", "cases"], in: folder.path, status: 2)
    #expect(outcome.output == "")
    for place in [
      "cases/a.yaml:4:5: error: cases[0].expectd: unknown key “expectd”; did you mean “expected”?",
      "cases/a.yaml:8:28: error: cases[1].expected.stopReason: “sucess” is not a stop reason; "
        + "did you mean “success”?",
      "cases/a.yaml:8:36: error: cases[1].expected.toolsCaled: unknown key “toolsCaled”; "
        + "did you mean “toolsCalled”?",
      "cases/a.yaml:8:63: error: cases[1].expected.maxSteps",
      "cases/deeper/b.json:1:", "cases/deeper/c.jsonl:2:",
    ] {
      #expect(outcome.errors.contains(place), "\(place)\n\(outcome)")
    }
    // `check` says the same, on standard output, because there it is the result.
    let checked = try await Binary.run(["check", "cases"], in: folder.path, status: 2)
    for line in outcome.errors.split(separator: "\n") {
      #expect(checked.output.contains(line), "\(line)\n\(checked)")
    }
  }

  @Test("two cases of one name are a mistake, wherever they stand")
  func twice() async throws {
    let folder = try TemporaryFolder()
    for name in ["a", "b"] {
      try folder.write("\(name).yaml", Self.file([("same", "pass")]))
    }
    let outcome = try await Binary.run(["run", "."], in: folder.path, status: 2)
    #expect(outcome.errors.contains("same"))
  }

  // MARK: Recordings that are not whole

  @Test("what a torn recording cannot show is unverifiable, and the case is inconclusive")
  func torn() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      """
      caseId: torn
      recording: \(Project.path("Fixtures/torn/parallel-search.jsonl.gz"))
      expected: {stopReason: success, toolsNotCalled: [delete], toolsCalled: [search]}
      """)
    let results = try await Binary.run(["run", "case.yaml", "--json"], in: folder.path, status: 3)
      .json()
    let trial = results["cases"]?[0]?["trials"]?[0]
    #expect(results["cases"]?[0]?["outcome"] == "inconclusive")
    #expect(trial?["log"]?.stringValue?.hasSuffix(".jsonl.gz.open") == true)
    let outcomes = trial?["expectations"]?.arrayValue?.map {
      "\($0["expectation"]?.stringValue ?? "") \($0["outcome"]?.stringValue ?? "")"
    }
    // What was seen is seen, torn or not.
    #expect(
      outcomes == [
        "stopReason unverifiable", "toolsCalled[0] pass", "toolsNotCalled[0] unverifiable",
      ])
    let told = try await Binary.run(["run", "case.yaml"], in: folder.path, status: 3)
    #expect(told.output.contains("1 inconclusive"))
  }

  @Test(
    "a log of the folder that cannot be read makes each case an error that searches there",
    arguments: ["1.jsonl.gz", "sub/x.jsonl.gz", "left.jsonl.gz.open"])
  func unreadable(name: String) async throws {
    let folder = try TemporaryFolder()
    let runs = ["refund-drafted", "hidden-deletion"]
    for run in runs {
      try folder.write(
        "runs/\(run).jsonl.gz", try Data(contentsOf: URL(fileURLWithPath: Fixture.run(run))))
    }
    try folder.write(
      "cases.yaml",
      """
      - {caseId: refund-drafted, expected: {stopReason: success}}
      - {caseId: named, recording: runs/refund-drafted.jsonl.gz, expected: {stopReason: success}}
      """)
    let arguments = ["run", "cases.yaml", "--runs", "runs"]
    try await Binary.run(arguments, in: folder.path)
    // A run whose first block is damaged: what it shows, and of which case, nobody knows.
    var bytes = Array(
      try Data(contentsOf: URL(fileURLWithPath: Fixture.run("hidden-deletion"))))
    bytes[60] ^= 0xff
    try folder.write("runs/\(name)", bytes)
    for environment in [[:], ["CI": "true"]] {
      let outcome = try await Binary.run(
        arguments + ["--json"], in: folder.path, environment: environment, status: 2)
      let cases = try outcome.json()["cases"]
      #expect(cases?[0]?["outcome"] == "error", "\(outcome)")
      #expect(cases?[0]?["error"]?.stringValue?.contains("runs/\(name)") == true, "\(outcome)")
      #expect(cases?[1]?["outcome"] == "pass")
    }
    try FileManager.default.removeItem(atPath: folder.path("runs/\(name)"))
    try await Binary.run(arguments, in: folder.path)
  }

  @Test("outcomes that came from summaries alone are told, in a line and in the results")
  func summariesTold() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "cases.yaml",
      """
      - {caseId: a, recording: \(Fixture.run("refund-drafted")), expected: {stopReason: success}}
      - caseId: b
        recording: \(Fixture.run("refund-drafted"))
        expected: {answer: {$contains: draft}}
      """)
    for more in [[], ["--json"]] {
      let outcome = try await Binary.run(["run", "cases.yaml"] + more, in: folder.path)
      let isTold = outcome.errors.contains(" of 2 outcomes came from the summary")
      #expect(isTold, "\(outcome)")
    }
    let quiet = try await Binary.run(["run", "cases.yaml", "--no-summary"], in: folder.path)
    #expect(quiet.errors == "")
    for variable in ["CI", "GITLAB_CI", "TF_BUILD"] {
      let outcome = try await Binary.run(
        ["run", "cases.yaml", "--json"], in: folder.path, environment: [variable: "true"])
      #expect(outcome.errors == "")
      #expect(try outcome.json()["cases"]?[0]?["trials"]?[0]?["judgedFrom"] == "body")
    }
  }

  @Test("a recording that was changed and sealed anew is damaged where logs are verified")
  func changed() async throws {
    let folder = try TemporaryFolder()
    var events = try readLog(Fixture.run("refund-drafted"))
    let verdict = try #require(events.firstIndex { $0.type == .policyDecision })
    events[verdict].data["reason"] = "because"
    try writeLog(events, to: folder.path + "/changed.jsonl.gz")
    try folder.write(
      "case.yaml",
      "{caseId: a, recording: changed.jsonl.gz, expected: {toolsNotCalled: [issue_refund]}}")
    for options in [["--verify"], ["--verify", "--no-summary"]] {
      let results = try await Binary.run(
        ["run", "case.yaml", "--json"] + options, in: folder.path, status: 2
      ).json()
      let error = results["cases"]?[0]?["error"]?.stringValue ?? ""
      #expect(error.contains("changed.jsonl.gz: damaged"), "\(error)")
      #expect(error.contains("the digest of the state before this stop is another"), "\(error)")
    }
    let quick = try await Binary.run(["run", "case.yaml", "--json"], in: folder.path).json()
    #expect(quick["cases"]?[0]?["trials"]?[0]?["judgedFrom"] == "summary")
  }

  @Test("a recording that is damaged, missing or none is an error that names it")
  func unreadable() async throws {
    let folder = try TemporaryFolder()
    try folder.write("plain.jsonl.gz", "not a log")
    try folder.write("empty.jsonl.gz", "")
    try folder.write("folder/of-nothing", "")
    let recordings = [
      Project.path("Fixtures/damaged/error-recovered.jsonl.gz"), "nowhere.jsonl.gz",
      "plain.jsonl.gz", "empty.jsonl.gz", "folder",
    ]
    let cases = recordings.enumerated().map { index, path in
      "- {caseId: c\(index), recording: \(path), expected: {stopReason: success}}"
    }
    try folder.write("case.yaml", "cases:\n  " + cases.joined(separator: "\n  "))
    let results = try await Binary.run(
      ["run", "case.yaml", "--json", "--no-summary"], in: folder.path, status: 2
    ).json()
    for (index, path) in recordings.enumerated() {
      let result = results["cases"]?[index]
      #expect(result?["outcome"] == "error", "\(path)")
      #expect(result?["trials"] == [])
      let name = path.split(separator: "/").last.map(String.init) ?? ""
      #expect(result?["error"]?.stringValue?.contains(name) == true, "\(path)")
    }
  }

  @Test("the end of a log and its body lead to the same outcomes; under CI bodies are read")
  func summaries() async throws {
    let paths =
      ["run", "--json", "Fixtures/failing-cases"]
      + ["stops.yaml", "work.yaml", "policy.yaml", "lines.jsonl"].map { "EvalCases/\($0)" }
    func outcomes(_ arguments: [String], _ environment: [String: String] = [:]) async throws
      -> (outcomes: [String], sources: Set<String>)
    {
      let results = try await Binary.run(
        paths + arguments, environment: environment, status: 1
      ).json()
      let trials = (results["cases"]?.arrayValue ?? []).flatMap { $0["trials"]?.arrayValue ?? [] }
      return (
        trials.flatMap { $0["expectations"]?.arrayValue ?? [] }.map {
          "\($0["expectation"]?.stringValue ?? "?") \($0["outcome"]?.stringValue ?? "?")"
        }, Set(trials.compactMap { $0["judgedFrom"]?.stringValue })
      )
    }
    let quick = try await outcomes([])
    let whole = try await outcomes(["--no-summary"])
    let onCI = try await outcomes([], ["CI": "true"])
    #expect(quick.outcomes == whole.outcomes && whole.outcomes == onCI.outcomes)
    #expect(quick.outcomes.count > 60)
    #expect(quick.sources == ["summary", "body"])
    #expect(whole.sources == ["body"] && onCI.sources == ["body"])
  }

  // MARK: Exit codes

  /// One case of each outcome.
  private static func file(_ cases: [(id: String, outcome: String)]) -> String {
    let lines = cases.map { id, outcome in
      switch outcome {
      case "pass":
        "- {caseId: \(id), recording: \(Fixture.run("refund-drafted")), "
          + "expected: {stopReason: success}}"
      case "fail":
        "- {caseId: \(id), recording: \(Fixture.run("refund-drafted")), "
          + "expected: {stopReason: blocked}}"
      case "error":
        "- {caseId: \(id), recording: \(Project.path("Fixtures/damaged/error-recovered.jsonl.gz")), "
          + "expected: {stopReason: success}}"
      default:
        "- {caseId: \(id), recording: \(Project.path("Fixtures/torn/parallel-search.jsonl.gz")), "
          + "expected: {stopReason: success}}"
      }
    }
    return "cases:\n  " + lines.joined(separator: "\n  ") + "\n"
  }

  @Test(
    "a failure outranks an error, an error what is inconclusive, and that what passed",
    arguments: 1..<16)
  func ranks(chosen: Int) async throws {
    let all = [("pass", 0), ("fail", 1), ("error", 2), ("inconclusive", 3)]
    let present = all.enumerated().filter { chosen >> $0.offset & 1 == 1 }.map(\.element)
    let expected = [1, 2, 3].first { code in present.contains { $0.1 == code } } ?? 0
    let folder = try TemporaryFolder()
    try folder.write("case.yaml", Self.file(present.map { ($0.0, $0.0) }))
    let results = try await Binary.run(
      ["run", "case.yaml", "--json"], in: folder.path, environment: ["CI": "true"],
      status: Int32(expected)
    ).json()
    for (outcome, _) in all {
      #expect(
        results["summary"]?[outcome]?.intValue == (present.contains { $0.0 == outcome } ? 1 : 0))
    }
    #expect(results["cases"]?.arrayValue?.map { $0["outcome"]?.stringValue } == present.map(\.0))
  }

  @Test("a case that is skipped is told of and does not count")
  func skipped() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      Self.file([("kept", "pass")])
        + "  - {caseId: left, recording: x.jsonl.gz, skip: not today, "
        + "expected: {stopReason: success}}\n")
    let outcome = try await Binary.run(["run", "case.yaml"], in: folder.path)
    #expect(outcome.output.contains("left: not today"))
    #expect(outcome.output.contains("1 case: 1 passed, 1 skipped"))
    // Nothing but skipped cases: nothing was judged.
    try await Binary.run(
      ["run", "case.yaml", "--filter", "left"], in: folder.path, status: 2)
  }

  // MARK: Choosing, order, side by side

  @Test(
    "--filter takes cases by a glob of their ids or by a tag",
    arguments: [
      ("stop-*", 11), ("stop-budget-*", 5), ("stops", 12), ("refunds", 11), ("jsonl-*", 2),
      ("*", 66), ("refund-is-drafted", 1), ("{stop-blocked,stop-cancelled}", 2),
    ])
  func filter(_ filter: String, _ count: Int) async throws {
    let folder = try TemporaryFolder()
    let results = try await Binary.run(
      ["run", "EvalCases", "--filter", filter, "--json", "--out", folder.path]
    ).json()
    #expect(results["cases"]?.arrayValue?.count == count)
  }

  @Test("results stand in the order of the cases and are the same on one job and on eight")
  func jobs() async throws {
    let paths = [
      "Fixtures/failing-cases", "EvalCases/stops.yaml", "EvalCases/work.yaml",
      "EvalCases/policy.yaml", "EvalCases/lines.jsonl",
    ]
    let one = try await Binary.run(["run", "--json", "--jobs", "1"] + paths, status: 1)
    let ids = try one.json()["cases"]?.arrayValue?.compactMap { $0["caseId"]?.stringValue } ?? []
    #expect(ids.first == "newsletters-without-deletions" || ids.contains("stop-blocked"))
    #expect(Set(ids).count == 33 && ids.count == 33)
    for jobs in ["0", "2", "8", "1024"] {
      let many = try await Binary.run(["run", "--json", "--jobs", jobs] + paths, status: 1)
      #expect(many.outputBytes == one.outputBytes)
    }
    let told = try await Binary.run(["run", "--jobs", "8"] + paths, status: 1)
    let order = told.lines.compactMap { line -> String? in
      let words = line.split(separator: " ")
      guard let first = words.first, ["pass", "FAIL"].contains(first) else { return nil }
      return line.first == " " ? nil : String(words[1])
    }
    #expect(order == ids)
  }

  // MARK: Runs elsewhere

  @Test("--runs finds the run of a case by the name of its file, or of its folder")
  func runsByName() async throws {
    let folder = try TemporaryFolder()
    let log = try Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("refund-drafted"))))
    try folder.write("runs/by-file.jsonl.gz", log)
    try folder.write("runs/deep/er/by-folder/0001.jsonl.gz", log)
    try folder.write("runs/both/both.jsonl.gz", log)
    try folder.write("runs/several/1.jsonl.gz", log)
    try folder.write("runs/several/2.jsonl.gz", log)
    let ids = ["by-file", "by-folder", "both", "several", "absent"]
    try folder.write(
      "case.yaml",
      "cases:\n"
        + ids.map { "  - {caseId: \($0), expected: {stopReason: success}}" }
        .joined(separator: "\n"))
    let results = try await Binary.run(
      ["run", "case.yaml", "--runs", "runs", "--json"], in: folder.path, status: 2
    ).json()
    let trials = results["cases"]?.arrayValue?.map { $0["trials"]?.arrayValue?.count }
    #expect(trials == [1, 1, 1, 2, 0])
    #expect(results["cases"]?[4]?["error"] == "no run of this case in runs")
  }

  @Test("--runs reports the log of a case that cannot be read, rather than that there is none")
  func runsDamaged() async throws {
    let folder = try TemporaryFolder()
    var log = try Array(Data(contentsOf: URL(fileURLWithPath: Fixture.run("refund-drafted"))))
    log[60] ^= 1
    try folder.write("runs/broken.jsonl.gz", log)
    try folder.write("runs/nested/empty.jsonl.gz", "")
    try folder.write(
      "case.yaml",
      """
      cases:
        - {caseId: broken, expected: {stopReason: success}}
        - {caseId: nested, expected: {stopReason: success}}
      """)
    let results = try await Binary.run(
      ["run", "case.yaml", "--runs", "runs", "--json", "--no-summary"], in: folder.path, status: 2
    ).json()
    #expect(
      results["cases"]?[0]?["error"]?.stringValue?.contains("runs/broken.jsonl.gz") == true)
    #expect(
      results["cases"]?[1]?["error"]?.stringValue?.contains("runs/nested/empty.jsonl.gz") == true)
  }

  @Test("--live records the agent of a case and judges that; --runs finds the recording again")
  func live() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    // The recording says otherwise; --live does not look at it.
    try folder.write(
      "case.yaml",
      """
      caseId: letters/and more
      input: Write a letter
      agent: agent.yaml
      recording: \(Fixture.run("tool-failure"))
      tags: [mail]
      expected: {stopReason: success, toolsCalled: [draft], answer: Done.}
      """)
    try await Binary.run(["run", "case.yaml"], in: folder.path, status: 1)
    #expect(!folder.listing.contains { $0.hasPrefix("runs") })
    let results = try await Binary.run(
      ["run", "case.yaml", "--live", "--json", "--out", "runs"], in: folder.path
    ).json()
    let log = try #require(results["cases"]?[0]?["trials"]?[0]?["log"]?.stringValue)
    #expect(folder.listing.contains(log))
    try await Binary.run(["verify", log], in: folder.path)
    let started = try await Binary.run(["show", log, "--json"], in: folder.path).jsonLines()[0]
    #expect(started["data"]?["case"]?["caseId"] == "letters/and more")
    #expect(started["data"]?["tags"] == ["mail"])
    #expect(started["data"]?["goal"] == "Write a letter")

    try folder.write(
      "again.yaml", "caseId: letters/and more\nexpected: {stopReason: success}\n")
    let again = try await Binary.run(
      ["run", "again.yaml", "--runs", "runs", "--json"], in: folder.path
    ).json()
    #expect(again["cases"]?[0]?["trials"]?[0]?["log"]?.stringValue == log)
  }

  @Test("runs go to .agent-eval/runs below the folder of the caller, by a safe name of their case")
  func defaultFolder() async throws {
    let folder = try TemporaryFolder()
    try folder.write("project/agent.yaml", agentFile())
    try folder.write(
      "project/cases/case.yaml",
      """
      caseId: "../../../outside"
      input: Write
      agent: ../agent.yaml
      expected: {stopReason: success}
      """)
    try await Binary.run(["run", "project/cases"], in: folder.path)
    let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
    #expect(logs.count == 1)
    #expect(logs.allSatisfy { $0.hasPrefix(".agent-eval/runs/") })
    #expect(logs.allSatisfy { $0.split(separator: "/").count == 4 })
  }

  @Test("an agent whose tools are commands is not run without --live")
  func commandsNeedLive() async throws {
    let folder = try TemporaryFolder()
    try folder.script("note.sh", "touch ran; echo '{}'")
    try folder.write(
      "agent.yaml",
      """
      name: noter
      tools: [{name: note, sideEffect: read, command: [./note.sh]}]
      model: {script: [{call: {tool: note, input: {}}}, {answer: noted}]}
      """)
    try folder.write(
      "case.yaml",
      "{caseId: c, input: x, agent: agent.yaml, expected: {toolsCalled: [note]}}")
    let refused = try await Binary.run(["run", "case.yaml"], in: folder.path, status: 2)
    #expect(refused.output.contains("--live"))
    #expect(folder.text("ran") == nil)
    try await Binary.run(["run", "case.yaml", "--live"], in: folder.path)
    #expect(folder.text("ran") != nil)
  }

  @Test("a case with neither recording nor agent is an error that says what to add")
  func nothingToJudge() async throws {
    let folder = try TemporaryFolder()
    try folder.write("case.yaml", "{caseId: c, input: x, expected: {stopReason: success}}")
    let plain = try await Binary.run(["run", "case.yaml"], in: folder.path, status: 2)
    #expect((plain.output + plain.errors).contains("recording"))
    try folder.write(
      "recorded.yaml",
      "{caseId: c, recording: \(Fixture.run("refund-drafted")), expected: {stopReason: success}}")
    let live = try await Binary.run(["run", "recorded.yaml", "--live"], in: folder.path, status: 2)
    #expect(live.output.contains("names no agent to run"))
  }

  @Test("cases, agents and recordings are found from any folder")
  func anyFolder() async throws {
    let folder = try TemporaryFolder()
    try await Binary.run(
      ["run", Project.path("EvalCases"), "--out", folder.path("runs")], in: "/")
    try await Binary.run(
      ["run", "../EvalCases", "--out", folder.path("runs")], in: Project.path("Fixtures"))
    try await Binary.run(
      ["check", Project.path("EvalCases"), Project.path("Fixtures/agents")], in: folder.path)
  }

  @Test("a run that is called off says so of every case it did not judge")
  func calledOff() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", sleeperFile)
    try folder.write(
      "case.yaml",
      """
      cases:
        - {caseId: first, input: x, agent: agent.yaml, expected: {stopReason: success}}
        - {caseId: second, input: x, agent: agent.yaml, expected: {stopReason: success}}
      """)
    let outcome = try await shell(
      """
      "$0" run case.yaml --live --jobs 1 --json & pid=$!
      until [ -e begun ]; do sleep 0.02; done
      kill -TERM $pid; wait $pid
      """, in: folder.path, status: 2)
    let results = try outcome.json()
    // What was called off says nothing of the agent.
    #expect(results["cases"]?[0]?["outcome"] == "error")
    #expect(results["cases"]?[0]?["trials"]?[0]?["error"]?.stringValue?.contains("SIGTERM") == true)
    #expect(results["cases"]?[1]?["outcome"] == "inconclusive")
    #expect(results["cases"]?[1]?["notRun"] == "called off before it began (SIGTERM)")
    #expect(!folder.listing.contains { $0.hasSuffix(".open") })
  }
}
