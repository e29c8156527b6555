import AgentTrace
import Foundation
import Subprocess
import TestSupport
import Testing
import TraceStorage

@Suite("Pipelines on the command line")
struct PipelineVerbTests {
  /// Three commands one after the other, each of which leaves a line in a file of the world outside.
  private static func world(seconds: String = "0", idempotent: Bool = true) -> String {
    let tasks = ["one", "two", "three"].enumerated().map { index, name in
      let above = index == 0 ? "" : "\n    input: {x: \"${\(["one", "two"][index - 1]).done}\"}"
      return """
          - id: \(name)
            command: [./do.sh, \(name), "\(seconds)"]\(above)
            sideEffect: write
            idempotent: \(idempotent)
            compensate: {command: [./undo.sh, \(name)]}
        """
    }
    return "pipeline: world\ntasks:\n" + tasks.joined(separator: "\n") + "\n"
  }

  private static func makeFolder(_ pipeline: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("p.yaml", pipeline)
    let scripts = [
      (
        "do.sh",
        "echo \"begin $1 $IDEMPOTENCY_KEY\" >>world; sleep $2; echo \"done $1\" >>world\n"
          + "echo '{\"done\": true}'\n"
      ),
      ("undo.sh", "test ! -e stuck || exit 1\necho \"undone $1\" >>world\necho null\n"),
    ]
    for (name, body) in scripts {
      let path = try folder.write(name, "#!/bin/sh\n" + body)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    return folder
  }

  private static func lines(of folder: TemporaryFolder) -> [String] {
    let text = (try? String(contentsOfFile: folder.path("world"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map {
      $0.split(separator: " ").prefix(2).joined(separator: " ")
    }
  }

  // MARK: Mistakes

  @Test("a pipeline with mistakes is not run, and everything that is wrong is said with places")
  func mistakes() async throws {
    let file = Project.path("Fixtures/mistaken-pipelines/broken.yaml")
    let checked = try await Binary.run(["check", file], status: 2)
    #expect(checked.output.contains("“anylze”; did you mean “analyze”?"))
    #expect(checked.output.contains("unknown key “comand”; did you mean “command”?"))
    let folder = try TemporaryFolder()
    let recorded = try await Binary.run(
      ["record", file, "--out", folder.path("runs")], in: folder.path, status: 2)
    #expect(recorded.errors.contains("“anylze”"))
    #expect(!FileManager.default.fileExists(atPath: folder.path("runs")))
  }

  @Test("an input that the pipeline does not take is refused before anything is written")
  func wrongInput() async throws {
    let folder = try TemporaryFolder()
    let file = Project.path("Fixtures/pipelines/review.yaml")
    for input in [[], ["--input", "{\"repo\": 3}"]] {
      let ended = try await Binary.run(
        ["record", file, "--out", folder.path("runs")] + input, in: folder.path, status: 2)
      #expect(ended.errors.contains("input"))
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path("runs")))
  }

  // MARK: People

  @Test(
    "it stands still for a person, goes on with what was said, verifies, and is made again as it was"
  )
  func person() async throws {
    let folder = try TemporaryFolder()
    let file = Project.path("Fixtures/pipelines/review.yaml")
    let log = folder.path("runs/r.jsonl.gz")
    let started = try await Binary.run(
      [
        "record", file, "--input", "{\"repo\": \"wc\"}", "--out", log, "--seed", "1",
        "--fixed-clock",
      ], in: folder.path, status: 1)
    #expect(started.output.contains("asks       approve: Publish these measures?"))
    #expect(started.errors.contains("next   agent-eval approve"))
    let wrong = try await Binary.run(["approve", log, "analyze", "--by", "ann"], status: 2)
    #expect(wrong.errors.contains("analyze does not wait for a person; approve does"))
    let doubt = try await Binary.run(
      ["approve", log, "approve", "--by", "ann", "--did-not-happen"], status: 2)
    #expect(doubt.errors.contains("approve, approve --deny, or answer TEXT"))
    try await Binary.run(["approve", log, "approve", "--by", "ann", "--fixed-clock"])
    let again = try await Binary.run(["approve", log, "approve", "--by", "bo"], status: 2)
    #expect(again.errors.contains("nothing waits for a person"))
    let ended = try await Binary.run(["resume", log, "--agent", file, "--fixed-clock"])
    #expect(ended.output.contains("done       publish: {\"page\":\"wc.html\"}"))
    try await Binary.run(["verify", folder.path("runs")])
    let made = try await Binary.run(["replay", log, "--reexecute", "--agent", file])
    #expect(made.output.hasPrefix("faithful"))
    // The child says whose task it was, and what it was given.
    let shown = try await Binary.run(["show", log, "--json"]).jsonLines()
    let run = try #require(shown.first { $0["type"] == "task_started" }?["data"]?["run"]?["runId"])
    let child = try await Binary.run(
      ["show", folder.path("runs/\(run.stringValue ?? "").jsonl.gz"), "--json"]
    ).jsonLines()
    let start = try #require(child.first?["data"])
    #expect(start["taskId"] == "analyze")
    #expect(start["pipelineId"] == shown.first?["runId"])
    #expect(start["parent"]?["relation"] == "task")
    #expect(start["parent"]?["runId"] == shown.first?["runId"])
    #expect(start["input"] == ["goal": "Find the files to change in wc"])
  }

  @Test("another run in the place of a task’s is found, a log that is elsewhere is a note")
  func otherChild() async throws {
    let folder = try TemporaryFolder()
    let file = Project.path("Fixtures/pipelines/review.yaml")
    let log = folder.path("runs/r.jsonl.gz")
    try await Binary.run(
      ["record", file, "--input", "{\"repo\": \"wc\"}", "--out", log, "--seed", "1"],
      in: folder.path, status: 1)
    let child = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder.path("runs")).first {
        $0 != "r.jsonl.gz"
      })
    let path = folder.path("runs/\(child)")
    try FileManager.default.removeItem(atPath: path)
    let missing = try await Binary.run(["verify", log])
    #expect(missing.output.contains("1 log of tasks’ runs could not be read"))
    try FileManager.default.copyItem(atPath: Fixture.run("refund-drafted"), toPath: path)
    let other = try await Binary.run(["verify", log], status: 1)
    #expect(other.output.contains("the log of the task’s run is not the one that was made"))
  }

  // MARK: Ends of processes

  @Test(
    "killed at random moments, what ended ran once, what was under way is named, and the end is the same"
  )
  func killed() async throws {
    var random = Seeded(seed: 11)
    var interrupted = 0
    for _ in 0..<TestRun.count(5, long: 100) {
      let folder = try Self.makeFolder(Self.world(seconds: "0.1"))
      let log = folder.path("r.jsonl.gz")
      let milliseconds = Int.random(in: 20...450, using: &random)
      try await shell(
        // Behind the beginning of its log, however long the program takes to start on a busy machine.
        "$0 record p.yaml --out r.jsonl.gz >/dev/null 2>&1 & pid=$!; "
          + "for _ in $(seq 500); do [ -e r.jsonl.gz.open ] && break; sleep 0.01; done; "
          + "sleep $1; kill -9 $pid; wait",
        ["\(Double(milliseconds) / 1_000)"], in: folder.path, status: nil)
      guard FileManager.default.fileExists(atPath: log + ".open") else {
        // It had ended, or had not begun.
        if FileManager.default.fileExists(atPath: log) {
          #expect(Self.lines(of: folder).filter { $0.hasPrefix("done") }.count == 3)
        }
        continue
      }
      let before = Self.lines(of: folder)
      if try await Binary.run(["show", log, "--json"]).outputBytes.isEmpty {
        // Its log was there and held nothing yet: nothing had begun either.
        #expect(before.isEmpty)
        continue
      }
      let resumed = try await Binary.run(
        ["resume", "r.jsonl.gz", "--agent", "p.yaml"], in: folder.path)
      let events = try await Binary.run(["show", log, "--json"]).jsonLines()
      let told = events.filter { $0["data"]?["error"]?["kind"] == "interrupted" }
      interrupted += told.count
      let lines = Self.lines(of: folder)
      for name in ["one", "two", "three"] {
        let begun = lines.count { $0 == "begin \(name)" }
        let isTold = told.contains { $0["data"]?["task"]?.stringValue == name }
        #expect(begun <= (isTold ? 2 : 1), "\(before) \(lines)\n\(resumed)")
        let ended = events.filter {
          $0["type"] == "task_finished" && $0["data"]?["task"]?.stringValue == name
        }
        #expect(ended.count == 1)
      }
      // Whatever was done twice was done with one key.
      let keys = try String(contentsOfFile: folder.path("world"), encoding: .utf8)
        .split(separator: "\n").filter { $0.hasPrefix("begin") }
      #expect(Set(keys).count == 3)
      try await Binary.run(["verify", log])
      let made = try await Binary.run([
        "replay", log, "--reexecute", "--agent", folder.path("p.yaml"),
      ])
      #expect(made.output.hasPrefix("faithful"))
    }
    #expect(interrupted > 0)
  }

  @Test(
    "what may have written is not done again by itself after a kill: a person says what happened")
  func doubt() async throws {
    let folder = try Self.makeFolder(Self.world(seconds: "5", idempotent: false))
    try await shell(
      "$0 record p.yaml --out r.jsonl.gz >/dev/null 2>&1 & pid=$!; "
        + "until grep -q 'begin one' world 2>/dev/null; do sleep 0.05; done; kill -9 $pid; wait",
      in: folder.path, status: nil)
    try folder.write("p.yaml", Self.world(seconds: "5", idempotent: false))
    let resumed = try await Binary.run(
      ["resume", "r.jsonl.gz", "--agent", "p.yaml"], in: folder.path, status: 1)
    #expect(resumed.output.contains("stop       blocked (unknown_effect:one)"))
    #expect(resumed.errors.contains("--happened"))
    try await Binary.run(
      ["approve", "r.jsonl.gz", "one", "--by", "ann", "--happened", "--data", "{\"done\": true}"],
      in: folder.path)
    #expect(Self.lines(of: folder) == ["begin one"])
  }

  @Test("another process asks it to pause: what is under way ends, and it goes on where it stood")
  func pause() async throws {
    let folder = try Self.makeFolder(Self.world(seconds: "0.6"))
    let paused = try await shell(
      "$0 record p.yaml --out r.jsonl.gz >out 2>&1 & pid=$!; "
        + "until grep -q 'begin one' world 2>/dev/null; do sleep 0.05; done; "
        + "$0 pause r.jsonl.gz; echo \"pause $?\"; wait $pid; echo \"record $?\"",
      in: folder.path)
    #expect(paused.lines == ["paused r.jsonl.gz", "pause 0", "record 1"])
    #expect(Self.lines(of: folder) == ["begin one", "done one"])
    #expect(
      try await Binary.run(["pause", "r.jsonl.gz"], in: folder.path, status: 2)
        .errors.contains("is closed"))
    try await Binary.run(["resume", "r.jsonl.gz", "--agent", "p.yaml"], in: folder.path)
    #expect(Self.lines(of: folder).count == 6)
  }

  @Test("a pipeline that was changed does not go on in silence, and goes on where that is accepted")
  func changed() async throws {
    let folder = try TemporaryFolder()
    let text = """
      pipeline: p
      tasks:
        - {id: a, command: [echo, "1"], sideEffect: read}
        - {id: b, human: {ask: "Go on after ${a}?"}}
        - {id: c, command: [echo, "2"], sideEffect: read, input: {b: "${b}"}}
      """
    try folder.write("p.yaml", text)
    try await Binary.run(
      ["record", "p.yaml", "--out", "r.jsonl.gz"], in: folder.path, status: 1)
    try await Binary.run(["answer", "r.jsonl.gz", "yes"], in: folder.path)
    try folder.write("p.yaml", text.replacing("\"2\"", with: "\"3\""))
    let refused = try await Binary.run(
      ["resume", "r.jsonl.gz", "--agent", "p.yaml"], in: folder.path, status: 2)
    #expect(
      refused.errors.contains(
        "task c is not the one from before: arguments was [\"echo\",\"2\"], and is [\"echo\",\"3\"]"
      ))
    try folder.write("q.yaml", text.replacing("\"1\"", with: "\"9\""))
    let made = try await Binary.run(
      ["replay", "r.jsonl.gz", "--reexecute", "--agent", "q.yaml"], in: folder.path, status: 1)
    #expect(made.output.contains("arguments was [\"echo\",\"1\"], and is [\"echo\",\"9\"]"))
    #expect(made.output.contains("cause: task"))
    let ended = try await Binary.run(
      ["resume", "r.jsonl.gz", "--agent", "p.yaml", "--accept-changes"], in: folder.path)
    #expect(ended.output.contains("done       c: 3"))
  }

  // MARK: Going back

  @Test(
    "rolled back, what was done behind the checkpoint is undone, the last first; a failure is not hidden"
  )
  func rollback() async throws {
    let folder = try Self.makeFolder(
      Self.world() + """
          - id: last
            command: ["false"]
            input: {x: "${three.done}"}
            sideEffect: read
        """)
    let log = "r.jsonl.gz"
    try await Binary.run(["record", "p.yaml", "--out", log], in: folder.path, status: 1)
    let unknown = try await Binary.run(
      ["rollback", log, "--to", "nowhere", "--agent", "p.yaml"], in: folder.path, status: 2)
    #expect(unknown.errors.contains("it has start, one, two, three"))
    try folder.write("stuck", "")
    let stuck = try await Binary.run(
      ["rollback", log, "--to", "one", "--by", "ann", "--agent", "p.yaml"], in: folder.path,
      status: 1)
    #expect(stuck.output.contains("open       three: tool_failure: exited with 1"))
    #expect(stuck.output.contains("blocked (rollback:three)"))
    #expect(!stuck.output.contains("back       to"))
    // A person undoes one by hand, the command the other.
    try await Binary.run(["approve", log, "three", "--by", "ann", "--happened"], in: folder.path)
    try FileManager.default.removeItem(atPath: folder.path("stuck"))
    let back = try await Binary.run(
      ["resume", log, "--agent", "p.yaml"], in: folder.path, status: 1)
    #expect(back.output.contains("undone     two"))
    #expect(back.output.contains("back       to one: 2 undone, 0 left"))
    // What writes asks before it is done again.
    #expect(back.output.contains("two was done once and undone. May it be done again?"))
    #expect(Self.lines(of: folder).suffix(1) == ["undone two"])
    try await Binary.run(["approve", log, "two", "--by", "ann"], in: folder.path)
    try await Binary.run(["resume", log, "--agent", "p.yaml"], in: folder.path, status: 1)
    #expect(Self.lines(of: folder).filter { $0 == "begin two" }.count == 2)
    try await Binary.run(["verify", log], in: folder.path)
    let made = try await Binary.run(
      ["replay", log, "--reexecute", "--agent", "p.yaml"], in: folder.path)
    #expect(made.output.hasPrefix("faithful"))
  }

  @Test("what the logs of a pipeline do not show is not taken for what did not happen")
  func judged() async throws {
    let folder = try TemporaryFolder()
    for name in ["review", "f893a2ee-fb32-855e-b1c1-8690ee42c90b"] {
      try FileManager.default.copyItem(
        atPath: Project.path("Fixtures/pipeline-runs/\(name).jsonl.gz"),
        toPath: folder.path("\(name).jsonl.gz"))
    }
    let expectations = [
      "toolsNotCalled: [pay]", "maxToolCalls: 9", "toolsNotProposed: [pay]",
      "policy: {notGiven: [{verdict: deny}]}",
    ]
    for isThere in [true, false] {
      for expected in expectations {
        try folder.write(
          "case.yaml", "caseId: c\nrecording: review.jsonl.gz\nexpected: {\(expected)}\n")
        let judged = try await Binary.run(["run", "case.yaml"], in: folder.path, status: nil)
        #expect(judged.output.contains("unverifiable") == !isThere, "\(expected): \(judged)")
        #expect((judged.status == 0) == isThere, "\(expected): \(judged)")
      }
      if isThere {
        try FileManager.default.removeItem(
          atPath: folder.path("f893a2ee-fb32-855e-b1c1-8690ee42c90b.jsonl.gz"))
      }
    }
  }

  @Test("a case that names a pipeline with commands runs it with --live alone")
  func cases() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml", "pipeline: p\ntasks: [{id: a, command: [printf, '[1]'], sideEffect: read}]\n")
    try folder.write(
      "case.yaml",
      "caseId: c\npipeline: p.yaml\nexpected: {toolsCalled: [{tool: printf, caller: a, times: 1}]}\n"
    )
    let refused = try await Binary.run(["run", "case.yaml"], in: folder.path, status: 2)
    #expect("\(refused)".contains("--live"))
    let ran = try await Binary.run(["run", "case.yaml", "--live"], in: folder.path)
    #expect(ran.output.contains("1 passed"))
    for (text, says) in [
      ("pipeline: p.yaml\nhuman: {turns: []}", "has no effect on a pipeline"),
      ("pipeline: p.yaml\nagent: a.yaml", "not both"),
      ("input: {a: 1}", "what a pipeline is given"),
      ("pipeline: q.yaml", "q.yaml"),
    ] {
      try folder.write("bad.yaml", "caseId: c\n\(text)\nexpected: {stopReason: success}\n")
      let checked = try await Binary.run(["check", "bad.yaml"], in: folder.path, status: nil)
      #expect(checked.status != 0 && "\(checked)".contains(says), "\(text): \(checked)")
    }
  }

  // MARK: Pictures

  @Test("the graph is drawn as text, as Mermaid and as a picture, whatever stands in it")
  func graph() async throws {
    let file = Project.path("Fixtures/pipelines/review.yaml")
    let text = try await Binary.run(["check", "--graph", "text", file]).lines
    #expect(text.count == 5)
    #expect(text.last?.contains("publish") == true)
    let mermaid = try await Binary.run(["check", "--graph", "mermaid", file]).output
    #expect(mermaid.hasPrefix("flowchart TD\n"))
    #expect(mermaid.contains("n0 --> n1"))
    let picture = try await Binary.run(["check", "--graph", "svg", file]).output
    #expect(picture.hasPrefix("<svg ") && picture.hasSuffix("</svg>\n"))
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      "pipeline: \"<script>\\\"]; x\\e[2J\"\ntasks: [{id: a, command: [cat], sideEffect: read}]\n")
    for form in ["text", "mermaid", "svg"] {
      let drawn = try await Binary.run(["check", "--graph", form, "p.yaml"], in: folder.path)
      #expect(controlBytes(in: drawn.outputBytes).isEmpty)
      #expect(form == "text" || !drawn.output.contains("<script"))
    }
  }
}
