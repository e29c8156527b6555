import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("What people say to pipelines")
struct PipelineWordsTests {
  private static let order = "ORD-424242"
  private static let word = "blue falcon"
  private static let variable = "kW7tZr2QxB9m"
  private static let own = "CASE-777"

  private static func makeFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    _ = try folder.script("act.sh", "echo 7")
    _ = try folder.script("fail.sh", "exit 3")
    try folder.write(
      "agent.yaml",
      """
      name: asker
      redaction: {patterns: [{kind: case, pattern: "CASE-[0-9]{3}"}]}
      tools:
        - {name: act, sideEffect: write, inputSchema: {type: object}, command: [./act.sh]}
      model:
        script:
          - ask: Which?
          - call: {tool: act, input: {n: 1}}
          - answer: done
      """)
    try folder.write(
      "inner.yaml",
      """
      pipeline: inner
      redaction: {patterns: [{kind: case, pattern: "CASE-[0-9]{3}"}]}
      tasks: [{id: sign, human: {ask: "Sign?"}}]
      """)
    try folder.write(
      "p.yaml",
      """
      pipeline: p
      redaction: {patterns: [{kind: order, pattern: "ORD-[0-9]{6}"}, {kind: name, pattern: "blue falcon"}]}
      tasks:
        - {id: yes, human: {ask: "Well?"}}
        - {id: text, human: {ask: "What?"}}
        - id: failed
          command: {arguments: [./fail.sh], environment: {pass: [SIDE_DOOR]}}
          sideEffect: read
          recover: [{on: "*", do: ask}]
        - {id: draft, agent: agent.yaml, input: {goal: Go}}
        - {id: inner, pipeline: inner.yaml}
      """)
    return folder
  }

  /// A folder below which there is no file of the pipeline.
  private static func elsewhere(in folder: TemporaryFolder) throws -> String {
    try folder.write("elsewhere/empty", "")
    return folder.path("elsewhere")
  }

  @Test(
    "nothing that a file says is secret reaches a log, a result or a terminal through a person’s words",
    arguments: [true, false])
  func secrets(_ isWhereTheFileIs: Bool) async throws {
    let folder = try Self.makeFolder()
    // A pattern that finds itself stands in no log: where its file is not at hand, nothing may be said.
    if !isWhereTheFileIs {
      let text = try #require(folder.text("p.yaml"))
      try folder.write("p.yaml", text.replacing("blue falcon\"", with: "blue [f]alcon\""))
    }
    let environment = ["SIDE_DOOR": Self.variable]
    let said = "\(Self.order) \(Self.word) \(Self.variable)"
    let nested = said + " " + Self.own
    try await Binary.run(
      ["record", "p.yaml", "--out", "o/p.jsonl.gz"], in: folder.path, environment: environment,
      status: 1)
    let place = isWhereTheFileIs ? folder.path : try Self.elsewhere(in: folder)
    let log = folder.path("o/p.jsonl.gz")
    var told = ""
    for words in [
      ["approve", log, "yes", "--by", said, "--reason", said],
      ["answer", log, said, "--task", "text", "--by", said],
      ["approve", log, "failed", "--by", "x", "--happened", "--data", "{\"it\": \"\(said)\"}"],
      ["approve", log, "inner/sign", "--by", nested, "--reason", nested],
      ["answer", log, nested, "--task", "draft"],
    ] {
      let outcome = try await Binary.run(words, in: place, environment: environment)
      told += outcome.output + outcome.errors
    }
    let resumed = try await Binary.run(
      ["resume", log], in: folder.path, environment: environment, status: 1)
    told += resumed.output + resumed.errors
    let approved = try await Binary.run(
      ["approve", log, "draft/act", "--by", nested, "--reason", nested], in: place,
      environment: environment)
    told += approved.output + approved.errors
    try folder.write(
      "case.yaml",
      """
      caseId: a
      recording: o/p.jsonl.gz
      expected: {time: [{never: {reply: {$contains: "o"}}}], policy: {noApprovals: [{approval: any}]}}
      """)
    let judged = try await Binary.run(
      ["run", "case.yaml", "--json"], in: folder.path, status: nil)
    told += judged.output + judged.errors
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path("o")) {
      told += try await Binary.run(["show", "o/\(name)", "--json"], in: folder.path).output
    }
    for (secret, isOfTheFile) in [
      (Self.order, true), (Self.word, true), (Self.variable, true), (Self.own, false),
    ] {
      #expect(!told.contains(secret), "\(secret), \(isOfTheFile)")
    }
    #expect(told.contains("«redacted:order:"))
    #expect(told.contains("«redacted:case:"))
  }

  @Test("where a pattern finds itself and the file is not at hand, nothing is said")
  func unknown() async throws {
    let folder = try Self.makeFolder()
    try await Binary.run(["record", "p.yaml", "--out", "o/p.jsonl.gz"], in: folder.path, status: 1)
    let log = folder.path("o/p.jsonl.gz")
    let before = try await Binary.run(["show", log, "--json"]).output
    let refused = try await Binary.run(
      ["approve", log, "yes", "--by", Self.word], in: try Self.elsewhere(in: folder), status: nil)
    #expect(refused.status != 0)
    #expect(try await Binary.run(["show", log, "--json"]).output == before)
  }

  /// The command that a verb says comes next, with its places filled.
  private static func next(_ outcome: Command.Outcome) -> String? {
    (outcome.output + "\n" + outcome.errors).split(separator: "\n")
      .last { $0.hasPrefix("next   agent-eval ") }
      .map {
        String($0.dropFirst("next   agent-eval ".count)).replacing("NAME", with: "ana")
          .replacing("TEXT", with: "yes").replacing("CHECKPOINT", with: "start")
      }
  }

  @Test("each command that a pipeline says comes next can be typed, down to the end")
  func hints() async throws {
    let folder = try Self.makeFolder()
    try folder.write(
      "two.yaml",
      """
      pipeline: two
      input: {schema: {type: object}}
      tasks:
        - {id: sign, human: {ask: "Sign ${input.who}?"}}
        - {id: draft, agent: agent.yaml, input: {goal: Go}}
      """)
    try folder.write(
      "outer.yaml",
      """
      pipeline: outer
      input: {default: [Ada, Bob]}
      tasks:
        - {id: each, pipeline: two.yaml, forEach: "${input}", input: {who: "${item}"}}
      """)
    var outcome = try await shell(
      "$0 record outer.yaml --out 'o o/p.jsonl.gz'", in: folder.path, status: nil)
    for _ in 0..<40 {
      guard let next = Self.next(outcome) else { break }
      outcome = try await shell("$0 " + next, in: folder.path, status: nil)
      #expect(outcome.status < 2, "\(next): \(outcome)")
    }
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("success"), "\(outcome)")
  }

  @Test("what is wrong with a word to a task inside is told by the names that work outside")
  func inside() async throws {
    let folder = try Self.makeFolder()
    try folder.write(
      "two.yaml",
      """
      pipeline: two
      tasks:
        - {id: a, human: {ask: "A?"}}
        - {id: b, human: {ask: "B?"}}
        - {id: draft, agent: agent.yaml, input: {goal: Go}}
      """)
    try folder.write("outer.yaml", "{pipeline: outer, tasks: [{id: in, pipeline: two.yaml}]}")
    try await Binary.run(
      ["record", "outer.yaml", "--out", "o/p.jsonl.gz"], in: folder.path, status: 1)
    func said(_ line: String) async throws -> String {
      try await Binary.run(
        line.split(separator: " ").map(String.init), in: folder.path, status: nil
      ).errors
    }
    #expect(try await said("approve o/p.jsonl.gz in/c --by x").contains("in/a, in/b"))
    #expect(try await said("answer o/p.jsonl.gz yes --task in").contains("in/a, in/b"))
    let hint = try await said("approve o/p.jsonl.gz in/draft --by x")
    #expect(hint.contains("agent-eval answer o/p.jsonl.gz TEXT --task in/draft"), "\(hint)")
    #expect(try await said("approve o/p.jsonl.gz in/a --by x --happened").contains("in/a waits"))
  }
}
