import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@Suite("What the gate sees")
struct GateProofTests {
  /// Changes of either kind that are planted.
  private static let count = 100

  @Test("each of 100 planted regressions is red, and for what was planted")
  func regressions() async throws {
    let told = try await Self.plant(GateChange.regressions)
    for plant in told {
      let said = "\(plant.name), world \(plant.seed): \(plant.said)"
      #expect(plant.exitCode == 1, "\(said)")
      #expect(!plant.worse.isDisjoint(with: plant.told), "\(said)")
    }
    Self.print(told, "planted regressions, red") { $0.exitCode == 1 }
  }

  @Test("none of 100 harmless changes raises an alarm, and where nothing may change most do")
  func harmless() async throws {
    let told = try await Self.plant(GateChange.harmless)
    for plant in told {
      #expect(plant.exitCode == 0, "\(plant.name), world \(plant.seed): \(plant.said)")
      #expect(plant.kind == .same || plant.kind == .changed, "\(plant.name): \(plant.said)")
      #expect(
        plant.strictCode == (plant.kind == .changed ? 1 : 0), "\(plant.name): \(plant.said)")
    }
    for name in ["nothing", "a comment", "tags and notes", "other identifiers and times"] {
      #expect(told.filter { $0.name == name }.allSatisfy { $0.kind == .same }, "\(name)")
    }
    for name in ["another answer", "another model", "another policy", "another read instead"] {
      #expect(told.filter { $0.name == name }.allSatisfy { $0.kind == .changed }, "\(name)")
    }
    Self.print(told, "harmless changes, green") { $0.exitCode == 0 }
  }

  // MARK: Planting

  private struct Told {
    var name: String
    var seed: Int
    var exitCode: Int32
    var strictCode: Int32
    var kind: CaseComparison.Kind?
    /// What should be told as worse, and what is.
    var worse: Set<String>
    var told: Set<String>
    var said: String
  }

  /// Plants changes in turn, each into a world of its own, until there are so many.
  private static func plant(_ changes: [GateChange]) async throws -> [Told] {
    var told: [Told] = []
    var (seed, turn) = (0, 0)
    while told.count < count {
      try #require(turn < count * 5, "a change has no place in any world")
      let change = changes[turn % changes.count]
      turn += 1
      if let made = try await make(change, seed: seed) { told.append(made) }
      seed += 1
    }
    let names = Set(told.map(\.name))
    #expect(names == Set(changes.map(\.name)))
    return told
  }

  /// Makes a world, accepts it, makes the change and looks; `nil` where it has no place there.
  private static func make(_ change: GateChange, seed: Int) async throws -> Told? {
    var random = Seeded(seed: UInt64(seed) + 77)
    let folder = try TemporaryFolder()
    var world = GateWorld(using: &random)
    let isRecorded = change.inLog != nil
    try world.write(to: folder)
    if isRecorded { try await record(world, in: folder, nil, &random) }
    try accept(try await judge(folder), in: folder)
    if let edit = change.inWorld {
      guard edit(&world, &random) else { return nil }
      try world.write(to: folder)
    } else if let edit = change.inLog {
      guard try await record(world, in: folder, edit, &random) else { return nil }
    }
    let judged = try await judge(folder)
    let comparison =
      judged.results.cases.first?.comparison
      ?? judged.results.skipped.first { $0.caseId == "paid" }?.comparison
    let strict = try await judge(folder, isStrict: true)
    let isGone = judged.results.comparison?.gone.isEmpty == false
    let found = comparison?.json["differences"]?.arrayValue ?? []
    let worse = found.filter { $0["effect"] == "regression" }.compactMap { $0["kind"]?.stringValue }
    return Told(
      name: change.name, seed: seed, exitCode: judged.results.exitCode,
      strictCode: strict.results.exitCode, kind: comparison?.kind,
      worse: Set(change.worse), told: Set(isGone ? ["gone"] : worse),
      said: "\(comparison.map(\.json) ?? .null)")
  }

  /// Records the world's run, edits it, and lets the case be about it.
  @discardableResult private static func record(
    _ world: GateWorld, in folder: TemporaryFolder,
    _ edit: ((inout [Event], inout Seeded) -> Bool)?, _ random: inout Seeded
  ) async throws -> Bool {
    try world.write(to: folder)
    let judged = try await judge(folder)
    let log = try #require(judged.results.cases.first?.trials.first?.log)
    var events = try Fixture.events(log)
    if let edit, !edit(&events, &random) { return false }
    let path = folder.path("run.jsonl.gz")
    try? FileManager.default.removeItem(atPath: path)
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    for (index, event) in events.enumerated() {
      var event = event
      event.seq = index
      try writer.append(event, isEffectAhead: false)
    }
    _ = try writer.close()
    try world.write(to: folder, recording: "run.jsonl.gz")
    return true
  }

  // MARK: Judging

  private struct Judged {
    var results: EvalResults
    var cases: [EvalCase]
  }

  private static func judge(
    _ folder: TemporaryFolder, isStrict: Bool = false
  ) async throws -> Judged {
    let loaded = CaseLoader.load([folder.path("cases.yaml")])
    try #require(!loaded.diagnostics.hasErrors, "\(loaded.diagnostics)")
    var options = EvalRunner.Options(files: RunFiles(output: folder.path("made")))
    options.outlinesRuns = true
    let runner = try EvalRunner(
      options: options, cancellation: Cancellation(), makeClock: { FixedClock() },
      makeBoundary: { agent, conditions in
        AssembledBoundary(
          for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
          cancellation: conditions.cancellation)
      })
    var results = await runner.run(loaded.cases)
    var request = Baselines.Request(paths: [folder.path("cases.yaml")])
    request.isStrict = isStrict
    Baselines().compare(&results, of: loaded.cases, among: loaded.cases, request)
    return Judged(results: results, cases: loaded.cases)
  }

  private static func accept(_ judged: Judged, in folder: TemporaryFolder) throws {
    for item in Acceptance(of: judged.results, judged.cases).items {
      switch item.change {
      case .new(let bytes), .changed(_, let bytes): try BaselineFiles.write(bytes, to: item.path)
      case .none: break
      case .impossible(let reason): Issue.record("\(item.caseId): \(reason)")
      }
    }
  }

  // MARK: Figures

  private static func print(_ told: [Told], _ title: String, _ isRight: (Told) -> Bool) {
    var lines = ["\(title): \(told.count(where: isRight)) of \(told.count)"]
    for name in Set(told.map(\.name)).sorted() {
      let such = told.filter { $0.name == name }
      let changed = such.count { $0.kind == .changed }
      lines.append(
        "  \(such.count(where: isRight)) of \(such.count)  \(name)"
          + (changed > 0 ? "  (\(changed) changed)" : ""))
    }
    Swift.print(lines.joined(separator: "\n"))
  }
}
