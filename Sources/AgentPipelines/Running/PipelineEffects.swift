public import AgentTrace

/// What a pipeline did to the world outside and has not undone, folded from its events.
public struct PipelineEffects: Sendable {
  private var ledger = EffectLedger()

  /// Nothing is done.
  public init() {}

  /// Takes in the next event.
  public mutating func take(_ event: Event) {
    guard let change = try? PipelineEvent(type: event.type, data: event.data) else { return }
    ledger.take(change, seq: event.seq)
  }

  /// The tasks that did it, what ended last first.
  public var nodes: [TaskNode] { ledger.effects(behind: 0).map(\.node) }
}
