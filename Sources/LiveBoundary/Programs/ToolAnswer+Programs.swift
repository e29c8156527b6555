import AgentRuntime
import AgentTrace

extension ToolAnswer {
  /// The answer of a tool whose program was not started: nothing was done.
  ///
  /// - Parameter signal: the run's, where there is one.
  static func notStarted(
    _ fault: ProgramFault, _ words: String, signal: String?
  ) -> ToolAnswer {
    switch fault {
    case .ended(.cancelled):
      return ToolAnswer(result: .error("not started: \(fault.words)"), signal: signal)
    case .ended: return ToolAnswer(result: .error("not started: \(fault.words)"))
    default: break
    }
    var answer = ToolAnswer(result: .error(words))
    if fault.isLackOfDescriptors { answer.machineFault = words }
    return answer
  }
}
