import AgentTrace

/// One change to a recorded run: something that an agent, a tool or a policy might do wrong.
public struct RunMutation: Sendable, Hashable {
  /// What is changed. Raw values are the wire format.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A call is not made.
    case dropCall = "drop_call"
    /// A call is made twice.
    case repeatCall = "repeat_call"
    /// Two calls change places.
    case swapCalls = "swap_calls"
    /// A tool is called that the run never called.
    case forbiddenCall = "forbidden_call"
    /// One argument has another value.
    case argument
    /// A call that went well fails.
    case failedResult = "failed_result"
    /// Policy says the opposite, and the call goes its way all the same.
    case verdict
    /// A person's approval is gone, and the call is made all the same.
    case missingApproval = "missing_approval"
    /// The run stops for another reason.
    case stopReason = "stop_reason"
    /// The models' calls cost a hundred times as much, in tokens and money.
    case cost
    /// The answer is another one.
    case answer
    /// A call that was refused is let through and runs.
    case refusedRuns = "refused_runs"
    /// A call that was only proposed is let through and runs.
    case proposedRuns = "proposed_runs"
    /// A call takes another attempt.
    case retry
    /// The same calls are made again and again.
    case loop
    /// Another of the run's callers makes a call.
    case caller
    /// A decision cannot be used, before one that can.
    case invalidDecision = "invalid_decision"
    /// The answer rests on something else.
    case evidence
    /// Somebody else has the word on a call.
    case approver
    /// What the model is shown is otherwise.
    case context
    /// Notes are not kept, say something else, or are more.
    case memory
    /// Everything takes longer.
    case slow
    /// A task of a pipeline is skipped.
    case skippedTask = "skipped_task"
    /// A task of a pipeline does not wait for another.
    case edge
    /// A task of a pipeline returns something else.
    case taskOutput = "task_output"
    /// What a task of a pipeline did is not undone, though the pipeline goes back.
    case missingCompensation = "missing_compensation"
  }

  /// What is changed.
  public var kind: Kind
  /// The recorded event that the change begins at.
  public var seq: Int
  /// The same in words, with names and values from the run.
  public var words: String
  /// The tools whose calls are changed; empty where it is no call.
  public var tools: [String] = []
}

/// A changed run: the recorded events, and what is otherwise.
struct Mutant: Sendable {
  var mutation: RunMutation
  /// Places of events that are not there.
  var removed: Set<Int> = []
  /// Events in the place of others.
  var replaced: [Int: Event] = [:]
  /// Events that stand before others.
  var inserted: [Int: [Event]] = [:]
  /// Expectations that may tell the mutant from the run, the plainest first. Most mutants never ask.
  var remedies: @Sendable () -> [JSONValue]

  /// Where anything is otherwise, in order.
  var places: [Int] {
    Set(removed).union(replaced.keys).union(inserted.keys).sorted()
  }

  /// The events of the changed run in order, numbered anew.
  func events(of events: [Event]) -> [Event] {
    var changed: [Event] = []
    for index in events.indices {
      changed += inserted[index] ?? []
      if !removed.contains(index) { changed.append(replaced[index] ?? events[index]) }
    }
    for seq in changed.indices { changed[seq].seq = seq }
    return changed
  }
}
