import AgentTrace
import TraceJudging
import TraceMatching

/// Finds the event at which an expectation becomes false, by judging what has happened up to each.
///
/// What only the end of a run decides is judged at each `stop`: a call that is missing is missing
/// there. Everything else, and how often a call may be made at most, is broken for good by the event
/// that breaks it; so where it is found broken it is enough to look at what came since it was last
/// found whole. For that reason long runs are judged at growing distances.
final class ExpectationWatch {
  /// An expectation that became false.
  struct Break {
    var seq: Int
    var message: String
  }

  /// Expectations that are judged together.
  private struct Piece {
    /// What an outcome of it is called where it stands among the others.
    var name: String?
    var prefix: String
    var expectations: Expectations
    var isEarly: Bool
    var gathered: GatheredFacts
    /// Of its outcomes, those that were found false.
    var broken: Set<String> = []
  }

  private var pieces: [Piece] = []
  private var trajectory = Trajectory()
  private let looksAtResults: Bool
  /// What was judged, when it was judged last: to find the event in between.
  private var judged: (pieces: [Piece], trajectory: Trajectory)?
  private(set) var judgedThrough = -1
  private var lastSeen = -1
  private var unjudged = 0
  private var count = 0
  /// Where expectations became false, in the order of the events.
  private(set) var breaks: [Break] = []
  private var toldNames: Set<String> = []

  init(_ expectations: Expectations) {
    looksAtResults = expectations.looksAtResults
    add(expectations, prefix: "")
    judged = (pieces, trajectory)
  }

  /// The number of the next event to take in.
  var nextSeq: Int { lastSeen + 1 }

  // MARK: Taking apart

  private func add(_ whole: Expectations, prefix: String) {
    func piece(
      _ name: String? = nil, isEarly: Bool? = nil, _ fill: (inout Expectations) -> Void
    ) {
      var part = Expectations()
      part.order = whole.order
      fill(&part)
      pieces.append(
        Piece(
          name: name, prefix: prefix, expectations: part,
          isEarly: isEarly ?? part.isDecidableEarly, gathered: GatheredFacts(for: part)))
    }
    for one in whole.all {
      switch one.key {
      case "toolsCalled":
        let entries = whole.toolsCalled ?? []
        piece(isEarly: false) { $0.toolsCalled = entries }
        for (index, entry) in entries.enumerated() {
          guard let most = Self.atMost(entry, of: entries, whole.order) else { continue }
          piece("toolsCalled[\(index)]", isEarly: true) { $0.toolsCalled = [most] }
        }
      case "toolsProposed":
        let entries = whole.toolsProposed ?? []
        piece(isEarly: false) { $0.toolsProposed = entries }
        for (index, entry) in entries.enumerated() {
          guard let most = Self.atMost(entry, of: entries, whole.order) else { continue }
          piece("toolsProposed[\(index)]", isEarly: true) { $0.toolsProposed = [most] }
        }
      case "toolsNotCalled":
        for (index, entry) in (whole.toolsNotCalled ?? []).enumerated() {
          piece("toolsNotCalled[\(index)]") { $0.toolsNotCalled = [entry] }
        }
      case "toolsNotProposed":
        for (index, entry) in (whole.toolsNotProposed ?? []).enumerated() {
          piece("toolsNotProposed[\(index)]") { $0.toolsNotProposed = [entry] }
        }
      case "order": break
      default:
        piece { part in
          part = whole.only(one)
          part.order = whole.order
        }
      }
    }
    for part in whole.parts {
      add(part.expectations, prefix: part.name.isEmpty ? "" : "\(part.name).")
    }
  }

  /// Of how often a call may be made, only the most; `nil` where more calls never break anything, or
  /// where in an order another entry may take them.
  private static func atMost(
    _ entry: CallEntry, of entries: [CallEntry], _ order: Expectations.Order
  ) -> CallEntry? {
    guard let most = entry.times?.maximum, entry.statuses?.contains(.unknown) != true,
      entry.result == nil
    else { return nil }
    if order != .any, entries.count > 1 {
      guard let tool = entry.tool.literal, entries.count(where: { $0.tool.matches(tool) }) == 1
      else { return nil }
    }
    var entry = entry
    entry.times = CallEntry.Times(minimum: 0, maximum: most)
    return entry
  }

  // MARK: Taking in

  /// Takes in the next event. What is found false may lie some events back.
  ///
  /// - Parameter events: reads again the events behind one, through another.
  func apply(_ event: Event, rereading events: (Int, Int) throws -> [Event]) rethrows {
    guard event.seq > lastSeen else { return }
    take(event)
    unjudged += 1
    // So each event costs some judgements in all, however long the run.
    if event.type == .stop || unjudged >= max(1, count / 64) { try settle(rereading: events) }
  }

  /// Judges what was taken in since it was judged last.
  func settle(rereading events: (Int, Int) throws -> [Event]) rethrows {
    guard unjudged > 0 else { return }
    let isExact = unjudged == 1
    let isStop = trajectory.stop?.seq == lastSeen
    let found = newlyBroken(isStop: isStop)
    if !found.isEmpty {
      if isExact || found.allSatisfy({ !pieces[$0.piece].isEarly }) {
        note(found, at: lastSeen)
      } else {
        try locate(events(judgedThrough, lastSeen))
      }
    }
    unjudged = 0
    judgedThrough = lastSeen
    judged = (pieces, trajectory)
  }

  private func take(_ event: Event) {
    var seen = event
    // Results may be most of a log; where nobody looks at them they need not stay in memory.
    if !looksAtResults, seen.type == .toolResult { seen.data["data"] = nil }
    trajectory.apply(seen)
    for index in pieces.indices { pieces[index].gathered.apply(event) }
    lastSeen = event.seq
    count += 1
  }

  private typealias Found = (piece: Int, name: String, message: String)

  private func newlyBroken(isStop: Bool) -> [Found] {
    var found: [Found] = []
    for (index, piece) in pieces.enumerated() where piece.isEarly || isStop {
      for outcome in Judge.judge(
        trajectory, piece.gathered, against: piece.expectations, warns: false
      ).outcomes
      where outcome.outcome == .fail && !piece.broken.contains(outcome.expectation) {
        found.append((index, outcome.expectation, outcome.message))
      }
    }
    return found
  }

  private func note(_ found: [Found], at seq: Int) {
    for (index, name, message) in found {
      pieces[index].broken.insert(name)
      let told = pieces[index].prefix + (pieces[index].name ?? name)
      // What one more call broke is still broken at the stop.
      guard toldNames.insert(told).inserted else { continue }
      breaks.append(Break(seq: seq, message: "\(told) became false: \(message)"))
    }
  }

  /// Goes through events again, one by one, from where all was judged last.
  private func locate(_ events: [Event]) {
    guard let judged else { return }
    (pieces, trajectory) = judged
    for event in events {
      take(event)
      count -= 1
      note(newlyBroken(isStop: event.type == .stop), at: event.seq)
    }
  }
}
