import AgentTrace
import TraceMatching

/// Judges an entry by the number of all calls that match it: one with `times`, or one of a negative
/// list, which fails where the same entry in a positive list would pass.
struct Counting {
  private let entry: CallEntry
  private let name: String
  private let scope: CallView.Scope
  private let view: CallView
  private let isForbidden: Bool
  private let certain: [Trajectory.Call]
  private let possible: [Trajectory.Call]

  init(
    _ entry: CallEntry, _ name: String, _ scope: CallView.Scope, _ view: CallView,
    isForbidden: Bool = false
  ) {
    self.entry = entry
    self.name = name
    self.scope = scope
    self.view = view
    self.isForbidden = isForbidden
    let found = view.candidates(for: entry, scope, unknownCounts: isForbidden)
    certain = found.filter { $0.answer == .yes }.map { view.calls[$0.index] }
    let unknown = found.filter { $0.answer == .unknown }.map { view.calls[$0.index] }
    possible = isForbidden && unknown.isEmpty ? view.callsBehindName(of: entry, scope) : unknown
  }

  private var times: CallEntry.Times { entry.times ?? .init(minimum: 1, maximum: nil) }

  private var verb: String { scope == .executed ? "called" : "proposed" }

  /// Whether the number of calls is within `times`, for every number that it can be.
  private var isWithin: Trilean {
    let least = certain.count
    let most = view.mayHideCalls ? Int.max : least + possible.count
    if most < times.minimum || least > times.maximum ?? .max { return .no }
    return least >= times.minimum && most <= times.maximum ?? .max ? .yes : .unknown
  }

  func outcome() -> ExpectationOutcome {
    switch (isWithin, isForbidden) {
    case (.unknown, _): unverifiable()
    case (.yes, false), (.no, true): pass()
    case (.no, false): missedCount()
    case (.yes, true): forbidden()
    }
  }

  private var expected: String {
    (isForbidden ? "not " : "") + verb + ": " + entry.description
  }

  private var tool: String { CallWording.short(entry.tool.text) }

  /// How often it was called, as a sentence.
  private var said: String {
    certain.isEmpty
      ? tool + " was never " + verb + qualified + "."
      : tool + " was " + verb + " " + Self.count(certain.count) + qualified + "."
  }

  /// Says that the entry asks for more than a tool.
  private var qualified: String {
    let isPlain =
      entry.input == nil && entry.result == nil && entry.statuses == nil && entry.caller == nil
    return isPlain || !view.calls.contains { entry.tool.matches($0.tool) } ? "" : " in that way"
  }

  private func unverifiable() -> ExpectationOutcome {
    let why = possible.first.map(whyUnclear) ?? view.whyHidden
    return ExpectationOutcome(
      expectation: name, outcome: .unverifiable, events: possible.first?.events ?? [],
      message: "How often \(tool) was \(verb) cannot be seen: \(why).", expected: expected,
      actual: "\(certain.isEmpty ? "no call" : Self.calls(certain.count)) for certain, maybe more")
  }

  private func whyUnclear(_ call: Trajectory.Call) -> String {
    guard let name = entry.tool.literal, QualifiedName.mayBe(name, call.tool) else {
      return "a call cannot be told: \(CallWording.of(call))"
    }
    let other = CallWording.short(call.tool)
    if QualifiedName.isSpelling(of: name, call.tool) {
      return "“\(other)” was, which may be that tool in another spelling; write “\(other)”"
    }
    return
      "“\(other)” was, which may be that tool behind the name of what offers it; write “\(other)” or “*\(tool)”"
  }

  private func pass() -> ExpectationOutcome {
    // What shows that enough calls were made are the first of them; that no more were, nothing.
    let shown = isForbidden ? [] : certain.prefix(times.minimum)
    return ExpectationOutcome(
      expectation: name, outcome: .pass, events: shown.flatMap { evidence(of: $0) },
      message: said, expected: expected, actual: Self.count(certain.count))
  }

  private func missedCount() -> ExpectationOutcome {
    if let maximum = times.maximum, certain.count > maximum {
      return ExpectationOutcome(
        expectation: name, outcome: .fail, events: evidence(of: certain[maximum]),
        message: said, expected: expected,
        actual: "\(Self.count(certain.count)): \(CallWording.names(certain.lazy.map(\.tool)))")
    }
    let near = NearMiss(entry, scope, view, excluding: certain)
    return ExpectationOutcome(
      expectation: name, outcome: .fail, events: near.events,
      message: near.told(behind: said), expected: expected, actual: near.actual)
  }

  private func forbidden() -> ExpectationOutcome {
    let enough = certain.prefix(max(1, times.minimum))
    return ExpectationOutcome(
      expectation: name, outcome: .fail, events: enough.flatMap { evidence(of: $0) },
      message: said, expected: expected,
      actual: enough.last.map { CallWording.of($0) } ?? "no call")
  }

  private func evidence(of call: Trajectory.Call) -> [Int] {
    scope == .executed ? call.events : [call.outline.seq]
  }

  static func calls(_ count: Int) -> String { Figures.count(count, "call") }

  static func count(_ count: Int) -> String {
    switch count {
    case 0: "never"
    case 1: "once"
    case 2: "twice"
    default: "\(count) times"
    }
  }
}
