import AgentTrace
import TraceMatching

/// What of a trajectory can be seen: its calls, and what may be hidden in holes of the log.
///
/// A class, because every expectation holds on to it: copying a trajectory would retain all of its parts.
final class CallView: Sendable {
  /// Which calls a list speaks of.
  enum Scope: Sendable {
    case executed
    case proposed
  }

  let trajectory: Trajectory
  /// In the order of the log, but for those that were put elsewhere.
  let calls: [Trajectory.Call]
  /// The view with all calls in the order of the log; `nil` where this is it.
  private let whole: CallView?
  /// Holes in which something may be hidden. What would stand behind a final stop hides nothing.
  let gaps: [Trajectory.Gap]
  /// The calls of each tool; `nil` where there are so few that looking through all costs less.
  private let indicesByTool: [(tool: String, indices: [Int])]?
  private static let fewCalls = 16

  init(_ trajectory: Trajectory) {
    self.trajectory = trajectory
    calls = trajectory.calls
    whole = nil
    let end = trajectory.stop.flatMap { $0.isFinal ? $0.seq : nil } ?? .max
    gaps = trajectory.gaps.filter { $0.first <= end }
    indicesByTool =
      trajectory.calls.count > Self.fewCalls ? Self.indicesByTool(trajectory.calls) : nil
  }

  private init(_ whole: CallView, regrouped groups: [[Int]]) {
    trajectory = whole.trajectory
    self.whole = whole
    gaps = whole.gaps
    calls = groups.enumerated().flatMap { number, group in
      group.map { index in
        var call = whole.calls[index]
        call.group = number
        return call
      }
    }
    indicesByTool = nil
  }

  /// The same run with these calls alone, in these groups.
  func regrouped(_ groups: [[Int]]) -> CallView { CallView(self, regrouped: groups) }

  /// The calls of each tool, in the order of the first calls.
  private static func indicesByTool(
    _ calls: [Trajectory.Call]
  ) -> [(tool: String, indices: [Int])] {
    // Most runs call few tools: looking through those costs less than hashing.
    var places: [String: Int] = [:]
    var byTool: [(tool: String, indices: [Int])] = []
    for (index, call) in calls.enumerated() {
      let place =
        byTool.count <= 16
        ? byTool.firstIndex { $0.tool.hasSameUTF8(as: call.tool) } : places[call.tool]
      if let place {
        byTool[place].indices.append(index)
        continue
      }
      byTool.append((call.tool, [index]))
      if byTool.count == 16 {
        for (place, known) in byTool.enumerated() { places[known.tool] = place }
      } else if byTool.count > 16 {
        places[call.tool] = byTool.count - 1
      }
    }
    return byTool
  }

  /// Whether calls may have been made that the log does not show.
  var mayHideCalls: Bool { !gaps.isEmpty || trajectory.recorded["model"] == "none" || lacksCalls }

  /// Whether calls may have gone unread where the run was imported, or watched from outside.
  var lacksCalls: Bool { trajectory.recorded["calls"] != nil }

  /// Whether calls may have been made between two events that the log does not show. Where calls were put
  /// elsewhere, events do not say what is between.
  func mayHideCalls(between first: Int, and last: Int) -> Bool {
    if whole != nil { return mayHideCalls }
    return trajectory.recorded["model"] == "none" || lacksCalls
      || gaps.contains { $0.first < last && $0.last ?? .max > first }
  }

  /// Why nothing is certain, in words.
  var whyHidden: String {
    if let gap = gaps.first {
      return gap.last.map { "the log has a gap at events \(gap.first) to \($0)" }
        ?? "the log is torn behind event \(gap.first - 1)"
    }
    if trajectory.recorded["model"] == "none" { return "the model's decisions were not recorded" }
    if let why = trajectory.unseenRun { return CallWording.short(why) }
    if lacksCalls { return "calls may have gone unread where the run was recorded" }
    return "what became of the calls was not recorded"
  }

  /// Whether events behind one may be hidden.
  func hidesBehind(_ seq: Int) -> Bool {
    gaps.contains { $0.last.map { $0 > seq } ?? true }
  }

  /// From the first to the last event that may be hidden behind one, and before another where there is one; `nil`
  /// where none may be.
  func hole(behind seq: Int, before next: Int?) -> ClosedRange<Int>? {
    let end = next.map { $0 - 1 } ?? .max
    let holes = gaps.filter { $0.first <= end && $0.last ?? .max > seq }
    guard let first = holes.map({ max($0.first, seq + 1) }).min() else { return nil }
    return first...max(first, min(end, holes.map { $0.last ?? .max }.max() ?? .max))
  }

  /// Where the start of a call may stand that is not seen: in a hole behind its proposal, and before its result.
  func hiddenStart(of outline: CallOutline) -> ClosedRange<Int>? {
    guard outline.startedSeq == nil else { return nil }
    return hole(behind: outline.seq, before: outline.resultSeq)
  }

  /// All but those of a simulated user.
  var agentsCalls: [Trajectory.Call] {
    calls.filter { !$0.outline.isOfSimulatedUser }
  }

  /// Whether an answer that was given may not be the last.
  var mayHideAnswer: Bool {
    let seq = trajectory.answer?.seq ?? -1
    return trajectory.recorded["model"] == "none" || hidesBehind(seq)
      || trajectory.lastUnseen ?? -1 > seq
  }

  /// Whether a call ran; unknown where neither a start nor a result could have been seen.
  func executed(_ call: Trajectory.Call) -> Trilean {
    if Self.mayBeAnother(call) { return .unknown }
    if call.isExecuted { return .yes }
    if call.status == .refused { return .no }
    return maySeeLess(of: call) ? .unknown : .no
  }

  /// Whether all that is known of a call is a result that names no tool: that may be the result of another call,
  /// or of one that a simulated user made.
  private static func mayBeAnother(_ call: Trajectory.Call) -> Bool {
    call.tool.isEmpty && call.outline.isStray
  }

  /// Whether a call has a result, whatever it says.
  func hasReturned(_ call: Trajectory.Call) -> Trilean {
    if call.outline.resultSeq != nil { return .yes }
    return maySeeLess(of: call) ? .unknown : .no
  }

  /// Whether a call's end may be hidden.
  private func maySeeLess(of call: Trajectory.Call) -> Bool {
    // Where only some results were recorded, one that is missing may be such. That goes for a call of an invalid
    // decision, too: an import calls one so that it could not read, and a tool may have run all the same.
    if trajectory.recorded["tools"] != nil { return true }
    return !call.isInvalid && hidesBehind(call.outline.seq)
  }

  /// The calls that an entry may speak of, with how sure that is, in decision order.
  ///
  /// `unknownCounts`: whether a call of unknown effect counts as executed, as it does where calls
  /// are forbidden.
  func candidates(
    for entry: CallEntry, _ scope: Scope, unknownCounts: Bool = false
  ) -> [(index: Int, answer: Trilean)] {
    var found: [(index: Int, answer: Trilean)] = []
    for index in indices(of: entry.tool) {
      let answer = matches(entry, calls[index], scope, unknownCounts: unknownCounts)
      if answer != .no { found.append((index, answer)) }
    }
    return found
  }

  /// The tools that were called; some more than once where there are few calls.
  var toolsCalled: [String] { indicesByTool?.map(\.tool) ?? calls.map(\.tool) }

  /// The calls of the tools that a glob matches, in decision order.
  private func indices(of tool: Glob) -> [Int] {
    guard let indicesByTool else {
      return calls.indices.filter { fits(tool, calls[$0].tool) != .no }
    }
    return indicesByTool.flatMap { fits(tool, $0.tool) != .no ? $0.indices : [] }.sorted()
  }

  /// Whether a glob matches a tool. One without a name may be any, where the log does not show all of the
  /// calls.
  func fits(_ glob: Glob, _ tool: String) -> Trilean {
    if glob.matches(tool) { return .yes }
    return tool.isEmpty && (lacksCalls || !gaps.isEmpty) ? .unknown : .no
  }

  /// Whether a call is one that an entry speaks of.
  func isSuch(
    _ entry: CallEntry, _ call: Trajectory.Call, _ scope: Scope, unknownCounts: Bool = false
  ) -> Trilean {
    guard fits(entry.tool, call.tool) != .no else { return .no }
    return matches(entry, call, scope, unknownCounts: unknownCounts)
  }

  private func matches(
    _ entry: CallEntry, _ call: Trajectory.Call, _ scope: Scope, unknownCounts: Bool
  ) -> Trilean {
    guard entry.speaks(of: call) else { return .no }
    var answer = fits(entry.tool, call.tool)
    if Self.mayBeAnother(call) { answer = .both(answer, .unknown) }
    if scope == .executed {
      let isExecuted = executed(call)
      answer = .both(answer, isExecuted)
      if isExecuted == .yes, answer == .yes, call.status == .unknown, entry.statuses == nil,
        !unknownCounts, !call.outline.isRun
      {
        answer = .unknown
      }
    }
    answer = .both(answer, status(entry, call))
    if let input = entry.input { answer = .both(answer, self.input(input, entry, call)) }
    if let result = entry.result { answer = .both(answer, self.result(result, call)) }
    return answer
  }

  func status(_ entry: CallEntry, _ call: Trajectory.Call) -> Trilean {
    guard let statuses = entry.statuses else { return .yes }
    guard let status = call.status else {
      return maySeeLess(of: call) ? .unknown : .no
    }
    if status == .unknown, call.outline.resultSeq == nil, hidesBehind(call.outline.seq) {
      // It is under way, as far as the log goes: what becomes of it is yet to come.
      return statuses == [.refused] ? .no : .unknown
    }
    if statuses.contains(status) { return .yes }
    switch status {
    // Nobody knows what became of it.
    case .unknown: return .unknown
    // It ran; whether it succeeded its source does not say.
    case .returned: return statuses.contains(.ok) || statuses.contains(.error) ? .unknown : .no
    default: return .no
    }
  }

  /// Whether the input of a call is as an entry asks.
  func input(_ matcher: Matcher, _ entry: CallEntry, _ call: Trajectory.Call) -> Trilean {
    Trilean(
      matcher.matches(
        entry.arguments.map { $0.seen(call.input) } ?? call.input,
        from: matcher.usesOrigins
          ? { origin in self.values(of: origin, before: call.outline.seq) } : nil
      ))
  }

  /// The values of an origin in the results that stood before an event.
  func values(of origin: Origin, before seq: Int) -> OriginValues {
    if let whole { return whole.values(of: origin, before: seq) }
    var found = OriginValues(
      known: [],
      mayBeMore: trajectory.recorded["model"] == "none" || trajectory.recorded["tools"] == "none"
        || lacksCalls || gaps.contains { $0.first < seq })
    for (tool, indices) in indicesByTool ?? Self.indicesByTool(calls)
    where origin.tool?.matches(tool) == true {
      for call in indices.lazy.map({ self.calls[$0] }) {
        guard let resultSeq = call.outline.resultSeq, resultSeq < seq else { continue }
        if call.status == .returned { found.mayBeMore = true }
        guard call.status == .ok else { continue }
        let fits = origin.input.map { Trilean($0.matches(call.input)) } ?? .yes
        guard fits != .no else { continue }
        guard fits == .yes, case .ok(let data)? = call.result else {
          found.mayBeMore = true
          continue
        }
        let values = origin.values(in: data)
        found.known += values.known
        if values.mayBeMore { found.mayBeMore = true }
      }
    }
    return found
  }

  func result(_ matcher: Matcher, _ call: Trajectory.Call) -> Trilean {
    if let value = Self.resultValue(of: call) { return Trilean(matcher.matches(value)) }
    if call.outline.resultSeq != nil || call.status == .unknown { return .unknown }
    if maySeeLess(of: call) { return .unknown }
    return Trilean(matcher.matches(nil))
  }

  /// What a matcher of a result looks at: the data of one that is ok, else the reason.
  static func resultValue(of call: Trajectory.Call) -> JSONValue? {
    switch call.result {
    case .ok(let data)?, .returned(let data)?: data
    case .refused(let reason)?: .string(reason)
    case .error(let reason, _)?: reason
    case nil: nil
    }
  }
}
