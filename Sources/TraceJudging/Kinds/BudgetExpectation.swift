public import AgentTrace
public import TraceMatching

/// At most so much of everything.
struct BudgetExpectation: Expectation {
  var budget: Budget

  static let key = "budget"
  static let summary = ExpectationSummary(
    takes: "a mapping of limits", holds: "the run, or a tool, uses at most so much")

  static var schema: JSONValue {
    let names = Budget.Measure.allCases
    var properties = names.map { ($0.rawValue, limit(of: $0)) }
    properties.append(
      (
        "tools",
        [
          "description": "Limits by tool, or by a ExpectationSchema.glob of tools.",
          "type": "object",
          "minProperties": 1,
          "additionalProperties": [
            "allOf": [ExpectationSchema.ref("toolUse")], "minProperties": 1,
          ],
        ]
      ))
    properties.append(
      (
        "subRuns",
        ["description": "Whether runs that this one started count with it.", "type": "boolean"]
      ))
    var schema = ExpectationSchema.record(properties)
    schema["description"] = "How much a run may use."
    schema["anyOf"] = .array(
      (names.map(\.rawValue) + ["tools"]).map { ["required": [.string($0)]] })
    return .object(schema)
  }
  static var schemaParts: JSONObject {
    [
      "runUse": .object(limits(Budget.runMeasures)),
      "toolUse": .object(limits(Budget.toolMeasures)),
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    [
      [key: ["calls": JSONValue(run.calls.count { $0.isExecuted })]],
      [key: ["steps": JSONValue(run.steps)]],
    ]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.budget(value, at: pointer).map(Self.init(budget:))
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { true }
  var facts: Facts { [.timeline, .usage] }
  var undecided: [UndecidedPart] {
    guard budget.includesSubRuns else { return [] }
    return [UndecidedPart(place: [Self.key, "subRuns"], why: "other runs are not seen from here")]
  }
  var namedTools: [NamedTool] {
    budget.limits.compactMap { limit in
      limit.tool.map { NamedTool(list: "budget.tools.\($0.text)", tool: $0) }
    }
  }

  static func asked(_ value: JSONValue) -> [AskedPart] {
    guard let object = value.objectValue else { return AskedPart.whole(key, value) }
    return object.flatMap { member -> [AskedPart] in
      guard member.key == "tools", let tools = member.value.objectValue else {
        return AskedPart.whole("\(key).\(member.key)", member.value)
      }
      return tools.flatMap { tool in
        (tool.value.objectValue ?? [:]).map {
          AskedPart(name: "\(key).tools.\(tool.key).\($0.key)", value: $0.value)
        }
      }
    }
  }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    change.now.boolValue.map { $0 || change.was.boolValue == false } ?? change.isNumberLowered
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { run.budget(budget) }

  private static func limits(_ measures: [Budget.Measure]) -> JSONObject {
    ExpectationSchema.record(measures.map { ($0.rawValue, limit(of: $0)) })
  }

  private static func limit(of measure: Budget.Measure) -> JSONValue {
    let isFraction = measure == .cost || measure == .seconds
    return [
      "description": .string(measure.words.limit), "type": isFraction ? "number" : "integer",
      "minimum": 0,
    ]
  }

  static func addConformance(to book: inout ConformanceBook) {
    let run = Run { run in
      run.think(tokens: 600, cost: 0.02)
      run.decide(Call("search").taking(seconds: 2))
      run.think(tokens: 500, cost: 0.01)
      run.decide(Call("search").taking(seconds: 1.5))
      run.end()
    }
    book.check(
      "all within", ["steps": 3, "calls": 2, "tokens": 1100, "cost": 0.03, "seconds": 3.5], on: run,
      is: .pass)
    for (measure, limit) in [
      ("steps", 2), ("calls", 1), ("tokens", 1099), ("cost", 0.02), ("seconds", 3),
    ] as [(String, JSONValue)] {
      book.check("too many \(measure)", .object(JSONObject([(measure, limit)])), on: run, is: .fail)
    }
    book.check(
      "one tool's calls and time", ["tools": ["search*": ["calls": 2, "seconds": 3]]], on: run,
      is: .fail)
    book.check("a tool that was not called", ["tools": ["mail": ["calls": 0]]], on: run, is: .pass)
    let unknown = Run { run in
      run.think(tokens: nil)
      run.end()
    }
    book.check("nobody counted the tokens", ["tokens": 5], on: unknown, is: .unverifiable)
    book.check("nobody knows the cost", ["cost": 5], on: unknown, is: .unverifiable)
    let cents = Run { run in
      for cost in [0.1, 0.2, 0.3] { run.think(tokens: 1, cost: cost) }
      run.end()
    }
    book.check("prices add up as decimals do", ["cost": 0.6], on: cents, is: .pass)
  }
}

/// How much a run may use.
public struct Budget: Sendable, Hashable {
  /// What is measured. Raw values are the keys in a case file.
  public enum Measure: String, Sendable, Hashable, CaseIterable {
    /// Steps with a decision.
    case steps
    /// Executed calls.
    case calls
    /// Calls of the model.
    case modelCalls
    /// Tokens in and out.
    case tokens
    case inputTokens
    case outputTokens
    /// What the model's calls cost.
    case cost
    /// Active run time in all; of a tool, the time of its calls together.
    case seconds
    /// Attempts at calls beyond their first.
    case retries
    /// Calls that failed.
    case errors
  }

  /// One limit.
  public struct Limit: Sendable, Hashable {
    /// What is limited.
    public var measure: Measure
    /// Of which tools; `nil` for the run as a whole.
    public var tool: Glob?
    /// At most so much.
    public var maximum: Double
    /// The limit as it was written.
    public var text: String
  }

  /// Each holds.
  public var limits: [Limit]
  /// Whether the runs that this one started count with it.
  public var includesSubRuns: Bool

  static let toolMeasures: [Measure] = [.calls, .seconds, .retries, .errors]
  static let runMeasures: [Measure] = Measure.allCases
}

/// What one run used; unknown parts are `nil`, and sums may be more than they say.
public struct RunTotals: Sendable, Hashable {
  /// The run that used it.
  public var runId: String
  /// What is known of each measure.
  public var amounts: [Budget.Measure: Double]
  /// The measures that may have been more.
  public var mayBeMore: Set<Budget.Measure> = []
}

extension ExpectationReader {
  /// Limits in all, and per tool.
  mutating func budget(_ value: JSONValue, at pointer: JSONPointer) -> Budget? {
    let names = Budget.runMeasures.map(\.rawValue)
    guard
      let object = mapping(
        value, at: pointer, keys: names + ["tools", "subRuns"], "a mapping of limits")
    else { return nil }
    var limits = self.limits(object, Budget.runMeasures, of: nil, at: pointer)
    if let value = object["tools"] {
      let place = pointer.appending("tools")
      if let tools = value.objectValue, !tools.isEmpty {
        for member in tools { limits += toolLimits(member, at: place.appending(member.key)) }
      } else {
        report(place, "must be a mapping from tools to their limits")
      }
    }
    var includesSubRuns = false
    if let value = object["subRuns"] {
      if let flag = value.boolValue {
        includesSubRuns = flag
      } else {
        report(pointer.appending("subRuns"), "must be true or false")
      }
    }
    if limits.isEmpty {
      report(pointer, "limits nothing", hint: "add one of \(names.joined(separator: ", "))")
    }
    return limits.isEmpty ? nil : Budget(limits: limits, includesSubRuns: includesSubRuns)
  }

  private mutating func toolLimits(
    _ member: JSONObject.Member, at pointer: JSONPointer
  ) -> [Budget.Limit] {
    let names = Budget.toolMeasures.map(\.rawValue)
    guard let tool = glob(member.key, at: pointer),
      let object = mapping(member.value, at: pointer, keys: names, "a mapping of limits")
    else { return [] }
    let limits = self.limits(object, Budget.toolMeasures, of: tool, at: pointer)
    if limits.isEmpty {
      report(pointer, "limits nothing", hint: "add one of \(names.joined(separator: ", "))")
    }
    return limits
  }

  private mutating func limits(
    _ object: JSONObject, _ measures: [Budget.Measure], of tool: Glob?, at pointer: JSONPointer
  ) -> [Budget.Limit] {
    var limits: [Budget.Limit] = []
    for measure in measures {
      guard let value = object[measure.rawValue] else { continue }
      let place = pointer.appending(measure.rawValue)
      let isFraction = measure == .cost || measure == .seconds
      let isGood = isFraction ? true : value.intValue != nil
      guard isGood, case .number(let number) = value, number.doubleValue >= 0,
        number.doubleValue.isFinite
      else {
        report(place, "must be a \(isFraction ? "" : "whole ")number that is not negative")
        continue
      }
      limits.append(
        Budget.Limit(
          measure: measure, tool: tool, maximum: number.doubleValue, text: number.token))
    }
    return limits
  }
}

extension RunTotals {
  /// What a run used, as far as its log shows.
  ///
  /// They must have been gathered for expectations that hold a budget; otherwise tokens and
  /// cost are unknown.
  ///
  /// - Parameters:
  ///   - trajectory: the run, with the runs below it where those were read.
  ///   - gathered: what was gathered of it while it was read.
  ///   - includesBelow: whether the steps of the runs below it count, too; all else of theirs always does.
  public init(
    of trajectory: Trajectory, _ gathered: GatheredFacts, includesBelow: Bool = false
  ) {
    let view = CallView(trajectory)
    let usage = gathered.usage
    let calls = view.agentsCalls
    var more: Set<Budget.Measure> = []
    if view.mayHideCalls { more.formUnion(Budget.Measure.allCases) }
    // A pipeline has no steps of its own.
    if trajectory.isPipeline, !includesBelow { more.insert(.steps) }
    let ownSteps = trajectory.isPipeline && includesBelow ? 0 : trajectory.steps
    if calls.contains(where: { view.executed($0) == .unknown }) { more.insert(.calls) }
    if !gathered.facts.contains(.usage) || trajectory.recorded["model"] != nil {
      more.formUnion([.modelCalls, .tokens, .inputTokens, .outputTokens, .cost])
    }
    if usage.lacksTokens { more.formUnion([.tokens, .inputTokens, .outputTokens]) }
    if usage.lacksCost { more.insert(.cost) }
    if trajectory.recorded["time"] != nil { more.insert(.seconds) }
    // How they ended was not recorded, or how often they were tried.
    if calls.contains(where: \.mayHaveFailed) { more.insert(.errors) }
    if calls.contains(where: gathered.lacksAttempts) { more.insert(.retries) }
    if trajectory.recorded["tools"] != nil { more.formUnion([.errors, .retries]) }
    self.init(
      runId: trajectory.runId,
      amounts: [
        .steps: Double(ownSteps + (includesBelow ? trajectory.stepsBelow : 0)),
        .calls: Double(calls.count { view.executed($0) == .yes }),
        .modelCalls: Double(usage.calls),
        .tokens: Double(usage.inputTokens) + Double(usage.outputTokens),
        .inputTokens: Double(usage.inputTokens), .outputTokens: Double(usage.outputTokens),
        .cost: usage.cost, .seconds: Double(gathered.elapsedMicroseconds) / 1e6,
        .retries: Double(gathered.retries(of: calls).count),
        .errors: Double(calls.count { $0.outline.hasFailed }),
      ], mayBeMore: more)
  }
}

extension JudgedRun {
  func budget(_ budget: Budget) -> [ExpectationOutcome] {
    let own = RunTotals(of: view.trajectory, gathered, includesBelow: budget.includesSubRuns)
    let others = budget.includesSubRuns ? aids.subRuns : []
    return budget.limits.map { limit in
      if let tool = limit.tool { return self.limit(limit, on: tool) }
      guard let others else {
        return ExpectationOutcome(
          expectation: limit.name, outcome: .unverifiable,
          message: "Nobody looked for the runs that this one started.",
          expected: "at most \(limit.said)")
      }
      return self.limit(limit, [own] + others)
    }
  }

  private func limit(_ limit: Budget.Limit, _ totals: [RunTotals]) -> ExpectationOutcome {
    let amount = totals.reduce(0.0) { $0 + ($1.amounts[limit.measure] ?? 0) }
    let mayBeMore = totals.contains {
      $0.mayBeMore.contains(limit.measure) || $0.amounts[limit.measure] == nil
    }
    return outcome(
      limit, amount, mayBeMore: mayBeMore, events: events(beyond: limit),
      runs: totals.count > 1 ? totals.count : nil)
  }

  /// The event that shows how much of something was used.
  private func events(beyond limit: Budget.Limit) -> [Int] {
    let end = view.trajectory.stop.map { [$0.seq] } ?? []
    switch limit.measure {
    case .steps:
      return view.calls.first { Double($0.step) > limit.maximum }.map { [$0.outline.seq] } ?? end
    case .calls:
      let executed = view.agentsCalls.filter { view.executed($0) == .yes }
      let index = Int(min(limit.maximum, Double(executed.count)))
      return executed.indices.contains(index) ? executed[index].events : end
    case .modelCalls, .tokens, .inputTokens, .outputTokens, .cost:
      return gathered.usage.last.map { [$0] } ?? end
    case .retries:
      let all = retries(of: view.agentsCalls)
      return all.event(behind: Int(min(limit.maximum, Double(all.count)))).map { [$0] } ?? end
    case .errors:
      let failed = view.calls.filter { $0.outline.hasFailed }
      let index = Int(min(limit.maximum, Double(failed.count)))
      return failed.indices.contains(index) ? failed[index].events : end
    case .seconds: return end
    }
  }

  private func limit(_ limit: Budget.Limit, on tool: Glob) -> ExpectationOutcome {
    let calls = view.agentsCalls.filter { tool.matches($0.tool) }
    let executed = calls.filter { view.executed($0) == .yes }
    var mayBeMore =
      view.mayHideCalls || calls.contains { view.executed($0) == .unknown }
      || view.calls.contains { view.fits(tool, $0.tool) == .unknown }
      || (limit.measure != .calls && view.trajectory.recorded["tools"] != nil)
    var (amount, shown): (Double, [Int]) = (0, [])
    switch limit.measure {
    case .calls:
      amount = Double(executed.count)
      shown = executed.dropFirst(Int(min(limit.maximum, 1e9))).first?.events ?? []
    case .errors:
      let failed = executed.filter { $0.outline.hasFailed }
      mayBeMore = mayBeMore || executed.contains(where: \.mayHaveFailed)
      amount = Double(failed.count)
      shown = failed.dropFirst(Int(min(limit.maximum, 1e9))).first?.events ?? []
    case .retries:
      let retries = retries(of: calls)
      mayBeMore = mayBeMore || executed.contains(where: gathered.lacksAttempts)
      amount = Double(retries.count)
      shown = retries.event(behind: Int(min(limit.maximum, 1e9))).map { [$0] } ?? []
    default:
      var microseconds = 0.0
      for call in executed {
        guard let took = gathered.efforts[call.outline.callId]?.elapsedMicroseconds else {
          mayBeMore = true
          continue
        }
        microseconds += Double(max(0, took))
        if microseconds / 1e6 > limit.maximum, shown.isEmpty { shown = call.events }
      }
      amount = microseconds / 1e6
    }
    return outcome(limit, amount, mayBeMore: mayBeMore, events: shown, runs: nil)
  }

  private func outcome(
    _ limit: Budget.Limit, _ amount: Double, mayBeMore: Bool, events: [Int], runs: Int?
  ) -> ExpectationOutcome {
    let isMoney = limit.measure == .cost
    let amount = isMoney ? Figures.money(amount) : amount
    let maximum = isMoney ? Figures.money(limit.maximum) : limit.maximum
    let said = limit.say(amount) + (runs.map { " in \(Figures.count($0, "run"))" } ?? "")
    func outcome(_ outcome: Outcome, _ events: [Int], _ message: String) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: limit.name, outcome: outcome, events: events, message: message,
        expected: "at most \(limit.said)",
        actual: outcome == .unverifiable ? "at least \(said)" : said)
    }
    let whose = limit.tool.map { " by \(CallWording.short($0.text))" } ?? ""
    if amount > maximum {
      return outcome(.fail, events, "\(said) used\(whose), more than allowed.")
    }
    if mayBeMore {
      let why = view.mayHideCalls ? view.whyHidden : "not all of it was recorded"
      return outcome(.unverifiable, [], "There may have been more than \(said)\(whose): \(why).")
    }
    return outcome(.pass, [], "\(said) used\(whose).")
  }
}

extension Budget.Measure {
  /// What a limit of it is, and what stands behind an amount: of one, and of others.
  fileprivate var words: (limit: String, one: String, unit: String) {
    switch self {
    case .steps: ("Steps with a decision, at most.", "step", "steps")
    case .calls: ("Executed calls, at most.", "call", "calls")
    case .modelCalls: ("Calls of the model, at most.", "call of the model", "calls of the model")
    case .tokens: ("Tokens in and out, at most.", "token", "tokens")
    case .inputTokens: ("Tokens in, at most.", "token in", "tokens in")
    case .outputTokens: ("Tokens out, at most.", "token out", "tokens out")
    case .cost: ("What the model's calls cost, at most.", "of cost", "of cost")
    case .seconds:
      ("Active run time in seconds, at most; of a tool, that of its calls.", "second", "seconds")
    case .retries: ("Attempts beyond the first, at most.", "retry", "retries")
    case .errors: ("Calls that failed, at most.", "error", "errors")
    }
  }
}

extension Budget.Limit {
  var name: String {
    tool.map { "budget.tools.\($0.text).\(measure.rawValue)" } ?? "budget.\(measure.rawValue)"
  }

  var said: String { "\(text) \(maximum == 1 ? measure.words.one : measure.words.unit)" }

  func say(_ amount: Double) -> String {
    Figures.count(amount, measure.words.one, plural: measure.words.unit)
  }
}

extension Trajectory.Call {
  /// Whether it ran, and nothing says whether it failed.
  fileprivate var mayHaveFailed: Bool {
    status == .returned || status == .unknown && !outline.hasFailed
  }
}
