/// How far a node of a pipeline is that has begun and has not settled.
public struct NodeProgress: Sendable, Hashable {
  /// What it does now.
  public enum Phase: Sendable, Hashable {
    /// An attempt is under way, for all that the log says.
    case running
    /// It waits for its next attempt, until a moment of active run time in microseconds.
    case waiting(until: Int)
    /// What was decided about its failure is still to be done.
    case recovering(TaskRecovery)
    /// It waits for a person.
    case asked(TaskAsked.Why)
    /// A person has answered, and that is still to be acted on.
    case answered(TaskAsked.Why, TaskAnswered)
  }

  /// Which element of the task; `nil` for one that runs once, and for a fan-out as a whole.
  public var element: Int?
  /// What it does now.
  public var phase: Phase
  /// The number of the last attempt; 0 before the first.
  public var attempt = 0
  /// The task that stands in for it; `nil` for itself.
  public var acting: String?
  /// How many retries its task's `retry` has given it, since it acts as it does.
  public var retries = 0
  /// How often each rule of `recover` has given it another attempt, since it acts as it does.
  public var ruleUses: [Int: Int] = [:]
  /// When its first attempt began.
  public var firstStartedAt: Int?
  /// When its last attempt began.
  public var startedAt = 0
  /// The event with which its last attempt began.
  public var startedSeq = 0
  /// What went wrong last.
  public var error: TaskError?
  /// Whether the next attempt is told what went wrong.
  public var tellsFeedback = false
  /// Whether a person has said that it may be done again.
  public var isReleased = false
  /// The run of its own that its last attempt is.
  public var run: TaskRun?
}

/// How far a task of a pipeline is.
public struct TaskProgress: Sendable, Hashable {
  /// How a task, or an element, can end.
  public enum Settled: String, Sendable, Hashable, CaseIterable {
    /// It has an output.
    case finished
    /// Its output is absent.
    case skipped
    /// It failed.
    case failed
  }

  /// The task's id.
  public let id: String
  /// How often it was rolled back.
  public var round = 0
  /// How it ended as a whole; `nil` while it has not.
  public var settled: Settled?
  /// The event with which it ended; `nil` while it has not.
  public var settledSeq: Int?
  /// The event with which it became a checkpoint; `nil` where it is none.
  public var checkpointSeq: Int?
  /// How many elements it has, where that is known and it is a fan-out.
  public var elements: Int?
  /// Elements that have an output.
  public var finished = IndexRanges()
  /// Elements whose output is absent.
  public var skipped = IndexRanges()
  /// Elements that failed.
  public var failed = IndexRanges()
  /// How many parts of its output are recorded.
  public var parts = 0
  /// Whether its output came from what stands in for it and gave no parts, so that those that are recorded are not all.
  public var lacksParts = false
  /// Nodes that have begun and have not settled, by element.
  public var active: [NodeProgress] = []
  /// The state of its circuit breaker.
  public var breaker = BreakerChanged.State.closed
  /// Failures in a row, as the breaker counts them.
  public var breakerFailures = 0
  /// When the breaker last changed.
  public var breakerChangedAt = 0
  /// The error it failed with.
  public var error: TaskError?

  /// How many elements have settled.
  public var settledElements: Int { finished.count + skipped.count + failed.count }

  /// How an element ended; `nil` where it has not.
  public func settled(element: Int) -> Settled? {
    if finished.contains(element) { return .finished }
    if skipped.contains(element) { return .skipped }
    return failed.contains(element) ? .failed : nil
  }

  /// The node that has begun and has not settled. Logarithmic.
  public func node(_ element: Int?) -> NodeProgress? {
    let place = self.place(of: element)
    return place < active.count && active[place].element == element ? active[place] : nil
  }

  func place(of element: Int?) -> Int {
    let wanted = element ?? -1
    var low = 0
    var high = active.count
    while low < high {
      let middle = (low + high) / 2
      if (active[middle].element ?? -1) < wanted { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Changes a node, which begins where it has not.
  mutating func change(_ element: Int?, _ body: (inout NodeProgress) -> Void) {
    let place = self.place(of: element)
    if place >= active.count || active[place].element != element {
      active.insert(NodeProgress(element: element, phase: .running), at: place)
    }
    body(&active[place])
  }

  mutating func settle(_ element: Int?, as how: Settled, seq: Int) {
    let place = self.place(of: element)
    if place < active.count, active[place].element == element { active.remove(at: place) }
    guard let element else {
      settled = how
      settledSeq = seq
      // Elements that wait are left behind by a fan-out that has ended.
      active = []
      return
    }
    switch how {
    case .finished: finished.insert(element)
    case .skipped: skipped.insert(element)
    case .failed: failed.insert(element)
    }
  }
}
