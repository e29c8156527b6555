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
    /// A call is made that the case forbids, or that the run never made.
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
  }

  /// What is changed.
  public var kind: Kind
  /// The recorded event that the change begins at.
  public var seq: Int
  /// The same in words, with names and values from the run.
  public var words: String
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
  /// Expectations that may tell the mutant from the run, the plainest first.
  var remedies: [JSONValue]

  /// Hands over the events of the changed run in order, numbered anew.
  func forEach(of events: [Event], _ body: (Event) -> Void) {
    var seq = 0
    func give(_ event: Event) {
      var event = event
      event.seq = seq
      seq += 1
      body(event)
    }
    for index in events.indices {
      for event in inserted[index] ?? [] { give(event) }
      if !removed.contains(index) { give(replaced[index] ?? events[index]) }
    }
  }
}
