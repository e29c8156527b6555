import AgentTrace

extension AgentLoop {
  /// What tools may look at of the run's notes, and whose others are.
  var memoryView: MemoryView {
    var view = agent.memoryView
    view.notes = recorder.record.notes.notes
    return view
  }

  /// A note of the agent file as it is read when the run starts: as the store has it, where it does.
  func kept(_ note: MemoryNote) async -> MemoryNote {
    guard let address = try? memoryView.address(scope: note.scope, key: note.key),
      var found = await boundary.recall(address)
    else { return note }
    found.value = found.value.admitted
    var kept = found.told
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
      fault = await rememberLast() ?? fault
    }
    return fault
  }

  /// Tells the store of the last event, in case that the run ended before it could.
  func rememberUnconfirmed() async { _ = await rememberLast() }

  /// Tells the store of the note that the last event wrote, where it wrote one that outlives the run; says why it was
  /// not kept.
  private func rememberLast() async -> String? {
    guard let (note, seq, time) = recorder.record.notes.unconfirmed else { return nil }
    do throws(MemoryFault) {
      guard let address = try memoryView.address(scope: note.scope, key: note.key) else {
        return nil
      }
      var writing = MemoryWriting(
        address: address, value: note.value, runId: state.runId, seq: seq)
      writing.tags = note.tags
      writing.expires = note.expires
      writing.time = time
      return await boundary.remember(MemoryRequest(writing: writing, callId: note.callId ?? ""))
    } catch { return error.description }
  }
}
