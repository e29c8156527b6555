import AgentTrace
import TraceMatching

/// Judges a positive list without an order: each entry without `times` needs a call of its own,
/// found by maximum matching; one with `times` counts all calls that match it.
struct AnyOrder {
  private let entries: [CallEntry]
  private let name: String
  private let scope: CallView.Scope
  private let view: CallView

  init(_ entries: [CallEntry], _ name: String, _ scope: CallView.Scope, _ view: CallView) {
    self.entries = entries
    self.name = name
    self.scope = scope
    self.view = view
  }

  func outcomes() -> [ExpectationOutcome] {
    if entries.count == 1, entries[0].times == nil { return [onlyOutcome()] }
    let single = entries.indices.filter { entries[$0].times == nil }
    let certain = Assignment(single.map { self.candidates(of: $0, unknownToo: false) })
    // Entries that have a call for certain keep one: only what is left over may serve the others.
    let possible =
      certain.isWhole
      ? certain
      : Assignment(
        single.map { self.candidates(of: $0, unknownToo: true) },
        first: single.indices.filter { certain.call(of: $0) != nil })
    var outcomes: [ExpectationOutcome] = []
    for (index, entry) in entries.enumerated() {
      let place = "\(name)[\(index)]"
      guard let position = single.firstIndex(of: index) else {
        outcomes.append(Counting(entry, place, scope, view).outcome())
        continue
      }
      outcomes.append(
        outcome(entry, place, certain.call(of: position), possible.call(of: position)))
    }
    return outcomes
  }

  /// The outcome of an entry that shares no call with another.
  private func onlyOutcome() -> ExpectationOutcome {
    let candidates = view.candidates(for: entries[0], scope)
    return outcome(
      entries[0], "\(name)[0]", candidates.first { $0.answer == .yes }?.index,
      candidates.first?.index)
  }

  private func candidates(of index: Int, unknownToo: Bool) -> [Int] {
    view.candidates(for: entries[index], scope).compactMap {
      $0.answer == .yes || unknownToo ? $0.index : nil
    }
  }

  private func outcome(
    _ entry: CallEntry, _ place: String, _ certain: Int?, _ possible: Int?
  ) -> ExpectationOutcome {
    let verb = scope == .executed ? "called" : "proposed"
    let expected = verb + ": " + entry.description
    let tool = CallWording.short(entry.tool.text)
    if let certain {
      let call = view.calls[certain]
      return ExpectationOutcome(
        expectation: place, outcome: .pass, events: evidence(of: call),
        message: "\(tool) was \(verb) at event \(call.outline.seq).", expected: expected,
        actual: CallWording.of(call))
    }
    if let possible {
      let call = view.calls[possible]
      return ExpectationOutcome(
        expectation: place, outcome: .unverifiable, events: evidence(of: call),
        message: "Whether \(tool) was \(verb) cannot be seen.", expected: expected,
        actual: CallWording.of(call))
    }
    if view.mayHideCalls {
      return ExpectationOutcome(
        expectation: place, outcome: .unverifiable,
        message: "Whether \(tool) was \(verb) cannot be seen: \(view.whyHidden).",
        expected: expected)
    }
    let near = NearMiss(entry, scope, view)
    return ExpectationOutcome(
      expectation: place, outcome: .fail, events: near.events,
      message: near.told(
        behind: tool + " was not " + verb + (near.isNamed ? " as expected." : ".")),
      expected: expected, actual: near.actual)
  }

  private func evidence(of call: Trajectory.Call) -> [Int] {
    scope == .executed ? call.events : [call.outline.seq]
  }

  /// The largest number of entries with a call of their own, and which.
  private struct Assignment {
    private var calls: [Int?]
    private(set) var isWhole = true

    /// - Parameter first: places that get a call before the others do, and so keep one.
    init(_ candidates: [[Int]], first: [Int] = []) {
      var matching = BipartiteMatching()
      let order = first + candidates.indices.filter { !first.contains($0) }
      for place in order where !matching.augment(candidates[place]) { isWhole = false }
      calls = Array(repeating: nil, count: candidates.count)
      for (place, call) in zip(order, matching.call) { calls[place] = call }
    }

    func call(of position: Int) -> Int? { calls[position] }
  }
}
