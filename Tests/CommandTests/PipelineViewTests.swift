import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Pipelines looked at with every verb")
struct PipelineViewTests {
  private static let review = Project.path("Fixtures/pipelines/review.yaml")
  private static let newsroom = Project.path("Fixtures/pipelines/newsroom.yaml")

  /// A review that ended, in a folder of its own; the same each time.
  private static func record(repo: String = "wc", name: String = "review") async throws -> (
    TemporaryFolder, String
  ) {
    let folder = try TemporaryFolder()
    let log = folder.path("runs/\(name).jsonl.gz")
    try await Binary.run(
      [
        "record", review, "--input", "{\"repo\": \"\(repo)\"}", "--out", log, "--seed", "1",
        "--fixed-clock",
      ], status: 1)
    try await Binary.run(["approve", log, "approve", "--by", "ana", "--fixed-clock"])
    try await Binary.run(["resume", log, "--agent", review, "--fixed-clock"])
    return (folder, log)
  }

  @Test(
    "a timeline names the pipeline, what it was given, and what its tasks used; it has no steps")
  func timeline() async throws {
    let (folder, log) = try await Self.record()
    defer { withExtendedLifetime(folder) {} }
    for arguments in [["show", log], ["show", log, "--follow"]] {
      let shown = try await Binary.run(arguments)
      #expect(shown.output.contains("pipeline review"))
      #expect(shown.output.contains("       input      {\"repo\":\"wc\"}"))
      #expect(!shown.output.contains("step 1"))
      #expect(
        shown.output.contains("used       4 tasks ended, 2 steps, 1 call, 2 model calls, 14 ms"))
    }
    let tree = try await Binary.run(["show", log, "--tree"])
    #expect(tree.output.contains("analyze │ step 1"))
    #expect(!tree.lines.contains("step 1"))
  }

  @Test("the page leads to a page for each run of a task, also of a pipeline inside, and back")
  func pages() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "outer.yaml",
      """
      pipeline: outer
      tasks:
        - {id: one, pipeline: \(Self.newsroom), input: {topic: tea}, timeoutSeconds: 600}
      """)
    try await Binary.run(
      ["record", "outer.yaml", "--out", "runs/o.jsonl.gz"], in: folder.path, status: 1)
    let runs = try await Binary.run(["list", "runs", "--children", "--json"], in: folder.path)
      .jsonLines()
    try FileManager.default.createDirectory(
      atPath: folder.path("pages"), withIntermediateDirectories: true)
    try await Binary.run(
      ["show", "runs/o.jsonl.gz", "--html", "pages/o.html"], in: folder.path)
    let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path("pages")).sorted()
    #expect(pages.count == runs.count && runs.count > 3, "\(pages)")
    var linked: Set<String> = []
    for page in pages {
      let text = try #require(folder.text("pages/\(page)"))
      for match in text.matches(of: #/href="\./([^"]*)"/#) { linked.insert(String(match.1)) }
      #expect(page == "o.html" || text.contains("↑ the run that called it"))
    }
    #expect(linked == Set(pages))
    #expect(try #require(folder.text("pages/o.html")).contains("one, event "))
  }

  @Test("at an event each task is as far as it was then; a step is refused with the way that works")
  func event() async throws {
    let (folder, log) = try await Self.record()
    defer { withExtendedLifetime(folder) {} }
    let middle = try await Binary.run(["replay", log, "--event", "6"])
    for line in [
      "analyze  done", "measure  1 of 2 ended, 1 running", "approve  not begun",
      "publish  not begun",
    ] {
      #expect(middle.lines.contains(line), "\(line) in \(middle.output)")
    }
    let asked = try await Binary.run(["replay", log, "--event", "10"])
    #expect(asked.lines.contains("approve  waits for a person"))
    let end = try await Binary.run(["replay", log, "--event", "16"])
    #expect(end.lines.contains("measure  done, 2 elements"))
    let state = try await Binary.run(["replay", log, "--event", "16", "--json"]).jsonLines()
    #expect(state.first?["tasks"]?["publish"]?["settled"] == "finished")
    let step = try await Binary.run(["replay", log, "--step", "1"], status: 64)
    #expect(step.errors.contains("say --event SEQ"))
    let none = try await Binary.run(["replay", log, "--event", "99"], status: 2)
    #expect(none.errors.contains("has no event 99; its last is 16"))
  }

  @Test("the debugger tells of each task how far it is, why, and from what its input came")
  func debugger() async throws {
    let (folder, log) = try await Self.record()
    defer { withExtendedLifetime(folder) {} }
    let told = try await Binary.run([
      "replay", log, "-c", "goto 6; state; goto end; state; why publish; why measure[1]; why",
    ])
    for words in [
      "measure   1 of 2 ended, 1 running", "publish   done", "why publish  pipeline task",
      "from      measure: event 8, done measure: 2 elements",
      "undone by [\"printf\",\"{\\\"gone", "why measure[1]  pipeline task",
    ] {
      #expect(told.output.contains(words), "\(words) in \(told.output)")
    }
    let unknown = try await Binary.run(["replay", log, "-c", "why publsh"], status: 2)
    #expect(
      unknown.errors.contains(
        "the pipeline has no task “publsh”; it has analyze, measure, approve, publish"))
    let printed = try await Binary.run([
      "replay", log, "-c", "goto end; print /state/tasks/measure",
    ])
    #expect(printed.output.contains("\"elements\""))
  }

  @Test("why a pipeline stopped is why its task failed")
  func whyStopped() async throws {
    let folder = try TemporaryFolder()
    let log = folder.path("letter.jsonl.gz")
    try await Binary.run(
      ["record", Project.path("Fixtures/pipelines/letter.yaml"), "--out", log, "--seed", "2"],
      status: 1)
    let told = try await Binary.run(["replay", log, "-c", "goto end; why"])
    #expect(told.output.contains("why archive  pipeline task"))
    #expect(told.output.contains("tool_failure: exited with 1"))
  }

  @Test("two runs of a pipeline are compared task by task, whichever ended first")
  func diff() async throws {
    let (folder, left) = try await Self.record()
    defer { withExtendedLifetime(folder) {} }
    let (other, right) = try await Self.record(repo: "sort")
    defer { withExtendedLifetime(other) {} }
    let same = try await Binary.run(["diff", left, left])
    #expect(same.output.contains("6 tasks"))
    #expect(same.output.contains("the same"))
    let told = try await Binary.run(["diff", left, right], status: 1)
    #expect(told.output.contains("/start/input/repo"))
    #expect(told.output.contains("publish → finished"))
    let rows = try #require(
      try await Binary.run(["diff", left, right, "--json"], status: 1).jsonLines().first)
    let tasks = rows["differences"]?.arrayValue?.compactMap { $0["left"]?["task"]?.stringValue }
    #expect(tasks == ["analyze", "publish"])
  }

  @Test("a folder’s index counts what the tasks of a pipeline did, and finds it by their tools")
  func index() async throws {
    let (folder, _) = try await Self.record()
    let runs = folder.path("runs")
    let found = try await Binary.run(["list", runs, "--tool", "printf", "--json"]).jsonLines()
    let row = try #require(found.first { $0["agent"] == "review" })
    #expect(row["steps"] == 2)
    #expect(row["toolCalls"] == 4)
    #expect(row["modelCalls"] == 2)
    let calls = try await Binary.run([
      "query", runs,
      "SELECT caller, tool, status FROM calls WHERE path = 'review.jsonl.gz' ORDER BY n",
      "--json",
    ]).jsonLines()
    #expect(calls.map { $0["caller"] } == ["analyze", "measure[0]", "measure[1]", "publish"])
    #expect(calls.map { $0["tool"] } == ["analyze", "printf", "printf", "printf"])
    #expect(calls.allSatisfy { $0["status"] == "ok" })
  }

  @Test(
    "exports tell tasks as calls",
    arguments: ["otlp-json", "atif", "inspect", "chrome-trace", "ndjson"])
  func exports(_ format: String) async throws {
    let (folder, log) = try await Self.record()
    let out = folder.path("out")
    try await Binary.run(["export", format, log, "-o", out, "--plain"])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: out))
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(format == "inspect" || format == "ndjson" || text.contains("printf"))
    #expect(format != "ndjson" || text.contains("\"tool_calls\":4"))
  }

  @Test("verbs that need an agent’s steps say which verbs a pipeline has")
  func refused() async throws {
    let (folder, log) = try await Self.record()
    for arguments in [
      ["fork", log, "--at", "event:6"], ["fork", log, "--at", "step:1"],
      ["bisect", log, log],
    ] {
      let ended = try await Binary.run(arguments, in: folder.path, status: 2)
      #expect(
        ended.errors.contains(
          "is a pipeline's, which has no steps of its own: resume goes on with it"))
      #expect(!ended.errors.contains("imported"))
    }
  }

  @Test("one pipeline and a folder of them say what came of making them again by one word")
  func reexecuted() async throws {
    let (folder, log) = try await Self.record()
    let one = try await Binary.run(
      ["replay", log, "--reexecute", "--agent", Self.review, "--json"]
    ).jsonLines()
    #expect(one.first?["result"] == "faithful")
    #expect(one.first?["eventsMade"] == 17)
    let all = try await Binary.run(
      ["replay", folder.path("runs"), "--reexecute", "--json"], in: Project.root
    ).jsonLines()
    #expect(
      all.contains {
        $0["result"] == "faithful" && $0["log"]?.stringValue?.hasSuffix("review.jsonl.gz") ?? false
      })
  }
}
