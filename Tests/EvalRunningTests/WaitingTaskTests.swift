import AgentPipelines
import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import Synchronization
import TestSupport
import Testing
import TraceJudging
import TraceReplaying
import TraceStorage

@Suite("Tasks that wait for a person")
struct WaitingTaskTests {
  private static let agents: [String: String] = [
    "payer.yaml": """
    name: payer
    goal: begin
    tools:
      - {name: look, sideEffect: read, inputSchema: {type: object}, scripted: [{ok: 1}]}
      - {name: pay, sideEffect: write, inputSchema: {type: object}, scripted: [{ok: {paid: 5}}]}
    model:
      script: [{call: {tool: look, input: {}}}, {call: {tool: pay, input: {amount: 5}}}, {answer: paid}]
    """,
    "asker.yaml": """
    name: asker
    goal: begin
    model: {script: [{ask: Which order?}, {answer: thanks}]}
    """,
    "boss.yaml": """
    name: boss
    goal: begin
    tools: [{agent: payer.yaml, name: ask_payer}]
    model: {script: [{call: {tool: ask_payer, input: {task: pay}}}, {answer: it is paid}]}
    """,
  ]

  private static let pipeline = """
    pipeline: wait
    concurrency: 1
    tasks:
      - {id: first, command: [look], sideEffect: read}
      - {id: desk, agent: payer.yaml, input: {x: "${first.by}"}}
      - {id: ask, agent: asker.yaml, input: {x: "${first.by}"}}
      - {id: last, command: [look], input: {a: "${desk.answer}", b: "${ask.answer}"}, sideEffect: read}
    """

  /// Every event of a life, with the file that it stands in, in the order in which they were kept.
  private final class Order: Sendable {
    private let events = Mutex<[(file: String, event: Event)]>([])
    func add(_ file: String, _ event: Event) { events.withLock { $0.append((file, event)) } }
    var all: [(file: String, event: Event)] { events.withLock { $0 } }
  }

  private struct Life {
    let world: PipelineWorld
    let folder: String
    let order = Order()
    var log: String { "\(folder)/pipeline.jsonl.gz" }

    init(_ world: PipelineWorld, _ folder: String) {
      self.world = world
      self.folder = folder
    }

    private func means(seed: Int) -> PipelineMeans {
      var means = PipelineWorld.means(seed: seed)
      means.observeTask = { [order] _, event in order.add("\(event.runId).jsonl.gz", event) }
      return means
    }

    func begin() async throws {
      _ = try await PipelineRecording(
        of: world.definition,
        PipelineRecording.Request(input: ["list": []], files: RunFiles(output: log)),
        means(seed: 1), observe: { [order] in order.add("pipeline.jsonl.gz", $0) })
    }

    func resume(seed: Int) async throws -> PipelineRecording {
      try await PipelineRecording(
        resuming: log, with: world.definition, means(seed: seed),
        observe: { [order] in order.add("pipeline.jsonl.gz", $0) })
    }

    /// Says everything that is waited for.
    func answer() throws {
      let moment: (Int) -> AgentRuntime.ClockReading = {
        FixedClock(elapsedMicroseconds: $0).reading()
      }
      while let open = try WaitingPipeline(log: log).open().first {
        let waiting = try WaitingPipeline(log: log)
        if open.isQuestion {
          let run = try #require(try waiting.asking(task: open.name))
          let event = try run.record(answer: "4711", by: "bo", secrets: RunSecrets(), at: moment)
          order.add("\(event.runId).jsonl.gz", event)
        } else {
          let place = try #require(try waiting.run(of: open.name))
          let run = try place.tree.run(of: place.call)
          let reason = run.run.calls.first { $0.call.callId == run.call }?.reason
          // What was begun and cut off has happened.
          let word: SpokenWord = reason == .unknownEffect ? .happened(["paid": 5]) : .granted
          let event = try run.run.record(
            word, about: run.call, by: "ana", scope: .calls(1), secrets: RunSecrets(), at: moment)
          order.add("\(event.runId).jsonl.gz", event)
        }
      }
    }

    /// Goes on until the pipeline is over.
    func toItsEnd() async throws -> PipelineState {
      for seed in 100..<112 {
        let recording = try await resume(seed: seed)
        if recording.state.stop?.isFinal ?? false { return recording.state }
        try answer()
      }
      Issue.record("it never ended")
      return PipelineState()
    }
  }

  /// What has to hold of a life, however it went.
  private static func check(
    _ life: Life, _ state: PipelineState, _ wanted: JSONObject, _ what: String
  )
    async throws
  {
    #expect(state.result == wanted, "\(what)")
    var report = LogVerifier.verify(path: life.log)
    report.checkTaskRuns()
    #expect(report.status == .whole && report.findings.isEmpty, "\(what): \(report.findings)")
    let made = try await PipelineRecording.reexecution(of: life.log, by: life.world.definition)
    #expect(made.divergence == nil, "\(what): \(made.divergence.map { "\($0)" } ?? "")")
    for name in try FileManager.default.contentsOfDirectory(atPath: life.folder)
    where name.hasSuffix(".jsonl.gz") && name != "pipeline.jsonl.gz" {
      let events = try Fixture.events("\(life.folder)/\(name)")
      func count(_ type: EventType, _ key: String, _ value: JSONValue) -> Int {
        events.count { $0.type == type && $0.data[key] == value }
      }
      // Nothing is done twice, and nobody is asked twice.
      #expect(count(.toolStarted, "tool", "pay") <= 1, "\(what)")
      #expect(count(.policyDecision, "status", "approval_required") <= 1, "\(what)")
      #expect(count(.decision, "kind", "ask_human") <= 1, "\(what)")
    }
  }

  private static func folder(_ world: PipelineWorld, _ name: String) throws -> String {
    let path = world.folder.path(name)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  @Test("a held call and a question pause the pipeline; what is said is acted on once")
  func pauses() async throws {
    let world = try PipelineWorld(Self.pipeline, agents: Self.agents)
    let life = Life(world, try Self.folder(world, "life"))
    try await life.begin()
    let waiting = try WaitingPipeline(log: life.log)
    #expect(waiting.state.stop?.reason == "blocked" && waiting.state.stop?.isFinal == false)
    #expect(try waiting.open().map(\.name) == ["desk/2.1.0", "ask"])
    // Who goes on before anything was said asks nobody again.
    let before = try Fixture.events(life.log).count
    let again = try await life.resume(seed: 50)
    #expect(again.state.stop?.reason == "blocked")
    #expect(try Fixture.events(life.log).count == before + 2)
    try life.answer()
    // All is said: who would say more is told what comes next.
    let said = try WaitingPipeline(log: life.log)
    for name in ["desk", "ask", "nothing"] {
      var told = ""
      do {
        _ = try said.run(of: name)
        _ = try said.record(
          .granted, about: name, by: "ana",
          at: { FixedClock(elapsedMicroseconds: $0).reading() })
      } catch { told = "\(error)" }
      #expect(told.contains("go on with: agent-eval resume \(life.log)"), "\(told)")
    }
    let state = try await life.toItsEnd()
    #expect(state.stop?.reason == "success")
    try await Self.check(life, state, state.result, "undisturbed")
    #expect(
      try await PipelineWorld.outcome(
        life.log, ["toolsCalled": [["tool": "pay", "caller": "desk", "status": "ok", "times": 1]]])
        == .pass)
    #expect(try await PipelineWorld.outcome(life.log, ["toolsNotCalled": ["rm"]]) == .pass)
    #expect(
      try await PipelineWorld.outcome(life.log, ["tasks": ["attempts": ["desk": 1]]]) == .pass)
  }

  @Test(
    "killed behind any event, a pipeline whose tasks wait goes on to the same end, and does nothing twice"
  )
  func killed() async throws {
    let world = try PipelineWorld(Self.pipeline, agents: Self.agents)
    let whole = Life(world, try Self.folder(world, "whole"))
    try await whole.begin()
    try whole.answer()
    let wanted = try await whole.toItsEnd().result
    let order = whole.order.all
    #expect(order.count > 45)
    for cut in 1..<order.count {
      let life = Life(world, try Self.folder(world, "cut\(cut)"))
      try Self.write(cut, of: whole, to: life.folder)
      let state = try await life.toItsEnd()
      try await Self.check(life, state, wanted, "cut behind \(cut): \(order[cut - 1].event.type)")
    }
  }

  /// Writes the first events of a life as a process leaves them that is killed there.
  private static func write(_ cut: Int, of life: Life, to folder: String) throws {
    var files: [String: [Event]] = [:]
    for (file, event) in life.order.all.prefix(cut) { files[file, default: []].append(event) }
    for (file, events) in files {
      let whole = life.order.all.filter { $0.file == file }
      guard events.count < whole.count || file == "pipeline.jsonl.gz" else {
        // Its seal is the one that the pipeline saw.
        try FileManager.default.copyItem(
          atPath: "\(life.folder)/\(file)", toPath: "\(folder)/\(file)")
        continue
      }
      let writer = try LogWriter(creating: "\(folder)/\(file)")
      for event in events { try writer.append(event, isEffectAhead: true) }
      // A person's word is written to a log that is closed, and leaves it so.
      let last = events.last?.type
      if last == .stop || last == .approval || last == .humanReplied { _ = try writer.close() }
    }
  }

  @Test(
    "an agent below a task's agent that waits makes the pipeline wait, and is reached from its log")
  func below() async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks: [{id: chief, agent: boss.yaml}]\n", agents: Self.agents)
    let life = Life(world, try Self.folder(world, "life"))
    try await life.begin()
    #expect(try WaitingPipeline(log: life.log).open().map(\.name) == ["chief/1.1.0/2.1.0"])
    for name in ["pay", "chief/pay", "chief", "chief/1.1.0/2.1.0"] {
      let place = try #require(try WaitingPipeline(log: life.log).run(of: name))
      #expect(try place.tree.run(of: place.call).run.started.agentName == "payer")
    }
    let state = try await life.toItsEnd()
    #expect(state.stop?.reason == "success")
    try await Self.check(life, state, state.result, "below")
    #expect(
      try await PipelineWorld.outcome(
        life.log, ["toolsCalled": [["tool": "pay", "caller": "chief/ask_payer", "times": 1]]])
        == .pass)
  }

  @Test("a no to a task's run is the run's to deal with")
  func denied() async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks: [{id: desk, agent: payer.yaml}]\n", agents: Self.agents)
    let life = Life(world, try Self.folder(world, "life"))
    try await life.begin()
    let place = try #require(try WaitingPipeline(log: life.log).run(of: "desk"))
    let run = try place.tree.run(of: place.call)
    _ = try run.run.record(
      .denied, about: run.call, by: "ana", scope: .calls(1), secrets: RunSecrets(),
      at: { FixedClock(elapsedMicroseconds: $0).reading() })
    let state = try await life.toItsEnd()
    #expect(state.stop?.reason == "success")
    #expect(try await PipelineWorld.outcome(life.log, ["toolsNotCalled": ["pay"]]) == .pass)
  }
}
