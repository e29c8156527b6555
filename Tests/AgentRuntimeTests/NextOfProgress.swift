import AgentTrace

@testable import AgentRuntime

extension StepProgress {
  /// What the run does next, in a word. The loop looks at the parts.
  var next: Next {
    if isStopped { return .nothing }
    if step == 0 { return .notes }
    guard packet != nil else { return .context }
    guard let decision else { return reply == nil ? .model : .decision }
    switch decision {
    case .invalid: return .context
    case .askHuman: return isAnswered ? .step : .person
    case .answer: return isAnswered ? .step : .stop
    case .stop: return .stop
    case .tool(let proposed):
      if proposed.contains(where: { self[$0.callId].verdict == nil && !self[$0.callId].isOver }) {
        return .verdicts
      }
      let open = proposed.filter { !self[$0.callId].isOver }
      if open.contains(where: { self[$0.callId].lastVerdict?.status != .approvalRequired }) {
        return .results
      }
      return open.isEmpty ? .step : .approval
    }
  }

  /// What a run does next.
  enum Next: String, Hashable {
    /// It reads its notes and begins with the first step.
    case notes
    /// A packet for the model, or a stop where another try is not allowed.
    case context
    /// The model is asked.
    case model
    /// The reply is read.
    case decision
    /// Calls wait for their verdicts.
    case verdicts
    /// Calls wait for their results.
    case results
    /// Calls wait for a person.
    case approval
    /// A question waits for its answer.
    case person
    /// The next step, or a stop that the end of this one makes due.
    case step
    /// The stop that the decision asks for.
    case stop
    /// The run stands still.
    case nothing
  }
}
