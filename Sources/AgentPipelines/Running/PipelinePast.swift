public import AgentTrace

/// What has happened in a pipeline so far, as its log tells it: what going on needs.
public struct PipelinePast {
  /// Where it stands.
  public private(set) var state: PipelineState
  var outputs: OutputStore
  var ledger: EffectLedger

  /// Nothing has happened yet to a pipeline.
  public init(of pipeline: Pipeline) {
    state = PipelineState()
    outputs = OutputStore(pipeline.graph)
    ledger = EffectLedger()
  }

  /// Takes in the next event of the log.
  public mutating func take(_ event: Event) {
    state.apply(event)
    guard let change = try? PipelineEvent(type: event.type, data: event.data) else { return }
    outputs.take(change, seq: event.seq)
    ledger.take(change, seq: event.seq)
  }

  /// Everything that a log says.
  public init(of pipeline: Pipeline, _ events: some Sequence<Event>) {
    self.init(of: pipeline)
    for event in events { take(event) }
  }
}
