public import AgentTrace
public import TraceMatching

/// What a case expects of a run: the parsed `expected` of a case file.
public struct Expectations: Sendable, Hashable {
  /// How the calls of the positive lists must follow each other.
  public enum Order: String, Sendable, Hashable, CaseIterable {
    /// No order.
    case any
    /// A subsequence: other calls may stand between.
    case inOrder = "in_order"
    /// In order, and no other executed call.
    case exact
  }

  /// The run stops, or pauses, for one of these reasons.
  public var stopReasons: [StopReason]?
  /// Each is executed.
  public var toolsCalled: [CallEntry]?
  /// None is executed.
  public var toolsNotCalled: [CallEntry]?
  /// Each is proposed by a decision, whatever became of it.
  public var toolsProposed: [CallEntry]?
  /// None is proposed.
  public var toolsNotProposed: [CallEntry]?
  /// How the calls of ``toolsCalled`` and ``toolsProposed`` must follow each other.
  public var order = Order.any
  /// At most so many steps hold a decision.
  public var maxSteps: Int?
  /// At most so many calls are executed; calls of a simulated user do not count.
  public var maxToolCalls: Int?
  /// What the run's last answer is.
  public var answer: Matcher?
  /// All else that is expected, in the order of ``keyNames``. What is not used costs nothing.
  public var words: [Word] = []
  /// Further expectations that are told apart: shared sets, and those that only warn.
  public var parts: [Part] = []
  /// What these were read from, without their parts.
  public var written = WrittenExpectations()

  /// Expects nothing.
  public init() {}

  /// Every key that `expected` may have, in the order in which outcomes are told.
  public static let keyNames = [
    "stopReason", "toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed", "order",
    "maxSteps", "maxToolCalls", "answer", "extra", "eachCall", "time", "budget",
    "noRepeatedSideEffect", "noLoops", "maxInvalidDecisions", "maxRetries", "answerJson",
    "evidence", "state", "policy", "noApprovalBypass", "context", "memory", "exec", "judge",
    "severity",
  ]

  /// Expectations that are told apart from the case's own.
  public struct Part: Sendable, Hashable {
    /// What their outcomes are named by: the name of a set, or a place in a list.
    public var name: String
    /// What it means if they are not met.
    public var severity: Severity
    /// What is expected; these have no parts of their own.
    public var expectations: Expectations

    /// Nothing is checked.
    public init(name: String, severity: Severity = .error, expectations: Expectations) {
      self.name = name
      self.severity = severity
      self.expectations = expectations
    }
  }

  /// Whether nothing is expected.
  public var isEmpty: Bool {
    stopReasons == nil && toolsCalled == nil && toolsNotCalled == nil && toolsProposed == nil
      && toolsNotProposed == nil && maxSteps == nil && maxToolCalls == nil && answer == nil
      && words.isEmpty && parts.allSatisfy(\.expectations.isEmpty)
  }

  /// Whether an entry of any list is of a kind.
  private func hasEntry(_ isSuch: (CallEntry) -> Bool) -> Bool {
    toolsCalled?.contains(where: isSuch) == true || toolsNotCalled?.contains(where: isSuch) == true
      || toolsProposed?.contains(where: isSuch) == true
      || toolsNotProposed?.contains(where: isSuch) == true
  }

  /// Whether the summary of a log can tell all that these expectations ask: tools, their status,
  /// number and order, and the stop.
  public var isAnsweredBySummary: Bool {
    answer == nil && maxSteps == nil && words.allSatisfy { $0 == .noExtraCalls }
      && !hasEntry { $0.input != nil || $0.result != nil }
      && parts.allSatisfy(\.expectations.isAnsweredBySummary)
  }

  /// Whether judging looks at what a tool returned.
  public var looksAtResults: Bool {
    hasEntry { $0.result != nil || $0.input?.usesOrigins == true }
      || answer?.usesOrigins == true || !facts.isEmpty
      || parts.contains(where: \.expectations.looksAtResults)
  }

  /// Whether judging looks at the input of a call.
  public var looksAtInputs: Bool {
    hasEntry { $0.input != nil } || !facts.isEmpty || words.contains { $0 != .noExtraCalls }
      || parts.contains(where: \.expectations.looksAtInputs)
  }

  /// Whether judging looks at what the run answered.
  public var looksAtAnswer: Bool {
    answer != nil || !facts.isEmpty || parts.contains(where: \.expectations.looksAtAnswer)
  }

  /// What judging looks at beyond a trajectory; nothing where calls, stop and answer are enough.
  public var facts: Facts {
    var facts = Facts()
    for word in words { facts.formUnion(word.facts) }
    for part in parts { facts.formUnion(part.expectations.facts) }
    return facts
  }

  /// Whether logs tell all that these expectations ask: no program is started, no model asked.
  public var isToldByLogs: Bool {
    words.allSatisfy { word in
      switch word {
      case .exec, .judge: false
      default: true
      }
    } && parts.allSatisfy(\.expectations.isToldByLogs)
  }

  /// Every program that judges along.
  public var programs: [ProgramCheck] {
    words.flatMap { word -> [ProgramCheck] in
      if case .exec(let programs) = word { programs } else { [] }
    } + parts.flatMap(\.expectations.programs)
  }

  /// Every rubric by which a model judges.
  public var judges: [JudgeRule] {
    words.flatMap { word -> [JudgeRule] in
      if case .judge(let rules) = word { rules } else { [] }
    } + parts.flatMap(\.expectations.judges)
  }

  /// Whether a budget counts what sub-runs used.
  public var includesSubRuns: Bool {
    words.contains { word in
      if case .budget(let budget) = word { budget.includesSubRuns } else { false }
    } || parts.contains(where: \.expectations.includesSubRuns)
  }
}

extension Expectations {
  /// Adds a named set to them.
  ///
  /// - Parameter severity: in place of what the set says itself.
  public mutating func include(_ set: Expectations, as name: String, _ severity: Severity?) {
    var own = set
    own.parts = []
    if !own.isEmpty {
      parts.append(Part(name: name, severity: severity ?? .error, expectations: own))
    }
    for part in set.parts {
      parts.append(
        Part(
          name: name + part.name, severity: severity ?? part.severity,
          expectations: part.expectations))
    }
  }

  /// Lets programs start in a folder, and paths of judges start from it, where nothing else was said.
  public mutating func startPrograms(in folder: String) {
    for index in words.indices {
      switch words[index] {
      case .exec(var programs):
        for place in programs.indices where programs[place].folder == nil {
          programs[place].folder = folder
        }
        words[index] = .exec(programs)
      case .judge(var rules):
        for place in rules.indices where rules[place].folder == nil {
          rules[place].folder = folder
        }
        words[index] = .judge(rules)
      default: continue
      }
    }
    for index in parts.indices { parts[index].expectations.startPrograms(in: folder) }
  }
}

/// A call that a case speaks of.
public struct CallEntry: Sendable, Hashable {
  /// How often: from `minimum` to `maximum` times.
  public struct Times: Sendable, Hashable {
    /// At least so many calls.
    public var minimum: Int
    /// At most so many calls; `nil` for any number.
    public var maximum: Int?
    /// Written as `min` and `max`, not as one number.
    public var isRange: Bool

    /// Nothing is checked.
    public init(minimum: Int, maximum: Int?, isRange: Bool = true) {
      self.minimum = minimum
      self.maximum = maximum
      self.isRange = isRange
    }
  }

  /// The tool's name, or a glob of names.
  public var tool: Glob
  /// What the call's input is; `nil` for any.
  public var input: Matcher?
  /// One of these became of it.
  public var statuses: [CallStatus]?
  /// Of its result: the data of one that is ok, else the reason.
  public var result: Matcher?
  /// Without it, an entry needs a call of its own.
  public var times: Times?
  /// Who made it, or a glob; without it every caller but `user`.
  public var caller: Glob?
  /// Which arguments may differ without meaning anything; `nil` where each counts.
  public var arguments: ArgumentRule?

  /// Nothing is checked. Without conditions, any call of the tool fits that `user` did not make.
  public init(
    tool: Glob, input: Matcher? = nil, statuses: [CallStatus]? = nil, result: Matcher? = nil,
    times: Times? = nil, caller: Glob? = nil
  ) {
    self.tool = tool
    self.input = input
    self.statuses = statuses
    self.result = result
    self.times = times
    self.caller = caller
  }

  /// Every key that an entry may have.
  public static let keyNames = [
    "tool", "input", "status", "result", "times", "caller", "defaults", "ignore",
  ]

  /// The caller whose calls an entry does not speak of unless it says so.
  static let simulatedUser = "user"

  /// Whether the entry speaks of calls by someone.
  func speaks(of caller: String) -> Bool {
    self.caller?.matches(caller) ?? !caller.hasSameUTF8(as: Self.simulatedUser)
  }
}

extension CallEntry: CustomStringConvertible {
  /// The entry in words, a few hundred bytes at most.
  public var description: String {
    var text = tool.text
    if let input { text += " with input \(Self.short(input.description))" }
    if let statuses { text += ", " + statuses.map(\.rawValue).joined(separator: " or ") }
    if let result { text += ", result \(Self.short(result.description))" }
    if let times { text += ", \(times)" }
    if let caller { text += ", by \(caller.text)" }
    return text
  }

  private static func short(_ text: String) -> String {
    let head = text.prefix(utf8Bytes: 200)
    return head.utf8.count < text.utf8.count ? head + "…" : head
  }
}

extension CallEntry.Times: CustomStringConvertible {
  public var description: String {
    switch (minimum, maximum) {
    case (let least, let most?) where least == most:
      least == 1 ? "once" : least == 0 ? "never" : "\(least) times"
    case (0, let most?): "at most \(most) times"
    case (let least, nil): least == 1 ? "at least once" : "at least \(least) times"
    case (let least, let most?): "\(least) to \(most) times"
    }
  }

  /// Whether a number of calls is within.
  func contains(_ count: Int) -> Bool { count >= minimum && count <= maximum ?? .max }
}
