public import AgentRuntime
public import AgentTrace
public import EvalLoading
public import TraceStorage

/// A pipeline that stands still, and what it waits for.
public struct WaitingPipeline: Sendable {
  /// The log's path.
  public let log: String
  /// Where it stands.
  public let state: PipelineState
  /// What each question was.
  public let questions: [TaskAsked]
  private let isClosed: Bool
  /// How many pipelines it stands in, as far as it was read from them.
  var depth = 0
  /// The log that was named for it: its own, or that of a pipeline around it.
  var root: String
  /// What leads to its tasks from the pipeline of that log: `letters[0]/`; empty for its own.
  var prefix = ""

  /// Whether a log is a pipeline's.
  ///
  /// - Throws: `LogError` where it cannot be read.
  public static func isPipeline(_ log: String) throws -> Bool {
    var reader = try LogReader(path: log)
    guard let first = try reader.next(), first.type == .runStarted else { return false }
    return first.beginsPipelineAlone
  }

  /// Reads a log.
  ///
  /// - Throws: `LogError` where it cannot be read.
  public init(log: String) throws {
    var reader = try LogReader(path: log)
    var state = PipelineState()
    var asked: [TaskNode: TaskAsked] = [:]
    while let event = try reader.next() {
      state.apply(event)
      if event.type == .taskAsked, let question = try? TaskAsked(decoding: event.data) {
        asked[question.node] = question
      }
    }
    isClosed = reader.ending == .closed
    self.log = log
    root = log
    self.state = state
    questions = state.questions.compactMap { asked[$0.node] }
  }

  /// The start of a run, for finding its pipeline's file.
  ///
  /// - Throws: `LogError` where it cannot be read.
  public static func file(of log: String) throws -> (name: String, digest: String?) {
    var reader = try LogReader(path: log)
    guard let first = try reader.next() else { return ("", nil) }
    let agent = first.data["agent"]
    return (agent?["name"]?.stringValue ?? "", agent?["digest"]?.stringValue)
  }

  /// The pipeline file that a log was recorded with, among those that were found.
  ///
  /// - Throws: `LogError` where the log cannot be read; `AgentSearchError`.
  public static func definitionFile(
    of log: String, among search: AgentSearch
  ) throws -> String {
    let recorded = try file(of: log)
    return try search.path(ofAgent: recorded.name, digest: recorded.digest)
  }

  /// Writes what a person says about a task to the log, behind its stop.
  ///
  /// - Parameters:
  ///   - name: the task, or one element of it as in `refactor[3]`.
  ///   - secrets: what is withheld of what is said, beside what has the form of a credential.
  ///   - redaction: what else is, as the pipeline's file says.
  ///   - moment: makes the event's time, from the microseconds of active run time.
  /// - Returns: the event that was written.
  /// - Throws: ``PipelineError`` where nothing of the kind waits; `LogError`.
  public func record(
    _ word: TaskAnswered.Word, about name: String?, data: JSONValue? = nil, by: String,
    reason: String? = nil, options: LogWriter.Options = .init(),
    secrets: RunSecrets = RunSecrets(), redaction: RedactionSettings = RedactionSettings(),
    at moment: (Int) -> ClockReading
  ) throws -> Event {
    let redactor = Redactor(redaction, secrets)
    let payload = try payload(
      word, name, data.map { redactor.redacted($0) }, redactor.redacted(by),
      reason.map { redactor.redacted($0) })
    guard state.stop != nil, isClosed else {
      throw PipelineError(
        "\(log) does not stand still; pause it first: agent-eval pause \(root)")
    }
    if let data, data.depth > 64 || data.isLarger(thanBytes: 1 << 20) {
      throw PipelineError(
        "what was said is larger than 1 MiB, holds too many values or nests too deep")
    }
    let (writer, reopened) = try LogWriter.reopening(log, options: options)
    guard reopened.nextSeq == state.nextSeq else {
      _ = try writer.close()
      throw PipelineError("\(log) has changed meanwhile; say it again")
    }
    let moment = moment(state.elapsedMicroseconds)
    let event = Event(
      seq: reopened.nextSeq, step: 1, type: payload.type, runId: state.runId, time: moment.time,
      t: max(moment.t, state.elapsedMicroseconds), data: payload.encoded)
    try writer.append(event, isEffectAhead: false)
    _ = try writer.close()
    return event
  }

  private func payload(
    _ word: TaskAnswered.Word, _ name: String?, _ data: JSONValue?, _ by: String,
    _ reason: String?
  ) throws(PipelineError) -> EventPayload {
    if let current = state.rollback?.current, state.rollback?.error != nil,
      name.map({ TaskNode($0) == current.node }) ?? false,
      // Whether it happened at all is said first; then undoing it is tried again with what is known.
      !questions.contains(where: { $0.node == current.node && $0.why == .doubt })
    {
      guard word == .happened else {
        throw PipelineError(
          "undoing \(told(current.node)) failed; say --happened once it is undone by hand, or resume to try again"
        )
      }
      return .pipeline(
        .compensationFinished(
          CompensationFinished(node: current.node, of: current.of, attempt: 0, by: by)))
    }
    let question = try question(name)
    guard Self.isAnswer(word, to: question.why) else {
      throw PipelineError(
        "\(told(question.node)) waits for another word: \(Self.words(for: question.why))")
    }
    return .pipeline(
      .answered(TaskAnswered(node: question.node, word: word, data: data, by: by, reason: reason)))
  }

  private func question(_ name: String?) throws(PipelineError) -> TaskAsked {
    guard !questions.isEmpty else {
      let next = state.stop?.isFinal == false ? "; go on with: agent-eval resume \(root)" : ""
      throw PipelineError("nothing waits for a person in \(log)\(next)")
    }
    guard let name else {
      guard questions.count == 1, let only = questions.first else {
        throw PipelineError(
          "several tasks wait: \(list(questions)); say which of them, with --task where it is answered"
        )
      }
      return only
    }
    let node = TaskNode(name)
    let found = questions.filter {
      $0.node == node || node.element == nil && $0.node.task.hasSameUTF8(as: name)
    }
    guard let first = found.first else {
      let open = (try? open())?.map { prefix + $0.name }
      guard open?.isEmpty != true else {
        throw PipelineError(
          "\(prefix)\(name) does not wait for a person, and nothing else does; "
            + "go on with: agent-eval resume \(root)")
      }
      throw PipelineError(
        "\(prefix)\(name) does not wait for a person; \(open.map(list) ?? list(questions)) does")
    }
    guard found.count == 1 || first.node == node else {
      throw PipelineError("several elements wait: \(list(found)); say which")
    }
    return first
  }

  /// A task as it is named for the log that was named.
  func told(_ node: TaskNode) -> String { "\(prefix)\(node)" }

  private func list(_ questions: [TaskAsked]) -> String { list(questions.map { told($0.node) }) }

  private func list(_ names: [String]) -> String {
    names.prefix(10).joined(separator: ", ")
      + (names.count > 10 ? " and \(names.count - 10) more" : "")
  }

  private static func isAnswer(_ word: TaskAnswered.Word, to why: TaskAsked.Why) -> Bool {
    switch (why, word) {
    // What was said to the run of a task stands in that run's log.
    case (.run, _): false
    case (_, .denied), (_, .skipped): true
    case (.human, .granted), (.human, .answered): true
    case (.failed, .granted), (.failed, .answered), (.failed, .happened): true
    case (.doubt, .happened), (.doubt, .didNotHappen): true
    case (.again, .granted): true
    default: false
    }
  }

  private static func words(for why: TaskAsked.Why) -> String {
    switch why {
    case .human: "approve, approve --deny, or answer TEXT"
    case .failed:
      "approve (try again), approve --deny, approve --happened --data JSON, or answer TEXT"
    case .doubt: "approve --happened, --did-not-happen or --deny"
    case .again: "approve, or approve --deny"
    case .run: "its own run waits; approve or answer that"
    }
  }
}

/// Why a pipeline cannot be run, paused or looked at as asked, or a person's word to it was not taken.
public struct PipelineError: Error, Sendable, Hashable, CustomStringConvertible {
  /// In words.
  public var description: String

  init(_ description: String) { self.description = description }
}
