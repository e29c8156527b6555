import AgentTrace

/// Folds the events of a log, and holds against them what the log says of their state: in stops,
/// checkpoints, and in what events say of earlier ones. The same for whoever verifies a log and whoever
/// makes its run again.
struct RunProof {
  /// What the events so far come to.
  var state = AgentState()
  private var claims: EventClaims
  /// The number of the last event whose state the log has confirmed; `nil` for none.
  private(set) var provenThrough: Int?

  /// Nothing was folded in yet.
  ///
  /// - Parameter requiresAll: see ``EventClaims/init(requiresAll:)``.
  init(requiresAll: Bool = false) { claims = EventClaims(requiresAll: requiresAll) }

  /// What is wrong with an event as those before it have it. To be asked of each event in turn, and of
  /// all but packets before it is folded into ``state``.
  ///
  /// - Parameters:
  ///   - isWhole: whether every event before it was read. Where not, nothing can be said.
  ///   - version: the format of the log, as its first event says.
  mutating func fault(in event: Event, isWhole: Bool, version: Int) -> String? {
    let claim = claims.fault(in: event, after: state)
    guard isWhole else { return nil }
    return claim ?? Self.faultInFormat(event, version) ?? faultInStop(event)
  }

  /// Whether a stop gives a digest of another program's fold, which is not known: nothing can be said then.
  static func isIncomparable(_ event: Event) -> Bool {
    event.type == .stop && event.data["stateDigest"] != nil
      && event.data["stateFormat"]?.intValue != AgentState.format
  }

  /// States of format 2 came with logs of format 2.
  private static func faultInFormat(_ event: Event, _ version: Int) -> String? {
    guard version == 1, event.type == .stop, let format = event.data["stateFormat"]?.intValue,
      format > 1
    else { return nil }
    return
      "a state of format \(format) in a log that says it is of format 1: event 0 or this stop was changed"
  }

  private mutating func faultInStop(_ event: Event) -> String? {
    guard event.type == .stop, !Self.isIncomparable(event),
      let digest = event.data["stateDigest"]?.stringValue
    else { return nil }
    guard state.isRecorded(as: digest) else {
      return "the digest of the state before this stop is another: "
        + since(event.seq - 1, or: "the stop")
    }
    provenThrough = event.seq - 1
    return nil
  }

  /// Whether a checkpoint can be compared: another program's fold is not known.
  static func isComparable(checkpoint data: JSONValue) -> Bool {
    data["stateFormat"]?.intValue == AgentState.format
  }

  /// What is wrong with a checkpoint that stands behind so many events.
  mutating func fault(inCheckpoint data: JSONValue, behind count: Int) -> String? {
    guard Self.isComparable(checkpoint: data) else { return nil }
    let isState = [state, state.withOlderActionIds].contains { state in
      state.map {
        data["state"] == $0.encoded && data["digest"]?.stringValue == $0.digest.hex
      } ?? false
    }
    guard isState else {
      return "a checkpoint is not the state that follows from the events: "
        + since(count - 1, or: "the checkpoint")
    }
    provenThrough = count - 1
    return nil
  }

  /// Takes note that a checkpoint is the state that the events up to this number come to.
  mutating func confirm(through seq: Int) { provenThrough = seq }

  /// Among which events the fault is.
  private func since(_ last: Int, or other: String) -> String {
    let first = (provenThrough ?? -1) + 1
    return switch last - first {
    case ..<0: "\(other) was changed"
    case 0: "event \(first) or \(other) was changed"
    default: "one of the events \(first) to \(last) or \(other) was changed"
    }
  }
}
