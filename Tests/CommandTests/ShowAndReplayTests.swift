import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@Suite("show and replay")
struct ShowAndReplayTests {
  @Test("`show --json` prints every line of the log, marks too, as the reader has it")
  func everyLine() async throws {
    let torn = try await Fixture.torn.asyncMap { try await Binary.run(["show", $0, "--json"]) }
    let all = try await Fixture.shown + torn
    for (log, shown) in zip(Fixture.runs + Fixture.torn, all) {
      var reader = try LogReader(path: Project.path(log))
      var expected: [UInt8] = []
      while let line = try reader.nextLine() {
        switch line {
        case .event(let event): expected += event.encodedLine()
        case .mark(let mark): expected += mark.encodedLine()
        }
        expected.append(UInt8(ascii: "\n"))
      }
      #expect(shown.outputBytes == expected, "\(log)")
    }
  }

  @Test("behind damage nothing is shown, and with --skip-damaged what can be read")
  func skipDamaged() async throws {
    // Three blocks, the second of them damaged.
    let folder = try TemporaryFolder()
    let writer = try LogWriter(creating: folder.path("a.jsonl.gz"), options: .init(blockBytes: 300))
    for seq in 0..<30 {
      try writer.append(
        Event(
          seq: seq, step: 1, type: .humanReplied, runId: "r", data: ["text": .string("word \(seq)")]
        ),
        isEffectAhead: false)
    }
    _ = try writer.close()
    var bytes = try folder.read("a.jsonl.gz")
    bytes[bytes.count / 2] ^= 0x10
    try folder.write("b.jsonl.gz", bytes)
    let plain = try await Binary.run(["show", "b.jsonl.gz"], in: folder.path, status: 2)
    #expect(plain.errors.contains("b.jsonl.gz: damaged in block"))
    #expect(plain.output.contains("word 0") && !plain.output.contains("word 29"))
    let skipping = try await Binary.run(
      ["show", "b.jsonl.gz", "--skip-damaged"], in: folder.path, status: 2)
    #expect(skipping.output.contains("word 0") && skipping.output.contains("word 29"))
    #expect(skipping.output.hasPrefix(plain.output))
    #expect(skipping.errors.contains("b.jsonl.gz: damaged in block"))
  }

  /// Under which key of `replay --json` the events of each type stand.
  private static let keys = [
    "context_built": "context", "model_result": "modelResults", "decision": "decisions",
    "policy_decision": "verdicts", "approval": "approvals", "tool_started": "starts",
    "tool_result": "results", "human_replied": "replies", "stop": "stop",
  ]

  @Test("each step of a run is told alike by its number and by any of its events")
  func stepsAndEvents() async throws {
    let log = Fixture.run("refund-approved")
    let events = try await Binary.run(["show", log, "--json"]).jsonLines()
      .filter { $0["seq"] != nil }
    let steps = Set(events.compactMap { $0["step"]?.intValue }).sorted()
    for step in steps {
      let own = events.filter { $0["step"]?.intValue == step }
      let byStep = try await Binary.run(["replay", log, "--step", "\(step)", "--json"])
      for seq in own.compactMap({ $0["seq"]?.intValue }) {
        let byEvent = try await Binary.run(["replay", log, "--event", "\(seq)"])
        let told = try await Binary.run(["replay", log, "--step", "\(step)"])
        #expect(byEvent.outputBytes == told.outputBytes, "event \(seq)")
      }
      let replay = try byStep.json()
      #expect(replay["step"]?.intValue == step)
      for (type, key) in Self.keys {
        let expected = own.filter { $0["type"]?.stringValue == type }
        let told = replay[key]?.arrayValue ?? []
        #expect(told.map { $0["seq"] } == expected.map { $0["seq"] }, "\(type) of step \(step)")
      }
    }
    #expect(steps.count == 4)
  }

  @Test("the state of the last step has the digest that the stop recorded, or the one after it")
  func stateDigest() async throws {
    let lines = try await Binary.run(["show", Fixture.run("refund-approved"), "--json"]).jsonLines()
    let steps = lines.compactMap { $0["step"]?.intValue }.max() ?? 0
    let replay = try await Binary.run(
      ["replay", Fixture.run("refund-approved"), "--step", "\(steps)", "--json"]
    ).json()
    var state = AgentState()
    var reader = try LogReader(path: Fixture.run("refund-approved"))
    while let event = try reader.next() { state.apply(event) }
    let text = CanonicalJSON.string(replay, form: .plain)
    #expect(text.contains(state.digest.hex))
  }

  @Test("a torn log is shown and replayed up to its tear, and beyond it nothing is made up")
  func torn() async throws {
    let log = "Fixtures/torn/parallel-search.jsonl.gz"
    for name in [log, log + ".open"] {
      let shown = try await Binary.run(["show", name])
      #expect(shown.errors.contains("torn at byte"))
      #expect(shown.output.contains("step 2") && !shown.output.contains("answer"))
    }
    try await Binary.run(["replay", log, "--step", "2"])
    let beyond = try await Binary.run(["replay", log, "--step", "3"], status: 2)
    #expect(beyond.errors.contains("the log holds steps 0 to 2"))
    let event = try await Binary.run(["replay", log, "--event", "14"], status: 2)
    #expect(event.errors.contains("the log holds events 0 to 13"))
  }
}

@Suite("A log that is cut")
struct CutLogTests {
  @Test(
    "a log cut at any byte shows exactly the whole lines before the cut", .timeLimit(.minutes(5)))
  func everyCut() async throws {
    let log = Fixture.run(TestRun.isLong ? "refund-approved" : "blocked-without-person")
    let whole = try folderBytes(log)
    let lines = try await Binary.run(["show", log, "--json"]).lines
    let folder = try TemporaryFolder()
    var counts: Set<Int> = []
    for cut in 0..<whole.count {
      let path = try folder.write("cut-\(cut).jsonl.gz.open", whole.prefix(cut))
      var reader = try LogReader(path: path)
      var count = 0
      while let line = try reader.nextLine() {
        let bytes =
          switch line {
          case .event(let event): event.encodedLine()
          case .mark(let mark): mark.encodedLine()
          }
        if count >= lines.count || !lines[count].utf8.elementsEqual(bytes) {
          Issue.record("cut at \(cut): line \(count) is another")
        }
        count += 1
      }
      if count < (counts.max() ?? 0) { Issue.record("cut at \(cut): fewer lines than before") }
      counts.insert(count)
      try folder.write("cut-\(cut).jsonl.gz.open", [])
    }
    // Every line came to be the last one at some cut, and none was missed.
    #expect(counts == Set(0...lines.count))
  }

  @Test(
    "and so through the program, which calls it unfinished and no failure", .timeLimit(.minutes(15))
  )
  func throughTheProgram() async throws {
    let whole = try folderBytes(Fixture.run("parallel-search"))
    let lines = try await Binary.run(["show", Fixture.run("parallel-search"), "--json"]).lines
    var generator = Seeded(seed: 2)
    let cuts =
      TestRun.isLong
      ? Array(0..<whole.count)
      : (0..<40).map { _ in Int.random(in: 0..<whole.count, using: &generator) }
    let folder = try TemporaryFolder()
    for cut in cuts {
      try folder.write("cut.jsonl.gz.open", whole.prefix(cut))
      let shown = try await Binary.run(["show", "cut.jsonl.gz", "--json"], in: folder.path)
      #expect(shown.lines == Array(lines.prefix(shown.lines.count)), "cut at \(cut)")
      #expect(shown.errors.contains("note: the log is unfinished"), "cut at \(cut)\n\(shown)")
    }
  }

  private func folderBytes(_ path: String) throws -> [UInt8] {
    try Array(Data(contentsOf: URL(fileURLWithPath: path)))
  }
}
