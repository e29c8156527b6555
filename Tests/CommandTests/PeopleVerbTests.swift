import AgentTrace
import Foundation
import TestSupport
import Testing

/// An agent that asks something, then wants to pay, then answers.
private let payerFile = """
  name: payer
  tools:
    - {name: pay, sideEffect: write, scripted: [{ok: {paid: "${input.note}"}}]}
  model:
    script:
      - ask: "Which one?\\e[2J"
      - call: {tool: pay, input: {note: "to \\e]0;owned\\a ${replies.0}"}}
      - choose:
          - when: {last: {status: ok}}
            answer: Paid.
          - answer: "Not paid: ${last.data}"
  """

@Suite("People at the terminal, in a file, and behind the run")
struct PeopleVerbTests {
  private static func record(
    _ input: String, options: [String] = ["--approve", "ask"], status: Int32 = 0
  ) async throws -> (folder: TemporaryFolder, outcome: Command.Outcome) {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", payerFile)
    let outcome = try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz", "--fixed-clock", "--seed", "1"]
        + options, in: folder.path, environment: ["USER": "ana"], input: Array(input.utf8),
      status: status)
    return (folder, outcome)
  }

  private static func events(_ folder: TemporaryFolder) async throws -> [JSONValue] {
    try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path).jsonLines()
  }

  /// What must be so of every log: whole, and made again.
  private static func check(_ folder: TemporaryFolder) async throws {
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
    let again = try await Binary.run(
      ["replay", "one.jsonl.gz", "--reexecute", "--agent", "agent.yaml"], in: folder.path)
    #expect(again.output.hasPrefix("faithful"), "\(again)")
  }

  // MARK: The terminal

  @Test(
    "the end of the input means that nobody is there", arguments: ["", "\n\n", "the red one\n"])
  func endOfInput(input: String) async throws {
    let (folder, outcome) = try await Self.record(input, status: 1)
    let stop = try await Self.events(folder).last { $0["type"] == "stop" }
    #expect(stop?["data"]?["final"] == false, "\(outcome)")
    #expect(
      stop?["data"]?["reason"] == (input.contains("red") ? "approval_required" : "blocked"))
    try await Self.check(folder)
  }

  @Test("whoever sits there answers, approves, denies, and is asked again where it was neither")
  func asked() async throws {
    let (folder, outcome) = try await Self.record(
      "\nthe red one\nwhat?\nyesterday\nno, too much\n")
    #expect(outcome.output.contains("Not paid: too much"), "\(outcome)")
    #expect(outcome.errors.contains("approve?   pay"))
    #expect(outcome.errors.contains("no rule matches, and write tools need approval"))
    #expect(outcome.errors.components(" or n, and why:") == 3)
    let approval = try await Self.events(folder).first { $0["type"] == "approval" }?["data"]
    #expect(approval?["by"] == "ana" && approval?["reason"] == "too much")
    try await Self.check(folder)
    let (_, granted) = try await Self.record("the red one\r\ny\r\n")
    #expect(granted.output.contains("Paid."))
    let (_, unended) = try await Self.record("the red one\nyes")
    #expect(unended.output.contains("Paid."))
  }

  @Test("what a model says is shown to a person with its control characters made visible")
  func controlCharacters() async throws {
    let (folder, outcome) = try await Self.record("the \u{1b}[31mred\u{7} one\ny\n")
    #expect(controlBytes(in: outcome.errorBytes) == [], "\(outcome)")
    #expect(controlBytes(in: outcome.outputBytes) == [])
    #expect(outcome.errors.contains("Which one?\\u{1b}[2J"))
    try await Self.check(folder)
  }

  @Test("the rule that holds a call is shown")
  func rule() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      payerFile
        + "\npolicy: {rules: [{id: money, tool: pay, verdict: approval_required, reason: it is money}]}"
    )
    let outcome = try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz", "--approve", "ask"],
      in: folder.path, input: Array("a\ny\n".utf8))
    #expect(outcome.errors.contains("it is money (rule money)"), "\(outcome)")
  }

  @Test(
    "a signal while a person is asked ends the run as cancelled, and it goes on from there",
    .timeLimit(.minutes(5)), arguments: ["TERM", "HUP"])
  func signal(name: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", payerFile)
    let outcome = try await shell(
      """
      mkfifo words; exec 3<>words
      "$0" record agent.yaml Pay --out one.jsonl.gz --approve ask <&3 2>told & pid=$!
      echo "the red one" >&3
      until grep -q "approve?" told; do sleep 0.02; done
      kill -\(name) $pid; wait $pid; echo "exit $?"
      """, in: folder.path, timeoutSeconds: 30)
    #expect(outcome.lines.last == "exit 1", "\(outcome)")
    let stop = try await Self.events(folder).last { $0["type"] == "stop" }?["data"]
    #expect(stop?["reason"] == "cancelled" && stop?["detail"] == .string("signal:SIG\(name)"))
    try await Self.check(folder)
    try await Binary.run(
      ["resume", "one.jsonl.gz", "--agent", "agent.yaml", "--approve", "ask"], in: folder.path,
      input: Array("y\n".utf8))
    try await Self.check(folder)
  }

  @Test(
    "a second signal ends the process at once with a readable log, and the run goes on",
    .timeLimit(.minutes(5)))
  func secondSignal() async throws {
    let folder = try TemporaryFolder()
    // It takes no notice of a first signal, and takes longer to end than anybody waits.
    try folder.write(
      "agent.yaml",
      """
      name: sleeper
      tools:
        - name: nap
          sideEffect: read
          command: [/bin/sh, -c, "trap '' TERM; if [ -e begun ]; then echo 1; else touch begun; sleep 20; fi"]
      model: {script: [{call: {tool: nap, input: {}}}, {answer: Rested.}]}
      """)
    let outcome = try await shell(
      """
      "$0" record agent.yaml Sleep --out one.jsonl.gz & pid=$!
      until [ -e begun ]; do sleep 0.02; done
      kill -TERM $pid; sleep 0.1; kill -STOP $pid; sleep 0.4; kill -TERM $pid; kill -CONT $pid
      wait $pid; echo "exit $?"
      """, in: folder.path, timeoutSeconds: 30)
    #expect(["exit 1", "exit 143"].contains(outcome.lines.last ?? ""), "\(outcome)")
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
    let resumed = try await Binary.run(
      ["resume", "one.jsonl.gz", "--agent", "agent.yaml"], in: folder.path)
    #expect(resumed.output.contains("Rested."))
    try await Self.check(folder)
  }

  // MARK: Files

  @Test("a file of what a person says takes the place of the agent's person")
  func file() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", payerFile + "\nhuman: {answers: [{text: never}]}")
    try folder.write(
      "ana.yaml",
      "turns: [{say: the red one, by: ana}, {approve: true, by: ana}, {say: Thanks., by: ana}]")
    let outcome = try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz", "--approve", "ana.yaml"],
      in: folder.path, status: 1)
    // Behind her thanks the script has nothing more to say.
    #expect(outcome.output.contains("ana: Thanks.") && outcome.output.contains("model_failure"))
    try await Self.check(folder)
    try folder.write("bad.yaml", "turns: [{say: a, approve: true}]\nanswer: []")
    let bad = try await Binary.run(
      ["record", "agent.yaml", "Pay", "--approve", "bad.yaml"], in: folder.path, status: 2)
    #expect(
      bad.errors.contains("bad.yaml:1:9: error: turns[0]: needs either “say” or “approve”"),
      "\(bad)")
    #expect(bad.errors.contains("did you mean “answers”?"))
  }

  @Test("“always” covers this input for the rest of the run, and stands in the log")
  func always() async throws {
    let (folder, outcome) = try await Self.record("the red one\nalways, it is mine\n")
    #expect(outcome.output.contains("by ana for this input in this run: it is mine"), "\(outcome)")
    let approval = try await Self.events(folder).first { $0["type"] == "approval" }?["data"]
    #expect(approval?["scope"] == "input" && approval?["reason"] == "it is mine")
    let (other, _) = try await Self.record("the red one\ny\n")
    let once = try await Self.events(other).first { $0["type"] == "approval" }?["data"]
    #expect(once?["scope"] == ["calls": 1])
    try await Self.check(folder)
  }

  // MARK: Words behind a run

  @Test("what is said about a call names the others that wait beside it, until none does")
  func others() async throws {
    let tools = ["pay", "wipe", "send"]
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml",
        """
        name: busy
        tools:
        \(tools.map { "  - {name: \($0), sideEffect: write, scripted: [{ok: 1}]}" }.joined(separator: "\n"))
        model:
          script:
            - calls: [\(tools.map { "{tool: \($0), input: {n: 1}}" }.joined(separator: ", "))]
            - answer: Done.
        """)
      try await Binary.run(
        ["record", "agent.yaml", "Go", "--out", "one.jsonl.gz"], in: folder.path, status: 1)
      for (number, place) in order.enumerated() {
        let said = try await Binary.run(
          ["approve", "one.jsonl.gz", "1.1.\(place)", "--by", "ana"], in: folder.path)
        let left = order.dropFirst(number + 1).sorted()
        let waits = said.lines.filter { $0.hasPrefix("waits") }
        #expect(waits == left.map { "waits  1.1.\($0) \(tools[$0]) {\"n\":1}" }, "\(said)")
        let next = left.first.map { "approve one.jsonl.gz 1.1.\($0) --by NAME" }
        #expect(said.lines.last == "next   agent-eval \(next ?? "resume one.jsonl.gz")")
      }
      try await Binary.run(["resume", "one.jsonl.gz"], in: folder.path)
    }
  }

  /// An agent that pays the same four times, whatever comes of it.
  private static let repeating = """
    name: payer
    tools: [{name: pay, sideEffect: write, scripted: [{ok: 1}]}]
    model:
      script:
        - {call: {tool: pay, input: {note: a}}, repeat: 4}
        - {answer: Done.}
    """

  @Test("an approval of a child that ran out is not gone on with on a clock that stands still")
  func overInChild() async throws {
    let folder = try TemporaryFolder()
    try folder.write("payer.yaml", Self.repeating)
    try folder.write(
      "agent.yaml",
      """
      name: boss
      tools: [{agent: payer.yaml, name: ask}]
      model: {script: [{call: {tool: ask, input: {task: Pay}}}, {answer: Done.}]}
      """)
    try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "boss.jsonl.gz", "--fixed-clock", "--seed", "1"],
      in: folder.path, status: 1)
    let until = Date().addingTimeInterval(-60).ISO8601Format()
    try await Binary.run(
      ["approve", "boss.jsonl.gz", "pay", "--by", "ana", "--fixed-clock", "--until", until],
      in: folder.path)
    let refused = try await Binary.run(
      ["resume", "boss.jsonl.gz", "--agent", "agent.yaml", "--fixed-clock"], in: folder.path,
      status: nil)
    #expect(refused.errors.contains("which is past"), "\(refused)")
    try await Binary.run(["verify", "boss.jsonl.gz"], in: folder.path)
  }

  @Test(
    "an approval from outside lets one call run, or as many as it says, until the time it says",
    arguments: [
      ([], 1), (["--for", "2"], 2), (["--for", "4"], 4), (["--same-input"], 4),
      (["--until", "2030-01-01T00:00:00Z"], 1), (["--until", "2020-01-01T00:00:00Z"], 0),
      (["--for", "3", "--until", "2030-01-01T01:00:00+01:00"], 3),
      (["--same-input", "--until", "2020-01-01T00:00Z"], 0),
    ])
  func scopes(options: [String], count: Int) async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.repeating)
    try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz", "--fixed-clock", "--seed", "1"],
      in: folder.path, status: 1)
    try await Binary.run(
      ["approve", "one.jsonl.gz", "pay", "--by", "ana", "--fixed-clock"] + options, in: folder.path)
    try await Binary.run(
      ["resume", "one.jsonl.gz", "--agent", "agent.yaml", "--fixed-clock"], in: folder.path,
      status: count == 4 ? 0 : 1)
    let events = try await Self.events(folder)
    #expect(events.count { $0["type"] == "tool_started" } == count)
    let stop = events.last { $0["type"] == "stop" }?["data"]
    #expect(stop?["reason"] == (count == 4 ? "success" : "approval_required"))
    try await Self.check(folder)
    try folder.write(
      "case.yaml",
      "caseId: a\nrecording: one.jsonl.gz\nexpected: {noApprovalBypass: true}")
    try await Binary.run(["run", "case.yaml"], in: folder.path)
  }

  @Test("wrong use of approve ends with 64, and nothing is written")
  func wrongUse() async throws {
    let (folder, _) = try await Self.record("a\n", status: 1)
    let before = try folder.read("one.jsonl.gz")
    for options in [
      [], ["--by", ""], ["--by", "a", "--deny", "--happened"], ["--by", "a", "--data", "1"],
      ["--by", "a", "--happened", "--data", "{"], ["--by", "a", "--happened", "--reason", "x"],
      ["--by", "a", "--for", "0"], ["--by", "a", "--for", "x"], ["--by", "a", "--for", "-1"],
      ["--by", "a", "--for", "2", "--same-input"], ["--by", "a", "--deny", "--for", "2"],
      ["--by", "a", "--happened", "--same-input"], ["--by", "a", "--until", "tomorrow"],
      ["--by", "a", "--deny", "--until", "2026-12-24T18:00:00Z"],
      ["--by", "a", "--until", "2020-01-01T00:00:00Z"],
    ] {
      try await Binary.run(
        ["approve", "one.jsonl.gz", "pay"] + options, in: folder.path, status: 64)
    }
    #expect(try folder.read("one.jsonl.gz") == before)
  }

  @Test("what was said, and what still waits, is told to a program too")
  func json() async throws {
    let (folder, _) = try await Self.record("", status: 1)
    let answered = try await Binary.run(
      ["answer", "one.jsonl.gz", "the red one", "--by", "bo", "--json"], in: folder.path
    ).json()
    #expect(answered["type"] == "human_replied" && answered["data"]?["by"] == "bo")
    #expect(answered["waiting"] == [])
    let resumed = try await Binary.run(
      ["resume", "one.jsonl.gz", "--agent", "agent.yaml", "--json"], in: folder.path, status: 1
    ).json()
    #expect(resumed["stopReason"] == "approval_required" && resumed["newEvents"]?.intValue ?? 0 > 3)
    let denied = try await Binary.run(
      ["approve", "one.jsonl.gz", "2.1.0", "--by", "ana", "--deny", "--reason", "no", "--json"],
      in: folder.path
    ).json()
    #expect(denied["data"]?["granted"] == false)
    try await Binary.run(["resume", "one.jsonl.gz", "--agent", "agent.yaml"], in: folder.path)
    try await Self.check(folder)
  }

  @Test("the time that a run stands still is no active time of it")
  func pause() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", payerFile)
    let record = ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz"]
    try await Binary.run(record, in: folder.path, status: 1)
    try await Task.sleep(for: .seconds(1))
    try await Binary.run(["answer", "one.jsonl.gz", "a"], in: folder.path)
    try await Binary.run(
      ["resume", "one.jsonl.gz", "--agent", "agent.yaml"], in: folder.path, status: 1)
    let events = try await Self.events(folder).filter { $0["t"] != nil }
    let stop = try #require(events.first { $0["type"] == "stop" }?["t"]?.intValue)
    let rest = events.drop { $0["type"] != "stop" }.compactMap { $0["t"]?.intValue }
    #expect(rest.first == stop && rest.dropFirst().first == stop)
    #expect((rest.dropFirst(2).first ?? 0) - stop < 500_000, "\(rest)")
    #expect(rest == rest.sorted())
    try await Self.check(folder)
  }

  @Test("a secret in what is said is withheld from the log")
  func secrets() async throws {
    let (folder, _) = try await Self.record("", status: 1)
    let key = "sk-ant-api03-" + String(repeating: "Ab1", count: 30)
    let told = try await Binary.run(
      ["answer", "one.jsonl.gz", "the key is \(key)"], in: folder.path)
    let shown = try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path)
    for text in [told.output, shown.output] {
      #expect(!text.contains(key) && text.contains("«redacted:"), "\(text)")
    }
  }

  @Test("an agent file that was changed goes on only where that is accepted")
  func changed() async throws {
    let (folder, _) = try await Self.record("a\n", status: 1)
    try folder.write("agent.yaml", payerFile + "\n# changed")
    let refused = try await Binary.run(
      ["resume", "one.jsonl.gz", "--agent", "agent.yaml", "--approve", "ask"], in: folder.path,
      input: Array("y\n".utf8), status: 2)
    #expect(refused.errors.contains("--accept-changes"), "\(refused)")
    try await Binary.run(
      [
        "resume", "one.jsonl.gz", "--agent", "agent.yaml", "--approve", "ask", "--accept-changes",
      ], in: folder.path, input: Array("y\n".utf8))
    try await Self.check(folder)
  }

  @Test(
    "two processes that resume one run: the second is told who holds it", .timeLimit(.minutes(5)))
  func twice() async throws {
    let (folder, _) = try await Self.record("a\n", status: 1)
    let outcome = try await shell(
      """
      mkfifo words; exec 3<>words
      "$0" resume one.jsonl.gz --agent agent.yaml --approve ask <&3 2>told & pid=$!
      until grep -q "approve?" told; do sleep 0.02; done
      "$0" resume one.jsonl.gz --agent agent.yaml 2>second; echo "second $?"
      "$0" approve one.jsonl.gz pay --by bo 2>third; echo "third $?"
      echo y >&3; wait $pid; echo "first $?"; echo "pid $pid"
      """, in: folder.path, timeoutSeconds: 30)
    #expect(outcome.lines.contains("second 2") && outcome.lines.contains("third 2"), "\(outcome)")
    #expect(outcome.lines.contains("first 0"), "\(outcome)")
    let pid = try #require(outcome.lines.last?.dropFirst(4))
    #expect(folder.text("second")?.contains("process \(pid) is writing this log") == true)
    try await Self.check(folder)
  }
}

extension String {
  /// How often a text stands in this one.
  fileprivate func components(_ text: String) -> Int { ranges(of: text).count }
}
