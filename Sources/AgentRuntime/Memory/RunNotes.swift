import AgentTrace

/// The notes of a run, folded from its events: what its scope holds, and what the store may not have yet.
struct RunNotes: Sendable {
  /// The notes of the scope `run`, where the agent has a tool that looks at them.
  private(set) var notes: JSONObject = [:]
  /// The last event, where it writes a note that outlives the run: only of that it is not known whether
  /// the store has it, because nothing is recorded before the store was told of what was recorded last.
  private(set) var unconfirmed: (note: MemoryNote, seq: Int, time: String?)?
  /// The notes as they were when each call began that has no result yet: what it reads does not change by
  /// what those beside it write.
  private var notesAtStart: [String: JSONObject] = [:]
  private let keepsNotes: Bool

  init(of agent: AgentDefinition? = nil) {
    keepsNotes =
      agent?.tools.contains {
        if case .memory(let access) = $0.implementation {
          access.scopes.contains("run")
        } else {
          false
        }
      } ?? false
  }

  mutating func take(_ event: Event) {
    if event.type == .runResumed { return }
    unconfirmed = nil
    if keepsNotes, event.type == .toolStarted || event.type == .toolResult,
      let callId = event.data["callId"]?.stringValue
    {
      notesAtStart[callId] = event.type == .toolStarted ? notes : nil
    }
    guard event.type == .memoryWritten || event.type == .memoryRead,
      let note = try? MemoryNote(decoding: event.data)
    else { return }
    if note.scope == "run" {
      // What is looked up later was written before.
      guard keepsNotes, event.type == .memoryWritten || event.step == 0 else { return }
      guard notes[note.key] != nil || notes.count < MemoryLimits.notes else { return }
      notes[note.key] = note.value
    } else if event.type == .memoryWritten {
      unconfirmed = (note, event.seq, event.time)
    }
  }

  /// The notes that a call sees, whether it begins now or began before the process that runs it now.
  func notes(seenBy callId: String) -> JSONObject { notesAtStart[callId] ?? notes }
}
