import AgentTrace

/// What attempts may have done to the world outside, and has not been undone. As large as there are such
/// actions: what only reads leaves nothing here.
struct EffectLedger {
  /// What is known of one action.
  struct Effect {
    var node: TaskNode
    /// The event with which its last attempt began.
    var startSeq: Int
    /// The event with which it ended; `nil` while nobody knows.
    var endSeq: Int?
    /// The task that stood in for it.
    var acting: String?
    var compensate: JSONValue?
    /// What came of it, where undoing it needs that.
    var output: JSONValue?
    /// Whether an attempt ended of which nobody knows what it did.
    var isUnknown = false
    var isUndone = false
    /// Compares by when it came to an end: what ended last is undone first.
    var order: Int { endSeq ?? Int.max }
  }

  private var effects: [String: Effect] = [:]
  private var current: [TaskNode: String] = [:]
  /// The action of each attempt, by the event with which it began.
  private var keys: [Int: String] = [:]

  mutating func take(_ change: PipelineEvent, seq: Int) {
    switch change {
    case .started(let started):
      guard let key = started.idempotencyKey else { return }
      var effect = Effect(
        node: started.node, startSeq: seq, acting: started.acting, compensate: started.compensate)
      effect.isUnknown = effects[key]?.isUnknown ?? false
      effects[key] = effect
      current[started.node] = key
      keys[seq] = key
    case .finished(let finished):
      guard let key = current.removeValue(forKey: finished.node) else { return }
      effects[key]?.endSeq = seq
      // A value that stands in is not what the attempt returned: nobody knows that.
      if finished.via != "substitute", effects[key]?.compensate.map(Self.needsOutput) ?? false {
        effects[key]?.output = finished.output
      }
    case .failed(let failed):
      guard let key = current[failed.node] else { return }
      effects[key]?.endSeq = seq
      if failed.isEffectUnknown {
        effects[key]?.isUnknown = true
      } else if effects[key]?.isUnknown == false {
        effects[key] = nil
        current[failed.node] = nil
      }
    case .answered(let answered) where answered.word == .happened:
      // A rollback may come before the task has its output by it.
      guard let key = current[answered.node], let output = answered.data else { return }
      if effects[key]?.compensate.map(Self.needsOutput) ?? false { effects[key]?.output = output }
    case .answered(let answered):
      guard answered.word == .didNotHappen,
        let key = current.removeValue(forKey: answered.node)
      else { return }
      effects[key] = nil
    case .compensationFinished(let end):
      guard end.error == nil else { return }
      if let key = keys[end.of] { effects[key]?.isUndone = true }
    case .rolledBack(let end):
      effects = effects.filter { !$0.value.isUndone && $0.value.order <= end.toSeq }
      current = current.filter { effects[$0.value] != nil }
      keys = keys.filter { effects[$0.value]?.startSeq == $0.key }
    default: break
    }
  }

  static func needsOutput(_ template: JSONValue) -> Bool {
    TaskTemplate(template).references.contains { $0.root == .output }
  }

  /// What was done behind an event, what ended last first.
  func effects(behind seq: Int) -> [Effect] {
    effects.values.filter { $0.order > seq && !$0.isUndone }
      .sorted { ($0.order, $0.startSeq) > ($1.order, $1.startSeq) }
  }
}
