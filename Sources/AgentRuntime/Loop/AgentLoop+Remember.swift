import AgentTrace

extension AgentLoop {
  /// What tools may look at of the run's notes, and whose others are.
  var memoryView: MemoryView {
    var view = agent.memoryView
    view.notes = recorder.notes.notes
    return view
  }

  /// A note of the agent file as it is read when the run starts: as the store has it, where it does.
  func kept(_ note: MemoryNote) async -> MemoryNote {
    guard let address = try? memoryView.address(scope: note.scope, key: note.key),
      let value = await boundary.recall(address)
    else { return note }
    var kept = note
    kept.value = value.admitted
    kept.source = "store"
    return kept
  }

  /// What is wrong with notes that a tool wants to write; `nil` where nothing is.
  func fault(in notes: [ToolNote]) -> String? {
    let view = memoryView
    return notes.lazy.compactMap { note in
      if case .written(let note) = note { view.fault(in: note) } else { nil }
    }.first
  }

  /// Records what a call read and wrote, each before the store is told of it; says why one was not
  /// kept.
  mutating func record(
    _ notes: some Sequence<ToolNote>, of call: ProposedCall, step: Int
  ) async throws -> String? {
    var fault: String?
    for note in notes {
      var recorded = note.note
      recorded.callId = call.callId
      recorded.value = recorded.value?.admitted
      guard case .written = note else {
        try recorder.append(.memoryRead(recorded), step: step)
        continue
      }
      try recorder.append(.memoryWritten(recorded), step: step, isEffectAhead: true)
      fault = await remember(recorded, seq: recorder.lastSeq) ?? fault
    }
    return fault
  }

  /// Tells the store of the last event, in case that the run ended before it could.
  func rememberUnconfirmed() async {
    guard let (note, seq) = recorder.notes.unconfirmed else { return }
    _ = await remember(note, seq: seq)
  }

  private func remember(_ note: MemoryNote, seq: Int) async -> String? {
    do throws(MemoryFault) {
      guard let address = try memoryView.address(scope: note.scope, key: note.key) else {
        return nil
      }
      let writing = MemoryWriting(
        address: address, value: note.value, runId: state.runId, seq: seq)
      return await boundary.remember(MemoryRequest(writing: writing, callId: note.callId ?? ""))
    } catch { return error.description }
  }
}
