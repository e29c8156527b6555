import AgentTrace
import TraceStorage

/// What happened in a run, as formats of other tools tell it: who said what, which model was asked, what was
/// decided, what came back. What only our own format knows stands in the log that goes along.
struct RunStory {
  /// When an event was: of active run time, and by the clock on the wall, which goes on while a run stands still.
  struct Moment {
    var seq: Int
    /// Microseconds of active run time.
    var t: Int
    /// Nanoseconds since 1970 at which `t` would be 0, had the run stood still nowhere before; 0 where nobody knows.
    var origin: UInt64

    /// Nanoseconds since 1970: those below a microsecond are the number of the event, so that the order of events is
    /// seen also where a log knows no times.
    var nanoseconds: UInt64 { clock &+ UInt64(clamping: max(0, seq)) }

    /// Microseconds since 1970.
    var microseconds: Int { Int(clamping: clock / 1_000) }

    /// Nanoseconds since 1970, to the microsecond.
    var clock: UInt64 {
      let active = UInt64(clamping: max(0, t)).multipliedReportingOverflow(by: 1_000)
      let sum = origin.addingReportingOverflow(active.overflow ? .max : active.partialValue)
      return sum.overflow ? .max : sum.partialValue
    }

    /// As long before as that took, never before the run.
    func earlier(by microseconds: Int) -> Moment {
      var moment = self
      moment.t = max(0, t - min(max(0, microseconds), max(0, t)))
      return moment
    }
  }

  /// Something that somebody said.
  struct Said {
    enum Role: String { case system, user }
    var at: Moment
    var role: Role
    var text: String
    /// Who, where the log says.
    var by: String?
  }

  /// One try of asking a model.
  struct ModelCall {
    var at: Moment
    var seq: Int { at.seq }
    var step: Int
    var result: ModelResult
    /// What it was shown, where that was asked for and is known.
    var shown: ShownMessages?

    /// When it began, never before the run, however long a log says that it took.
    var began: Moment { at.earlier(by: result.elapsedMicroseconds ?? 0) }
  }

  /// What was decided.
  struct Turn {
    var at: Moment
    var seq: Int { at.seq }
    var step: Int
    /// `answer`, `tool`, `ask_human`, `stop` or `invalid`.
    var kind: String
    /// Who decided; `nil` for the agent.
    var caller: String?
    /// What was said with it.
    var text: String?
    var reasoning: String?
    var calls: [ProposedCall] = []
    /// The reply that it was read from, and its number.
    var model: ModelResult?
    var modelSeq: Int?
    /// Why it was no decision that could be made, where it was none.
    var problem: String?
    /// Whether it repairs one that was none, in the same step.
    var isRepair = false
  }

  /// What became of a call.
  struct Result {
    var at: Moment
    var seq: Int { at.seq }
    var callId: String
    var tool: String
    var caller: String?
    /// `ok`, `returned`, `refused` or `error`.
    var status: String
    /// What the tool gave back, or why there is nothing.
    var content: JSONValue
    var isEffectUnknown: Bool
    /// When the tool was started last; `nil` where it never was.
    var started: Moment?
    /// Whether another result of a call with the same id came before.
    var isAgain = false

    /// Whether what it gave back is data, which forms that have texts alone tell as their JSON.
    var isData: Bool { content.stringValue == nil && !content.isCutSomewhere }
  }

  enum Item {
    case said(Said)
    case model(ModelCall)
    case turn(Turn)
    case result(Result)

    /// Puts it on the clock on the wall, of which nobody knew when it was told.
    mutating func put(onClock origin: UInt64) {
      switch self {
      case .said(var said):
        said.at.origin = origin
        self = .said(said)
      case .model(var call):
        call.at.origin = origin
        self = .model(call)
      case .turn(var turn):
        turn.at.origin = origin
        self = .turn(turn)
      case .result(var result):
        result.at.origin = origin
        result.started?.origin = origin
        self = .result(result)
      }
    }
  }

  /// What the policy gate said of a call last.
  struct Verdict {
    var status: String
    var ruleId: String?
    var reason: String?
  }

  var runId = ""
  /// What its trace and its spans are named after: the run's identifier, and where another log of the same
  /// identifier is exported along with it, a number behind that.
  var identity = ""
  /// The data of `run_started`.
  var start: JSONObject = [:]
  /// Nanoseconds since 1970 at which the run began, by the first event that says when it was; 0 where none does.
  var began: UInt64 = 0
  /// When the run began, at `t` 0.
  var first = Moment(seq: 0, t: 0, origin: 0)
  var items: [Item] = []
  var verdicts: [String: Verdict] = [:]
  /// Ids of calls that a person granted.
  var granted: Set<String> = []
  /// When the tool of a call was started last.
  var started: [String: Moment] = [:]
  /// When it was started, each time, of a call that was tried again.
  var attempts: [String: [Moment]] = [:]
  /// How many tries of a call are told.
  static let attemptLimit = 64
  /// Ids of calls that are runs of a pipeline's tasks.
  var taskCalls: Set<String> = []
  /// What the runs used that are parts of this one, as its log tells; `nil` where there is none.
  var usedBelow: Totals?
  var stop: Stop?
  /// The last event, with the greatest `t`.
  var last = Moment(seq: 0, t: 0, origin: 0)
  var eventCount = 0
  /// Whether something of the run is not told whole: its log says so, a value was cut or lost, or the log is not
  /// closed. Whoever reads an export without the log that goes along has to know.
  var isPartial = false
  /// Whether of the last answer only the beginning is there.
  var isAnswerCut = false
  /// Whether it stopped before its end and went on, which no form tells but by our own key.
  var hasPaused = false

  var agentName: String { start["agent"]?["name"]?.stringValue ?? "" }
  var agentVersion: String? { start["agent"]?["version"]?.stringValue }
  var modelName: String? { start["model"]?["name"]?.stringValue }
  var modelProvider: String? { start["model"]?["provider"]?.stringValue }
  /// The definitions of the tools, as the log has them.
  var tools: [JSONValue] = []

  /// What was asked for, as text.
  var goal: String { (start["input"] ?? start["goal"]).map(Self.text) ?? "" }

  /// What the run answered last.
  var answer: String? {
    if let answer = stop?.answer { return answer }
    for case .turn(let turn) in items.reversed() where turn.kind == "answer" { return turn.text }
    return nil
  }

  /// Whether its agent gave an answer: what it said beside its calls, or before a limit, is none.
  var isAnswered: Bool {
    items.contains { item in
      guard case .turn(let turn) = item else { return false }
      return turn.kind == "answer" && (turn.caller ?? "agent") == "agent"
    }
  }

  /// Whether it never stopped, though its log has stops: nobody knows what came after.
  var isOpen: Bool { stop == nil && start["recorded"]?["stop"] == nil }

  /// Whether a tool was started of which neither a decision nor a result tells: lists of messages have no place for it.
  var startsUnseenCall: Bool {
    var seen: Set<String> = []
    for item in items {
      switch item {
      case .said, .model: break
      case .turn(let turn): seen.formUnion(turn.calls.map(\.callId))
      case .result(let result): seen.insert(result.callId)
      }
    }
    return started.keys.contains { !seen.contains($0) }
  }

  /// Totals of its model calls: tokens in and out, and cost; `nil` where no call says.
  var usage: (input: Int?, output: Int?, cost: Double?) {
    var (input, output): (Int?, Int?) = (nil, nil)
    var cost: Double?
    for case .model(let call) in items {
      if let count = call.result.inputTokens { input = (input ?? 0) &+ count }
      if let count = call.result.outputTokens { output = (output ?? 0) &+ count }
      if let price = call.result.cost { cost = (cost ?? 0) + price }
    }
    return (input, output, cost)
  }

  /// ``usage`` with that of the runs that are parts of this one.
  var usageOfTree: (input: Int?, output: Int?, cost: Double?) {
    var own = usage
    guard let below = usedBelow, below.modelCalls > 0 else { return own }
    own.input = (own.input ?? 0) &+ below.inputTokens
    own.output = (own.output ?? 0) &+ below.outputTokens
    let hasOwn = items.contains { if case .model = $0 { true } else { false } }
    own.cost = below.cost.flatMap { cost in hasOwn ? own.cost.map { $0 + cost } : cost }
    return own
  }

  /// A value as text: a string as it is, anything else as JSON.
  static func text(_ value: JSONValue) -> String {
    value.stringValue ?? CanonicalJSON.string(value, form: .plain)
  }
}

extension RunStory {
  /// Puts all that was told before anybody knew the clock on the wall on it: active run time began at that moment.
  mutating func put(onClock origin: UInt64) {
    began = origin
    first.origin = origin
    for index in items.indices { items[index].put(onClock: origin) }
    for id in started.keys { started[id]?.origin = origin }
    for (id, moments) in attempts {
      attempts[id] = moments.map { Moment(seq: $0.seq, t: $0.t, origin: origin) }
    }
  }
}

// MARK: - Reading

extension RunStory {
  /// Reads a log.
  ///
  /// - Parameters:
  ///   - showsContexts: whether what models were shown is told too.
  ///   - ending: gets how the log ends.
  ///   - place: gets the path of the file that was read.
  /// - Throws: `LogError` where the log is damaged or is none.
  init(
    path: String, showsContexts: Bool, ended ending: inout LogReader.Ending?,
    at place: inout String
  ) throws(LogError) {
    var reader = try LogReader(path: path)
    var fold = StoryFold(showsContexts: showsContexts)
    // What the tasks of a pipeline did is told as calls.
    var calls = PipelineCalls(tellsRuns: true)
    while let event = try reader.next() {
      let told = calls.told(by: event)
      for one in told.before { fold.apply(one) }
      fold.apply(event)
      for one in told.behind { fold.apply(one) }
    }
    ending = reader.ending
    place = reader.path
    self = fold.finished()
  }
}
