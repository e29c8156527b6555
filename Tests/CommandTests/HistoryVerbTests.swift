import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching

@testable import EvalLoading

@Suite("Keeping outcomes, and looking back on them")
struct HistoryVerbTests {
  private static let cases = "EvalCases/refunds.yaml"

  /// Runs the program in the project, with no commit that the surroundings would say.
  @discardableResult
  private func run(
    _ arguments: [String], environment: [String: String] = [:], status: Int32? = 0
  ) async throws -> Command.Outcome {
    var given = ["GITHUB_SHA": "", "CI_COMMIT_SHA": "", "GIT_COMMIT": ""]
    for (name, value) in environment { given[name] = value }
    return try await Binary.run(arguments, environment: given, status: status)
  }

  private func lines(_ outcome: Command.Outcome) throws -> [JSONValue] {
    try outcome.lines.map { try JSONValue(parsing: $0) }
  }

  @Test(
    "options that do not go with it are refused",
    arguments: [
      ["run", "x", "--commit", "a"], ["run", "x", "--branch", "a"], ["run", "x", "--history", ""],
      ["run", "x", "--history", "h", "--commit", ""], ["run", "x", "--history", "h", "--watch"],
      ["run", "x", "--history", "h", "--shard", "1/2"],
      ["run", "x", "--history", "h", "--files-from", "-"], ["merge", "x", "--commit", "a"],
      ["history", "--last", "-1"], ["history", "--since", "yesterday"], ["history", "--dir", ""],
      ["history", "a", "b"],
    ])
  func refused(arguments: [String]) async throws {
    try await run(arguments, status: 64)
  }

  @Test("a folder that is not there, a case that nobody knows and a damaged file are 2")
  func absent() async throws {
    let folder = try TemporaryFolder()
    try await run(["history", "--dir", folder.path("none")], status: 2)
    let empty = try await run(["history", "--dir", folder.path])
    #expect(empty.output.isEmpty && empty.errors.contains("0 cases, 0 runs"))
    try await run(["run", Self.cases, "--history", folder.path, "--commit", "c1"])
    let unknown = try await run(
      ["history", "refund-is-draftde", "--dir", folder.path], status: 2)
    #expect(unknown.errors.contains("did you mean “refund-is-drafted”"), "\(unknown)")
    try folder.write("bad.history.json", "{\"schema\":\"agent-eval/history/9\"}")
    for arguments in [["history", "--dir"], ["history", "refund-is-drafted", "--dir"], ["index"]] {
      let damaged = try await run(arguments + [folder.path], status: 2)
      #expect(damaged.errors.contains("1 file of the history"), "\(damaged)")
      #expect(!damaged.output.isEmpty)
    }
    let why = try await run(
      ["query", folder.path, "SELECT fault FROM suiteRuns WHERE fault IS NOT NULL", "--json"],
      status: 2)
    #expect(why.output.contains("newer than this program"))
  }

  @Test("a history that cannot be written is told and ends with 2, or with 1 where a case failed")
  func unwritable() async throws {
    let passed = try await run(
      ["run", Self.cases, "--history", "/proc/none"], status: 2)
    #expect(passed.output.contains("passed") && passed.errors.contains("cannot be written"))
    try await run(["run", "Fixtures/failing-cases", "--history", "/proc/none"], status: 1)
  }

  @Test("runs at two commits show since when a case fails, and every line is of its schema")
  func regression() async throws {
    let folder = try TemporaryFolder()
    let history = folder.path("kept")
    let cases = "caseId: c\nrecording: \(Project.path("Fixtures/runs/refund-drafted.jsonl.gz"))\n"
    for (commit, expected) in [
      ("a1", "{stopReason: success}"), ("b2", "{stopReason: blocked}"),
      ("c3", "{stopReason: blocked}"),
      ("c3", "{stopReason: success}"), ("d4", "{stopReason: blocked}"),
    ] {
      try folder.write("cases.yaml", cases + "expected: \(expected)\n")
      try await run(
        [
          "run", folder.path("cases.yaml"), "--history", history, "--commit", commit, "--branch",
          "main",
        ],
        status: expected.contains("success") ? 0 : 1)
    }
    let trend = try #require(
      try lines(try await run(["history", "--dir", history, "--json"])).first)
    #expect(trend["state"] == "stable-fail" && trend["flipRate"] == nil)
    #expect(trend["outcomes"] == ["pass", "fail", "fail", "pass", "fail"])
    #expect(trend["firstFailing"]?["commit"] == "d4" && trend["lastPassing"]?["commit"] == "c3")
    let points = try lines(try await run(["history", "c", "--dir", history, "--json"]))
    #expect(points.map { $0["commit"]?.stringValue } == ["d4", "c3", "c3", "b2", "a1"])
    #expect(
      points.map { $0["flip"]?.stringValue } == ["regression", "change", nil, "regression", nil])
    #expect(points[0]["decisive"]?["expectation"] == "stopReason")
    #expect(points[0]["usage"]?["steps"]?.intValue ?? 0 > 0)
    let schema = try JSONSchema(compiling: FileSchema.trend.json)
    for line in points + [trend] { #expect(schema.validate(line).isEmpty, "\(line)") }
    let record = try JSONSchema(compiling: FileSchema.history.json)
    for name in folder.listing where name.hasSuffix(".history.json") {
      let json = try JSONValue(parsing: try folder.read(name))
      #expect(record.validate(json).isEmpty, "\(json)")
    }
    let told = try await run(["history", "c", "--dir", history])
    #expect(told.output.contains("fails since d4"), "\(told)")
    #expect(told.output.contains("outcome  ✓✗✗✓✗"), "\(told)")
    #expect(try await run(["history", "--dir", history, "--ascii"]).output.contains(".FF.F"))
    let newest = try lines(
      try await run(["history", "c", "--dir", history, "--json", "--last", "2"]))
    #expect(newest.count == 2)
    #expect(try await run(["history", "--dir", history, "--branch", "none"]).output.isEmpty)
  }

  @Test("trials of a live case are kept with their rate, and flips of one commit are chance")
  func live() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "cases.yaml",
      """
      caseId: live
      input: How is the weather in Oslo?
      agent: \(Project.path("Fixtures/agents/weather.yaml"))
      expected: {stopReason: success}
      """)
    let arguments = [
      "run", folder.path("cases.yaml"), "--live", "--out", folder.path("runs"), "--trials", "3",
      "--all-trials", "--history", folder.path("kept"), "--commit", "c1",
    ]
    try await run(arguments)
    let point = try #require(
      try lines(try await run(["history", "live", "--dir", folder.path("kept"), "--json"])).first)
    #expect(point["live"] == true && point["trials"] == ["pass", "pass", "pass"])
    #expect(point["rate"] == 1 && point["interval"]?[0]?.doubleValue ?? 0 > 0.4)
    // The same run with one trial that failed, as another machine may have seen it.
    let name = try #require(folder.listing.first { $0.hasSuffix(".history.json") })
    let text = try #require(folder.text(name))
    try folder.write(
      "kept/other.history.json",
      text.replacing("\"trials\":[\"pass\"", with: "\"trials\":[\"fail\""))
    let trend = try #require(
      try lines(try await run(["history", "--dir", folder.path("kept"), "--json"])).first)
    #expect(trend["state"] == "flaky" && trend["pairs"] == 5, "\(trend)")
    let told = try await run(["history", "live", "--dir", folder.path("kept")])
    #expect(told.output.contains("3 of 3") && told.output.contains("2 of 3"), "\(told)")
  }

  @Test("shards are kept as one run by merge, live or not")
  func shards() async throws {
    let folder = try TemporaryFolder()
    for index in 1...2 {
      try await run([
        "run", Self.cases, "--shard", "\(index)/2", "--report",
        "json:\(folder.path("\(index).json"))",
      ])
    }
    try await run([
      "merge", folder.path("1.json"), folder.path("2.json"), "--history", folder.path("merged"),
      "--commit", "c1", "--report", "html:\(folder.path("page.html"))",
    ])
    try await run(["run", Self.cases, "--history", folder.path("whole"), "--commit", "c1"])
    func cases(_ name: String) throws -> [JSONValue] {
      let file = try #require(folder.listing.first { $0.hasPrefix(name) && $0.hasSuffix(".json") })
      let record = try JSONValue(parsing: try folder.read(file))
      return (record["cases"]?.arrayValue ?? []).map { one in
        var object = one.objectValue ?? [:]
        object["asked"] = nil
        // Runs that are made on the way are others each time.
        return .object(object)
      }
    }
    #expect(try cases("merged/") == (try cases("whole/")))
    #expect(folder.text("page.html")?.contains("<h2>1 run of the suite</h2>") == true)
  }

  @Test("many processes that keep outcomes at once lose nothing")
  func together() async throws {
    let folder = try TemporaryFolder()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          try await run([
            "run", Self.cases, "--history", folder.path, "--commit", "c\(number)", "--json",
          ])
        }
      }
      try await group.waitForAll()
    }
    #expect(folder.listing.filter { $0.hasSuffix(".history.json") }.count == 8)
    #expect(!folder.listing.contains { $0.hasSuffix(".part") })
    let trends = try lines(try await run(["history", "--dir", folder.path, "--json"]))
    #expect(trends.count > 4)
    for trend in trends { #expect(trend["outcomes"]?.arrayValue?.count == 8, "\(trend)") }
  }

  @Test("the commit is the one that is given, else that of CI, else that of the working tree")
  func commits() async throws {
    let folder = try TemporaryFolder()
    let id = String(repeating: "0a", count: 20)
    try folder.write(".git/HEAD", "ref: refs/heads/topic\n")
    try folder.write(".git/refs/heads/topic", id + "\n")
    func kept(
      _ arguments: [String] = [], _ environment: [String: String] = [:], in place: String
    ) async throws -> [JSONValue?] {
      let history = try TemporaryFolder()
      var given = Dictionary(
        uniqueKeysWithValues: ["GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"].map { ($0, "") })
      given.merge(environment) { $1 }
      try await Binary.run(
        ["run", Project.path(Self.cases), "--history", history.path] + arguments, in: place,
        environment: given)
      let file = try #require(history.listing.first { $0.hasSuffix(".history.json") })
      let record = try JSONValue(parsing: try history.read(file))
      return [record["commit"], record["branch"]]
    }
    let ci = ["GITHUB_SHA": "c1", "GITHUB_REF_NAME": "main"]
    #expect(try await kept(in: folder.path) == [.string(id), "topic"])
    #expect(try await kept([], ci, in: folder.path) == ["c1", "main"])
    // A branch that was found belongs to the commit that was found.
    #expect(try await kept(["--commit", "mine"], ci, in: folder.path) == ["mine", nil])
    #expect(
      try await kept(["--commit", "mine", "--branch", "b"], ci, in: folder.path) == ["mine", "b"])
    #expect(try await kept(["--commit", "c1"], ci, in: folder.path) == ["c1", "main"])
    let elsewhere = try TemporaryFolder()
    #expect(try await kept(in: elsewhere.path) == [nil, nil])
  }

  @Test("without --history results are the bytes that they were, and with it too")
  func sameResults() async throws {
    let folder = try TemporaryFolder()
    let plain = try await run(["run", "Fixtures/failing-cases", "--json"], status: 1)
    let kept = try await run(
      ["run", "Fixtures/failing-cases", "--json", "--history", folder.path], status: 1)
    #expect(plain.outputBytes == kept.outputBytes)
    #expect(kept.errors.contains("kept: "))
  }
}
