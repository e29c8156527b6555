import AgentTrace
import TraceStorage

/// What happened in a run, as formats of other tools tell it: who said what, which model was asked, what was
/// decided, what came back. What only our own format knows stands in the log that goes along.
struct RunStory {
  /// Something that somebody said.
  struct Said {
    enum Role: String { case system, user }
    var seq: Int
    var t: Int
    var role: Role
    var text: String
    /// Who, where the log says.
    var by: String?
  }

  /// One try of asking a model.
  struct ModelCall {
    var seq: Int
    var t: Int
    var step: Int
    var result: ModelResult
    /// What it was shown, where that was asked for and is known.
    var shown: ShownMessages?

    /// When it began, never before the run, however long a log says that it took.
    var began: Int { max(0, t - min(max(0, result.elapsedMicroseconds ?? 0), max(0, t))) }
  }

  /// What was decided.
  struct Turn {
    var seq: Int
    var t: Int
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
  }

  /// What became of a call.
  struct Result {
    var seq: Int
    var t: Int
    var callId: String
    var tool: String
    var caller: String?
    /// `ok`, `returned`, `refused` or `error`.
    var status: String
    /// What the tool gave back, or why there is nothing.
    var content: JSONValue
    var isEffectUnknown: Bool
    /// When the tool was started last; `nil` where it never was.
    var startedAt: Int?
    /// The number of the event that says so.
    var startedSeq: Int?
  }

  enum Item {
    case said(Said)
    case model(ModelCall)
    case turn(Turn)
    case result(Result)
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
  /// Nanoseconds since 1970 at which `t` is 0; 0 where the log does not say.
  var began: UInt64 = 0
  var items: [Item] = []
  var verdicts: [String: Verdict] = [:]
  /// Ids of calls that a person granted.
  var granted: Set<String> = []
  /// When the tool of a call was started last, and by which event.
  var started: [String: (t: Int, seq: Int)] = [:]
  var stop: Stop?
  /// The greatest `t`, and the number of the last event.
  var lastT = 0
  var lastSeq = 0
  var eventCount = 0
  /// Whether something of the run is not told whole: its log says so, a value was cut or lost, or the log is not
  /// closed. Whoever reads an export without the log that goes along has to know.
  var isPartial = false

  var agentName: String { start["agent"]?["name"]?.stringValue ?? "" }
  var agentVersion: String? { start["agent"]?["version"]?.stringValue }
  var modelName: String? { start["model"]?["name"]?.stringValue }
  var modelProvider: String? { start["model"]?["provider"]?.stringValue }
  /// The definitions of the tools, as the log has them.
  var tools: [JSONValue] = []

  /// Nanoseconds since 1970 of an event: those below a microsecond are its number, so that the order of events is
  /// seen also where a log knows no times.
  func nanoseconds(at t: Int, of seq: Int) -> UInt64 {
    nanoseconds(at: t) &+ UInt64(clamping: max(0, seq))
  }

  /// Nanoseconds since 1970 of a moment of the run.
  func nanoseconds(at t: Int) -> UInt64 {
    began &+ UInt64(clamping: max(0, t)).multipliedReportingOverflow(by: 1_000).partialValue
  }

  /// What was asked for, as text.
  var goal: String { (start["input"] ?? start["goal"]).map(Self.text) ?? "" }

  /// What the run answered last.
  var answer: String? {
    if let answer = stop?.answer { return answer }
    for case .turn(let turn) in items.reversed() where turn.kind == "answer" { return turn.text }
    return nil
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

  /// A value as text: a string as it is, anything else as JSON.
  static func text(_ value: JSONValue) -> String {
    value.stringValue ?? CanonicalJSON.string(value, form: .plain)
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

/// Gathers a story from events.
struct StoryFold {
  /// What was told so far.
  private(set) var story = RunStory()
  private let showsContexts: Bool
  private var shown: ShownMessages?
  private var replies: [Int: ModelResult] = [:]
  private var hasTurn = false
  private var hasSystem = false
  /// Whether what the run was asked for was told by somebody.
  private var hasGoal = false

  init(showsContexts: Bool) { self.showsContexts = showsContexts }

  mutating func apply(_ event: Event) {
    if event.seq == 0 || story.runId.isEmpty { story.runId = event.runId }
    story.eventCount += 1
    story.lastT = max(story.lastT, event.t)
    story.lastSeq = event.seq
    switch event.type {
    case .unseen: story.isPartial = true
    case .runStarted:
      if !["calls", "tools"].allSatisfy({ event.data["recorded"]?[$0] == nil }) {
        story.isPartial = true
      }
      story.start = event.data
      story.tools = event.data["tools"]?.arrayValue ?? []
      story.began = event.time.flatMap(UTCTime.nanoseconds) ?? 0
    case .toolsListed: story.tools += event.data["tools"]?.arrayValue ?? []
    case .contextBuilt: apply(context: event)
    case .modelResult: apply(reply: event)
    case .decision: apply(decision: event)
    case .policyDecision: apply(verdict: event)
    case .approval:
      if event.data["granted"] == true, let id = event.data["callId"]?.stringValue {
        story.granted.insert(id)
      }
    case .toolStarted:
      if let id = event.data["callId"]?.stringValue { story.started[id] = (event.t, event.seq) }
    case .toolResult: apply(result: event)
    case .humanReplied:
      if !hasTurn { hasGoal = true }
      story.items.append(
        .said(
          RunStory.Said(
            seq: event.seq, t: event.t, role: .user,
            text: event.data["text"].map(RunStory.text) ?? "",
            by: event.data["by"]?.stringValue)))
    case .runResumed: story.stop = nil
    case .stop: story.stop = try? Stop(decoding: event.data)
    default: break
    }
  }

  private mutating func apply(context event: Event) {
    let messages = event.data["prompt"]?["messages"]?.arrayValue ?? []
    if !hasSystem, !hasTurn {
      for message in messages where message["role"] == "system" {
        hasSystem = true
        story.items.append(
          .said(
            RunStory.Said(
              seq: event.seq, t: event.t, role: .system, text: ShownMessages.text(of: message))))
      }
    }
    if showsContexts { shown = ShownMessages(messages) }
  }

  private mutating func apply(reply event: Event) {
    guard let result = try? ModelResult(decoding: event.data) else { return }
    story.items.append(
      .model(
        RunStory.ModelCall(
          seq: event.seq, t: event.t, step: event.step, result: result,
          shown: result.purpose == ModelPurpose.decide.rawValue ? shown : nil)))
    // A decision names the reply before it; of several conversations the last few.
    replies[event.seq] = result
    if replies.count > 64, let oldest = replies.keys.min() { replies[oldest] = nil }
  }

  private mutating func apply(decision event: Event) {
    guard let payload = try? DecisionPayload(decoding: event.data) else { return }
    hasTurn = true
    if payload.decision.calls.contains(where: { $0.input.isCutSomewhere }) {
      story.isPartial = true
    }
    var turn = RunStory.Turn(
      seq: event.seq, t: event.t, step: event.step, kind: payload.decision.kind,
      caller: payload.caller, calls: payload.decision.calls)
    turn.modelSeq = payload.modelResult
    turn.model = payload.modelResult.flatMap { replies.removeValue(forKey: $0) }
    let reply = turn.model?.reply
    turn.reasoning = reply?["reasoning"]?.stringValue
    switch payload.decision {
    case .answer(let text, _): turn.text = text
    case .askHuman(let question): turn.text = question
    case .stop(let reason, let detail):
      turn.text = (reply?["text"] ?? reply?["content"])?.stringValue ?? detail ?? reason.rawValue
    case .tool, .invalid:
      turn.text = reply?.stringValue ?? (reply?["text"] ?? reply?["content"])?.stringValue
    }
    story.items.append(.turn(turn))
  }

  private mutating func apply(verdict event: Event) {
    guard let id = event.data["callId"]?.stringValue,
      let status = event.data["status"]?.stringValue
    else { return }
    story.verdicts[id] = RunStory.Verdict(
      status: status, ruleId: event.data["ruleId"]?.stringValue,
      reason: event.data["reason"]?.stringValue)
  }

  private mutating func apply(result event: Event) {
    guard let id = event.data["callId"]?.stringValue else { return }
    let status = event.data["status"]?.stringValue ?? "returned"
    if (event.data["data"] ?? event.data["reason"])?.isCutSomewhere == true {
      story.isPartial = true
    }
    story.items.append(
      .result(
        RunStory.Result(
          seq: event.seq, t: event.t, callId: id, tool: event.data["tool"]?.stringValue ?? "",
          caller: event.data["caller"]?.stringValue, status: status,
          content: event.data["data"] ?? event.data["reason"] ?? .null,
          isEffectUnknown: event.data["effect"] == "unknown", startedAt: story.started[id]?.t,
          startedSeq: story.started[id]?.seq)))
  }

  /// Leaves out what spans that have ended were made of.
  mutating func forgetEnded() { story.forgetEnded() }

  /// The whole story, once no event follows.
  func finished() -> RunStory {
    var story = story
    story.identity = story.runId
    guard !hasGoal, !story.goal.isEmpty else { return story }
    let said = RunStory.Said(seq: 0, t: 0, role: .user, text: story.goal)
    let place =
      story.items.firstIndex { item in
        if case .said(let said) = item { said.role != .system } else { true }
      } ?? story.items.count
    story.items.insert(.said(said), at: place)
    return story
  }
}

/// What a model was shown, as the messages of OpenTelemetry's conventions, as JSON text; the oldest are left out
/// beyond a limit, since each call repeats those before.
struct ShownMessages {
  /// The most bytes of a call's messages.
  private static let limitBytes = 32 * 1024

  /// The messages; ids of calls are those of the log.
  private var messages: [JSONValue]
  /// How many messages are not there.
  var omitted: Int

  init(_ messages: [JSONValue]) {
    var kept: [JSONValue] = []
    var bytes = 0
    var rest = messages[...]
    // What a model is told first, and what it was told last.
    if let first = rest.first, first["role"] == "system" {
      let message = Self.message(first)
      bytes += CanonicalJSON.encode(message, form: .plain).count
      kept.append(message)
      rest = rest.dropFirst()
    }
    var last: [JSONValue] = []
    while let message = rest.last {
      let converted = Self.message(message)
      bytes += CanonicalJSON.encode(converted, form: .plain).count
      if bytes > Self.limitBytes, !last.isEmpty { break }
      last.append(converted)
      rest = rest.dropLast()
    }
    omitted = rest.count
    self.messages = kept + last.reversed()
  }

  /// The text, with ids of calls that no other run has.
  func text(of identity: String) -> String {
    let own = messages.map { message -> JSONValue in
      guard var object = message.objectValue, let parts = object["parts"]?.arrayValue else {
        return message
      }
      object["parts"] = .array(
        parts.map { part in
          guard var call = part.objectValue, let id = call["id"]?.stringValue else { return part }
          call["id"] = .string("\(identity)/\(id)")
          return .object(call)
        })
      return .object(object)
    }
    return CanonicalJSON.string(.array(own), form: .plain)
  }

  /// A message of a packet with the parts that the conventions name.
  private static func message(_ message: JSONValue) -> JSONValue {
    let parts = (message["content"]?.arrayValue ?? []).map { part -> JSONValue in
      switch part["type"]?.stringValue {
      case "text": return ["type": "text", "content": part["text"] ?? ""]
      case "reasoning": return ["type": "reasoning", "content": part["text"] ?? ""]
      case "tool_call":
        return [
          "type": "tool_call", "id": part["callId"] ?? "",
          "name": part["name"] ?? "", "arguments": part["input"] ?? .null,
        ]
      case "tool_result":
        return [
          "type": "tool_call_response", "id": part["callId"] ?? "",
          "response": part["data"] ?? part["reason"] ?? .null,
        ]
      default: return part
      }
    }
    return ["role": message["role"] ?? "user", "parts": .array(parts)]
  }

  /// The text of a packet's message.
  static func text(of message: JSONValue) -> String {
    if let text = message["content"]?.stringValue { return text }
    return (message["content"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
      .joined(separator: "\n")
  }
}

/// Moments as logs write them.
enum UTCTime {
  /// Nanoseconds since 1970 of `2026-01-01T00:00:00.000000Z`; `nil` for anything else, and before 1970.
  static func nanoseconds(_ text: String) -> UInt64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[10] == UInt8(ascii: "T"), bytes.last == UInt8(ascii: "Z") else {
      return nil
    }
    func number(_ range: Range<Int>) -> Int? {
      var value = 0
      for byte in bytes[range] {
        guard (0x30...0x39).contains(byte) else { return nil }
        value = value * 10 + Int(byte - 0x30)
      }
      return value
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    var fraction = 0
    if bytes[19] == UInt8(ascii: ".") {
      let digits = bytes.count - 21
      guard (1...9).contains(digits), let value = number(20..<bytes.count - 1) else { return nil }
      fraction = value
      for _ in digits..<9 { fraction *= 10 }
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    guard seconds >= 0, seconds < 9_000_000_000 else { return nil }
    return UInt64(seconds) * 1_000_000_000 + UInt64(fraction)
  }

  /// Days since 1970-01-01 of a day of the Gregorian calendar, counted from March on so that the leap day comes
  /// last.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// A moment as text, `2026-01-01T00:00:00.000000Z`.
  static func text(_ nanoseconds: UInt64) -> String {
    let micros = nanoseconds / 1_000
    let (seconds, fraction) = (Int(micros / 1_000_000), Int(micros % 1_000_000))
    let day = seconds / 86_400 + 719_468
    let era = day / 146_097
    let dayOfEra = day - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let (hour, minute, second) = (seconds % 86_400 / 3_600, seconds % 3_600 / 60, seconds % 60)
    func padded(_ value: Int, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return
      "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfYear - (153 * shifted + 2) / 5 + 1, 2))"
      + "T\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2)).\(padded(fraction, 6))Z"
  }
}

extension JSONValue {
  /// Whether something in it is cut, lost, or no text that JSON can hold.
  var isCutSomewhere: Bool {
    switch self {
    case .cut, .lost, .bytes: true
    case .array(let elements): elements.contains(where: \.isCutSomewhere)
    case .object(let object): object.contains { $0.value.isCutSomewhere }
    default: false
    }
  }
}
