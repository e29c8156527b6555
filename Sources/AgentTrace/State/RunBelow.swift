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
  /// The runs of its own tree, by their identifiers.
  private var members: [String: TreeEvents.Member]
  /// As that row has them.
  private var toldMembers: [String: TreeEvents.Member]
  /// The step that each run of its tree is in, by its identifier.
  private var steps: [String: Int] = [:]

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
    members = [event.runId: .root]
    toldMembers = [event.runId: member]
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
    if let told = own.member, members[event.runId] == nil {
      guard let parent = members[told.parentRunId] else { return nil }
      members[event.runId] = tree.member(
        told, below: base, of: parent, step: steps[told.parentRunId] ?? 0)
      toldMembers[event.runId] = told
    }
    guard let member = members[event.runId], let told = toldMembers[event.runId] else { return nil }
    steps[event.runId] = own.step
    return tree.event(told.original(of: event, own), of: member, seq: event.seq)
  }

  private mutating func tell(unseen event: Event) -> Event {
    var event = event
    event.step = steps[runId] ?? 0
    return event
  }
}
