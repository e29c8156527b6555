import AgentRuntime
import AgentTrace

extension ToolAnswer {
  /// The answer of a tool whose program was not started: nothing was done.
  static func notStarted(_ fault: ProgramFault, _ words: String) -> ToolAnswer {
    if case .ended = fault { return ToolAnswer(result: .error("not started: \(fault.words)")) }
    var answer = ToolAnswer(result: .error(words))
    if fault.isLackOfDescriptors { answer.machineFault = words }
    return answer
  }
}
