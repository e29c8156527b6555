/// Turns the events of a run's children into events of the run itself, as whoever looks at the whole tree sees them.
///
/// They are what the events of a trace are in which several agents speak: a decision of a child bears its `caller`,
/// the names of the tools that led to it (`ask_billing/lookup`); its call ids begin with that of the call that it is.
/// They stand in the step of that call. What is of a child alone (its start, its contexts, its stop) keeps its place
/// under a type that nobody looks at. Nothing of it is lost: ``RunBelow`` makes the events of the child of the row again.
public struct TreeEvents: Sendable {
  /// The key of the tools of a child that names the call that it is: that call has begun for certain.
  public static let callKey = "ofCall"

  /// The type of an event that is a child's alone.
  public static let ownType = EventType(rawValue: "child_event")

  /// The strongest effect of the tools of each name so far; whoever reads several runs of one tree hands it on.
  package var effects: [String: SideEffect] = [:]
  /// The tools that hand over, each behind the names that led to it.
  private var handoffs: Set<[String]> = []

  /// Before the first event.
  public init() {}

  /// The run that a call of a member is, by the event that started it.
  ///
  /// - Parameters:
  ///   - member: the run that makes the call.
  ///   - event: of that member's own log.
  ///   - started: what that event says: the tool, the call, and which attempt of it.
  public func child(
    of member: Member, _ event: Event, _ started: ToolStartedPayload
  ) -> Member {
    let attempt = started.attempt > 1 ? "~\(started.attempt)" : ""
    let sum = member.start.addingReportingOverflow(max(0, event.t))
    let path = member.path + [started.tool]
    return Member(
      path: path, prefix: "\(member.prefix)\(started.callId)\(attempt)/",
      step: member.step ?? event.step, start: sum.overflow ? .max : sum.partialValue,
      call: member.prefix + started.callId,
      isHandoff: member.isHandoff && handoffs.contains(path), parentRunId: event.runId)
  }

  /// The run that an attempt at a task of a pipeline is.
  ///
  /// - Parameters:
  ///   - member: the run of the pipeline.
  ///   - event: the `task_started`, of that member's own log.
  ///   - started: what that event says: the task, and who acts for it.
  public func task(of member: Member, _ event: Event, _ started: TaskStarted) -> Member {
    let sum = member.start.addingReportingOverflow(max(0, event.t))
    return Member(
      path: member.path + [PipelineCalls.caller(of: started)],
      prefix: "\(member.prefix)\(started.node)#\(event.seq)/", step: member.step ?? event.step,
      start: sum.overflow ? .max : sum.partialValue, call: nil, isHandoff: false,
      parentRunId: event.runId)
  }

  /// A run that another row tells of, as this row has it, whose root that one tells of as well.
  ///
  /// - Parameters:
  ///   - told: what the other row says of it.
  ///   - base: what the other row says of this one's root.
  ///   - parent: the run that started it, as this row has it.
  ///   - step: of that run, in which it was started.
  func member(_ told: Member, below base: Member, of parent: Member, step: Int) -> Member {
    let path = Array(told.path.dropFirst(base.path.count))
    return Member(
      path: path, prefix: base.own(told.prefix), step: parent.step ?? step,
      start: max(0, told.start.subtractingReportingOverflow(base.start).partialValue),
      call: told.call.map(base.own),
      isHandoff: parent.isHandoff && told.call != nil && handoffs.contains(path),
      parentRunId: told.parentRunId)
  }

  /// An event of a member as the whole tree has it.
  ///
  /// - Parameters:
  ///   - event: as its own log has it.
  ///   - member: the run whose log that is.
  ///   - seq: its number in the whole tree.
  public mutating func event(_ event: Event, of member: Member, seq: Int) -> Event {
    if event.type == .runStarted { noteHandoffs(event.data["tools"], of: member) }
    guard let caller = member.caller else {
      if event.type == .runStarted || event.type == .toolsListed { note(event.data["tools"]) }
      var own = event
      own.seq = seq
      return own
    }
    let t = member.start.addingReportingOverflow(max(0, event.t))
    var told = Event(
      seq: seq, step: member.step ?? event.step, type: event.type, runId: event.runId,
      time: event.time,
      t: t.overflow ? .max : t.partialValue, data: event.data)
    switch event.type {
    case .runStarted, .toolsListed:
      told.type = .toolsListed
      told.data = tools(event.data["tools"]?.arrayValue ?? [], of: caller)
      if event.type == .runStarted { told.data[Self.callKey] = member.call.map(JSONValue.string) }
    case .decision:
      if member.isHandoff { told.data["ofAgent"] = true }
      member.name(&told)
    case .toolStarted, .toolResult, .policyDecision, .approval, .memoryRead, .memoryWritten,
      .unseen:
      member.name(&told)
    case .modelResult, .humanReplied, .breakerChanged: break
    default: told.type = Self.ownType
    }
    told.data[Own.key] = Own(event, of: member, toldAs: told.type).encoded
    return told
  }

  private mutating func noteHandoffs(_ tools: JSONValue?, of member: Member) {
    for tool in tools?.arrayValue ?? [] where tool["agent"]?["handoff"] == true {
      if let name = tool["name"]?.stringValue { handoffs.insert(member.path + [name]) }
    }
  }

  /// The tools of a child beside those of the others: of tools of one name the strongest effect counts, because
  /// whoever looks at the tree knows them by their names alone.
  private mutating func tools(_ definitions: [JSONValue], of caller: String) -> JSONObject {
    let tools = definitions.compactMap { value -> ToolDefinition? in
      guard let object = value.objectValue, var tool = try? ToolDefinition(decoding: object) else {
        return nil
      }
      tool.sideEffect = max(tool.sideEffect, effects[tool.name] ?? .read)
      return tool
    }
    for tool in tools { effects[tool.name] = tool.sideEffect }
    return ToolsListed(source: caller, tools: tools).encoded
  }

  private mutating func note(_ tools: JSONValue?) {
    for tool in tools?.arrayValue ?? [] {
      guard let name = tool["name"]?.stringValue,
        let effect = tool["sideEffect"]?.stringValue.flatMap(SideEffect.init)
      else { continue }
      effects[name] = max(effect, effects[name] ?? .read)
    }
  }
}

extension TreeEvents {
  /// Whether an event may rest on what a child came to that began before it: the events of children stand before it.
  public static func mayFollowOnChild(_ type: EventType) -> Bool {
    switch type {
    case .toolStarted, .policyDecision, .approval, .breakerChanged, .memoryRead, .memoryWritten:
      false
    default: true
    }
  }

  /// The events of a run and of those below it in one row, all of them in memory. Reading logs does the same, one
  /// event at a time.
  ///
  /// - Parameters:
  ///   - events: those of the run at the top, in order, as its own log has them.
  ///   - children: the events of a run by its identifier; of one that is `nil` the row says that nobody knows
  ///     what it did.
  public static func row(
    of events: [Event], children: (_ runId: String) -> [Event]?
  ) -> [Event] {
    var tree = TreeEvents()
    var row: [Event] = []
    tree.append(events, of: .root, depth: 0, to: &row, children)
    return row
  }

  private static let depthLimit = 64

  private mutating func append(
    _ events: [Event], of member: Member, depth: Int, to row: inout [Event],
    _ children: (String) -> [Event]?
  ) {
    var begun: [(event: Event, start: ToolStartedPayload)] = []
    func appendBegun(_ tree: inout TreeEvents, _ row: inout [Event]) {
      for (event, start) in begun {
        let runId = start.child?.runId ?? ""
        guard depth < Self.depthLimit, let inner = children(runId) else {
          let unseen = Unseen(
            .child, ["calls": "partial", "policy": "partial"],
            reason: "the events of the run \(runId) that “\(start.tool)” started are not there")
          row.append(
            Event(
              seq: row.count, step: member.step ?? event.step, type: .unseen, runId: event.runId,
              data: unseen.encoded))
          continue
        }
        let child = tree.child(of: member, event, start)
        tree.append(inner, of: child, depth: depth + 1, to: &row, children)
      }
      begun = []
    }
    for event in events {
      if Self.mayFollowOnChild(event.type) { appendBegun(&self, &row) }
      row.append(self.event(event, of: member, seq: row.count))
      if event.type == .toolStarted, event.data["child"] != nil,
        let start = try? ToolStartedPayload(decoding: event.data)
      {
        begun.append((event, start))
      }
    }
    appendBegun(&self, &row)
  }
}

extension SideEffect: Comparable {
  /// Less is done to the world.
  public static func < (left: SideEffect, right: SideEffect) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .read: 0
    case .draft: 1
    case .write: 2
    }
  }
}
