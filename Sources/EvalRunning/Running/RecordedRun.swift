import AgentTrace
import TraceJudging
import TraceStorage

/// A log read for judging.
struct RecordedRun {
  var trajectory: Trajectory
  /// What expectations ask beyond that; `nil` where they ask nothing.
  var gathered: GatheredFacts?
  /// The path of the file that was read.
  var path: String
  /// The same with what ran side by side in other orders; empty where nothing did.
  var otherOrders: [(trajectory: Trajectory, gathered: GatheredFacts?)] = []
  /// What ran side by side where something expected hangs on its order, with whether the log ends too early; `nil` where
  /// nothing does.
  private var woven: (runs: SideBySideRuns?, isTorn: Bool)?
  /// What a baseline holds beyond that; nothing unless it was asked for.
  var notes = RunNotes()
  /// Of a pipeline that has no other logs beside its own: for each event of the row that is judged, the number of the
  /// event of the log that tells it. Empty where both are the same, and where the row is of several logs.
  private var logSeqs: [Int] = []
  /// `body` or `summary`: what of the log was read; `tree` where the logs of children were read with it.
  var source = "body"

  /// How much of inputs that nothing is asked of is kept, to show the calls of a failure: a run of a
  /// hundred thousand calls must not fill the memory.
  private static let shownInputLimitBytes = 256 * 1024

  /// Reads the end of a log alone, where that tells all that a judge will ask; `nil` where the body
  /// has to be read, also to say what is wrong with the file.
  init?(endOf path: String, for expectations: Expectations) {
    guard expectations.isAnsweredBySummary,
      let outline = try? LogTail.outline(
        path: path, wantsTools: { expectations.asksWhichTools(thereWereBeside: $0.calls) })
    else { return nil }
    trajectory = Trajectory(outline)
    self.path = path
    source = "summary"
  }

  /// Reads what a judge looks at: contexts and replies are passed over unread, what tools returned
  /// too, unless a matcher asks for it, and the inputs of calls until somebody asks.
  ///
  /// - Parameter expectations: what the run will be judged by; `nil` where that is not known, and all
  ///   of each event is read.
  /// - Parameter takesNotes: whether all is looked at that a baseline holds.
  /// - Throws: `LogError` where the log is damaged or is none; a torn tail of an unfinished log and
  ///   declared gaps are not errors but gaps of the trajectory.
  init(
    path: String, for expectations: Expectations? = nil, takesNotes: Bool = false
  ) throws(LogError) {
    var reader = try LogReader(path: path, options: .init(keepsLines: false))
    trajectory = Trajectory()
    self.path = reader.path
    if let expectations, !expectations.facts.isEmpty {
      try readWhole(&reader, for: expectations, takesNotes: takesNotes)
      return
    }
    if expectations?.isAnsweredBySummary == true, !takesNotes {
      trajectory.inputLimitBytes = Self.shownInputLimitBytes
    }
    // What no expectation speaks of needs no schema.
    let toolKeys: [StaticString] =
      expectations?.looksAtInputs ?? true
      ? ["idempotent", "inputSchema", "name", "sideEffect"] : ["idempotent", "name", "sideEffect"]
    let readsResults = expectations?.looksAtResults ?? true
    let readsAnswers = takesNotes || expectations?.looksAtAnswer ?? true
    while let head = try reader.advance() {
      guard case .event(let seq, _, let type) = head else { continue }
      if try Self.mayHaveChildren(reader, type) {
        try readTree(path, for: expectations, takesNotes: takesNotes)
        return
      }
      switch type {
      case .runStarted where !takesNotes:
        let event = try reader.event(
          withOnly: ["formatVersion", "recorded", "source"], list: "tools", elementKeys: toolKeys)
        if let event { trajectory.apply(event) }
      case .decision:
        if let decision = reader.decisionOutline(passesAnswers: !readsAnswers) {
          trajectory.apply(decision)
          if takesNotes { notes.apply(decision) }
        } else {
          try readEvent(&reader, takesNotes: takesNotes)
        }
      case .stop:
        // It may give another answer than the decision did.
        if !readsAnswers, let ending = reader.stopOutline() {
          trajectory.apply(ending)
        } else {
          try readEvent(&reader, takesNotes: false)
        }
      case .toolResult where readsResults:
        try readEvent(&reader, takesNotes: takesNotes)
      case .policyDecision, .toolStarted, .toolResult:
        try readNote(&reader, takesNotes: takesNotes)
      case .modelResult where takesNotes:
        trajectory.passOver(seq)
        let event = try reader.event(withOnly: ["cost", "error", "usage"])
        if let event { notes.apply(event) }
      case .runStarted, .toolsListed, .unseen, .runResumed:
        try readEvent(&reader, takesNotes: takesNotes)
      case .approval where takesNotes: try readEvent(&reader, takesNotes: true)
      default: trajectory.passOver(seq)
      }
    }
    markTorn(reader)
  }

  /// Takes in the whole of an event.
  private mutating func readEvent(
    _ reader: inout LogReader, takesNotes: Bool
  ) throws(LogError) {
    guard case .event(let event) = try reader.line() else { return }
    trajectory.apply(event)
    if takesNotes { notes.apply(event) }
  }

  /// Takes in what an event says of its call in a word.
  private mutating func readNote(_ reader: inout LogReader, takesNotes: Bool) throws(LogError) {
    guard let note = reader.callNote(), trajectory.take(note) else {
      return try readEvent(&reader, takesNotes: takesNotes)
    }
    guard takesNotes else { return }
    notes.apply(note)
    if note.type == .toolResult, notes.lacksStart(ofCall: note.callId),
      let event = try reader.event(withOnly: ["callId", "attempts"])
    {
      notes.apply(event)
    }
  }

  /// Whether other runs may be part of it: because it is a pipeline, by the tools that it began with, or because it
  /// went on with another agent file.
  ///
  /// - Parameter type: of the event that the reader has stepped to.
  private static func mayHaveChildren(
    _ reader: LogReader, _ type: EventType
  ) throws(LogError) -> Bool {
    switch type {
    case .runStarted:
      let event = try reader.event(
        withOnly: ["pipelineId", "recorded", "taskId"], list: "tools", elementKeys: ["agent"])
      // The run of a task names its task; where that is a pipeline, it says that it does not hold all calls.
      if event?.data["pipelineId"] != nil,
        event?.data["taskId"] == nil || event?.data["recorded"]?["calls"] != nil
      {
        return true
      }
      return event?.data["tools"]?.arrayValue?.contains { $0["agent"] != nil } ?? false
    case .runResumed:
      return try reader.event(withOnly: ["agentDigest"])?.data["agentDigest"] != nil
    default: return false
    }
  }

  /// Reads the run with its children, as one row of events.
  private mutating func readTree(
    _ path: String, for expectations: Expectations?, takesNotes: Bool
  ) throws(LogError) {
    (trajectory, notes) = (Trajectory(), RunNotes())
    var tree = try RunTreeReader(path: path)
    var gathered = expectations.flatMap { $0.facts.isEmpty ? nil : GatheredFacts(for: $0) }
    var seqs: [Int] = []
    // Whether the log itself is the row of a tree.
    var isRow = false
    while let entry = try tree.next() {
      isRow = isRow || entry.event.isOfChild
      trajectory.apply(entry.event)
      gathered?.apply(entry.event)
      if takesNotes { notes.apply(entry.event) }
      if trajectory.isPipeline { seqs.append(entry.seq ?? seqs.last ?? 0) }
    }
    self.gathered = gathered
    source = tree.hasChildren ? "tree" : "body"
    if !tree.hasChildren { logSeqs = seqs }
    let isTorn =
      trajectory.stop?.isFinal != true
      && (tree.ending != .closed || trajectory.stop == nil && trajectory.recorded["stop"] == nil)
    if isTorn { trajectory.markTorn() }
    guard let expectations else { return }
    for order in tree.otherOrders {
      var other = try RunTreeReader(path: path, order: order)
      var otherTrajectory = Trajectory()
      var otherFacts = expectations.facts.isEmpty ? nil : GatheredFacts(for: expectations)
      while let event = try other.next()?.event {
        otherTrajectory.apply(event)
        otherFacts?.apply(event)
      }
      if isTorn { otherTrajectory.markTorn() }
      otherOrders.append((otherTrajectory, otherFacts))
    }
    if tree.hasUnorderedEvents || isRow && !tree.hasChildren, !expectations.ordered.isEmpty {
      woven = (try SideBySideRuns(path: path), isTorn)
    }
  }

  /// Judges the run: what hangs on the order of what went side by side is left open.
  func judgement(_ expectations: Expectations, aids: Judge.Aids = Judge.Aids()) -> Judgement {
    var judgement = judgementOfRow(expectations, aids: aids)
    if !logSeqs.isEmpty {
      judgement.renumber { logSeqs.indices.contains($0) ? logSeqs[$0] : $0 }
    }
    return judgement
  }

  /// What holds however the run would have gone on behind what was recorded of it before its stop.
  func judgementWithoutEnd(
    _ expectations: Expectations, aids: Judge.Aids = Judge.Aids()
  ) -> Judgement {
    var run = self
    run.trajectory.forgetEnd()
    for index in run.otherOrders.indices { run.otherOrders[index].trajectory.forgetEnd() }
    run.woven?.isTorn = true
    return run.judgement(expectations, aids: aids)
  }

  private func judgementOfRow(_ expectations: Expectations, aids: Judge.Aids) -> Judgement {
    var judgement = Judge.judge(trajectory, gathered, against: expectations, aids: aids)
    for other in otherOrders {
      judgement.leaveOpen(
        whereOtherwise: Judge.judge(
          other.trajectory, other.gathered, against: expectations, aids: aids))
    }
    guard let woven else { return judgement }
    for ordered in expectations.ordered where judgement.isDecided(ordered) {
      guard let runs = woven.runs else {
        judgement.leaveOpen(ordered)
        continue
      }
      switch runs.orders(of: ordered) {
      case .alike: continue
      case .unknown(let open):
        guard var gathered else {
          judgement.leaveOpen(ordered)
          continue
        }
        gathered.leaveOpen(runs: open)
        judgement.leaveOpen(
          ordered,
          butFor: Judge.judge(trajectory, gathered, against: expectations, aids: aids, warns: false)
        )
      case .each(let orders):
        for order in orders where judgement.isDecided(ordered) {
          let other = Self.judgement(
            runs.row(order), isTorn: woven.isTorn, expectations, aids: aids)
          judgement.leaveOpen(ordered, whereOtherwise: other)
        }
      }
    }
    return judgement
  }

  private static func judgement(
    _ row: [Event], isTorn: Bool, _ expectations: Expectations, aids: Judge.Aids
  ) -> Judgement {
    var trajectory = Trajectory()
    var gathered = expectations.facts.isEmpty ? nil : GatheredFacts(for: expectations)
    for event in row {
      trajectory.apply(event)
      gathered?.apply(event)
    }
    if isTorn { trajectory.markTorn() }
    return Judge.judge(trajectory, gathered, against: expectations, aids: aids, warns: false)
  }

  /// Reads each event that the expectations need as it stands.
  private mutating func readWhole(
    _ reader: inout LogReader, for expectations: Expectations, takesNotes: Bool
  ) throws(LogError) {
    var gathered = GatheredFacts(for: expectations)
    let types = gathered.facts.eventTypes
    while let head = try reader.advance() {
      guard case .event(let seq, let step, let type) = head else { continue }
      if try Self.mayHaveChildren(reader, type) {
        return try readTree(path, for: expectations, takesNotes: takesNotes)
      }
      let isNoted = takesNotes && RunNotes.types.contains(type)
      let isTold = types?.contains(type) ?? true
      if !isTold {
        let t = gathered.measuresTime ? try reader.elapsedMicroseconds() : 0
        gathered.passOver(seq, step: step, t: t)
      }
      guard isNoted || isTold else {
        trajectory.passOver(seq)
        continue
      }
      guard case .event(let event) = try reader.line() else { continue }
      trajectory.apply(event)
      if isNoted { notes.apply(event) }
      if isTold { gathered.apply(event) }
    }
    self.gathered = gathered
    markTorn(reader)
  }

  private mutating func markTorn(_ reader: borrowing LogReader) {
    if Self.mayLackEnd(trajectory, reader) { trajectory.markTorn() }
  }

  /// Whether events may be missing behind the last one.
  private static func mayLackEnd(_ trajectory: Trajectory, _ reader: LogReader) -> Bool {
    // Behind a final stop nothing of the run can be missing, whatever became of the file's end.
    if trajectory.stop?.isFinal == true { return false }
    // A gap at the end of a repaired log.
    if reader.ending != .closed || reader.nextSeq > trajectory.lastSeq + 1 { return true }
    // A writer that closes a log has stopped its run; `repair` closes also what was cut off before.
    return trajectory.stop == nil && trajectory.recorded["stop"] == nil
  }
}
