import AgentTrace

/// What a run used, folded from the few events that count: as ``AgentState`` does it, without the
/// digests that a state keeps, and in constant time for each event.
struct TotalsFold {
  private var own = Totals()
  /// What the runs of a pipeline's tasks used; `nil` where there is none.
  private var ofTasks: Totals?
  /// The calls of the last decision of each conversation; see ``DecisionPayload/conversation``.
  private var batches: [Int?: Batch] = [:]
  /// The conversations in which a call with this id may be pending, in the order in which it was decided.
  private var conversations: [ExactText: [Int?]] = [:]

  private struct Pending {
    var callId: ExactText
    /// The next call with the same id.
    var next: Int?
    var isStarted = false
    var hasResult = false
  }

  private struct Batch {
    var pending: [Pending] = []
    /// Calls of `pending` by id; of those with the same id the first that has not settled.
    var places: [ExactText: Int] = [:]
    /// How many of `pending` have settled: the first ones.
    var settled = 0

    init(_ calls: [ProposedCall]) {
      pending = calls.map { Pending(callId: ExactText($0.callId)) }
      for place in pending.indices.reversed() {
        pending[place].next = places[pending[place].callId]
        places[pending[place].callId] = place
      }
    }
  }

  /// Takes in a decision; `nil` where it cannot be read.
  mutating func apply(_ payload: DecisionPayload?, of event: Event) {
    // One that cannot be read leaves the calls of its conversation behind as well.
    let (conversation, step) = (event.data["conversation"]?.intValue, event.step)
    if let before = batches[conversation] {
      for id in before.places.keys { leave(id, conversation) }
    }
    batches[conversation] = nil
    switch payload?.decision {
    case .tool(let calls) where !calls.isEmpty:
      let batch = Batch(calls)
      for id in batch.places.keys { conversations[id, default: []].append(conversation) }
      batches[conversation] = batch
    case .invalid, nil: break
    default: own.steps = max(own.steps, step)
    }
  }

  private mutating func leave(_ id: ExactText, _ conversation: Int?) {
    conversations[id]?.removeAll { $0 == conversation }
    if conversations[id]?.isEmpty == true { conversations[id] = nil }
  }

  /// Takes in the reply of a model, or that there was none.
  mutating func apply(modelResult data: JSONObject) {
    // What carries the id of a pending call is an event of that call, as for a state.
    if let callId = data["callId"]?.stringValue, conversations[ExactText(callId)] != nil { return }
    own.count(modelResult: data)
  }

  /// Takes in what the run of a pipeline's task used.
  mutating func apply(totalsOfRun used: Totals) {
    var sum = ofTasks ?? Totals()
    sum.add(used)
    ofTasks = sum
  }

  /// What the run used so far. A pipeline has the steps of its tasks' runs.
  var totals: Totals {
    guard let ofTasks else { return own }
    var sum = own
    sum.steps = 0
    sum.add(ofTasks)
    return sum
  }

  /// Takes in that a call was started or has its result.
  mutating func apply(toCall event: Event) {
    if event.type == .toolResult, let child = event.data["child"]?.objectValue,
      let end = try? ChildEnd(decoding: child)
    {
      own.count(child: end.totals)
    }
    guard let callId = event.data["callId"]?.stringValue,
      let conversation = conversations[ExactText(callId)]?.first,
      var batch = batches.removeValue(forKey: conversation)
    else { return }
    defer { batches[conversation] = batch.settled < batch.pending.count ? batch : nil }
    guard let place = batch.places[ExactText(callId)] else { return }
    if event.type == .toolStarted {
      // What the run of a task did is counted with that run.
      if !batch.pending[place].isStarted, event.data[PipelineCalls.runKey] == nil {
        own.toolCalls += 1
      }
      batch.pending[place].isStarted = true
      return
    }
    let status = event.data["status"]?.stringValue
    if !batch.pending[place].isStarted, ["ok", "error", "returned"].contains(status) {
      own.toolCalls += 1
    }
    batch.pending[place].hasResult = true
    // Lets results in whose turn has come; the last of them completes the step.
    while batch.settled < batch.pending.count, batch.pending[batch.settled].hasResult {
      let settled = batch.pending[batch.settled]
      batch.places[settled.callId] = settled.next
      if settled.next == nil { leave(settled.callId, conversation) }
      batch.settled += 1
      if batch.settled == batch.pending.count { own.steps = max(own.steps, event.step) }
    }
  }
}
