import AgentTrace

/// Judges an order of calls of which some may stand elsewhere.
///
/// A call that no decision holds was proposed somewhere before the event that tells of it: beside the calls of
/// any decision until there, between two, or before all. Each such way is judged; where they do not all come out
/// alike, nobody can know.
struct CallsAnywhere {
  /// How many ways are tried, and how many calls are looked at in all of them together.
  private static let wayLimit = 1 << 10
  private static let callLimit = 1 << 18

  private let view: CallView
  /// The calls that matter, by decision.
  private let groups: [[Int]]
  /// Those of which nobody knows where they stand, each with how many of the groups stand before what tells of it.
  private let unplaced: [(call: Int, groupsBefore: Int)]

  /// - Parameter matters: whether a call has a part in the outcome.
  init(_ view: CallView, where matters: (Trajectory.Call) -> Bool) {
    self.view = view
    var groups: [[Int]] = []
    var unplaced: [(call: Int, groupsBefore: Int)] = []
    var last: Int?
    if view.calls.contains(where: { $0.outline.isStray && matters($0) }) {
      for (index, call) in view.calls.enumerated() where matters(call) {
        if call.outline.isStray {
          unplaced.append((index, groups.count))
        } else if last == call.group {
          groups[groups.count - 1].append(index)
        } else {
          groups.append([index])
          last = call.group
        }
      }
    }
    (self.groups, self.unplaced) = (groups, unplaced)
  }

  /// The outcome of all ways.
  ///
  /// - Parameter judge: judges a run whose calls stand in one of these ways.
  func outcome(_ judge: (CallView) -> ExpectationOutcome) -> ExpectationOutcome {
    var outcome = judge(view)
    guard let first = unplaced.first, outcome.outcome != .unverifiable else { return outcome }
    var ways = 0
    if !isTooMuch, isAlike(outcome.outcome, groups, unplaced[...], &ways, judge) { return outcome }
    outcome.outcome = .unverifiable
    outcome.message =
      "No decision holds \(CallWording.of(view.calls[first.call])): where in the order it stands cannot be seen."
    outcome.events = view.calls[first.call].events
    return outcome
  }

  /// Whether there are more ways than are tried, told without trying any.
  private var isTooMuch: Bool {
    let callCount = groups.reduce(unplaced.count) { $0 + $1.count }
    var ways = 1
    for call in unplaced {
      ways *= 2 * call.groupsBefore + 1
      guard ways <= Self.wayLimit, ways * callCount <= Self.callLimit else { return true }
    }
    return false
  }

  /// Whether the outcome is this one wherever the calls that are left are put.
  private func isAlike(
    _ outcome: Outcome, _ groups: [[Int]], _ left: ArraySlice<(call: Int, groupsBefore: Int)>,
    _ ways: inout Int, _ judge: (CallView) -> ExpectationOutcome
  ) -> Bool {
    guard let next = left.first else {
      ways += 1
      return ways <= Self.wayLimit && judge(view.regrouped(groups)).outcome == outcome
    }
    // Behind the decisions that stand before it, and whatever was put among those.
    var (end, seen) = (0, 0)
    while end < groups.count {
      if groups[end].contains(where: { !view.calls[$0].outline.isStray }) {
        guard seen < next.groupsBefore else { break }
        seen += 1
      }
      end += 1
    }
    for place in 0...end {
      var between = groups
      between.insert([next.call], at: place)
      guard isAlike(outcome, between, left.dropFirst(), &ways, judge) else { return false }
      guard place < end else { continue }
      var beside = groups
      beside[place].append(next.call)
      guard isAlike(outcome, beside, left.dropFirst(), &ways, judge) else { return false }
    }
    return true
  }
}
