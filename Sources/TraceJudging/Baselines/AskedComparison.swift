import AgentTrace

/// What a case asks now beside what it asked when it was accepted.
struct AskedComparison {
  private(set) var differences: [Difference] = []
  /// For each name that the judge told an expectation by: the name that it has now.
  private(set) var names: [ByteText: String] = [:]

  private let accepted: [AskedExpectation]
  private let actual: [AskedExpectation]
  /// For each accepted expectation the one of now that is the same or took its place.
  private let before: [ByteText: AskedContext]
  private let after: [ByteText: AskedContext]
  private var partner: [Int?]
  private var isTaken: [Bool]

  init(_ accepted: [AskedExpectation], _ actual: [AskedExpectation]) {
    self.accepted = accepted
    self.actual = actual
    before = Self.contexts(accepted)
    after = Self.contexts(actual)
    partner = Array(repeating: nil, count: accepted.count)
    isTaken = Array(repeating: false, count: actual.count)
    // From what is surely the same to what only stands at the same place.
    pair { $1.fullName.hasSameUTF8(as: $2.fullName) && $0.strictness($1, $2) == .same }
    pairEqualTexts()
    pair { this, old, new in
      old.part.hasSameUTF8(as: new.part) && old.list.hasSameUTF8(as: new.list)
        && this.strictness(old, new) != .unknown
    }
    pair { _, old, new in
      old.fullName.hasSameUTF8(as: new.fullName) && Self.speakOfSame(old, new)
    }
    pair { this, old, new in
      old.list.hasSameUTF8(as: new.list) && this.strictness(old, new) != .unknown
    }
    tell()
  }

  /// What each set asks, by its name: what an expectation means may hang on those beside it.
  private static func contexts(_ asked: [AskedExpectation]) -> [ByteText: AskedContext] {
    Dictionary(grouping: asked) { ByteText($0.part) }.mapValues(AskedContext.init)
  }

  private func strictness(_ old: AskedExpectation, _ new: AskedExpectation) -> Strictness {
    let was = before[ByteText(old.part)] ?? AskedContext()
    let now = after[ByteText(new.part)] ?? AskedContext()
    // A set that only has another name, or another place, is the same.
    if Self.calls.contains(old.list), !old.part.hasSameUTF8(as: new.part),
      !was.asksSameCalls(as: now)
    {
      // In another set it stands in no order with the others, and may share a call with them.
      guard was.order == "any", now.order == "any", !was.forbidsOthers, !now.forbidsOthers,
        let value = old.value, was.isAlone(value, in: old.list)
      else { return .unknown }
    }
    return Strictness(of: old, to: new, before: was, after: now)
  }

  private static let calls: Set = ["toolsCalled", "toolsProposed"]

  /// Tells where entries of an ordered list stand in another order now.
  private mutating func tellOfOrder() {
    for list in Self.calls.sorted() {
      var last: [ByteText: Int] = [:]
      for (index, old) in accepted.enumerated() where old.list == list {
        let part = ByteText(old.part)
        guard before[part]?.order != "any", let place = partner[index],
          actual[place].part.hasSameUTF8(as: old.part)
        else { continue }
        if let last = last[part], place < last {
          differences.append(
            Difference(
              kind: .expectationChanged, effect: .regression, place: actual[place].fullName,
              accepted: "at place \(old.fullName)", actual: Self.words(for: actual[place])))
        }
        last[part] = max(last[part] ?? -1, place)
      }
    }
  }

  /// Gives each accepted expectation without partner the first that fits among those nobody has.
  private mutating func pair(_ fits: (Self, AskedExpectation, AskedExpectation) -> Bool) {
    let open = actual.indices.filter { !isTaken[$0] }
    guard !open.isEmpty else { return }
    for old in accepted.indices where partner[old] == nil {
      guard let new = open.first(where: { !isTaken[$0] && fits(self, accepted[old], actual[$0]) })
      else {
        continue
      }
      partner[old] = new
      isTaken[new] = true
    }
  }

  /// What is asked in the same words may stand at another place in its list, or in another set.
  private mutating func pairEqualTexts() {
    var places: [[UInt8]: [Int]] = [:]
    func key(_ asked: AskedExpectation) -> [UInt8] {
      Array("\(asked.severity.rawValue)\n\(asked.list)\n\(asked.text)".utf8)
    }
    for (index, asked) in actual.enumerated().reversed() where !isTaken[index] {
      places[key(asked), default: []].append(index)
    }
    for (index, asked) in accepted.enumerated() where partner[index] == nil {
      guard let new = places[key(asked)]?.popLast() else { continue }
      partner[index] = new
      isTaken[new] = true
    }
  }

  /// Whether one took the other's place: not where they speak of different tools.
  private static func speakOfSame(_ old: AskedExpectation, _ new: AskedExpectation) -> Bool {
    guard old.list != old.name else { return true }
    func tool(_ asked: AskedExpectation) -> String? {
      asked.value.flatMap { $0.stringValue ?? $0["tool"]?.stringValue }
    }
    guard let before = tool(old), let after = tool(new) else { return true }
    return before.hasSameUTF8(as: after)
  }

  private mutating func tell() {
    for (index, old) in accepted.enumerated() {
      guard let place = partner[index] else {
        differences.append(
          Difference(
            kind: .expectationDeleted, effect: .regression, place: old.fullName,
            accepted: Self.words(for: old)))
        continue
      }
      let new = actual[place]
      names[ByteText(old.fullName)] = new.fullName
      let kind: Difference.Kind
      switch strictness(old, new) {
      case .same: continue
      case .looser: kind = .expectationWeakened
      case .stricter: kind = .expectationStrengthened
      case .unknown: kind = .expectationChanged
      }
      differences.append(
        Difference(
          // Green is only what is shown to ask for no less.
          kind: kind, effect: kind == .expectationStrengthened ? .neutral : .regression,
          place: new.fullName, accepted: Self.words(for: old), actual: Self.words(for: new)))
    }
    tellOfOrder()
    for (index, new) in actual.enumerated() where !isTaken[index] {
      differences.append(
        Difference(
          kind: .expectationAdded, effect: mayAllowMore(new) ? .regression : .neutral,
          place: new.fullName, actual: Self.words(for: new)))
    }
  }

  /// Whether an expectation that is new may let through what those before it did not: a call that had no place
  /// has one now, or another order counts in another way.
  private func mayAllowMore(_ new: AskedExpectation) -> Bool {
    guard new.severity == .error || new.list == "order" || new.list == "toolsCalled" else {
      return false
    }
    let known = before[ByteText(new.part)] ?? AskedContext()
    guard let value = new.value else { return true }
    switch new.list {
    case "order":
      let any = AskedExpectation(
        part: new.part, name: "order", severity: new.severity, text: AcceptedText.expectation("any")
      )
      return ![.same, .stricter].contains(strictness(any, new))
    case "toolsCalled", "toolsProposed":
      if new.list == "toolsCalled", known.forbidsOthers || known.order == "exact" {
        return known.lists["toolsCalled"] != nil || known.lists["toolsProposed"] != nil
      }
      guard known.order != "any" else { return false }
      let isAlone = after[ByteText(new.part)]?.isAlone(value, in: new.list) ?? false
      let others = known.lists[new.list] ?? []
      return known.order == "exact" || (others.contains(where: AskedContext.isBounded) && !isAlone)
    default: return false
    }
  }

  private static func words(for asked: AskedExpectation) -> String {
    (asked.severity == .warning ? "warning " : "") + asked.text
  }
}
