import AgentTrace
import EvalRunning
import Foundation
import TestSupport
import Testing

@Suite("Budgets of suites, and recordings as trials")
struct SuiteBudgetTests {
  /// An agent whose every run costs 2, by way of a model that says so.
  private static let agent = """
    name: spender
    tools: [{name: look, sideEffect: read, command: ["true"]}]
    model:
      script: [{answer: done, usage: {inputTokens: 1, outputTokens: 1, cost: 2}}]
    """

  private static func cases(_ count: Int, trials: Int) -> String {
    (1...count).map {
      "- {caseId: c\($0), input: x, agent: agent.yaml, trials: \(trials), expected: {answer: done}}"
    }.joined(separator: "\n")
  }

  @Test(
    "beyond its budget a suite is not run on, and its exit code is 3",
    arguments: [
      ("cost=100", 0, ["pass", "pass", "pass"], 6),
      ("cost=5", 3, ["pass", "inconclusive", "inconclusive"], 3),
      ("cost=0", 3, ["inconclusive", "inconclusive", "inconclusive"], 0),
      ("minutes=0", 3, ["inconclusive", "inconclusive", "inconclusive"], 0),
      ("minutes=60,cost=8", 3, ["pass", "pass", "inconclusive"], 4),
    ] as [(String, Int32, [String], Int)])
  func budget(text: String, status: Int32, outcomes: [String], runs: Int) async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    try folder.write("cases.yaml", Self.cases(3, trials: 2))
    let arguments = [
      "run", "--live", "--jobs", "1", "--out", "runs", "--budget", text, "cases.yaml",
    ]
    let run = try await Binary.run(arguments + ["--json"], in: folder.path, status: status)
    let results = try JSONValue(parsing: run.outputBytes)
    let cases = results["cases"]?.arrayValue ?? []
    #expect(cases.map { $0["outcome"]?.stringValue } == outcomes)
    #expect(cases.reduce(0) { $0 + ($1["trials"]?.arrayValue?.count ?? 0) } == runs)
    for (index, found) in cases.enumerated() {
      #expect((found["notRun"] != nil) == (outcomes[index] != "pass"), "\(found)")
    }
    let told = try await Binary.run(arguments, in: folder.path, status: status)
    let none = cases.count { $0["notRun"] != nil && $0["trials"] == [] }
    #expect(told.output.contains("\(none) not run") == (none > 0), "\(told)")
  }

  @Test("where nobody knows what a run cost, a budget of cost lets no other begin")
  func unknownCost() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml", Self.agent.replacing(", cost: 2", with: ""))
    try folder.write("cases.yaml", Self.cases(2, trials: 1))
    let run = try await Binary.run(
      ["run", "--live", "--jobs", "1", "--budget", "cost=5", "cases.yaml"], in: folder.path,
      status: 3)
    #expect(run.output.contains("nobody knows what the run of c1 cost"), "\(run)")
  }

  @Test(
    "a budget that is none is refused",
    arguments: ["", "5", "cost", "cost=x", "cost=1,cost=2", "steps=1", "cost=-1"])
  func faults(text: String) async throws {
    #expect(throws: SuiteBudget.Fault.self) { try SuiteBudget(text) }
    let run = try await Binary.run(["run", "--live", "--budget=\(text)", "x"], status: 64)
    #expect(run.errors.contains("--budget"), "\(run)")
  }

  @Test(
    "several recordings of a case are its trials, with their rate",
    arguments: [
      ("", 5, 5, "pass"), ("", 5, 4, "fail"), ("trials: 5, passThreshold: 4, ", 5, 4, "pass"),
      ("trials: 5, passThreshold: 4, ", 10, 8, "pass"),
      ("trials: 5, passThreshold: 4, ", 10, 7, "fail"),
      ("trials: 5, safety: true, ", 5, 4, "fail"),
    ])
  func recordings(keys: String, count: Int, good: Int, outcome: String) async throws {
    let folder = try TemporaryFolder()
    for index in 0..<count {
      try folder.write(
        "agent.yaml",
        "{name: a, model: {script: [{answer: \(index < good ? "yes" : "no")}]}}")
      try await Binary.run(
        ["record", "agent.yaml", "x", "--out", "runs/c/\(index).jsonl.gz"], in: folder.path)
    }
    try folder.write("case.yaml", "{caseId: c, \(keys)expected: {answer: yes}}")
    let run = try await Binary.run(
      ["run", "case.yaml", "--runs", "runs", "--json"], in: folder.path,
      status: outcome == "pass" ? 0 : 1)
    let result = try #require(try JSONValue(parsing: run.outputBytes)["cases"]?[0])
    #expect(result["outcome"]?.stringValue == outcome)
    #expect(result["statistics"]?["pass"] == JSONValue(good))
    #expect(result["statistics"]?["rate"]?.doubleValue == Double(good) / Double(count))
    #expect(result["statistics"]?["flaky"] == .bool(good < count))
  }
}
