import AgentTrace
import TestSupport
import Testing

@Suite("compare")
struct CompareVerbTests {
  private static func results(_ passed: [Int], of trials: Int) -> String {
    let cases = passed.enumerated().map { index, count in
      let made = (0..<trials).map { trial in
        let outcome = trial < count ? "pass" : "fail"
        return #"{"runId":"r","log":"l","judgedFrom":"body","outcome":"\#(outcome)","warnings":[],"#
          + #""expectations":[{"expectation":"answer","outcome":"\#(outcome)","events":[],"message":""}]}"#
      }
      let outcome = count == trials ? "pass" : "fail"
      return
        #"{"caseId":"c\#(index)","position":"c:1","outcome":"\#(outcome)","trialPlan":{"trials":"#
        + "\(trials)" + #","passThreshold":\#(trials)},"trials":[\#(made.joined(separator: ","))]}"#
    }
    let passes = passed.count { $0 == trials }
    return
      #"{"schema":"agent-eval/results/1","skipped":[],"cases":[\#(cases.joined(separator: ","))],"#
      + #""summary":{"pass":\#(passes),"fail":\#(passed.count - passes),"inconclusive":0,"error":0}}"#
  }

  @Test("says whether live results have become worse by more than chance, and by how much")
  func live() async throws {
    let folder = try TemporaryFolder()
    try folder.write("before.json", Self.results(Array(repeating: 8, count: 12), of: 8))
    try folder.write("worse.json", Self.results(Array(repeating: 2, count: 12), of: 8))
    try folder.write("chance.json", Self.results([7] + Array(repeating: 8, count: 11), of: 8))
    let worse = try await Binary.run(
      ["compare", "before.json", "worse.json"], in: folder.path, status: 1)
    #expect(worse.output.contains("the suite is worse"))
    #expect(worse.output.contains("the mean rate changed by −75.0 points"))
    let chance = try await Binary.run(["compare", "before.json", "chance.json"], in: folder.path)
    #expect(chance.output.contains("no worse as a whole"))
    let json = try await Binary.run(
      ["compare", "before.json", "worse.json", "--json"], in: folder.path, status: 1
    ).json()
    #expect(json["schema"] == "agent-eval/comparison/1" && json["suite"]?["worse"] == true)
  }

  @Test("a case that is missing now is told and ends with 1")
  func missing() async throws {
    let folder = try TemporaryFolder()
    try folder.write("before.json", Self.results([1, 1, 1], of: 1))
    try folder.write("now.json", Self.results([1, 1], of: 1))
    let fewer = try await Binary.run(
      ["compare", "before.json", "now.json"], in: folder.path, status: 1)
    #expect(fewer.output.contains("MISSING 1 case of the results before: c2"), "\(fewer)")
    let more = try await Binary.run(["compare", "now.json", "before.json"], in: folder.path)
    #expect(more.output.contains("1 in the results now only: c2"), "\(more)")
  }

  /// Results that say of which shard they are.
  private static func shard(_ index: Int, isWhole: Bool = true) -> String {
    let shard =
      #","shard":{"index":\#(index),"of":2,"suite":"s","suiteCases":2,"places":[0],"skippedPlaces":[],"#
      + #""program":"0.1.0","isWhole":\#(isWhole)}}"#
    return String(results([1], of: 1).dropLast()) + shard
  }

  @Test("only results of the same part of a suite are compared, and of all of that")
  func parts() async throws {
    let folder = try TemporaryFolder()
    try folder.write("whole.json", Self.results([1], of: 1))
    try folder.write("one.json", Self.shard(1))
    try folder.write("two.json", Self.shard(2))
    try folder.write("cut.json", Self.shard(1, isWhole: false))
    try await Binary.run(["compare", "one.json", "one.json"], in: folder.path)
    for (before, now) in [("one", "whole"), ("whole", "one"), ("one", "two")] {
      let outcome = try await Binary.run(
        ["compare", "\(before).json", "\(now).json"], in: folder.path, status: 2)
      #expect(outcome.errors.contains("agent-eval merge"), "\(outcome)")
    }
    for pair in [["cut.json", "one.json"], ["one.json", "cut.json"]] {
      let outcome = try await Binary.run(["compare"] + pair, in: folder.path, status: 2)
      #expect(outcome.errors.contains("cut.json holds shard 1 of 2, which was cut off"))
    }
  }

  @Test("results in which two cases have one name are none")
  func twice() async throws {
    let folder = try TemporaryFolder()
    let good = Self.results([1, 1], of: 1)
    try folder.write("good.json", good)
    try folder.write("twice.json", good.replacing(#""c1""#, with: #""c0""#))
    let outcome = try await Binary.run(
      ["compare", "good.json", "twice.json"], in: folder.path, status: 2)
    #expect(outcome.errors.contains("twice.json: cases[1].caseId: two cases have the name “c0”"))
  }

  @Test("files that are no results are named, and wrong options are 64")
  func faults() async throws {
    let folder = try TemporaryFolder()
    try folder.write("good.json", Self.results([1], of: 1))
    for (name, text) in [("gone.json", nil), ("bad.json", "{"), ("other.json", "{}")] {
      if let text { try folder.write(name, text) }
      let outcome = try await Binary.run(
        ["compare", "good.json", name], in: folder.path, status: 2)
      #expect(outcome.errors.contains(name))
    }
    for wrong in [["--level", "0"], ["--seed", "-1"]] {
      try await Binary.run(
        ["compare", "good.json", "good.json"] + wrong, in: folder.path, status: 64)
    }
  }
}
