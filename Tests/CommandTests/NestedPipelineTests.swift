import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Pipelines in pipelines")
struct NestedPipelineTests {
  private static let inner = """
    pipeline: inner
    input: {schema: {type: object, required: [who], properties: {who: {type: string}}}}
    tasks:
      - id: write
        command: [./do.sh, write, "${input.who}"]
        sideEffect: read
      - id: sign
        human: {ask: "Sign for ${write.who}?"}
      - id: post
        command: [./do.sh, post, "${write.who}"]
        input: {by: "${sign.by}"}
        sideEffect: write
    """

  private static func outer(compensate: Bool = true) -> String {
    """
    pipeline: outer
    tasks:
      - id: names
        command: [printf, '{"names": ["Ada", "Bob"]}']
        sideEffect: read
      - id: letters
        pipeline: inner.yaml
        forEach: ${names.names}
        input: {who: "${item}"}
    \(compensate ? "    compensate: {command: [./do.sh, recall, \"${item}\"]}" : "")
      - id: count
        command: [./do.sh, count, "${letters.*.post.who}"]
        sideEffect: read
    """
  }

  private static func makeFolder(compensate: Bool = true) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("inner.yaml", inner)
    try folder.write("outer.yaml", outer(compensate: compensate))
    let script = try folder.write(
      "do.sh",
      "#!/bin/sh\necho \"$1 $2\" >>world\ntest ! -e slow || sleep 5\ntest ! -e \"stuck-$1\" || exit 1\n"
        + "printf '{\"who\": \"%s\"}' \"$(echo \"$2\" | tr -d '\"')\"\n")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
    return folder
  }

  private static func world(_ folder: TemporaryFolder) -> [String] {
    let text = (try? String(contentsOfFile: folder.path("world"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map(String.init)
  }

  private static let log = "runs/o.jsonl.gz"

  @discardableResult
  private static func run(
    _ arguments: [String], in folder: TemporaryFolder, status: Int32 = 0
  ) async throws -> Command.Outcome {
    try await Binary.run(arguments, in: folder.path, status: status)
  }

  // MARK: Reading

  @Test(
    "what is wrong with a pipeline inside is said with its own places, and so is one that stands in itself"
  )
  func mistakes() async throws {
    let folder = try Self.makeFolder()
    try folder.write(
      "inner.yaml", Self.inner.replacingOccurrences(of: "${write.who}?", with: "${wrte.who}?"))
    let wrong = try await Self.run(["check", "outer.yaml"], in: folder, status: 2)
    #expect(wrong.output.contains("inner.yaml:"))
    #expect(wrong.output.contains("there is no task “wrte”; did you mean “write”?"))
    #expect(wrong.output.contains("the pipeline file “inner.yaml” has errors"))
    try folder.write(
      "loop.yaml",
      "pipeline: loop\ntasks:\n  - {id: again, pipeline: ./loop.yaml, sideEffect: read}\n")
    let loop = try await Self.run(["check", "loop.yaml"], in: folder, status: 2)
    #expect(loop.output.contains("the pipeline stands in itself"))
  }

  @Test("pipelines that stand in one another too deep or too often are refused, not read for ever")
  func tooDeep() async throws {
    let folder = try Self.makeFolder()
    for level in 0..<9 {
      let tasks = (0..<10).map {
        "  - {id: t\($0), pipeline: p\(level + 1).yaml, sideEffect: read}\n"
      }
      try folder.write("p\(level).yaml", "pipeline: p\(level)\ntasks:\n" + tasks.joined())
    }
    try folder.write(
      "p9.yaml", "pipeline: p9\ntasks:\n  - {id: a, command: [true], sideEffect: read}\n")
    let deep = try await Self.run(["check", "p0.yaml"], in: folder, status: 2)
    #expect(deep.output.contains("more than 8 pipelines stand in one another"))
    #expect(deep.output.contains("more than 200 pipeline files stand in one"))
  }

  // MARK: Living

  @Test(
    "it waits, is answered from outside, and goes on as one task of the outer; both logs verify and are made again"
  )
  func lived() async throws {
    let folder = try Self.makeFolder()
    let begun = try await Self.run(
      ["record", "outer.yaml", "--out", Self.log, "--seed", "1", "--fixed-clock"], in: folder,
      status: 1)
    #expect(begun.output.contains("letters[0]: its pipeline waits for a person’s word on sign"))
    #expect(begun.errors.contains("agent-eval approve runs/o.jsonl.gz 'letters[0]/sign' --by NAME"))
    let unclear = try await Self.run(
      ["approve", Self.log, "sign", "--by", "ana"], in: folder, status: 2)
    #expect(
      unclear.errors.contains(
        "sign does not wait for a person; letters[0]/sign, letters[1]/sign does"))
    try await Self.run(["approve", Self.log, "letters[0]/sign", "--by", "ana"], in: folder)
    let half = try await Self.run(["resume", Self.log], in: folder, status: 1)
    #expect(half.output.contains("done       letters[0]: {\"post\":{\"who\":\"Ada\"}}"))
    #expect(!half.output.contains("goes on    letters[1]"))
    // What alone waits needs no name.
    try await Self.run(["answer", Self.log, "by all means"], in: folder)
    let ended = try await Self.run(["resume", Self.log], in: folder)
    #expect(ended.output.contains("stop       success"))
    #expect(Self.world(folder).filter { $0.hasPrefix("post") } == ["post Ada", "post Bob"])
    try await Self.run(["verify", "runs"], in: folder)
    let again = try await Self.run(["replay", "runs", "--reexecute"], in: folder)
    #expect(again.output.contains("3 runs: 3 faithful"))
    let listed = try await Self.run(["list", "runs", "--children", "--json"], in: folder)
      .jsonLines()
    let child = try #require(listed.first { $0["agent"] == "inner" })
    #expect(child["parentRelation"] == "task")
  }

  @Test("another inner run in the place of its own is found, also from the outer log")
  func otherInner() async throws {
    let folder = try Self.makeFolder()
    try await Self.run(["record", "outer.yaml", "--out", Self.log], in: folder, status: 1)
    for name in ["letters[0]/sign", "letters[1]/sign"] {
      try await Self.run(["approve", Self.log, name, "--by", "ana"], in: folder)
    }
    try await Self.run(["resume", Self.log], in: folder)
    let children = try FileManager.default.contentsOfDirectory(atPath: folder.path("runs"))
      .filter { $0 != "o.jsonl.gz" && $0.hasSuffix(".jsonl.gz") }.sorted()
    #expect(children.count == 2)
    try FileManager.default.removeItem(atPath: folder.path("runs/\(children[0])"))
    try FileManager.default.copyItem(
      atPath: folder.path("runs/\(children[1])"), toPath: folder.path("runs/\(children[0])"))
    let verified = try await Self.run(["verify", Self.log], in: folder, status: 1)
    #expect(verified.output.contains("the log of the task’s run is not the one that was made"))
  }

  @Test(
    "one that was gone on with by itself to its end is taken as it ended, and nothing is made again"
  )
  func endedByItself() async throws {
    let folder = try Self.makeFolder()
    try await Self.run(
      ["record", "outer.yaml", "--out", Self.log, "--seed", "1"], in: folder, status: 1)
    for inner in try Self.innerLogs(folder) {
      try await Self.run(["approve", inner, "sign", "--by", "ana"], in: folder)
      try await Self.run(["resume", inner], in: folder)
    }
    let ended = try await Self.run(["resume", Self.log], in: folder)
    #expect(ended.output.contains("stop       success"))
    #expect(
      Self.world(folder).filter { $0.hasPrefix("post") }.sorted() == ["post Ada", "post Bob"])
    try await Self.run(["verify", "runs"], in: folder)
  }

  @Test(
    "one whose log is gone is not made again: going on is refused, and says which log is missed")
  func missingInner() async throws {
    let folder = try Self.makeFolder()
    try await Self.run(
      ["record", "outer.yaml", "--out", Self.log, "--seed", "1"], in: folder, status: 1)
    let world = Self.world(folder)
    let inner = try #require(try Self.innerLogs(folder).first)
    try FileManager.default.moveItem(atPath: folder.path(inner), toPath: folder.path("aside"))
    let refused = try await Self.run(["resume", Self.log], in: folder, status: 2)
    #expect(refused.errors.contains("\(inner) is not there; put it back beside this one"))
    #expect(Self.world(folder) == world)
    try FileManager.default.moveItem(atPath: folder.path("aside"), toPath: folder.path(inner))
    for name in ["letters[0]/sign", "letters[1]/sign"] {
      try await Self.run(["approve", Self.log, name, "--by", "ana"], in: folder)
    }
    try await Self.run(["resume", Self.log], in: folder)
  }

  private static func innerLogs(_ folder: TemporaryFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path("runs"))
      .filter { $0 != "o.jsonl.gz" && $0.hasSuffix(".jsonl.gz") }.sorted().map { "runs/\($0)" }
  }

  @Test("killed while the inner pipeline runs, both go on where they stood")
  func killed() async throws {
    let folder = try Self.makeFolder()
    try folder.write("slow", "")
    try await shell(
      "$0 record outer.yaml --out \(Self.log) >/dev/null 2>&1 & pid=$!; "
        + "until grep -q 'write Ada' world 2>/dev/null; do sleep 0.05; done; kill -9 $pid; wait",
      in: folder.path, status: nil)
    try FileManager.default.removeItem(atPath: folder.path("slow"))
    let resumed = try await Self.run(["resume", Self.log], in: folder, status: 1)
    #expect(resumed.output.contains("goes on    letters[0]"))
    #expect(resumed.output.contains("asks       letters[0]"))
    for name in ["letters[0]/sign", "letters[1]/sign"] {
      try await Self.run(["approve", Self.log, name, "--by", "ana"], in: folder)
    }
    try await Self.run(["resume", Self.log], in: folder)
    #expect(
      Self.world(folder).filter { $0.hasPrefix("post") }.sorted() == ["post Ada", "post Bob"])
    try await Self.run(["verify", "runs"], in: folder)
  }

  @Test("a pause of the outer pipeline pauses the inner one at once, and both go on")
  func paused() async throws {
    let folder = try Self.makeFolder()
    try folder.write("slow", "")
    let paused = try await shell(
      "$0 record outer.yaml --out \(Self.log) >out 2>&1 & pid=$!; "
        + "until grep -q 'write Ada' world 2>/dev/null; do sleep 0.05; done; rm slow; "
        + "$0 pause \(Self.log); echo \"pause $?\"; wait $pid; echo \"record $?\"",
      in: folder.path)
    #expect(paused.lines == ["paused \(Self.log)", "pause 0", "record 1"])
    let shown = try await Self.run(["show", Self.log], in: folder)
    #expect(shown.output.contains("its pipeline was paused; it goes on with this one"))
    #expect(shown.output.contains("stop       cancelled"))
    // It waits for nobody.
    try folder.write(
      "case.yaml",
      "{caseId: a, recording: \(Self.log), expected: {tasks: {status: {\"letters[0]\": open}}}}")
    try await Self.run(["run", "case.yaml"], in: folder)
    let resumed = try await Self.run(["resume", Self.log], in: folder, status: 1)
    #expect(resumed.output.contains("goes on    letters[0]"))
    #expect(resumed.output.contains("stop       blocked (human)"))
    #expect(Self.world(folder).filter { $0 == "write Ada" }.count == 1)
  }

  // MARK: Failing and going back

  /// Both letters are posted, and then the last task fails.
  private static func failed(compensate: Bool) async throws -> TemporaryFolder {
    let folder = try makeFolder(compensate: compensate)
    try folder.write("stuck-count", "")
    try await run(["record", "outer.yaml", "--out", log], in: folder, status: 1)
    for name in ["letters[0]/sign", "letters[1]/sign"] {
      try await run(["approve", log, name, "--by", "ana"], in: folder)
    }
    try await run(["resume", log], in: folder, status: 1)
    return folder
  }

  @Test("to a rollback the inner pipeline is one task, undone by what that declares")
  func rolledBack() async throws {
    let folder = try await Self.failed(compensate: true)
    let back = try await Self.run(
      ["rollback", Self.log, "--to", "names", "--by", "ana"], in: folder)
    #expect(back.output.contains("to names: 2 undone, 0 left, 2 tasks to run anew"))
    // Which of them was posted last nobody knows: both were at once.
    #expect(Self.world(folder).suffix(2).sorted() == ["recall Ada", "recall Bob"])
  }

  @Test("where nothing undoes it the rollback is refused, and what the inner pipeline did is named")
  func undeclared() async throws {
    let folder = try await Self.failed(compensate: false)
    let refused = try await Self.run(
      ["rollback", Self.log, "--to", "names"], in: folder, status: 2)
    for words in [
      "nothing is declared that undoes letters[", "What the pipelines in it did: letters[",
      "letters[0]/post", "letters[1]/post",
    ] {
      #expect(refused.errors.contains(words), "\(words) in \(refused.errors)")
    }
  }

  @Test(
    "an inner pipeline that fails after it wrote leaves its task in doubt, one that only read does not"
  )
  func failures() async throws {
    for (stuck, expected) in [
      ("stuck-write", "failed     letters[0]: tool_failure: its pipeline stopped"),
      ("stuck-post", "failed     letters[0]: tool_failure, effect unknown"),
    ] {
      let folder = try Self.makeFolder()
      try folder.write(stuck, "")
      try await Self.run(["record", "outer.yaml", "--out", Self.log], in: folder, status: 1)
      if stuck == "stuck-post" {
        try await Self.run(["approve", Self.log, "letters[0]/sign", "--by", "ana"], in: folder)
        try await Self.run(["resume", Self.log], in: folder, status: 1)
        // The doubt is first the inner pipeline's.
        try await Self.run(
          ["approve", Self.log, "letters[0]/post", "--by", "ana", "--deny"], in: folder)
        try await Self.run(["resume", Self.log], in: folder, status: 1)
      }
      let shown = try await Self.run(["show", Self.log], in: folder)
      #expect(shown.output.contains(expected), "\(expected) in \(shown.output)")
    }
  }

  // MARK: Judging

  @Test("it is judged as a tree: callers are the ways to the tasks inside")
  func judged() async throws {
    let folder = try Self.makeFolder()
    try await Self.run(["record", "outer.yaml", "--out", Self.log], in: folder, status: 1)
    for name in ["letters[0]/sign", "letters[1]/sign"] {
      try await Self.run(["approve", Self.log, name, "--by", "ana"], in: folder)
    }
    try await Self.run(["resume", Self.log], in: folder)
    let cases = """
      - caseId: passes
        recording: \(Self.log)
        input: {}
        expected:
          toolsCalled:
            - {tool: do.sh, caller: "letters[1]/post", times: 1}
            - {tool: do.sh, caller: "letters/write", times: 2}
          tasks: {ran: [{task: "letters[*]", times: 2}], order: [names, letters, count]}
      - caseId: fails
        recording: \(Self.log)
        input: {}
        expected: {toolsNotCalled: [{tool: do.sh, caller: "letters/post"}]}
      """
    try folder.write("cases.yaml", cases)
    let judged = try await Self.run(["run", "cases.yaml"], in: folder, status: 1)
    #expect(judged.output.contains("pass   passes  4 of 4 checks"))
    #expect(judged.output.contains("FAIL   fails"))
  }
}

@Suite("What an outer pipeline gives up, inside")
struct CutOffPipelineTests {
  private static let log = "runs/o.jsonl.gz"

  /// Two levels of pipelines around a program that sleeps, and an agent whose tool does.
  private static func makeFolder(_ outer: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write(
      "slow.yaml",
      """
      pipeline: slow
      tasks:
        - {id: quick, command: [./do.sh, quick], sideEffect: read}
        - {id: sleep, command: [./do.sh, sleep], input: {x: "${quick}"}, sideEffect: write}
        - {id: agent, agent: agent.yaml, input: {goal: "Go on from ${quick}"}}
        - {id: never, command: [./do.sh, never], input: {x: "${sleep}"}, sideEffect: read}
      """)
    try folder.write(
      "middle.yaml", "pipeline: middle\ntasks:\n  - {id: slow, pipeline: slow.yaml}\n")
    try folder.write(
      "agent.yaml",
      """
      name: sleeper
      tools: [{name: nap, description: Sleeps., sideEffect: read, command: [./do.sh, sleep]}]
      model: {script: [{call: {tool: nap, input: {}}}, {answer: done}]}
      """)
    try folder.write("outer.yaml", outer)
    let script = try folder.write(
      "do.sh", "#!/bin/sh\necho \"$1\" >>world\ntest \"$1\" != sleep || sleep 600\necho 1\n")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
    return folder
  }

  /// The stops of all logs, by their agents' and pipelines' names, and that each verifies and is made again.
  private static func stops(_ folder: TemporaryFolder) async throws -> [String: String] {
    try await Binary.run(["verify", "runs"], in: folder.path)
    let again = try await Binary.run(["replay", "runs", "--reexecute"], in: folder.path)
    #expect(again.output.contains("4 runs: 4 faithful"), "\(again.output)\(again.errors)")
    var stops: [String: String] = [:]
    for run in try await Binary.run(["list", "runs", "--children", "--json"], in: folder.path)
      .jsonLines()
    {
      if let name = run["agent"]?.stringValue {
        stops[name] = run["stopReason"]?.stringValue ?? "none"
      }
    }
    return stops
  }

  private static func world(_ folder: TemporaryFolder) -> Set<String> {
    Set((folder.text("world") ?? "").split(separator: "\n").map(String.init))
  }

  @Test(
    "a timeout ends what is under way in the pipelines inside, at each depth, and closes their logs"
  )
  func timeout() async throws {
    let folder = try Self.makeFolder(
      """
      pipeline: outer
      tasks:
        - {id: middle, pipeline: middle.yaml, timeoutSeconds: 4, compensate: {command: [echo]}}
      """)
    let start = ContinuousClock.now
    let run = try await Binary.run(
      ["record", "outer.yaml", "--out", Self.log], in: folder.path, status: 1)
    // The programs sleep for ten minutes.
    #expect(ContinuousClock.now - start < .seconds(50))
    #expect(run.output.contains("failed     middle: timeout"), "\(run.output)")
    #expect(
      try await Self.stops(folder) == [
        "outer": "blocked", "middle": "cancelled", "slow": "cancelled", "sleeper": "cancelled",
      ])
    #expect(Self.world(folder) == ["quick", "sleep"])
    let shown = try await Binary.run(["show", Self.log, "--tree"], in: folder.path).output
    #expect(
      shown.contains("interrupted: the pipeline was cut off while the attempt was under way"),
      "\(shown)")
  }

  @Test("time that the outer pipeline’s limits leave is all that there is inside")
  func budget() async throws {
    let folder = try Self.makeFolder(
      """
      pipeline: outer
      limits: {timeoutSeconds: 4}
      tasks:
        - {id: middle, pipeline: middle.yaml, compensate: {command: [echo]}}
      """)
    let start = ContinuousClock.now
    try await Binary.run(["record", "outer.yaml", "--out", Self.log], in: folder.path, status: 1)
    #expect(ContinuousClock.now - start < .seconds(50))
    _ = try await Self.stops(folder)
    #expect(Self.world(folder) == ["quick", "sleep"])
  }

  @Test("steps that the outer pipeline’s limits leave are all that there are inside")
  func steps() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: stepper
      tools: [{name: nap, description: Naps., sideEffect: read, scripted: [{ok: null}]}]
      model: {script: [{call: {tool: nap, input: {}}}, {answer: done}]}
      """)
    try folder.write(
      "inner.yaml",
      """
      pipeline: inner
      tasks:
        - {id: one, agent: agent.yaml, input: {goal: Go}}
        - {id: two, agent: agent.yaml, input: {goal: "Go on from ${one.answer}"}}
        - {id: three, agent: agent.yaml, input: {goal: "Go on from ${two.answer}"}}
      """)
    try folder.write(
      "outer.yaml",
      """
      pipeline: outer
      limits: {maxSteps: 5}
      tasks:
        - {id: first, agent: agent.yaml, input: {goal: Go}}
        - {id: inner, pipeline: inner.yaml, input: {after: "${first.answer}"}}
      """)
    let run = try await Binary.run(
      ["record", "outer.yaml", "--out", Self.log, "--seed", "1", "--fixed-clock"],
      in: folder.path, status: 1)
    #expect(run.output.contains("failed     inner: tool_failure"), "\(run.output)")
    let listed = try await Binary.run(["list", "runs", "--children", "--json"], in: folder.path)
      .jsonLines()
    // Two steps of the first, two of `one`, and one of `two`, which may go no further.
    #expect(listed.count { $0["agent"] == "stepper" } == 3)
    #expect(listed.count { $0["stopReason"] == "budget_exhausted" } == 1)
    try await Binary.run(["verify", "runs"], in: folder.path)
    let again = try await Binary.run(["replay", "runs", "--reexecute"], in: folder.path)
    #expect(again.output.contains("5 runs: 5 faithful"), "\(again.output)\(again.errors)")
  }
}
