import AgentRuntime
import AgentTrace
import TestSupport
import TraceStorage

/// Writes events as a log; returns its path.
func writeLog(
  _ events: some Sequence<Event>, in folder: TemporaryFolder, named name: String = "run",
  closes: Bool = true
) throws -> String {
  let path = folder.path("\(name).jsonl.gz")
  let writer = try LogWriter(creating: path, options: .init(durability: .none))
  for event in events { try writer.append(event, isEffectAhead: false) }
  if closes { _ = try writer.close() }
  return path
}

/// The events of a log.
func readLog(_ path: String) throws -> [Event] {
  var reader = try LogReader(path: path)
  var events: [Event] = []
  while let event = try reader.next() { events.append(event) }
  return events
}

extension [Event] {
  /// The same with the digests in its stops that belong to its events.
  var withStateDigests: [Event] {
    var state = AgentState()
    return map { event in
      var event = event
      if event.type == .stop, event.data["stateDigest"] != nil {
        event.data["stateDigest"] = .string(state.digest.hex)
      }
      state.apply(event)
      return event
    }
  }

  /// The same with numbers from 0 on, as a log needs them.
  var renumbered: [Event] {
    enumerated().map { index, event in
      var event = event
      event.seq = index
      return event
    }
  }
}
