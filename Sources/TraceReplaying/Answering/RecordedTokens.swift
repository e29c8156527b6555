import AgentRuntime
import AgentTrace
import TraceStorage

extension Redactor {
  /// How many events are looked at for the first packet: before it stand the start and notes.
  private static let eventLimit = 20_000

  /// A redactor for a run that is made from a recorded one: what the agent file holds gets the tokens
  /// that it had then, also where nobody knows the key of then.
  ///
  /// - Throws: `LogError` where the beginning of the log cannot be read.
  convenience init(
    recalling path: String, of agent: AgentDefinition, _ secrets: RunSecrets = RunSecrets(),
    values: Values, sharing parent: Redactor? = nil
  ) throws {
    self.init(agent.redaction, secrets, values: values, sharing: parent)
    _ = agent.redacted(by: self)
    guard hasWithheld else { return }
    var reader = try LogReader(path: path)
    var notes = agent.memory.makeIterator()
    for _ in 0..<Self.eventLimit {
      guard let event = try reader.next() else { return }
      switch event.type {
      case .runStarted:
        let start = Runtime.Start(goal: event.data["goal"] ?? .null, runId: event.runId)
        learn(from: .object(event.data), today: .object(agent.started(start).encoded))
      case .memoryRead:
        // What a store gave has nothing to do with what the agent file says.
        if let value = notes.next()?.value, event.data["source"] == nil {
          learn(from: event.data["value"] ?? .null, today: value)
        }
      case .contextBuilt:
        let first = event.data["prompt"]?["messages"]?[0]
        if let prompt = agent.systemPrompt, first?["role"] == "system",
          let recorded = first?["content"]?[0]?["text"]
        {
          learn(from: recorded, today: .string(prompt))
        }
        return
      default: break
      }
    }
  }
}
