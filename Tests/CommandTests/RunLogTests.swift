import AgentTrace
import TestSupport
import Testing

/// What stands for a log on the command line.
@Suite("Logs by other names than their paths")
struct RunLogTests {
  /// A folder with runs of an agent, the last with the highest seed; and the path and identifier of each.
  private static func recorded(
    _ seeds: [Int], in folder: TemporaryFolder, fixed: Bool = false
  ) async throws -> [(log: String, id: String)] {
    try folder.write("agent.yaml", agentFile())
    var runs: [(String, String)] = []
    for seed in seeds {
      let made = try await Binary.run(
        ["record", "agent.yaml", "x", "--seed", "\(seed)", "--json"]
          + (fixed ? ["--fixed-clock"] : []),
        in: folder.path
      ).json()
      runs.append((made["log"]?.stringValue ?? "", made["runId"]?.stringValue ?? ""))
    }
    return runs
  }

  @Test("latest is the run whose log was written last, wherever a log is asked for")
  func latest() async throws {
    let folder = try TemporaryFolder()
    let runs = try await Self.recorded([5, 3, 9], in: folder)
    let last = try #require(runs.last)
    let list = try await Binary.run(["list", "--json"], in: folder.path).jsonLines()
    #expect(list.first?["runId"] == .string(last.id))
    for line in [
      ["show", "latest"], ["replay", "latest", "--step", "1"], ["diff", "latest", last.log],
      ["diff", last.log, "latest"], ["verify", "latest"], ["replay", "latest", "-c", "state"],
      ["replay", "latest", "--reexecute", "--agent", "agent.yaml"],
      ["export", "atif", "latest", "-o", "out.json"], ["show", "latest", "--html", "page.html"],
      [
        "promote", "latest", "--into", "made", "--whole", "--expect",
        #"{"toolsNotCalled": ["draft"]}"#,
      ],
      ["fork", "latest", "--at", "event:1", "--agent", "agent.yaml", "-o", "forked", "--json"],
      ["scrub", "latest"], ["show", String(last.id.prefix(8))], ["show", last.id],
    ] {
      let outcome = try await Binary.run(line, in: folder.path)
      #expect(outcome.errors.contains("log    \(last.log)\n"), "\(outcome)")
    }
    // A file of the name goes first, and says nothing.
    try await shell("cp \(runs[0].log) latest", in: folder.path)
    let file = try await Binary.run(["show", "latest"], in: folder.path)
    #expect(file.output.contains(runs[0].id) && !file.errors.contains("log "), "\(file)")
  }

  @Test(
    "what a run says of when it was does not count, whether it lived on a clock of its own or long ago"
  )
  func ownClock() async throws {
    let folder = try TemporaryFolder()
    let old = try await Self.recorded([2], in: folder)
    let runs = try await Self.recorded([4, 1, 7], in: folder, fixed: true)
    for (log, id) in runs.reversed() + old {
      try await shell("touch \(log); sleep 0.02", in: folder.path)
      let shown = try await Binary.run(["show", "latest"], in: folder.path)
      #expect(shown.errors.contains("log    \(log)") && shown.output.contains(id), "\(shown)")
    }
  }

  @Test("a beginning of several identifiers is refused with all of them, one of none says so")
  func ambiguous() async throws {
    let folder = try TemporaryFolder()
    let runs = try await Self.recorded([1, 2], in: folder)
    let source = runs[0].log
    for name in ["abcd-1", "abcd-2"] {
      try await shell("cp \(source) .agent-eval/runs/\(name).jsonl.gz", in: folder.path)
    }
    let refused = try await Binary.run(["show", "abcd"], in: folder.path, status: 2)
    #expect(refused.errors.contains("beginning of 2 runs"), "\(refused)")
    #expect(
      refused.errors.contains("abcd-1.jsonl.gz") && refused.errors.contains("abcd-2.jsonl.gz"))
    try await Binary.run(["show", "abcd-1"], in: folder.path)
    let none = try await Binary.run(["show", "ffffffff"], in: folder.path, status: 2)
    #expect(none.errors.contains("ffffffff"))
    for (word, meant) in [("lastest", "latest"), ("last-fail", "last-failed")] {
      let slip = try await Binary.run(["show", word], in: folder.path, status: 2)
      #expect(slip.errors.contains("did you mean “\(meant)”?"), "\(slip)")
    }
    // Too short to mean one.
    try await Binary.run(["show", "abc"], in: folder.path, status: 2)
  }

  @Test(
    "last-failed is the first case that failed in the last run, and run --last-failed judges those alone"
  )
  func lastFailed() async throws {
    let folder = try TemporaryFolder()
    let none = try await Binary.run(["show", "last-failed"], in: folder.path, status: 2)
    #expect(none.errors.contains("no case was judged here yet"))
    let log = Fixture.run("refund-drafted")
    func suite(_ stop: String) throws {
      try folder.write(
        "cases.yaml",
        """
        cases:
          - {caseId: a, recording: \(log), expected: {stopReason: success}}
          - {caseId: b, recording: \(log), expected: {stopReason: \(stop)}}
          - {caseId: c, recording: \(log), expected: {toolsNotCalled: ["*"]}}
        """)
    }
    try suite("success")
    let first = try await Binary.run(
      ["run", "--last-failed", "cases.yaml"], in: folder.path, status: 1)
    #expect(first.errors.contains("no case was judged here yet"), "\(first)")
    try suite("tool_failure")
    for options in [[], ["--json"], ["--jobs=1"]] {
      try await Binary.run(["run", "cases.yaml"] + options, in: folder.path, status: 1)
      for word in ["last-failed", "--last-failed"] {
        let shown = try await Binary.run(["show", word], in: folder.path)
        #expect(shown.errors.contains("log    \(log)"), "\(shown)")
      }
    }
    let again = try await Binary.run(
      ["run", "--last-failed", "cases.yaml", "--json"], in: folder.path, status: 1
    ).json()
    #expect(again["cases"]?.arrayValue?.compactMap { $0["caseId"]?.stringValue } == ["b", "c"])
    // Nobody asks for the others: their baselines are not gone.
    try await Binary.run(["accept", "cases.yaml", "--all"], in: folder.path)
    let compared = try await Binary.run(
      ["run", "--last-failed", "cases.yaml", "--against", "accepted"], in: folder.path)
    #expect(!compared.output.contains("GONE") && compared.output.contains("2 same"), "\(compared)")
    // One that was judged alone and passes is gone from the list; the other stays.
    try suite("success")
    try await Binary.run(["run", "cases.yaml", "-f", "b"], in: folder.path)
    let left = try await Binary.run(
      ["run", "--last-failed", "cases.yaml", "--json"], in: folder.path, status: 1
    ).json()
    #expect(left["cases"]?.arrayValue?.count == 1 && left["cases"]?[0]?["caseId"] == "c")
    // Nothing failed: everything is judged, which is told.
    try folder.write(
      "cases.yaml", "caseId: a\nrecording: \(log)\nexpected: {stopReason: success}\n")
    try await Binary.run(["run", "cases.yaml"], in: folder.path)
    let all = try await Binary.run(["run", "cases.yaml", "--last-failed"], in: folder.path)
    #expect(all.errors.contains("each case passed in the last run here"))
    #expect(all.output.contains("1 case: 1 passed"))
    let gone = try await Binary.run(["show", "last-failed"], in: folder.path, status: 2)
    #expect(gone.errors.contains("each case passed in the last agent-eval run"))
    // A file that nobody could have written is refused.
    for text in ["{}", "[", #"{"schema":"agent-eval/last-run/1","failed":[],"isWhole":false}"#] {
      try folder.write(".agent-eval/last-run.json", text)
      let refused = try await Binary.run(["show", "last-failed"], in: folder.path, status: 2)
      #expect(refused.errors.contains("last-run.json"), "\(refused)")
    }
  }

  @Test(
    "what was inconclusive is judged again by --last-failed, and is last-failed where nothing failed"
  )
  func lastOpen() async throws {
    let folder = try TemporaryFolder()
    let (log, other) = (Fixture.run("refund-drafted"), Fixture.run("tool-failure"))
    func judge(_ stop: String, status: Int32) async throws {
      try folder.write(
        "cases.yaml",
        """
        cases:
          - {caseId: a, recording: \(log), expected: {stopReason: success}}
          - {caseId: b, recording: \(log), expected: {eachCall: [{tool: nothing_like_it, status: ok}]}}
          - {caseId: c, recording: \(other), expected: {stopReason: \(stop)}}
        """)
      try await Binary.run(["run", "cases.yaml"], in: folder.path, status: status)
    }
    try await judge("success", status: 1)
    let failed = try await Binary.run(["show", "last-failed"], in: folder.path)
    #expect(failed.errors.contains("log    \(other)"), "\(failed)")
    let again = try await Binary.run(
      ["run", "--last-failed", "cases.yaml", "--json"], in: folder.path, status: 1
    ).json()
    #expect(again["cases"]?.arrayValue?.compactMap { $0["caseId"]?.stringValue } == ["b", "c"])
    try await judge("tool_failure", status: 3)
    let open = try await Binary.run(["show", "last-failed"], in: folder.path)
    #expect(open.errors.contains("log    \(log)"), "\(open)")
  }

  @Test("a filter that fits nothing is told with the nearest id or tag")
  func nearestFilter() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "cases.yaml",
      """
      - caseId: refund-waits
        tags: [nightly]
        recording: \(Fixture.run("refund-drafted"))
        expected: {stopReason: success}
      """)
    for (filter, told) in [
      ("refund-wiats", "did you mean “refund-waits”?\n"), ("nightli", "did you mean “nightly”?\n"),
      ("zebra", "a tag like “zebra”.\n"),
    ] {
      let refused = try await Binary.run(
        ["run", "cases.yaml", "--filter", filter], in: folder.path, status: 2)
      #expect(refused.errors.hasSuffix(told), "\(refused)")
    }
  }
}
