import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching

@Suite("inspect")
struct InspectVerbTests {
  @Test("a run that cannot be read is told, the others are, and the exit code is 2")
  func unreadable() async throws {
    let folder = try TemporaryFolder()
    try folder.write("runs/broken\u{1b}[31m.json", "{")
    try folder.write(
      "runs/a.jsonl.gz", try Data(contentsOf: URL(fileURLWithPath: Fixture.run("refund-drafted"))))
    let told = try await Binary.run(["inspect", "runs"], in: folder.path, status: 2)
    #expect(told.output.contains("1 run of 1 agent") && told.output.contains("1 could not be read"))
    #expect(!told.output.contains("\u{1b}"))
    for place in ["nothing", "runs/none.jsonl.gz"] {
      try FileManager.default.createDirectory(
        atPath: folder.path("nothing"), withIntermediateDirectories: true)
      try await Binary.run(["inspect", place], in: folder.path, status: 2)
    }
    try await Binary.run(["inspect"], in: folder.path, status: 64)
  }

  @Test("rules are never written over what is there, nor where nothing holds")
  func writing() async throws {
    let folder = try TemporaryFolder()
    try folder.write("rules.yaml", "mine")
    let runs = Project.path("Fixtures/runs")
    let told = try await Binary.run(
      ["inspect", runs, "--write", "rules.yaml"], in: folder.path, status: 2)
    #expect(told.errors.contains("cannot be written"))
    #expect(try folder.read("rules.yaml") == Array("mine".utf8))
    try FileManager.default.createDirectory(
      atPath: folder.path("none"), withIntermediateDirectories: true)
    try await Binary.run(["inspect", "none", "--write", "x.yaml"], in: folder.path, status: 2)
    #expect(!folder.listing.contains("x.yaml"))
  }

  @Test("what agents used that a run called counts with it")
  func usageBelow() async throws {
    let folder = try TemporaryFolder()
    let usage = "usage: {inputTokens: 10, outputTokens: 5, cost: 0.1}"
    try folder.write(
      "child.yaml", "name: child\nmodel: {script: [{answer: done, \(usage)}]}\n")
    try folder.write(
      "root.yaml",
      """
      name: root
      tools: [{agent: child.yaml, name: ask}]
      model: {script: [{call: {tool: ask, input: {task: go}}, \(usage)}, {answer: done, \(usage)}]}
      """)
    try await Binary.run(["record", "root.yaml", "go", "--out", "runs"], in: folder.path)
    let json = try await Binary.run(["inspect", "runs", "--json"], in: folder.path).json()
    #expect(json["usage"]?["inputTokens"] == 30 && json["usage"]?["outputTokens"] == 15, "\(json)")
  }

  @Test("what --json prints is valid by `schema inspection`, and the figures are those of the runs")
  func figures() async throws {
    let folder = try TemporaryFolder()
    let schema = try JSONSchema(compiling: try await Binary.run(["schema", "inspection"]).json())
    let runs = Project.path("Fixtures/runs")
    let json = try await Binary.run(
      ["inspect", runs, "--json", "--write", "r.yaml"], in: folder.path
    ).json()
    #expect(schema.validate(json) == [])
    #expect(schema.validate(["schema": "agent-eval/inspection/1", "runs": -1]) != [])
    #expect(json["runs"]?.intValue == Fixture.runs.count)
    var calls = 0
    var stops: [String: Int] = [:]
    for log in try await Fixture.shown {
      var last: String?
      for line in try log.jsonLines() {
        calls += line["type"] == "decision" ? line["data"]?["calls"]?.arrayValue?.count ?? 0 : 0
        if line["type"] == "stop" { last = line["data"]?["reason"]?.stringValue }
      }
      if let last { stops[last, default: 0] += 1 }
    }
    let told = (json["tools"]?.arrayValue ?? []).compactMap { $0["calls"]?.intValue }
    #expect(told.reduce(0, +) == calls)
    for stop in json["stops"]?.arrayValue ?? [] {
      #expect(stops[stop["reason"]?.stringValue ?? ""] == stop["runs"]?.intValue)
    }
    let loops = json["seen"]?.arrayValue?.first { $0["expectation"] == "noLoops" }
    #expect(loops?["examples"] == ["budget-steps"])
  }

  /// Judges runs by the rules that were made of them.
  private func judged(_ runs: [String], in folder: TemporaryFolder, _ name: String) async throws {
    let made = try await Binary.run(
      ["inspect"] + runs + ["--write", "\(name).yaml", "--json"], in: folder.path, status: nil
    ).json()
    let broken = made["unreadable"]?.arrayValue?.count ?? 0
    guard folder.listing.contains("\(name).yaml") else {
      // Only where nothing can be said of any run.
      let rules = made["rules"]?.arrayValue ?? []
      #expect(rules.allSatisfy { $0["holds"] == false })
      return
    }
    try await Binary.run(["check", "\(name).yaml"], in: folder.path)
    let outcome = try await Binary.run(
      ["run", "\(name).yaml", "--on"] + runs + ["--json"], in: folder.path,
      status: broken == 0 ? 0 : 2
    ).json()
    let summary = outcome["summary"]
    #expect(summary?["fail"]?.intValue == 0, "\(name)")
    #expect(summary?["inconclusive"]?.intValue == 0, "\(name)")
    #expect(summary?["error"]?.intValue == broken, "\(name)")
    #expect((summary?["pass"]?.intValue ?? 0) > 0, "\(name)")
  }

  @Test("rules hold on every folder that they were made of: any choice of the recorded runs")
  func anyChoice() async throws {
    let folder = try TemporaryFolder()
    var generator = SeededGenerator(seed: 77)
    let all = ["runs", "forks", "context-runs", "policy-runs", "format-1"].flatMap {
      Project.files(below: "Fixtures/\($0)", ending: ".jsonl.gz")
    }.map(Project.path)
    for round in 0..<(TestRun.isLong ? 120 : 12) {
      let count = Int.random(in: 1...all.count, using: &generator)
      let chosen = all.shuffled(using: &generator).prefix(count)
      for (number, path) in chosen.enumerated() {
        try folder.write(
          "\(round)/\(number).jsonl.gz", try Data(contentsOf: URL(fileURLWithPath: path)))
      }
      try await judged(["\(round)"], in: folder, "rules-\(round)")
    }
  }

  @Test(
    "rules hold on every folder of other people's traces that they were made of",
    .enabled(if: TestRun.corpora != nil))
  func corpora() async throws {
    let corpora = try #require(TestRun.corpora)
    let folder = try TemporaryFolder()
    for name in [
      "agentdojo", "tau-bench", "swe-agent", "inspect-logs", "openhands", "interop/claude-code",
      "interop/codex", "interop/otlp-genai", "interop/langfuse", "who-and-when",
    ] where FileManager.default.fileExists(atPath: "\(corpora)/\(name)") {
      try await judged(
        ["\(corpora)/\(name)"], in: folder, name.replacingOccurrences(of: "/", with: "-"))
    }
  }
}
