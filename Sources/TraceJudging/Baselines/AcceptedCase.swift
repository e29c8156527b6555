public import AgentTrace

/// What was accepted of a case: what was asked of it, and what its runs did. Docs/baselines.md specifies
/// the text that it is kept as.
public struct AcceptedCase: Sendable, Hashable {
  /// The case's name.
  public var caseId: String
  /// Why it was left out; `nil` for a case that was judged.
  public var skip: CaseSkip?
  /// What was asked, in the order of the case.
  public var asked: [AskedExpectation]
  /// What its runs did, sorted by their text; empty where it was never judged.
  public var runs: [AcceptedRun]
  /// Whether no more is known than what the judge said: made from results, not from a trajectory.
  public var holdsOutcomesAlone = false

  /// Nothing is checked.
  public init(
    caseId: String, skip: CaseSkip? = nil, asked: [AskedExpectation] = [], runs: [AcceptedRun] = []
  ) {
    self.caseId = caseId
    self.skip = skip
    self.asked = asked
    self.runs = runs
  }

  /// As a baseline holds it: its runs sorted by their text, equal ones once.
  public var sorted: AcceptedCase {
    var sorted = self
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
  public struct Ending: Sendable, Hashable {
    /// The stop reason.
    public var reason: String
    /// What exactly; `nil` where the log does not say.
    public var detail: String?

    /// Nothing is checked.
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

    /// Nothing is checked.
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
  public var stop: Ending?
  /// Steps that hold a decision.
  public var steps = 0
  /// Tokens in and out of all calls of the model; `nil` where they are not all known.
  public var tokens: Int?
  /// What the calls of the model cost, to a millionth; `nil` where that is not known.
  public var cost: Double?
  /// What the judge said, in its order.
  public var checks: [Check] = []

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

    /// Nothing is checked.
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
  /// Whether the gate said that a person has to approve it, before its last word.
  public var wasAsked = false
  /// The policy gate's last word; `nil` where none was recorded.
  public var verdict: String?
  /// What became of it; `nil` where it has neither start nor result.
  public var status: String?
  /// The events that show it, and its step; known of a run that was just judged, never kept.
  public var events: [Int] = []
  /// See ``events``; 0 where it is not known.
  public var step = 0

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
    // Last, since calls of one decision are sorted by their keys: what became of a call does not
    // change its place.
    parts += [isInvalid ? "invalid" : "", wasAsked ? "asked" : "", verdict ?? "", status ?? ""]
    return Array(parts.map { "\($0.utf8.count):\($0)" }.joined().utf8)
  }
}

// MARK: - From a log

/// What the model's calls of a run used.
public struct RunUsage: Sendable {
  private var totals = Totals()
  private var lacksTokens = false

  /// No call was seen.
  public init() {}

  /// Takes in the data of a `model_result`.
  public mutating func count(modelResult data: JSONObject) {
    totals.count(modelResult: data)
    // A try that failed and says nothing used nothing that anybody knows of.
    let usage = data["usage"]
    if data["error"] == nil,
      usage?["inputTokens"]?.intValue == nil || usage?["outputTokens"]?.intValue == nil
    {
      lacksTokens = true
    }
  }

  /// All tokens; `nil` where no call said so, or not every one.
  var tokens: Int? {
    guard totals.modelCalls > 0, !lacksTokens else { return nil }
    let (sum, overflow) = totals.inputTokens.addingReportingOverflow(totals.outputTokens)
    return overflow ? nil : sum
  }

  /// The cost to a millionth; `nil` where it is not known.
  var cost: Double? {
    guard let cost = totals.cost, cost.isFinite, cost >= 0, cost < 1e9 else { return nil }
    return (cost * 1_000_000).rounded() / 1_000_000
  }
}

extension AcceptedRun {
  /// What a baseline holds of a run that was just judged.
  public init(of trajectory: Trajectory, _ usage: RunUsage, _ judgement: Judgement) {
    self.init(outcome: judgement.outcome)
    isIncomplete = !trajectory.gaps.isEmpty || trajectory.recorded["calls"] != nil
    var group: Int?
    for call in trajectory.calls {
      if call.group != group { decisions.append([]) }
      group = call.group
      decisions[decisions.count - 1].append(AcceptedCall(of: call))
    }
    stop = trajectory.stop.map { stop in
      Ending(
        reason: stop.reason.rawValue, detail: stop.detail.map { AcceptedText.name(for: $0) })
    }
    steps = trajectory.steps
    if trajectory.recorded["model"] == nil {
      tokens = usage.tokens
      cost = usage.cost
    }
    checks = judgement.outcomes.map(Check.init)
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
    wasAsked = call.outline.wasAsked && call.outline.verdict != .approvalRequired
    verdict = call.outline.verdict?.rawValue
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
