import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Effects that nobody can be sure of", .timeLimit(.minutes(10)))
struct UnknownEffectTests {
  /// An agent whose tool writes down each call, and fails the first time behind that.
  private static func agent(
    _ folder: TemporaryFolder, calls: Int = 2, besides keys: String = ""
  ) throws {
    try folder.script(
      "pay.sh", "cat >>effects; test -e paid && echo '\"paid\"' && exit 0; touch paid; exit 3")
    try folder.write(
      "agent.yaml",
      """
      name: payer
      policy: {rules: [{id: free, verdict: allow}]}
      tools:
        - {name: pay, sideEffect: write, command: {arguments: [/bin/sh, pay.sh]\(keys)}}
      model:
        script:
          - call: {tool: pay, input: {n: 1}}
            repeat: \(calls)
          - answer: Paid.
      """)
  }

  private static func effects(_ folder: TemporaryFolder) -> Int {
    (folder.text("effects") ?? "").split(separator: "\n").count
  }

  private static func resume(_ folder: TemporaryFolder, status: Int32) async throws -> String {
    try await Binary.run(
      ["resume", "one.jsonl.gz", "--agent", "agent.yaml"], in: folder.path, status: status
    ).output
  }

  @Test(
    "an agent that ended well though nobody knows what its call did is not asked the same again")
  func agentThatEndedWell() async throws {
    let folder = try TemporaryFolder()
    try Self.agent(folder, calls: 1)
    try folder.write(
      "desk.yaml",
      """
      name: desk
      tools: [{agent: boss.yaml, name: ask}]
      model:
        script: [{call: {tool: ask, input: {task: pay}}, repeat: 2}, {answer: Done.}]
      """)
    try folder.write(
      "boss.yaml",
      """
      name: boss
      tools: [{agent: agent.yaml, name: payer}]
      model: {script: [{call: {tool: payer, input: {task: pay}}}, {answer: It is paid.}]}
      """)
    let recorded = try await Binary.run(
      ["record", "desk.yaml", "Pay", "--out", "runs", "--seed", "1"], in: folder.path, status: 1)
    #expect(recorded.output.contains("blocked (unknown_effect:ask); may go on"), "\(recorded)")
    #expect(Self.effects(folder) == 1)
  }

  @Test(
    "an equal call behind a command that failed waits for a person, and goes on as they say",
    arguments: [
      (["--did-not-happen"], 2, "success"), (["--happened", "--data", "\"paid\""], 1, "success"),
      (["--deny"], 1, "success"),
    ])
  func person(words: [String], effects: Int, end: String) async throws {
    let folder = try TemporaryFolder()
    try Self.agent(folder)
    let recorded = try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz"], in: folder.path, status: 1)
    #expect(recorded.output.contains("effect unknown: exited with 3"), "\(recorded)")
    #expect(recorded.output.contains("blocked (unknown_effect:pay); may go on"), "\(recorded)")
    // What nobody knows is named, with the words that a person may say of it, wherever one looks.
    let shown = try await Binary.run(["show", "one.jsonl.gz"], in: folder.path)
    for told in [recorded.errors, shown.errors] {
      #expect(told.contains("waits  2.1.0 pay ") && told.contains("nobody knows"), "\(told)")
      for word in ["next   ", "or     "] {
        #expect(
          told.contains("\(word)agent-eval approve one.jsonl.gz 2.1.0 --by NAME --"), "\(told)")
      }
    }
    // Nobody has said anything: it stays as it is.
    #expect(
      try await Self.resume(folder, status: 1).contains("blocked (unknown_effect:pay); may go on"))
    // Whether it may run is not the question.
    let granted = try await Binary.run(
      ["approve", "one.jsonl.gz", "pay", "--by", "ana"], in: folder.path, status: 2)
    #expect(granted.errors.contains("--happened"), "\(granted)")
    #expect(Self.effects(folder) == 1)
    try await Binary.run(
      ["approve", "one.jsonl.gz", "2.1.0", "--by", "ana"] + words, in: folder.path)
    #expect(try await Self.resume(folder, status: 0).contains("\(end) (final_answer)"))
    #expect(Self.effects(folder) == effects)
    try await Binary.run(["verify", "one.jsonl.gz"], in: folder.path)
    try await Binary.run(
      ["replay", "one.jsonl.gz", "--reexecute", "--agent", "agent.yaml"], in: folder.path)
  }

  @Test("what a person said about one call holds for the equal ones behind it")
  func deduplicator() async throws {
    let folder = try TemporaryFolder()
    try Self.agent(folder, calls: 4)
    try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz"], in: folder.path, status: 1)
    try await Binary.run(
      ["approve", "one.jsonl.gz", "pay", "--by", "ana", "--happened"], in: folder.path)
    #expect(try await Self.resume(folder, status: 0).contains("success (final_answer)"))
    #expect(Self.effects(folder) == 3)
  }

  @Test("an exit code that says that nothing was done holds nothing back")
  func declared() async throws {
    let folder = try TemporaryFolder()
    try Self.agent(folder, besides: ", noEffectExitCodes: [3]")
    let recorded = try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz"], in: folder.path)
    #expect(!recorded.output.contains("effect unknown"), "\(recorded)")
    #expect(Self.effects(folder) == 2)
  }

  @Test("a call of unknown effect counts as an error of a budget")
  func budget() async throws {
    let folder = try TemporaryFolder()
    try Self.agent(folder, calls: 1)
    try await Binary.run(
      ["record", "agent.yaml", "Pay", "--out", "one.jsonl.gz"], in: folder.path)
    for (limit, status) in [(0, 1), (1, 0)] as [(Int, Int32)] {
      try folder.write(
        "case.yaml",
        "caseId: c\nrecording: one.jsonl.gz\nexpected: {budget: {errors: \(limit), tools: {pay: {errors: \(limit)}}}}\n"
      )
      try await Binary.run(["run", "case.yaml"], in: folder.path, status: status)
    }
  }

  // MARK: Nobody watches

  @Test(
    "a runtime that is killed leaves no tool running, whatever session that moved to",
    arguments: [
      "sleep MARK", "setsid sleep MARK & sleep MARK", "(sleep MARK &) ; exec sleep MARK",
      "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM HUP; sleep MARK' & sleep MARK; sleep MARK",
      "for n in 1 2 3 4; do setsid sh -c 'sleep MARK & sleep MARK' & done; wait",
    ])
  func killed(script: String) async throws {
    let folder = try TemporaryFolder()
    let mark = "3\(getpid())\(UInt32.random(in: 100_000...999_999))"
    try folder.script(
      "tool.sh", "touch ready; \(script.replacingOccurrences(of: "MARK", with: mark))")
    try folder.write(
      "agent.yaml",
      """
      name: sleeper
      policy: {rules: [{id: free, verdict: allow}]}
      tools: [{name: nap, sideEffect: write, command: [/bin/sh, tool.sh]}]
      model: {script: [{call: {tool: nap, input: {}}}, {answer: Slept.}]}
      """)
    try await shell(
      """
      "$0" record agent.yaml x --out one.jsonl.gz >/dev/null 2>&1 & pid=$!
      while [ ! -e ready ]; do sleep 0.05; done; sleep 0.3
      kill -KILL $pid; wait $pid; exit 0
      """, in: folder.path)
    #expect(await eventually { Self.processes(with: mark).isEmpty })
    let resumed = try await Self.resume(folder, status: 1)
    #expect(resumed.contains("blocked (unknown_effect:nap); may go on"), "\(resumed)")
  }

  private static func processes(with mark: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).filter { name in
      guard let pid = Int32(name), pid != getpid(), Processes.isAlive(pid),
        let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
      else { return false }
      return String(decoding: line, as: UTF8.self).contains(mark)
    }
  }

  // MARK: Descriptors

  @Test(
    "many commands at once under few descriptors all end, each with its own answer",
    arguments: [64, 96, 128, 256])
  func fewDescriptors(limit: Int) async throws {
    let folder = try TemporaryFolder()
    let count = 64
    let calls = (0..<count).map { "{tool: echo, input: {n: \($0)}}" }.joined(separator: ", ")
    try folder.write(
      "agent.yaml",
      """
      name: many
      parallelCalls: \(count)
      policy: {rules: [{id: free, verdict: allow}]}
      tools: [{name: echo, sideEffect: write, timeoutSeconds: 60, command: [/bin/sh, -c, "sleep 0.1; cat"]}]
      model: {script: [{calls: [\(calls)]}, {answer: All is said.}]}
      """)
    let outcome = try await shell(
      "ulimit -n \(limit); exec \"$0\" record agent.yaml x --out one.jsonl.gz", in: folder.path)
    #expect(outcome.output.contains("success (final_answer)"), "\(outcome)")
    let events = try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path)
      .jsonLines()
    let results = events.filter { $0["type"] == "tool_result" }
    #expect(results.count == count)
    for result in results {
      let number = result["data"]?["callId"]?.stringValue?.split(separator: ".").last ?? ""
      #expect(result["data"]?["data"]?["n"]?.intValue == Int(number))
    }
  }

  @Test(
    "with too few descriptors for one command the run ends with an error that says so, and goes on")
  func tooFewDescriptors() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: few
      policy: {rules: [{id: free, verdict: allow}]}
      tools: [{name: echo, sideEffect: write, command: [cat]}]
      model: {script: [{calls: [{tool: echo, input: {n: 1}}, {tool: echo, input: {n: 2}}]}, {answer: Said.}]}
      """)
    let outcome = try await shell(
      "ulimit -n 18; exec \"$0\" record agent.yaml x --out one.jsonl.gz", in: folder.path, status: 2
    )
    #expect(outcome.errors.contains("too few file descriptors"), "\(outcome)")
    #expect(outcome.errors.contains("ulimit -n"), "\(outcome)")
    let events = try await Binary.run(["show", "one.jsonl.gz", "--json"], in: folder.path)
      .jsonLines()
    #expect(
      events.filter { $0["type"] == "tool_result" }.allSatisfy { $0["data"]?["effect"] == nil })
    #expect(try await Self.resume(folder, status: 0).contains("success (final_answer)"))
  }
}
