import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching
import TraceStorage

@Suite("accept, and run --against")
struct AcceptVerbTests {
  /// An agent whose calls are these, with a policy that lets everything run.
  private static func agent(_ calls: [String], answer: String = "Done.", cost: Double = 0.001)
    -> String
  {
    """
    name: clerk
    tools:
      - {name: look, sideEffect: read, scripted: [{ok: {found: 1}}]}
      - {name: file, sideEffect: draft, scripted: [{ok: {filed: true}}]}
    model:
      script:
    \(calls.map { "    - call: \($0)\n      usage: {inputTokens: 90, outputTokens: 10, cost: \(cost)}\n" }.joined())
        - answer: \(answer)
          usage: {inputTokens: 90, outputTokens: 10, cost: \(cost)}
    """
  }

  private static let calls = ["{tool: look, input: {id: 1}}", "{tool: file, input: {id: 1}}"]

  private static func cases(_ ids: [String], expected: String = "{toolsCalled: [look]}") -> String {
    ids.map {
      "- {caseId: \"\($0)\", input: go, agent: clerk.yaml, expected: \(expected)}\n"
    }.joined()
  }

  /// A folder with an agent and cases whose baselines are there.
  private static func accepted(_ ids: [String] = ["one"]) async throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("clerk.yaml", agent(calls))
    try folder.write("cases.yaml", cases(ids))
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    return folder
  }

  private static func run(
    _ folder: TemporaryFolder, _ arguments: [String] = [], ci: Bool = false, status: Int32?
  ) async throws -> Command.Outcome {
    try await Binary.run(
      ["run", ".", "--against", "accepted"] + arguments, in: folder.path,
      environment: ci ? ["CI": "true"] : [:], status: status)
  }

  @Test("what an agent is made of that another calls is part of what was accepted")
  func agentsBelow() async throws {
    func grandchild(_ system: String) -> String {
      "name: grand\nsystem: \(system)\nmodel: {script: [{answer: done}]}\n"
    }
    let folder = try TemporaryFolder()
    try folder.write("team/below/grand.yaml", grandchild("Be kind."))
    try folder.write(
      "team/child.yaml",
      """
      name: child
      tools: [{agent: below/grand.yaml, name: ask}]
      model: {script: [{call: {tool: ask, input: {task: go}}}, {answer: done}]}
      """)
    try folder.write(
      "clerk.yaml",
      """
      name: clerk
      tools: [{agent: team/child.yaml, name: ask}]
      model: {script: [{call: {tool: ask, input: {task: go}}}, {answer: done}]}
      """)
    try folder.write(
      "cases.yaml",
      "- {caseId: one, input: go, agent: clerk.yaml, expected: {stopReason: success}}\n")
    try await Binary.run(["accept", ".", "--all", "--live"], in: folder.path)
    try await Binary.run(
      ["run", ".", "--live", "--against", "accepted", "--strict"], in: folder.path)
    // Layout is no part of it.
    try folder.write("team/below/grand.yaml", "# kinder\n" + grandchild("Be kind."))
    try await Binary.run(
      ["run", ".", "--live", "--against", "accepted", "--strict"], in: folder.path)
    try folder.write("team/below/grand.yaml", grandchild("Be rude."))
    let told = try await Binary.run(
      ["run", ".", "--live", "--against", "accepted", "--strict"], in: folder.path, status: 1)
    #expect(told.output.contains("CHANGED"), "\(told)")
    try await Binary.run(["run", ".", "--live", "--against", "accepted"], in: folder.path)
  }

  @Test(
    "what a run below might use that is more than was accepted is as much worse as of the root",
    arguments: [true, false])
  func limitsBelow(isRecording: Bool) async throws {
    let folder = try TemporaryFolder()
    func write(_ limits: String) async throws {
      try folder.write(
        "child.yaml",
        "name: child\nlimits: \(limits)\nmodel: {script: [{answer: done}]}\n")
      guard isRecording else { return }
      try await shell("rm -rf rec", in: folder.path)
      try await Binary.run(
        [
          "record", "clerk.yaml", "go", "--out", "rec/root.jsonl.gz", "--seed", "1",
          "--fixed-clock",
        ],
        in: folder.path)
    }
    try folder.write(
      "clerk.yaml",
      """
      name: clerk
      limits: {maxTokens: 5000}
      tools: [{agent: child.yaml, name: ask}]
      model: {script: [{call: {tool: ask, input: {task: go}}}, {answer: done}]}
      """)
    let which = isRecording ? "recording: rec/root.jsonl.gz" : "input: go, agent: clerk.yaml"
    try folder.write("cases.yaml", "- {caseId: one, \(which), expected: {stopReason: success}}\n")
    let live = isRecording ? [] : ["--live"]
    try await write("{maxSteps: 3, maxToolCalls: 7}")
    try await Binary.run(["accept", ".", "--all"] + live, in: folder.path)
    let text = try #require(folder.text("accepted/one.txt"))
    #expect(
      text.contains("  below ask limits {\"maxSteps\":3,\"maxToolCalls\":7}\n"), "\(text)")
    for (limits, word) in [
      ("{maxSteps: 3, maxToolCalls: 7}", "same"), ("{maxSteps: 2, maxToolCalls: 7}", "changed"),
      ("{maxSteps: 9, maxToolCalls: 7}", "REGRESSED"), ("{maxSteps: 3}", "REGRESSED"),
    ] {
      try await write(limits)
      let told = try await Self.run(folder, live, status: word == "REGRESSED" ? 1 : 0)
      #expect(told.output.hasPrefix(word), "\(limits): \(told)")
      #expect(told.output.contains("limits of ask") == (word != "same"), "\(limits): \(told)")
    }
    // A baseline that says nothing of the runs below is read as before.
    let old = text.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("  below ") }.joined(separator: "\n")
    try folder.write("accepted/one.txt", old)
    try await write("{maxSteps: 9, maxToolCalls: 7}")
    let told = try await Self.run(folder, live, status: 0)
    #expect(told.output.hasPrefix(isRecording ? "same" : "changed"), "\(told)")
  }

  // MARK: Damage

  @Test("a recording that another takes the place of, of a run to another end, is a regression")
  func otherGoal() async throws {
    let folder = try TemporaryFolder()
    var reader = try LogReader(path: Fixture.run("refund-drafted"))
    var events: [Event] = []
    while let event = try reader.next() { events.append(event) }
    try writeLog(events, to: folder.path("run.jsonl.gz"))
    try folder.write(
      "cases.yaml",
      "cases: [{caseId: one, recording: run.jsonl.gz, expected: {stopReason: success}}]\n")
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    let text = try #require(folder.text("accepted/one.txt"))
    #expect(text.contains("\n  goal \"Refund order 1234\"\n"), "\(text)")
    try await Binary.run(["run", ".", "--against", "accepted"], in: folder.path)
    events[0].data["goal"] = "Delete order 77"
    try FileManager.default.removeItem(atPath: folder.path("run.jsonl.gz"))
    try writeLog(events, to: folder.path("run.jsonl.gz"))
    let outcome = try await Binary.run(
      ["run", ".", "--against", "accepted"], in: folder.path, status: 1)
    let told = #"the run had another goal: "Refund order 1234" → "Delete order 77""#
    #expect(outcome.output.contains(told), "\(outcome)")
  }

  @Test(
    "what a pipeline was given is its goal, so that a recording of another input is a regression")
  func goalOfPipeline() async throws {
    let folder = try TemporaryFolder()
    var reader = try LogReader(path: Project.path("Fixtures/pipeline-runs/review.jsonl.gz"))
    var events: [Event] = []
    while let event = try reader.next() { events.append(event) }
    try writeLog(events, to: folder.path("run.jsonl.gz"))
    for (input, line) in [("", #"  goal "{\"repo\":\"wc\"}""#), ("input: {repo: wc}", nil)] {
      try folder.write(
        "cases.yaml",
        "caseId: one\nrecording: run.jsonl.gz\n\(input)\nexpected: {stopReason: success}\n")
      try await Binary.run(["accept", ".", "--all"], in: folder.path)
      let text = try #require(folder.text("accepted/one.txt"))
      #expect(
        text.split(separator: "\n").first { $0.hasPrefix("  goal ") }.map(String.init) == line)
      try await Binary.run(["run", ".", "--against", "accepted"], in: folder.path)
    }
    events[0].data["input"] = ["repo": "production"]
    try FileManager.default.removeItem(atPath: folder.path("run.jsonl.gz"))
    try writeLog(events, to: folder.path("run.jsonl.gz"))
    let outcome = try await Binary.run(
      ["run", ".", "--against", "accepted"], in: folder.path, status: 1)
    #expect(outcome.output.contains("the run had another goal: "), "\(outcome)")
  }

  @Test("a damaged baseline is neither a regression nor green, and is told with its line")
  func damaged() async throws {
    let folder = try await Self.accepted()
    let text = try #require(folder.text("accepted/one.txt"))
    for (damage, place) in [
      (String(text.dropLast(9)), "accepted/one.txt:"), ("", "accepted/one.txt:1: "),
      (text + "\u{1b}[2J\n", "accepted/one.txt:\(text.utf8.count { $0 == 10 } + 1): "),
      (text.replacing("case one", with: "case two"), "accepted/one.txt:2: "),
      (text.replacing("accepted/2", with: "accepted/7"), "accepted/one.txt:1: format version 7"),
    ] {
      try folder.write("accepted/one.txt", damage)
      for ci in [false, true] {
        let outcome = try await Self.run(folder, ci: ci, status: 2)
        #expect(outcome.output.contains("NOT COMPARED one"), "\(outcome)")
        #expect(outcome.output.contains(place), "\(outcome)")
        #expect(!outcome.output.contains("REGRESSED") && !outcome.output.contains("\u{1b}"))
      }
    }
    // What is there and no file is no baseline either, and nothing waits for it.
    try FileManager.default.removeItem(atPath: folder.path("accepted/one.txt"))
    try await shell("mkfifo accepted/one.txt", in: folder.path)
    _ = try await Self.run(folder, status: 2)
  }

  @Test("accepting anew mends a damaged baseline")
  func mended() async throws {
    let folder = try await Self.accepted()
    let text = folder.text("accepted/one.txt")
    try folder.write("accepted/one.txt", "nonsense\n")
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    #expect(folder.text("accepted/one.txt") == text)
    #expect(folder.listing.filter { $0.hasPrefix("accepted") } == ["accepted", "accepted/one.txt"])
  }

  @Test("what cannot be judged is not accepted; the others are")
  func unjudged() async throws {
    let folder = try TemporaryFolder()
    try folder.write("clerk.yaml", Self.agent(Self.calls))
    try folder.write(
      "cases.yaml",
      Self.cases(["good"])
        + "- {caseId: bad, recording: none.jsonl.gz, expected: {stopReason: success}}\n")
    let outcome = try await Binary.run(["accept", ".", "--all"], in: folder.path, status: 2)
    #expect(outcome.errors.contains("bad was not accepted"))
    #expect(folder.listing.contains("accepted/good.txt"))
    #expect(!folder.listing.contains("accepted/bad.txt"))
  }

  @Test(
    "case ids never leave the folder, and two never share a file",
    arguments: [["../../out", "a/b", "a_b", "..", "é", "e\u{301}", "-x", ".hidden", "a b"]])
  func names(ids: [String]) async throws {
    let folder = try await Self.accepted(ids)
    let files = folder.listing.filter { $0.hasPrefix("accepted/") }
    #expect(files.count == ids.count, "\(files)")
    #expect(files.allSatisfy { $0.split(separator: "/").count == 2 && $0.hasSuffix(".txt") })
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/../out.txt"))
    let outcome = try await Self.run(folder, ci: true, status: 0)
    #expect(outcome.output.contains("\(ids.count) same"), "\(outcome)")
  }

  @Test("a file that cannot be written is an error, and nothing is lost")
  func unwritable() async throws {
    let folder = try TemporaryFolder()
    try folder.write("clerk.yaml", Self.agent(Self.calls))
    try folder.write("cases.yaml", Self.cases(["one"]))
    try folder.write("accepted", "a file in the way\n")
    let outcome = try await Binary.run(["accept", ".", "--all"], in: folder.path, status: 2)
    #expect(outcome.errors.contains("accepted/one.txt: "), "\(outcome)")
    #expect(folder.text("accepted") == "a file in the way\n")
  }

  // MARK: Where CI is set

  @Test("nothing is accepted where CI is set, unless that is asked for")
  func refused() async throws {
    let folder = try TemporaryFolder()
    try folder.write("clerk.yaml", Self.agent(Self.calls))
    try folder.write("cases.yaml", Self.cases(["one"]))
    let outcome = try await Binary.run(
      ["accept", ".", "--all"], in: folder.path, environment: ["CI": "true"], status: 2)
    #expect(outcome.errors.contains("--ci") && !folder.listing.contains("accepted"))
    try await Binary.run(
      ["accept", ".", "--all", "--ci"], in: folder.path, environment: ["CI": "true"])
    #expect(folder.listing.contains("accepted/one.txt"))
  }

  @Test("a case without baseline is new, and fails where CI is set")
  func missing() async throws {
    let folder = try await Self.accepted()
    try folder.write("more.yaml", Self.cases(["two"]))
    let outcome = try await Self.run(folder, status: 0)
    #expect(outcome.output.contains("new          two"), "\(outcome)")
    let failed = try await Self.run(folder, ci: true, status: 1)
    #expect(
      failed.output.contains("nothing was accepted of it yet; agent-eval accept writes"),
      "\(failed)")
    // Outside of CI a new case counts by its own outcome.
    try folder.write("more.yaml", Self.cases(["two"], expected: "{toolsNotCalled: [look]}"))
    _ = try await Self.run(folder, status: 1)
  }

  // MARK: Comparing

  @Test("what was accepted is the same again, byte for byte, also elsewhere")
  func stable() async throws {
    let folder = try await Self.accepted(["one", "two"])
    let again = try await Self.accepted(["one", "two"])
    for file in ["accepted/one.txt", "accepted/two.txt"] {
      #expect(folder.text(file) == again.text(file))
      #expect(folder.text(file)?.contains(folder.path) == false)
    }
    let outcome = try await Binary.run(["accept", ".", "--all"], in: folder.path)
    #expect(outcome.output == "\n2 unchanged\n")
    let compared = try await Self.run(folder, ci: true, status: 0)
    #expect(compared.output.hasSuffix("2 cases: 2 passed, against accepted: 0 regressed, 2 same\n"))
  }

  @Test("what has changed is told, and breaks nothing unless nothing may change")
  func changed() async throws {
    let folder = try await Self.accepted()
    try folder.write(
      "clerk.yaml", Self.agent([Self.calls[0], "{tool: file, input: {id: 2, note: new}}"]))
    let outcome = try await Self.run(folder, ci: true, status: 0)
    #expect(
      outcome.output.hasPrefix(
        """
        changed      one  1 of 1 check  ./cases.yaml:1
                     first difference, step 2
                       · call 2 (file) /id: 1 → 2
                     further differences
                       · call 2 (file) /note: nothing → "new"
        """), "\(outcome)")
    let strict = try await Self.run(folder, ["--strict"], status: 1)
    #expect(strict.output.hasPrefix("CHANGED      one"), "\(strict)")
    try folder.write("defaults.yaml", "defaults: {strict: true}\n")
    _ = try await Self.run(folder, status: 1)
    try folder.write(
      "cases.yaml", Self.cases(["one"]).replacing("input: go", with: "strict: false, input: go"))
    _ = try await Self.run(folder, status: 0)
    try await Binary.run(["run", ".", "--strict"], in: folder.path, status: 64)
  }

  @Test("an edited input, agent or person is a regression until it is accepted")
  func edited() async throws {
    let folder = try await Self.accepted()
    try folder.write("other.yaml", Self.agent(Self.calls))
    for (old, new, told) in [
      ("input: go", "input: go on", "✗ the case's input was edited: \"go\" → \"go on\""),
      (
        "agent: clerk.yaml", "agent: other.yaml",
        "✗ the case names another agent: \"clerk.yaml\" → \"other.yaml\""
      ),
      (
        "input: go", "human: {approvals: [{granted: true}]}, input: go",
        "✗ the case's human was edited: nothing →"
      ),
    ] {
      try folder.write("cases.yaml", Self.cases(["one"]).replacing(old, with: new))
      let outcome = try await Self.run(folder, status: 1)
      #expect(outcome.output.contains(told), "\(outcome)")
      try await Binary.run(["accept", ".", "--all"], in: folder.path)
      _ = try await Self.run(folder, status: 0)
      try folder.write("cases.yaml", Self.cases(["one"]))
      try await Binary.run(["accept", ".", "--all"], in: folder.path)
    }
  }

  @Test("a baseline of the first version is read, and what it lacks is not compared")
  func firstVersion() async throws {
    let folder = try await Self.accepted()
    let text = try #require(folder.text("accepted/one.txt"))
    let facts = [
      "input ", "agent ", "agentFile ", "  model ", "  limits ", "  policyContext ", "  answer ",
    ]
    let older = text.replacing("accepted/2", with: "accepted/1")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .filter { line in !facts.contains { line.hasPrefix($0) } }.joined(separator: "\n")
    try folder.write("accepted/one.txt", older)
    try folder.write("clerk.yaml", Self.agent(Self.calls, answer: "Otherwise."))
    let outcome = try await Self.run(folder, status: 0)
    #expect(outcome.output.hasPrefix("same         one"), "\(outcome)")
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    #expect(folder.text("accepted/one.txt")?.hasPrefix("agent-eval/accepted/2\n") == true)
  }

  @Test("growth beyond the tolerance is a regression, and the tolerance can be said")
  func tolerance() async throws {
    let folder = try await Self.accepted()
    try folder.write("clerk.yaml", Self.agent(Self.calls, cost: 0.0011))
    _ = try await Self.run(folder, status: 0)
    _ = try await Self.run(folder, ["--tolerance", "0"], status: 1)
    let outcome = try await Self.run(folder, ["--tolerance=cost=9"], status: 1)
    #expect(outcome.output.contains("✗ cost: 0.003 → 0.0033 (+10%)"), "\(outcome)")
    _ = try await Self.run(folder, ["--tolerance=0", "--tolerance=cost=10"], status: 0)
    for wrong in ["-1", "x", "speed=3", "cost=", "=3", "nan"] {
      _ = try await Self.run(folder, ["--tolerance=\(wrong)"], status: 64)
    }
    try await Binary.run(["run", ".", "--tolerance=3"], in: folder.path, status: 64)
  }

  @Test("a case that fails as it was accepted breaks no build; one that fails otherwise does")
  func failing() async throws {
    let folder = try TemporaryFolder()
    try folder.write("clerk.yaml", Self.agent(Self.calls))
    let asked = "{toolsNotCalled: [look], answer: {$contains: Done}}"
    try folder.write("cases.yaml", Self.cases(["one"], expected: asked))
    try await Binary.run(["run", "."], in: folder.path, status: 1)
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    let outcome = try await Self.run(folder, ci: true, status: 0)
    #expect(outcome.output.contains("same         one  failed as accepted"), "\(outcome)")
    try folder.write("clerk.yaml", Self.agent(Self.calls, answer: "Gone."))
    let worse = try await Self.run(folder, status: 1)
    #expect(worse.output.contains("✗ answer: pass → fail"), "\(worse)")
    try folder.write("clerk.yaml", Self.agent([Self.calls[1]]))
    let better = try await Self.run(folder, status: 0)
    #expect(better.output.contains("fixed        one"), "\(better)")
  }

  @Test("deleted and weakened expectations are told as such, and so is a case that is left out")
  func weakened() async throws {
    let folder = try TemporaryFolder()
    try folder.write("clerk.yaml", Self.agent(Self.calls))
    let asked =
      "{toolsCalled: [{tool: look, input: {id: 1}}, file], maxSteps: 5, stopReason: success}"
    try folder.write("cases.yaml", Self.cases(["one", "two"], expected: asked))
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    let looser = "{toolsCalled: [look], maxSteps: 9, stopReason: [success, blocked]}"
    try folder.write("cases.yaml", Self.cases(["one", "two"], expected: looser))
    let outcome = try await Self.run(folder, ["--filter", "one"], status: 1)
    for line in [
      "✗ expectation weakened: stopReason \"success\" → [\"success\",\"blocked\"]",
      "✗ expectation weakened: toolsCalled[0] {\"input\":{\"id\":1},\"tool\":\"look\"} → \"look\"",
      "✗ expectation deleted: toolsCalled[1] \"file\"",
      "✗ expectation weakened: maxSteps 5 → 9",
    ] {
      #expect(outcome.output.contains(line), "\(outcome)")
    }
    try folder.write(
      "cases.yaml",
      Self.cases(["one", "two"], expected: asked).replacing(
        "input: go", with: "skip: later, input: go"))
    let skipped = try await Self.run(folder, status: 1)
    #expect(skipped.output.contains("✗ the case is left out: judged → left out: later"))
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    // It keeps what was accepted of its runs, and is as it was accepted once it is judged again.
    #expect(folder.text("accepted/one.txt")?.contains("skip \"later\"") == true)
    #expect(folder.text("accepted/one.txt")?.contains("call look") == true)
    try folder.write("cases.yaml", Self.cases(["one", "two"], expected: asked))
    _ = try await Self.run(folder, status: 0)
  }

  @Test("a baseline whose case is gone is named, and removed when that is asked for")
  func orphans() async throws {
    let folder = try await Self.accepted(["one", "two"])
    try folder.write("cases.yaml", Self.cases(["one"]))
    let outcome = try await Self.run(folder, status: 1)
    #expect(outcome.output.contains("GONE         two  ./accepted/two.txt"), "\(outcome)")
    _ = try await Self.run(folder, ["--filter", "one"], status: 0)
    let named = try await Binary.run(["accept", ".", "--all"], in: folder.path)
    #expect(named.output.contains("orphan: ./accepted/two.txt"), "\(named)")
    #expect(folder.listing.contains("accepted/two.txt"))
    try await Binary.run(["accept", ".", "--all", "--delete-orphans"], in: folder.path)
    #expect(!folder.listing.contains("accepted/two.txt"))
    _ = try await Self.run(folder, status: 0)
    // A file that is named knows nothing of the other files beside it; their cases are not gone.
    try folder.write("more.yaml", Self.cases(["three"]))
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    try await Binary.run(["run", "cases.yaml", "--against", "accepted"], in: folder.path)
  }

  @Test("a folder elsewhere and saved results are compared with as well")
  func elsewhere() async throws {
    let folder = try await Self.accepted(["one", "two"])
    let results = try await Binary.run(["run", ".", "--json"], in: folder.path)
    let saved = try TemporaryFolder()
    let old = try saved.write("old.json", results.outputBytes)
    try await shell(
      "mkdir base && mv accepted base/ && cp -r base flat && mv flat/accepted/* flat/",
      in: folder.path)
    for path in ["base", "base/accepted", "flat", old] {
      let same = try await Binary.run(
        ["run", ".", "--against", path], in: folder.path, environment: ["CI": "1"])
      #expect(same.output.contains("against \(path): 0 regressed, 2 same"), "\(same)")
    }
    try folder.write("clerk.yaml", Self.agent([Self.calls[1]]))
    for path in ["base", old] {
      let worse = try await Binary.run(
        ["run", ".", "--against", path], in: folder.path, status: 1)
      #expect(worse.output.contains("✗ toolsCalled[0]: pass → fail"), "\(worse)")
    }
    for (path, text) in [
      ("nowhere", "no such file or folder"), ("clerk.yaml", "no results of"),
      ("base/empty", "no such"),
    ] {
      let outcome = try await Binary.run(
        ["run", ".", "--against", path], in: folder.path, status: 2)
      #expect(outcome.errors.contains(text), "\(outcome)")
    }
  }

  @Test("of several runs each is held against the accepted one that it is most like")
  func severalRuns() async throws {
    let folder = try TemporaryFolder()
    try folder.write("cases.yaml", Self.cases(["one"], expected: "{stopReason: success}"))
    func record(_ calls: [String], _ seed: Int) async throws {
      try folder.write("clerk.yaml", Self.agent(calls))
      try await Binary.run(
        ["record", "clerk.yaml", "go", "--seed", "\(seed)", "--out", "runs/one/\(seed).jsonl.gz"],
        in: folder.path)
    }
    for seed in 1...3 { try await record(seed == 2 ? Self.calls.reversed() : Self.calls, seed) }
    let arguments = [".", "--runs", "runs"]
    try await Binary.run(["accept", "--all"] + arguments, in: folder.path)
    #expect(folder.text("accepted/one.txt")?.split(separator: "run pass").count == 3)
    let same = try await Binary.run(
      ["run", "--against", "accepted"] + arguments, in: folder.path)
    #expect(same.output.contains("same         one"), "\(same)")
    try await record(["{tool: look, input: {id: 9}}", Self.calls[1]], 4)
    let other = try await Binary.run(
      ["run", "--against", "accepted"] + arguments, in: folder.path)
    #expect(other.output.contains("run 4\n"), "\(other)")
    #expect(other.output.contains("· call 1 (look) /id: 1 → 9"), "\(other)")
  }

  // MARK: Reports

  @Test("every report tells a regression, and the results fit their schema")
  func reports() async throws {
    let folder = try await Self.accepted(["one", "two", "three"])
    try folder.write("clerk.yaml", Self.agent([Self.calls[1]]))
    try folder.write("cases.yaml", Self.cases(["one", "new"]))
    try folder.write("accepted/one.txt", "damaged\n")
    let formats = ["junit", "markdown", "github", "gitlab", "sarif", "html", "json"]
    let outcome = try await Self.run(
      folder, formats.flatMap { ["--report", "\($0):out/\($0)"] } + ["--json"], status: 1)
    let json = try outcome.json()
    let schema = try JSONSchema(compiling: try await Binary.run(["schema", "results"]).json())
    #expect(schema.validate(json).isEmpty)
    #expect(json["comparison"]?["gone"]?.arrayValue?.count == 2)
    #expect(json["cases"]?[0]?["comparison"]?["fault"] == true)
    for format in formats {
      let text = try #require(folder.text("out/\(format)"))
      #expect(text.contains("accepted/one.txt:1: no accepted case"), "\(format): \(text)")
      #expect(text.contains("the case is gone") || format == "json", "\(format): \(text)")
    }
    try await Binary.run(["accept", ".", "--all", "--delete-orphans"], in: folder.path)
    try folder.write("clerk.yaml", Self.agent(Self.calls))
    let healed = try await Self.run(
      folder, formats.flatMap { ["--report", "\($0):out/\($0)"] }, status: 0)
    #expect(healed.output.contains("2 fixed"), "\(healed)")
    #expect(folder.text("out/junit")?.contains("failures=\"0\" errors=\"0\"") == true)
    #expect(folder.text("out/github") == "" && folder.text("out/gitlab") == "[]\n")
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    try folder.write(
      "clerk.yaml", Self.agent([Self.calls[0], Self.calls[0]], answer: "x", cost: 1))
    _ = try await Self.run(folder, formats.flatMap { ["--report", "\($0):out/\($0)"] }, status: 1)
    for format in formats where format != "json" {
      let text = try #require(folder.text("out/\(format)"))
      #expect(text.contains("cost: 0.003 → 3") && text.contains("one"), "\(format): \(text)")
    }
  }

  @Test("every report that tells what passed tells what has changed, in a colour of its own")
  func changedReports() async throws {
    let folder = try await Self.accepted()
    try folder.write("clerk.yaml", Self.agent(Self.calls, answer: "Otherwise."))
    let formats = ["junit", "markdown", "github", "gitlab", "sarif", "html", "json"]
    let reports = formats.flatMap { ["--report", "\($0):out/\($0)"] }
    let outcome = try await Self.run(folder, reports, status: 0)
    #expect(outcome.output.contains("answer: \"Done.\" → \"Otherwise.\""), "\(outcome)")
    for (format, sign) in [
      ("junit", "<system-err>changed"), ("markdown", "## 🔶 `one`"), ("github", "::notice "),
      ("html", "class=\"case pass changed\""), ("json", "\"kind\":\"changed\""),
    ] {
      #expect(folder.text("out/\(format)")?.contains(sign) == true, "\(format)")
    }
    #expect(folder.text("out/gitlab") == "[]\n")
    _ = try await Self.run(folder, reports + ["--strict"], status: 1)
    for (format, sign) in [
      ("junit", "<failure type=\"change\""), ("markdown", "## ❌ `one`"), ("github", "::error "),
      ("html", "class=\"case fail\""), ("json", "\"strict\":true"), ("gitlab", "answer: "),
      ("sarif", "\"change\""),
    ] {
      #expect(folder.text("out/\(format)")?.contains(sign) == true, "\(format)")
    }
  }

  @Test("shards are compared each for itself, and merge to the bytes of one run")
  func shards() async throws {
    let folder = try await Self.accepted(["one", "two", "three", "four"])
    try folder.write("cases.yaml", Self.cases(["one", "two", "three", "five"]))
    try folder.write(
      "cases.yaml",
      folder.text("cases.yaml")!.replacing("agent: clerk.yaml", with: "recording: r.jsonl.gz"))
    try await Binary.run(
      ["record", "clerk.yaml", "go", "--seed", "1", "--out", "r.jsonl.gz"], in: folder.path)
    let whole = try await Self.run(folder, ["--json"], status: 1)
    let parts = try TemporaryFolder()
    var files: [String] = []
    for index in 1...3 {
      let part = try await Self.run(folder, ["--json", "--shard", "\(index)/3"], status: nil)
      files.append(try parts.write("\(index).json", part.outputBytes))
    }
    let merged = try await Binary.run(["merge", "--json"] + files, in: folder.path, status: 1)
    #expect(merged.outputBytes == whole.outputBytes)
  }

  @Test("without a terminal and without --all nothing is written, and --all is named")
  func unseen() async throws {
    let folder = try await Self.accepted()
    try await Binary.run(["accept", "."], in: folder.path)
    try folder.write("clerk.yaml", Self.agent([Self.calls[1]]))
    let text = folder.text("accepted/one.txt")
    for environment in [[:], ["CI": "true"]] {
      let arguments = ["accept", "."] + (environment.isEmpty ? [] : ["--ci"])
      let outcome = try await Binary.run(
        arguments, in: folder.path, environment: environment, status: 1)
      #expect(outcome.output.hasSuffix("1 would change\n") && outcome.errors.contains("--all"))
      #expect(folder.text("accepted/one.txt") == text)
    }
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    #expect(folder.text("accepted/one.txt") != text)
    let again = try await Binary.run(["accept", "."], in: folder.path)
    #expect(!again.errors.contains("--all"), "\(again)")
  }

  @Test(
    "whatever variable a service sets, it is CI; empty, 0 and false are not",
    arguments: [
      (["CI": "true"], true), (["GITHUB_ACTIONS": "true"], true), (["GITLAB_CI": "true"], true),
      (["BUILDKITE": "true"], true), (["TF_BUILD": "True"], true),
      (["JENKINS_URL": "http://ci.example"], true), (["CI": "1"], true), ([:], false),
      (["CI": ""], false), (["CI": "0"], false), (["CI": "false"], false), (["CI": "False"], false),
      (["CI": "false", "GITLAB_CI": "true"], true),
    ] as [([String: String], Bool)])
  func services(environment: [String: String], isCI: Bool) async throws {
    let folder = try await Self.accepted()
    let outcome = try await Binary.run(
      ["accept", ".", "--all"], in: folder.path, environment: environment, status: nil)
    #expect((outcome.status == 2) == isCI, "\(outcome)")
    let script = "source \"$1\"; is_under_ci"
    let shell = try await Command(
      program: "/bin/bash", arguments: ["-c", script, "bash", Project.path("bin/setup.bash")],
      environment: environment
    ).run(status: nil)
    #expect((shell.status == 0) == isCI, "\(shell)")
  }

  @Test("--dry-run writes nothing, and says whether something would change")
  func dryRun() async throws {
    let folder = try await Self.accepted()
    try await Binary.run(["accept", ".", "--dry-run"], in: folder.path, environment: ["CI": "1"])
    try folder.write("clerk.yaml", Self.agent([Self.calls[1]]))
    let text = folder.text("accepted/one.txt")
    let outcome = try await Binary.run(["accept", ".", "--dry-run"], in: folder.path, status: 1)
    #expect(
      outcome.output.contains("  -   call look") && outcome.output.hasSuffix("1 would change\n"))
    #expect(folder.text("accepted/one.txt") == text)
  }

  @Test(
    "a case that passes says which check was not exercised, and why; also where all is as accepted")
  func untested() async throws {
    let folder = try TemporaryFolder()
    try folder.write("clerk.yaml", Self.agent(Self.calls))
    try folder.write(
      "cases.yaml",
      Self.cases(
        ["one"], expected: "{toolsCalled: [look], time: [{expect: look, before: {reply: x}}]}"))
    let plain = try await Binary.run(["run", "."], in: folder.path)
    try await Binary.run(["accept", ".", "--all"], in: folder.path)
    let same = try await Self.run(folder, status: 0)
    for told in [plain.output, same.output] {
      #expect(told.contains("one  1 of 2 checks\n"), "\(told)")
      #expect(told.contains("time[0] not exercised: "), "\(told)")
    }
    #expect(same.output.contains("same         one"))
  }
}
