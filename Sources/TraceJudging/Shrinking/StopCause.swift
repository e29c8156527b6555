import AgentTrace

/// The parts of a run that made it stop as it did: without them its stop would say what nothing shows.
enum StopCause {
  /// - Returns: places in ``RunParts/parts``.
  static func parts(of run: RunParts) -> Set<Int> {
    guard let place = run.lastStop,
      let stop = try? Stop(decoding: run.events[place].data)
    else { return [] }
    let all = run.parts.indices
    switch stop.reason {
    case .budgetExhausted:
      // Every step, call and token counted.
      return Set(all)
    case .toolFailure: return failedCalls(of: run)
    case .policyDenied: return last(of: run) { verdict(of: $0, in: run, is: .deny) }
    case .approvalRequired, .blocked:
      let asked = last(of: run) { verdict(of: $0, in: run, is: .approvalRequired) }
      return asked.isEmpty ? last(of: run, where: \.isTurn) : asked
    case .invalidDecision: return lastTurns(of: run)
    case .success, .modelFailure, .cancelled: return []
    }
  }

  private static func last(
    of run: RunParts, where isSuch: (RunParts.Part) -> Bool
  ) -> Set<Int> {
    run.parts.lastIndex(where: isSuch).map { [$0] } ?? []
  }

  private static func verdict(
    of part: RunParts.Part, in run: RunParts, is status: VerdictStatus
  ) -> Bool {
    part.events.contains {
      run.events[$0].type == .policyDecision
        && run.events[$0].data["status"]?.stringValue == status.rawValue
    }
  }

  /// The calls that failed one after another at the end; refused ones between them say nothing.
  private static func failedCalls(of run: RunParts) -> Set<Int> {
    var failed: Set<Int> = []
    for (index, part) in run.parts.enumerated().reversed() where part.call != nil {
      let result = part.events.last { run.events[$0].type == .toolResult }
      switch result.flatMap({ run.events[$0].data["status"]?.stringValue }) {
      case "error"?: failed.insert(index)
      case "ok"?: return failed
      default: continue
      }
    }
    return failed
  }

  private static func lastTurns(of run: RunParts) -> Set<Int> {
    var turns: Set<Int> = []
    for (index, part) in run.parts.enumerated().reversed() {
      if part.call != nil { break }
      if part.isTurn { turns.insert(index) }
    }
    return turns
  }
}
