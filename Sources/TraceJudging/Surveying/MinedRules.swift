public import AgentTrace
import TraceMatching

/// What the runs of a group have in common, found in two passes over them: the first gathers what may be expected, the
/// second judges every run by it. What is left holds on each of them.
///
/// One run shares everything with itself: the more runs, the less of it is chance.
public struct MinedRules: Sendable {
  /// One thing that is expected, on its own.
  public struct Rule: Sendable, Hashable {
    /// The key of `expected`.
    public var key: String
    /// What stands under it; of a list one element.
    public var value: JSONValue
    /// Whether ``value`` is one element of a list.
    public var isElement: Bool
    /// Runs that show it.
    public var shown = 0
    /// Runs in which it never arose.
    public var notExercised = 0
    /// Runs that break it.
    public var broken = 0
    /// Runs of which nobody can say.
    public var unverifiable = 0

    /// Whether it holds on every run.
    public var holds: Bool { broken == 0 && unverifiable == 0 && shown > 0 }
  }

  /// What is gathered of a group in the first pass.
  private struct Gathered {
    var runs = 0
    var stops: Set<String> = []
    var hasNoStop = false
    var steps = 0
    var executed = 0
    /// In how many runs each tool ran.
    var ran: [String: Int] = [:]
    /// In how many runs each tool was there.
    var had: [String: Int] = [:]
  }

  /// Tools that are named in a list at most.
  private static let listLimit = 20

  private var gathered = Gathered()
  /// In the order of the documents.
  public private(set) var rules: [Rule] = []
  private var expectations = Expectations()
  /// For each of ``rules`` the name that its outcome has.
  private var names: [String: Int] = [:]
  /// For each run of the second pass, which rules it shows: one bit each.
  private var shown: [UInt64] = []

  /// Nothing was seen.
  public init() {}

  /// How many runs were gathered.
  public var runs: Int { gathered.runs }

  /// Takes in a run in the first pass.
  public mutating func gather(_ run: RunProfile) {
    gathered.runs += 1
    if let stop = run.stop {
      gathered.stops.insert(stop.rawValue)
    } else {
      gathered.hasNoStop = true
    }
    gathered.steps = max(gathered.steps, run.steps)
    gathered.executed = max(gathered.executed, run.calls.count { $0.isExecuted })
    for tool in Set(run.calls.filter(\.isExecuted).map(\.tool)) {
      gathered.ran[tool, default: 0] += 1
    }
    for tool in Set(run.toolNames ?? []) { gathered.had[tool, default: 0] += 1 }
  }

  /// Ends the first pass.
  public mutating func prepare() {
    var expected = JSONObject()
    func add(_ key: String, _ value: JSONValue) {
      expected[key] = value
      names[key] = rules.count
      rules.append(Rule(key: key, value: value, isElement: false))
    }
    func add(_ key: String, _ tools: [String]) {
      guard !tools.isEmpty else { return }
      let globs = tools.prefix(Self.listLimit).map { JSONValue.string(Glob.escaping($0)) }
      expected[key] = .array(Array(globs))
      for (index, glob) in globs.enumerated() {
        names["\(key)[\(index)]"] = rules.count
        rules.append(Rule(key: key, value: glob, isElement: true))
      }
    }
    if !gathered.hasNoStop, !gathered.stops.isEmpty {
      let stops = StopReason.allCases.map(\.rawValue).filter(gathered.stops.contains)
      add("stopReason", stops.count == 1 ? .string(stops[0]) : JSONValue(stops))
    }
    func sorted(_ tools: some Sequence<String>) -> [String] {
      tools.sorted { $0.precedesByUTF8($1) }
    }
    add("toolsCalled", sorted(gathered.ran.filter { $0.value == gathered.runs }.keys))
    add(
      "toolsNotCalled",
      sorted(gathered.had.keys.filter { gathered.ran[$0] == nil }))
    add("maxSteps", JSONValue(max(1, gathered.steps)))
    add("maxToolCalls", JSONValue(gathered.executed))
    add("noRepeatedSideEffect", true)
    add("noLoops", 3)
    add("maxInvalidDecisions", 0)
    add("noApprovalBypass", true)
    expectations = (try? Expectations(parsing: .object(expected))) ?? Expectations()
  }

  /// What every run of the second pass is judged by.
  public var asked: Expectations { expectations }

  /// Takes in a run in the second pass.
  public mutating func judge(_ trajectory: Trajectory, _ gathered: GatheredFacts?) {
    let judgement = Judge.judge(trajectory, gathered, against: expectations, warns: false)
    var bits: UInt64 = 0
    var told = Set<Int>()
    for outcome in judgement.outcomes {
      guard let index = names[outcome.expectation] else { continue }
      told.insert(index)
      switch outcome.outcome {
      case .pass:
        rules[index].shown += 1
        bits |= 1 << UInt64(index)
      case .notExercised: rules[index].notExercised += 1
      case .fail: rules[index].broken += 1
      case .unverifiable: rules[index].unverifiable += 1
      }
    }
    // What nobody spoke of nobody knows.
    for index in rules.indices where !told.contains(index) { rules[index].unverifiable += 1 }
    shown.append(bits)
  }

  /// What holds on every run; empty where some run shows none of it, so that it could not pass.
  public var holding: [Rule] {
    var kept: UInt64 = 0
    for (index, rule) in rules.enumerated() where rule.holds { kept |= 1 << UInt64(index) }
    guard !shown.isEmpty, shown.allSatisfy({ $0 & kept != 0 }) else { return [] }
    return rules.filter(\.holds)
  }

  /// What was looked for and does not hold on every run.
  public var failing: [Rule] { rules.filter { !$0.holds } }
}
