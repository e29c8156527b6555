import AgentTrace
import TestSupport
import Testing

@Suite("What a pipeline never does by half")
struct PipelinePromiseTests {
  /// A folder with a pipeline, and with scripts for its tasks.
  private static func folder(_ pipeline: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    _ = try folder.script("do.sh", "echo \"do $*\" >> effects.txt; echo '{\"id\": 7}'")
    _ = try folder.script("fail.sh", "echo \"do $*\" >> effects.txt; exit 3")
    try folder.write("p.yaml", pipeline)
    return folder
  }

  @discardableResult
  private static func go(
    _ line: String, in folder: TemporaryFolder, status: Int32? = 0
  ) async throws -> Command.Outcome {
    try await Binary.run(
      line.split(separator: " ").map(String.init), in: folder.path, status: status)
  }

  @Test(
    "an undo that needs what nobody knows is not begun, and a person's word ends the rollback",
    arguments: ["--happened", "--happened --data {\"other\":1}", "--happened --data {\"id\":null}"])
  func undo(_ word: String) async throws {
    let folder = try Self.folder(
      """
      pipeline: p
      tasks:
        - id: book
          command: [./fail.sh, book]
          compensate: {command: [./do.sh, cancel, "${output.id}"]}
        - {id: sign, human: {ask: "Well?"}}
      edges: [[book, sign]]
      """)
    try await Self.go("record p.yaml --out p.jsonl.gz", in: folder, status: nil)
    let words = word.split(separator: " ").map(String.init)
    try await Binary.run(["approve", "p.jsonl.gz", "book", "--by", "x"] + words, in: folder.path)
    try await Self.go("resume p.jsonl.gz", in: folder, status: nil)
    try await Self.go("rollback p.jsonl.gz --to start", in: folder, status: nil)
    #expect(folder.text("effects.txt") == "do book\n")
    try await Self.go("approve p.jsonl.gz book --by x --happened", in: folder)
    let events = try await Self.go("show p.jsonl.gz --json", in: folder).jsonLines()
    let ends = events.filter { $0["type"] == "compensation_finished" }.compactMap { $0["data"] }
    #expect(ends.count == 2)
    #expect(ends.first?["error"]?.stringValue?.hasPrefix("input: ${output.id}") == true)
    try await Self.go("verify p.jsonl.gz", in: folder)
  }

  @Test("what a value stood in for is not undone by that value")
  func undoSubstituted() async throws {
    let folder = try Self.folder(
      """
      pipeline: p
      tasks:
        - id: book
          command: [./fail.sh, book]
          idempotent: true
          recover: [{on: tool_failure, do: substitute, value: {id: 9}}]
          compensate: {command: [./do.sh, cancel, "${output.id}"]}
        - {id: sign, human: {ask: "Well?"}}
      edges: [[book, sign]]
      """)
    try await Self.go("record p.yaml --out p.jsonl.gz", in: folder, status: nil)
    let back = try await Self.go(
      "rollback p.jsonl.gz --to start", in: folder, status: nil)
    #expect(back.output.contains("nobody knows what book returned there"), "\(back)")
    #expect(folder.text("effects.txt") == "do book\n")
    try await Self.go("approve p.jsonl.gz book --by x --happened", in: folder)
    try await Self.go("verify p.jsonl.gz", in: folder)
  }

  @Test("a task is given the whole of what it asks for, or fails")
  func whole() async throws {
    let folder = try Self.folder(
      """
      pipeline: p
      input: {default: {list: [1, 2, 3, 4, 5, 6]}}
      tasks:
        - id: each
          forEach: ${input.list}
          command: [printf, '"%0900000d"', '0']
          sideEffect: read
        - {id: join, command: [./do.sh, join], sideEffect: write, input: {all: "${each.*}"}}
      """)
    try await Self.go("record p.yaml --out p.jsonl.gz", in: folder, status: 1)
    #expect(folder.text("effects.txt") == nil)
    let events = try await Self.go("show p.jsonl.gz --json", in: folder).jsonLines()
    let failed = events.last { $0["type"] == "task_failed" }?["data"]
    #expect(failed?["error"]?["kind"] == "input")
  }

  @Test("limits hold for runs side by side", arguments: [1, 2, 4, 16])
  func limits(_ concurrency: Int) async throws {
    let folder = try Self.folder(
      """
      pipeline: p
      input: {default: {list: [1, 2, 3, 4, 5, 6]}}
      concurrency: \(concurrency)
      limits: {maxToolCalls: 7}
      tasks: [{id: each, forEach: "${input.list}", agent: a.yaml, input: {goal: "${item}"}}]
      """)
    try folder.write(
      "a.yaml",
      """
      name: a
      tools: [{name: act, sideEffect: write, inputSchema: {type: object}, command: [./do.sh]}]
      policy: {rules: [{id: all, verdict: allow}]}
      model:
        script:
          - {call: {tool: act, input: {n: 1}}}
          - {call: {tool: act, input: {n: 2}}}
          - {call: {tool: act, input: {n: 3}}}
          - {answer: done}
      """)
    try await Self.go("record p.yaml --out runs/", in: folder, status: 1)
    let done = folder.text("effects.txt")?.split(separator: "\n").count ?? 0
    #expect((1...7).contains(done), "\(done) calls")
  }

  @Test("what ran as a stand-in ran; what is absent in a list is null; who answers is withheld too")
  func smaller() async throws {
    let folder = try Self.folder(
      """
      pipeline: p
      tasks:
        - id: book
          command: [./fail.sh, book]
          sideEffect: read
          recover: [{on: "*", do: fallback, task: refund}]
        - {id: refund, command: [./do.sh, refund], sideEffect: write}
        - {id: gone, command: [./fail.sh, gone], sideEffect: read, recover: [{on: "*", do: skip}]}
        - id: told
          command: [./do.sh, told]
          sideEffect: read
          input: {list: ["${gone.x}", "b"]}
        - {id: sign, human: {ask: "Well? ${told.id} ${book.id}"}}
      """)
    try await Self.go("record p.yaml --out p.jsonl.gz", in: folder, status: nil)
    let secret = "ghp_" + "R7kQ2vXw9LmB4tYcZ1nD8sHfJ3pA6eUgK0xQ"
    try await Binary.run(
      ["answer", "p.jsonl.gz", "fine", "--by", secret], in: folder.path)
    try await Self.go("resume p.jsonl.gz", in: folder)
    let shown = try await Self.go("show p.jsonl.gz --json", in: folder)
    #expect(!shown.output.contains(secret))
    let told = try shown.jsonLines().first {
      $0["type"] == "task_started" && $0["data"]?["task"] == "told"
    }
    #expect(told?["data"]?["input"] == ["list": [nil, "b"]])
    try folder.write(
      "case.yaml",
      """
      caseId: a
      recording: p.jsonl.gz
      expected: {tasks: {notRan: [refund]}}
      """)
    try await Self.go("run case.yaml", in: folder, status: 1)
    try folder.write(
      "case.yaml", "{caseId: a, recording: p.jsonl.gz, expected: {tasks: {ran: [refund]}}}")
    try await Self.go("run case.yaml", in: folder)
  }
}
