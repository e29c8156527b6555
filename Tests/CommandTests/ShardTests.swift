import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("run --shard and merge")
struct ShardTests {
  private static let formats = ["json", "junit", "markdown", "gitlab", "sarif", "html", "github"]

  /// The shard of a case as Docs/continuous-integration.md specifies it.
  private static func index(of caseId: String, among count: Int) -> Int {
    let head = Digest(of: Array(caseId.utf8)).bytes.prefix(8)
    return Int(head.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % UInt64(count)) + 1
  }

  /// A suite over the recorded runs in which cases pass, fail, are inconclusive, cannot be judged and
  /// are left out. The program that judges the case `slow` along sleeps until there is a file `calm`.
  private static func makeSuite(count: Int = 120) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let reasons = ["success", "blocked", "tool_failure", "budget_exhausted"]
    let runs = Fixture.runs + Fixture.torn + Fixture.damaged
    let lines = (0..<count).map { number in
      let run = Project.path(runs[number % runs.count]).replacing(".open", with: "")
      let skip = number % 17 == 3 ? #", "skip": "later <b>|\#(number)""# : ""
      return
        #"{"caseId": "c-\#(number)é", "recording": "\#(run)"\#(skip), "#
        + #""expected": {"stopReason": "\#(reasons[number % 4])", "toolsNotCalled": ["delete_*"]}}"#
    }
    try folder.write("cases/a.jsonl", lines.joined(separator: "\n"))
    try folder.write(
      "cases/b.yaml",
      """
      caseId: slow
      recording: \(Fixture.run("refund-drafted"))
      include: common
      expected:
        exec:
          - command: [/bin/sh, -c, "test -e calm || { echo $$ >pid; mv pid begun; exec sleep 50; }; echo '{\\"outcome\\":\\"pass\\"}'"]
            timeoutSeconds: 60
      """)
    try folder.write("cases/defaults.yaml", "sets: {common: {stopReason: success}}\n")
    // A program is started in the folder of its case file.
    try folder.write("cases/calm", "")
    return folder
  }

  private static func run(
    _ arguments: [String], _ name: String, in folder: TemporaryFolder, status: Int32?
  ) async throws -> [String: [UInt8]] {
    let outcome = try await Binary.run(
      arguments + formats.flatMap { ["--report", "\($0):\(name)/\($0)"] }, in: folder.path,
      environment: ["CI": "true"], status: status)
    var bytes = ["terminal": outcome.outputBytes]
    for format in formats { bytes[format] = try folder.read("\(name)/\(format)") }
    return bytes
  }

  @Test(
    "any number of shards, told in any order, makes the reports of one run, byte for byte",
    arguments: [1, 2, 7, 64])
  func sameBytes(count: Int) async throws {
    let folder = try Self.makeSuite()
    let whole = try await Self.run(["run", "cases", "--exec"], "whole", in: folder, status: 1)
    for format in Self.formats { #expect(whole[format]?.isEmpty == false, "\(format)") }
    // As a matrix of machines does it: side by side, in any order; those without cases are fine.
    try await shell(
      """
      seq "$1" | shuf --random-source=<(yes) | xargs -P 4 -I N sh -c '
        CI=true "$0" run cases --exec --shard "N/$1" --report json:"shards/N.json" >/dev/null
        test $? -le 3' "$0" "$1"
      """, ["\(count)"], in: folder.path, timeoutSeconds: 120)
    let files = (1...count).map { "shards/\($0).json" }
    var random = Seeded(seed: UInt64(count))
    for turn in 0..<3 {
      let merged = try await Self.run(
        ["merge"] + files.shuffled(using: &random), "merged-\(turn)", in: folder, status: 1)
      for (format, bytes) in whole { #expect(merged[format] == bytes, "\(format)") }
    }
    let printed = try await Binary.run(["merge", "--json"] + files, in: folder.path, status: 1)
    #expect(printed.outputBytes == whole["json"])
  }

  @Test(
    "a shard that is killed leaves nothing that can be merged; tried again it makes the same bytes")
  func killed() async throws {
    let folder = try Self.makeSuite()
    let whole = try await Self.run(["run", "cases", "--exec"], "whole", in: folder, status: 1)
    let index = Self.index(of: "slow", among: 7)
    let others = (1...7).filter { $0 != index }
    for number in others {
      try await Binary.run(
        ["run", "cases", "--exec", "--shard", "\(number)/7", "--report", "json:\(number).json"],
        in: folder.path, environment: ["CI": "true"], status: nil)
    }
    let start = """
      rm -f cases/calm cases/begun
      CI=true "$0" run cases --exec --shard "$1/7" --report "json:$1.json" & pid=$!
      until [ -e cases/begun ]; do sleep 0.02; done

      """
    let files = (1...7).reversed().map { "\($0).json" }
    let shard = String(index)

    try await shell(
      start + "kill -KILL $pid; wait $pid; kill $(cat cases/begun); true", [shard], in: folder.path)
    #expect(folder.text("\(shard).json") == nil)
    let without = try await Binary.run(
      ["merge"] + files.filter { $0 != "\(shard).json" }, in: folder.path, status: 2)
    #expect(without.errors.contains("shard \(shard) of 7 is missing"), "\(without)")

    // Called off, it says what it had, and that this is not all.
    try await shell(start + "kill -TERM $pid; wait $pid; true", [shard], in: folder.path)
    let cut = try await Binary.run(["merge"] + files, in: folder.path, status: 2)
    #expect(
      cut.errors.contains(
        "shard \(shard) of 7 was cut off before its end (\(shard).json); run it again"), "\(cut)")
    #expect(cut.output == "")
    try await shell("touch cases/calm; mv \"$1.json\" cut.json", [shard], in: folder.path)

    try await Binary.run(
      ["run", "cases", "--exec", "--shard", "\(shard)/7", "--report", "json:\(shard).json"],
      in: folder.path, environment: ["CI": "true"], status: nil)
    for (turn, extra) in [[], ["cut.json"], ["again.json"]].enumerated() {
      if extra == ["again.json"] {
        try folder.write("again.json", try folder.read("\(shard).json"))
      }
      let merged = try await Self.run(
        ["merge"] + files + extra, "merged-\(turn)", in: folder, status: 1)
      for (format, bytes) in whole { #expect(merged[format] == bytes, "\(format) \(extra)") }
    }
  }

  @Test(
    "a shard of other cases, of other files, of other options or of other shared parts is refused",
    arguments: ["case", "file", "defaults", "option", "count"])
  func foreign(change: String) async throws {
    let folder = try Self.makeSuite(count: 20)
    for number in 1...2 {
      try await Binary.run(
        ["run", "cases", "--shard", "\(number)/3", "--json", "--report", "junit:j.xml"],
        in: folder.path, status: nil
      ).outputBytes.write(to: folder, "\(number).json")
    }
    var options: [String] = []
    switch change {
    case "case":
      try folder.write(
        "cases/c.jsonl",
        #"{"caseId": "more", "recording": "x.jsonl.gz", "expected": {"maxSteps": 3}}"#)
    case "file":
      let text = try #require(folder.text("cases/a.jsonl"))
      try folder.write("cases/a.jsonl", text.replacing("blocked", with: "cancelled"))
    case "defaults":
      try folder.write("cases/defaults.yaml", "sets: {common: {stopReason: blocked}}\n")
    case "option": options = ["--no-summary"]
    default: break
    }
    let of = change == "count" ? 4 : 3
    try await Binary.run(
      ["run", "cases", "--shard", "3/\(of)", "--json"] + options, in: folder.path, status: nil
    ).outputBytes.write(to: folder, "3.json")
    let outcome = try await Binary.run(
      ["merge", "3.json", "1.json", "2.json"], in: folder.path, status: 2)
    #expect(outcome.errors.contains("3.json is "), "\(outcome)")
    #expect(outcome.errors.contains("shard 3 of 3 is missing"))
    #expect(outcome.output == "")
  }

  @Test("what is no shard, or half of one, is named")
  func noShards() async throws {
    let folder = try Self.makeSuite(count: 5)
    let shard = try await Binary.run(
      ["run", "cases", "--shard", "1/1", "--json"], in: folder.path, status: nil
    ).outputBytes
    try folder.write("half.json", shard.prefix(shard.count / 2))
    try folder.write("empty.json", "")
    try folder.write("other.json", "{\"results\": []}")
    try folder.write("deep.json", String(repeating: "[", count: 100_000))
    try await Binary.run(["run", "cases", "--json"], in: folder.path, status: nil)
      .outputBytes.write(to: folder, "whole.json")
    for name in ["half", "empty", "other", "whole", "deep", "absent"] {
      let outcome = try await Binary.run(["merge", "\(name).json"], in: folder.path, status: 2)
      #expect(outcome.errors.contains("\(name).json"), "\(outcome)")
      #expect(outcome.output == "" && outcome.errors.count < 2_000)
    }
    try await Binary.run(["merge"], in: folder.path, status: 64)
  }

  @Test("a shard has a number from 1 to n", arguments: ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3"])
  func numbers(text: String) async throws {
    let outcome = try await Binary.run(["run", "EvalCases", "--shard", text], status: 64)
    #expect(outcome.errors.contains("--shard takes i/n"))
  }

  @Test("a shard without cases is fine; a suite without any is not")
  func empty() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      "{caseId: one, recording: \(Fixture.run("refund-drafted")), expected: {stopReason: success}}")
    let index = Self.index(of: "one", among: 2)
    let outcome = try await Binary.run(
      ["run", "case.yaml", "--shard", "\(3 - index)/2"], in: folder.path)
    #expect(
      outcome.lines.suffix(2) == [
        "0 cases: 0 passed", "shard \(3 - index) of 2, which have 1 case",
      ])
    try folder.write("none.yaml", "sets: {}")
    try await Binary.run(["run", "none.yaml", "--shard", "1/2"], in: folder.path, status: 2)
  }

  @Test("the results of a shard are valid by the schema")
  func schema() async throws {
    let folder = try Self.makeSuite(count: 20)
    let schema = try JSONSchema(compiling: try await Binary.run(["schema", "results"]).json())
    let shard = try await Binary.run(
      ["run", "cases", "--shard", "1/2", "--json"], in: folder.path, status: nil
    ).json()
    #expect(schema.validate(shard) == [])
    #expect(shard["shard"]?["of"] == 2)
    guard case .object(var object) = shard else { return }
    object["shard"] = ["index": 0]
    #expect(schema.validate(.object(object)) != [])
  }
}

extension [UInt8] {
  /// Writes these bytes to a file in a folder.
  fileprivate func write(to folder: TemporaryFolder, _ name: String) throws {
    try folder.write(name, self)
  }
}
