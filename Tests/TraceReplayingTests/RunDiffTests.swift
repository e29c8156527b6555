import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceStorage

@testable import TraceReplaying

@Suite("Two runs beside each other")
struct RunDiffTests {
  private static func diff(
    _ left: [Event], _ right: [Event], ignoring names: [String] = []
  ) throws -> RunDiff {
    var ignored = IgnoredFields()
    for name in names {
      let isTaken = ignored.insert(name)
      #expect(isTaken)
    }
    return RunDiff(
      try ComparedRun(of: left, path: "A", ignoring: ignored),
      try ComparedRun(of: right, path: "B", ignoring: ignored))
  }

  @Test("a run is the same as itself", arguments: Fixture.all)
  func identity(fixture: Fixture) throws {
    let run = try ComparedRun(path: fixture.path)
    #expect(RunDiff(run, run).isSame)
    #expect(RunDiff(run, run).rows.count >= 3)
  }

  @Test("other ids, times and orders of parallel calls are no difference", arguments: 0..<60)
  func disguise(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let run = GeneratedRun(using: &random)
    let other = run.disguised(using: &random)
    #expect(run.events != other.events)
    let diff = try Self.diff(run.events, other.events)
    #expect(diff.isSame, "\(diff.first.map { "\($0.json)" } ?? "")")
  }

  @Test("a number that is only written in another way is no difference, a value that differs is")
  func numbers() throws {
    func run(_ token: String) throws -> [Event] {
      let number = JSONValue.number(try #require(JSONNumber(token: token)))
      return [
        Event(
          seq: 0, step: 0, type: .runStarted, runId: "r",
          data: RunStarted(
            agentName: "a", goal: "x", limits: Limits(), policyContext: PolicyContext()
          ).encoded),
        Event(
          seq: 1, step: 1, type: .decision, runId: "r",
          data: DecisionPayload(
            .tool([ProposedCall(callId: "1.1.0", name: "pay", input: ["amount": number])])
          ).encoded),
        Event(
          seq: 2, step: 1, type: .toolResult, runId: "r",
          data: ["callId": "1.1.0", "tool": "pay", "status": "ok", "data": [number]]),
      ]
    }
    #expect(try Self.diff(run("5"), run("5.0")).isSame)
    #expect(try Self.diff(run("1e2"), run("100")).isSame)
    #expect(try !Self.diff(run("9007199254740993"), run("9007199254740992")).isSame)
  }

  @Test("one change that was planted is the only difference, and the first", arguments: 0..<400)
  func planted(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(1_000 + seed))
    let run = GeneratedRun(using: &random)
    var other = run
    let plant = other.plant(seed % GeneratedRun.plants, using: &random)
    let disguised = other.disguised(using: &random)
    let diff = try Self.diff(run.events, disguised.events)
    let first = try #require(diff.first, "\(plant)")
    #expect(first.standing == plant.standing, "\(plant): \(first.json)")
    #expect(first.fields.map(\.path.description) == plant.paths, "\(plant): \(first.json)")
    // A decision more costs more.
    let others = diff.rows.filter { $0.differs && !(plant.standing == .right && $0.kind == .usage) }
    #expect(others.count == 1, "\(plant): \(diff.json())")
    if let tool = plant.tool { #expect((first.left ?? first.right)?.name == tool) }
  }

  @Test("the comparison is symmetric", arguments: 0..<100)
  func symmetry(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(5_000 + seed))
    let run = GeneratedRun(using: &random)
    var other = run
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      _ = other.plant(Int.random(in: 0..<GeneratedRun.plants, using: &random), using: &random)
    }
    let there = try Self.diff(run.events, other.events)
    let back = try Self.diff(other.events, run.events)
    #expect(there.rows.count == back.rows.count)
    for (a, b) in zip(there.rows, back.rows) {
      #expect(a.kind == b.kind && a.differs == b.differs)
      #expect(a.fields.map(\.path) == b.fields.map(\.path))
      #expect(a.fields.map { $0.left } == b.fields.map { $0.right })
      #expect(a.left?.events == b.right?.events && a.right?.events == b.left?.events)
    }
  }

  @Test(
    "a field that is ignored by name or by pointer does not count",
    arguments: [
      ["amount"], ["/input/amount"], ["/*/amount"], ["input"], ["/input"], ["/input/*"],
    ])
  func ignored(fields: [String]) throws {
    let left = GeneratedRun(decisions: [[.init(tool: "pay", input: ["amount": 1, "to": "bo"])]])
    var right = left
    right.decisions[0][0].input["amount"] = 2
    #expect(try !Self.diff(left.events, right.events).isSame)
    #expect(try Self.diff(left.events, right.events, ignoring: fields).isSame)
    #expect(try !Self.diff(left.events, right.events, ignoring: ["/input/to", "amounts"]).isSame)
  }

  @Test(
    "what is neither a name nor a pointer is refused", arguments: ["", "/a~2", "/~"])
  func refused(text: String) {
    var ignored = IgnoredFields()
    let isTaken = ignored.insert(text)
    #expect(!isTaken && ignored.isEmpty)
  }

  @Test("values beyond what is kept are compared by their digests")
  func large() throws {
    let text = String(repeating: "word ", count: 60_000)
    let left = GeneratedRun(decisions: [[.init(tool: "write", input: ["text": .string(text)])]])
    var right = left
    #expect(try Self.diff(left.events, right.events).isSame)
    right.decisions[0][0].input["text"] = .string(text + "!")
    let diff = try Self.diff(left.events, right.events)
    #expect(diff.first?.fields.map(\.path.description) == ["/input"])
    #expect(CanonicalJSON.encode(diff.json()).count < 20_000)
  }

  @Test("of two long texts, what is told begins where they differ")
  func excerpt() throws {
    let text = String(repeating: "ä", count: 20_000)
    let left = GeneratedRun(decisions: [[.init(tool: "say", input: ["text": .string(text + "1")])]])
    let right = GeneratedRun(
      decisions: [[.init(tool: "say", input: ["text": .string(text + "2")])]])
    let field = try #require(try Self.diff(left.events, right.events).first?.fields.first)
    let pieces = field.pieces(bytes: 100)
    #expect(pieces.left?.stringValue?.hasSuffix("1") == true)
    #expect(pieces.right?.stringValue?.hasSuffix("2") == true)
    #expect(pieces.from > 39_900 && pieces.left?.stringValue?.utf8.count ?? 0 < 110)
  }

  @Test("runs of very different lengths, and an empty one")
  func lengths() throws {
    let call = GeneratedRun.Call(tool: "look", input: ["n": 1])
    let long = GeneratedRun(decisions: Array(repeating: [call], count: 500))
    let short = GeneratedRun(decisions: [[call]])
    let diff = try Self.diff(long.events, short.events)
    #expect(diff.rows.count { $0.standing == .left } == 499)
    #expect(try Self.diff([], []).isSame)
    #expect(try !Self.diff([], short.events).isSame)
  }

  @Test("a torn log is compared as far as it goes; that it is the same as another nobody can tell")
  func torn() throws {
    for path in Project.files(below: "Fixtures/torn") {
      let run = try ComparedRun(path: Project.path(path))
      let diff = RunDiff(run, run)
      #expect(diff.first == nil && !diff.isSame && !diff.isTold)
      #expect(diff.notes.contains { $0.contains("torn") || $0.contains("unfinished") })
    }
    #expect(throws: LogError.self) {
      _ = try ComparedRun(path: Project.path("Fixtures/damaged/error-recovered.jsonl.gz"))
    }
  }

  @Test("10,000 calls beside 10,000 others are aligned, or fewer in a quick run")
  func many() throws {
    let count = TestRun.count(600, long: 10_000)
    var random = SeededGenerator(seed: 7)
    func run() -> GeneratedRun {
      GeneratedRun(
        decisions: (0..<count).map { _ in
          [
            .init(
              tool: "t\(Int.random(in: 0..<5, using: &random))",
              input: ["n": JSONValue(Int.random(in: 0..<9, using: &random))])
          ]
        })
    }
    let (left, right) = (run(), run())
    let diff = try Self.diff(left.events, right.events)
    #expect(diff.rows.count { $0.left != nil } == count + 1)
    #expect(diff.rows.count { $0.right != nil } == count + 1)
    #expect(diff.notes.isEmpty)
  }
}
