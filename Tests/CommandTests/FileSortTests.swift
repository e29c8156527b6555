import ArgumentParser
import TestSupport
import Testing

@testable import agent_eval

/// Each verb with each sort of file: a file that it does not take is refused with what takes it.
@Suite("Files of another sort")
struct FileSortTests {
  /// A file of each sort.
  static let samples: [(sort: FileSort, path: String)] = [
    (.log, "Fixtures/runs/tool-failure.jsonl.gz"), (.cases, "EvalCases/stops.yaml"),
    (.agent, "Fixtures/agents/support.yaml"), (.policy, "Fixtures/policies/refunds.yaml"),
    (.pipeline, "Fixtures/pipelines/letter.yaml"),
    (.trace, "Fixtures/traces/weather.openai.json"), (.folder, "Fixtures/runs"),
  ]

  /// How each verb that is given files is given one, as `FILE`, and what it takes there.
  static let places: [(line: [String], takes: Set<FileSort>)] = [
    (["run", "FILE"], [.cases, .folder]),
    (["check", "FILE"], [.cases, .agent, .policy, .pipeline, .folder]),
    (["accept", "--dry-run", "FILE"], [.cases, .folder]),
    (["mutate", "FILE"], [.cases, .folder]),
    (["promote", "FILE", "--into", "OUT"], [.log]),
    (["merge", "FILE"], []),
    (["record", "FILE", "goal", "--out", "OUT"], [.agent, .pipeline]),
    (["import", "FILE", "--out", "OUT"], [.trace, .folder]),
    (["approve", "FILE", "call", "--by", "me"], [.log]),
    (["answer", "FILE", "yes"], [.log]), (["resume", "FILE"], [.log]), (["pause", "FILE"], [.log]),
    (["rollback", "FILE", "--to", "start"], [.log]), (["tools", "FILE"], [.agent]),
    (["show", "FILE"], [.log]), (["replay", "FILE", "--step", "1"], [.log]),
    (["replay", "FILE", "--reexecute"], [.log, .folder]),
    (["inspect", "FILE"], [.log, .trace, .folder]),
    (["list", "FILE"], [.folder]), (["query", "FILE", "SELECT 1"], [.folder]),
    (["diff", "FILE", "Fixtures/runs/tool-failure.jsonl.gz"], [.log]),
    (["diff", "Fixtures/runs/tool-failure.jsonl.gz", "FILE"], [.log]),
    (["compare", "FILE", "FILE"], []),
    (["fork", "FILE", "--at", "step:1", "--out", "OUT"], [.log]),
    (["bisect", "FILE", "Fixtures/runs/tool-failure.jsonl.gz"], [.log]),
    (["policy", "check", "FILE"], [.policy, .agent]),
    (
      ["policy", "backtest", "FILE", "--policy", "Fixtures/policies/refunds.yaml"], [.log, .folder]
    ),
    (["policy", "backtest", "Fixtures/runs", "--policy", "FILE"], [.policy]),
    (["verify", "FILE"], [.log, .folder]), (["repair", "FILE", "--out", "OUT/x.jsonl.gz"], [.log]),
    (["scrub", "FILE", "--out", "OUT/x.jsonl.gz"], [.log]),
    (["export", "atif", "FILE"], [.log, .folder]),
    (["index", "FILE"], [.folder]),
  ]

  @Test("the commands that are told can be copied, whatever the path")
  func copied() {
    for (path, word) in [("a b.yaml", "'a b.yaml'"), ("-x.yaml", "./-x.yaml")] {
      let told = NamedFiles.WrongSort(path: path, sort: .cases, verb: "show", takes: [.log])
      #expect(
        "\(told)".hasSuffix("For a case file: agent-eval run \(word), or agent-eval check \(word)"),
        "\(told)")
    }
  }

  @Test("an empty name of a log is told as such")
  func emptyName() async throws {
    let outcome = try await Binary.run(["show", ""], in: Project.root, status: 2)
    #expect(outcome.errors.contains("the name of a log is empty"), "\(outcome)")
  }

  @Test("each sample is told by what stands in it")
  func sorts() {
    for (sort, path) in Self.samples {
      #expect(FileSort(of: Project.path(path)) == sort, "\(path)")
    }
    #expect(FileSort(of: Project.path("nowhere")) == nil)
    #expect(FileSort(of: Project.path("Package.swift")) == nil)
    #expect(FileSort(of: "/dev/null") == nil)
  }

  @Test("every verb that is given files is in the table")
  func everyVerb() {
    let named = Set(Self.places.map { $0.line[0] })
    let verbs = HelpTests.verbs.filter { $0.type is any NamesFiles.Type }.map { $0.words[0] }
    #expect(Set(verbs).subtracting(named) == ["doctor"])
  }

  @Test(
    "is refused by each verb that does not take it, with exit code 2 and what takes it",
    arguments: places.indices)
  func refused(_ index: Int) async throws {
    let (line, takes) = Self.places[index]
    let folder = try TemporaryFolder()
    for (sort, path) in Self.samples where !takes.contains(sort) {
      let arguments = line.map { $0 == "FILE" ? path : $0.replacing("OUT", with: folder.path) }
      let outcome = try await Binary.run(arguments, status: 2)
      let next = sort.commands(path)[0]
      #expect(outcome.errors.contains("is \(sort.noun), and "), "\(outcome)")
      #expect(outcome.errors.contains("agent-eval \(next)"), "\(outcome)")
      #expect(outcome.output == "")
      #expect(folder.listing.isEmpty)
    }
  }

  @Test("results of cases are told, too")
  func results() async throws {
    let folder = try TemporaryFolder()
    let results = try await Binary.run(["run", "EvalCases/stops.yaml", "--json"])
    let path = try folder.write("results.json", results.outputBytes)
    for line in [["show", path], ["run", path], ["import", path, "--out", folder.path("out")]] {
      let outcome = try await Binary.run(line, status: 2)
      #expect(outcome.errors.contains("is the results of a run of cases"), "\(outcome)")
      #expect(outcome.errors.contains("agent-eval compare"))
    }
  }
}
