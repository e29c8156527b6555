public import AgentTrace
public import TraceStorage

/// A run as far as it is compared with another: what it began with, its acts in order, and what it came
/// to. Holds no identifier and no time.
public struct ComparedRun: Sendable {
  /// One thing that was done or said.
  public struct Act: Sendable {
    /// What it is.
    public enum Kind: String, Sendable, Hashable {
      /// A proposed call with what became of it.
      case call
      /// An answer of the agent.
      case answer
      /// A question to a person.
      case question
      /// What a person said.
      case reply
      /// A decision that could not be read, without calls.
      case invalid
      /// The model's own stop.
      case end
      /// A note that was read or written.
      case memory
      /// A task of a pipeline, or one element of it, with what became of it.
      case task
    }

    /// What it is.
    public var kind: Kind
    /// The tool of a call, or the task; else the word for the kind.
    public var name: String
    /// Who made the call; `agent` for everything else.
    public var caller: String
    /// The step that it belongs to.
    public var step: Int
    /// The events that show it, oldest first.
    public var events: [Int]
    /// What is compared of it, the part that it is known by first: a call's `input`, then `invalid`,
    /// `verdict`, `approval` and `result`; any other act's text.
    public internal(set) var parts: [(name: String, value: ComparedValue)]
    /// Acts of one group have no order among themselves: the calls of a decision, and what they wrote.
    var group: Int
    /// Where it stands in a pipeline; see ``ComparedPlaces``. Empty for an act of no task.
    var place: [Int] = []
  }

  /// The log that was read.
  public var path: String
  /// The run's identifier, for people.
  public private(set) var runId = ""
  /// What it began with: goal, input, model, tools, limits, policy context.
  public internal(set) var start: ComparedValue
  /// Whether it says how its models were asked: older logs do not.
  public private(set) var holdsModels = false
  /// What names files and versions: told beside the comparison, never part of it.
  public private(set) var labels: [(name: String, value: String)] = []
  /// In order; those of one group as they were recorded.
  public internal(set) var acts: [Act] = []
  /// Steps that hold a decision.
  public private(set) var steps = 0
  /// Proposed calls.
  public private(set) var calls = 0
  /// Whether it is a pipeline's: then its acts are its tasks, in the order of their definition.
  public internal(set) var isPipeline = false
  /// The last stop: reason, detail and whether it is final; `nil` where there is none.
  public private(set) var stop: ComparedValue?
  /// What the model's calls used: `tokens` and `cost`, each where it is known.
  public private(set) var usage: ComparedValue
  /// Microseconds of active run time; never compared.
  public private(set) var elapsedMicroseconds = 0
  /// `none` or `partial` for each channel that an import lacks.
  public private(set) var recorded: [String: String] = [:]
  /// How the log ends.
  public private(set) var ending: LogReader.Ending?
  /// Events that are missing from the log.
  public private(set) var holes: [ClosedRange<Int>] = []

  /// Why nobody knows what some of the agents that it called did, in sentences: their logs are not there, or are others.
  public private(set) var missing: [String] = []

  /// The most acts of a run that are compared.
  public static let actLimit = 200_000

  /// Reads a log, and those of the runs that are parts of it, which lie beside it: of agents that it called, of tasks.
  ///
  /// - Parameters:
  ///   - path: the log; where only `….open` is there, that is read.
  ///   - ignored: fields that do not count.
  /// - Throws: `LogError` where the log is damaged or cannot be read, ``ComparingError`` where the run
  ///   is too long.
  /// - Complexity: O(*n*) in the log; in memory the acts, and up to 64 MiB of what they hold. Of values
  ///   beyond that, and of those larger than 256 KiB, the digest and the beginning are kept.
  public init(path: String, ignoring ignored: IgnoredFields = IgnoredFields()) throws {
    var reader = try LogReader(path: path)
    var reading = Reading(ignored: ignored)
    var hasChildren = false
    while let event = try reader.next() {
      switch event.type {
      case .toolStarted where event.data["child"] != nil: hasChildren = true
      case .taskStarted where event.data["run"] != nil: hasChildren = true
      default: break
      }
      try reading.take(event, path: path)
    }
    if hasChildren { reading = try Self.tree(path, ignored) }
    self = reading.finished(path: reader.path)
    ending = reader.ending
    holes = reader.holes
  }

  /// What a run tells with the runs that are parts of it, each act by its caller.
  private static func tree(_ path: String, _ ignored: IgnoredFields) throws -> Reading {
    var reader = try RunTreeReader(path: path)
    var reading = Reading(ignored: ignored)
    while let entry = try reader.next() { try reading.take(entry, path: path) }
    return reading
  }

  /// What some events tell, as they stand in a log.
  ///
  /// - Throws: ``ComparingError`` where the run is too long.
  public init(
    of events: some Sequence<Event>, path: String, ignoring ignored: IgnoredFields = IgnoredFields()
  ) throws(ComparingError) {
    var reading = Reading(ignored: ignored)
    for event in events { try reading.take(event, path: path) }
    self = reading.finished(path: path)
  }

  private init(path: String, start: ComparedValue, usage: ComparedValue) {
    self.path = path
    self.start = start
    self.usage = usage
  }
}

/// Why two runs cannot be compared.
public struct ComparingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The log, as the caller named it.
  public var path: String

  public var description: String {
    "\(path): the run holds more than \(ComparedRun.actLimit) calls and texts, too many to compare; "
      + "look at its parts with `agent-eval replay --step`."
  }
}

/// A value that is compared, kept whole where there is room.
public struct ComparedValue: Sendable {
  /// SHA-256 of its canonical bytes, numbers by their value.
  public var digest: Digest
  /// How many bytes those are.
  public var bytes: Int
  /// The value; what is left of it where it was too large, see `JSONValue.cut`.
  public var value: JSONValue
  /// Whether ``value`` is the whole.
  public var isWhole: Bool

  /// The largest value that is kept whole.
  static let limitBytes = 256 << 10

  init(_ value: JSONValue, room: inout Int) {
    // A number that is only written in another way is no difference.
    let value = value.byValue
    let encoded = CanonicalJSON.encode(value)
    digest = Digest(of: encoded)
    bytes = encoded.count
    isWhole = bytes <= Self.limitBytes && bytes <= room
    if isWhole {
      self.value = value
      room -= bytes
    } else {
      self.value = value.cut(toBytes: min(200, bytes - 1))
    }
  }

  /// Takes a key of an object out, where that is held whole.
  mutating func leaveOut(_ key: String) {
    guard isWhole, var object = value.objectValue else { return }
    object[key] = nil
    var room = bytes
    self = ComparedValue(.object(object), room: &room)
  }
}

extension ComparedRun {
  /// Takes in one event after the other.
  struct Reading {
    let ignored: IgnoredFields
    private var room = 64 << 20
    var run: ComparedRun
    var totals = Totals()
    /// The tasks of each pipeline of the tree, by the names that lead to it; of the root by an empty text.
    var tasks: [String: ComparedTasks] = [:]
    var places = ComparedPlaces()
    /// The names that lead to the run whose event is taken in, and where its acts stand.
    var member: [String] = []
    var place: [Int] = []
    /// Digests of the files that a pipeline's tasks were read from.
    var fileLabels: [(name: String, value: String)] = []
    private var lacksTokens = false
    private var groups = 0
    private var lastDecidedStep = -1
    /// Calls of which more may be said, by their ids: where they stand among the acts.
    private var open: [String: Int] = [:]

    init(ignored: IgnoredFields) {
      self.ignored = ignored
      var none = 0
      let empty = ComparedValue(.null, room: &none)
      run = ComparedRun(path: "", start: empty, usage: empty)
    }

    mutating func take(_ event: Event, path: String) throws(ComparingError) {
      run.elapsedMicroseconds = max(run.elapsedMicroseconds, event.t)
      switch event.type {
      case .runStarted: start(event)
      case .modelResult: count(event.data)
      case .decision: decide(event)
      case .policyDecision: rule(event)
      case .toolStarted:
        if let index = index(of: event) { run.acts[index].events.append(event.seq) }
      case .toolResult: finish(event)
      case .approval: approve(event)
      case .humanReplied:
        add(.reply, "reply", event, [("reply", picked(["text", "by"], of: event.data))])
      case .memoryRead, .memoryWritten:
        let group = index(of: event).map { run.acts[$0].group }
        let word = event.type == .memoryRead ? "read" : "wrote"
        add(
          .memory, word, event, [(word, picked(["scope", "key", "value"], of: event.data))],
          group: group)
      case .unseen where event.data["what"]?.stringValue == Unseen.Kind.child.rawValue:
        run.missing.append(event.data["reason"]?.stringValue ?? "a run below it is not there")
      case .unseen:
        var channels = RecordedChannels()
        for (name, extent) in run.recorded { channels[name] = extent }
        channels.formUnion(Unseen.channels(in: event.data))
        for (name, extent) in channels.all { run.recorded[name] = extent }
      case .runResumed: run.stop = nil
      case .stop: stop(event)
      default: take(task: event)
      }
      try checkLength(path)
    }

    func checkLength(_ path: String) throws(ComparingError) {
      if run.acts.count > ComparedRun.actLimit { throw ComparingError(path: path) }
    }

    mutating func finished(path: String) -> ComparedRun {
      var usage = JSONObject()
      if totals.modelCalls > 0, !lacksTokens {
        usage["tokens"] = [
          "input": JSONValue(totals.inputTokens), "output": JSONValue(totals.outputTokens),
        ]
      }
      if let cost = totals.cost, cost.isFinite {
        // Without the dust that adding doubles leaves.
        usage["cost"] = JSONValue((cost * 1_000_000).rounded() / 1_000_000)
      }
      run.usage = kept("usage", .object(usage)) ?? run.usage
      endTasks()
      run.path = path
      return run
    }

    // MARK: Events

    private mutating func start(_ event: Event) {
      run.runId = event.runId
      for member in event.data["recorded"]?.objectValue ?? [:] {
        run.recorded[member.key] = member.value.stringValue ?? "partial"
      }
      var start = JSONObject(
        picked(["goal", "input", "limits", "policyContext", "model", "models"], of: event.data).map
        {
          ($0.key, $0.value)
        })
      start["agent"] = event.data["agent"]?["name"]
      if event.beginsPipeline { begin(pipeline: event, &start) }
      // By name, so that a tool more is no difference of all behind it.
      let tools = (event.data["tools"]?.arrayValue ?? []).compactMap {
        tool -> (String, JSONValue)? in
        guard var object = tool.objectValue, let name = object["name"]?.stringValue else {
          return nil
        }
        object["name"] = nil
        return (name, .object(object))
      }
      if !tools.isEmpty { start["tools"] = .object(JSONObject(tools)) }
      run.start = kept("start", .object(start)) ?? run.start
      run.holdsModels = start["models"] != nil
      let labels: [(String, JSONValue?)] = [
        ("agent version", event.data["agent"]?["version"]),
        (event.beginsPipeline ? "pipeline file" : "agent file", event.data["agent"]?["digest"]),
        ("policy file", event.data["policyDigest"]), ("case", event.data["case"]?["caseId"]),
        ("imported from", event.data["source"]?["format"]),
      ]
      run.labels = labels.compactMap { name, value in value?.stringValue.map { (name, $0) } }
      run.labels += fileLabels
    }

    private mutating func count(_ data: JSONObject) {
      totals.count(modelResult: data)
      let usage = data["usage"]
      // A try that failed and says nothing used nothing that anybody knows of.
      if data["error"] == nil,
        usage?["inputTokens"]?.intValue == nil || usage?["outputTokens"]?.intValue == nil
      {
        lacksTokens = true
      }
    }

    private mutating func decide(_ event: Event) {
      if !run.isPipeline, event.step != lastDecidedStep {
        run.steps += 1
        lastDecidedStep = event.step
      }
      let payload = try? DecisionPayload(decoding: event.data)
      let caller = payload?.caller ?? "agent"
      switch payload?.decision {
      case .answer:
        add(.answer, "answer", event, [("answer", event.data["text"] ?? .null)], caller: caller)
      case .askHuman:
        add(
          .question, "question", event, [("question", event.data["question"] ?? .null)],
          caller: caller)
      case .stop(let reason, let detail):
        let end = [reason.rawValue, detail].compactMap(\.self).joined(separator: ": ")
        add(.end, "end", event, [("end", .string(end))], caller: caller)
      case .tool(let calls): propose(calls, event, caller, invalid: nil)
      case .invalid(let reason, let calls):
        if calls.isEmpty {
          add(.invalid, "invalid", event, [("invalid", .string(reason))], caller: caller)
        } else {
          propose(calls, event, caller, invalid: reason)
        }
      case nil:
        // Of another shape than the format promises: compared as it stands.
        add(.invalid, "invalid", event, [("invalid", .object(event.data))])
      }
    }

    private mutating func propose(
      _ calls: [ProposedCall], _ event: Event, _ caller: String, invalid: String?
    ) {
      groups += 1
      let group = groups
      run.calls += calls.count
      for call in calls {
        var parts = [("input", call.input)]
        if let invalid { parts.append(("invalid", .string(invalid))) }
        open[call.callId] = run.acts.count
        add(.call, call.name, event, parts, caller: caller, group: group)
      }
    }

    private mutating func rule(_ event: Event) {
      guard let index = index(of: event) else { return }
      run.acts[index].events.append(event.seq)
      let verdict = JSONValue.object(picked(["status", "ruleId", "reason"], of: event.data))
      // Mostly the only one; an approval leads to a second.
      guard let before = run.acts[index].parts.first(where: { $0.name == "verdict" })?.value,
        before.isWhole
      else { return put("verdict", verdict, at: index) }
      put("verdict", .array((before.value.arrayValue ?? [before.value]) + [verdict]), at: index)
    }

    private mutating func approve(_ event: Event) {
      guard let index = index(of: event) else { return }
      run.acts[index].events.append(event.seq)
      put(
        "approval", .object(picked(["granted", "by", "reason", "scope", "until"], of: event.data)),
        at: index)
    }

    private mutating func finish(_ event: Event) {
      guard let index = index(of: event) else { return }
      run.acts[index].events.append(event.seq)
      let result = picked(["status", "data", "reason", "effect", "attempts"], of: event.data)
      put("result", .object(result), at: index)
    }

    private mutating func stop(_ event: Event) {
      let stop = picked(["reason", "detail", "final"], of: event.data)
      run.stop = kept("stop", .object(stop))
    }

    // MARK: Acts

    private func index(of event: Event) -> Int? {
      event.data["callId"]?.stringValue.flatMap { open[$0] }
    }

    func picked(_ keys: [String], of data: JSONObject) -> JSONObject {
      JSONObject(keys.compactMap { key in data[key].map { (key, $0) } })
    }

    private mutating func kept(_ part: String, _ value: JSONValue) -> ComparedValue? {
      ignored.masked(value, part: part).map { ComparedValue($0, room: &room) }
    }

    private mutating func add(
      _ kind: Act.Kind, _ name: String, _ event: Event, _ parts: [(String, JSONObject)],
      group: Int? = nil
    ) {
      add(kind, name, event, parts.map { ($0.0, .object($0.1)) }, group: group)
    }

    mutating func add(
      _ kind: Act.Kind, _ name: String, _ event: Event, _ parts: [(String, JSONValue)],
      caller: String = "agent", group: Int? = nil, place: [Int]? = nil
    ) {
      if group == nil { groups += 1 }
      var act = Act(
        kind: kind, name: name, caller: caller, step: event.step, events: [event.seq], parts: [],
        group: group ?? groups, place: place ?? self.place)
      for (part, value) in parts {
        if let value = kept(part, value) { act.parts.append((part, value)) }
      }
      run.acts.append(act)
    }

    mutating func put(_ part: String, _ value: JSONValue, at index: Int) {
      guard let value = kept(part, value) else { return }
      run.acts[index].parts.removeAll { $0.name == part }
      let place = run.acts[index].parts.firstIndex { Self.rank($0.name) > Self.rank(part) }
      run.acts[index].parts.insert((part, value), at: place ?? run.acts[index].parts.count)
    }

    /// In which order the parts of a call stand, whatever order they came in.
    static func rank(_ part: String) -> Int {
      ["input", "invalid", "verdict", "approval", "result"].firstIndex(of: part) ?? 0
    }
  }
}
