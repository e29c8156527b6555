import TestSupport
import Testing

@Suite("Usage and exit codes")
struct UsageTests {
  /// Arguments, and what must be said about them on standard error.
  struct Mistake: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var says: String

    init(_ arguments: String..., says: String) {
      self.arguments = arguments
      self.says = says
    }

    var testDescription: String { arguments.joined(separator: " ") }
  }

  @Test(
    "wrong usage exits with 64, names the mistake on standard error and prints no result",
    arguments: [
      Mistake("runn", says: "Did you mean “run”?"),
      Mistake("chekc", says: "Did you mean “check”?"),
      Mistake("recrod", "a", "b", says: "Did you mean “record”?"),
      Mistake("shwo", says: "Did you mean “show”?"),
      Mistake("replya", "x", "--step", "1", says: "Did you mean “replay”?"),
      Mistake("verfy", says: "Did you mean “verify”?"),
      Mistake("improt", says: "Did you mean “import”?"),
      Mistake("recieve", "x", says: "Did you mean “receive”?"),
      Mistake("schemas", says: "Did you mean “schema”?"),
      Mistake("view", "x", says: "Say “agent-eval show LOG”"),
      Mistake("show", "x", "--color", "blue", says: "blue"),
      Mistake("zzzzzzzzzz", says: "there is no verb “zzzzzzzzzz”"),
      Mistake("", says: "there is no verb “”"),
      Mistake("\u{1b}[2J", says: "\\u{1b}[2J"),
      Mistake("--nonsense", says: "nonsense"),
      Mistake("run", "x", "--jobs", says: "--jobs"),
      Mistake("run", "x", "--jobs", "many", says: "many"),
      Mistake("run", "x", "--jobs=-1", says: "0 to 1024"),
      Mistake("run", "x", "--jobs", "-1", says: "--jobs takes 0 to 1024"),
      Mistake("run", "x", "-j", "-1", says: "--jobs takes 0 to 1024"),
      Mistake("query", "x", "select 1", "--limit", "-1", says: "--limit takes 0 or more"),
      Mistake("record", "a", "b", "--max-cost", "-.5", says: "--max-cost takes a number from 0"),
      Mistake(
        "policy", "backtest", "x", "--policy", "y", "--examples", "-3", says: "0 to 10000"),
      Mistake("pause", "x", "--timeout", "-1", says: "--timeout takes 0 to"),
      Mistake("pause", "x", "--timeout", "nan", says: "--timeout takes 0 to"),
      Mistake("run", "x", "--full", "-1", says: "-1"),
      Mistake("run", "x", "--jobs", "1025", says: "0 to 1024"),
      Mistake("run", "x", "--jobs", "99999999999999999999", says: "--jobs"),
      Mistake("run", "x", "--nonsense", says: "nonsense"),
      Mistake("run", "EvalCases", "--filter", "[", says: "--filter"),
      Mistake("run", "EvalCases", "--out", "", says: "--out"),
      Mistake(
        "run", "x", "--filter", "a", "--filter", "b",
        says: "--filter takes one value, and is given 2 times"),
      Mistake("run", "x", "-f", "a", "--filter=b", says: "--filter takes one value"),
      Mistake("run", "x", "-lf", "a", "-f", "b", says: "--filter takes one value"),
      Mistake(
        "show", "x", "--color", "never", "--color", "always", says: "--color takes one value"),
      Mistake(
        "policy", "check", "x", "--color", "never", "--color", "always", says: "--color takes"),
      Mistake("record", "Fixtures/agents/support.yaml", "x", "--out", "", says: "--out"),
      Mistake("import", "EvalCases", "--out", "", says: "--out"),
      Mistake("import", "EvalCases", "--out", "-", says: "./- is the file"),
      Mistake("run", "EvalCases", "--out=~/runs", says: "$HOME"),
      Mistake("run", "EvalCases", "--history=~/kept", says: "$HOME"),
      Mistake("run", "EvalCases", "--report", "junit:~/r.xml", says: "junit:$HOME/"),
      Mistake("show", "x", "--html", "-", says: "./- is the file"),
      Mistake("run", "x", "--\u{1b}[2Jx", says: "\\u{1b}[2Jx"),
      Mistake("show", "x", "-\u{9b}y", says: "\\u{9b}"),
      Mistake("run", "x", "--jobs", "\u{1b}[2J", says: "\\u{1b}[2J"),
      Mistake("check", says: "paths"),
      Mistake("record", says: "agent"),
      Mistake("record", "Fixtures/agents/support.yaml", says: "goal"),
      Mistake("record", "a", "b", "c", says: "c"),
      Mistake("record", "a", "b", "--seed", "1.5", says: "1.5"),
      Mistake("record", "a", "b", "--durability", "maybe", says: "maybe"),
      Mistake("show", says: "log"),
      Mistake("show", "a", "b", says: "b"),
      Mistake("replay", says: "log"),
      Mistake("replay", "x", "--json", says: "--step"),
      Mistake("replay", "x", "--step", "1", "-c", "next", says: "goto"),
      Mistake("replay", "x", "--commands", "a", "-c", "next", says: "either"),
      Mistake("replay", "x", "--step", "1", "--event", "1", says: "either"),
      Mistake("replay", "x", "--step", "one", says: "one"),
      Mistake("replay", "x", "--step=-1", says: "numbered from 0"),
      Mistake("replay", "x", "--event=-1", says: "numbered from 0"),
      Mistake("replay", "x", "--step", "9223372036854775808", says: "--step"),
      Mistake("verify", says: "logs"),
      Mistake("repiar", "x", says: "Did you mean “repair”?"),
      Mistake("repair", says: "log"),
      Mistake("repair", "x", "--out", "", says: "--out"),
      Mistake("show", "x", "--follow", "--skip-damaged", says: "--skip-damaged"),
      Mistake("verify", "x", "--expect-digest", "abc", says: "64"),
      Mistake(
        "verify", "x", "--expect-digest", String(repeating: "A", count: 64), says: "lower-case"),
      Mistake(
        "verify", "x", "y", "--expect-digest", String(repeating: "a", count: 64), says: "one log"),
      Mistake(
        "verify", "Fixtures/runs", "--expect-digest", String(repeating: "a", count: 64),
        says: "one log"),
      Mistake("lst", says: "Did you mean “list”?"),
      Mistake("list", "x", "--stop", "sucess", says: "did you mean “success”?"),
      Mistake("list", "x", "--since", "yesterday", says: "--since"),
      Mistake("query", "x", says: "statement"),
      Mistake("query", "x", "select 1", "--limit=-1", says: "0 or more"),
      Mistake("query", "x", "select 1", "--timeout", "nan", says: "--timeout"),
      Mistake("index", says: "folder"),
      Mistake("import", says: "arguments"),
      Mistake("import", "tau2", says: "--out"),
      Mistake("import", "tau2", "--out", "x", says: "files or folders"),
      Mistake("schema", says: "kind"),
      Mistake("schema", "cases", says: "case"),
    ])
  func wrongUsage(_ mistake: Mistake) async throws {
    let outcome = try await Binary.run(mistake.arguments, status: 64)
    #expect(outcome.output == "")
    #expect(outcome.errors.contains(mistake.says), "\(outcome)")
    #expect(controlBytes(in: outcome.errorBytes).isEmpty)
  }

  @Test("a mistake in what a verb was given leads to the help of that verb")
  func usageOfTheVerb() async throws {
    let goal = try await Binary.run(["record", "Fixtures/agents/support.yaml"], status: 64)
    #expect(goal.errors.contains("agent-eval record --help"), "\(goal)")
  }

  @Test(
    "help is no mistake",
    arguments: [
      ["--help"], ["-h"], ["help"], ["help", "run"], ["run", "--help"], ["check", "-h"],
      ["record", "--help"], ["show", "--help"], ["replay", "--help"], ["verify", "--help"],
      ["repair", "--help"],
      ["import", "--help"], ["schema", "--help"],
    ])
  func help(_ arguments: [String]) async throws {
    let outcome = try await Binary.run(arguments)
    #expect(outcome.output.contains("USAGE: agent-eval"))
    #expect(outcome.errors == "")
  }

  @Test("the version is one line")
  func version() async throws {
    let outcome = try await Binary.run(["--version"])
    #expect(outcome.lines.count == 1)
    #expect(outcome.output.contains(/^[0-9]+\.[0-9]+\.[0-9]+\n$/))
  }

  /// A command line that is right, and what comes of it.
  struct Row: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var status: Int32
    /// A word that must stand on standard output or standard error.
    var says: String

    init(_ arguments: String..., status: Int32, says: String) {
      self.arguments = arguments
      self.status = status
      self.says = says
    }

    var testDescription: String { "\(arguments.joined(separator: " ")) → \(status)" }
  }

  @Test(
    "each verb says with its exit code how it went",
    arguments: [
      Row("run", "Fixtures/failing-cases", status: 1, says: "6 failed"),
      Row("run", "EvalCases/stops.yaml", status: 0, says: "12 passed"),
      Row("run", "nowhere", status: 2, says: "no such file"),
      Row("run", "Fixtures/tools", status: 2, says: "no cases in Fixtures/tools"),
      Row("run", "EvalCases", "--filter", "nothing-like-it", status: 2, says: "none of 66"),
      Row("run", "EvalCases", "-f", "is-drafted", status: 2, says: "did you mean “*is-drafted*”?"),
      Row("run", "EvalCases", "--runs", "nowhere", status: 2, says: "nowhere"),
      Row(
        "check", "EvalCases", "Fixtures/agents", "Fixtures/policies", status: 0, says: "0 errors"),
      Row("check", "EvalCases", status: 0, says: "no mistakes"),
      Row("check", "Sources/CZlib", status: 2, says: "nothing to check"),
      Row("check", "nowhere", status: 2, says: "1 error, 0 warnings"),
      Row("record", "nowhere.yaml", "x", status: 2, says: "no such file"),
      Row("record", "EvalCases/stops.yaml", "x", status: 2, says: "is a case file"),
      Row("record", "Fixtures", "x", status: 2, says: "is a folder"),
      Row("show", "Fixtures/runs/tool-failure.jsonl.gz", status: 0, says: "tool_failure"),
      Row("show", "Fixtures/torn/parallel-search.jsonl.gz", status: 0, says: "torn"),
      Row("show", "Fixtures/damaged/error-recovered.jsonl.gz", status: 2, says: "damaged"),
      Row("show", "nowhere.jsonl.gz", status: 2, says: "there is no such log"),
      Row("show", "3ea", status: 2, says: "a run's identifier has 4 characters or more"),
      Row("show", "3ea5f01", status: 2, says: "there is no such log, and no"),
      Row("show", "Fixtures", status: 2, says: "agent-eval list Fixtures"),
      Row("show", "Package.swift", status: 2, says: "Package.swift"),
      Row("replay", "nowhere.jsonl.gz", "--step", "1", status: 2, says: "there is no such log"),
      Row("replay", "nowhere.jsonl.gz", "-c", "next", status: 2, says: "there is no such log"),
      Row(
        "replay", "Fixtures/runs/tool-failure.jsonl.gz", "-c", "nxet", status: 2,
        says: "did you mean “next”?"),
      Row(
        "replay", "Fixtures/runs/tool-failure.jsonl.gz", "--step", "1", status: 0, says: "step 1"),
      Row(
        "replay", "Fixtures/runs/tool-failure.jsonl.gz", "--step", "99", status: 2,
        says: "there is no step 99"),
      Row(
        "replay", "Fixtures/runs/tool-failure.jsonl.gz", "--event", "9999", status: 2,
        says: "there is no event 9999"),
      Row(
        "replay", "Fixtures/runs/tool-failure.jsonl.gz", "--step", "9223372036854775807",
        status: 2, says: "there is no step"),
      Row(
        "replay", "Fixtures/damaged/error-recovered.jsonl.gz", "--step", "1", status: 2,
        says: "damaged"),
      Row("verify", "Fixtures/runs", status: 0, says: "whole"),
      Row("verify", "Fixtures/torn", status: 0, says: "note"),
      Row("verify", "Fixtures/damaged", status: 1, says: "damaged"),
      Row("verify", "nowhere.jsonl.gz", status: 2, says: "unreadable"),
      Row("verify", "Package.swift", status: 2, says: "Package.swift"),
      Row("verify", "Sources/CZlib", status: 2, says: "no logs below"),
      Row(
        "verify", "Fixtures/runs", "nowhere.jsonl.gz", "Fixtures/damaged", status: 1,
        says: "unreadable"),
      Row("verify", "Fixtures/runs", "nowhere.jsonl.gz", status: 2, says: "unreadable"),
      Row("repair", "nowhere.jsonl.gz", status: 2, says: "there is no such log"),
      Row("repair", "Package.swift", status: 2, says: "Package.swift"),
      Row("repair", "Fixtures", status: 2, says: "is a folder"),
      Row("list", "nowhere", status: 2, says: "nowhere: there is no such folder"),
      Row(
        "history", "--dir", "nowhere", status: 2, says: "agent-eval run --history nowhere makes it"),
      Row("compare", "nowhere", "x", status: 2, says: "agent-eval: nowhere cannot be read"),
      Row("index", "nowhere", status: 2, says: "nowhere"),
      Row("query", "nowhere", "select 1", status: 2, says: "nowhere"),
      Row("schema", "case", status: 0, says: "$schema"),
      Row("schema", "agent", status: 0, says: "$schema"),
      Row("schema", "policy", status: 0, says: "$schema"),
      Row("schema", "event", status: 0, says: "$schema"),
      Row("schema", "results", status: 0, says: "$schema"),
    ])
  func exitCodes(_ row: Row) async throws {
    let outcome = try await Binary.run(row.arguments, status: row.status)
    #expect((outcome.output + outcome.errors).contains(row.says), "\(outcome)")
  }
}
