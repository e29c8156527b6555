import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

/// An agent that calls another one, and what is in a folder of runs.
private struct Pair {
  let folder: TemporaryFolder

  init(root: String, child: String) throws {
    folder = try TemporaryFolder()
    try folder.write("root.yaml", root)
    try folder.write("child.yaml", child)
  }

  @discardableResult
  func run(_ arguments: [String], status: Int32? = 0) async throws -> Command.Outcome {
    try await Binary.run(arguments, in: folder.path, status: status)
  }

  @discardableResult
  func record(
    _ more: [String] = [], into runs: String = "runs", status: Int32? = 0
  ) async throws -> Command.Outcome {
    try await run(
      ["record", "root.yaml", "go", "--out", runs, "--seed", "1", "--fixed-clock"] + more,
      status: status)
  }

  /// The logs of a folder: those of roots, and those of agents that were called.
  func logs(_ runs: String = "runs") throws -> (roots: [String], children: [String]) {
    var found: (roots: [String], children: [String]) = ([], [])
    for log in try LogFiles.all(below: folder.path(runs)) {
      let isChild = ParentRun.isCall(try readLog(log).first?.data["parent"])
      if isChild { found.children.append(log) } else { found.roots.append(log) }
    }
    return found
  }

  /// All bytes below a folder, by name.
  func bytes(_ runs: String = "runs") throws -> [String: Data] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path(runs))
    return Dictionary(
      uniqueKeysWithValues: names.map {
        ($0, FileManager.default.contents(atPath: folder.path("\(runs)/\($0)")) ?? Data())
      })
  }

  func move(_ log: String, to name: String) throws {
    try FileManager.default.moveItem(atPath: log, toPath: folder.path(name))
  }

  var effects: String { folder.text("effects") ?? "" }
}

@Suite("Whose run a child's log is")
struct ChildIdentityTests {
  private static let root = """
    name: root
    tools: [{agent: child.yaml, name: ask}]
    model: {script: [{call: {tool: ask, input: {task: go}}}, {answer: "${last.data}"}]}
    """

  private static func child(_ tool: String) -> String {
    """
    name: child
    tools:
      - {name: look, sideEffect: read, command: [/bin/sh, -c, 'echo 1']}
      - {name: wipe, sideEffect: write, command: [/bin/sh, -c, 'echo wiped >>effects; echo 1']}
    policy: {rules: [{id: all, verdict: allow}]}
    model: {script: [{call: {tool: \(tool), input: {}}}, {answer: done}]}
    """
  }

  @Test(
    "a run that begins takes no log for its child's that is there already, and does nothing",
    arguments: [["record"], ["run"]], [true, false])
  func newRunTakesNothingOver(verb: [String], isChanged: Bool) async throws {
    let pair = try Pair(root: Self.root, child: Self.child("look"))
    try pair.folder.write(
      "case.yaml",
      "{caseId: a, agent: root.yaml, input: go, expected: {toolsNotCalled: [wipe]}}\n")
    let command =
      verb == ["run"]
      ? ["run", "case.yaml", "--live", "--seed", "1", "--out", "runs"]
      : ["record", "root.yaml", "go", "--seed", "1", "--fixed-clock", "--out", "runs"]
    try await pair.run(command)
    let (old, child) = (try pair.logs().roots[0], try pair.logs().children[0])
    try pair.move(old, to: "old.jsonl.gz")
    if isChanged { try pair.folder.write("child.yaml", Self.child("wipe")) }
    let before = try Data(contentsOf: URL(fileURLWithPath: child))
    let refused = try await pair.run(command, status: 2)
    let said = refused.output + refused.errors
    let name = URL(fileURLWithPath: child).lastPathComponent
    #expect(said.contains(name) && said.contains("move it away"), "\(refused)")
    #expect(!said.contains("pass "), "\(refused)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: child)) == before)
    #expect(pair.effects == "")
    // Its start is not recorded: whoever goes on would take the log for its own.
    let root = try #require(try pair.logs().roots.first)
    #expect(try !readLog(root).contains { $0.type == .toolStarted })
    // Nor does going on take it.
    let again = try await pair.run(["resume", root, "--agent", "root.yaml"], status: nil)
    #expect(again.status != 0 && again.errors.contains(name), "\(again)")
    // What it says helps.
    try pair.move(child, to: "child.jsonl.gz")
    try await pair.run(["resume", root, "--agent", "root.yaml"])
    #expect(pair.effects == (isChanged ? "wiped\n" : ""))
    try await pair.run(["verify", root.replacing(".open", with: "")])
  }

  /// What is left of a run whose process died when its child had ended.
  private func dead(_ pair: Pair) async throws -> String {
    try await pair.record()
    let log = try pair.logs().roots[0]
    let events = try readLog(log)
    try FileManager.default.removeItem(atPath: log)
    let writer = try LogWriter(creating: log)
    for event in events {
      try writer.append(event, isEffectAhead: true)
      if event.type == .toolStarted { break }
    }
    return log
  }

  @Test("who goes on with a run takes up its child, where the child's agent is the same as before")
  func goesOnWithItsOwn() async throws {
    let pair = try Pair(root: Self.root, child: Self.child("wipe"))
    let log = try await dead(pair)
    #expect(pair.effects == "wiped\n")
    try pair.folder.write("child.yaml", Self.child("look"))
    let before = try pair.bytes()
    let refused = try await pair.run(["resume", log, "--agent", "root.yaml"], status: 2)
    #expect(refused.errors.contains("the agent file of child is not the one"), "\(refused)")
    #expect(try pair.bytes() == before)
    try pair.folder.write("child.yaml", Self.child("wipe"))
    try await pair.run(["resume", log, "--agent", "root.yaml", "--fixed-clock"])
    #expect(pair.effects == "wiped\n")
    try await pair.run(["verify", log])
    try await pair.run(["replay", log, "--reexecute", "--agent", "root.yaml"])
  }

  @Test("who accepts changes goes on with a child that has ended under another file")
  func acceptsChanges() async throws {
    let pair = try Pair(root: Self.root, child: Self.child("wipe"))
    let log = try await dead(pair)
    try pair.folder.write("child.yaml", Self.child("look"))
    try await pair.run(["resume", log, "--agent", "root.yaml", "--accept-changes"])
    #expect(pair.effects == "wiped\n")
    try await pair.run(["verify", log])
  }

  @Test("a resume that is refused because of a child's agent file writes nothing, on any level")
  func refusedResumeWritesNothing() async throws {
    for changed in ["billing.yaml", "lookup.yaml", "front-desk.yaml"] {
      let folder = try TemporaryFolder()
      try FileManager.default.copyItem(
        atPath: Project.path("Fixtures/agents/team"), toPath: folder.path("team"))
      guard folder.text("team/\(changed)") != nil else { continue }
      try await Binary.run(
        [
          "record", "team/front-desk.yaml", "Refund order 1234", "--out", "runs", "--seed", "1",
          "--fixed-clock",
        ], in: folder.path, status: 1)
      let all = try LogFiles.all(below: folder.path("runs"))
      let log = try #require(LogFiles.withoutParts(all).first)
      try await Binary.run(["approve", log, "issue_refund", "--by", "ana"], in: folder.path)
      func bytes() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("runs"))
        return Dictionary(
          uniqueKeysWithValues: names.map {
            ($0, FileManager.default.contents(atPath: folder.path("runs/\($0)")) ?? Data())
          })
      }
      let before = try bytes()
      let file = try #require(folder.text("team/\(changed)"))
      try folder.write("team/\(changed)", file + "\n# changed\n")
      let isOver = changed == "lookup.yaml"
      let resumed = try await Binary.run(
        ["resume", log, "--fixed-clock"], in: folder.path, status: isOver ? nil : 2)
      if isOver { continue }
      #expect(resumed.errors.contains("--accept-changes"), "\(resumed)")
      #expect(try bytes() == before)
      try folder.write("team/\(changed)", file)
      try await Binary.run(["resume", log, "--fixed-clock"], in: folder.path)
      try await Binary.run(["verify", log], in: folder.path)
    }
  }
}

@Suite("What a child has of the run that calls it")
struct ChildInheritanceTests {
  @Test(
    "a child acts for whom its parent acts, and for nobody where that one does, whatever its file says",
    arguments: ["", "actorId: guest", "tenantId: acme", "actorId: guest, tenantId: acme"])
  func actsForItsParent(said: String) async throws {
    let context = said.isEmpty ? "" : "policyContext: {\(said), attributes: {role: guest}}\n"
    let pair = try Pair(
      root: """
        name: root
        \(context)tools: [{agent: child.yaml, name: ask}]
        model: {script: [{call: {tool: ask, input: {task: go}}}, {answer: ok}]}
        """,
      child: """
        name: child
        policyContext: {actorId: admin, tenantId: boss, route: vip, attributes: {role: root, desk: 4}}
        tools: [{name: pay, sideEffect: write, scripted: [{ok: 1}]}]
        policy:
          rules:
            - {id: actor, actor: admin, verdict: allow}
            - {id: tenant, tenant: boss, verdict: allow}
        model: {script: [{call: {tool: pay, input: {}}}, {answer: paid}]}
        """)
    try await pair.record(status: 1)
    let events = try readLog(try #require(try pair.logs().children.first))
    let started = try #require(events.first?.data["policyContext"])
    #expect(started["actorId"] == (said.contains("guest") ? "guest" : nil))
    #expect(started["tenantId"] == (said.contains("acme") ? "acme" : nil))
    #expect(started["route"] == "vip")
    #expect(started["attributes"]?["role"] == (said.isEmpty ? "root" : "guest"))
    #expect(started["attributes"]?["desk"] == 4)
    #expect(!events.contains { $0.type == .toolStarted })
  }

  @Test(
    "what a run withholds is withheld in the logs of all agents below it, and their tools get the plain value"
  )
  func withholds() async throws {
    func child(_ name: String, _ more: String = "") -> String {
      """
      name: \(name)
      tools:
        - {name: look, sideEffect: read, command: [/bin/sh, -c, 'echo "{\\"owner\\":\\"ana, with $(cat secret.txt)\\"}"']}
        - {name: use, sideEffect: write, command: [/bin/sh, -c, 'cat >\(name).got; echo 1']}
      \(more)
      policy: {rules: [{id: all, verdict: allow}]}
      model:
        script:
          - call: {tool: look, input: {}}
          - call: {tool: use, input: {order: "${goal}"}}
      """
    }
    let pair = try Pair(
      root: """
        name: root
        tools:
          - {name: get, sideEffect: read, scripted: [{ok: {note: ORD-123456, password: zU8q-Lr44pTw}}]}
          - {agent: child.yaml, name: ask}
        redaction:
          patterns: [{kind: order, pattern: "ORD-[0-9]{6}"}]
        model:
          script:
            - call: {tool: get, input: {}}
            - call: {tool: ask, input: {task: "${last.data.note} and ${last.data.password}"}}
            - answer: "child: ${last.data}"
        """,
      child: child("child", "  - {agent: grandchild.yaml, name: deeper}")
        + "\n    - call: {tool: deeper, input: {task: \"${goal}\"}}\n    - answer: \"${results.0.data.owner}\"\n"
    )
    // The grandchild does not look for credentials by itself.
    try pair.folder.write(
      "grandchild.yaml",
      child("grandchild") + "\n    - answer: \"it is ${results.0.data.owner}\"\n"
        + "redaction: {credentials: false}\n")
    // A value that the parent has never seen.
    try pair.folder.write("secret.txt", "ORD-654321 zU8q-Lr44pTw")
    let recorded = try await pair.record()
    let logs = try pair.logs()
    #expect(logs.children.count == 2)
    for log in logs.roots + logs.children {
      for event in try readLog(log) {
        let line = CanonicalJSON.string(.object(event.data))
        for secret in ["ORD-123456", "ORD-654321", "zU8q-Lr44pTw"] {
          #expect(!line.contains(secret), "\(log): \(line)")
        }
      }
      try await pair.run(["verify", log])
    }
    for name in ["child", "grandchild"] {
      let got = pair.folder.text("\(name).got") ?? ""
      #expect(
        got.contains("ORD-123456 and zU8q-Lr44pTw") && !got.contains("redacted"),
        "\(got) \(recorded)")
    }
    try await pair.run(["replay", logs.roots[0], "--reexecute", "--agent", "root.yaml"])
  }

  @Test(
    "a child that waits and goes on in another process withholds what its parent does, also where it goes on by itself",
    arguments: [[], ["root.jsonl.gz"], ["elsewhere"]], [false, true])
  func withholdsWhenResumed(into name: [String], byItself: Bool) async throws {
    let pair = try Pair(
      root: """
        name: root
        tools: [{agent: child.yaml, name: ask}]
        redaction: {patterns: [{kind: order, pattern: "ORD-[0-9]{6}"}]}
        model: {script: [{call: {tool: ask, input: {task: go}}}, {answer: "${last.data}"}]}
        """,
      child: """
        name: child
        tools:
          - {name: get, sideEffect: write, scripted: [{ok: "this is ORD-123456"}]}
          - {name: use, sideEffect: read, command: [/bin/sh, -c, 'cat >got; echo 1']}
        model:
          script:
            - call: {tool: get, input: {}}
            - call: {tool: use, input: {order: "${last.data}"}}
            - answer: done
        """)
    try await pair.record(into: (["runs"] + name).joined(separator: "/"), status: 1)
    let (log, child) = (try pair.logs().roots[0], try pair.logs().children[0])
    let words = ["--by", "ana", "--reason", "as ORD-123456 says"]
    try await pair.run(["approve", byItself ? child : log, "get"] + words)
    if byItself {
      try await pair.run(["resume", child, "--agent", "child.yaml", "--fixed-clock"])
    }
    try await pair.run(["resume", log, "--agent", "root.yaml", "--fixed-clock"])
    for log in try pair.logs().children {
      for event in try readLog(log) {
        #expect(!CanonicalJSON.string(.object(event.data)).contains("ORD-123456"))
      }
    }
    #expect(pair.folder.text("got")?.contains("this is ORD-123456") == true)
    try await pair.run(["replay", log, "--reexecute", "--agent", "root.yaml"])
  }
}

@Suite("Forks of runs that called agents")
struct ChildForkTests {
  @Test(
    "a live fork asks before it calls an agent whose run wrote behind the fork, and not where it only read",
    arguments: ["write", "read", "draft"], [true, false])
  func holdsBack(effect: String, isThere: Bool) async throws {
    let pair = try Pair(
      root: """
        name: root
        tools:
          - {agent: child.yaml, name: ask}
          - {name: look, sideEffect: read, scripted: [{ok: 1}]}
        model:
          script:
            - call: {tool: look, input: {}}
            - choose:
              - when: {step: 2}
                calls: [{tool: ask, input: {task: one}}]
            - choose:
              - when: {results: {$length: 2}}
                calls: [{tool: ask, input: {task: one}}]
              - answer: done
            - answer: done
        """,
      child: """
        name: child
        tools: [{agent: grandchild.yaml, name: deeper}]
        model: {script: [{call: {tool: deeper, input: {task: go}}}, {answer: done}]}
        """)
    try pair.folder.write(
      "grandchild.yaml",
      """
      name: grandchild
      tools:
        - {name: act, sideEffect: \(effect), command: [/bin/sh, -c, 'echo done >>effects; echo 1']}
      policy: {rules: [{id: all, verdict: allow}]}
      model: {script: [{call: {tool: act, input: {}}}, {answer: done}]}
      """)
    try await pair.record()
    let before = pair.effects
    #expect(before.hasPrefix("done\n"))
    let logs = try pair.logs()
    if !isThere { for log in logs.children { try FileManager.default.removeItem(atPath: log) } }
    // The second step calls something else, and the third what the second did.
    try pair.folder.write("d.json", #"{"calls":[{"name":"look","input":{"other":1}}]}"#)
    let isHeld = effect == "write" || !isThere
    let forked = try await pair.run(
      [
        "fork", logs.roots[0], "--at", "step:2", "--set", "decision=d.json", "--live", "--agent",
        "root.yaml", "--out", "forks", "--seed", "9", "--fixed-clock",
      ], status: isHeld ? 1 : 0)
    #expect(forked.output.contains("did it later") == isHeld, "\(forked)")
    #expect(pair.effects == (isHeld ? before : before + "done\n"))
    let made = try pair.logs("forks").roots[0]
    try await pair.run(["replay", made, "--reexecute", "--agent", "root.yaml"])
    guard isHeld else { return }
    // A person may let it run all the same.
    let fork = try pair.logs("forks").roots[0]
    try await pair.run(["approve", fork, "ask", "--by", "ana"])
    try await pair.run(["resume", fork, "--agent", "root.yaml", "--fixed-clock"])
    #expect(pair.effects == before + "done\n")
    try await pair.run(["verify", fork])
  }

  @Test(
    "a fork of a tree has the children that it shares beside it, is verified and made again, wherever it goes",
    arguments: ["forks", "runs"], [true, false])
  func areWhole(out: String, isNested: Bool) async throws {
    let pair = try Pair(
      root: """
        name: root
        tools:
          - {agent: child.yaml, name: ask}
          - {name: look, sideEffect: read, scripted: [{ok: 1}]}
        model:
          script:
            - call: {tool: ask, input: {task: one}}
            - call: {tool: look, input: {}}
            - call: {tool: ask, input: {task: two}}
            - answer: "child: ${last.data}"
        """,
      child: """
        name: child
        tools:
          - {name: look, sideEffect: read, scripted: [{ok: 1}]}
        \(isNested ? "  - {agent: grandchild.yaml, name: deeper}" : "")
        model:
          script:
            - call: {tool: \(isNested ? "deeper" : "look"), input: {\(isNested ? "task: go" : "")}}
            - answer: done
        """)
    try pair.folder.write("grandchild.yaml", "name: grandchild\nmodel: {script: [{answer: hi}]}\n")
    try await pair.record()
    var parent = try pair.logs().roots[0]
    var known: Set<String> = [parent]
    // A fork, and a fork of it, and one of that.
    for (seed, folder) in [(5, out), (6, "\(out)2"), (7, out)] {
      try await pair.run([
        "fork", parent, "--at", "step:3", "--agent", "root.yaml", "--seed", "\(seed)", "--out",
        folder, "--fixed-clock",
      ])
      let fork = try #require(try pair.logs(folder).roots.first { !known.contains($0) })
      known.insert(fork)
      let verified = try await pair.run(["verify", fork])
      #expect(!verified.output.contains("damaged"), "\(verified)")
      let again = try await pair.run(["replay", fork, "--reexecute", "--agent", "root.yaml"])
      #expect(again.output.contains("0 diverged, 0 could not"), "\(again)")
      let tree = try await pair.run(["show", fork, "--tree"])
      #expect(!tree.output.contains("is not there"), "\(tree)")
      let listed = try await pair.run(["list", folder, "--json"])
      #expect(!listed.output.contains("\"child\""), "\(listed)")
      parent = fork
    }
    // What is beside a fork is what is beside its parent, byte for byte.
    let (original, copies) = (
      try pair.bytes("runs").filter { $0.key.hasSuffix(".jsonl.gz") },
      try pair.bytes("\(out)2").filter { $0.key.hasSuffix(".jsonl.gz") }
    )
    for (name, bytes) in copies { #expect(original[name] == nil || original[name] == bytes) }
    #expect(Set(copies.keys).intersection(original.keys).count == (isNested ? 4 : 2))
  }
}
