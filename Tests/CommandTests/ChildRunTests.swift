import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

/// Three levels of agents whose tools have effects that can be counted.
private struct Office {
  let folder: TemporaryFolder
  /// `put`, which is idempotent, or `add`, which is not.
  let tool: String
  /// How many effects the whole tree has.
  static let effects = 5

  init(_ tool: String) throws {
    self.tool = tool
    folder = try TemporaryFolder()
    try folder.script(
      "put.sh",
      """
      cat >/dev/null
      exec 9>>lock
      flock 9
      grep -qxF "$IDEMPOTENCY_KEY" effects 2>/dev/null || echo "$IDEMPOTENCY_KEY" >>effects
      echo '"done"'
      """)
    try folder.script(
      "add.sh",
      """
      cat >/dev/null
      echo "$IDEMPOTENCY_KEY" >>effects
      echo '"done"'
      """)
    let own = """
        - name: \(tool)
          sideEffect: write
          idempotent: \(tool == "put")
          command: [/bin/sh, \(folder.path("\(tool).sh"))]
      policy: {rules: [{id: free, verdict: allow}]}
      """
    try folder.write(
      "head.yaml",
      """
      name: head
      goal: Have it all written down
      human:
        approvals: [{granted: true, by: ana}]
        answers: [{text: "go on", by: ana}]
      tools:
        - {agent: clerk.yaml, name: ask_clerk}
        - {agent: other.yaml, name: ask_other}
      \(own)
      model:
        script:
          - calls:
              - {tool: ask_clerk, input: {task: first}}
              - {tool: ask_other, input: {task: second}}
              - {tool: \(tool), input: {n: 1}}
          - call: {tool: ask_clerk, input: {task: third}}
          - answer: All is written down.
      """)
    try folder.write(
      "clerk.yaml",
      """
      name: clerk
      tools:
        - {agent: junior.yaml, name: ask_junior}
      \(own)
      model:
        script:
          - call: {tool: \(tool), input: {n: 2}}
          - call: {tool: ask_junior, input: {task: look}}
          - answer: the clerk is done
      """)
    try folder.write(
      "other.yaml",
      """
      name: other
      tools:
      \(own)
      model:
        script:
          - ask: May I?
          - call: {tool: \(tool), input: {n: 3}}
          - call: {tool: \(tool), input: {n: 4}}
          - answer: the other is done
      """)
    try folder.write(
      "junior.yaml",
      """
      name: junior
      tools:
        - name: nothing
          sideEffect: read
          scripted: [{ok: 1}]
        - name: look
          sideEffect: read
          scripted: [{ok: 2}]
      \(own)
      model:
        script:
          - calls: [{tool: nothing, input: {}}, {tool: look, input: {}}]
          - answer: the junior is done
      """)
  }

  var written: [String] {
    (folder.text("effects") ?? "").split(separator: "\n").map(String.init)
  }

  var logs: [String] { (try? LogFiles.all(below: folder.path("runs"))) ?? [] }

  /// The log of the run that no other started.
  func root() throws -> String? {
    try logs.first { log in
      var reader = try LogReader(path: log)
      guard let first = try reader.next() else { return false }
      return first.data["parent"] == nil
    }.map { log in
      log.hasSuffix(".open") ? String(log.dropLast(".open".count)) : log
    }
  }

  /// Runs the program and kills it after so long, unless it has ended.
  func live(_ arguments: [String], killedAfter seconds: Double?) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Binary.path)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    if let seconds {
      Thread.sleep(forTimeInterval: seconds)
      if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Waits until no tool of a killed run is left.
  func awaitTools() {
    for _ in 0..<1_000 {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
      let isBusy = names.contains { name in
        guard Int32(name) != nil,
          let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
        else { return false }
        return String(decoding: words, as: UTF8.self).contains(folder.path("\(tool).sh"))
      }
      if !isBusy { return }
      Thread.sleep(forTimeInterval: 0.005)
    }
  }

  /// Says of calls of which nobody knows whether they happened what the file of effects says.
  func sayWhatHappened(_ log: String) async throws {
    for member in try WaitingTree(path: log).members {
      let runId =
        member.run.started.parent == nil ? try runId(of: log) : try runId(of: member.run.path)
      for waiting in member.run.calls where waiting.reason == .unknownEffect {
        let happened = written.contains("\(runId)/\(waiting.call.callId)")
        try await Binary.run([
          "approve", log, member.prefix + waiting.call.callId, "--by", "ana",
          happened ? "--happened" : "--did-not-happen",
        ])
      }
    }
  }

  private func runId(of log: String) throws -> String {
    var reader = try LogReader(path: log)
    return try reader.next()?.runId ?? ""
  }
}

@Suite("Agents that call agents, as a user runs them", .serialized)
struct ChildRunTests {
  private static let kills = TestRun.isLong ? 120 : 8

  @Test(
    "killed at any moment and resumed, a tree of runs has each effect once and asks nothing twice",
    .timeLimit(.minutes(240)), arguments: ["put", "add"])
  func survivesKills(tool: String) async throws {
    var random = SeededGenerator(seed: 7)
    var killed = 0
    var rounds = 0
    while killed < Self.kills, rounds < Self.kills * 8 {
      rounds += 1
      let office = try Office(tool)
      let record = ["record", "head.yaml", "--out", "runs"]
      var isOver = false
      for life in 0..<40 {
        // Early and late, on quick machines and slow ones.
        let latest = [0.2, 0.5, 1.2].randomElement(using: &random) ?? 0.5
        let delay = life < 3 ? Double.random(in: 0.02...latest, using: &random) : nil
        let root = try office.root()
        let status: Int32
        if let root {
          status = try office.live(
            ["resume", root, "--agent", "head.yaml"], killedAfter: delay)
        } else {
          #expect(office.written.isEmpty, "an effect without a log")
          try? FileManager.default.removeItem(atPath: office.folder.path("runs"))
          status = try office.live(record, killedAfter: delay)
        }
        office.awaitTools()
        if status == SIGKILL { killed += 1 }
        guard let log = try office.root() else { continue }
        if let tail = try? LogTail(path: log), tail.stop?.data["final"] == true {
          isOver = true
          break
        }
        if status != SIGKILL { try await office.sayWhatHappened(log) }
      }
      let written = office.written
      #expect(isOver, "it never ends")
      #expect(Set(written).count == written.count, "an effect twice: \(written)")
      #expect(written.count == Office.effects, "\(written)")
      let root = try #require(try office.root())
      try await Binary.run(["verify", root])
      try await Binary.run(
        ["replay", root, "--reexecute", "--agent", office.folder.path("head.yaml")])
      var questions = 0
      for log in office.logs {
        var reader = try LogReader(path: log)
        while let event = try reader.next() {
          if event.type == .decision, event.data["kind"] == "ask_human" { questions += 1 }
        }
      }
      #expect(questions == 1)
    }
    #expect(killed >= Self.kills / 2, "\(killed) kills in \(rounds) rounds")
  }

  @Test(
    "the runs of agents that a case's run called are no runs of that case, with an index and without"
  )
  func areNoRunsOfCase() async throws {
    let folder = try TemporaryFolder()
    let cases = Project.path("EvalCases/teams.yaml")
    let first = try await Binary.run(["run", cases], in: folder.path).output
    #expect(first.contains("3 cases: 3 passed"))
    for isIndexed in [false, true] {
      if isIndexed { try await Binary.run(["index", ".agent-eval/runs"], in: folder.path) }
      let again = try await Binary.run(
        ["run", cases, "--runs", ".agent-eval/runs"], in: folder.path
      ).output
      #expect(again.contains("3 cases: 3 passed"), "\(again)")
    }
    let log = try #require(
      LogFiles.withoutParts(try LogFiles.all(below: folder.path(".agent-eval/runs"))).first)
    let refused = try await Binary.run(
      ["promote", log, "--into", "promoted"], in: folder.path, status: 2)
    #expect(refused.errors.contains("the run called agents"), "\(refused)")
    let listed = try await Binary.run(["list"], in: folder.path)
    #expect(listed.output.split(separator: "\n").count == 4, "\(listed)")
    let found = try await Binary.run(["list", "--tool", "issue_refund"], in: folder.path)
    #expect(found.output.contains("billing"), "\(found)")
  }

  @Test("an agent file that leads back to itself, or to a command, is told where it does")
  func isNoCircle() async throws {
    let folder = try TemporaryFolder()
    func file(_ name: String, _ tools: String) throws {
      try folder.write(
        "\(name).yaml", "name: \(name)\ntools: [\(tools)]\nmodel: {script: [{answer: hi}]}\n")
    }
    try file("a", "{agent: b.yaml}")
    try file("b", "{agent: ./a.yaml}")
    let circle = try await Binary.run(["check", "a.yaml"], in: folder.path, status: 2)
    #expect((circle.output + circle.errors).contains("would call itself"), "\(circle)")
    try folder.write("c.yaml", "name: c\ncommand: [\"true\"]\n")
    try file("d", "{agent: c.yaml, name: ask}")
    let command = try await Binary.run(["check", "d.yaml"], in: folder.path, status: 2)
    #expect(
      (command.output + command.errors).contains("which no other agent can call"), "\(command)")
    try file("e", "{agent: nowhere.yaml}, {agent: f.yaml}, {agent: f.yaml}")
    try file("f", "")
    let missing = try await Binary.run(["check", "e.yaml"], in: folder.path, status: 2)
    #expect((missing.output + missing.errors).contains("nowhere.yaml"), "\(missing)")
    #expect((missing.output + missing.errors).contains("is there already"), "\(missing)")
    // Twenty levels of two agents each are a million files.
    for level in 0..<20 {
      let next =
        level == 19
        ? "" : "{agent: n\(level + 1).yaml, name: x}, {agent: n\(level + 1).yaml, name: y}"
      try file("n\(level)", next)
    }
    let deep = try await Binary.run(["check", "n0.yaml"], in: folder.path, status: 2)
    #expect((deep.output + deep.errors).contains("lead to more than"), "\(deep)")
  }

  @Test("a cancelled tree may go on, and agents nested too deep are refused")
  func goesOn() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "parent.yaml",
      """
      name: parent
      limits: {maxDepth: 1}
      tools: [{agent: child.yaml, name: ask}]
      model:
        script:
          - call: {tool: ask, input: {task: go}}
          - answer: "${last.data}"
      """)
    try folder.write(
      "child.yaml",
      """
      name: child
      tools:
        - {agent: grandchild.yaml, name: deeper}
        - {name: wait, sideEffect: read, scripted: [{when: {attempt: 1}, ok: done, raise: SIGTERM}]}
      model:
        script:
          - call: {tool: deeper, input: {task: go}}
          - call: {tool: wait, input: {}}
          - answer: the child is done
      """)
    try folder.write("grandchild.yaml", "name: grandchild\nmodel: {script: [{answer: hi}]}\n")
    try await Binary.run(
      ["record", "parent.yaml", "go", "--out", "runs", "--seed", "1"], in: folder.path, status: 1)
    let listed = try await Binary.run(["list", "runs", "--json"], in: folder.path).output
    #expect(listed.contains("\"stopReason\":\"cancelled\""), "\(listed)")
    let log = try #require(
      try LogFiles.withoutParts(LogFiles.all(below: folder.path("runs"))).first)
    let resumed = try await Binary.run(["resume", log], in: folder.path)
    #expect(resumed.output.contains("stop       success"), "\(resumed)")
    #expect(resumed.output.contains("ask │"), "\(resumed)")
    let shown = try await Binary.run(["show", log, "--tree"], in: folder.path).output
    #expect(shown.contains("nested as deep as limits.maxDepth allows"), "\(shown)")
    try await Binary.run(["verify", log], in: folder.path)
    try await Binary.run(["replay", log, "--reexecute", "--agent", "parent.yaml"], in: folder.path)
  }
}
