import AgentRuntime
import AgentTrace
import EvalLoading
import Synchronization
import TraceJudging

/// Obtains judgements of models: those that are kept, and, where models may be asked, those that are
/// not.
final class JudgingModels: Sendable {
  private struct Asking {
    var models: [JudgeRule: ModelDefinition] = [:]
    /// Judgements that are being looked up or made, so that two cases never ask the same at once.
    var underWay: [String: Task<JudgedRubric, any Error>] = [:]
  }

  private let makeBoundary: BoundaryMaker
  private let makeClock: @Sendable () -> any RunClock
  private let cancellation: Cancellation
  /// Whether models may be asked.
  private let asks: Bool
  private let asking = Mutex(Asking())

  init(
    asks: Bool, cancellation: Cancellation, makeClock: @escaping @Sendable () -> any RunClock,
    makeBoundary: @escaping BoundaryMaker
  ) {
    self.asks = asks
    self.cancellation = cancellation
    self.makeClock = makeClock
    self.makeBoundary = makeBoundary
  }

  /// A run that is judged.
  struct Judged: Sendable {
    var runId: String
    /// The number of its last event.
    var seq: Int
  }

  /// What a rubric's model says.
  ///
  /// - Throws: ``CaseError`` where the model cannot be known, a kept judgement cannot be read, or the
  ///   model gave no usable reply: that is neither a pass nor a fail.
  func judged(
    _ rule: JudgeRule, _ question: JudgeQuestion, of run: Judged, in files: JudgementFiles
  ) async throws -> JudgedRubric {
    let model = try model(of: rule)
    let digest = question.digest(provider: model.provider, model: model.name)
    let key = "\(files.folder)/\(digest.hex)/\(rule.votes)"
    let task = asking.withLock { asking in
      if let task = asking.underWay[key] { return task }
      let task = Task {
        try await self.votes(rule, question, digest, model, of: run, in: files)
      }
      asking.underWay[key] = task
      return task
    }
    return try await task.value
  }

  private func votes(
    _ rule: JudgeRule, _ question: JudgeQuestion, _ digest: Digest, _ model: ModelDefinition,
    of run: Judged, in files: JudgementFiles
  ) async throws -> JudgedRubric {
    let names = question.statements.map(\.name)
    var votes: [JudgeVote] = []
    for vote in 1...max(1, rule.votes) {
      switch try files.find(digest, vote: vote, names: names) {
      case .vote(let kept): votes.append(kept)
      case .nothing(let path, let why):
        guard asks else {
          if let why {
            throw CaseError(reason: "judge: \(why); ask again with --judge")
          }
          return .missing(
            "No judgement of this by \(model.name) is kept in \(files.folder); "
              + "`run --judge` asks the model and keeps what it says.")
        }
        try await ask(question, digest, model, vote: vote, about: run, recordingTo: path)
        guard case .vote(let made) = try files.find(digest, vote: vote, names: names) else {
          throw CaseError(reason: "judge: \(try whyNothing(files, digest, vote, names))")
        }
        votes.append(made)
      }
    }
    return .votes(votes)
  }

  private func whyNothing(
    _ files: JudgementFiles, _ digest: Digest, _ vote: Int, _ names: [String]
  ) throws -> String {
    guard case .nothing(_, let why?) = try files.find(digest, vote: vote, names: names) else {
      return "the judgement is not there"
    }
    return why
  }

  /// Asks once and records what comes of it.
  private func ask(
    _ question: JudgeQuestion, _ digest: Digest, _ model: ModelDefinition, vote: Int,
    about run: Judged, recordingTo path: String
  ) async throws {
    var model = model
    // A script reaches nothing outside: its judgement is the same each time, byte for byte. Its n-th
    // turn is the n-th vote.
    var clock: any RunClock = makeClock()
    var identifiers: any RunIDs = RandomRunIDs()
    if case .scripted(let script) = model.implementation {
      model.implementation = .scripted(script.dropping(tries: vote - 1))
      clock = FixedClock()
      identifiers = SeededRunIDs(seed: Self.seed(digest, vote))
    }
    let names = question.statements.map(\.name)
    let agent = JudgeAgent.definition(model, names: names)
    var request = AgentRecording.Request(
      goal: .string(question.text), files: RunFiles(output: path))
    request.input = JudgementInput(asked: digest.hex, names: names, vote: vote).json
    request.parent = ParentRun(runId: run.runId, seq: run.seq, relation: JudgeAgent.relation)
    let conditions = RunConditions(
      clock: clock, identifiers: identifiers, cancellation: cancellation)
    _ = try await AgentRecording(of: agent, request, on: makeBoundary(agent, conditions))
  }

  private static func seed(_ digest: Digest, _ vote: Int) -> Int {
    let bits = digest.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int(truncatingIfNeeded: bits) &+ vote
  }

  private func model(of rule: JudgeRule) throws -> ModelDefinition {
    try asking.withLock { asking in
      if let known = asking.models[rule] { return known }
      let model = try JudgeLoader.load(rule).orThrow()
      asking.models[rule] = model
      return model
    }
  }
}
