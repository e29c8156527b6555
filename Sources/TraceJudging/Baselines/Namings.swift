import AgentTrace
import TraceMatching

/// Which calls of a run its expectations speak of, so that nobody is told of them as something new.
///
/// An entry of `toolsCalled` or `toolsProposed` speaks of so many calls that match it as it says with `times`,
/// of one where it says nothing, and of any number with `min` alone. Entries of `eachCall` that name their tool
/// speak of each call of it. Not part of what a run did, so that all are equal.
struct Namings: Sendable, Hashable {
  private var entries: [CallEntry] = []
  /// How many calls each entry speaks of at most.
  private(set) var capacities: [Int] = []

  init() {}

  init(of expectations: Expectations) {
    for one in [expectations] + expectations.parts.map(\.expectations) {
      for entry in (one.toolsCalled ?? []) + (one.toolsProposed ?? []) {
        add(entry, entry.times.map { $0.maximum ?? .max } ?? 1)
      }
      for entry in one[EachCall.self]?.entries ?? [] where entry.tool.literal != nil {
        add(entry, .max)
      }
    }
  }

  private mutating func add(_ entry: CallEntry, _ capacity: Int) {
    // What everything matches names nothing.
    guard entry.tool.text.contains(where: { $0 != "*" && $0 != "?" }) else { return }
    entries.append(entry)
    capacities.append(capacity)
  }

  /// The entries that speak of a call for sure.
  func indices(for call: Trajectory.Call) -> [Int] {
    guard entries.contains(where: { $0.tool.matches(call.tool) }) else { return [] }
    return entries.indices.filter { index in
      let entry = entries[index]
      guard entry.tool.matches(call.tool), entry.speaks(of: call) else { return false }
      guard let input = entry.input, !input.usesOrigins else { return true }
      let seen = entry.arguments.map { $0.seen(call.input) } ?? call.input
      return Trilean(input.matches(seen)) == .yes
    }
  }

  static func == (left: Namings, right: Namings) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

/// What is left of namings while calls are gone through.
struct OpenNamings {
  private var left: [Int]
  /// How many calls of the run each entry matches: of several, the one that fits fewest is taken first.
  private var wanted: [Int]

  init(_ run: AcceptedRun) {
    left = run.namings.capacities
    wanted = left.map { _ in 0 }
    for call in run.decisions.joined() {
      for index in call.namedBy where wanted.indices.contains(index) { wanted[index] += 1 }
    }
  }

  /// Takes a call for one that is expected; false where no entry is left that speaks of it.
  mutating func take(_ call: AcceptedCall) -> Bool {
    let open = call.namedBy.filter { left.indices.contains($0) && left[$0] > 0 }
    // An entry without end is never used up.
    if open.contains(where: { left[$0] == .max }) { return true }
    guard let index = open.min(by: { (wanted[$0], $0) < (wanted[$1], $1) }) else { return false }
    left[index] -= 1
    return true
  }
}
