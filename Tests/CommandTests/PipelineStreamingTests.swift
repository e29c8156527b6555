import AgentTrace
import Foundation
import TestSupport
import Testing

/// Tasks that give parts before their end, and those that run for each of them.
@Suite("Parts of outputs, as they come")
struct PipelineStreamingTests {
  private static let log = "r.jsonl.gz"

  private static func events(_ folder: TemporaryFolder) async throws -> [JSONValue] {
    try await Binary.run(["show", log, "--json"], in: folder.path).jsonLines()
      .filter { $0["type"] != nil }
  }

  private static func parts(_ events: [JSONValue]) -> [JSONValue] {
    events.filter { $0["type"] == "task_output" }.compactMap { $0["data"]?["value"] }
  }

  private static func outputs(of task: String, _ events: [JSONValue]) -> [JSONValue] {
    events.filter { $0["type"] == "task_finished" && $0["data"]?["task"]?.stringValue == task }
      .filter { $0["data"]?["element"] != nil }
      .sorted { $0["data"]?["element"]?.intValue ?? 0 < $1["data"]?["element"]?.intValue ?? 0 }
      .compactMap { $0["data"]?["output"] }
  }

  private static func script(_ name: String, _ body: String, in folder: TemporaryFolder) throws {
    try folder.write(name, "#!/bin/sh\n\(body)\n")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: folder.path(name))
  }

  /// Waits in a script for a file, a minute at most.
  private static func await(_ file: String) -> String {
    "n=0; while [ ! -e \(file) ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done"
  }

  private static let lines = """
    pipeline: lines
    tasks:
      - {id: find, command: [./find.sh], parts: lines, sideEffect: read}
      - id: look
        forEach: {partsOf: find}
        command: [./look.sh, "${item.name}"]
        sideEffect: read
      - {id: sum, command: [cat], input: {all: "${look.*}", found: "${find}"}, sideEffect: read}

    """

  private static func check(_ folder: TemporaryFolder, _ words: String = "") async throws {
    try await Binary.run(["verify", log], in: folder.path)
    let again = try await Binary.run(
      ["replay", log, "--reexecute", "--agent", "p.yaml"], in: folder.path)
    #expect(again.output.hasPrefix("faithful"), "\(words)")
  }

  @Test("an element begins at the line that a program prints, while the program goes on")
  func lines() async throws {
    let folder = try TemporaryFolder()
    try folder.write("p.yaml", Self.lines)
    // It ends only once the element of its first line has begun; the last line has no end.
    try Self.script(
      "find.sh",
      "echo '{\"name\": \"a\"}'\n\n\(Self.await("seen-a"))\n[ -e seen-a ] && printf '{\"name\": \"b\"}'",
      in: folder)
    try Self.script("look.sh", "touch seen-$1; echo \"\\\"$1\\\"\"", in: folder)
    try await Binary.run(["record", "p.yaml", "--out", Self.log], in: folder.path)
    let events = try await Self.events(folder)
    let both: JSONValue = [["name": "a"], ["name": "b"]]
    #expect(JSONValue.array(Self.parts(events)) == both)
    let begun = events.firstIndex {
      $0["type"] == "task_started" && $0["data"]?["task"] == "look" && $0["data"]?["element"] == 0
    }
    let ended = events.firstIndex {
      $0["type"] == "task_finished" && $0["data"]?["task"] == "find"
    }
    #expect(try #require(begun) < #require(ended))
    let sum = events.last { $0["data"]?["task"] == "sum" && $0["type"] == "task_finished" }
    #expect(sum?["data"]?["output"] == ["all": ["a", "b"], "found": both])
    try await Self.check(folder)
    let shown = try await Binary.run(["show", Self.log], in: folder.path).output
    #expect(shown.contains("part       find 0: {\"name\":\"a\"}"))
  }

  @Test(
    "killed between two parts, what was recorded is not done again, and a producer that says something else fails"
  )
  func killed() async throws {
    for isSame in [true, false] {
      let folder = try TemporaryFolder()
      try folder.write("p.yaml", Self.lines)
      let name = isSame ? "a" : "$([ -e again ] && echo other || echo a)"
      try Self.script(
        "find.sh",
        "echo \"{\\\"name\\\": \\\"\(name)\\\"}\"\n\(Self.await("again"))\necho '{\"name\": \"b\"}'",
        in: folder)
      try Self.script("look.sh", "echo $1 >>world; echo \"\\\"$1\\\"\"", in: folder)
      try await shell(
        "$0 record p.yaml --out \(Self.log) >/dev/null 2>&1 & pid=$!; "
          + "n=0; while [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; "
          + "$0 show \(Self.log) 2>/dev/null | grep -q 'done *look' && break; done; "
          + "kill -9 $pid; wait",
        [], in: folder.path, status: nil)
      try folder.write("again", "")
      let resumed = try await Binary.run(
        ["resume", Self.log, "--agent", "p.yaml"], in: folder.path, status: nil)
      let events = try await Self.events(folder)
      let stop = events.last { $0["type"] == "stop" }?["data"]?["reason"]
      #expect(stop == (isSame ? "success" : "tool_failure"), "\(resumed.output)")
      let parts: JSONValue = isSame ? [["name": "a"], ["name": "b"]] : [["name": "a"]]
      #expect(JSONValue.array(Self.parts(events)) == parts)
      #expect(folder.text("world") == (isSame ? "a\nb\n" : "a\n"))
      if !isSame {
        #expect(resumed.output.contains("part 0 is not the one that an earlier attempt gave"))
      }
      try await Self.check(folder)
    }
  }

  @Test("a producer that fails, lacks parts or prints what is no JSON is told")
  func failures() async throws {
    let cases = [
      ("echo 1; echo '{'; sleep 600", "line 2 of standard output is not JSON", 1),
      ("echo 1; exit 3", "exited with 3", 1),
      // Its second attempt succeeds, and gives less than the first.
      (
        "if [ -e once ]; then echo 1; else touch once; echo 1; echo 2; exit 1; fi",
        "1 of the parts that an earlier attempt gave did not come", 2
      ),
    ]
    for (body, words, attempts) in cases {
      let folder = try TemporaryFolder()
      try folder.write(
        "p.yaml",
        """
        pipeline: lines
        tasks:
          - {id: find, command: [./find.sh], parts: lines, sideEffect: read, retry: {max: \(attempts - 1)}}
          - {id: look, forEach: {partsOf: find}, command: [printf, "%s", "${item}"], sideEffect: read}

        """)
      try Self.script("find.sh", body, in: folder)
      let run = try await Binary.run(
        ["record", "p.yaml", "--out", Self.log], in: folder.path, status: nil)
      #expect(run.output.contains(words), "\(run.output)")
      let events = try await Self.events(folder)
      #expect(events.last { $0["type"] == "stop" }?["data"]?["detail"] == "task:find")
      #expect(
        Self.outputs(of: "look", events).allSatisfy { $0 == 1 || $0 == 2 }, "\(run.output)")
      let failed = events.last { $0["type"] == "task_failed" && $0["data"]?["task"] == "look" }
      #expect(failed?["data"]?["error"]?["kind"] == "upstream_failed")
      try await Self.check(folder, words)
    }
  }

  @Test(
    "what an agent calls a tool with is a part once the call has ended; killed, it gives the same")
  func agents() async throws {
    func make() throws -> TemporaryFolder {
      let folder = try TemporaryFolder()
      let turns = ["a", "no", "b", "c"].map { name in
        "      - {call: {tool: \(name == "no" ? "other" : "note"), input: {name: \(name)}}}\n"
      }.joined()
      try folder.write(
        "agent.yaml",
        """
        name: noter
        tools:
          - {name: note, description: Notes., sideEffect: read, command: [./note.sh]}
          - {name: other, description: Does., sideEffect: read, command: [./note.sh]}
        model:
          script:
        \(turns)      - answer: done

        """)
      try folder.write(
        "p.yaml",
        """
        pipeline: notes
        tasks:
          - {id: find, agent: agent.yaml, input: {goal: Go}, parts: {calls: note}}
          - {id: look, forEach: {partsOf: find}, command: [./look.sh, "${item.name}"], sideEffect: read}

        """)
      try Self.script("note.sh", "sleep 0.05; echo null", in: folder)
      try Self.script("look.sh", "echo $1 >>world; echo \"\\\"$1\\\"\"", in: folder)
      return folder
    }
    let whole: JSONValue = ["a", "b", "c"]
    var random = Seeded(seed: 5)
    for round in 0..<TestRun.count(4, long: 30) {
      let folder = try make()
      let milliseconds = round == 0 ? 60_000 : Int.random(in: 50...600, using: &random)
      try await shell(
        "$0 record p.yaml --out \(Self.log) >/dev/null 2>&1 & pid=$!; "
          + "(sleep $1; kill -9 $pid) 2>/dev/null & wait $pid; kill $! 2>/dev/null; true",
        ["\(Double(milliseconds) / 1_000)"], in: folder.path, status: nil)
      let isThere = FileManager.default.fileExists(atPath: folder.path(Self.log + ".open"))
      if isThere {
        let resumed = try await Binary.run(
          ["resume", Self.log, "--agent", "p.yaml"], in: folder.path, status: nil)
        // Killed before its first event was whole.
        if resumed.status != 0 { continue }
      } else if !FileManager.default.fileExists(atPath: folder.path(Self.log)) {
        continue
      }
      let words = "killed after \(milliseconds) ms"
      let events = try await Self.events(folder)
      #expect(events.last { $0["type"] == "stop" }?["data"]?["reason"] == "success", "\(words)")
      #expect(JSONValue.array(Self.parts(events).map { $0["name"] ?? .null }) == whole, "\(words)")
      #expect(JSONValue.array(Self.outputs(of: "look", events)) == whole, "\(words)")
      try await Self.check(folder, words)
    }
  }

  @Test(
    "secrets in parts are withheld, consumers get them, and a producer that is run again is not taken for another"
  )
  func secrets() async throws {
    let (printed, passed) = ("pX5tG2zu9FoM6kEa", "rC8dJ3wi5HnY7bQs")
    for key in [nil, "a key of the redaction that is kept"] {
      let folder = try TemporaryFolder()
      try folder.write(
        "p.yaml",
        """
        pipeline: lines
        tasks:
          - id: find
            command: {arguments: [./find.sh], environment: {pass: [SIDE_DOOR]}}
            parts: lines
            sideEffect: read
          - id: look
            forEach: {partsOf: find}
            command: [./look.sh, "${item.token}"]
            sideEffect: read

        """)
      try Self.script(
        "find.sh",
        "echo '{\"token\": \"\(printed)\"}'\n\(Self.await("again"))\necho \"{\\\"token\\\": \\\"$SIDE_DOOR\\\"}\"",
        in: folder)
      try Self.script("look.sh", "echo $1 >>world; echo null", in: folder)
      let exported = key.map { "export AGENT_EVAL_REDACTION_KEY='\($0)'; " } ?? ""
      try await shell(
        "\(exported)export SIDE_DOOR=\(passed); "
          + "$0 record p.yaml --out \(Self.log) >/dev/null 2>&1 & pid=$!; "
          + "n=0; while [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; "
          + "$0 show \(Self.log) 2>/dev/null | grep -q 'done *look' && break; done; "
          + "kill -9 $pid; wait",
        [], in: folder.path, status: nil)
      try folder.write("again", "")
      var environment = ["SIDE_DOOR": passed]
      if let key { environment["AGENT_EVAL_REDACTION_KEY"] = key }
      let resumed = try await Binary.run(
        ["resume", Self.log, "--agent", "p.yaml"], in: folder.path, environment: environment,
        status: nil)
      let events = try await Self.events(folder)
      let stop = events.last { $0["type"] == "stop" }?["data"]?["reason"]
      #expect(stop == "success", "\(key ?? "no key"): \(resumed.output)\(resumed.errors)")
      let text = CanonicalJSON.string(.array(events)) + resumed.output + resumed.errors
      #expect(!text.contains(printed) && !text.contains(passed), "\(text)")
      #expect(Self.parts(events).count == 2)
      #expect(folder.text("world")?.hasPrefix("\(printed)\n") ?? false)
      try await Self.check(folder)
    }
  }

  @Test("a program that prints too much is ended, with what it gave recorded")
  func tooMuch() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      """
      pipeline: lines
      tasks:
        - id: find
          command: {arguments: [./find.sh], outputLimitBytes: 1000}
          parts: lines
          sideEffect: read
        - {id: look, forEach: {partsOf: find}, command: [printf, "%s", "${item}"], sideEffect: read}

      """)
    try Self.script("find.sh", "i=0; while true; do i=$((i+1)); echo $i; done", in: folder)
    let run = try await Binary.run(
      ["record", "p.yaml", "--out", Self.log], in: folder.path, status: 1)
    #expect(run.output.contains("more than 1000 bytes on standard output"), "\(run.output)")
    let count = Self.parts(try await Self.events(folder)).count
    #expect(count < 400)
    try await Self.check(folder)
  }

  @Test("check says where parts are wanted that nobody gives")
  func checked() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: noter
      tools: [{name: note, description: Notes., sideEffect: read, scripted: [{ok: null}]}]
      model: {script: [{answer: done}]}

      """)
    try folder.write(
      "p.yaml",
      """
      pipeline: wrong
      tasks:
        - {id: one, command: [echo], sideEffect: read}
        - {id: two, agent: agent.yaml, parts: {calls: nose}, input: {goal: Go}}
        - {id: three, agent: agent.yaml, parts: lines, input: {goal: Go}}
        - {id: four, human: {ask: "Well?"}}
        - {id: five, command: [cat], forEach: {partsOf: one}, sideEffect: read}
        - {id: six, command: [cat], forEach: {partsOf: four}, sideEffect: read}
        - {id: seven, command: [cat], parts: {calls: note}, sideEffect: read}
        - {id: eight, command: [cat], parts: words, sideEffect: read}

      """)
    let said = try await Binary.run(["check", "p.yaml"], in: folder.path, status: 2)
    let text = said.output + said.errors
    #expect(text.contains("should be “lines”, or a mapping with “calls” alone"), "\(text)")
    #expect(text.contains("the agent has no tool “nose”; did you mean “note”?"), "\(text)")
    try folder.write(
      "p.yaml",
      try #require(folder.text("p.yaml")).split(separator: "\n")
        .filter { !$0.contains("eight") && !$0.contains("nose") }.joined(separator: "\n") + "\n")
    let graph = try await Binary.run(["check", "p.yaml"], in: folder.path, status: 2)
    for words in [
      "“one” gives no parts; parts: lines makes a part of each line that it prints",
      "“four” gives no parts", "lines are printed by a command alone",
      "calls are made by an agent alone",
    ] {
      #expect((graph.output + graph.errors).contains(words), "\(graph.output)\(graph.errors)")
    }
  }

  @Test(
    "a wish to pause takes hold between two parts, and what gave them gives the same when it goes on",
    arguments: ["$0 pause r.jsonl.gz; echo \"pause $?\"", "kill -TERM $pid; echo \"pause 0\""])
  func paused(_ wish: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      """
      pipeline: p
      tasks:
        - {id: find, command: [./find.sh], parts: lines, sideEffect: read}
        - {id: look, forEach: {partsOf: find}, command: [./look.sh], sideEffect: read}
      """)
    // Half a minute at least, unless it is told that this is enough.
    try Self.script(
      "find.sh",
      "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); [ -e enough ] || sleep 0.1; done",
      in: folder)
    try Self.script("look.sh", "touch seen; echo 1", in: folder)
    let paused = try await shell(
      "$0 record p.yaml --out r.jsonl.gz >/dev/null 2>&1 & pid=$!; \(Self.await("seen"))\n\(wish); "
        + "wait $pid; echo \"record $?\"; touch enough", in: folder.path, status: nil)
    #expect(
      paused.lines == ["paused r.jsonl.gz", "pause 0", "record 1"]
        || paused.lines == ["pause 0", "record 1"])
    let before = try await Self.events(folder)
    #expect(Self.parts(before).count < 200)
    #expect(before.last?["data"]?["detail"] == "paused")
    try await Binary.run(["resume", Self.log], in: folder.path)
    let events = try await Self.events(folder)
    #expect(Self.parts(events) == (0..<300).map { JSONValue($0) })
    #expect(Self.outputs(of: "look", events).count == 300)
    try await Self.check(folder)
  }
}
