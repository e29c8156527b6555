import AgentTrace
import TestSupport
import Testing

@Suite("Pipelines that go on as others, and texts that name nothing")
struct PipelineChangeTests {
  private static let tasks = """
      - {id: first, command: [echo, "1"], sideEffect: read}
      - id: end
        command: [cat]
        sideEffect: read
    """

  @Test(
    "a pipeline that waited for a person, and goes on as one that asks nobody, ends",
    arguments: [
      "", "- {id: sign, command: [echo, '{\"by\": 1}'], sideEffect: read}",
      "- {id: sign, human: {ask: \"Other?\"}}",
    ])
  func withdrawn(_ changed: String) async throws {
    for isAnswered in [false, true] {
      let folder = try TemporaryFolder()
      func write(_ sign: String) throws {
        try folder.write(
          "p.yaml", "pipeline: p\ntasks:\n\(Self.tasks)\n" + (sign.isEmpty ? "" : "  \(sign)\n"))
      }
      try write("- {id: sign, human: {ask: \"Well?\"}}")
      try await Binary.run(["record", "p.yaml", "--out", "p.jsonl.gz"], in: folder.path, status: 1)
      if isAnswered {
        try await Binary.run(["approve", "p.jsonl.gz", "sign", "--by", "ana"], in: folder.path)
      }
      try write(changed)
      let isAsked = changed.contains("human")
      let resumed = try await Binary.run(
        ["resume", "p.jsonl.gz", "--agent", "p.yaml", "--accept-changes"], in: folder.path,
        status: isAsked ? 1 : 0)
      #expect(resumed.output.contains(isAsked ? "Other?" : "success"), "\(resumed)")
      if isAsked {
        try await Binary.run(["approve", "p.jsonl.gz", "sign", "--by", "ana"], in: folder.path)
        try await Binary.run(["resume", "p.jsonl.gz", "--agent", "p.yaml"], in: folder.path)
      }
      try await Binary.run(["verify", "p.jsonl.gz"], in: folder.path)
    }
  }

  @Test("what may have happened is still to be said where its task is gone")
  func doubt() async throws {
    let folder = try TemporaryFolder()
    _ = try folder.script("fail.sh", "exit 3")
    try folder.write("p.yaml", "pipeline: p\ntasks:\n  - {id: pay, command: [./fail.sh]}\n")
    try await Binary.run(["record", "p.yaml", "--out", "p.jsonl.gz"], in: folder.path, status: 1)
    try folder.write(
      "p.yaml", "pipeline: p\ntasks:\n  - {id: other, command: [echo, '1'], sideEffect: read}\n")
    let words = ["resume", "p.jsonl.gz", "--agent", "p.yaml", "--accept-changes"]
    let resumed = try await Binary.run(words, in: folder.path, status: 1)
    #expect(resumed.output.contains("unknown_effect"), "\(resumed)")
    try await Binary.run(
      ["approve", "p.jsonl.gz", "pay", "--by", "ana", "--happened"], in: folder.path)
    try await Binary.run(["resume", "p.jsonl.gz", "--agent", "p.yaml"], in: folder.path)
  }

  @Test("$${ is a plain ${ wherever a pipeline’s file has places")
  func plain() async throws {
    let folder = try TemporaryFolder()
    _ = try folder.script("undo.sh", "printf '%s\\n' \"$@\" >undone.txt; echo null")
    try folder.write(
      "p.yaml",
      """
      pipeline: p
      input: {default: {x: "${output.id} $${x}"}}
      tasks:
        - id: shell
          command: [sh, -c, 'X=1; echo "{\\"id\\": \\"$${X}\\"}"']
          input: {a: "$${shell}", b: ["$${item} ${input.x}"]}
          sideEffect: write
          compensate: {command: [./undo.sh, "$${output.id}", "${output.id}", "${input.x}", "a $${X} ${input.x}"]}
        - id: book
          command: [echo, "1"]
          compensate: {command: [sh, -c, "printf '%s\\n' \\"$0\\" $${#0} >booked.txt; echo null", "${input.x}"]}
        - {id: sign, human: {ask: "Say $${shell}?", show: ["$${a.b} ${shell.id}"]}}
      edges: [[shell, sign], [book, sign]]
      """)
    let checked = try await Binary.run(["check", "p.yaml"], in: folder.path, status: nil)
    #expect(!checked.output.contains("error"), "\(checked)")
    try await Binary.run(["record", "p.yaml", "--out", "p.jsonl.gz"], in: folder.path, status: 1)
    let events = try await Binary.run(["show", "p.jsonl.gz", "--json"], in: folder.path).jsonLines()
    let started = events.first { $0["data"]?["task"] == "shell" }?["data"]
    #expect(started?["input"] == ["a": "${shell}", "b": ["${item} ${output.id} $${x}"]])
    let asked = events.first { $0["type"] == "task_asked" }?["data"]
    #expect(asked?["question"] == "Say ${shell}?")
    #expect(asked?["show"]?[0]?.stringValue?.hasPrefix("${a.b} 1") == true, "\(asked ?? .null)")
    try await Binary.run(
      ["replay", "p.jsonl.gz", "--reexecute", "--agent", "p.yaml"], in: folder.path)
    try await Binary.run(["rollback", "p.jsonl.gz", "--to", "start"], in: folder.path)
    let undone = folder.text("undone.txt")?.split(separator: "\n").map(String.init) ?? []
    #expect(undone.first == "${output.id}")
    #expect(undone.dropFirst().first == "1", "\(undone)")
    #expect(undone.dropFirst(2) == ["${output.id} $${x}", "a ${X} ${output.id} $${x}"])
    #expect(folder.text("booked.txt")?.hasPrefix("${output.id} $${x}\n") == true)
  }

  @Test(
    "a name that no task has, and that looks like a shell’s, is told with how to write it plainly")
  func hint() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      "{pipeline: p, tasks: [{id: a, command: [sh, -c, 'echo ${HOME}'], sideEffect: read}]}")
    let checked = try await Binary.run(["check", "p.yaml"], in: folder.path, status: nil)
    #expect((checked.output + checked.errors).contains("write $${HOME}"), "\(checked)")
  }
}
