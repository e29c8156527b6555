import AgentTrace
import Foundation
import TestSupport
import Testing

/// `.agent-eval.yaml`, the variables that outrank it, and `agent-eval config`.
@Suite("Settings of a project")
struct SettingsFileTests {
  /// A folder that is a repository, with a folder within.
  private static func project(_ settings: String?) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write(".git/HEAD", "ref: refs/heads/main\n")
    try folder.write("deep/er/keep", "")
    if let settings { try folder.write(".agent-eval.yaml", settings) }
    return folder
  }

  private static let passing = """
    caseId: fine
    recording: \(Fixture.run("refund-drafted"))
    expected: {stopReason: success}
    """

  private static let failing = """
    caseId: wrong
    recording: \(Fixture.run("refund-drafted"))
    expected: {stopReason: tool_failure}
    """

  @Test(
    "a mistake stops every verb that rests on settings with 2, its place and the nearest key",
    arguments: [
      ("against: accepted\nagaints: x\n", ".agent-eval.yaml:2:1", "did you mean “against”?"),
      ("live: true\n", "live", "unknown key"), ("exec: true\n", "exec", "unknown key"),
      ("filter: x\n", "filter", "unknown key"), ("trials: 3\n", "trials", "unknown key"),
      ("jobs: many\n", "jobs", ""), ("jobs: 2000\n", "jobs", ""), ("strict: maybe\n", "strict", ""),
      ("color: blue\n", "color", ""), ("report: junit\n", "report", "FORMAT:FILE"),
      ("tolerance: 5\ntolerance_: 1\n", "tolerance_", "unknown key"),
      ("jobs: 1\ntolerance: lots\nagainst: accepted\n", ".agent-eval.yaml:2", "per cent"),
      ("tolerance: [steps=5, words=3]\nagainst: accepted\n", ".agent-eval.yaml:1", "cost="),
      ("report: junti:r.xml\n", ".agent-eval.yaml:1", "junit"),
      ("[1, 2]\n", ".agent-eval.yaml", "settings"),
      ("paths: []\n", "paths", ""), ("out: ''\n", "out", ""),
      ("report: junit:-\n", "report", "FORMAT:FILE"), ("out: ~/runs\n", "out", "no home folder"),
      ("report: junit:~/r.xml\n", "report", "no home folder"),
      ("a: &a [*a]\n", ".agent-eval.yaml", ""),
      ("color: never\ncolor: always\n", "color", "twice"),
    ])
  func mistakes(_ row: (text: String, place: String, says: String)) async throws {
    let folder = try Self.project(row.text)
    try folder.write("case.yaml", Self.passing)
    for arguments in [
      ["run", "case.yaml"], ["list"], ["show", "latest"], ["check", "case.yaml"],
    ] {
      let refused = try await Binary.run(arguments, in: folder.path, status: 2)
      #expect(
        refused.errors.contains(row.place)
          && (row.says.isEmpty || refused.errors.contains(row.says)), "\(refused)")
      #expect(refused.output == "")
    }
    try await Binary.run(["config"], in: folder.path, status: 2)
    try await Binary.run(["--help"], in: folder.path)
    try await Binary.run(["help", "settings"], in: folder.path)
  }

  @Test(
    "settings under a name that nobody reads are told, not passed over",
    arguments: [".agent-eval.yml", ".agent-eval.json"])
  func otherName(_ name: String) async throws {
    let folder = try Self.project(nil)
    try folder.write(name, "strict: true\n")
    try folder.write("case.yaml", Self.passing)
    let refused = try await Binary.run(["run", "case.yaml"], in: folder.path, status: 2)
    #expect(
      refused.errors.contains(name) && refused.errors.contains("rename it to .agent-eval.yaml"),
      "\(refused)")
    // Also from within the repository, and beside the file that is read.
    let below = try await Binary.run(
      ["run", "../../case.yaml"], in: folder.path("deep/er"), status: 2)
    #expect(below.errors.contains("../../\(name): error"), "\(below)")
    try folder.write(".agent-eval.yaml", "jobs: 1\n")
    let beside = try await Binary.run(["run", "case.yaml"], in: folder.path, status: 2)
    #expect(beside.errors.contains("\(name): error"), "\(beside)")
  }

  @Test("the file is found upwards to the repository's root, and no further")
  func found() async throws {
    let folder = try Self.project("out: kept\n")
    try folder.write("inner/.git/HEAD", "")
    for (place, file, out) in [
      ("", ".agent-eval.yaml", "kept"), ("deep", "../.agent-eval.yaml", "../kept"),
      ("deep/er", "../../.agent-eval.yaml", "../../kept"),
    ] {
      let told = try await Binary.run(["config", "--json"], in: folder.path(place)).json()
      #expect(told["file"] == .string(file))
      let entry = told["settings"]?.arrayValue?.first { $0["key"] == "out" }
      #expect(entry?["value"] == .string(out) && entry?["source"] == "file")
      #expect(entry?["line"] == 1)
    }
    let inner = try await Binary.run(["config", "--json"], in: folder.path("inner")).json()
    #expect(inner["file"] == .null)
    // Outside of a repository what stands above is anybody's.
    let outside = try TemporaryFolder()
    try outside.write(".agent-eval.yaml", "out: theirs\n")
    try outside.write("mine/keep", "")
    #expect(
      try await Binary.run(["config", "--json"], in: outside.path("mine")).json()["file"] == .null)
    #expect(
      try await Binary.run(["config", "--json"], in: outside.path).json()["file"]
        == ".agent-eval.yaml")
  }

  @Test(
    "what decides over the outcome is told by run with its place, and never told of what does not")
  func told() async throws {
    let folder = try Self.project("paths: [cases]\njobs: 1\nreport: junit:r.xml\n")
    try folder.write("cases/a.yaml", Self.passing)
    let run = try await Binary.run(["run"], in: folder.path)
    #expect(
      run.errors.contains("note: settings decide here: paths cases (.agent-eval.yaml:1)"), "\(run)")
    #expect(!run.errors.contains("jobs") && folder.text("r.xml")?.contains("<testcase") == true)
    let named = try await Binary.run(["run", "cases/a.yaml"], in: folder.path)
    #expect(!named.errors.contains("settings decide"))
    // From a folder within, paths start from the file's own folder.
    try await Binary.run(["run"], in: folder.path("deep/er"))
  }

  @Test("a red run is green by settings only where it says so, with the setting and its place")
  func noSilentGreen() async throws {
    let folder = try Self.project(nil)
    try folder.write("cases/a.yaml", Self.failing)
    try await Binary.run(["run", "cases"], in: folder.path, status: 1)
    try await Binary.run(["accept", "cases", "--all"], in: folder.path)
    for (settings, variables) in [
      ("against: accepted\n", [:]), ("jobs: 1\n", ["AGENT_EVAL_AGAINST": "accepted"]),
    ] as [(String, [String: String])] {
      try folder.write(".agent-eval.yaml", settings)
      let green = try await Binary.run(["run", "cases"], in: folder.path, environment: variables)
      #expect(green.errors.contains("settings decide here: against accepted"), "\(green)")
      #expect(green.output.contains("against accepted"))
      let red = try await Binary.run(
        ["run", "cases", "--against", "none"], in: folder.path, environment: variables, status: 1)
      #expect(!red.errors.contains("settings decide"))
    }
  }

  @Test("a file that says nothing yet leaves all as it is", arguments: ["", "# jobs: 3\n", "\n\n"])
  func saysNothing(_ text: String) async throws {
    let folder = try Self.project(text)
    try folder.write("case.yaml", Self.passing)
    for verb in [["run", "case.yaml"], ["config"], ["check", "case.yaml"]] {
      try await Binary.run(verb, in: folder.path)
    }
  }

  @Test("options outrank variables, and variables the file")
  func order() async throws {
    let folder = try Self.project("out: of-file\ncolor: never\nstrict: true\nagainst: accepted\n")
    try folder.write("agent.yaml", agentFile())
    try await Binary.run(["record", "agent.yaml", "x", "--seed", "1"], in: folder.path)
    #expect(folder.listing.contains { $0.hasPrefix("of-file/") })
    try await Binary.run(
      ["record", "agent.yaml", "x", "--seed", "1"], in: folder.path,
      environment: ["AGENT_EVAL_OUT": "of-variable"])
    #expect(folder.listing.contains { $0.hasPrefix("of-variable/") })
    try await Binary.run(
      ["record", "agent.yaml", "x", "--seed", "1", "-o", "of-option"], in: folder.path,
      environment: ["AGENT_EVAL_OUT": "of-variable"])
    #expect(folder.listing.contains { $0.hasPrefix("of-option/") })
    // What list and latest look at follows.
    let listed = try await Binary.run(["list", "--json"], in: folder.path)
    #expect(listed.lines.count == 1)
    let shown = try await Binary.run(["show", "latest"], in: folder.path)
    #expect(shown.errors.contains("log    of-file/"), "\(shown)")
    let config = try await Binary.run(
      ["config", "--json"], in: folder.path, environment: ["AGENT_EVAL_STRICT": "false"]
    ).json()
    let strict = config["settings"]?.arrayValue?.first { $0["key"] == "strict" }
    #expect(strict?["value"] == false && strict?["source"] == "environment")
    #expect(strict?["variable"] == "AGENT_EVAL_STRICT")
    try folder.write("case.yaml", Self.passing)
    let wrong = try await Binary.run(
      ["run", "case.yaml"], in: folder.path, environment: ["AGENT_EVAL_JOBS": "many"], status: 2)
    #expect(wrong.errors.contains("AGENT_EVAL_JOBS") && wrong.errors.contains("many"))
  }

  @Test("a variable that is likely meant for a setting and read by nobody is told, and no other is")
  func slipsInVariables() async throws {
    let folder = try Self.project(nil)
    try folder.write("case.yaml", Self.passing)
    for (name, meant) in [
      ("AGENT_EVAL_AGAINS", "AGENT_EVAL_AGAINST"), ("AGENT_EVAL_PATH", "AGENT_EVAL_PATHS"),
      ("AGENT_EVAL_strict", "AGENT_EVAL_STRICT"),
    ] {
      for arguments in [["run", "case.yaml"], ["config"]] {
        let told = try await Binary.run(arguments, in: folder.path, environment: [name: "accepted"])
        #expect(
          told.errors.contains(
            "\(name): warning: no setting is read from this variable; did you mean “\(meant)”?"),
          "\(told)")
      }
    }
    for name in [
      "AGENT_EVAL_SCRIPT", "AGENT_EVAL_VERSION", "AGENT_EVAL_REPOSITORY", "AGENT_EVAL_REF",
    ] {
      let calm = try await Binary.run(
        ["run", "case.yaml"], in: folder.path, environment: [name: "x"])
      #expect(!calm.errors.contains("warning"), "\(calm)")
    }
  }

  @Test("settings are read no other way where run is read without ArgumentParser")
  func samePlainly() async throws {
    let folder = try Self.project("paths: [cases]\nagainst: accepted\nstrict: true\n")
    try folder.write("cases/a.yaml", Self.passing)
    try await Binary.run(["accept", "--all"], in: folder.path)
    let plain = try await Binary.run(["run", "--json"], in: folder.path)
    let parsed = try await Binary.run(["run", "--json", "--jobs=1"], in: folder.path)
    #expect(plain.outputBytes == parsed.outputBytes)
    #expect(plain.errors == parsed.errors && plain.errors.contains("strict true"))
  }
}
