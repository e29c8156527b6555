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
  /// What stood in the way of the calls of each tool, and what covers those of now.
  private let ways: Ways
  /// Which calls the expectations still speak of.
  private var namings: OpenNamings
  /// Regressions among ``differences`` beyond ``limit``.
  private var added = 0

  init(_ accepted: AcceptedRun, _ actual: AcceptedRun, isBetter: Bool) {
    self.accepted = Self.calls(of: accepted)
    self.actual = Self.calls(of: actual)
    ways = Ways(accepted, actual)
    namings = OpenNamings(actual)
    compareCalls()
    if differences.isEmpty { compareDecisions(accepted, actual) }
    compareStop(accepted, actual, isBetter: isBetter)
    compareAnswers(accepted, actual)
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
    if differences.count < Self.limit {
      differences.append(difference)
    } else if difference.effect == .regression, added < Self.limit {
      // What is worse is never among what is not told.
      differences.append(difference)
      added += 1
    } else {
      untold += 1
    }
  }

  // MARK: Calls

  private mutating func compareCalls() {
    let alignment = CallAlignment(accepted.map(\.call), actual.map(\.call))
    let pairs = pairingWithinDecisions(alignment.pairs)
    var moved = Moves(pairs, accepted.map(\.call), actual.map(\.call))
    nameKnown(pairs, moved)
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
          let effect = effect(ofNew: other)
          var difference = difference(
            .callReplaced, other, effect: effect,
            accepted: Self.words(for: accepted[index].call),
            actual: Self.words(for: actual[other].call))
          difference.place = "call \(actual[other].ordinal)"
          add(difference)
          judge(new: other)
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
          let effect = effect(ofNew: index)
          add(
            difference(
              .callAdded, index, effect: effect, actual: Self.words(for: actual[index].call)))
          judge(new: index)
        }
      }
    }
  }

  /// Takes the calls that were accepted for those that the expectations speak of, before any that are new.
  private mutating func nameKnown(_ pairs: [CallAlignment.Pair], _ moved: Moves) {
    for pair in pairs {
      switch pair {
      case .both(let old, let new):
        guard accepted[old].call.isExecuted, actual[new].call.isExecuted else { continue }
        _ = namings.take(actual[new].call)
      case .added(let new) where moved.isMove(actual: new):
        if actual[new].call.isExecuted { _ = namings.take(actual[new].call) }
      default: continue
      }
    }
  }

  /// What it means that a call was made that was not: a write that nobody expects is a step to the worse.
  private mutating func effect(ofNew index: Int) -> Difference.Effect {
    let call = actual[index].call
    return isNewWrite(call) ? .regression : .neutral
  }

  /// Whether a call that ran, and did not before, may change something that no expectation speaks of.
  private mutating func isNewWrite(_ call: AcceptedCall) -> Bool {
    guard call.isExecuted, call.mayWrite, !call.isOfSimulatedUser
    else { return false }
    return !namings.take(call)
  }

  /// What else is worse about a call that was not made before.
  private mutating func judge(new index: Int) {
    let call = actual[index].call
    if call.status == CallStatus.unknown.rawValue {
      add(
        difference(
          .status, index, effect: .regression, accepted: "not made", actual: call.status))
    }
    guard call.isExecuted, call.mayWrite, let known = ways.tools[call.kindOfCall] else { return }
    // The least that stood in the way of the tool's calls stands in the way of this one too.
    let least = known.least
    if Self.strictness(of: call) < Self.strictness(of: least) {
      add(
        difference(
          .verdict, index, effect: .regression, accepted: Self.verdict(of: least),
          actual: Self.verdict(of: call)))
    }
    guard let granted = known.granted, known.areAllGranted, !call.isGranted,
      !ways.isCovered(call)
    else { return }
    add(
      difference(
        .approval, index, effect: .regression, accepted: Self.grants(of: granted),
        actual: Self.grants(of: call)))
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
    if accepted[old].call != call { compare(old, new) }
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
    if before.verdicts != after.verdicts {
      let isLooser = Self.strictness(of: after) < Self.strictness(of: before)
      add(
        difference(
          .verdict, new, effect: isLooser ? .regression : .neutral,
          accepted: Self.verdict(of: before), actual: Self.verdict(of: after)))
    }
    if before.grants != after.grants {
      add(
        difference(
          .approval, new, effect: isLessApproved(after, before) ? .regression : .neutral,
          accepted: Self.grants(of: before), actual: Self.grants(of: after)))
    }
    if before.attempts != after.attempts {
      add(
        difference(
          .attempts, new, accepted: "\(before.attempts)", actual: "\(after.attempts)"))
    }
    if before.status != after.status {
      let isNew = !before.isExecuted && isNewWrite(after)
      let isWorse = isNew || after.status == CallStatus.unknown.rawValue
      add(
        difference(
          .status, new, effect: isWorse ? .regression : .neutral,
          accepted: before.status ?? "no result", actual: after.status ?? "no result"))
    }
    if before.isCited != after.isCited {
      add(
        difference(
          .evidence, new, accepted: before.isCited ? "cited" : "not cited",
          actual: after.isCited ? "cited" : "not cited"))
    }
  }

  /// How much stands in the way of a call: nothing where there is no verdict, a person where one was
  /// asked.
  fileprivate static func strictness(of call: AcceptedCall) -> Int {
    switch call.verdict {
    case "deny": 2
    case "approval_required": 1
    default: call.wasAsked ? 1 : 0
    }
  }

  /// Whether a call ran with less of a person's yes than before: none, one that covers more, or against a no.
  private func isLessApproved(_ call: AcceptedCall, _ before: AcceptedCall) -> Bool {
    guard call.isExecuted else { return false }
    guard before.isGranted else { return before.grants.last?.isGranted == false }
    guard call.isGranted else { return !ways.isCovered(call) }
    func widest(_ call: AcceptedCall) -> Int {
      call.grants.filter(\.isGranted).map { $0.calls ?? .max }.max() ?? 0
    }
    return widest(call) > widest(before)
  }

  /// What policy said of a call, in words.
  private static func verdict(of call: AcceptedCall) -> String {
    let last = (call.verdict ?? "no verdict") + (call.wasAsked ? ", once a person was asked" : "")
    let isPlain = call.verdicts.count < (call.wasAsked ? 3 : 2)
    return isPlain ? last : last + " (\(call.verdicts.joined(separator: ", ")))"
  }

  /// What people said of a call, in words.
  private static func grants(of call: AcceptedCall) -> String {
    let words = call.grants.map { grant in
      let scope =
        switch grant.calls {
        case nil: " for each call of this input"
        case 1?: ""
        case let count?: " for \(count) calls"
        }
      return "\(grant.isGranted ? "granted" : "denied") by \(grant.by)"
        + (grant.isGranted ? scope : "")
    }
    return words.isEmpty ? "no approval" : words.joined(separator: ", ")
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
    func words(_ stop: AcceptedRun.StopFact?) -> String {
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

  /// What the two answered, what they cite that is no call, and how often nobody could use a decision.
  private mutating func compareAnswers(_ accepted: AcceptedRun, _ actual: AcceptedRun) {
    func words(_ answer: AcceptedRun.Answer) -> String? {
      switch answer {
      case .unknown: nil
      case .none: "no answer"
      case .given(let text): text
      }
    }
    if let old = words(accepted.answer), let new = words(actual.answer), !old.hasSameUTF8(as: new) {
      tell(.answer, "answer", old, new)
    }
    func list(_ refs: [String]) -> String {
      refs.isEmpty ? "nothing else" : refs.joined(separator: ", ")
    }
    if accepted.cites.map(ByteText.init) != actual.cites.map(ByteText.init) {
      tell(.evidence, "answer cites", list(accepted.cites), list(actual.cites))
    }
    let (old, new) = (accepted.invalidDecisions, actual.invalidDecisions)
    if old != new { tell(.invalidDecisions, "invalid decisions", "\(old)", "\(new)") }
  }

  /// Says what is otherwise about the run as a whole, and no worse.
  private mutating func tell(
    _ kind: Difference.Kind, _ place: String, _ accepted: String, _ actual: String
  ) {
    differences.append(
      Difference(kind: kind, effect: .neutral, place: place, accepted: accepted, actual: actual))
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

/// What stood in the way of the calls of each tool in an accepted run, and which calls of now a person's yes
/// to another one covers.
private struct Ways {
  struct OfTool {
    /// The call that had the least in its way.
    var least: AcceptedCall
    /// One that ran with a person's yes.
    var granted: AcceptedCall?
    /// Whether each that ran had one.
    var areAllGranted = true
  }

  private(set) var tools: [[UInt8]: OfTool] = [:]
  private var covered: Set<[UInt8]> = []

  init(_ accepted: AcceptedRun, _ actual: AcceptedRun) {
    for call in accepted.decisions.joined() {
      var known = tools[call.kindOfCall] ?? OfTool(least: call)
      if PathComparison.strictness(of: call) < PathComparison.strictness(of: known.least) {
        known.least = call
      }
      if call.isExecuted {
        if call.isGranted { known.granted = known.granted ?? call }
        known.areAllGranted = known.areAllGranted && call.isGranted
      }
      tools[call.kindOfCall] = known
    }
    for call in actual.decisions.joined()
    where call.grants.contains(where: { $0.isGranted && $0.calls != 1 }) {
      covered.insert(call.kindOfCall + call.inputKey)
    }
  }

  func isCovered(_ call: AcceptedCall) -> Bool {
    !covered.isEmpty && covered.contains(call.kindOfCall + call.inputKey)
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
    // The same call of which something else became, and a write with another input, went elsewhere too: it is
    // not one that is new.
    pair(pairs, accepted, actual) { $0.kindOfCall + $0.inputKey }
    pair(pairs, accepted, actual) { $0.mayWrite ? $0.kindOfCall : nil }
  }

  /// Pairs what is left over and has the same key; a call of which that is `nil` stays alone.
  private mutating func pair(
    _ pairs: [CallAlignment.Pair], _ accepted: [AcceptedCall], _ actual: [AcceptedCall],
    _ key: (AcceptedCall) -> [UInt8]?
  ) {
    var missing: [[UInt8]: ArraySlice<Int>] = [:]
    for case .missing(let index) in pairs where toActual[index] == nil {
      // What a baseline holds of a call counts as one that may write.
      if let key = key(accepted[index]) { missing[key, default: []].append(index) }
    }
    guard !missing.isEmpty else { return }
    for case .added(let index) in pairs where toAccepted[index] == nil {
      guard let key = key(actual[index]), let first = missing[key]?.popFirst() else { continue }
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

extension AcceptedCall {
  /// Whether a person let it run.
  fileprivate var isGranted: Bool { grants.contains(where: \.isGranted) }

  /// Its tool and its caller, as bytes.
  var kindOfCall: [UInt8] { Array("\(tool)\n\(caller)".utf8) + [0] }

  /// Its input, as bytes.
  var inputKey: [UInt8] {
    Array(
      arguments.flatMap { [$0.pointer, $0.comparedValue] }
        .map { "\($0.utf8.count):\($0)" }.joined().utf8)
  }

}
