import AgentTrace
import Glibc

/// Many runs at a glance. It grows with the number of runs by their names and the order of their calls alone.
public struct Survey: Sendable {
  /// Runs of one agent from one place: those that rules are made for together.
  public struct Group: Sendable, Hashable {
    /// The agent's name; empty where nobody says.
    public var agent: String
    /// The format that the runs were imported from; `nil` for runs of our own.
    public var format: String?
    /// Whether all calls of the runs are recorded: of others little can be said.
    public var hasAllCalls: Bool
  }

  /// What calls of one tool came to.
  public struct ToolFigures: Sendable, Hashable {
    /// Runs that called it.
    public var runs = 0
    /// Calls of it that decisions held.
    public var calls = 0
    /// Those of them that ran.
    public var executed = 0
    /// Those that failed.
    public var errors = 0
    /// Those that never began.
    public var refused = 0
    /// Those of which nobody knows what they did.
    public var unknown = 0
    /// Those that ran, and whose source does not say whether they succeeded.
    public var returned = 0

    /// The share of failed calls among those that ran and of which it is known; `nil` for none.
    public var errorRate: Double? {
      let known = executed - returned
      return known > 0 ? Double(errors) / Double(known) : nil
    }
  }

  /// In how many runs something was seen that no run should do.
  public struct Sightings: Sendable, Hashable {
    /// Runs in which it was seen.
    public var runs = 0
    /// Runs of which nobody can say.
    public var unverifiable = 0
    /// The first of those in which it was seen.
    public var examples: [String] = []

    /// Seen in none.
    public init() {}
  }

  /// A way through tools that few runs take.
  public struct UnusualPath: Sendable, Hashable {
    /// The tools in the order in which they ran, the same one several times in a row once; cut after 50.
    public var tools: [String]
    /// How many bits a step of it is worth on average: 0 for one that goes without saying.
    public var bits: Double
    /// How many runs took it.
    public var runs: Int
    /// One of those.
    public var example: String
  }

  /// A run that could not be read.
  public struct Unreadable: Sendable, Hashable {
    /// What it is called.
    public var name: String
    /// Why.
    public var reason: String
  }

  /// Runs that could be read.
  public private(set) var runs = 0
  /// Those that could not.
  public private(set) var unreadable: [Unreadable] = []
  /// How many runs each group has.
  public private(set) var groups: [Group: Int] = [:]
  /// By the tools' names.
  public private(set) var tools: [String: ToolFigures] = [:]
  /// How many runs stopped for what reason; those without a stop under an empty name.
  public private(set) var stops: [String: Int] = [:]
  /// By the keys of `RunProfile.common`.
  public private(set) var sightings: [String: Sightings] = [:]
  /// Tokens and cost of the runs that say so, and how many do.
  public private(set) var usage = (inputTokens: 0, outputTokens: 0, cost: 0.0, told: 0, priced: 0)

  private var steps: [Int32] = []
  private var paths: [Path] = []
  private var toolNumbers: [String: Int32] = [:]
  private var toolNames: [String] = []
  private var groupNumbers: [Group: Int32] = [:]

  /// The way of one run, its tools by their numbers.
  private struct Path {
    var group: Int32
    var tools: [Int32]
    var name: String
  }

  /// Calls of a run that count for its path.
  private static let pathLimit = 256
  private static let exampleLimit = 3

  /// No run was seen.
  public init() {}

  /// Notes a run that could not be read.
  public mutating func add(unreadable name: String, _ reason: String) {
    unreadable.append(Unreadable(name: name, reason: reason))
  }

  /// Takes in a run.
  public mutating func add(_ run: RunProfile) {
    runs += 1
    let group = run.group
    groups[group, default: 0] += 1
    stops[run.stop?.rawValue ?? "", default: 0] += 1
    steps.append(Int32(clamping: run.steps))
    count(run)
    for (key, outcome) in run.common {
      if outcome == .fail {
        sightings[key, default: Sightings()].runs += 1
        if sightings[key, default: Sightings()].examples.count < Self.exampleLimit {
          sightings[key, default: Sightings()].examples.append(run.name)
        }
      }
      if outcome == .unverifiable { sightings[key, default: Sightings()].unverifiable += 1 }
    }
    if run.inputTokens != nil || run.outputTokens != nil {
      usage.told += 1
      usage.inputTokens =
        usage.inputTokens.addingReportingOverflow(run.inputTokens ?? 0).partialValue
      usage.outputTokens =
        usage.outputTokens.addingReportingOverflow(run.outputTokens ?? 0)
        .partialValue
    }
    if let cost = run.cost {
      usage.priced += 1
      usage.cost += cost
    }
    let number = groupNumbers[group] ?? Int32(clamping: groupNumbers.count)
    groupNumbers[group] = number
    paths.append(Path(group: number, tools: path(of: run), name: run.name))
  }

  private mutating func count(_ run: RunProfile) {
    var seen: Set<String> = []
    for call in run.calls {
      var figures = tools[call.tool] ?? ToolFigures()
      if seen.insert(call.tool).inserted { figures.runs += 1 }
      figures.calls += 1
      if call.isExecuted { figures.executed += 1 }
      switch call.status {
      case .error?: figures.errors += 1
      case .refused?: figures.refused += 1
      case .unknown?: figures.unknown += 1
      case .returned?: figures.returned += 1
      case .ok?, nil: break
      }
      tools[call.tool] = figures
    }
  }

  private mutating func path(of run: RunProfile) -> [Int32] {
    var path: [Int32] = []
    for call in run.calls where call.isExecuted {
      let number = toolNumbers[call.tool] ?? Int32(clamping: toolNames.count)
      if toolNumbers[call.tool] == nil {
        toolNumbers[call.tool] = number
        toolNames.append(call.tool)
      }
      if path.last != number { path.append(number) }
      if path.count == Self.pathLimit { break }
    }
    return path
  }

  /// The least, the middle and the greatest number of steps; `nil` without runs.
  public var stepRange: (least: Int, median: Int, most: Int)? {
    let sorted = steps.sorted()
    guard let least = sorted.first, let most = sorted.last else { return nil }
    return (Int(least), Int(sorted[sorted.count / 2]), Int(most))
  }
}

// MARK: - Unusual paths

extension Survey {
  private struct Transition: Hashable {
    var group: Int32
    var from: Int32
    var to: Int32
  }

  private struct Origin: Hashable {
    var group: Int32
    var from: Int32
  }

  /// The paths that surprise most: for each step the bits that it is worth among the runs of the same agent, −log₂ of
  /// how often it follows on the step before it (beginning and end are steps, too), on average over the path.
  ///
  /// Each path is told once; those of no surprise are left out.
  public func unusualPaths(limit: Int = 10) -> [UnusualPath] {
    var transitions: [Transition: Int] = [:]
    var origins: [Origin: Int] = [:]
    for path in paths {
      Self.forEachStep(of: path) { from, to in
        transitions[Transition(group: path.group, from: from, to: to), default: 0] += 1
        origins[Origin(group: path.group, from: from), default: 0] += 1
      }
    }
    var found: [[Int32]: (bits: Double, runs: Int, example: String)] = [:]
    for path in paths {
      let key = [path.group] + path.tools
      if let known = found[key] {
        found[key] = (known.bits, known.runs + 1, known.example)
        continue
      }
      var (bits, steps) = (0.0, 0)
      Self.forEachStep(of: path) { from, to in
        let times = transitions[Transition(group: path.group, from: from, to: to)] ?? 1
        let all = origins[Origin(group: path.group, from: from)] ?? 1
        bits -= log2(Double(times) / Double(all))
        steps += 1
      }
      found[key] = (bits / Double(max(1, steps)), 1, path.name)
    }
    let surprising = found.filter { $0.value.bits > 0 }.sorted { left, right in
      if left.value.bits != right.value.bits { return left.value.bits > right.value.bits }
      return left.value.example.precedesByUTF8(right.value.example)
    }
    return surprising.prefix(limit).map { key, value in
      UnusualPath(
        tools: key.dropFirst().prefix(50).map { toolNames[Int($0)] }, bits: value.bits,
        runs: value.runs, example: value.example)
    }
  }

  /// Beginning, tools, end: −1 stands for both ends.
  private static func forEachStep(of path: Path, _ body: (Int32, Int32) -> Void) {
    var last: Int32 = -1
    for tool in path.tools {
      body(last, tool)
      last = tool
    }
    body(last, -1)
  }
}

// MARK: - Order

extension Survey {
  /// The groups, those with most runs first.
  public var groupsByRuns: [(group: Group, runs: Int)] {
    groups.map { (group: $0.key, runs: $0.value) }.sorted { left, right in
      if left.runs != right.runs { return left.runs > right.runs }
      if !left.group.agent.hasSameUTF8(as: right.group.agent) {
        return left.group.agent.precedesByUTF8(right.group.agent)
      }
      let (first, second) = (left.group.format ?? "", right.group.format ?? "")
      if !first.hasSameUTF8(as: second) { return first.precedesByUTF8(second) }
      return left.group.hasAllCalls && !right.group.hasAllCalls
    }
  }

  /// The tools, those with most calls first.
  public var toolsByCalls: [(name: String, figures: ToolFigures)] {
    tools.map { (name: $0.key, figures: $0.value) }.sorted { left, right in
      left.figures.calls != right.figures.calls
        ? left.figures.calls > right.figures.calls : left.name.precedesByUTF8(right.name)
    }
  }

  /// The reasons to stop, the most frequent first.
  public var stopsByRuns: [(reason: String, runs: Int)] {
    stops.map { (reason: $0.key, runs: $0.value) }.sorted { left, right in
      left.runs != right.runs ? left.runs > right.runs : left.reason.precedesByUTF8(right.reason)
    }
  }
}
