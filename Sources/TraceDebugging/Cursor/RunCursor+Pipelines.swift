import AgentTrace

extension RunCursor {
  /// Events between two states of a pipeline that are kept, so that going back does not begin at the start.
  private static let keptEvery = 1_000

  /// Where the pipeline stands behind the selected event; `nil` where the log is no pipeline's.
  ///
  /// - Complexity: reads the events since the nearest state that is kept.
  func pipeline() throws -> PipelineState? {
    guard isPipeline else { return nil }
    let known = pipelineStates.last { $0.seq <= seq }
    var state = known?.state ?? PipelineState()
    if let known, known.seq == seq { return state }
    try scanForward(from: (known?.seq ?? -1) + 1, through: seq) { event in
      state.apply(event)
      if event.seq % Self.keptEvery == 0 { keep(state, at: event.seq) }
      return .goOn
    }
    keep(state, at: seq)
    return state
  }

  private func keep(_ state: PipelineState, at seq: Int) {
    // Of those between, the last alone: it is the one that is asked for next.
    pipelineStates.removeAll { $0.seq == seq || $0.seq % Self.keptEvery != 0 }
    let place = pipelineStates.firstIndex { $0.seq > seq } ?? pipelineStates.count
    pipelineStates.insert((seq, state), at: place)
  }
}
