import AgentRuntime
import AgentTrace

extension ToolAnswer {
  /// The answer of a tool that is not so much as tried; `nil` where nothing forbids it.
  ///
  /// - Parameters:
  ///   - words: What it was not, such as `not started`.
  ///   - limit: The microseconds that it may take.
  static func untried(
    _ words: String, within limit: Int, _ cancellation: Cancellation
  ) -> ToolAnswer? {
    if let signal = cancellation.signal {
      return ToolAnswer(result: .error("\(words): cancelled by \(signal)"), signal: signal)
    }
    return limit > 0 ? nil : ToolAnswer(result: .error("\(words): no time is left"))
  }

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
