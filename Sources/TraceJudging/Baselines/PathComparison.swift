import AgentTrace

/// What an agent did in one run beside what was accepted of one.
struct PathComparison {
  /// Differences that are told one by one.
  static let limit = 100

  private(set) var differences: [Difference] = []
  /// Differences beyond ``limit``.
  private(set) var untold = 0

  /// A call, and where it stands in its run.
  private struct Placed {
    var call: AcceptedCall
    /// Its number among all calls, from 1, in the order in which they were made.
    var ordinal: Int
    /// The decision that it belongs to, from 0, and how many calls that has.
    var decision: Int
    var size: Int
  }

  private let accepted: [Placed]
  private let actual: [Placed]

  init(_ accepted: AcceptedRun, _ actual: AcceptedRun, isBetter: Bool) {
    self.accepted = Self.calls(of: accepted)
    self.actual = Self.calls(of: actual)
    compareCalls()
    if differences.isEmpty { compareDecisions(accepted, actual) }
    compareStop(accepted, actual, isBetter: isBetter)
  }

  /// The calls one after the other; those of one decision, which have no order, sorted.
  private static func calls(of run: AcceptedRun) -> [Placed] {
    var placed: [Placed] = []
    for (index, decision) in run.decisions.enumerated() {
      let calls = decision.enumerated().map { offset, call in
        Placed(
          call: call, ordinal: placed.count + offset + 1, decision: index, size: decision.count)
      }
      placed +=
        calls.count < 2
        ? calls : calls.sorted { $0.call.key.lexicographicallyPrecedes($1.call.key) }
    }
    return placed
  }

  private mutating func add(_ difference: Difference) {
    if differences.count < Self.limit { differences.append(difference) } else { untold += 1 }
  }

  // MARK: Calls

  private mutating func compareCalls() {
    let alignment = CallAlignment(accepted.map(\.call), actual.map(\.call))
    let pairs = pairingWithinDecisions(alignment.pairs)
    var moved = Moves(pairs, accepted.map(\.call), actual.map(\.call))
    var replaced: Set<Int> = []
    for (place, pair) in pairs.enumerated() {
      switch pair {
      case .both(let old, let new):
        if accepted[old].call != actual[new].call { compare(old, new) }
      case .missing(let index):
        if let place = moved.take(accepted: index) {
          addMove(from: index, to: place)
        } else if !moved.isTold(accepted: index),
          let other = Self.replacement(in: pairs, behind: place, moved, replaced)
        {
          replaced.insert(other)
          var difference = difference(
            .callReplaced, other, accepted: Self.words(for: accepted[index].call),
            actual: Self.words(for: actual[other].call))
          difference.place = "call \(actual[other].ordinal)"
          add(difference)
        } else if !moved.isTold(accepted: index) {
          add(
            Difference(
              kind: .callMissing, effect: .neutral, place: Self.place(accepted[index]),
              accepted: Self.words(for: accepted[index].call)))
        }
      case .added(let index):
        if let place = moved.take(actual: index) {
          addMove(from: place, to: index)
        } else if !moved.isTold(actual: index), !replaced.contains(index) {
          add(
            difference(.callAdded, index, actual: Self.words(for: actual[index].call)))
        }
      }
    }
  }

  /// Calls of one decision have no order, so that one of them is not beside the call that took its
  /// place where that sorts elsewhere. Two of one tool that are left over in decisions that belong
  /// together are one call that differs.
  private func pairingWithinDecisions(_ pairs: [CallAlignment.Pair]) -> [CallAlignment.Pair] {
    var partners: [Int: Int] = [:]
    var hasPartner: Set<Int> = []
    for case .both(let old, let new) in pairs {
      partners[accepted[old].decision] = actual[new].decision
      hasPartner.insert(actual[new].decision)
    }
    var added: [Int] = []
    for case .added(let index) in pairs where actual[index].size > 1 { added.append(index) }
    var paired: [Int: Int] = [:]
    for case .missing(let old) in pairs where accepted[old].size > 1 {
      let place = added.firstIndex { new in
        let partner = partners[accepted[old].decision]
        return isOfSameTool(accepted[old].call, actual[new].call)
          && (partner == actual[new].decision
            || (partner == nil && !hasPartner.contains(actual[new].decision)))
      }
      if let place { paired[old] = added.remove(at: place) }
    }
    guard !paired.isEmpty else { return pairs }
    let taken = Set(paired.values)
    return pairs.compactMap { pair in
      switch pair {
      case .missing(let old): paired[old].map { .both(accepted: old, actual: $0) } ?? pair
      case .added(let new): taken.contains(new) ? nil : pair
      case .both: pair
      }
    }
  }

  private func isOfSameTool(_ call: AcceptedCall, _ other: AcceptedCall) -> Bool {
    call.tool.hasSameUTF8(as: other.tool) && call.caller.hasSameUTF8(as: other.caller)
  }

  /// The call that was made where an accepted one stood, if nothing that is the same stands between.
  private static func replacement(
    in pairs: [CallAlignment.Pair], behind place: Int, _ moved: Moves, _ replaced: Set<Int>
  ) -> Int? {
    for pair in pairs[(place + 1)...].prefix(64) {
      switch pair {
      case .both: return nil
      case .missing: continue
      case .added(let index):
        if !replaced.contains(index), !moved.isMove(actual: index) { return index }
      }
    }
    return nil
  }

  private mutating func addMove(from old: Int, to new: Int) {
    let call = actual[new].call
    let (before, after) = (accepted[old].ordinal, actual[new].ordinal)
    add(
      Difference(
        kind: .callMoved, effect: .neutral,
        place: "call \(min(before, after)) (\(call.tool))",
        accepted: "\(Self.words(for: call)) as call \(before)", actual: "as call \(after)",
        step: call.step > 0 ? call.step : nil, events: call.events))
  }

  /// Two calls of one tool that differ, part by part.
  private mutating func compare(_ old: Int, _ new: Int) {
    let (before, after) = (accepted[old].call, actual[new].call)
    for (pointer, value, other) in Self.fields(before, after) {
      add(difference(.argument, new, suffix: pointer, accepted: value, actual: other))
    }
    if before.isInvalid != after.isInvalid {
      add(
        difference(
          .validity, new, accepted: before.isInvalid ? "an invalid decision" : "a valid decision",
          actual: after.isInvalid ? "an invalid decision" : "a valid decision"))
    }
    if before.verdict != after.verdict || before.wasAsked != after.wasAsked {
      let isLooser = Self.strictness(of: after) < Self.strictness(of: before)
      add(
        difference(
          .verdict, new, effect: isLooser ? .regression : .neutral,
          accepted: Self.verdict(of: before), actual: Self.verdict(of: after)))
    }
    if before.status != after.status {
      add(
        difference(
          .status, new, accepted: before.status ?? "no result", actual: after.status ?? "no result")
      )
    }
  }

  /// How much stands in the way of a call: nothing where there is no verdict, a person where one was
  /// asked.
  private static func strictness(of call: AcceptedCall) -> Int {
    switch call.verdict {
    case "deny": 2
    case "approval_required": 1
    default: call.wasAsked ? 1 : 0
    }
  }

  /// What policy said of a call, in words.
  private static func verdict(of call: AcceptedCall) -> String {
    (call.verdict ?? "no verdict") + (call.wasAsked ? ", once a person was asked" : "")
  }

  private func difference(
    _ kind: Difference.Kind, _ index: Int, suffix: String = "",
    effect: Difference.Effect = .neutral, accepted: String? = nil, actual: String? = nil
  ) -> Difference {
    let call = self.actual[index].call
    return Difference(
      kind: kind, effect: effect,
      place: Self.place(self.actual[index]) + (suffix.isEmpty ? "" : " \(suffix)"),
      accepted: accepted,
      actual: actual, step: call.step > 0 ? call.step : nil, events: call.events)
  }

  /// The parts of two inputs that differ, in the order in which they stand.
  private static func fields(
    _ before: AcceptedCall, _ after: AcceptedCall
  ) -> [(pointer: String, accepted: String?, actual: String?)] {
    var values: [ByteText: AcceptedCall.Argument] = [:]
    for argument in after.arguments { values[ByteText(argument.pointer)] = argument }
    var fields: [(pointer: String, accepted: String?, actual: String?)] = []
    var seen: Set<ByteText> = []
    for argument in before.arguments {
      let pointer = ByteText(argument.pointer)
      seen.insert(pointer)
      let other = values[pointer]
      if other.map({ $0.comparedValue.hasSameUTF8(as: argument.comparedValue) }) != true {
        fields.append((argument.pointer, argument.value, other?.value))
      }
    }
    for argument in after.arguments where !seen.contains(ByteText(argument.pointer)) {
      fields.append((argument.pointer, nil, argument.value))
    }
    return fields
  }

  /// Whether calls were made together or one after the other.
  private mutating func compareDecisions(_ accepted: AcceptedRun, _ actual: AcceptedRun) {
    let (left, right) = (accepted.decisions.map(\.count), actual.decisions.map(\.count))
    guard left != right else { return }
    let same = zip(left, right).prefix { $0 == $1 }.count
    let index = left.prefix(same).reduce(0, +)
    guard self.actual.indices.contains(index), same < left.count, same < right.count else { return }
    func words(_ count: Int) -> String { count == 1 ? "alone" : "one of \(count) calls together" }
    add(
      difference(.decision, index, accepted: words(left[same]), actual: words(right[same])))
  }

  // MARK: The end

  /// Another stop reason is another outcome of the run. It is a regression unless the case has become
  /// better by it; another detail of the same reason is not.
  private mutating func compareStop(
    _ accepted: AcceptedRun, _ actual: AcceptedRun, isBetter: Bool
  ) {
    func words(_ stop: AcceptedRun.Ending?) -> String {
      stop.map { $0.reason + ($0.detail.map { " (\($0))" } ?? "") } ?? "no stop"
    }
    guard !words(accepted.stop).hasSameUTF8(as: words(actual.stop)) else { return }
    let isSameReason = accepted.stop?.reason == actual.stop?.reason
    // Always told: it is what the run came to.
    differences.append(
      Difference(
        kind: .stop, effect: isSameReason ? .neutral : isBetter ? .improvement : .regression,
        place: "stop", accepted: words(accepted.stop), actual: words(actual.stop)))
  }

  // MARK: Words

  private static func place(_ placed: Placed) -> String {
    "call \(placed.ordinal) (\(placed.call.tool))"
  }

  /// A call on one line.
  static func words(for call: AcceptedCall) -> String {
    let shown = call.arguments.prefix(6).map { argument in
      argument.pointer.isEmpty ? argument.value : "\(argument.pointer) \(argument.value)"
    }
    let rest = call.arguments.count > 6 ? ", …" : ""
    let input = shown.isEmpty ? "" : " " + shown.joined(separator: ", ") + rest
    let caller = call.caller.hasSameUTF8(as: "agent") ? "" : " by \(call.caller)"
    return call.tool + caller + input
  }
}

/// Calls that stand on both sides, at different places.
private struct Moves {
  private var toActual: [Int: Int] = [:]
  private var toAccepted: [Int: Int] = [:]
  private var toldAccepted: Set<Int> = []
  private var toldActual: Set<Int> = []

  init(_ pairs: [CallAlignment.Pair], _ accepted: [AcceptedCall], _ actual: [AcceptedCall]) {
    var missing: [[UInt8]: [Int]] = [:]
    for case .missing(let index) in pairs {
      missing[accepted[index].key, default: []].append(index)
    }
    for case .added(let index) in pairs {
      let key = actual[index].key
      guard let first = missing[key]?.first else { continue }
      missing[key]?.removeFirst()
      toActual[first] = index
      toAccepted[index] = first
    }
  }

  /// Where an accepted call went, the first time that it is asked.
  mutating func take(accepted index: Int) -> Int? {
    guard let place = toActual[index], toldAccepted.insert(index).inserted else { return nil }
    toldActual.insert(place)
    return place
  }

  mutating func take(actual index: Int) -> Int? {
    guard let place = toAccepted[index], toldActual.insert(index).inserted else { return nil }
    toldAccepted.insert(place)
    return place
  }

  func isMove(actual index: Int) -> Bool { toAccepted[index] != nil }
  func isTold(accepted index: Int) -> Bool { toldAccepted.contains(index) }
  func isTold(actual index: Int) -> Bool { toldActual.contains(index) }
}
