/// A run that a call, or an attempt at a task, of another is, taken out of the row of the whole tree as if it had been
/// the root: with the steps, calls and stop of its own log, and the runs below it as children of it.
///
/// It is fed with all events of the row, in order; see ``TreeEvents``.
public struct RunBelow: Sendable {
  /// The identifier of the run.
  public let runId: String
  /// Who it is in the tree: the names of the tools that led to it (`ask_billing/lookup`), or its task.
  public let caller: String
  /// The run that started it.
  public var parentRunId: String { base.parentRunId }
  /// What it is in the row that it is taken from.
  private let base: TreeEvents.Member
  private var tree = TreeEvents()
  /// A run of its own tree.
  private struct Known {
    /// As this row has it, and as the greater one does.
    var own, told: TreeEvents.Member
    /// The step that it is in.
    var step = 0
  }

  /// By their identifiers.
  private var runs: [String: Known]

  /// The run that begins with an event of the row; `nil` where no run below the root does.
  ///
  /// - Parameter event: has still to be fed to it.
  public init?(beginningWith event: Event) {
    guard let own = TreeEvents.Own(event), let member = own.member, let caller = member.caller
    else {
      return nil
    }
    self.caller = caller
    runId = event.runId
    base = member
    runs = [event.runId: Known(own: .root, told: member)]
  }

  /// Whether an event says of a run of the tree that nobody knows what it did: which of the others it was below may be
  /// lost with it.
  public static func isToldToAll(_ event: Event) -> Bool {
    event.type == .unseen && event.data["what"]?.stringValue == Unseen.Kind.child.rawValue
  }

  /// An event of the row as this run's own row has it, under the number that it has in the greater one; `nil` where it
  /// is none of this run or of a run below it.
  public mutating func event(_ event: Event) -> Event? {
    guard let own = TreeEvents.Own(event) else {
      return Self.isToldToAll(event) ? tell(unseen: event) : nil
    }
    if let told = own.member, runs[event.runId] == nil {
      guard let parent = runs[told.parentRunId] else { return nil }
      let member = tree.member(told, below: base, of: parent.own, step: parent.step)
      runs[event.runId] = Known(own: member, told: told)
    }
    guard let run = runs[event.runId] else { return nil }
    runs[event.runId]?.step = own.step
    return tree.event(run.told.original(of: event, own), of: run.own, seq: event.seq)
  }

  private mutating func tell(unseen event: Event) -> Event {
    var event = event
    event.step = runs[runId]?.step ?? 0
    return event
  }
}
