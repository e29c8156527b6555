public import AgentTrace

/// What was accepted of a case: what was asked of it, and what its runs did. Docs/baselines.md specifies
/// the text that it is kept as.
public struct AcceptedCase: Sendable, Hashable {
  /// The version of the text's format that it was read from, or is written in. Version 1 holds of a run's path
  /// no more than calls, their last verdict and the stop, and of a case only what it expects.
  public var format = AcceptedText.currentFormat
  /// The case's name.
  public var caseId: String
  /// What the case says beside what it expects.
  public var setting = CaseSetting()
  /// Why it was left out; `nil` for a case that was judged.
  public var skip: CaseSkip?
  /// What was asked, in the order of the case.
  public var asked: [AskedExpectation]
  /// What its runs did, sorted by their text; empty where it was never judged.
  public var runs: [AcceptedRun]
  /// Whether no more is known than what the judge said: made from results, not from a trajectory.
  public var holdsOutcomesAlone = false

  /// Without runs, the case was never judged.
  public init(
    caseId: String, skip: CaseSkip? = nil, asked: [AskedExpectation] = [], runs: [AcceptedRun] = []
  ) {
    self.caseId = caseId
    self.skip = skip
    self.asked = asked
    self.runs = runs
  }

  /// As a baseline holds it: its runs sorted by their text, equal ones once, and without the goals that the case's
  /// input says.
  public var sorted: AcceptedCase {
    var sorted = self
    let input = setting[.input].map(ByteText.init)
    let runs = runs.map { run in
      var run = run
      if run.goal.map(ByteText.init) == input { run.goal = nil }
      return run
    }
    let texts = runs.map { (Array(AcceptedText.lines(of: $0).joined(separator: "\n").utf8), $0) }
      .sorted { $0.0.lexicographicallyPrecedes($1.0) }
    sorted.runs = texts.indices.compactMap { index in
      index > 0 && texts[index - 1].0 == texts[index].0 ? nil : texts[index].1
    }
    return sorted
  }

  /// The worst outcome of its runs; `nil` where it has none.
  public var outcome: CaseOutcome? {
    runs.map(\.outcome).max { Self.badness($0) < Self.badness($1) }
  }

  /// The further from a pass, the more.
  static func badness(_ outcome: CaseOutcome) -> Int {
    switch outcome {
    case .pass: 0
    case .inconclusive: 1
    case .fail: 2
    case .error: 3
    }
  }
}

/// What one run of a case did, as far as a baseline holds it: nothing that differs from one machine or
/// one day to the next.
public struct AcceptedRun: Sendable, Hashable {
  /// How the run ended or paused.
  public struct StopFact: Sendable, Hashable {
    /// The stop reason.
    public var reason: String
    /// What exactly; `nil` where the log does not say.
    public var detail: String?

    /// The reason may be one that this version does not know.
    public init(reason: String, detail: String? = nil) {
      self.reason = reason
      self.detail = detail
    }
  }

  /// What the judge said of one expectation.
  public struct Check: Sendable, Hashable {
    /// The name that the judge tells it by.
    public var name: String
    /// The word on it.
    public var outcome: Outcome
    /// What it means if it is not met; not part of a baseline's text, which has it beside what was
    /// asked.
    public var severity = Severity.error

    /// What a baseline holds of an expectation's outcome.
    public init(_ outcome: ExpectationOutcome) {
      self.init(
        name: AcceptedText.name(for: outcome.expectation), outcome: outcome.outcome,
        severity: outcome.severity)
    }

    /// Counts as an error unless said otherwise.
    public init(name: String, outcome: Outcome, severity: Severity = .error) {
      self.name = name
      self.outcome = outcome
      self.severity = severity
    }
  }

  /// The word on the run as a whole.
  public var outcome: CaseOutcome
  /// Whether events of it are missing from its log.
  public var isIncomplete = false
  /// Its decisions that hold calls, in order; calls of one decision have no order among themselves.
  public var decisions: [[AcceptedCall]] = []
  /// How it ended; `nil` where it has no stop.
  public var stop: StopFact?
  /// Steps that hold a decision.
  public var steps = 0
  /// Tokens in and out of all calls of the model; `nil` where they are not all known.
  public var tokens: Int?
  /// What the calls of the model cost, to a millionth; `nil` where that is not known.
  public var cost: Double?
  /// What the judge said, in its order.
  public var checks: [Check] = []
  /// What the run was made with.
  public var setting = RunSetting()
  /// What it was to do, as ``AcceptedText`` writes a text; `nil` where nobody knows it or compares it, and in a
  /// baseline where the case's input says it.
  public var goal: String?
  /// What the runs below it were made with, each caller once, without the elements of tasks.
  public var below: [Below] = []
  /// How many of its decisions were invalid.
  public var invalidDecisions = 0
  /// Its last answer.
  public var answer = Answer.unknown
  /// What the answer cites that is no call of the run, in its order.
  public var cites: [String] = []
  /// What the case's expectations say of its calls; known of a run that was just judged, never kept.
  var namings = Namings()

  /// The runs of a caller below the root.
  public struct Below: Sendable, Hashable {
    /// Who they are.
    public var caller: String
    /// What they were made with.
    public var setting = RunSetting()
  }

  /// The answer that a run gave last.
  public enum Answer: Sendable, Hashable {
    /// Nobody knows, or nobody compares it: a run that was made live just now.
    case unknown
    /// It gave none.
    case none
    /// As ``AcceptedText`` writes a text.
    case given(String)
  }

  /// A run that did nothing.
  public init(outcome: CaseOutcome) { self.outcome = outcome }
}

/// One call of an accepted run.
public struct AcceptedCall: Sendable {
  /// One part of a call's input.
  public struct Argument: Sendable, Hashable {
    /// Where it stands in the input: a JSON Pointer (RFC 6901).
    public var pointer: String
    /// Its value as ``AcceptedText`` writes it: canonical JSON, or the digest of a long one.
    public var value: String

    /// The value is text that ``AcceptedText`` made.
    public init(pointer: String, value: String) {
      self.pointer = pointer
      self.value = value
    }

    /// What it is compared by: a number that is only written in another way is the same, also in a
    /// baseline that an earlier version wrote.
    var comparedValue: String {
      guard let first = value.utf8.first, first < UInt8(ascii: ":") else { return value }
      return JSONNumber(token: value)?.byValue.token ?? value
    }
  }

  /// The tool that was called.
  public var tool: String
  /// Who called it.
  public var caller = "agent"
  /// Whether its decision was invalid.
  public var isInvalid = false
  /// Its input, leaf by leaf; none for an empty object.
  public var arguments: [Argument] = []
  /// What policy and people said of it, in the order in which they did.
  public var gateAnswers: [GateAnswer] = []
  /// How often it was tried; 1 also where no try was recorded.
  public var attempts = 1
  /// What became of it; `nil` where it has neither start nor result.
  public var status: String?
  /// Whether the run's answer cites it.
  public var isCited = false
  /// The events that show it, and its step; known of a run that was just judged, never kept.
  public var events: [Int] = []
  /// See ``events``; 0 where it is not known.
  public var step = 0
  /// Whether it may change something: its tool is not known to read alone. See ``events``.
  public var mayWrite = true
  /// Whether a simulated user made it. See ``events``.
  var isOfSimulatedUser = false
  /// The namings of the run's ``AcceptedRun/namings`` that speak of it. See ``events``.
  var namedBy: [Int] = []

  /// One word on a call.
  public enum GateAnswer: Sendable, Hashable {
    /// Of policy: the raw value of a `VerdictStatus`.
    case verdict(String)
    /// Of a person who was asked.
    case approval(Grant)
  }

  /// What a person said who was asked.
  public struct Grant: Sendable, Hashable {
    /// Whether the call may run.
    public var isGranted: Bool
    /// Who said it.
    public var by: String
    /// How many calls of that input it covers, itself among them; `nil` for all of the run.
    public var calls: Int?

    /// Without a number, it covers every call of that input in the run.
    public init(isGranted: Bool, by: String, calls: Int?) {
      self.isGranted = isGranted
      self.by = by
      self.calls = calls
    }

    // Texts that only look alike are not the same.
    public static func == (left: Grant, right: Grant) -> Bool {
      left.isGranted == right.isGranted && left.calls == right.calls
        && left.by.hasSameUTF8(as: right.by)
    }
  }

  /// Policy's words, in their order.
  var verdicts: [String] {
    gateAnswers.compactMap { if case .verdict(let word) = $0 { word } else { nil } }
  }

  /// What people said, in their order.
  var grants: [Grant] {
    gateAnswers.compactMap { if case .approval(let grant) = $0 { grant } else { nil } }
  }

  /// The policy gate's last word; `nil` where none was recorded.
  public var verdict: String? { verdicts.last }

  /// Whether the gate said that a person has to approve it, before its last word.
  public var wasAsked: Bool {
    let asking = VerdictStatus.approvalRequired.rawValue
    return verdicts.last != asking && verdicts.contains(asking)
  }

  /// Whether its tool was started or returned something.
  var isExecuted: Bool { status != nil && status != CallStatus.refused.rawValue }

  /// A call without input of which nothing else is known.
  public init(tool: String) { self.tool = tool }
}

extension AcceptedCall: Hashable {
  /// Whether the calls are the same, wherever they stand in a log.
  public static func == (left: AcceptedCall, right: AcceptedCall) -> Bool { left.key == right.key }
  public func hash(into hasher: inout Hasher) { hasher.combine(key) }

  /// All that a baseline holds of it, as bytes: texts that only look alike are not the same.
  var key: [UInt8] {
    var parts = [tool, caller]
    for argument in arguments { parts += [argument.pointer, argument.comparedValue] }
    // How many there are, so that none is taken for what stands behind them.
    parts.append("\(arguments.count)")
    // Last, since calls of one decision are sorted by their keys: what became of a call does not
    // change its place.
    parts.append(isInvalid ? "invalid" : "")
    for answer in gateAnswers { parts.append(AcceptedText.line(of: answer)) }
    parts += ["\(attempts)", status ?? "", isCited ? "cited" : ""]
    return Array(parts.map { "\($0.utf8.count):\($0)" }.joined().utf8)
  }
}

// MARK: - From a log

extension AcceptedRun {
  /// What a baseline holds of a run that was just judged.
  ///
  /// - Parameters:
  ///   - trajectory: Its calls, its answer and its stop.
  ///   - notes: What else its events say.
  ///   - judgement: What the judge said of it, of which the outcome is kept.
  ///   - expectations: What it was judged by; they say which calls somebody expects.
  ///   - isLive: Whether it was made just now: then nobody compares the words of its answer.
  public init(
    of trajectory: Trajectory, _ notes: RunNotes, _ judgement: Judgement,
    asked expectations: Expectations = Expectations(), isLive: Bool = false
  ) {
    self.init(outcome: judgement.outcome)
    isIncomplete = !trajectory.gaps.isEmpty || trajectory.recorded["calls"] != nil
    namings = Namings(of: expectations)
    var group: Int?
    let refs = trajectory.answer?.evidenceRefs ?? []
    let cited = Set(refs.map(ByteText.init))
    var known: Set<ByteText> = []
    for call in trajectory.calls {
      if call.group != group { decisions.append([]) }
      group = call.group
      var accepted = AcceptedCall(of: call)
      notes.complete(&accepted, call)
      let id = ByteText(call.outline.callId)
      accepted.isCited = cited.contains(id)
      if accepted.isCited { known.insert(id) }
      accepted.namedBy = namings.indices(for: call)
      decisions[decisions.count - 1].append(accepted)
    }
    cites = refs.filter { !known.contains(ByteText($0)) }.map(AcceptedText.name(for:))
    if !isLive {
      answer = Answer(of: trajectory)
      goal = notes.goal
    }
    setting = notes.setting
    below = notes.below.map { Below(caller: $0.caller, setting: $0.setting) }
    invalidDecisions = notes.invalidDecisions
    stop = trajectory.stop.map { stop in
      StopFact(
        reason: stop.reason.rawValue, detail: stop.detail.map { AcceptedText.name(for: $0) })
    }
    steps = trajectory.steps
    if trajectory.recorded["model"] == nil {
      tokens = notes.usage.tokens
      cost = notes.usage.cost
    }
    checks = judgement.outcomes.map(Check.init)
  }
}

extension AcceptedRun {
  /// What the first version of the format held of it, so that a run is held against what was known then.
  var asInFirstFormat: AcceptedRun {
    var run = self
    run.setting = RunSetting()
    run.goal = nil
    run.below = []
    run.invalidDecisions = 0
    run.answer = .unknown
    run.cites = []
    for decision in run.decisions.indices {
      for index in run.decisions[decision].indices {
        run.decisions[decision][index].forgetWholePath()
      }
    }
    return run
  }
}

extension AcceptedCall {
  fileprivate mutating func forgetWholePath() {
    let asked = wasAsked ? [GateAnswer.verdict(VerdictStatus.approvalRequired.rawValue)] : []
    gateAnswers = asked + (verdict.map { [.verdict($0)] } ?? [])
    attempts = 1
    isCited = false
  }
}

extension AcceptedRun.Answer {
  /// The last answer of a trajectory, as far as its log can show it.
  fileprivate init(of trajectory: Trajectory) {
    if let answer = trajectory.answer {
      self = .given(AcceptedText.value(answer.value))
    } else {
      let mayBeHidden =
        !trajectory.gaps.isEmpty || trajectory.recorded["model"] == "none"
        || trajectory.lastUnseen != nil
      self = mayBeHidden ? .unknown : .none
    }
  }
}

extension AcceptedCall {
  /// How many parts of one input stand apart; a larger input stands as one.
  static let argumentLimit = 64

  /// What a baseline holds of a call.
  init(of call: Trajectory.Call) {
    self.init(tool: AcceptedText.name(for: call.tool))
    caller = AcceptedText.name(for: call.caller)
    isInvalid = call.isInvalid
    isOfSimulatedUser = call.outline.isOfSimulatedUser
    // All of them stand in the notes of a run; what a trajectory knows is the last, and whether one asked.
    if call.outline.wasAsked, call.outline.verdict != .approvalRequired {
      gateAnswers.append(.verdict(VerdictStatus.approvalRequired.rawValue))
    }
    if let verdict = call.outline.verdict { gateAnswers.append(.verdict(verdict.rawValue)) }
    status = call.status?.rawValue
    events = call.events
    step = call.step
    // By value, as they are compared.
    let input = call.input?.byValue ?? .lost("an input that was not read")
    if let leaves = Self.leaves(of: input) {
      arguments = leaves.map {
        Argument(
          pointer: AcceptedText.name(for: "\($0.pointer)"), value: AcceptedText.value($0.value))
      }
    } else {
      arguments = [Argument(pointer: "", value: AcceptedText.value(input))]
    }
  }

  /// The scalars of an input and its empty containers, in order; `nil` where there are too many.
  private static func leaves(of input: JSONValue) -> [(pointer: JSONPointer, value: JSONValue)]? {
    if case .object(let object) = input, object.isEmpty { return [] }
    var leaves: [(pointer: JSONPointer, value: JSONValue)] = []
    // What is still to be looked at, the next one last.
    var pending: [(JSONPointer, JSONValue)] = [(JSONPointer(), input)]
    while let (pointer, value) = pending.popLast() {
      switch value {
      case .object(let object) where !object.isEmpty:
        pending += object.reversed().map { (pointer.appending($0.key), $0.value) }
      case .array(let elements) where !elements.isEmpty:
        pending += elements.enumerated().reversed().map { (pointer.appending(String($0)), $1) }
      default: leaves.append((pointer, value))
      }
      if leaves.count + pending.count > argumentLimit { return nil }
    }
    return leaves
  }
}
