/// What the four lists and the orders mean, written down as plainly as it can be: by trying
/// everything. Knows nothing of the judge.
enum PlainOracle {
  /// A call: its tool, whether it ran, and which decision it belongs to.
  struct Call {
    var tool: String
    var ran = true
    var group: Int
  }

  /// An entry: a tool (`*` is any), and how often.
  struct Entry {
    var tool: String
    var minimum = 1
    var maximum: Int? = 1
    /// Whether it says how often; without, it needs a call of its own.
    var hasTimes = false

    func takes(_ call: Call) -> Bool { tool == "*" || tool == call.tool }
  }

  /// Whether each entry can have a call of its own.
  static func anyOrder(_ entries: [Entry], _ calls: [Call]) -> Bool {
    guard let first = entries.first else { return true }
    return calls.indices.contains { index in
      guard first.takes(calls[index]) else { return false }
      var rest = calls
      rest.remove(at: index)
      return anyOrder(Array(entries.dropFirst()), rest)
    }
  }

  /// Whether the calls, in some order that keeps decisions in theirs, hold the entries as a
  /// subsequence.
  static func inOrder(_ entries: [Entry], _ calls: [Call]) -> Bool {
    let places = entries.flatMap { Array(repeating: $0, count: $0.minimum) }
    return orders(of: calls).contains { isSubsequence(places[...], $0[...]) }
  }

  /// Whether the calls, in some order that keeps decisions in theirs, can be shared out to the entries
  /// in theirs, so that none is left over that an entry with a maximum matches.
  static func sharedInOrder(_ entries: [Entry], _ calls: [Call]) -> Bool {
    orders(of: calls).contains { shares(entries, entries[...], had: 0, $0[...]) }
  }

  private static func shares(
    _ all: [Entry], _ rest: ArraySlice<Entry>, had: Int, _ calls: ArraySlice<Call>
  ) -> Bool {
    if let entry = rest.first, had >= entry.minimum, shares(all, rest.dropFirst(), had: 0, calls) {
      return true
    }
    guard let call = calls.first else { return rest.isEmpty }
    if let entry = rest.first, entry.takes(call), had < entry.maximum ?? .max,
      shares(all, rest, had: had + 1, calls.dropFirst())
    {
      return true
    }
    let isBound = all.contains { $0.hasTimes && $0.maximum != nil && $0.takes(call) }
    return !isBound && shares(all, rest, had: had, calls.dropFirst())
  }

  /// Whether each entry without times can have a call of its own, and each with times counts as many
  /// calls as it asks for.
  static func counted(_ entries: [Entry], _ calls: [Call]) -> Bool {
    anyOrder(entries.filter { !$0.hasTimes }, calls)
      && entries.filter(\.hasTimes).allSatisfy { entry in
        let found = calls.count { entry.takes($0) }
        return found >= entry.minimum && found <= entry.maximum ?? .max
      }
  }

  /// Whether the calls, in some order that keeps decisions in theirs, are the entries and no more.
  static func exact(_ entries: [Entry], _ calls: [Call]) -> Bool {
    orders(of: calls).contains { isWhole(entries[...], $0[...]) }
  }

  /// Whether a call matches.
  static func any(_ entry: Entry, _ calls: [Call]) -> Bool { calls.contains { entry.takes($0) } }

  private static func isSubsequence(_ places: ArraySlice<Entry>, _ calls: ArraySlice<Call>) -> Bool
  {
    guard let place = places.first else { return true }
    return calls.indices.contains { index in
      place.takes(calls[index]) && isSubsequence(places.dropFirst(), calls[(index + 1)...])
    }
  }

  private static func isWhole(_ entries: ArraySlice<Entry>, _ calls: ArraySlice<Call>) -> Bool {
    guard let entry = entries.first else { return calls.isEmpty }
    let most = min(entry.maximum ?? calls.count, calls.count)
    guard entry.minimum <= most else { return false }
    return (entry.minimum...most).contains { count in
      calls.prefix(count).allSatisfy { entry.takes($0) }
        && isWhole(entries.dropFirst(), calls.dropFirst(count))
    }
  }

  /// Every order of the calls in which no decision comes before an earlier one.
  static func orders(of calls: [Call]) -> [[Call]] {
    guard let first = calls.map(\.group).min() else { return [[]] }
    var found: [[Call]] = []
    for index in calls.indices where calls[index].group == first {
      var rest = calls
      let call = rest.remove(at: index)
      found += orders(of: rest).map { [call] + $0 }
    }
    return found
  }
}
