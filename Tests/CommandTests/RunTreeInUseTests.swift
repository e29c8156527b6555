import AgentTrace
import Foundation
import TestSupport
import Testing

/// Two processes and one tree of runs.
@Suite("A run that another process goes on with is left alone")
struct RunTreeInUseTests {
  /// An agent that asks a person, and then calls what pays and waits for the file `go`.
  private static let payer = """
    name: payer
    tools:
      - name: pay
        sideEffect: draft
        timeoutSeconds: 60
        command: [/bin/sh, -c, "echo pay >>effects.txt; until [ -e go ]; do sleep 0.05; done; echo 1"]
    model:
      script:
        - ask: Sure?
        - call: {tool: pay, input: {n: 1}}
        - answer: '{"done": true}'
    """

  private static func makeFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("payer.yaml", payer)
    try folder.write(
      "p.yaml",
      """
      pipeline: p
      tasks:
        - id: draft
          agent: payer.yaml
          input: {goal: Pay}
          idempotent: true
          retry: {max: 1}
        - {id: end, command: [cat], input: {done: "${draft.answer.done}"}, sideEffect: read}
      """)
    try folder.write(
      "q.yaml",
      """
      pipeline: q
      tasks:
        - {id: draft, agent: payer.yaml, input: {goal: Pay}}
        - id: slow
          command: [/bin/sh, -c, "echo slow >>effects.txt; until [ -e go ]; do sleep 0.05; done; echo 1"]
          sideEffect: read
      """)
    try folder.write(
      "outer.yaml",
      """
      pipeline: outer
      tasks:
        - {id: inner, pipeline: p.yaml, idempotent: false}
      """)
    try folder.write(
      "boss.yaml",
      """
      name: boss
      tools:
        - {name: payer, description: Pays., agent: payer.yaml}
      model:
        script:
          - call: {tool: payer, input: {task: Pay}}
          - answer: Done.
      """)
    return folder
  }

  private static func go(
    _ line: String, in folder: TemporaryFolder, status: Int32? = 0
  ) async throws -> Command.Outcome {
    try await Binary.run(
      line.split(separator: " ").map(String.init), in: folder.path, status: status)
  }

  /// Begins something that calls what waits for the file `go`, and lets it go on once the body is through.
  private static func during(
    _ line: String, in folder: TemporaryFolder, effects: String = "pay\n",
    _ body: () async throws -> Void
  ) async throws -> Command.Outcome {
    let other = Task { try await go(line, in: folder, status: nil) }
    #expect(await eventually(withinSeconds: 30) { folder.text("effects.txt") == effects })
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    try folder.write("go", "")
    let outcome = try await other.value
    try result.get()
    return outcome
  }

  /// The log of the run whose agent is the payer, or whose name this is.
  private static func child(_ name: String = "payer", in folder: TemporaryFolder) async throws
    -> String
  {
    for path in try Self.logs(in: folder) where path.contains(".jsonl.gz") {
      let events = try await go("show \(path) --json", in: folder).jsonLines()
      if events.first?["data"]?["agent"]?["name"]?.stringValue == name {
        return path.hasSuffix(".open") ? String(path.dropLast(5)) : path
      }
    }
    Issue.record("there is no log of \(name)")
    return ""
  }

  private static func logs(in folder: TemporaryFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path("o")).sorted()
      .filter { $0.contains(".jsonl.gz") }.map { "o/\($0)" }
  }

  private static func eventCount(_ log: String, in folder: TemporaryFolder) async throws -> Int {
    // What tells of blocks is no event.
    try await go("show \(log) --json", in: folder).jsonLines().count { $0["type"] != nil }
  }

  @Test(
    "a pipeline whose task's run is gone on with elsewhere is neither resumed nor rolled back, at any depth",
    arguments: ["p", "outer"])
  func below(_ name: String) async throws {
    let folder = try Self.makeFolder()
    let log = "o/\(name).jsonl.gz"
    _ = try await Self.go("record \(name).yaml --out \(log)", in: folder, status: 1)
    let task = name == "p" ? "draft" : "inner/draft"
    _ = try await Self.go("answer \(log) yes --task \(task)", in: folder)
    let child = try await Self.child(in: folder)
    let count = try await Self.eventCount(log, in: folder)
    let other = try await Self.during("resume \(child)", in: folder) {
      for verb in ["resume \(log)", "rollback \(log) --to start"] {
        let refused = try await Self.go(verb, in: folder, status: 2)
        #expect(refused.errors.contains("is writing \(child)"), "\(refused)")
        #expect(refused.errors.contains("wait until it has closed it"))
      }
      #expect(try await Self.eventCount(log, in: folder) == count)
    }
    #expect(other.status == 0)
    _ = try await Self.go("resume \(log)", in: folder)
    #expect(folder.text("effects.txt") == "pay\n")
    for path in try Self.logs(in: folder) { _ = try await Self.go("verify \(path)", in: folder) }
    let again = try await Self.go("replay \(log) --reexecute", in: folder)
    #expect(again.output.hasPrefix("faithful"))
  }

  @Test("while a pipeline is going on, the run of a task that waits is not resumed")
  func above() async throws {
    let folder = try Self.makeFolder()
    let other = try await Self.during(
      "record q.yaml --out o/q.jsonl.gz", in: folder, effects: "slow\n"
    ) {
      var log = ""
      #expect(
        await eventually(withinSeconds: 30) {
          let paths = (try? Self.logs(in: folder)) ?? []
          log = paths.first { !$0.contains("/q.") && $0.hasSuffix(".jsonl.gz") } ?? ""
          return !log.isEmpty
        })
      let refused = try await Self.go("resume \(log)", in: folder, status: 2)
      #expect(refused.errors.contains("a part of the one in o/q.jsonl.gz"), "\(refused)")
    }
    #expect(other.status == 1)
    _ = try await Self.go("answer o/q.jsonl.gz yes --task draft", in: folder)
    _ = try await Self.go("resume o/q.jsonl.gz", in: folder)
    #expect(folder.text("effects.txt") == "slow\npay\n")
  }

  @Test(
    "an agent whose sub-agent's run is gone on with elsewhere is not resumed, nor the other way round"
  )
  func agents() async throws {
    let folder = try Self.makeFolder()
    let log = "o/boss.jsonl.gz"
    _ = try await Self.go("record boss.yaml Pay --out \(log)", in: folder, status: 1)
    _ = try await Self.go("answer \(log) yes", in: folder)
    let child = try await Self.child(in: folder)
    let count = try await Self.eventCount(log, in: folder)
    _ = try await Self.during("resume \(child)", in: folder) {
      let refused = try await Self.go("resume \(log)", in: folder, status: 2)
      #expect(refused.errors.contains(child) && refused.errors.contains("is writing"), "\(refused)")
      #expect(try await Self.eventCount(log, in: folder) == count)
    }
    _ = try await Self.go("resume \(log)", in: folder)
    #expect(folder.text("effects.txt") == "pay\n")
  }
}
