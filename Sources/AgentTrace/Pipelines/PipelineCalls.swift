/// Tells what the tasks of a pipeline did that are no agents as calls: each command and each closure is one, and so is
/// whatever undoes a task. A judge looks at them as at the calls of agents.
///
/// The tool of a command is its program, without the folders before it; that of a closure is its task. The caller is
/// the task that acts, with its element (`measure[3]`), and for what undoes it `measure[3]/compensate`. What the
/// runtime attempts again by itself is another attempt of one call.
public struct PipelineCalls: Sendable {
  /// Events that stand before and behind the one that they were made of.
  public struct Told: Sendable {
    /// Before it: results.
    public var before: [Event] = []
    /// Behind it: tools, decisions, starts.
    public var behind: [Event] = []
  }

  private struct Call: Sendable {
    var id: String
    var caller: String
    var tool: String
    var input: JSONValue
    var attempts = 0
    /// The run of its own that the last attempt is; `nil` for a command or a closure.
    var runId: String?
    /// What the last attempt came to, where no result has told it yet.
    var failure: TaskFailed?
    var hasResult = false
  }

  /// The key of a `run_started` under which `true` says that the log holds the row of a pipeline: its own events, those
  /// of its tasks' runs, and its calls.
  public static let rowKey = "row"

  /// The key of a `tool_started` under which the run stands that an attempt is, where ``init(tellsRuns:)`` tells of it:
  /// what that run did is no call of this one beside those of its own.
  public static let runKey = "run"

  /// The caller of what undoes a task stands behind that of the task.
  public static let compensation = "compensate"

  private var calls: [TaskNode: Call] = [:]
  private var undoing: Call?
  private var effects: [String: SideEffect] = [:]

  private let tellsRuns: Bool

  /// Before the first event.
  ///
  /// - Parameter tellsRuns: whether a task that is a run of its own is told as a call of a tool of its name, for whoever
  ///   looks at the pipeline's log alone.
  public init(tellsRuns: Bool = false) { self.tellsRuns = tellsRuns }

  /// What an event of a pipeline's log tells of calls.
  public mutating func told(by event: Event) -> Told {
    switch event.type {
    case .runStarted, .runResumed: return Told(behind: tools(of: event))
    case .taskStarted:
      return (try? TaskStarted(decoding: event.data)).map { began($0, event) } ?? Told()
    case .taskFinished:
      return (try? TaskFinished(decoding: event.data)).map { finished($0, event) } ?? Told()
    case .taskFailed:
      return (try? TaskFailed(decoding: event.data)).map { failed($0, event) } ?? Told()
    case .taskSkipped:
      if let skipped = try? TaskSkipped(decoding: event.data) { calls[skipped.node] = nil }
      return Told()
    case .taskAnswered:
      return (try? TaskAnswered(decoding: event.data)).map { answered($0, event) } ?? Told()
    case .compensationStarted:
      return (try? CompensationStarted(decoding: event.data)).map { began($0, event) } ?? Told()
    case .compensationFinished:
      return (try? CompensationFinished(decoding: event.data)).map { finished($0, event) } ?? Told()
    default: return Told()
    }
  }

  /// The task that makes an attempt, with its element: as whom its calls are told.
  public static func caller(of started: TaskStarted) -> String {
    TaskNode(started.acting ?? started.node.task, element: started.node.element).description
  }

  // MARK: Tools

  /// The programs and closures that a definition names, as far as they are known before anything runs.
  private mutating func tools(of event: Event) -> [Event] {
    var found: [ToolDefinition] = []
    for task in event.data["inputs"]?["pipeline"]?["tasks"]?.arrayValue ?? [] {
      let kind = task["kind"]?.stringValue
      guard let id = task["id"]?.stringValue, kind != "human",
        tellsRuns || kind != "agent" && kind != "pipeline"
      else { continue }
      let name = Self.tool(of: task["arguments"], else: id)
      let effect = task["sideEffect"]?.stringValue.flatMap(SideEffect.init) ?? .write
      // What is put in later is no name yet.
      if !name.contains("${") { note(name, effect, in: &found) }
    }
    return found.isEmpty ? [] : [listing(found, event)]
  }

  private mutating func note(
    _ name: String, _ effect: SideEffect, in found: inout [ToolDefinition]
  ) {
    guard effects[name].map({ $0 < effect }) ?? true else { return }
    effects[name] = effect
    found.append(ToolDefinition(name: name, sideEffect: effect))
  }

  private func listing(_ tools: [ToolDefinition], _ event: Event) -> Event {
    made(.toolsListed, ToolsListed(source: "pipeline", tools: tools).encoded, event)
  }

  /// The name of the program that words begin with.
  private static func tool(of words: JSONValue?, else name: String) -> String {
    let program = words?[0]?.stringValue ?? words?.stringValue ?? ""
    let last = program.split(separator: "/").last.map(String.init) ?? ""
    return last.isEmpty ? name : last
  }

  // MARK: Attempts

  private mutating func began(_ started: TaskStarted, _ event: Event) -> Told {
    // What an agent or a pipeline does stands in its own log.
    guard started.run == nil || tellsRuns else { return Told() }
    let tool = Self.tool(of: started.arguments, else: started.acting ?? started.node.task)
    let input: JSONValue = .object(
      JSONObject(present: [("command", started.arguments), ("input", started.input)]))
    var told = Told()
    if var call = calls[started.node], !call.hasResult {
      if call.tool.hasSameUTF8(as: tool), call.input == input {
        call.failure = nil
        call.runId = started.run?.runId
        told.behind = [start(&call, started.idempotencyKey, event)]
        calls[started.node] = call
        return told
      }
      told.before = [result(&call, Self.result(of: call.failure), event)]
    }
    var call = Call(
      id: "\(started.node)#\(event.seq)", caller: Self.caller(of: started), tool: tool,
      input: input)
    call.runId = started.run?.runId
    told.behind = begin(
      &call, SideEffect(rawValue: started.sideEffect) ?? .write, started.idempotencyKey, event)
    calls[started.node] = call
    return told
  }

  private mutating func finished(_ finished: TaskFinished, _ event: Event) -> Told {
    guard var call = calls.removeValue(forKey: finished.node), finished.via == nil, !call.hasResult
    else { return Told() }
    return Told(before: [result(&call, .ok(data: finished.output ?? .null), event)])
  }

  private mutating func failed(_ failed: TaskFailed, _ event: Event) -> Told {
    guard var call = calls[failed.node], !call.hasResult, failed.attempt > 0 else { return Told() }
    switch failed.recovery.action {
    case .retry, .again:
      call.failure = failed
      calls[failed.node] = call
      return Told()
    default:
      let told = result(&call, Self.result(of: failed), event)
      calls[failed.node] = [.fail, .compensate].contains(failed.recovery.action) ? nil : call
      return Told(before: [told])
    }
  }

  /// A person may say what became of an attempt that nobody knows the effect of.
  private mutating func answered(_ answered: TaskAnswered, _ event: Event) -> Told {
    guard var call = calls[answered.node], call.hasResult else { return Told() }
    switch answered.word {
    case .happened:
      return Told(before: [result(&call, .ok(data: answered.data ?? .null), event)])
    case .didNotHappen:
      let reason = "\(answered.by) says that it did not happen"
      return Told(before: [result(&call, .error(reason), event)])
    default: return Told()
    }
  }

  private static func result(of failed: TaskFailed?) -> ToolResult {
    guard let failed else { return .error("it was begun anew", isEffectUnknown: true) }
    return .error(
      "\(failed.error.kind): \(failed.error.message)", isEffectUnknown: failed.isEffectUnknown)
  }

  // MARK: Undoing

  private mutating func began(_ start: CompensationStarted, _ event: Event) -> Told {
    let id = "\(start.node)/\(Self.compensation)#\(start.of)"
    var told = Told()
    if var call = undoing, call.id.hasSameUTF8(as: id) {
      told.behind = [self.start(&call, start.idempotencyKey, event)]
      undoing = call
      return told
    }
    let words = start.command?.arrayValue == nil ? nil : start.command
    var call = Call(
      id: id, caller: "\(start.node)/\(Self.compensation)",
      tool: Self.tool(of: words, else: start.node.task),
      input: .object(JSONObject(present: [("command", start.command)])))
    told.behind = begin(&call, .write, start.idempotencyKey, event)
    undoing = call
    return told
  }

  private mutating func finished(_ end: CompensationFinished, _ event: Event) -> Told {
    // What a person did by hand is no call.
    guard var call = undoing, end.attempt > 0 else { return Told() }
    let came: ToolResult = end.error.map { .error($0, isEffectUnknown: true) } ?? .ok(data: .null)
    let told = result(&call, came, event)
    undoing = call
    return Told(before: [told])
  }

  // MARK: Events

  private mutating func begin(
    _ call: inout Call, _ effect: SideEffect, _ key: String?, _ event: Event
  ) -> [Event] {
    var found: [ToolDefinition] = []
    note(call.tool, effect, in: &found)
    let decision = DecisionPayload(
      .tool([ProposedCall(callId: call.id, name: call.tool, input: call.input)]),
      caller: call.caller)
    return (found.isEmpty ? [] : [listing(found, event)])
      + [made(.decision, decision.encoded, event), start(&call, key, event)]
  }

  private func start(_ call: inout Call, _ key: String?, _ event: Event) -> Event {
    call.attempts += 1
    return made(
      .toolStarted,
      JSONObject(present: [
        ("callId", .string(call.id)), ("tool", .string(call.tool)),
        ("caller", .string(call.caller)), ("attempt", JSONValue(call.attempts)),
        ("idempotencyKey", .string(key ?? "\(event.runId)/\(call.id)")),
        (Self.runKey, call.runId.map { ["runId": .string($0)] }),
      ]), event)
  }

  private func result(_ call: inout Call, _ result: ToolResult, _ event: Event) -> Event {
    call.hasResult = true
    return made(
      .toolResult,
      ToolResultPayload(
        callId: call.id, tool: call.tool, caller: call.caller, result: result,
        attempts: call.attempts, elapsedMicroseconds: event.data["elapsedMicroseconds"]?.intValue
      ).encoded, event)
  }

  private func made(_ type: EventType, _ data: JSONObject, _ event: Event) -> Event {
    Event(
      seq: event.seq, step: event.step, type: type, runId: event.runId, time: event.time,
      t: event.t, data: data)
  }
}

extension Event {
  /// Whether it begins the log of a pipeline.
  public var beginsPipeline: Bool {
    type == .runStarted && data["inputs"]?["pipeline"]?.objectValue != nil
  }

  /// Whether it begins the log of a pipeline beside which those of its tasks' runs lie.
  public var beginsPipelineAlone: Bool {
    beginsPipeline && data[PipelineCalls.rowKey] != true
  }
}
