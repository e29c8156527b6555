public import AgentTrace
public import TraceMatching

/// What a case expects of a run: the parsed `expected` of a case file.
public struct Expectations: Sendable, Hashable {
  /// All that is expected but for the parts, in the order of ``keyNames``. What is not used costs nothing.
  package private(set) var all: [AnyExpectation] = []
  /// What of a trajectory judging them looks at, parts aside.
  private var ownNeeds: TrajectoryNeeds = []
  /// What judging them looks at beyond a trajectory, parts aside.
  private var ownFacts: Facts = []
  /// Further expectations that are told apart: shared sets, and those that only warn.
  public var parts: [Part] = []
  /// What these were read from, without their parts.
  public var written = WrittenExpectations()

  /// Expects nothing.
  public init() {}

  /// Everything that can be expected, in the order in which outcomes are told.
  static let kinds: [any Expectation.Type] = [
    StopReasonExpectation.self, ToolsCalled.self, ToolsNotCalled.self, ToolsProposed.self,
    ToolsNotProposed.self, OrderOfCalls.self, MaxSteps.self, MaxToolCalls.self,
    AnswerExpectation.self, NoExtraCalls.self, EachCall.self, TimeExpectation.self,
    BudgetExpectation.self, NoRepeatedSideEffect.self, NoLoops.self, MaxInvalidDecisions.self,
    MaxRetries.self, AnswerJSON.self, EvidenceExpectation.self, StateExpectation.self,
    PolicyExpectation.self, NoApprovalBypass.self, ContextExpectation.self,
    MemoryExpectation.self, TasksExpectation.self, CallersExpectation.self, ProgramExpectation.self,
    JudgeExpectation.self,
  ]

  /// The key that says what it means if the others beside it are not met; it expects nothing itself.
  static let severityKey = "severity"

  /// Every key that `expected` may have, in the order in which outcomes are told.
  public static let keyNames = kinds.map { $0.key } + [severityKey]

  /// The kind that stands under a key; `nil` where none does.
  static func kind(_ key: String) -> (any Expectation.Type)? {
    kinds.first { $0.key.hasSameUTF8(as: key) }
  }

  /// Expectations that are told apart from the case's own.
  public struct Part: Sendable, Hashable {
    /// What their outcomes are named by: the name of a set, or a place in a list.
    public var name: String
    /// What it means if they are not met.
    public var severity: Severity = .error
    /// What is expected; these have no parts of their own.
    public var expectations: Expectations
  }
}

// MARK: - One by one

extension Expectations {
  /// What is expected of one kind; `nil` where nothing is.
  subscript<Kind: Expectation>(kind: Kind.Type) -> Kind? {
    get {
      for one in all { if let found = one.base as? Kind { return found } }
      return nil
    }
    set {
      let others = all.filter { !($0.base is Kind) }
      all = (others + (newValue.map { [AnyExpectation($0)] } ?? []))
        .sorted { Self.rank($0) < Self.rank($1) }
      gatherNeeds()
    }
  }

  /// Adds what was read, behind everything that has been read before it.
  mutating func append(_ expectation: any Expectation) {
    all.append(AnyExpectation(expectation))
    gatherNeeds()
  }

  /// These expectations, parts aside, without all but one of them; what that says of the calls of
  /// `toolsCalled` is said of those.
  package func only(_ one: AnyExpectation) -> Expectations {
    var expectations = Expectations()
    if one.base is NoExtraCalls { expectations[ToolsCalled.self] = self[ToolsCalled.self] }
    expectations.append(one.base)
    return expectations
  }

  /// Without what programs and models judge, parts included; parts of which nothing is left go.
  var withoutOutsiders: Expectations {
    var expectations = self
    expectations.all.removeAll { $0.base.needs.contains(.outsiders) }
    expectations.gatherNeeds()
    for index in parts.indices {
      expectations.parts[index].expectations = parts[index].expectations.withoutOutsiders
    }
    expectations.parts.removeAll(where: \.expectations.isEmpty)
    return expectations
  }

  /// What each run of a tree can be held against by itself; parts of which nothing is left go.
  var ofEachRun: Expectations {
    var expectations = self
    expectations.all.removeAll { !$0.base.isOfEachRun }
    if let time = self[TimeExpectation.self] { expectations[TimeExpectation.self] = time.ofEachRun }
    expectations.gatherNeeds()
    for index in parts.indices {
      expectations.parts[index].expectations = parts[index].expectations.ofEachRun
    }
    expectations.parts.removeAll(where: \.expectations.isEmpty)
    return expectations
  }

  private mutating func gatherNeeds() {
    ownNeeds = all.reduce(into: []) { $0.formUnion($1.base.needs) }
    ownFacts = all.reduce(into: []) { $0.formUnion($1.base.facts) }
    // Whoever looks at the course of a run looks at all of its trajectory.
    if !ownFacts.isEmpty { ownNeeds.formUnion(.all) }
  }

  private static func rank(_ one: AnyExpectation) -> Int {
    kinds.firstIndex { $0 == type(of: one.base) } ?? kinds.count
  }

  /// The run stops, or pauses, for one of these reasons.
  public var stopReasons: [StopReason]? {
    get { self[StopReasonExpectation.self]?.reasons }
    set { self[StopReasonExpectation.self] = newValue.map(StopReasonExpectation.init(reasons:)) }
  }

  /// Each is executed.
  public var toolsCalled: [CallEntry]? {
    get { self[ToolsCalled.self]?.entries }
    set { self[ToolsCalled.self] = newValue.map(ToolsCalled.init(entries:)) }
  }

  /// None is executed.
  public var toolsNotCalled: [CallEntry]? {
    get { self[ToolsNotCalled.self]?.entries }
    set { self[ToolsNotCalled.self] = newValue.map(ToolsNotCalled.init(entries:)) }
  }

  /// Each is proposed by a decision, whatever became of it.
  public var toolsProposed: [CallEntry]? {
    get { self[ToolsProposed.self]?.entries }
    set { self[ToolsProposed.self] = newValue.map(ToolsProposed.init(entries:)) }
  }

  /// None is proposed.
  public var toolsNotProposed: [CallEntry]? {
    get { self[ToolsNotProposed.self]?.entries }
    set { self[ToolsNotProposed.self] = newValue.map(ToolsNotProposed.init(entries:)) }
  }

  /// How the calls of ``toolsCalled`` and ``toolsProposed`` must follow each other.
  public var order: Order {
    get { self[OrderOfCalls.self]?.order ?? .any }
    set { self[OrderOfCalls.self] = newValue == .any ? nil : OrderOfCalls(order: newValue) }
  }

  /// At most so many steps hold a decision.
  public var maxSteps: Int? {
    get { self[MaxSteps.self]?.limit }
    set { self[MaxSteps.self] = newValue.map(MaxSteps.init(limit:)) }
  }

  /// At most so many calls are executed; calls of a simulated user do not count.
  public var maxToolCalls: Int? {
    get { self[MaxToolCalls.self]?.limit }
    set { self[MaxToolCalls.self] = newValue.map(MaxToolCalls.init(limit:)) }
  }

  /// What the run's last answer is.
  public var answer: Matcher? {
    get { self[AnswerExpectation.self]?.matcher }
    set { self[AnswerExpectation.self] = newValue.map(AnswerExpectation.init(matcher:)) }
  }

  /// Every program that judges along.
  public var programs: [ProgramCheck] {
    (self[ProgramExpectation.self]?.programs ?? []) + parts.flatMap(\.expectations.programs)
  }

  /// Every rubric by which a model judges.
  public var judges: [JudgeRule] {
    (self[JudgeExpectation.self]?.rules ?? []) + parts.flatMap(\.expectations.judges)
  }

  /// Whether a budget counts what sub-runs used.
  public var includesSubRuns: Bool {
    self[BudgetExpectation.self]?.budget.includesSubRuns ?? false
      || parts.contains(where: \.expectations.includesSubRuns)
  }

  /// What runs of callers meet, each rule once.
  var callerRules: [CallerRule] {
    parts.reduce(into: self[CallersExpectation.self]?.rules ?? []) { rules, part in
      for rule in part.expectations.callerRules where !rules.contains(rule) { rules.append(rule) }
    }
  }

  /// The rules on contexts, in the order in which gathering watches for them.
  var contextRules: [ContextRule] {
    (self[ContextExpectation.self]?.rules ?? []) + parts.flatMap(\.expectations.contextRules)
  }
}

// MARK: - What is looked at

extension Expectations {
  /// Whether nothing is expected. An order alone is nothing: it says how calls follow each other.
  public var isEmpty: Bool {
    all.allSatisfy { $0.base is OrderOfCalls } && parts.allSatisfy(\.expectations.isEmpty)
  }

  private func looks(at needs: TrajectoryNeeds) -> Bool {
    ownNeeds.contains(needs) || parts.contains { $0.expectations.looks(at: needs) }
  }

  /// Whether the summary of a log can tell all that these expectations ask: tools, their status,
  /// number and order, and the stop.
  public var isAnsweredBySummary: Bool { !looks(at: .body) }

  /// Whether judging looks at what a tool returned.
  public var looksAtResults: Bool { looks(at: .results) }

  /// Whether judging looks at the input of a call.
  public var looksAtInputs: Bool { looks(at: .inputs) }

  /// Whether judging looks at what the run answered.
  public var looksAtAnswer: Bool { looks(at: .answer) }

  /// Whether logs tell all that these expectations ask: no program is started, no model asked.
  public var isToldByLogs: Bool { !looks(at: .outsiders) }

  /// What judging looks at beyond a trajectory; nothing where calls, stop and answer are enough.
  public var facts: Facts {
    parts.reduce(into: ownFacts) { $0.formUnion($1.expectations.facts) }
  }
}

// MARK: - Putting together

extension Expectations {
  /// Adds a named set to them.
  ///
  /// - Parameters:
  ///   - set: what is expected besides; parts that it has are added under both names.
  ///   - name: what its outcomes are named by.
  ///   - severity: in place of what the set says itself.
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
    if var expectation = self[ProgramExpectation.self] {
      for place in expectation.programs.indices where expectation.programs[place].folder == nil {
        expectation.programs[place].folder = folder
      }
      self[ProgramExpectation.self] = expectation
    }
    if var expectation = self[JudgeExpectation.self] {
      for place in expectation.rules.indices where expectation.rules[place].folder == nil {
        expectation.rules[place].folder = folder
      }
      self[JudgeExpectation.self] = expectation
    }
    for index in parts.indices { parts[index].expectations.startPrograms(in: folder) }
  }
}

// MARK: - What is spoken of

extension Expectations {
  /// Whether something is forbidden: a run that does too much fails.
  public var forbids: Bool {
    let keys: Set<String> = [
      "toolsNotCalled", "toolsNotProposed", "extra", "noApprovalBypass", "noRepeatedSideEffect",
      "noLoops",
    ]
    let rules = self[TimeExpectation.self]?.rules ?? []
    return all.contains { keys.contains($0.key) }
      || rules.contains { $0.claim == .never || $0.claim == .only }
      || self[PolicyExpectation.self]?.lists.contains(where: \.isForbidden) ?? false
      || self[MemoryExpectation.self]?.rules.contains(where: \.isForbidden) ?? false
      || callerRules.contains(where: \.expectations.forbids)
      || parts.contains(where: \.expectations.forbids)
  }

  /// Whether a tool is spoken of, by its name or a glob that does not fit every tool.
  public func mentions(tool: String) -> Bool {
    all.flatMap(\.base.namedTools).contains { $0.tool.text != "*" && $0.tool.matches(tool) }
      || parts.contains { $0.expectations.mentions(tool: tool) }
  }
}
