import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

/// A pipeline with an agent, and with another pipeline that runs the same agent for each of two elements; the agent hands
/// over to one of its own. Nine runs, nine calls, nine model calls with tokens.
@Suite("A pipeline and the runs of its tasks, told as one")
struct PipelineTreeTests {
  private static let log = "runs/c.jsonl.gz"

  private static func makeFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write(
      "outer.yaml",
      """
      pipeline: outer
      input: {default: {list: [1, 2]}}
      tasks:
        - {id: a, agent: asker.yaml, input: {goal: hi}}
        - {id: n, pipeline: inner.yaml, forEach: "${input.list}", input: {x: "${item}"}}
      """)
    try folder.write(
      "inner.yaml",
      """
      pipeline: inner
      tasks:
        - {id: b, agent: asker.yaml, input: {goal: hi}}
      """)
    try folder.write(
      "asker.yaml",
      """
      name: asker
      tools:
        - {name: look, sideEffect: read, command: [cat, state.json]}
        - {name: wipe, sideEffect: write, command: [printf, '1']}
        - {agent: helper.yaml, name: help, handoff: true}
      policy: {rules: [{id: all, tool: "*", verdict: allow}]}
      model:
        script:
          - call: {tool: look, input: {}}
            usage: {inputTokens: 100, outputTokens: 10, cost: 0.01}
          - choose:
              - when: {last: {data: {v: 1}}}
                call: {tool: wipe, input: {}}
              - call: {tool: help, input: {task: go}}
          - call: {tool: help, input: {task: go}}
      """)
    try folder.write(
      "helper.yaml",
      """
      name: helper
      tools: [{name: look, sideEffect: read, scripted: [{ok: 1}]}]
      model:
        script:
          - call: {tool: look, input: {}}
            usage: {inputTokens: 100, outputTokens: 10, cost: 0.01}
          - answer: done
      """)
    try folder.write("state.json", "{\"v\": 0}")
    return folder
  }

  private static func record(_ log: String = log, in folder: TemporaryFolder) async throws {
    try await Binary.run(
      ["record", "outer.yaml", "--out", log, "--seed", "1", "--fixed-clock"], in: folder.path)
  }

  private static func recorded() async throws -> TemporaryFolder {
    let folder = try makeFolder()
    try await record(in: folder)
    return folder
  }

  /// The log of the inner pipeline's first run.
  private static func inner(_ folder: TemporaryFolder) throws -> String {
    let parts = try LogFiles.parts(ofLog: folder.path(log))
    #expect(parts.map(\.name).sorted() == ["a", "n[0]", "n[1]"])
    return try #require(parts.first { $0.name == "n[0]" }).path
  }

  private static func removeParts(of log: String, in folder: TemporaryFolder) throws {
    for part in try LogFiles.parts(ofLog: folder.path(log)) {
      try FileManager.default.removeItem(atPath: part.path)
    }
  }

  // MARK: Counting

  @Test("an index, a list and a glance at the folder count what it used once")
  func counted() async throws {
    let folder = try await Self.recorded()
    let sums = try await Binary.run(
      [
        "query", "runs",
        "SELECT count(*) AS n, sum(inputTokens) AS tokens, sum(toolCalls) AS calls FROM runs WHERE depth = 0",
        "--json",
      ], in: folder.path
    ).json()
    #expect(sums["n"] == 1 && sums["tokens"] == 600 && sums["calls"] == 9)
    let listed = try await Binary.run(["list", "runs"], in: folder.path)
    #expect(listed.errors.contains("1 of 9 runs in runs"), "\(listed)")
    let all = try await Binary.run(["list", "runs", "--children", "--json"], in: folder.path)
    #expect(try all.jsonLines().count == 9)
    let root = try #require(
      try all.jsonLines().first { $0["agent"] == "outer" }?["runId"]?.stringValue)
    let below = try await Binary.run(["list", "runs", "--parent", root, "--json"], in: folder.path)
    #expect(try below.jsonLines().count == 3)
    let seen = try await Binary.run(["inspect", "runs", "--json"], in: folder.path).json()
    #expect(seen["runs"] == 1, "\(seen)")
  }

  @Test("rules are put on the pipeline once, and not on each run of its tasks")
  func ruled() async throws {
    let folder = try await Self.recorded()
    try folder.write(
      "rules.yaml", "{caseId: r, expected: {toolsNotCalled: [zap], budget: {calls: 9}}}")
    let judged = try await Binary.run(["run", "rules.yaml", "--on", "runs"], in: folder.path)
    #expect(judged.output.contains("1 case: 1 passed"), "\(judged)")
  }

  @Test("a pipeline that is a task is judged by its own log as one that stands alone")
  func judgedInside() async throws {
    let folder = try await Self.recorded()
    let inner = try Self.inner(folder)
    try folder.write(
      "case.yaml",
      "{caseId: a, recording: \(inner), expected: {toolsNotCalled: [zap], toolsCalled: [{tool: look, times: 2}]}}"
    )
    let judged = try await Binary.run(["run", "case.yaml"], in: folder.path)
    #expect(judged.output.contains("1 case: 1 passed"), "\(judged)")
    // Without the logs beside it nothing that is forbidden can be known not to have been.
    try Self.removeParts(of: String(inner.dropFirst(folder.path.utf8.count + 1)), in: folder)
    let unseen = try await Binary.run(["run", "case.yaml"], in: folder.path, status: nil)
    #expect(!unseen.output.contains("1 passed"), "\(unseen)")
  }

  // MARK: Handing on

  @Test("its spans are one trace, in which each is within the one above it")
  func oneTrace() async throws {
    let folder = try await Self.recorded()
    try await Binary.run(["export", "otlp-json", "runs", "--output", "o.json"], in: folder.path)
    let spans = try Self.spans(try #require(folder.text("o.json")))
    #expect(Set(spans.map(\.trace)).count == 1)
    let roots = spans.filter { $0.parent == nil }
    #expect(roots.count == 1 && roots.first?.name == "invoke_agent outer")
    let ids = Set(spans.map(\.id))
    for span in spans { #expect(span.parent.map(ids.contains) ?? true, "\(span)") }
    try await Binary.run(["import", "o.json", "--out", "back"], in: folder.path)
    for log in try LogFiles.all(below: folder.path("runs")) {
      let bytes = FileManager.default.contents(atPath: log)
      let isBack = try LogFiles.all(below: folder.path("back")).contains {
        FileManager.default.contents(atPath: $0) == bytes
      }
      #expect(isBack, "\(log)")
    }
  }

  private struct Span {
    var trace: String
    var id: String
    var parent: String?
    var name: String
    var start: Int
    var end: Int
  }

  private static func spans(_ text: String) throws -> [Span] {
    try text.split(separator: "\n").flatMap { line -> [Span] in
      let resource = try JSONValue(parsing: String(line))["resourceSpans"]?.arrayValue ?? []
      return resource.flatMap { $0["scopeSpans"]?.arrayValue ?? [] }
        .flatMap { $0["spans"]?.arrayValue ?? [] }
        .map { span in
          func text(_ key: String) -> String { span[key]?.stringValue ?? "" }
          let parent = span["parentSpanId"]?.stringValue ?? ""
          return Span(
            trace: text("traceId"), id: text("spanId"), parent: parent.isEmpty ? nil : parent,
            name: text("name"), start: Int(text("startTimeUnixNano")) ?? 0,
            end: Int(text("endTimeUnixNano")) ?? 0)
        }
    }
  }

  @Test("its row in a table has what its parts used, and theirs name it")
  func table() async throws {
    let folder = try await Self.recorded()
    let rows = try await Binary.run(
      ["export", "ndjson", "runs", "--table", "runs"], in: folder.path
    ).jsonLines()
    let roots = rows.filter { $0["parent_run_id"] ?? .null == .null }
    #expect(rows.count == 9 && roots.count == 1)
    let root = try #require(roots.first)
    for (column, value) in [
      ("input_tokens", 600), ("output_tokens", 60), ("tool_calls", 9), ("model_calls", 12),
      ("steps", 6),
    ] {
      #expect(root[column]?.intValue == value, "\(column): \(root[column] ?? .null)")
    }
  }

  @Test(
    "what waited for a person takes as long in a trace as it did, in an agent and in a pipeline")
  func waited() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "asks.yaml",
      """
      name: asks
      tools: [{name: look, sideEffect: read, scripted: [{ok: 1}]}]
      model: {script: [{ask: well?}, {call: {tool: look, input: {}}}, {answer: "${heard}"}]}
      """)
    try folder.write(
      "p.yaml", "{pipeline: p, tasks: [{id: a, agent: asks.yaml, input: {goal: g}}]}")
    // What is recorded stands still in the year that a fixed clock shows; what goes on is of today.
    for (file, arguments) in [("p.yaml", [String]()), ("asks.yaml", ["go"])] {
      let runs = "runs-\(file)"
      let log = "\(runs)/l.jsonl.gz"
      try await Binary.run(
        ["record", file] + arguments + ["--out", log, "--seed", "1", "--fixed-clock"],
        in: folder.path, status: 1)
      try await Binary.run(["answer", log, "fine"], in: folder.path)
      try await Binary.run(["resume", log, "--agent", file], in: folder.path)
      let before = Int(Date().timeIntervalSince1970 * 1e9)
      try await Binary.run(["export", "otlp-json", runs, "--output", "o-\(file)"], in: folder.path)
      let spans = try Self.spans(try #require(folder.text("o-\(file)")))
      let look = try #require(spans.first { $0.name == "execute_tool look" })
      #expect(abs(before - look.start) < 600_000_000_000, "\(look)")
      for span in spans where span.name.hasPrefix("invoke_agent") {
        #expect(span.end - span.start > 86_400_000_000_000, "\(span)")
      }
      let ids = Dictionary(uniqueKeysWithValues: spans.map { ($0.id, $0) })
      // A run below began when the fixed clock of its own did.
      for span in spans where !span.name.hasPrefix("invoke_agent") {
        guard let above = span.parent.flatMap({ ids[$0] }) else { continue }
        #expect(above.start <= span.start && span.start <= span.end, "\(span) in \(above)")
      }
    }
  }

  // MARK: Comparing

  @Test("runs whose agents did other things are not the same, whatever the tasks came to")
  func compared() async throws {
    let folder = try await Self.recorded()
    try folder.write("state.json", "{\"v\": 1}")
    try await Self.record("other/c.jsonl.gz", in: folder)
    let diff = try await Binary.run(
      ["diff", Self.log, "other/c.jsonl.gz"], in: folder.path, status: 1)
    #expect(diff.output.contains("wipe by a"), "\(diff)")
    #expect(diff.output.contains("wipe by n[1]/b"), "\(diff)")
    let same = try await Binary.run(["diff", Self.log, Self.log], in: folder.path)
    #expect(same.output.contains("the same"))
  }

  @Test("files of agents that differ in their bytes alone make no difference, and are shown")
  func comparedFiles() async throws {
    let folder = try await Self.recorded()
    try folder.write("asker.yaml", "# another word\n" + (folder.text("asker.yaml") ?? ""))
    try await Self.record("other/c.jsonl.gz", in: folder)
    let diff = try await Binary.run(["diff", Self.log, "other/c.jsonl.gz"], in: folder.path)
    #expect(diff.output.contains("the same"), "\(diff)")
    #expect(diff.output.contains("agent file of a"), "\(diff)")
    #expect(diff.output.contains("pipeline file of n"), "\(diff)")
  }

  @Test("without the logs of the tasks’ runs nobody says that two are the same")
  func comparedWithoutParts() async throws {
    let folder = try await Self.recorded()
    try await Self.record("other/c.jsonl.gz", in: folder)
    try Self.removeParts(of: "other/c.jsonl.gz", in: folder)
    let diff = try await Binary.run(
      ["diff", Self.log, "other/c.jsonl.gz"], in: folder.path, status: 2)
    #expect(diff.output.contains("that cannot be told"), "\(diff)")
    #expect(!diff.output.contains("the same:"))
  }

  // MARK: Making again

  @Test("the runs of its tasks are made again with it, by the agents of today")
  func madeAgain() async throws {
    let folder = try await Self.recorded()
    let whole = ["replay", Self.log, "--reexecute", "--agent", "outer.yaml"]
    let faithful = try await Binary.run(whole, in: folder.path)
    #expect(faithful.output.contains("; with it 8 runs below it"), "\(faithful)")
    let told = try await Binary.run(whole + ["--json"], in: folder.path).json()
    #expect(told["result"] == "faithful" && told["runs"]?.arrayValue?.count == 8)
    let asker = try #require(folder.text("asker.yaml"))
    try folder.write(
      "asker.yaml", asker.replacingOccurrences(of: "verdict: allow", with: "verdict: deny"))
    let diverged = try await Binary.run(whole, in: folder.path, status: 1)
    #expect(diverged.output.contains("diverged"), "\(diverged)")
    let why = try await Binary.run(whole + ["--json"], in: folder.path, status: 1).json()
    #expect(why["result"] == "diverged")
    try folder.write("asker.yaml", asker)
    try Self.removeParts(of: Self.log, in: folder)
    let left = try await Binary.run(whole, in: folder.path)
    #expect(left.output.contains("3 runs below it not made again"), "\(left)")
    let counted = try await Binary.run(whole + ["--json"], in: folder.path).json()
    #expect(counted["notMadeAgain"] == 3)
  }

  // MARK: Asking

  @Test("how many elements a task has that is no fan-out nobody can say")
  func elements() async throws {
    let folder = try await Self.recorded()
    for (expected, passes) in [("{n: 2}", true), ("{a: 1}", false), ("{\"*\": 2}", true)] {
      try folder.write(
        "case.yaml",
        "{caseId: a, recording: \(Self.log), expected: {tasks: {elements: \(expected)}}}")
      let results = try await Binary.run(
        ["run", "case.yaml", "--json"], in: folder.path, status: nil
      ).json()
      let outcome = results["cases"]?[0]?["trials"]?[0]?["outcome"]
      #expect(outcome == (passes ? "pass" : "inconclusive"), "\(expected): \(results)")
    }
  }
}
